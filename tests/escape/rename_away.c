/*
 * A guarded file moved out of the way and an innocent one, or nothing, left.
 *
 * EXPECT: action=file-write-rename|file-write-unlink target=*.env
 */
#include "tests/escape/attack.h"

int main(void)
{
	attack_begin();
	refused(rename(".env", "env.txt"), "rename .env away");
	refused(rename("keys/server.key", "keys/server.txt"), "rename a key away");
	refused(rename(".git/hooks/pre-commit", "hook.txt"), "rename a hook away");
	refused(rename(".claude/commands", "commands"), "rename .claude/commands away");
	refused(rename(".git", "git2"), "rename .git away");
	return attack_end();
}
