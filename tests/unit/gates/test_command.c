/*
 * Verdicts on whole lines: the project's own cases, the ones shared between
 * projects where they are at hand, limits, spans, effects, argument vectors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <time.h>

#include "base/err.h"
#include "base/own.h"
#include "base/strv.h"
#include "gates/command.h"

#define OWN_CASES "tests/unit/gates/cases.tsv"
#define SHARED_CASES "../shared/cases/commands.tsv"

static const struct command_request request = {
	.workspace = "/home/u/proj", .cwd = "/home/u/proj", .home = "/home/u",
};

static enum decision decide(enum mode mode, const char *line, struct verdict *v)
{
	struct command_request req = request;
	struct err err;

	req.line = line;
	req.len = strlen(line);
	req.mode = mode;
	assert_int_equal(command_check(&req, v, &err), 0);
	return v->decision;
}

static void expect(enum mode mode, const char *line, enum decision want)
{
	OWN(verdict) struct verdict v;

	if (decide(mode, line, &v) != want)
		fail_msg("%s: '%s' is %s (%s), not %s", mode_name(mode), line, decision_name(v.decision),
			 v.reason, decision_name(want));
}

static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] && strchr("nt\\", s[1])) {
			s++;
			*to++ = *s == 'n' ? '\n' : *s == 't' ? '\t' : '\\';
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

static enum decision parse_decision(const char *word)
{
	for (int d = 0; d < DECISION_NUM; d++)
		if (!strcmp(word, decision_name((enum decision)d)))
			return (enum decision)d;
	fail_msg("no decision '%s'", word);
	return DECISION_DENY;
}

/* What holds for every verdict, whatever it is. */
static void check_shape(const char *line, const struct verdict *v)
{
	if (v->decision == DECISION_ALLOW) {
		assert_string_equal(v->reason, "");
		return;
	}
	if (!v->reason[0] || !v->rule[0] || v->span_start > v->span_end || v->span_end > strlen(line))
		fail_msg("'%s': reason '%s', rule '%s', span [%zu,%zu)", line, v->reason, v->rule,
			 v->span_start, v->span_end);
}

/* One row; false when the verdict is another. @is_shared: a read-only mode may deny what is marked ask. */
static bool run_case(char *row, bool is_shared)
{
	char *verdict = strtok(row, "\t"), *mode_word = strtok(NULL, "\t"), *line = strtok(NULL, "\t");
	OWN(verdict) struct verdict v = { 0 };
	enum decision want, got;
	enum mode mode;

	assert_non_null(line);
	unescape(line);
	assert_int_equal(mode_parse(mode_word, &mode), 0);
	want = parse_decision(verdict);
	got = decide(mode, line, &v);
	check_shape(line, &v);
	if (got == want ||
	    (is_shared && mode_is_readonly(mode) && want == DECISION_ASK && got == DECISION_DENY))
		return true;
	/* Shared rows know of no difference between refusing and asking in chat. */
	if (is_shared && mode == MODE_CHAT && want != DECISION_ALLOW && got != DECISION_ALLOW)
		return true;
	print_error("%s: %s is '%s' (%s: %s), not %s\n", mode_word, line, decision_name(got), v.rule,
		    v.reason, verdict);
	return false;
}

static size_t run_file(const char *path, bool is_shared)
{
	OWN(file) FILE *f = fopen(path, "r");
	OWN(mem) char *row = NULL;
	size_t size = 0, wrong = 0, n = 0;
	ssize_t len;

	if (!f)
		return SIZE_MAX;
	while ((len = getline(&row, &size, f)) > 0) {
		if (row[len - 1] == '\n')
			row[len - 1] = '\0';
		if (!row[0] || row[0] == '#')
			continue;
		n++;
		wrong += !run_case(row, is_shared);
	}
	print_message("%s: %zu cases, %zu wrong\n", path, n, wrong);
	assert_true(n > 50);
	return wrong;
}

static void every_case_of_ours_comes_out_as_written(void **state)
{
	(void)state;
	assert_int_equal(run_file(OWN_CASES, false), 0);
}

static void every_shared_case_comes_out_right(void **state)
{
	size_t wrong = run_file(SHARED_CASES, true);

	(void)state;
	if (wrong == SIZE_MAX) {
		print_message("no '%s' here\n", SHARED_CASES);
		skip();
	}
	assert_int_equal(wrong, 0);
}

static void all_read_only_modes_are_of_one_mind(void **state)
{
	static const char *const lines[] = { "ls", "touch x", "git log", "git push", "cat a | tee b", "if", "" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		OWN(verdict) struct verdict plan = { 0 };
		enum decision want = decide(MODE_PLAN, lines[i], &plan);

		expect(MODE_REVIEW, lines[i], want);
		expect(MODE_ORCHESTRATE, lines[i], want);
	}
}

