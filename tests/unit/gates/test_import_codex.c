#include "tests/unit/gates/guard_fixture.h"

#include "gates/import_rules.h"

static const struct import_where where = { .name = "default.rules", .scope = RULE_WORKSPACE, .scope_id = "*" };

static void import(const char *text, struct rule_set *set, struct import_report *report)
{
	struct err err = { 0 };

	if (import_codex(text, strlen(text), &where, set, report, &err) < 0)
		fail_msg("%s", err.msg);
}

static void commands_come_out_as_codex_would_have_them(void **state)
{
	static const struct { const char *text, *line; enum decision want; } cases[] = {
		{ "prefix_rule(pattern=[\"make\",\"test\"])", "make test x", DECISION_ALLOW },
		{ "prefix_rule(pattern=[\"make\",\"test\"])", "make deploy", DECISION_ASK },
		{ "prefix_rule(pattern=[\"make\",\"test\"])", "sudo make test", DECISION_DENY },
		{ "prefix_rule(pattern=[\"make\",\"test\"])", "/bin/make test", DECISION_ASK },
		{ "prefix_rule(pattern=[\"make\", [\"test\", \"lint\"]], decision=\"allow\")", "make lint", DECISION_ALLOW },
		{ "prefix_rule(pattern=[[\"make\",\"gmake\"], [\"test\", \"lint\"]],)", "gmake lint", DECISION_ALLOW },
		{ "prefix_rule(pattern=[\"make\"], decision=\"forbidden\")", "make", DECISION_DENY },
		{ "prefix_rule(pattern=[\"make\"], decision=\"forbidden\")", "bash -c 'env make'", DECISION_DENY },
		{ "prefix_rule(pattern=[\"make\"], decision=\"prompt\")", "make", DECISION_ASK },
		/* the strictest of all that match, in whichever order they stand */
		{ "prefix_rule(pattern=[\"make\",\"test\"], decision=\"allow\")\nprefix_rule(pattern=[\"make\"], decision=\"prompt\")",
		  "make test", DECISION_ASK },
		{ "prefix_rule(pattern=[\"make\",\"test\"], decision=\"allow\")\nprefix_rule(pattern=[\"make\"], decision=\"forbidden\")",
		  "make test", DECISION_DENY },
		/* words are words: nothing in them is a sign */
		{ "prefix_rule(pattern=[\"make\",\"t*\"])", "make test", DECISION_ASK },
		{ "prefix_rule(pattern=['make','a b'])", "make 'a b'", DECISION_ASK },
		{ "# a comment\n\nprefix_rule(\n  pattern = [\"make\", \"test\"], # why\n  justification = \"\"\"two\nlines\"\"\",\n)\n",
		  "make test", DECISION_ALLOW },
		{ "network_rule(host=\"evil.example\", protocol=\"https\", decision=\"deny\")", "curl https://evil.example/",
		  DECISION_DENY },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(rule_set) struct rule_set set = { 0 };
		OWN(import_report) struct import_report report = { 0 };
		enum decision before, got;

		import(cases[i].text, &set, &report);
		add_rules(&set, "{" EVERYWHERE COMMAND("**") ASK "}", RULE_FILE_PLAIN);
		got = decide(cases[i].line, MODE_CHAT, &set, &before);
		if (got != cases[i].want)
			fail_msg("%s: '%s' is %s", cases[i].text, cases[i].line, decision_name(got));
	}
}

static void examples_come_along_where_they_hold(void **state)
{
	static const char text[] =
		"prefix_rule(pattern=[\"make\", \"test\"], decision=\"forbidden\", justification=\"slow\",\n"
		"  match=[\"make test\", [\"make\", \"test\", \"a b\"]], not_match=[\"make lint\", \"env make test\"])\n";
	OWN(rule_set) struct rule_set set = { 0 };
	OWN(import_report) struct import_report report = { 0 };
	struct err err = { 0 };

	(void)state;
	import(text, &set, &report);
	assert_int_equal(set.n, 1);
	assert_string_equal(set.v[0].reason, "slow");
	assert_int_equal(set.v[0].match.n, 2);
	assert_string_equal(set.v[0].match.v[1], "make test 'a b'");
	assert_int_equal(set.v[0].not_match.n, 1);
	assert_int_equal(report.count[IMPORT_STRICTER], 2);
	assert_int_equal(rule_set_self_test(&set, &err), 0);
}

