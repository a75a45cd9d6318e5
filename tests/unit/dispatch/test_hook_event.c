/*
 * PreToolUse events: what is read, what is refused, and the exact words of an answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "dispatch/hook_event.h"

#define WHOLE \
	"{\"session_id\":\"s1\",\"transcript_path\":\"/h/.claude/projects/p/s1.jsonl\",\"cwd\":\"/w\"," \
	"\"permission_mode\":\"default\",\"effort\":{\"level\":\"high\"},\"hook_event_name\":\"PreToolUse\"," \
	"\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"},\"tool_use_id\":\"toolu_1\",\"new_field\":[1]}"

static int parse(const char *text, struct json **root, struct hook_event *ev, struct err *err)
{
	return hook_event_parse(text, strlen(text), root, ev, err);
}

static void a_whole_event_is_read(void **state)
{
	OWN(json) struct json *root = NULL;
	struct hook_event ev;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(parse(WHOLE, &root, &ev, &err), 0);
	assert_string_equal(ev.tool, "Bash");
	assert_string_equal(json_str(json_get(ev.input, "command")), "ls");
	assert_string_equal(ev.tool_use, "toolu_1");
	assert_string_equal(ev.session, "s1");
	assert_string_equal(ev.transcript, "/h/.claude/projects/p/s1.jsonl");
	assert_string_equal(ev.cwd, "/w");
	assert_int_equal(ev.only_plans, 0);
}

static void what_is_only_told_may_be_missing(void **state)
{
	static const char text[] = "{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/\",\"tool_name\":\"X\","
		"\"tool_input\":{},\"session_id\":null,\"transcript_path\":\"a/../b\",\"permission_mode\":\"plan\"}";
	OWN(json) struct json *root = NULL;
	struct hook_event ev;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(parse(text, &root, &ev, &err), 0);
	assert_null(ev.tool_use);
	assert_null(ev.session);
	assert_null(ev.transcript);
	assert_int_equal(ev.only_plans, 1);
}

static void what_a_verdict_rests_on_must_be_there_and_be_right(void **state)
{
	static const char *const broken[] = {
		"", "null", "[]", "{}", "{", "\"x\"", WHOLE "x", WHOLE WHOLE,
		"{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/w\",\"tool_name\":\"Bash\"}",
		"{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/w\",\"tool_name\":\"Bash\",\"tool_input\":\"ls\"}",
		"{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/w\",\"tool_name\":\"Bash\",\"tool_input\":[]}",
		"{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/w\",\"tool_name\":\"\",\"tool_input\":{}}",
		"{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/w\",\"tool_name\":7,\"tool_input\":{}}",
		"{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"w\",\"tool_name\":\"Bash\",\"tool_input\":{}}",
		"{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/w/../x\",\"tool_name\":\"Bash\",\"tool_input\":{}}",
		"{\"hook_event_name\":\"PreToolUse\",\"cwd\":null,\"tool_name\":\"Bash\",\"tool_input\":{}}",
		"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{}}",
		"{\"hook_event_name\":\"PostToolUse\",\"cwd\":\"/w\",\"tool_name\":\"Bash\",\"tool_input\":{}}",
		"{\"cwd\":\"/w\",\"tool_name\":\"Bash\",\"tool_input\":{}}",
		"{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/w\",\"tool_name\":\"Bash\",\"tool_input\":{},\"permission_mode\":1}",
		"{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/w\",\"tool_name\":\"Bash\",\"tool_input\":{},\"tool_use_id\":{}}",
		/* twice the same name: which one would the agent run? */
		"{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/w\",\"tool_name\":\"Bash\",\"tool_input\":"
		"{\"command\":\"ls\",\"command\":\"rm -rf /\"}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		struct json *root = NULL;
		struct hook_event ev;
		struct err err = { 0 };

		if (!parse(broken[i], &root, &ev, &err))
			fail_msg("taken: %s", broken[i]);
		assert_null(root);
		assert_true(err.msg[0]);
	}
}

static void over_a_mebibyte_or_too_deep_is_refused(void **state)
{
	OWN(buf) struct buf big = { 0 };
	OWN(buf) struct buf deep = { 0 };
	struct json *root = NULL;
	struct hook_event ev;
	struct err err = { 0 };

	(void)state;
	buf_adds(&big, "{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/w\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"");
	while (big.len <= HOOK_MAX_BYTES)
		buf_adds(&big, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	buf_adds(&big, "\"}}");
	assert_int_equal(hook_event_parse(big.data, big.len, &root, &ev, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	for (int i = 0; i < 5000; i++)
		buf_adds(&deep, "{\"a\":");
	assert_int_equal(hook_event_parse(deep.data, deep.len, &root, &ev, &err), -1);
}

static void the_digest_is_of_the_exact_call(void **state)
{
	OWN(json) struct json *root = NULL;
	char one[DIGEST_HEX_SIZE], other[DIGEST_HEX_SIZE];
	struct hook_event ev;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(parse(WHOLE, &root, &ev, &err), 0);
	assert_int_equal(hook_event_digest(&ev, MODE_CHAT, one), 0);
	assert_int_equal(hook_event_digest(&ev, MODE_CHAT, other), 0);
	assert_string_equal(one, other);
	assert_int_equal(hook_event_digest(&ev, MODE_PLAN, other), 0);
	assert_string_not_equal(one, other);
	ev.cwd = "/x";
	assert_int_equal(hook_event_digest(&ev, MODE_CHAT, other), 0);
	assert_string_not_equal(one, other);
}

static void an_answer_is_what_claude_obeys(void **state)
{
	static const struct { enum decision d; const char *reason, *text; } cases[] = {
		{ DECISION_DENY, "no \"x\"", "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
		  "\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"no \\\"x\\\"\"}}" },
		{ DECISION_ASK, "?", "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
		  "\"permissionDecision\":\"ask\",\"permissionDecisionReason\":\"?\"}}" },
		{ DECISION_ALLOW, "", "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
		  "\"permissionDecision\":\"allow\"}}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(json) struct json *j = hook_answer(cases[i].d, cases[i].reason);
		OWN(mem) char *text = json_print(j);

		assert_string_equal(text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_event_is_read),
		cmocka_unit_test(what_is_only_told_may_be_missing),
		cmocka_unit_test(what_a_verdict_rests_on_must_be_there_and_be_right),
		cmocka_unit_test(over_a_mebibyte_or_too_deep_is_refused),
		cmocka_unit_test(the_digest_is_of_the_exact_call),
		cmocka_unit_test(an_answer_is_what_claude_obeys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