static void the_empty_line_is_allowed(void **state)
{
	(void)state;
	expect(MODE_PLAN, "", DECISION_ALLOW);
	expect(MODE_PLAN, " \n\t\n", DECISION_ALLOW);
	expect(MODE_CHAT, "# nothing", DECISION_ALLOW);
}

static void a_span_is_where_the_reason_lies(void **state)
{
	static const char line[] = "ls && rm -rf src; pwd";
	OWN(verdict) struct verdict v;

	(void)state;
	assert_int_equal(decide(MODE_PLAN, line, &v), DECISION_DENY);
	assert_string_equal(v.reason, "plan mode only looks, and 'rm' deletes 'src'");
	assert_int_equal(v.span_start, 13);
	assert_int_equal(v.span_end, 16);
}

static void a_span_of_a_nested_line_is_the_word_that_holds_it(void **state)
{
	static const char line[] = "ls; bash -c 'touch x'";
	OWN(verdict) struct verdict v;

	(void)state;
	assert_int_equal(decide(MODE_PLAN, line, &v), DECISION_DENY);
	assert_int_equal(v.span_start, 12);
	assert_int_equal(v.span_end, 21);
}

static bool has_effect(const struct verdict *v, enum effect_class class, enum effect_place place,
		       const char *subject)
{
	for (size_t i = 0; i < v->effects_n; i++) {
		const struct effect *e = &v->effects[i];

		if (e->class == class && e->place == place && !strcmp(e->subject ? e->subject : "", subject))
			return true;
	}
	return false;
}

static void effects_name_their_class_place_and_path(void **state)
{
	OWN(verdict) struct verdict v;

	(void)state;
	decide(MODE_CHAT,
	       "cp a.txt sub/b.txt && rm c; cat ~/.ssh/id_rsa >/dev/null; curl https://example.com", &v);
	assert_true(has_effect(&v, EFFECT_FILE_READ, PLACE_INSIDE, "/home/u/proj/a.txt"));
	assert_true(has_effect(&v, EFFECT_WORKSPACE_MUTATION, PLACE_INSIDE, "/home/u/proj/sub/b.txt"));
	assert_true(has_effect(&v, EFFECT_FILE_DELETE, PLACE_INSIDE, "/home/u/proj/c"));
	assert_true(has_effect(&v, EFFECT_SECRET_ACCESS, PLACE_SECRET, "/home/u/.ssh/id_rsa"));
	assert_true(has_effect(&v, EFFECT_NETWORK_EGRESS, PLACE_NONE, "https://example.com"));
}

static void what_only_the_shell_knows_shows_as_a_star(void **state)
{
	OWN(verdict) struct verdict v;

	(void)state;
	decide(MODE_CHAT, "rm \"$1\"", &v);
	assert_true(has_effect(&v, EFFECT_FILE_DELETE, PLACE_UNKNOWN, "/home/u/proj/*"));
}

static void a_line_over_128_kib_is_denied_unread(void **state)
{
	OWN(mem) char *line = malloc(COMMAND_MAX_BYTES + 2);

	(void)state;
	memset(line, 'a', COMMAND_MAX_BYTES + 1);
	line[COMMAND_MAX_BYTES + 1] = '\0';
	expect(MODE_CHAT, line, DECISION_DENY);
}

/* @n times @open, then @core, then @n times @close. */
static char *nested(const char *open, const char *core, const char *close, size_t n)
{
	char *line = calloc(1, n * (strlen(open) + strlen(close)) + strlen(core) + 1);

	for (size_t i = 0; i < n; i++)
		strcat(line, open);
	strcat(line, core);
	for (size_t i = 0; i < n; i++)
		strcat(line, close);
	return line;
}

static void nesting_over_64_is_denied_quickly(void **state)
{
	static const struct { const char *open, *core, *close; } shapes[] = {
		{ "(", "ls", ")" }, { "$(", "ls", ")" }, { "{ ", "ls", "; }" }, { "echo $(", "ls", ")" },
		{ "if ", "ls", "; then ls; fi" }, { "${x:-", "a", "}" }, { "$((", "1", "))" }, { "((", "1",
		"))" },
		{ "$((", "", "" }, { "((", "", "" }, { "echo \"$(", "ls", ")\"" }, { "<(", "ls", ")" },
		{ "a=(", "", ")" },
		{ "x[", "", "" }, { "! ", "ls", "" },
	};
	clock_t start = clock();	/* of the processor: machines are busy */

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		OWN(mem) char *deep = nested(shapes[i].open, shapes[i].core, shapes[i].close, 2000);
		OWN(verdict) struct verdict v;

		decide(MODE_PLAN, deep, &v);
		if (i < 8 && v.decision != DECISION_DENY)
			fail_msg("'%s...' 2000 times is not denied", shapes[i].open);
	}
	assert_true(clock() - start < 5 * CLOCKS_PER_SEC);
}

