/*
 * A file filled under an innocent name, then renamed to a guarded one.
 *
 * EXPECT: action=file-write-rename|file-write-create target=*.env
 * EXPECT: action=file-write-rename|file-write-create target=*new.pfx
 */
#include <linux/fs.h>

#include "tests/escape/attack.h"

int main(void)
{
	int keys = open("keys", O_PATH | O_DIRECTORY);

	attack_begin();
	works(put("innocent.txt"), "make an ordinary file");
	refused(rename("innocent.txt", ".env"), "rename it onto .env");
	refused(rename("innocent.txt", "new.pfx"), "rename it to new.pfx");
	refused(renameat(AT_FDCWD, "innocent.txt", keys, "server.key"), "rename it onto a key");
	refused(syscall(SYS_renameat2, AT_FDCWD, "innocent.txt", keys, "n.key", RENAME_NOREPLACE), "rename without replacing");
	refused(syscall(SYS_renameat2, AT_FDCWD, "innocent.txt", keys, "n.key", RENAME_WHITEOUT), "rename with a whiteout");
	refused(rename("innocent.txt", ".git/hooks/pre-commit"), "rename it onto a hook");
	refused(rename("innocent.txt", "hooklink/pre-push"), "rename it to a hook through a link");
	refused(rename("nested", ".env.d"), "rename a directory to .env.d");
	works(rename("innocent.txt", "src/still.txt"), "rename it to an ordinary name");
	return attack_end();
}
