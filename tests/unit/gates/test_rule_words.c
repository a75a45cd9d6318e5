#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "gates/judge.h"
#include "gates/rule_words.h"

#define MAX_ARGS 16
#define UNKNOWN "\001"	/* a word only the running shell knows */

/* @line split at blanks; "\001" stands for a word that is not known, "\001\001" for any number of them. */
static struct args split(char *line, struct arg v[MAX_ARGS])
{
	struct args args = { .v = v };
	const char *start = line;

	for (char *w = strtok(line, " "); w; w = strtok(NULL, " ")) {
		v[args.n++] = (struct arg){ .text = w, .is_known = !strchr(w, '\001'), .may_split = !strcmp(w, "\001\001"),
					    .start = (size_t)(w - start), .end = (size_t)(w - start) + strlen(w) };
	}
	return args;
}

static enum tri hit(const char *pattern, const char *line)
{
	struct arg v[MAX_ARGS];
	char copy[256];
	struct args args;
	struct rule_words p = { 0 };
	struct err err = { 0 };
	enum tri r;

	strcpy(copy, line);
	args = split(copy, v);
	if (words_parse(pattern, &p, &err) < 0)
		fail_msg("%s", err.msg);
	r = words_hit(&p, &args);
	words_done(&p);
	return r;
}

static bool covers(const char *pattern, const char *line)
{
	struct arg v[MAX_ARGS];
	char copy[256];
	struct args args;
	struct rule_words p = { 0 };
	struct err err = { 0 };
	bool r;

	strcpy(copy, line);
	args = split(copy, v);
	if (words_parse(pattern, &p, &err) < 0)
		fail_msg("%s", err.msg);
	r = words_cover(&p, &args, line, strlen(line), false);
	words_done(&p);
	return r;
}

static void to_restrict_all_that_a_command_could_be_counts(void **state)
{
	static const struct { const char *pattern, *line; enum tri want; } cases[] = {
		{ "git push", "git push", TRI_YES },		{ "git push", "git push origin x", TRI_YES },
		{ "git push", "git pull", TRI_NO },		{ "git push", "git", TRI_NO },
		{ "git push", "/usr/bin/git push", TRI_YES },	{ "/usr/bin/git push", "git push", TRI_NO },
		{ "git push", "git -C dir push", TRI_YES },	{ "git push", "git --no-pager push", TRI_YES },
		{ "git push", "git -C push pull", TRI_YES },	{ "git push", "git log push", TRI_NO },
		{ "git push --force", "git push origin x --force", TRI_YES },
		{ "git push --force", "git push origin x", TRI_NO },
		{ "rm -rf", "rm -r -f x", TRI_YES },		{ "rm -rf", "rm -fr x", TRI_YES },
		{ "rm -rf", "rm x -rvf", TRI_YES },		{ "rm -rf", "rm -r x", TRI_NO },
		{ "rm -rf", "rm --recursive x", TRI_NO },	{ "dd if=*", "dd bs=1 if=x", TRI_YES },
		{ "make all $", "make all", TRI_YES },		{ "make all $", "make all x", TRI_NO },
		{ "make all $", "make -s all", TRI_YES },	{ "rm -rf x $", "rm -f -r x", TRI_YES },
		{ "git ** main", "git push origin main", TRI_YES }, { "git ** main", "git main", TRI_YES },
		{ "git ** main", "git push origin x", TRI_NO },	{ "**", "anything at all", TRI_YES },
		{ "mkfs.*", "mkfs.ext4 x", TRI_YES },		{ "npm run test*", "npm run test:a", TRI_YES },
		{ "git push", "git " UNKNOWN, TRI_MAYBE },	{ "git push", UNKNOWN " push", TRI_MAYBE },
		{ "git push", "git pu" UNKNOWN, TRI_MAYBE },	{ "git push", "git re" UNKNOWN, TRI_NO },
		{ "git push", "make " UNKNOWN, TRI_NO },	{ "git push", UNKNOWN UNKNOWN, TRI_MAYBE },
		{ "git push", "git " UNKNOWN UNKNOWN, TRI_MAYBE }, { "rm -rf", "rm " UNKNOWN, TRI_MAYBE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (hit(cases[i].pattern, cases[i].line) != cases[i].want)
			fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].line);
}

