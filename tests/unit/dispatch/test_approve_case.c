#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "db/policies.h"
#include "dispatch/approve_case.h"

struct asked {
	struct verdict verdict;
	struct guard_request req;
	struct guard_result res;
	struct rule_set set;
	struct approve_case c;
};

/* @argv as a run would be judged that nobody has rules for. */
static void ask(struct asked *a, const char *const argv[])
{
	const struct command_request q = { .mode = MODE_CHAT, .workspace = "/w", .cwd = "/w/src", .home = "/home/u" };
	struct err err = { 0 };

	*a = (struct asked){ 0 };
	assert_int_equal(command_check_argv(&q, argv, &a->verdict, &err), 0);
	a->req = (struct guard_request){ .mode = MODE_CHAT, .agent = "bash", .workspace = "/w", .argv = argv, .root = "/w",
					 .cwd = "/w/src", .home = "/home/u", .verdict = &a->verdict, .now_us = 1 };
	guard_judge(&a->req, &a->set, &a->res);
	a->c = (struct approve_case){ .req = &a->req, .res = &a->res, .run_id = "r1", .rules = "abc" };
}

static void forget(struct asked *a)
{
	guard_result_done(&a->res);
	verdict_done(&a->verdict);
}

static void digest(const struct asked *a, char ret[DIGEST_HEX_SIZE])
{
	struct err err = { 0 };

	if (case_digest(&a->c, ret, &err) < 0)
		fail_msg("%s", err.msg);
}

static void the_digest_is_of_the_very_words(void **state)
{
	static const char *const lines[][5] = {
		{ "npm", "publish", "a b", NULL }, { "npm", "publish", "a", "b", NULL }, { "npm", "publish", "a  b", NULL },
		{ "npm", "publish", "a\xff", NULL }, { "npm", "publish", "a\xfe", NULL }, { "npm", "publish", "a\\xff", NULL },
		{ "npm", "publish", "", NULL }, { "npm", "publish", NULL },
	};
	char digests[ARRAY_LEN(lines)][DIGEST_HEX_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct asked a;

		ask(&a, lines[i]);
		digest(&a, digests[i]);
		forget(&a);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(digests[i], digests[k]);
	}
}

static void the_digest_is_of_the_place_the_mode_the_run_and_the_rules(void **state)
{
	static const char *const argv[] = { "npm", "publish", NULL };
	char first[DIGEST_HEX_SIZE], other[DIGEST_HEX_SIZE];
	struct asked a;

	(void)state;
	ask(&a, argv);
	digest(&a, first);
	digest(&a, other);
	assert_string_equal(first, other);
	a.req.cwd = "/w";
	digest(&a, other);
	assert_string_not_equal(first, other);
	a.req.cwd = "/w/src";
	a.req.mode = MODE_PLAN;
	digest(&a, other);
	assert_string_not_equal(first, other);
	a.req.mode = MODE_CHAT;
	a.c.run_id = "r2";
	digest(&a, other);
	assert_string_not_equal(first, other);
	a.c.run_id = "r1";
	a.c.rules = "abd";
	digest(&a, other);
	assert_string_not_equal(first, other);
	a.c.rules = "abc";
	a.req.agent = "claude";
	digest(&a, other);
	assert_string_not_equal(first, other);
	a.req.agent = "bash";
	digest(&a, other);
	assert_string_equal(first, other);
	forget(&a);
}

static void a_line_with_a_nul_is_not_asked_about(void **state)
{
	static const char *const argv[] = { "npm", "publish", NULL };
	char d[DIGEST_HEX_SIZE];
	struct err err = { 0 };
	struct asked a;

	(void)state;
	ask(&a, argv);
	a.req.argv = NULL;
	a.req.line = "npm publish\0; rm -r x";
	a.req.len = 21;
	assert_int_equal(case_digest(&a.c, d, &err), -1);
	assert_int_equal(err.code, ERR_INPUT);
	assert_null(case_json(&a.c, &err));
	forget(&a);
}

