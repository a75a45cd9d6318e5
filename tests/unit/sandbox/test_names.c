#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/own.h"
#include "sandbox/names.h"

static const char *const policy[] = {
	"**/.env", "**/.env.*", "**/*.key", "**/.vscode", "**/.claude/commands",
	"**/.git/hooks/*", "!**/.git/hooks/*.sample", "**/.git/modules/**/hooks/*", "/home/u/keep", "/w/[ab]?/x",
};

static struct names load(const char *const rules[], size_t n)
{
	struct names names = { 0 };

	for (size_t i = 0; i < n; i++)
		assert_int_equal(names_add(&names, rules[i]), 0);
	return names;
}

static void a_path_is_denied_by_the_rule_that_names_it(void **state)
{
	static const struct { const char *path, *rule; } table[] = {
		{ "/w/.env", "**/.env" },
		{ "/.env", "**/.env" },
		{ "/w/a/b/.env", "**/.env" },
		{ "/w/.env/inside", "**/.env" },
		{ "/w/.env.local", "**/.env.*" },
		{ "/w/.env.", "**/.env.*" },
		{ "/w/.environment", NULL },
		{ "/w/a.env", NULL },
		{ "/w/x.key", "**/*.key" },
		{ "/w/.key", "**/*.key" },
		{ "/w/x.keys", NULL },
		{ "/w/x.KEY", NULL },
		{ "/w/.vscode", "**/.vscode" },
		{ "/w/.vscode/a/b", "**/.vscode" },
		{ "/w/.claude", NULL },
		{ "/w/.claude/commands", "**/.claude/commands" },
		{ "/w/.claude/commands/x", "**/.claude/commands" },
		{ "/w/.claude/other", NULL },
		{ "/w/commands/x", NULL },
		{ "/w/.git/hooks", NULL },
		{ "/w/.git/hooks/pre-commit", "**/.git/hooks/*" },
		{ "/w/.git/hooks/pre-commit.sample", NULL },
		{ "/w/.git/hooks/d/pre-commit.sample", "**/.git/hooks/*" },
		{ "/w/.git/hooks/a.sample/pre-commit", NULL },
		{ "/w/.git/modules/s/hooks/x", "**/.git/modules/**/hooks/*" },
		{ "/w/.git/modules/a/b/hooks/x", "**/.git/modules/**/hooks/*" },
		{ "/w/.git/modules/hooks/x", "**/.git/modules/**/hooks/*" },
		{ "/home/u/keep", "/home/u/keep" },
		{ "/home/u/keep/a", "/home/u/keep" },
		{ "/home/u/keeper", NULL },
		{ "/x/home/u/keep", NULL },
		{ "/w/a1/x", "/w/[ab]?/x" },
		{ "/w/c1/x", NULL },
		{ "/w/a/x", NULL },
		{ "/w/\xff\xfe.key", "**/*.key" },
		{ "/w/new\nline.key", "**/*.key" },
		{ "/", NULL },
	};
	struct names n = load(policy, ARRAY_LEN(policy));

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const char *got = names_denied(&n, table[i].path);

		if ((got == NULL) != (table[i].rule == NULL) || (got && strcmp(got, table[i].rule)))
			fail_msg("'%s': got %s, want %s", table[i].path, got ? got : "nothing",
				 table[i].rule ? table[i].rule : "nothing");
	}
	names_done(&n);
}

static void case_is_folded_only_when_asked(void **state)
{
	struct names n = load(policy, ARRAY_LEN(policy));

	(void)state;
	assert_null(names_denied(&n, "/w/.ENV"));
	n.fold_case = 1;
	assert_non_null(names_denied(&n, "/w/.ENV"));
	assert_non_null(names_denied(&n, "/w/X.KEY"));
	names_done(&n);
}

