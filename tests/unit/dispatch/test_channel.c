/*
 * The control channel as a machine: what it says to the agent and to the user
 * for what the agent says, and what makes it break off.
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
#include "dispatch/channel_internal.h"
#include "dispatch/hook_event.h"

/* --- the other side --- */

struct side {
	struct channel *ch;
	struct channel_ask ask;
	struct buf to_agent, to_user;
	char asked[512];		/* "Bash(toolu_1) " for each question */
	uint64_t last;			/* the number of the last one */
	int answers;			/* 0: nobody answers; else a decision + 1 */
	int withdrawn, hung_up, broken;
	struct err why;
	char what[128];
	uint64_t timer_ms;
};

static void asked(void *cookie, uint64_t id, const struct hook_event *ev)
{
	struct side *s = cookie;
	size_t n = strlen(s->asked);

	snprintf(s->asked + n, sizeof(s->asked) - n, "%s(%s) ", ev->tool, ev->tool_use);
	s->last = id;
	if (s->answers)
		channel_answer(s->ch, id, (enum decision)(s->answers - 1), "why");
}

static void withdrawn(void *cookie, uint64_t id)
{
	struct side *s = cookie;

	assert_int_equal(id, s->last);
	s->withdrawn++;
}

static void to_agent(void *cookie, const char *data, size_t len)
{
	buf_add(&((struct side *)cookie)->to_agent, data, len);
}

static void to_user(void *cookie, const char *data, size_t len)
{
	buf_add(&((struct side *)cookie)->to_user, data, len);
}

static void hang_up(void *cookie)
{
	((struct side *)cookie)->hung_up++;
}

static void broken(void *cookie, const char *what, const struct err *why)
{
	struct side *s = cookie;

	s->broken++;
	s->why = *why;
	snprintf(s->what, sizeof(s->what), "%s", what ? what : "");
}

static void timer(void *cookie, uint64_t ms)
{
	((struct side *)cookie)->timer_ms = ms;
}

static const struct channel_ops ops = { asked, withdrawn, to_agent, to_user, hang_up, broken, timer };

static void side_init(struct side *s, enum channel_format format, int verbose)
{
	struct channel_params p = { .prompt = "do it", .permission_mode = "default", .ops = &ops };

	*s = (struct side){ .ask = { .format = format, .verbose = verbose } };
	p.ask = &s->ask;
	p.cookie = s;
	s->ch = channel_new(&p);
	assert_non_null(s->ch);
}

static void side_done(struct side *s)
{
	channel_free(s->ch);
	buf_done(&s->to_agent);
	buf_done(&s->to_user);
}

static void line(struct side *s, const char *text)
{
	channel_read(s->ch, text, strlen(text));
	channel_read(s->ch, "\n", 1);
}

/* What was said to the agent since the last look. */
static void said(struct side *s, const char *want)
{
	assert_string_equal(s->to_agent.data ? s->to_agent.data : "", want);
	buf_clear(&s->to_agent);
}

static void shown(struct side *s, const char *want)
{
	assert_string_equal(s->to_user.data ? s->to_user.data : "", want);
	buf_clear(&s->to_user);
}

#define GREETED "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"agate-initialize\",\"response\":{}}}"
#define INIT(mode, key, servers) \
	"{\"type\":\"system\",\"subtype\":\"init\",\"cwd\":\"/w\",\"permissionMode\":\"" mode "\",\"apiKeySource\":\"" key \
	"\",\"mcp_servers\":" servers "}"
#define PLAIN_INIT INIT("default", "ANTHROPIC_API_KEY", "[]")
#define HOOK(use, tool, input) \
	"{\"type\":\"control_request\",\"request_id\":\"r-" use "\",\"request\":{\"subtype\":\"hook_callback\"," \
	"\"callback_id\":\"agate\",\"input\":{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/w\",\"tool_name\":\"" tool \
	"\",\"tool_input\":" input ",\"tool_use_id\":\"" use "\"}}}"
