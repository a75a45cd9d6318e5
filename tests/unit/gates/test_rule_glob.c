#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/own.h"
#include "gates/rule_glob.h"

static const char *const answers[] = { "no", "maybe", "yes" };
static const struct glob_base base = { .root = "/w", .home = "/home/u" };

static void paths_fit_as_the_table_says(void **state)
{
	static const struct { const char *pattern, *path; enum tri want; } cases[] = {
		{ "/etc/passwd", "/etc/passwd", TRI_YES },	{ "/etc/passwd", "/etc/passwd2", TRI_NO },
		{ "/etc", "/etc/passwd", TRI_YES },		{ "/etc/*", "/etc", TRI_NO },
		{ "/etc/**", "/etc", TRI_YES },			{ "/etc/**", "/etc/a/b", TRI_YES },
		{ "/a/*/c", "/a/b/c", TRI_YES },		{ "/a/*/c", "/a/b/b/c", TRI_NO },
		{ "/a/**/c", "/a/c", TRI_YES },			{ "/a/**/c", "/a/b/b/c", TRI_YES },
		{ "/a/**/c", "/a/b/b/c/d", TRI_YES },		{ "/a/**/c", "/a/b/d", TRI_NO },
		{ "/**/x/**/y", "/p/x/q/r/y", TRI_YES },	{ "/**/x/**/y", "/p/q/y", TRI_NO },
		{ "src", "/w/src/a", TRI_YES },			{ "src", "/elsewhere/src", TRI_YES },
		{ "./src", "/w/src/a", TRI_YES },		{ "./src", "/w/a/src", TRI_NO },
		{ "src/*.c", "/w/src/a.c", TRI_YES },		{ "src/*.c", "/w/src/a/b.c", TRI_NO },
		{ "*.key", "/w/a/b.key", TRI_YES },		{ "*.key", "/w/a/b.keys", TRI_NO },
		{ "*.key", "/w/x.key/y", TRI_YES },		{ "**/*.key", "/x/b.key", TRI_YES },
		{ "~/.ssh", "/home/u/.ssh/id", TRI_YES },	{ "~/.ssh", "/home/v/.ssh/id", TRI_NO },
		{ "~", "/home/u/x", TRI_YES },			{ ".", "/w/x", TRI_YES },
		{ ".", "/x", TRI_NO },				{ "/", "/x", TRI_YES },
		{ "/a?c", "/abc", TRI_YES },			{ "/a?c", "/ac", TRI_NO },
		{ "/a[bc]d", "/acd", TRI_YES },			{ "/a[!bc]d", "/acd", TRI_NO },
		{ "/a[a-z]", "/aq", TRI_YES },			{ "/a[]]", "/a]", TRI_YES },
		{ "/a\\*", "/a*", TRI_MAYBE },		{ "/a\\*", "/ab", TRI_NO },
		{ "/*a*b*c*", "/xaxbxcx", TRI_YES },		{ "/*a*b*c*", "/xaxcxbx", TRI_NO },
		/* not known: "*" and \001 may be many things */
		{ "/w/keep/**", "/w/build/*.o", TRI_NO },	{ "/w/keep/**", "/w/keep/*", TRI_YES },
		{ "/w/keep/*.c", "/w/keep/*", TRI_MAYBE },	{ "/w/keep/*.c", "/w/keep/*.o", TRI_NO },
		{ "/w/keep", "/w/*", TRI_MAYBE },		{ "/w/keep", "/w/*/x", TRI_MAYBE },
		{ "*.key", "/w/*.o", TRI_NO },			{ "*.key", "/w/*", TRI_MAYBE },
		{ "/w/keep/**", "/w/\001/x", TRI_MAYBE },	{ "/w/keep/**", "/w/build/.*", TRI_MAYBE },
		{ "**", "/w/\001", TRI_YES },			{ "/**", "/w/*", TRI_YES },
		{ "/w/a*", "/w/b*", TRI_NO },			{ "/w/a*b", "/w/a*", TRI_MAYBE },
	};
	int bad = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		enum tri got = glob_path(cases[i].pattern, &base, cases[i].path, false);

		assert_null(glob_bad_path(cases[i].pattern));
		if (got == cases[i].want)
			continue;
		print_error("'%s' fits '%s': %s, not %s\n", cases[i].pattern, cases[i].path, answers[got],
			    answers[cases[i].want]);
		bad++;
	}
	assert_int_equal(bad, 0);
}

static void what_a_relative_pattern_starts_from_has_to_be_known(void **state)
{
	const struct glob_base none = { 0 };

	(void)state;
	assert_int_equal(glob_path("src/a", &none, "/w/src/a", false), TRI_MAYBE);
	assert_int_equal(glob_path("~/a", &none, "/w/a", false), TRI_MAYBE);
	assert_int_equal(glob_path("/w/a", &none, "/w/a", false), TRI_YES);
	assert_int_equal(glob_path("a", &none, "/w/a", false), TRI_YES);
}

