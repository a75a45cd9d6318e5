/*
 * What git on the host would run or obey: hooks and configuration of the
 * checkout and of a repository inside it.
 *
 * EXPECT: action=file-write-create|file-write-data target=*.git/hooks/post-checkout
 * EXPECT: action=file-write-create|file-write-data target=*nested/.git/hooks/post-checkout
 * EXPECT: action=file-write-data|file-write-create target=*nested/.git/config
 */
#include "tests/escape/attack.h"

int main(void)
{
	attack_begin();
	refused(put(".git/hooks/post-checkout"), "plant a hook");
	refused(put(".git/hooks/pre-commit"), "change a hook");
	refused(put("nested/.git/hooks/post-checkout"), "plant a hook in the nested repository");
	refused(put("nested/.git/config"), "change the nested repository's configuration");
	works(put("inner.txt"), "make an ordinary file");
	refused(rename("inner.txt", "nested/.git/config"), "replace that configuration");
	refused(unlink("nested/.git/config"), "remove that configuration");
	refused(rename("plain", "nested/.git/hooks"), "replace the nested directory of hooks");
	refused(symlink("../../plain", "nested/.git/commondir"), "lead the nested repository elsewhere");
	return attack_end();
}
