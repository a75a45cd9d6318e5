/*
 * A guarded name as a second name of an innocent file, or as a symbolic link.
 *
 * EXPECT: action=file-write-link|file-write-create target=*n.pem
 * EXPECT: action=file-write-symlink|file-write-create target=*s.key
 */
#include "tests/escape/attack.h"

int main(void)
{
	int keys = open("keys", O_PATH | O_DIRECTORY);

	attack_begin();
	works(put("innocent.txt"), "make an ordinary file");
	refused(link("innocent.txt", "n.pem"), "link it as n.pem");
	refused(linkat(AT_FDCWD, "innocent.txt", keys, "n.key", 0), "link it as keys/n.key");
	refused(link("innocent.txt", ".env.link"), "link it as .env.link");
	refused(link("innocent.txt", "hooklink/pre-push"), "link it as a hook");
	refused(symlink("innocent.txt", "s.key"), "make a symbolic link s.key");
	refused(symlinkat("../innocent.txt", keys, "s.pem"), "make a symbolic link keys/s.pem");
	refused(symlink("/etc/passwd", ".env.sym"), "make a symbolic link .env.sym");
	refused(symlink("plain", ".vscode"), "make a symbolic link .vscode");
	refused(symlink("../innocent.txt", ".claude/commands/s.md"), "make a symbolic link in .claude/commands");
	return attack_end();
}
