/*
 * Directories with guarded names, and what lies in guarded directories.
 *
 * EXPECT: action=file-write-mkdir|file-write-create target=*src/.env
 * EXPECT: action=file-write-mkdir|file-write-create target=*.vscode
 */
#include "tests/escape/attack.h"

int main(void)
{
	int src = open("src", O_PATH | O_DIRECTORY);

	attack_begin();
	refused(mkdir("src/.env", 0755), "make a directory src/.env");
	refused(mkdir("src/.env/", 0755), "the same with a slash");
	refused(mkdirat(src, "dir.key", 0755), "make a directory dir.key");
	refused(mkdir("src/.vscode", 0755), "make src/.vscode");
	refused(mkdir(".vscode", 0755), "make .vscode");
	refused(mkdir(".idea", 0755), "make .idea");
	refused(mkdir(".claude/agents", 0755), "make .claude/agents");
	refused(put(".claude/commands/new.md"), "make a command");
	refused(put(".claude/commands/hello.md"), "change a command");
	works(mkdir("src/ordinary", 0755), "make an ordinary directory");
	return attack_end();
}