static void programs_that_run_programs_without_end_are_denied(void **state)
{
	static const char *const wrappers[] = {
		"nice ", "env ", "xargs ", "command ", "timeout 5 ", "git -c alias.a='!", "bash -c '", "find . -exec ", "sudo ",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrappers); i++) {
		OWN(mem) char *line = nested(wrappers[i], "ls", "", 8000);
		OWN(verdict) struct verdict v;

		assert_int_not_equal(decide(MODE_PLAN, line, &v), DECISION_ALLOW);
	}
	expect(MODE_PLAN, "nice env timeout 5 command ls", DECISION_ALLOW);
}

static void a_little_nesting_is_fine(void **state)
{
	OWN(mem) char *line = nested("echo $(", "ls", ")", 10);

	(void)state;
	expect(MODE_PLAN, line, DECISION_ALLOW);
}

static void a_thousand_commands_are_the_most(void **state)
{
	OWN(mem) char *fits = nested("true\n", "", "", 1000), *over = nested("true\n", "", "", 1001);

	(void)state;
	expect(MODE_PLAN, fits, DECISION_ALLOW);
	expect(MODE_PLAN, over, DECISION_DENY);
	expect(MODE_CHAT, over, DECISION_DENY);
}

static void functions_and_loops_cannot_make_a_verdict_slow(void **state)
{
	static const char *const lines[] = {
		"f() { f; f; f; f; }; f",
		"a() { b; b; b; b; b; b; }; b() { a; a; a; a; a; a; }; a",
		"for a in 1 2 3 4 5 6 7 8; do for b in 1 2 3 4 5 6 7 8; do for c in 1 2 3 4 5 6 7 8; do "
		"for d in 1 2 3 4 5 6 7 8; do for e in 1 2 3 4 5 6 7 8; do echo $a$b$c$d$e; done; done; done; done; done",
		"echo {a,b,c,d,e,f}{a,b,c,d,e,f}{a,b,c,d,e,f}{a,b,c,d,e,f}{a,b,c,d,e,f}{a,b,c,d,e,f}",
		"echo {1..999999999}{1..999999999}",
		"echo {{{{{{{{{{{{{{{{{{{{{{a,b},c},d},e},f},g},h},i},j},k},l},m},n},o},p},q},r},s},t},u},v},w}",
	};
	clock_t start = clock();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		OWN(verdict) struct verdict v;

		decide(MODE_PLAN, lines[i], &v);
	}
	assert_true(clock() - start < 2 * CLOCKS_PER_SEC);
}

static void bytes_that_readers_take_differently_are_refused(void **state)
{
	OWN(verdict) struct verdict v;
	struct command_request req = request;
	struct err err;

	(void)state;
	expect(MODE_PLAN, "ls\r\n", DECISION_DENY);
	expect(MODE_PLAN, "ls \x01", DECISION_DENY);
	req.line = "ls\0touch x";
	req.len = 10;
	req.mode = MODE_PLAN;
	assert_int_equal(command_check(&req, &v, &err), 0);
	assert_int_equal(v.decision, DECISION_DENY);
}

static void reasons_hold_no_control_bytes(void **state)
{
	OWN(verdict) struct verdict v;

	(void)state;
	decide(MODE_PLAN, "rm $'a\\033[31mb'", &v);
	assert_null(strchr(v.reason, '\033'));
	assert_non_null(strstr(v.reason, "a?[31mb"));
}