static void what_is_no_rule_here_is_told(void **state)
{
	OWN(rule_set) struct rule_set set = { 0 };
	OWN(import_report) struct import_report report = { 0 };

	(void)state;
	import("host_executable(name=\"git\", paths=[\"/usr/bin/git\"])\nmystery_rule(a=\"b\")\n"
	       "network_rule(host=\"good.example\", decision=\"allow\")\nnetwork_rule(host=\"a b\", decision=\"deny\")", &set, &report);
	assert_int_equal(set.n, 0);
	assert_int_equal(report.n, 4);
	assert_int_equal(report.count[IMPORT_LEFT_OUT], 2);
	assert_int_equal(report.count[IMPORT_LOST], 2);
	assert_string_equal(report.v[1].entry, "mystery_rule {\"a\":\"b\"}");
}

static void what_would_have_to_be_computed_is_refused_with_the_line(void **state)
{
	static const struct { const char *text, *why; } bad[] = {
		{ "x = 3", "line 1: there is something else than a plain call" },
		{ "\n\nfor a in b: pass", "line 3: there is something else than a plain call" },
		{ "prefix_rule([\"a\"])", "line 1: an argument has no name" },
		{ "prefix_rule(pattern=words)", "line 1: a value is neither a string nor a list" },
		{ "prefix_rule(pattern=[\"a\" + b])", "line 1: a value is computed, which is not done here" },
		{ "prefix_rule(pattern=[\"a\" \"b\"])", "line 1: a value is computed, which is not done here" },
		{ "prefix_rule(pattern=[\"a\"", "line 1: a list has no end" },
		{ "prefix_rule(pattern=[\"a\"]", "line 1: a call has no end" },
		{ "prefix_rule(pattern=[\"a)", "line 1: a string has no end" },
		{ "prefix_rule(pattern=[\"a\n\"])", "line 1: a string has no end" },
		{ "prefix_rule(pattern=[\"\\q\"])", "line 1: a string holds an escape that is not known here" },
		{ "prefix_rule(pattern=[\"a\"], pattern=[\"b\"])", "line 1: an argument is given twice" },
		{ "prefix_rule(pattern=[])", "line 1: prefix_rule has no pattern" },
		{ "prefix_rule(pattern=[[]])", "line 1: a pattern holds an empty list" },
		{ "prefix_rule(pattern=[[[\"a\"]]])", "line 1: a pattern holds something else than words" },
		{ "prefix_rule(pattern=[\"a\"], decision=\"maybe\")", "line 1: 'decision' is none of allow, prompt, forbidden" },
		{ "prefix_rule(pattern=[\"a\"], extra=\"x\")", "line 1: prefix_rule has an argument that is not known" },
		{ "prefix_rule(pattern=[\"a\"], decision=\"forbidden\", match=[\"b\"])",
		  "line 1: an example that must match does not" },
		{ "prefix_rule(pattern=[[[[[[[[[[[[\"a\"]]]]]]]]]]]])", "line 1: lists are nested too deeply" },
		{ "prefix_rule(pattern=[\"\xff\"])", "line 1: a string is not UTF-8" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		OWN(rule_set) struct rule_set set = { 0 };
		OWN(import_report) struct import_report report = { 0 };
		struct err err = { 0 };

		if (!import_codex(bad[i].text, strlen(bad[i].text), &where, &set, &report, &err))
			fail_msg("%s was taken", bad[i].text);
		assert_memory_equal(err.msg, "'default.rules': ", 17);
		assert_string_equal(err.msg + 17, bad[i].why);
	}
}

static void alternatives_have_a_bound(void **state)
{
	static const char text[] = "prefix_rule(pattern=[[\"a\",\"b\",\"c\"],[\"a\",\"b\",\"c\"],[\"a\",\"b\",\"c\"],[\"a\",\"b\",\"c\"]])";
	OWN(rule_set) struct rule_set set = { 0 };
	OWN(import_report) struct import_report report = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(import_codex(text, strlen(text), &where, &set, &report, &err), -1);
	assert_string_equal(err.msg, "'default.rules': line 1: a pattern has too many alternatives");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_come_out_as_codex_would_have_them),
		cmocka_unit_test(examples_come_along_where_they_hold),
		cmocka_unit_test(what_is_no_rule_here_is_told),
		cmocka_unit_test(what_would_have_to_be_computed_is_refused_with_the_line),
		cmocka_unit_test(alternatives_have_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