static void signs_in_a_name_that_is_known_are_bytes(void **state)
{
	(void)state;
	assert_int_equal(glob_path("/w/a*", &base, "/w/a[x", true), TRI_YES);
	assert_int_equal(glob_path("/w/keep", &base, "/w/*", true), TRI_NO);
	assert_int_equal(glob_path("/w/a\\*", &base, "/w/a*", true), TRI_YES);
}

static void a_pattern_may_lie_below_a_path(void **state)
{
	(void)state;
	assert_true(glob_path_is_below("/w/a/b/**", &base, "/w/a"));
	assert_true(glob_path_is_below("a/b", &base, "/w/a"));
	assert_true(glob_path_is_below("/w/a/*.c", &base, "/w/a"));
	assert_false(glob_path_is_below("/w/a/**", &base, "/w/b"));
	assert_false(glob_path_is_below("/w/a", &base, "/w/a"));
	assert_false(glob_path_is_below("*.key", &base, "/w/a"));
}

static void refs_fit_across_slashes(void **state)
{
	static const struct { const char *pattern, *ref; enum tri want; } cases[] = {
		{ "main", "main", TRI_YES },		    { "main", "refs/heads/main", TRI_YES },
		{ "refs/heads/main", "main", TRI_YES },	    { "main", "maint", TRI_NO },
		{ "release/*", "release/1/x", TRI_YES },    { "release/**", "release/1", TRI_YES },
		{ "release/*", "release", TRI_NO },	    { "*", "anything/at/all", TRI_YES },
		{ "refs/tags/*", "refs/tags/v1", TRI_YES }, { "v*", "refs/tags/v1", TRI_NO },
		{ "Main", "main", TRI_NO },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (glob_ref(cases[i].pattern, cases[i].ref) != cases[i].want)
			fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].ref);
}

static void hosts_fit_as_in_the_egress_rules(void **state)
{
	static const struct { const char *pattern, *host; enum tri want; } cases[] = {
		{ "example.com", "example.com", TRI_YES },    { "example.com", "EXAMPLE.com.", TRI_YES },
		{ "example.com", "x.example.com", TRI_NO },   { "*.example.com", "x.example.com", TRI_YES },
		{ "*.example.com", "a.b.example.com", TRI_YES }, { "*.example.com", "example.com", TRI_NO },
		{ "*.example.com", "badexample.com", TRI_NO }, { "a.*.b.com", "a.x.b.com", TRI_YES },
		{ "a.*.b.com", "a.x.y.b.com", TRI_NO },	      { "a.*.b.com", "a.b.com", TRI_NO },
		{ "a.*.b.com", "a..b.com", TRI_NO },	      { "*", "anything", TRI_YES },
		{ "192.0.2.7", "192.0.2.7", TRI_YES },	      { "2001:db8::1", "2001:DB8::1", TRI_YES },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_null(glob_bad_host(cases[i].pattern));
		if (glob_host(cases[i].pattern, cases[i].host) != cases[i].want)
			fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].host);
	}
}

static void patterns_that_are_none_are_said_to_be(void **state)
{
	static const char *const hosts[] = { "", "*.", ".a", "a..b", "a.*", "*a.com", "a.b*.c", "*.*.a", "a b", "a/b", "a:80",
					     "user@a", "-\n" };
	static const char *const paths[] = { "", "a/../b", "..", "a[b", "a\\", "***", "a/***/b", "x\ny", "~u/x", "[a/b]" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++)
		if (!glob_bad_host(hosts[i]))
			fail_msg("host '%s'", hosts[i]);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (!glob_bad_path(paths[i]))
			fail_msg("path '%s'", paths[i]);
	assert_non_null(glob_bad_ref("a:b"));
	assert_non_null(glob_bad_ref("a b"));
	assert_null(glob_bad_ref("release/*"));
}

static void many_stars_take_no_time(void **state)
{
	char pattern[1800], text[2000];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[0] = '/';
	text[sizeof(text) - 1] = '\0';
	pattern[0] = '/';
	for (size_t i = 1; i < sizeof(pattern) - 3; i += 2)
		memcpy(pattern + i, "*a", 2);
	strcpy(pattern + sizeof(pattern) - 3, "*b");
	for (int i = 0; i < 100; i++)
		assert_int_equal(glob_path(pattern, &base, text, true), TRI_NO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_fit_as_the_table_says),
		cmocka_unit_test(what_a_relative_pattern_starts_from_has_to_be_known),
		cmocka_unit_test(signs_in_a_name_that_is_known_are_bytes),
		cmocka_unit_test(a_pattern_may_lie_below_a_path),
		cmocka_unit_test(refs_fit_across_slashes),
		cmocka_unit_test(hosts_fit_as_in_the_egress_rules),
		cmocka_unit_test(patterns_that_are_none_are_said_to_be),
		cmocka_unit_test(many_stars_take_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