static void a_broken_request_is_an_error_and_still_a_denial(void **state)
{
	struct command_request req = request;
	OWN(verdict) struct verdict v;
	struct err err;

	(void)state;
	assert_int_equal(command_check(&req, &v, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(v.decision, DECISION_DENY);
	req.line = "ls";
	req.len = 2;
	req.workspace = "relative";
	assert_int_equal(command_check(&req, &v, &err), -1);
	assert_int_equal(v.decision, DECISION_DENY);
	assert_string_equal(err.msg, "workspace 'relative' is not a clean absolute path");
}

static void without_a_workspace_nothing_is_inside(void **state)
{
	struct command_request req = { .line = "cat a", .len = 5, .mode = MODE_PLAN, .cwd = "/srv/x" };
	OWN(verdict) struct verdict v;
	struct err err;

	(void)state;
	assert_int_equal(command_check(&req, &v, &err), 0);
	assert_int_equal(v.decision, DECISION_DENY);
}

static void granted_roots_may_be_read_and_written(void **state)
{
	OWN(strv) struct strv reads = { 0 }, writes = { 0 }, protected = { 0 };
	struct command_request req = request;
	OWN(verdict) struct verdict read, write, kept;
	struct err err;

	(void)state;
	strv_add(&reads, "/srv/docs");
	strv_add(&writes, "/srv/out");
	strv_add(&protected, "/srv/out/orig");
	req.read_roots = &reads;
	req.write_roots = &writes;
	req.protected = &protected;
	req.mode = MODE_PLAN;
	req.line = "cat /srv/docs/a";
	req.len = strlen(req.line);
	command_check(&req, &read, &err);
	assert_int_equal(read.decision, DECISION_ALLOW);
	req.mode = MODE_CHAT;
	req.line = "cp a /srv/out/b";
	req.len = strlen(req.line);
	command_check(&req, &write, &err);
	assert_int_equal(write.decision, DECISION_ALLOW);
	req.line = "cp a /srv/out/orig/b";
	req.len = strlen(req.line);
	command_check(&req, &kept, &err);
	assert_int_equal(kept.decision, DECISION_DENY);
}

static enum decision decide_argv(enum mode mode, const char *const argv[], struct verdict *v)
{
	struct command_request req = request;
	struct err err;

	req.mode = mode;
	assert_int_equal(command_check_argv(&req, argv, v, &err), 0);
	return v->decision;
}

static void words_of_a_vector_are_not_read_as_shell(void **state)
{
	static const char *const echo[] = { "echo", "$(touch x)", ">", "f;", "rm", NULL };
	static const char *const bash[] = { "bash", "-c", "touch x", NULL };
	static const char *const wrapped[] = { "env", "A=1", "timeout", "5", "rm", "-rf", "/", NULL };
	OWN(verdict) struct verdict a, b, c;

	(void)state;
	assert_int_equal(decide_argv(MODE_PLAN, echo, &a), DECISION_ALLOW);
	assert_int_equal(decide_argv(MODE_PLAN, bash, &b), DECISION_DENY);
	assert_int_equal(b.span_start, 8);
	assert_int_equal(b.span_end, 15);
	assert_int_equal(decide_argv(MODE_CHAT, wrapped, &c), DECISION_DENY);
}

static void an_empty_vector_is_an_error(void **state)
{
	static const char *const none[] = { NULL };
	struct command_request req = request;
	OWN(verdict) struct verdict v;
	struct err err;

	(void)state;
	assert_int_equal(command_check_argv(&req, none, &v, &err), -1);
	assert_int_equal(v.decision, DECISION_DENY);
}

static void every_name_table_is_complete(void **state)
{
	(void)state;
	for (int c = 0; c < EFFECT_NUM; c++)
		assert_true(effect_class_name((enum effect_class)c)[0]);
	for (int p = 1; p < PLACE_NUM; p++)
		assert_true(effect_place_name((enum effect_place)p)[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_case_of_ours_comes_out_as_written),
		cmocka_unit_test(every_shared_case_comes_out_right),
		cmocka_unit_test(all_read_only_modes_are_of_one_mind),
		cmocka_unit_test(the_empty_line_is_allowed),
		cmocka_unit_test(a_span_is_where_the_reason_lies),
		cmocka_unit_test(a_span_of_a_nested_line_is_the_word_that_holds_it),
		cmocka_unit_test(effects_name_their_class_place_and_path),
		cmocka_unit_test(what_only_the_shell_knows_shows_as_a_star),
		cmocka_unit_test(a_line_over_128_kib_is_denied_unread),
		cmocka_unit_test(nesting_over_64_is_denied_quickly),
		cmocka_unit_test(programs_that_run_programs_without_end_are_denied),
		cmocka_unit_test(a_little_nesting_is_fine),
		cmocka_unit_test(a_thousand_commands_are_the_most),
		cmocka_unit_test(functions_and_loops_cannot_make_a_verdict_slow),
		cmocka_unit_test(bytes_that_readers_take_differently_are_refused),
		cmocka_unit_test(reasons_hold_no_control_bytes),
		cmocka_unit_test(a_broken_request_is_an_error_and_still_a_denial),
		cmocka_unit_test(without_a_workspace_nothing_is_inside),
		cmocka_unit_test(granted_roots_may_be_read_and_written),
		cmocka_unit_test(words_of_a_vector_are_not_read_as_shell),
		cmocka_unit_test(an_empty_vector_is_an_error),
		cmocka_unit_test(every_name_table_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
