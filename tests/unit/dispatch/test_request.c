#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "dispatch/request.h"

/* Read @text as a JSON request and settle it. */
static int settle(const char *text, const char *env, struct run_request *req, struct err *err)
{
	OWN(json) struct json *j = NULL;

	request_init(req);
	if (json_parse(text, strlen(text), NULL, &j, err) < 0 || request_from_json(j, req, err) < 0)
		return -1;
	return request_settle(req, env, err);
}

static void a_bare_command_gets_the_defaults(void **state)
{
	OWN(request) struct run_request req;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(settle("{\"command\":[\"make\",\"test\"]}", NULL, &req, &err), 0);
	assert_int_equal(req.mode, MODE_CHAT);
	assert_int_equal(req.agent, AGENT_BASH);
	assert_int_equal(req.sandbox, SANDBOX_ON);
	assert_int_equal(req.network, NETWORK_ALLOW);
	assert_int_equal(req.workspace, WISH_AUTO);
	assert_int_equal(req.fate, FATE_AUTO);
	assert_int_equal(req.command.n, 2);
}

static void an_agent_is_known_by_its_program(void **state)
{
	static const struct { const char *text; int agent; } cases[] = {
		{ "{\"command\":[\"claude\",\"-p\",\"x\"]}", AGENT_CLAUDE },
		{ "{\"command\":[\"/opt/x/bin/claude\"]}", AGENT_CLAUDE },
		{ "{\"command\":[\"claude-helper\"]}", AGENT_BASH },
		{ "{\"command\":[\"claude\"],\"agent\":\"bash\"}", AGENT_BASH },
		{ "{\"command\":[\"./wrapper\"],\"agent\":\"claude\"}", AGENT_CLAUDE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(request) struct run_request req;
		struct err err = { 0 };

		assert_int_equal(settle(cases[i].text, NULL, &req, &err), 0);
		assert_int_equal(req.agent, cases[i].agent);
	}
}

static void the_environment_decides_the_sandbox_only_where_nothing_was_said(void **state)
{
	static const struct { const char *text, *env; int sandbox; } cases[] = {
		{ "{\"command\":[\"x\"]}", NULL, SANDBOX_ON },
		{ "{\"command\":[\"x\"]}", "", SANDBOX_ON },
		{ "{\"command\":[\"x\"]}", "off", SANDBOX_OFF },
		{ "{\"command\":[\"x\"]}", " OFF ", SANDBOX_OFF },
		{ "{\"command\":[\"x\"]}", "no", SANDBOX_ON },	/* the seeds: only "off" is off */
		{ "{\"command\":[\"x\"]}", "0", SANDBOX_ON },
		{ "{\"command\":[\"x\"]}", "require", SANDBOX_REQUIRE },
		{ "{\"command\":[\"x\"],\"sandbox\":\"on\"}", "off", SANDBOX_ON },
		{ "{\"command\":[\"x\"],\"sandbox\":\"off\"}", "require", SANDBOX_OFF },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(request) struct run_request req;
		struct err err = { 0 };

		assert_int_equal(settle(cases[i].text, cases[i].env, &req, &err), 0);
		assert_int_equal(req.sandbox, cases[i].sandbox);
	}
}

static void a_request_that_cannot_be_is_refused_with_the_reason(void **state)
{
	static const struct { const char *text, *part; } cases[] = {
		{ "{}", "there is no command to run" },
		{ "{\"command\":[]}", "there is no command to run" },
		{ "{\"command\":[\"\"]}", "the command may not be empty" },
		{ "{\"command\":\"make\"}", "field 'command': must be a list of strings" },
		{ "{\"command\":[\"x\",1]}", "field 'command': must be a list of strings" },
		{ "{\"command\":[\"x\"],\"comand\":[]}", "unknown field 'comand'" },
		{ "{\"command\":[\"x\"],\"request\":\"f\"}", "unknown field 'request'" },
		{ "{\"command\":[\"x\"],\"mode\":\"yolo\"}", "'yolo' is none of: chat, review, plan, orchestrate" },
		{ "{\"command\":[\"x\"],\"agent\":\"acp\"}", "not built yet" },
		{ "{\"command\":[\"x\"],\"approve\":\"me\"}", "'me' is none of: none, tty, db" },
		{ "{\"command\":[\"x\"],\"workspace\":\"overlay\"}", "not built yet" },
		{ "{\"command\":[\"x\"],\"workspace\":\"snapshot\"}", "not built yet" },
		{ "{\"command\":[\"x\"],\"workspace\":\"worktree\"}", "not built" },
		{ "{\"command\":[\"x\"],\"workspace-id\":\"w\"}", "not built yet" },
		{ "{\"command\":[\"x\"],\"workspace-id\":\"../w\"}", "is no name" },
		{ "{\"command\":[\"x\"],\"env\":[\"A-B=1\"]}", "'A-B' is no name of a variable" },
		{ "{\"command\":[\"x\"],\"env\":[\"=1\"]}", "is no name of a variable" },
		{ "{\"command\":[\"x\"],\"env\":[\"1A\"]}", "is no name of a variable" },
		{ "{\"command\":[\"x\"],\"read\":[\"\"]}", "a path may not be empty" },
		{ "{\"command\":[\"x\"],\"allow-domain\":[\"http://a\"]}", "is no domain" },
		{ "{\"command\":[\"x\"],\"allow-domain\":[\"a b\"]}", "is no domain" },
		{ "{\"command\":[\"x\"],\"publish\":[\"0.0.0.0:80\"]}", "is not a loopback address" },
		{ "{\"command\":[\"x\"],\"publish\":[8080]}", "must be a list of strings" },
		{ "{\"command\":[\"x\"],\"host-port\":[\"x\"]}", "a port is a number from 1 to 65535" },
		{ "{\"command\":[\"x\"],\"host-port\":[\"80\"],\"network\":\"deny\"}", "cannot use '--host-port' with '--network deny'" },
		{ "{\"command\":[\"x\"],\"publish\":[\"80\"],\"sandbox\":\"off\"}", "cannot hold '--publish'" },
		{ "{\"command\":[\"x\"],\"sandbox\":\"off\",\"network\":\"deny\"}", "cannot hold '--network deny'" },
		{ "{\"command\":[\"x\"],\"sandbox\":\"off\",\"deny-write\":[\"*.c\"]}", "cannot hold '--deny-write'" },
		{ "{\"command\":[\"x\"],\"sandbox\":\"off\",\"memory\":\"1G\"}", "cannot hold '--memory'" },
		{ "{\"command\":[\"x\"],\"sandbox\":\"off\",\"audit-reads\":true}", "cannot hold '--audit-reads'" },
		{ "{\"command\":[\"x\"],\"mode\":\"plan\",\"write\":[\"/x\"]}", "mode plan only reads" },
		{ "{\"command\":[\"x\"],\"allow-domain\":[\"*.com\"]}", "--allow-domain: rule '*.com'" },
		{ "{\"command\":[\"x\"],\"deny-domain\":[\"a..b\"]}", "--deny-domain: rule 'a..b'" },
		{ "{\"command\":[\"x\"],\"workspace\":\"in-place\",\"discard\":true}", "delete the original" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(request) struct run_request req;
		struct err err = { 0 };

		assert_int_equal(settle(cases[i].text, NULL, &req, &err), -1);
		if (!strstr(err.msg, cases[i].part))
			fail_msg("%s\n\tsaid: %s\n\tnot:  %s", cases[i].text, err.msg, cases[i].part);
	}
}

static void the_record_of_a_request_has_no_values_of_variables(void **state)
{
	OWN(request) struct run_request req;
	OWN(json) struct json *j = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(settle("{\"env\":[\"KEY=s3cret\",\"CI\"],\"command\":[\"x\"]}", NULL, &req, &err), 0);
	j = request_to_json(&req);
	OWN(mem) char *text = json_print(j);
	assert_null(strstr(text, "s3cret"));
	assert_non_null(strstr(text, "\"env\":[\"KEY\",\"CI\"]"));
	assert_string_equal(req.env.v[0], "KEY=s3cret");
}

static void mode_words_are_those_of_the_modes(void **state)
{
	(void)state;
	for (const struct opt *o = request_rows; o->name; o++)
		if (!strcmp(o->name, "mode"))
			for (int m = 0; m < MODE_NUM; m++)
				assert_string_equal(o->words[m], mode_name((enum mode)m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bare_command_gets_the_defaults),
		cmocka_unit_test(an_agent_is_known_by_its_program),
		cmocka_unit_test(the_environment_decides_the_sandbox_only_where_nothing_was_said),
		cmocka_unit_test(a_request_that_cannot_be_is_refused_with_the_reason),
		cmocka_unit_test(the_record_of_a_request_has_no_values_of_variables),
		cmocka_unit_test(mode_words_are_those_of_the_modes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