#define BASH_HOOK HOOK("t1", "Bash", "{\"command\":\"ls\"}")
#define CAN_USE(use) \
	"{\"type\":\"control_request\",\"request_id\":\"p-" use "\",\"request\":{\"subtype\":\"can_use_tool\"," \
	"\"tool_name\":\"Bash\",\"input\":{\"command\":\"ls\"},\"tool_use_id\":\"" use "\"}}"
#define RESULT_OF(use, more, meta) \
	"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"" use \
	"\"" more "}]}" meta "}"
#define META(use, text) ",\"tool_result_meta\":[{\"id\":\"" use "\"," text "}]"
#define ACCEPTED "\"permission_decision\":{\"decision\":\"accept\"}"
#define REJECTED "\"permission_decision\":{\"decision\":\"reject\"},\"non_execution_kind\":\"permission-rule\""
#define RESULT "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"Done.\"}"

#define HOOK_ANSWER(request, word) \
	"{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"" request "\",\"response\":" \
	"{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"" word \
	"\",\"permissionDecisionReason\":\"why\"}}}}\n"

/* As far as a question can come. */
static void begin(struct side *s, enum channel_format format, int verbose, int answers)
{
	side_init(s, format, verbose);
	s->answers = answers;
	channel_start(s->ch);
	line(s, GREETED);
	line(s, PLAIN_INIT);
	buf_clear(&s->to_agent);
	buf_clear(&s->to_user);
	assert_int_equal(s->broken, 0);
}

/* --- the beginning --- */

static void the_prompt_waits_for_the_hook_to_be_taken(void **state)
{
	struct side s;

	(void)state;
	side_init(&s, CHANNEL_TEXT, 0);
	channel_start(s.ch);
	said(&s, "{\"type\":\"control_request\",\"request\":{\"subtype\":\"initialize\",\"hooks\":{\"PreToolUse\":"
	     "[{\"matcher\":\"*\",\"hookCallbackIds\":[\"agate\"],\"timeout\":86400}]}},\"request_id\":\"agate-initialize\"}\n");
	assert_true(s.timer_ms > 0);
	line(&s, "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"another\"}}");
	said(&s, "");
	line(&s, GREETED);
	said(&s, "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"do it\"}}\n");
	assert_int_equal(s.timer_ms, 0);
	line(&s, GREETED);
	said(&s, "");
	assert_int_equal(s.broken, 0);
	side_done(&s);
}

static void an_agent_that_takes_no_hook_ends_the_run(void **state)
{
	struct side s;

	(void)state;
	side_init(&s, CHANNEL_TEXT, 0);
	channel_start(s.ch);
	line(&s, "{\"type\":\"control_response\",\"response\":{\"subtype\":\"error\",\"request_id\":\"agate-initialize\"}}");
	assert_int_equal(s.broken, 1);
	side_done(&s);
	side_init(&s, CHANNEL_TEXT, 0);
	channel_start(s.ch);
	channel_timeout(s.ch);
	assert_int_equal(s.broken, 1);
	side_done(&s);
	side_init(&s, CHANNEL_TEXT, 0);
	channel_start(s.ch);
	line(&s, PLAIN_INIT);
	assert_int_equal(s.broken, 1);
	side_done(&s);
}

