#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "base/path.h"

static void clean_paths_are_known(void **state)
{
	static const struct { const char *path; int is_clean; } rows[] = {
		{ "/", 1 }, { "/a", 1 }, { "/a/b.c", 1 }, { "/..a", 1 }, { "/...", 1 }, { "/a/.b", 1 },
		{ "", 0 }, { "a", 0 }, { "/a/", 0 }, { "//", 0 }, { "//a", 0 }, { "/a//b", 0 },
		{ "/.", 0 }, { "/a/.", 0 }, { "/a/./b", 0 }, { "/..", 0 }, { "/a/..", 0 }, { "/a/../b", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(path_is_clean(rows[i].path), rows[i].is_clean);
}

static void joining_gives_a_clean_path(void **state)
{
	static const struct { const char *base, *rel, *want; } rows[] = {
		{ "/a", "b", "/a/b" },		{ "/", "b", "/b" },	{ "/a", "", "/a" },
		{ "/a", ".", "/a" },		{ "/a", "..", "/" },	{ "/a", "../../..", "/" },
		{ "/a", "/x//y/./z/", "/x/y/z" },	{ "/a/b", "../c", "/a/c" },
		{ "/a", "...", "/a/..." },	{ "/", "", "/" },	{ "/a", "b/../../c", "/c" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		OWN(mem) char *p = path_join(rows[i].base, rows[i].rel);

		assert_string_equal(p, rows[i].want);
		assert_true(path_is_clean(p));
	}
}

static void under_means_whole_parts(void **state)
{
	(void)state;
	assert_true(path_under("/a/b", "/a"));
	assert_true(path_under("/a", "/a"));
	assert_true(path_under("/a", "/"));
	assert_false(path_under("/ab", "/a"));
	assert_false(path_under("/", "/a"));
	assert_false(path_under("/a", "/a/b"));
}

static void parts_of_a_path(void **state)
{
	OWN(mem) char *up = path_parent("/a/b"), *top = path_parent("/a"), *root = path_parent("/");

	(void)state;
	assert_string_equal(up, "/a");
	assert_string_equal(top, "/");
	assert_string_equal(root, "/");
	assert_string_equal(path_base("/a/b"), "b");
	assert_string_equal(path_base("b"), "b");
}

static void a_tilde_is_the_home_only_in_front_of_a_slash(void **state)
{
	OWN(mem) char *home = path_expand("~", "/h", "/c"), *below = path_expand("~/x", "/h", "/c"),
		      *name = path_expand("~x", "/h", "/c"), *rel = path_expand("x", "/h", "/c");

	(void)state;
	assert_string_equal(home, "/h");
	assert_string_equal(below, "/h/x");
	assert_string_equal(name, "/c/~x");
	assert_string_equal(rel, "/c/x");
}

static void links_are_followed_as_far_as_the_path_exists(void **state)
{
	char dir[] = "/tmp/agate-path-XXXXXX", link[64], loop[64], real[64], below[80], want[80];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(real, sizeof(real), "%s/real", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	snprintf(loop, sizeof(loop), "%s/loop", dir);
	snprintf(below, sizeof(below), "%s/no/such", link);
	snprintf(want, sizeof(want), "%s/no/such", real);
	assert_int_equal(mkdir(real, 0700), 0);
	assert_int_equal(symlink("real", link), 0);
	assert_int_equal(symlink("loop", loop), 0);
	{
		OWN(mem) char *a = path_resolve(link), *b = path_resolve(below), *c = path_resolve(loop),
			      *d = path_resolve("/no/such/thing");

		assert_string_equal(a, real);
		assert_string_equal(b, want);
		assert_null(c);
		assert_string_equal(d, "/no/such/thing");
	}
	unlink(link);
	unlink(loop);
	rmdir(real);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_paths_are_known),
		cmocka_unit_test(joining_gives_a_clean_path),
		cmocka_unit_test(under_means_whole_parts),
		cmocka_unit_test(parts_of_a_path),
		cmocka_unit_test(a_tilde_is_the_home_only_in_front_of_a_slash),
		cmocka_unit_test(links_are_followed_as_far_as_the_path_exists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