static void to_allow_only_what_is_plainly_there_counts(void **state)
{
	static const struct { const char *pattern, *line; bool want; } cases[] = {
		{ "git push", "git push", true },	    { "git push", "git push origin", true },
		{ "git push", "/usr/bin/git push", false }, { "git push", "git -C x push", false },
		{ "git push", "git 'push'", false },	    { "git push", "git push '-x'", true },
		{ "git push", "git " UNKNOWN, false },	    { "git push", "git push " UNKNOWN, true },
		{ "make all $", "make all", true },	    { "make all $", "make all -s", false },
		{ "rm -rf", "rm -fr", false },		    { "git ** main", "git push x main y", true },
		{ "npm run test*", "npm run testing", true }, { "**", "x y", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (covers(cases[i].pattern, cases[i].line) != cases[i].want)
			fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].line);
}

static void what_is_quoted_reads_as_the_word_it_was(void **state)
{
	static const char *const words[] = { "", "a", "a b", "*", "?", "[x]", "\\", "'", "it's", "$", "**", "a\\*b", "-x", "é" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		OWN(buf) struct buf b = { 0 };
		struct rule_words p = { 0 };
		struct arg v[2] = { { .text = "cmd", .is_known = true }, { .text = words[i], .is_known = true } };
		struct args args = { .v = v, .n = 2 };
		struct err err = { 0 };

		buf_adds(&b, "cmd ");
		words_quote(&b, words[i]);
		if (words_parse(b.data, &p, &err) < 0)
			fail_msg("%s: %s", b.data, err.msg);
		assert_int_equal(p.words.n, 2);
		assert_false(p.is_exact);
		assert_true(words_cover(&p, &args, NULL, 0, false));
		v[1].text = "other";
		assert_false(words_cover(&p, &args, NULL, 0, false));
		words_done(&p);
	}
}

static void what_is_no_pattern_is_refused(void **state)
{
	static const struct { const char *text, *why; } bad[] = {
		{ "", "is empty" }, { "  ", "is empty" }, { "$", "is empty" }, { "a 'b", "has a quote that nothing closes" },
		{ "a \"b\"", "has a double quote; use single ones" }, { "a \\", "ends in a backslash" },
		{ "a $ b", "has words behind '$', which means the end" }, { "a\nb", "holds a control byte" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct rule_words p = { 0 };
		struct err err = { 0 };
		char want[200];

		assert_int_equal(words_parse(bad[i].text, &p, &err), -1);
		snprintf(want, sizeof(want), "command pattern '%s' %s", bad[i].text, bad[i].why);
		assert_string_equal(err.msg, want);
		assert_null(p.words.v);
	}
}

static void long_commands_take_no_time(void **state)
{
	static struct arg v[900];
	struct args args = { .v = v, .n = ARRAY_LEN(v) };
	struct rule_words p = { 0 };
	struct err err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		v[i] = (struct arg){ .text = i ? "-a" : "cmd", .is_known = true };
	assert_int_equal(words_parse("cmd ** a ** a ** a ** a ** a ** a ** a ** b", &p, &err), 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(words_hit(&p, &args), TRI_NO);
	assert_false(words_cover(&p, &args, NULL, 0, false));
	words_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(to_restrict_all_that_a_command_could_be_counts),
		cmocka_unit_test(to_allow_only_what_is_plainly_there_counts),
		cmocka_unit_test(what_is_quoted_reads_as_the_word_it_was),
		cmocka_unit_test(what_is_no_pattern_is_refused),
		cmocka_unit_test(long_commands_take_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
