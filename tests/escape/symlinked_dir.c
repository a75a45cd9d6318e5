/*
 * The directory of a guarded name reached through symbolic links: one that was
 * there, one made now, a chain, an absolute one.
 *
 * EXPECT: action=file-write-create target=*one.key
 * EXPECT: action=file-write-create target=*hooks/post-commit
 */
#include "tests/escape/attack.h"

int main(void)
{
	attack_begin();
	works(symlink("linkdir", "chain"), "make a link to a link");
	works(symlink(spell("%s/keys", told("ATTACK_REPO")), "absolute"), "make an absolute link");
	refused(put("linkdir/one.key"), "make through a link that was there");
	refused(put("chain/two.key"), "make through two links");
	refused(put("absolute/three.key"), "make through an absolute link");
	refused(put("absolute/../linkdir/server.key"), "overwrite through links");
	refused(put("hooklink/post-commit"), "plant a hook through a link");
	works(symlink(".git", "gitlink"), "make a link to .git");
	refused(put("gitlink/hooks/post-commit"), "plant a hook through a link to .git");
	works(put("linkdir/harmless.txt"), "make an ordinary file through a link");
	return attack_end();
}
