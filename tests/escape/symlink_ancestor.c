/*
 * A symbolic link that gives an innocent tree the name that makes it guarded:
 * whoever reads .claude/commands or .git/hooks on the host would follow it.
 *
 * EXPECT: action=file-write-symlink|file-write-create target=*.claude
 */
#include "tests/escape/attack.h"

int main(void)
{
	long claude, git;

	attack_begin();
	works(mkdir("proj", 0755), "make a project");
	works(mkdir("tree", 0755), "make a tree");
	works(mkdir("tree/commands", 0755), "with commands");
	works(mkdir("tree/hooks", 0755), "and hooks");
	claude = symlink("../tree", "proj/.claude");
	git = symlink("../tree", "proj/.git");
	refused(claude, "name the tree .claude by a link");
	refused(git, "name the tree .git by a link");
	if (claude == 0)
		refused(put("proj/.claude/commands/x.md"), "make a command through it");
	if (git == 0)
		refused(put("proj/.git/hooks/pre-commit"), "plant a hook through it");
	return attack_end();
}