static void another_mode_key_or_server_ends_the_run(void **state)
{
	static const struct { const char *init; int broken; } cases[] = {
		{ PLAIN_INIT, 0 }, { INIT("plan", "none", "[]"), 0 }, { INIT("default", "oauth", "[]"), 0 },
		{ INIT("acceptEdits", "none", "[]"), 1 }, { INIT("bypassPermissions", "none", "[]"), 1 },
		{ INIT("auto", "none", "[]"), 1 }, { INIT("default", "apiKeyHelper", "[]"), 1 },
		{ INIT("default", "project", "[]"), 1 }, { INIT("default", "new", "[]"), 1 },
		{ INIT("default", "none", "[{\"name\":\"x\",\"status\":\"connected\"}]"), 1 },
		{ "{\"type\":\"system\",\"subtype\":\"init\"}", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct side s;

		side_init(&s, CHANNEL_TEXT, 0);
		channel_start(s.ch);
		line(&s, GREETED);
		line(&s, cases[i].init);
		if (s.broken != cases[i].broken)
			fail_msg("%s", cases[i].init);
		side_done(&s);
	}
}

static void servers_that_the_user_named_may_be_there(void **state)
{
	struct side s;

	(void)state;
	side_init(&s, CHANNEL_TEXT, 0);
	s.ask.has_servers = 1;
	channel_start(s.ch);
	line(&s, GREETED);
	line(&s, INIT("default", "none", "[{\"name\":\"x\"}]"));
	assert_int_equal(s.broken, 0);
	side_done(&s);
}

/* --- questions and answers --- */

static void each_call_is_asked_about_and_answered_exactly(void **state)
{
	struct side s;

	(void)state;
	begin(&s, CHANNEL_TEXT, 0, DECISION_ALLOW + 1);
	line(&s, BASH_HOOK);
	assert_string_equal(s.asked, "Bash(t1) ");
	said(&s, HOOK_ANSWER("r-t1", "allow"));
	s.answers = DECISION_DENY + 1;
	line(&s, HOOK("t2", "Write", "{\"file_path\":\"/etc/x\"}"));
	said(&s, HOOK_ANSWER("r-t2", "deny"));
	s.answers = DECISION_ASK + 1;
	line(&s, HOOK("t3", "Write", "{}"));
	said(&s, HOOK_ANSWER("r-t3", "deny"));
	shown(&s, "");
	side_done(&s);
}

static void an_answer_may_come_later_and_only_once(void **state)
{
	struct side s;
	uint64_t first;

	(void)state;
	begin(&s, CHANNEL_TEXT, 0, 0);
	line(&s, BASH_HOOK);
	first = s.last;
	line(&s, HOOK("t2", "Read", "{}"));
	said(&s, "");
	channel_answer(s.ch, s.last, DECISION_DENY, "why");
	said(&s, HOOK_ANSWER("r-t2", "deny"));
	channel_answer(s.ch, first, DECISION_ALLOW, "why");
	said(&s, HOOK_ANSWER("r-t1", "allow"));
	channel_answer(s.ch, first, DECISION_ALLOW, "why");
	channel_answer(s.ch, 99, DECISION_ALLOW, "why");
	said(&s, "");
	side_done(&s);
}

static void what_cannot_be_read_is_denied(void **state)
{
	static const char *const requests[] = {
		"{\"type\":\"control_request\",\"request_id\":\"r\",\"request\":{\"subtype\":\"hook_callback\",\"callback_id\":\"agate\"}}",
		"{\"type\":\"control_request\",\"request_id\":\"r\",\"request\":{\"subtype\":\"hook_callback\",\"callback_id\":\"agate\","
		"\"input\":{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/w\",\"tool_name\":\"Bash\",\"tool_input\":[]}}}",
		"{\"type\":\"control_request\",\"request_id\":\"r\",\"request\":{\"subtype\":\"hook_callback\",\"callback_id\":\"agate\","
		"\"input\":{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/w\",\"tool_name\":\"Bash\",\"tool_input\":{}}}}",
		"{\"type\":\"control_request\",\"request_id\":\"r\",\"request\":{\"subtype\":\"hook_callback\",\"callback_id\":\"other\","
		"\"input\":{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/w\",\"tool_name\":\"Bash\",\"tool_input\":{},\"tool_use_id\":\"t\"}}}",
		HOOK("r", "Bash", "{\"command\":\"echo \\u0000\"}"),
		HOOK("r", "Bash", "{\"command\":\"echo \\ud800\"}"),
		"{\"type\":\"control_request\",\"request_id\":\"r\",\"request\":{\"subtype\":\"can_use_tool\",\"tool_name\":\"Bash\"}}",
		"{\"type\":\"control_request\",\"request_id\":\"r\",\"request\":{\"subtype\":\"can_use_tool\",\"tool_name\":\"Bash\",\"input\":{}}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		struct side s;

		begin(&s, CHANNEL_TEXT, 0, DECISION_ALLOW + 1);
		line(&s, requests[i]);
		assert_string_equal(s.asked, "");
		assert_int_equal(s.broken, 0);
		if (!strstr(s.to_agent.data, "\"permissionDecision\":\"deny\"") && !strstr(s.to_agent.data, "\"behavior\":\"deny\""))
			fail_msg("%s: %s", requests[i], s.to_agent.data);
		side_done(&s);
	}
}

static void a_permission_has_its_own_words(void **state)
{
	struct side s;

	(void)state;
	begin(&s, CHANNEL_TEXT, 0, DECISION_ALLOW + 1);
	line(&s, CAN_USE("t1"));
	said(&s, "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"p-t1\",\"response\":"
	     "{\"behavior\":\"allow\",\"updatedInput\":{\"command\":\"ls\"}}}}\n");
	s.answers = DECISION_DENY + 1;
	line(&s, CAN_USE("t2"));
	said(&s, "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"p-t2\",\"response\":"
	     "{\"behavior\":\"deny\",\"message\":\"why\"}}}\n");
	assert_string_equal(s.asked, "Bash(t1) Bash(t2) ");
	side_done(&s);
}

static void a_call_that_was_judged_is_not_judged_again(void **state)
{
	struct side s;

	(void)state;
	begin(&s, CHANNEL_TEXT, 0, DECISION_ALLOW + 1);
	line(&s, BASH_HOOK);
	line(&s, CAN_USE("t1"));
	assert_string_equal(s.asked, "Bash(t1) ");
	assert_non_null(strstr(s.to_agent.data, "\"behavior\":\"allow\""));
	side_done(&s);
	begin(&s, CHANNEL_TEXT, 0, DECISION_DENY + 1);
	line(&s, BASH_HOOK);
	line(&s, CAN_USE("t1"));
	assert_string_equal(s.asked, "Bash(t1) ");
	assert_non_null(strstr(s.to_agent.data, "\"behavior\":\"deny\""));
	side_done(&s);
}

static void other_requests_are_refused(void **state)
{
	struct side s;

	(void)state;
	begin(&s, CHANNEL_TEXT, 0, 0);
	line(&s, "{\"type\":\"control_request\",\"request_id\":\"m\",\"request\":{\"subtype\":\"mcp_message\"}}");
	said(&s, "{\"type\":\"control_response\",\"response\":{\"subtype\":\"error\",\"request_id\":\"m\","
	     "\"error\":\"agate does not answer this\"}}\n");
	assert_int_equal(s.broken, 0);
	line(&s, "{\"type\":\"control_request\",\"request\":{\"subtype\":\"can_use_tool\"}}");
	assert_int_equal(s.broken, 1);
	side_done(&s);
}

static void a_question_can_be_taken_back(void **state)
{
	struct side s;

	(void)state;
	begin(&s, CHANNEL_TEXT, 0, 0);
	line(&s, BASH_HOOK);
	line(&s, "{\"type\":\"control_cancel_request\",\"request_id\":\"r-t1\"}");
	assert_int_equal(s.withdrawn, 1);
	channel_answer(s.ch, s.last, DECISION_ALLOW, "why");
	said(&s, "");
	line(&s, RESULT_OF("t1", "", ""));
	assert_int_equal(s.broken, 1);
	side_done(&s);
}

/* --- what has to have been asked --- */

static void a_result_must_have_been_allowed(void **state)
{
	static const struct { int answers; const char *result; int broken; } cases[] = {
		/* allowed: whatever came of it */
		{ DECISION_ALLOW + 1, RESULT_OF("t1", ",\"content\":\"x\"", ""), 0 },
		{ DECISION_ALLOW + 1, RESULT_OF("t1", ",\"content\":\"x\",\"is_error\":true", META("t1", ACCEPTED)), 0 },
		/* denied: only the refusal itself */
		{ DECISION_DENY + 1, RESULT_OF("t1", ",\"is_error\":true", META("t1", REJECTED)), 0 },
		{ DECISION_DENY + 1, RESULT_OF("t1", ",\"is_error\":true", ""), 0 },
		{ DECISION_DENY + 1, RESULT_OF("t1", ",\"content\":\"x\"", ""), 1 },
		{ DECISION_DENY + 1, RESULT_OF("t1", ",\"is_error\":false", ""), 1 },
		{ DECISION_DENY + 1, RESULT_OF("t1", ",\"is_error\":true", META("t1", ACCEPTED)), 1 },
		/* asked, not answered */
		{ 0, RESULT_OF("t1", ",\"content\":\"x\"", ""), 1 },
		{ 0, RESULT_OF("t1", ",\"is_error\":true", META("t1", REJECTED)), 0 },
		/* never asked: only what never ran */
		{ DECISION_ALLOW + 1, RESULT_OF("t2", ",\"content\":\"x\"", ""), 1 },
		{ DECISION_ALLOW + 1, RESULT_OF("t2", ",\"content\":\"Exit code 1\",\"is_error\":true", ""), 1 },
		{ DECISION_ALLOW + 1, RESULT_OF("t2", ",\"content\":\"<tool_use_error>No such tool</tool_use_error>\",\"is_error\":true", ""), 0 },
		{ DECISION_ALLOW + 1, RESULT_OF("t2", ",\"content\":\"<tool_use_error>x\"", ""), 1 },
		{ DECISION_ALLOW + 1, RESULT_OF("t2", ",\"content\":\"<tool_use_error>x\",\"is_error\":true", META("t2", ACCEPTED)), 1 },
		{ DECISION_ALLOW + 1, "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"content\":\"x\"}]}}", 1 },
		/* no results at all */
		{ 0, "{\"type\":\"user\",\"message\":{\"content\":\"text\"}}", 0 },
		{ 0, "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}}", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct side s;

		begin(&s, CHANNEL_STREAM, 1, cases[i].answers);
		line(&s, BASH_HOOK);
		line(&s, cases[i].result);
		if (s.broken != cases[i].broken)
			fail_msg("case %zu: %s: %s", i, cases[i].result, s.why.msg);
		if (s.broken)
			assert_true(s.why.msg[0]);
		side_done(&s);
	}
}

static void after_the_break_nothing_more_is_said(void **state)
{
	struct side s;

	(void)state;
	begin(&s, CHANNEL_STREAM, 1, DECISION_ALLOW + 1);
	line(&s, RESULT_OF("t9", "", ""));
	assert_int_equal(s.broken, 1);
	assert_string_equal(s.what, "t9");
	buf_clear(&s.to_user);
	line(&s, BASH_HOOK);
	line(&s, RESULT_OF("t8", "", ""));
	channel_end(s.ch);
	channel_timeout(s.ch);
	said(&s, "");
	shown(&s, "");
	assert_string_equal(s.asked, "");
	assert_int_equal(s.broken, 1);
	assert_int_equal(channel_is_done(s.ch), 0);
	side_done(&s);
}

static void a_hook_that_went_unheard_ends_the_run(void **state)
{
	struct side s;

	(void)state;
	begin(&s, CHANNEL_TEXT, 0, 0);
	line(&s, "{\"type\":\"system\",\"subtype\":\"informational\",\"tag\":\"something\"}");
	assert_int_equal(s.broken, 0);
	line(&s, "{\"type\":\"system\",\"subtype\":\"informational\",\"tag\":\"hook_no_verdict\"}");
	assert_int_equal(s.broken, 1);
	side_done(&s);
}

static void a_line_that_cannot_be_read_ends_the_run(void **state)
{
	static const char *const lines[] = { "x", "[]", "{}", "{\"type\":1}", "{\"type\":\"user\"", "{\"type\":\"a\",\"type\":\"b\"}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct side s;

		begin(&s, CHANNEL_TEXT, 0, 0);
		line(&s, "");
		assert_int_equal(s.broken, 0);
		line(&s, lines[i]);
		if (!s.broken)
			fail_msg("%s", lines[i]);
		side_done(&s);
	}
}

static void output_with_odd_characters_can_be_read(void **state)
{
	struct side s;

	(void)state;
	begin(&s, CHANNEL_STREAM, 1, DECISION_ALLOW + 1);
	line(&s, BASH_HOOK);
	buf_clear(&s.to_user);
	line(&s, RESULT_OF("t1", ",\"content\":\"\\u0000 \\ud83d \\ud83d\\ude00 \\\\u0000\"", ""));
	assert_int_equal(s.broken, 0);
	shown(&s, RESULT_OF("t1", ",\"content\":\"\\u0000 \\ud83d \\ud83d\\ude00 \\\\u0000\"", "") "\n");
	side_done(&s);
}

static void lines_may_come_in_any_pieces(void **state)
{
	static const char all[] = GREETED "\n" PLAIN_INIT "\n" BASH_HOOK "\n" RESULT_OF("t1", "", "") "\n" RESULT "\n";

	(void)state;
	for (size_t step = 1; step < 200; step += 13) {
		struct side s;

		side_init(&s, CHANNEL_TEXT, 0);
		s.answers = DECISION_ALLOW + 1;
		channel_start(s.ch);
		for (size_t i = 0; i < sizeof(all) - 1; i += step)
			channel_read(s.ch, all + i, sizeof(all) - 1 - i < step ? sizeof(all) - 1 - i : step);
		assert_int_equal(s.broken, 0);
		shown(&s, "Done.\n");
		assert_int_equal(s.hung_up, 1);
		side_done(&s);
	}
}

/* --- the end --- */

static void the_last_turn_is_followed_by_the_end(void **state)
{
	struct side s;

	(void)state;
	begin(&s, CHANNEL_TEXT, 0, 0);
	assert_int_equal(channel_is_done(s.ch), 0);
	line(&s, RESULT);
	assert_int_equal(s.hung_up, 1);
	assert_true(s.timer_ms > 0);
	assert_int_equal(channel_is_done(s.ch), 1);
	channel_end(s.ch);
	assert_int_equal(s.broken, 0);
	side_done(&s);
}

#define TASKS(list) "{\"type\":\"system\",\"subtype\":\"background_tasks_changed\",\"tasks\":" list "}"

static void work_in_the_background_keeps_the_talk_open(void **state)
{
	struct side s;

	(void)state;
	begin(&s, CHANNEL_TEXT, 0, 0);
	line(&s, TASKS("[{\"task_id\":\"b\"}]"));
	line(&s, RESULT);
	assert_int_equal(s.hung_up, 0);
	channel_timeout(s.ch);
	assert_int_equal(s.hung_up, 0);
	line(&s, TASKS("[]"));
	assert_int_equal(s.hung_up, 0);
	assert_true(s.timer_ms > 0);
	/* its end wakes the model: another turn */
	line(&s, PLAIN_INIT);
	assert_int_equal(s.timer_ms, 0);
	channel_timeout(s.ch);
	assert_int_equal(s.hung_up, 0);
	line(&s, RESULT);
	assert_int_equal(s.hung_up, 1);
	shown(&s, "Done.\n\nDone.\n");
	side_done(&s);
	/* or it does not */
	begin(&s, CHANNEL_TEXT, 0, 0);
	line(&s, TASKS("[{\"task_id\":\"b\"}]"));
	line(&s, RESULT);
	line(&s, TASKS("[]"));
	channel_timeout(s.ch);
	assert_int_equal(s.hung_up, 1);
	side_done(&s);
}

static void an_agent_that_does_not_end_is_ended(void **state)
{
	struct side s;

	(void)state;
	begin(&s, CHANNEL_TEXT, 0, 0);
	line(&s, RESULT);
	channel_timeout(s.ch);
	assert_int_equal(s.broken, 1);
	side_done(&s);
}

/* --- what the user sees --- */

static void the_user_gets_the_format_that_was_asked_for(void **state)
{
	static const char other[] = "{\"type\":\"assistant\",\"message\":{\"content\":[]}}";
	static const struct { enum channel_format format; int verbose; const char *want; } cases[] = {
		{ CHANNEL_TEXT, 0, "Done.\n" },
		{ CHANNEL_TEXT, 1, "Done.\n" },
		{ CHANNEL_JSON, 0, RESULT "\n" },
		{ CHANNEL_JSON, 1, "[" PLAIN_INIT ",{\"type\":\"assistant\",\"message\":{\"content\":[]}}," RESULT "]\n" },
		{ CHANNEL_STREAM, 1, PLAIN_INIT "\n{\"type\":\"assistant\",\"message\":{\"content\":[]}}\n" RESULT "\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct side s;

		side_init(&s, cases[i].format, cases[i].verbose);
		channel_start(s.ch);
		line(&s, GREETED);
		line(&s, PLAIN_INIT);
		line(&s, other);
		line(&s, "{\"type\":\"keep_alive\"}");
		line(&s, RESULT);
		channel_end(s.ch);
		shown(&s, cases[i].want);
		side_done(&s);
	}
}

static void errors_are_told_in_text(void **state)
{
	static const struct { const char *result, *want; } cases[] = {
		{ "{\"type\":\"result\",\"subtype\":\"error_max_turns\",\"is_error\":true,\"errors\":[\"Reached max turns (1)\"]}",
		  "Error: Reached max turns (1)\n" },
		{ "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"result\":\"API Error: 400\"}", "API Error: 400\n" },
		{ "{\"type\":\"result\",\"subtype\":\"error_during_execution\"}", "Error: error_during_execution\n" },
		{ "{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"\"}", "\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct side s;

		begin(&s, CHANNEL_TEXT, 0, 0);
		line(&s, cases[i].result);
		shown(&s, cases[i].want);
		side_done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_prompt_waits_for_the_hook_to_be_taken),
		cmocka_unit_test(an_agent_that_takes_no_hook_ends_the_run),
		cmocka_unit_test(another_mode_key_or_server_ends_the_run),
		cmocka_unit_test(servers_that_the_user_named_may_be_there),
		cmocka_unit_test(each_call_is_asked_about_and_answered_exactly),
		cmocka_unit_test(an_answer_may_come_later_and_only_once),
		cmocka_unit_test(what_cannot_be_read_is_denied),
		cmocka_unit_test(a_permission_has_its_own_words),
		cmocka_unit_test(a_call_that_was_judged_is_not_judged_again),
		cmocka_unit_test(other_requests_are_refused),
		cmocka_unit_test(a_question_can_be_taken_back),
		cmocka_unit_test(a_result_must_have_been_allowed),
		cmocka_unit_test(after_the_break_nothing_more_is_said),
		cmocka_unit_test(a_hook_that_went_unheard_ends_the_run),
		cmocka_unit_test(a_line_that_cannot_be_read_ends_the_run),
		cmocka_unit_test(output_with_odd_characters_can_be_read),
		cmocka_unit_test(lines_may_come_in_any_pieces),
		cmocka_unit_test(the_last_turn_is_followed_by_the_end),
		cmocka_unit_test(work_in_the_background_keeps_the_talk_open),
		cmocka_unit_test(an_agent_that_does_not_end_is_ended),
		cmocka_unit_test(the_user_gets_the_format_that_was_asked_for),
		cmocka_unit_test(errors_are_told_in_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
