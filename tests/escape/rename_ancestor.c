/*
 * A subtree built under innocent names, whose ancestor then gets the name that
 * makes it a guarded one.
 *
 * EXPECT: action=file-write-rename|file-write-mkdir|file-write-create target=*proj/.claude*
 */
#include "tests/escape/attack.h"

static void build(const char *top, const char *middle)
{
	works(mkdir(top, 0755), "make %s", top);
	works(mkdir(spell("%s/%s", top, middle), 0755), "make %s/%s", top, middle);
	works(put(spell("%s/%s/x.md", top, middle)), "fill %s/%s", top, middle);
}

int main(void)
{
	attack_begin();
	works(mkdir("proj", 0755), "make a project");
	build("tmp1", "commands");
	refused(rename("tmp1", "proj/.claude"), "rename it so that commands/ is guarded");
	build("tmp2", "hooks");
	refused(rename("tmp2", "proj/.git"), "rename it so that hooks/ is guarded");
	build("tmp3", "a");
	refused(rename("tmp3/a", "proj/.vscode"), "rename a directory to .vscode");
	works(mkdir("tmp4", 0755), "make one more");
	build("tmp4/inner", "commands");
	works(rename("tmp4/inner", "tmp4/other"), "rename it innocently");
	refused(rename("tmp4/other", "tmp4/.claude"), "rename it inside its own parent");
	works(rename("tmp3", "proj/fine"), "rename an ordinary tree");
	return attack_end();
}