static void a_question_reads_back_and_is_judged_the_same(void **state)
{
	static const char *const argv[] = { "npm", "publish", "a b\xff\n", "", NULL };
	OWN(approve_read) struct approve_read r = { 0 };
	OWN(guard_result) struct guard_result again = { 0 };
	OWN(mem) char *text = NULL;
	struct err err = { 0 };
	struct asked a;

	(void)state;
	ask(&a, argv);
	assert_int_equal(a.res.decision, DECISION_ASK);
	text = case_json(&a.c, &err);
	assert_non_null(text);
	if (case_read(text, &r, &err) < 0)
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < ARRAY_LEN(argv) - 1; i++)
		assert_string_equal(r.req.argv[i], argv[i]);
	assert_null(r.req.argv[ARRAY_LEN(argv) - 1]);
	assert_string_equal(r.req.cwd, "/w/src");
	assert_string_equal(r.req.workspace, "/w");
	assert_null(r.req.space);
	assert_int_equal(r.verdict.effects_n, a.verdict.effects_n);
	guard_judge(&r.req, &a.set, &again);
	assert_int_equal(again.decision, DECISION_ASK);
	assert_string_equal(again.reason, a.res.reason);
	assert_int_equal(again.classes, a.res.classes);
	forget(&a);
}

static void a_secret_does_not_get_into_the_question(void **state)
{
	static const char *const argv[] = { "npm", "publish", "--token=ghp_abcdefghijklmnopqrstuvwxyz0123456789", NULL };
	OWN(approve_read) struct approve_read r = { 0 };
	OWN(mem) char *text = NULL;
	struct approve_memory memory;
	struct policy_row row;
	struct err err = { 0 };
	struct asked a;

	(void)state;
	ask(&a, argv);
	assert_int_equal(a.res.decision, DECISION_ASK);
	text = case_json(&a.c, &err);
	assert_non_null(text);
	assert_null(strstr(text, "ghp_abcdef"));
	assert_non_null(strstr(text, "npm publish"));
	assert_non_null(strstr(text, "\"rememberable\":false"));
	assert_int_equal(case_read(text, &r, &err), -1);
	assert_int_equal(err.code, ERR_POLICY);
	/* Nor into a rule. */
	assert_int_equal(case_remember(&a.req, &a.res, GUARD_EXACT, DECISION_ALLOW, 0, "me", &memory, &row, &err), -1);
	assert_string_equal(err.msg, "cannot remember this: the rule would hold a secret");
	assert_int_equal(case_remember(&a.req, &a.res, GUARD_PREFIX, DECISION_ALLOW, 0, "me", &memory, &row, &err), 0);
	case_memory_done(&memory);
	forget(&a);
}

static void what_is_no_question_is_refused(void **state)
{
	static const char *const bad[] = {
		"", "{}", "[]", "{\"request\":{}}", "{\"request\":{\"mode\":\"chat\"}}",
		"{\"request\":{\"mode\":\"chat\",\"argv\":[]}}", "{\"request\":{\"mode\":\"chat\",\"argv\":[3]}}",
		"{\"request\":{\"mode\":\"chat\",\"argv\":[\"a\"]}}",
		"{\"request\":{\"mode\":\"chat\",\"argv\":[\"a\"]},\"verdict\":{\"decision\":\"perhaps\"}}",
		"{\"request\":{\"mode\":\"chat\",\"argv\":[\"a\"]},\"verdict\":{\"decision\":\"ask\",\"rule\":\"\",\"reason\":\"\","
		"\"start\":0,\"end\":0,\"effects\":[{\"class\":\"x\"}]}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct approve_read r;
		struct err err = { 0 };

		if (!case_read(bad[i], &r, &err))
			fail_msg("%s was taken", bad[i]);
		assert_int_equal(err.code, ERR_INPUT);
	}
}

static void a_memory_has_an_end(void **state)
{
	static const char *const argv[] = { "npm", "publish", NULL };
	struct approve_memory memory;
	struct policy_row row;
	struct err err = { 0 };
	struct asked a;
	int64_t first;

	(void)state;
	ask(&a, argv);
	assert_int_equal(case_remember(&a.req, &a.res, GUARD_EXACT, DECISION_ALLOW, 0, "me", &memory, &row, &err), 0);
	assert_string_equal(row.provenance, "remembered");
	assert_string_equal(row.created_by, "me");
	first = row.expires_us;
	assert_true(first > 0);
	case_memory_done(&memory);
	assert_int_equal(case_remember(&a.req, &a.res, GUARD_EXACT, DECISION_ALLOW, 1000, "me", &memory, &row, &err), 0);
	assert_true(row.expires_us < first);
	case_memory_done(&memory);
	forget(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_digest_is_of_the_very_words),
		cmocka_unit_test(the_digest_is_of_the_place_the_mode_the_run_and_the_rules),
		cmocka_unit_test(a_line_with_a_nul_is_not_asked_about),
		cmocka_unit_test(a_question_reads_back_and_is_judged_the_same),
		cmocka_unit_test(a_secret_does_not_get_into_the_question),
		cmocka_unit_test(what_is_no_question_is_refused),
		cmocka_unit_test(a_memory_has_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
