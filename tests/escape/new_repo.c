/*
 * Hooks of a repository that is made during the run, by hand and by git.
 *
 * EXPECT: action=file-write-create|file-write-mkdir target=*mine/.git/hooks*
 */
#include "tests/escape/attack.h"

int main(void)
{
	attack_begin();
	works(mkdir("mine", 0755), "make a directory");
	works(mkdir("mine/.git", 0755), "make its .git");
	if (mkdir("mine/.git/hooks", 0755) < 0)
		printf("note: .git/hooks is refused as such: %s\n", strerror(errno));
	refused(put("mine/.git/hooks/pre-commit"), "plant a hook in it");
	works(system("git init -q byhand >/dev/null 2>&1") == 0 ? 0 : -1, "git init");
	works(access("byhand/.git/HEAD", F_OK), "find what git init made");
	refused(put("byhand/.git/hooks/pre-commit"), "plant a hook in what git made");
	works(mkdir("deep", 0755), "make a directory");
	works(mkdir("deep/er", 0755), "make one in it");
	works(chdir("deep/er"), "go there");
	works(mkdir(".git", 0755), "make .git there");
	if (mkdir(".git/hooks", 0755) == 0 && chdir(".git/hooks") == 0)
		refused(put("pre-push"), "plant a hook from inside the directory of hooks");
	works(chdir(told("ATTACK_REPO")), "come back");
	works(mkdir("other", 0755), "make another directory");
	works(mkdir("other/.git", 0755), "and its .git");
	works(put("plain/pre-commit"), "make a program");
	refused(symlink("../../plain", "other/.git/hooks"), "let its hooks be a link to an ordinary directory");
	refused(rename("plain", "other/.git/hooks"), "let an ordinary directory become its hooks");
	return attack_end();
}