static void globs_match_within_one_part(void **state)
{
	static const struct { const char *glob, *name; int matches; } table[] = {
		{ "*", "", 1 }, { "*", "abc", 1 }, { "a*c", "abbc", 1 }, { "a*c", "abcd", 0 }, { "a?c", "abc", 1 },
		{ "a?c", "ac", 0 }, { "[a-c]x", "bx", 1 }, { "[a-c]x", "dx", 0 }, { "[!a-c]x", "dx", 1 },
		{ "[^a-c]x", "bx", 0 }, { "[]]", "]", 1 }, { "[a-]", "-", 1 }, { "[abc", "[abc", 1 }, { "[abc", "a", 0 },
		{ "*.*.*", "a.b.c", 1 }, { "*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaa", 0 }, { "**", "x", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (names_glob(table[i].glob, strlen(table[i].glob), table[i].name, strlen(table[i].name), 0) !=
		    table[i].matches)
			fail_msg("'%s' against '%s'", table[i].glob, table[i].name);
}

static void what_is_not_a_rule_is_refused(void **state)
{
	static const char *const bad[] = { "", "x", "a/b", "../x", "/a/../b", "/a/./b", "/", "**", "**/", "**/**", "!", "!x", "*/x" };
	struct names n = { 0 };
	char deep[512] = "";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		errno = 0;
		assert_int_equal(names_add(&n, bad[i]), -1);
		assert_int_equal(errno, EINVAL);
	}
	for (int i = 0; i < NAMES_MAX_PARTS + 1; i++)
		strcat(deep, "/a");
	assert_int_equal(names_add(&n, deep), -1);
	assert_int_equal(errno, E2BIG);
	assert_int_equal(n.n, 0);
	names_done(&n);
}

static void a_name_that_leads_into_a_rule_is_a_head(void **state)
{
	struct names n = load(policy, ARRAY_LEN(policy));

	(void)state;
	assert_non_null(names_heads(&n, "/w/.claude"));
	assert_non_null(names_heads(&n, "/w/.git"));
	assert_non_null(names_heads(&n, "/w/.git/hooks"));
	assert_non_null(names_heads(&n, "/home"));
	assert_null(names_heads(&n, "/w/src"));
	assert_null(names_heads(&n, "/v/.envx"));
	names_done(&n);
}

static void put(int dir, const char *path)
{
	char part[256];
	int fd;

	for (const char *s = path; (s = strchr(s, '/')); s++) {
		snprintf(part, sizeof(part), "%.*s", (int)(s - path), path);
		mkdirat(dir, part, 0700);
	}
	fd = openat(dir, path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static void a_tree_is_looked_through_for_what_its_place_would_protect(void **state)
{
	char root[] = "/tmp/agate-names-XXXXXX", command[128];
	struct names n = load(policy, ARRAY_LEN(policy));
	const char *rule = NULL;
	int top, d;

	(void)state;
	assert_non_null(mkdtemp(root));
	top = open(root, O_RDONLY | O_DIRECTORY);
	put(top, "a/commands/x");
	put(top, "b/hooks/pre-commit.sample");
	put(top, "c/hooks/pre-commit");
	put(top, "d/deep/er/hooks/h");
	put(top, "e/.env");

	d = openat(top, "a", O_RDONLY | O_DIRECTORY);
	assert_int_equal(names_tree(&n, d, "/w/.claude", &rule), 1);
	assert_string_equal(rule, "**/.claude/commands");
	assert_int_equal(names_tree(&n, d, "/w/other", &rule), 0);
	close(d);
	d = openat(top, "b", O_RDONLY | O_DIRECTORY);
	assert_int_equal(names_tree(&n, d, "/w/.git", &rule), 0);
	close(d);
	d = openat(top, "c", O_RDONLY | O_DIRECTORY);
	assert_int_equal(names_tree(&n, d, "/w/.git", &rule), 1);
	close(d);
	d = openat(top, "d", O_RDONLY | O_DIRECTORY);
	assert_int_equal(names_tree(&n, d, "/w/.git/modules", &rule), 1);
	assert_int_equal(names_tree(&n, d, "/w/.git/modules/s", &rule), 1);
	assert_int_equal(names_tree(&n, d, "/w/.git", &rule), 0);
	close(d);
	/* Denied by its own name wherever it is: not this function's business. */
	d = openat(top, "e", O_RDONLY | O_DIRECTORY);
	assert_int_equal(names_tree(&n, d, "/w/f", &rule), 0);
	close(d);
	close(top);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	assert_int_equal(system(command), 0);
	names_done(&n);
}

/* What an exception lets be made holds no more than any other place. */
static void below_an_exception_the_rules_begin_anew(void **state)
{
	static const char *const lifted[] = { "**/.husky/*", "!**/.husky/_", "**/.git/hooks/*", "!**/.git/hooks/*.sample" };
	static const struct { const char *path; int heads; } table[] = {
		{ "/w/.husky", 1 }, { "/w/.husky/_", 0 }, { "/w/.husky/_/.husky", 1 }, { "/w/.husky/_/x/.husky", 1 },
		{ "/w/.git/hooks/a.sample/.git", 1 }, { "/w/.git/hooks/a.sample/.git/hooks", 1 },
		{ "/w/.git/hooks/a.sample/x", 0 },
	};
	char root[] = "/tmp/agate-names-XXXXXX", command[128];
	struct names n = load(lifted, ARRAY_LEN(lifted));
	const char *rule = NULL;
	int top, d;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (!names_heads(&n, table[i].path) != !table[i].heads)
			fail_msg("'%s' is a head: want %d", table[i].path, table[i].heads);
	assert_non_null(mkdtemp(root));
	top = open(root, O_RDONLY | O_DIRECTORY);
	put(top, "a/pre-commit");
	put(top, "b/_/.husky/_/x");
	d = openat(top, "a", O_RDONLY | O_DIRECTORY);
	assert_int_equal(names_tree(&n, d, "/w/.husky/_/.husky", &rule), 1);
	assert_int_equal(names_tree(&n, d, "/w/.git/hooks/a.sample/.git/hooks", &rule), 1);
	assert_int_equal(names_tree(&n, d, "/w/.husky/_", &rule), 0);
	close(d);
	d = openat(top, "b", O_RDONLY | O_DIRECTORY);
	assert_int_equal(names_tree(&n, d, "/w/.husky", &rule), 0);
	close(d);
	close(top);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	assert_int_equal(system(command), 0);
	names_done(&n);
}

static void of_read_rules_the_deepest_decides(void **state)
{
	static const struct { const char *path, *rule; } table[] = {
		{ "/s", "/s" }, { "/s/x", "/s" }, { "/s/own", NULL }, { "/s/own/file", NULL },
		{ "/s/own/.env", "**/.env" }, { "/s/own/.env/x", "**/.env" }, { "/s/own/deep/shut/x", "/s/own/deep/shut" },
		{ "/elsewhere", NULL }, { "/same", NULL },
	};
	struct names n = { 0 };

	(void)state;
	assert_int_equal(names_add(&n, "/s"), 0);
	assert_int_equal(names_add(&n, "**/.env"), 0);
	assert_int_equal(names_add(&n, "/s/own/deep/shut"), 0);
	assert_int_equal(names_add(&n, "/same"), 0);
	assert_int_equal(names_add(&n, "!/s/own"), 0);
	assert_int_equal(names_add(&n, "!/same"), 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const char *got = names_unreadable(&n, table[i].path);

		if (!got != !table[i].rule || (got && strcmp(got, table[i].rule)))
			fail_msg("'%s': %s, not %s", table[i].path, got ? got : "nothing", table[i].rule ? table[i].rule : "nothing");
	}
	names_done(&n);
}

/* What names_denied() says, part by part and without looking ahead. */
static const char *denied_by_parts(const struct names *names, const char *path)
{
	uint64_t states[64];

	names_start(names, states);
	while (*(path += strspn(path, "/"))) {
		size_t len = strcspn(path, "/");
		const char *rule = names_enter(names, states, path, len, states);

		if (rule)
			return rule;
		path += len;
	}
	return NULL;
}

static void looking_ahead_decides_nothing(void **state)
{
	static const char *const rules[] = {
		"**/.env", "**/.env.*", "!**/.env.example", "**/*.key", "**/a/*", "!**/a/b", "**/?", "/w/**/c/[xy]*", "**/d/**/e",
		"/w/x", "**/A/d/*/x", "!/w/x/keep", "**/*",
	};
	static const char *const parts[] = {
		"a", "b", "c", "d", "e", "A", "x", "y", "xy", "w", "keep", ".env", ".env.a", ".env.example", "my.key", ".ENV", "other",
	};
	unsigned int seed = 1, denied = 0;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct names names = { .fold_case = round & 1 };
		char path[256] = "";

		/* The last rule, which denies everything, in few of the sets. */
		for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) - (round % 16 != 0); i++)
			if (rand_r(&seed) % 3 == 0)
				assert_int_equal(names_add(&names, rules[i]), 0);
		for (int depth = rand_r(&seed) % 6; depth >= 0; depth--) {
			strcat(path, "/");
			strcat(path, parts[(unsigned int)rand_r(&seed) % (sizeof(parts) / sizeof(parts[0]))]);
		}
		assert_ptr_equal(names_denied(&names, path), denied_by_parts(&names, path));
		denied += names_denied(&names, path) != NULL;
		names_done(&names);
	}
	assert_in_range(denied, 2000, 18000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(below_an_exception_the_rules_begin_anew),
		cmocka_unit_test(of_read_rules_the_deepest_decides),
		cmocka_unit_test(a_path_is_denied_by_the_rule_that_names_it),
		cmocka_unit_test(case_is_folded_only_when_asked),
		cmocka_unit_test(looking_ahead_decides_nothing),
		cmocka_unit_test(globs_match_within_one_part),
		cmocka_unit_test(what_is_not_a_rule_is_refused),
		cmocka_unit_test(a_name_that_leads_into_a_rule_is_a_head),
		cmocka_unit_test(a_tree_is_looked_through_for_what_its_place_would_protect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
