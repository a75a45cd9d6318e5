#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/own.h"
#include "worktree/dotgit.h"

static void every_spelling_of_dot_git_is_one(void **state)
{
	static const struct {
		const char *path;
		int is;
	} cases[] = {
		{ ".git", 1 }, { "a/.git", 1 }, { ".git/config", 1 }, { "a/.git/b", 1 }, { ".GIT", 1 }, { ".gIt/x", 1 },
		{ "git~1", 1 }, { "GIT~1/x", 1 }, { ".git.", 1 }, { ".git . ", 1 }, { ".git::$INDEX_ALLOCATION", 1 },
		{ ".git\\config", 1 }, { "git~1 ", 1 }, { ".g\xe2\x80\x8cit", 1 }, { "\xef\xbb\xbf.git", 1 },
		{ ".git\xe2\x80\x8d", 1 }, { ".git\xe2\x80\x8d/x", 1 },
		{ "", 0 }, { ".gitignore", 0 }, { ".git2", 0 }, { "git", 0 }, { "x.git", 0 }, { ".gi", 0 }, { "git~2", 0 },
		{ "a.git/b", 0 }, { ".github/x", 0 }, { ".git-x", 0 }, { ".g\xe2\x80it", 0 }, { "..git", 0 }, { ".git.x", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (dotgit_path(cases[i].path) != cases[i].is)
			fail_msg("'%s'", cases[i].path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_spelling_of_dot_git_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
