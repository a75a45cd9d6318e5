/*
 * Guarded files and directories removed.
 *
 * EXPECT: action=file-write-unlink target=*.env
 * EXPECT: action=file-write-unlink target=*server.key
 */
#include "tests/escape/attack.h"

int main(void)
{
	int keys = open("keys", O_PATH | O_DIRECTORY);

	attack_begin();
	refused(unlink(".env"), "remove .env");
	refused(unlinkat(keys, "server.key", 0), "remove a key");
	refused(remove("linkdir/cert.pem"), "remove a certificate through a link");
	refused(unlink(".git/hooks/pre-commit"), "remove a hook");
	refused(unlink(".claude/commands/hello.md"), "remove a command");
	refused(rmdir("keys"), "remove a directory that is not empty");
	works(mkdir("gone", 0755), "make a directory");
	works(rmdir("gone"), "remove an empty directory");
	works(unlink("linkdir"), "remove a link to a directory");
	works(unlink("README"), "remove an ordinary file");
	return attack_end();
}
