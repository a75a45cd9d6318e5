/*
 * Rules made of answers, and the examples inside rules.
 */
#include "tests/unit/gates/guard_fixture.h"

/* --- remembering --- */

struct memory {
	const char *rules, *asked;
	enum guard_extent extent;
	const char *same, *other;	/* is answered by what is remembered; is not */
	const char *why;		/* not NULL: cannot be remembered */
};

static const struct memory memories[] = {
	{ "", "npm publish --tag x", GUARD_EXACT, "npm publish --tag x", "npm publish", NULL },
	{ "", "npm publish --tag 'a b'", GUARD_EXACT, "npm publish --tag 'a b'", "npm publish --tag 'a  b'", NULL },
	{ "", "npm publish > log", GUARD_EXACT, "npm publish > log", "npm publish > log2", NULL },
	{ "", "npm publish --tag x", GUARD_PREFIX, "npm publish --tag y", "npm unpublish x", NULL },
	{ "", "cd src && npm publish", GUARD_PREFIX, "npm publish", "npm publish; git push origin x", NULL },
	{ "", "gh pr create -t x", GUARD_PREFIX, "gh pr create -t y", "gh pr merge 3", NULL },
	{ "", "git -C src push origin x", GUARD_PREFIX, "git -C src push origin y", "git push origin x", NULL },
	{ "", "git push origin topic/a", GUARD_PREFIX, "git push origin main", "npm publish", NULL },
	{ "", "git push origin topic/a", GUARD_DIR, "git push origin topic/b", "git push origin main", NULL },
	{ "", "git push origin main", GUARD_DIR, "git push origin x:main", "git push origin topic", NULL },
	{ "{" HERE CLASS("fileDelete") ASK "}", "rm build/a", GUARD_DIR, "rm build/x/y", "rm src/a", NULL },
	{ "{" HERE CLASS("fileDelete") ASK "}", "rm build/a", GUARD_PREFIX, "rm src/a", "find . -delete", NULL },
	{ "{" HERE CLASS("fileDelete") ONLY("paths", "build") ASK "}", "rm build/a", GUARD_EXACT, "rm build/a", "rm build/b", NULL },
	{ "{" SPACE CLASS("fileDelete") ASK "}", "rm build/a", GUARD_DIR, "rm build/b", "rm src/a", NULL },
	{ "{" HERE CLASS("fileDelete") DENY SOFT "}", "rm build/a", GUARD_EXACT, "rm build/a", "rm build/b", NULL },
	{ "{" HERE CLASS("workspaceMutation") ASK "}", "ls > out", GUARD_PREFIX, NULL, NULL,
	  "cannot remember this: the line holds a redirection" },
	{ "", "npm publish", GUARD_DIR, NULL, NULL, "cannot remember this: not all it does is about paths" },
	{ "{" HERE CLASS("fileDelete") ASK "}", "rm $X", GUARD_DIR, NULL, NULL,
	  "cannot remember this: fileDelete '/w/*' names no path" },
	{ "{" HERE CLASS("fileDelete") ASK "}", "rm /x", GUARD_DIR, NULL, NULL,
	  "cannot remember this: it has to be asked each time" },
	{ "", "git push origin topic HEAD", GUARD_DIR, NULL, NULL, "cannot remember this: it cannot be told which branch is pushed to" },
};

static enum decision decide_with(const struct memory *m, const struct rule *extra, const char *line)
{
	OWN(rule_set) struct rule_set set = { 0 };
	enum decision before, d;

	add_rules(&set, m->rules, RULE_FILE_PLAIN);
	set.v = realloc(set.v, (set.n + 1) * sizeof(*set.v));
	set.v[set.n++] = *extra;
	d = decide(line, MODE_CHAT, &set, &before);
	set.n--;
	return d;
}

static void an_answer_is_remembered_as_far_as_was_said(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(memories); i++) {
		const struct memory *m = &memories[i];
		OWN(rule) struct rule r = { 0 };
		struct err err = { 0 };
		struct world w;
		int failed;

		open_world(&w);
		add_rules(&w.set, m->rules, RULE_FILE_PLAIN);
		judge(&w, m->asked, MODE_CHAT);
		failed = guard_remember(&w.req, &w.res, m->extent, DECISION_ALLOW, &r, &err);
		if (m->why) {
			assert_int_equal(failed, -1);
			assert_string_equal(err.msg, m->why);
		} else {
			if (failed)
				fail_msg("'%s': %s", m->asked, err.msg);
			assert_string_equal(r.provenance, "remembered");
			if (decide_with(m, &r, m->asked) != DECISION_ALLOW)
				fail_msg("'%s' is asked again", m->asked);
			if (decide_with(m, &r, m->same) != DECISION_ALLOW)
				fail_msg("'%s' does not answer '%s'", m->asked, m->same);
			if (decide_with(m, &r, m->other) == DECISION_ALLOW)
				fail_msg("'%s' answers '%s', too", m->asked, m->other);
		}
		close_world(&w);
	}
}

static void a_remembered_rule_is_of_the_scope_that_asked_and_no_wider(void **state)
{
	static const struct { const char *rules; enum rule_scope scope; const char *id; } cases[] = {
		{ "{" SPACE CLASS("fileDelete") ASK "}", RULE_SPACE, "s1" },
		{ "{" AGENT CLASS("fileDelete") ASK "}", RULE_AGENT, "claude" },
		{ "{" HERE CLASS("fileDelete") ASK "}", RULE_WORKSPACE, "/w" },
		{ "{" EVERYWHERE CLASS("fileDelete") ASK "}", RULE_WORKSPACE, "/w" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(rule) struct rule r = { 0 };
		struct err err = { 0 };
		struct world w;

		open_world(&w);
		add_rules(&w.set, cases[i].rules, RULE_FILE_PLAIN);
		judge(&w, "rm a", MODE_CHAT);
		assert_int_equal(guard_remember(&w.req, &w.res, GUARD_EXACT, DECISION_ALLOW, &r, &err), 0);
		assert_int_equal(r.scope, cases[i].scope);
		assert_string_equal(r.scope_id, cases[i].id);
		close_world(&w);
	}
}

static void a_denial_can_be_remembered_as_well(void **state)
{
	OWN(rule) struct rule r = { 0 };
	struct memory none = { .rules = "" };
	struct err err = { 0 };
	struct world w;

	(void)state;
	open_world(&w);
	judge(&w, "npm publish", MODE_CHAT);
	assert_int_equal(guard_remember(&w.req, &w.res, GUARD_PREFIX, DECISION_DENY, &r, &err), 0);
	assert_int_equal(decide_with(&none, &r, "env npm publish x"), DECISION_DENY);
	close_world(&w);
}

static void an_exact_answer_is_for_the_very_directory(void **state)
{
	static const char *const places[] = { "/w/src", "/", "/v" };
	OWN(rule) struct rule r = { 0 };
	struct err err = { 0 };
	struct world w;

	(void)state;
	open_world(&w);
	judge(&w, "npm publish", MODE_CHAT);
	assert_int_equal(guard_remember(&w.req, &w.res, GUARD_EXACT, DECISION_ALLOW, &r, &err), 0);
	assert_int_equal(rule_set_take(&w.set, &r, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		OWN(guard_result) struct guard_result res = { 0 };

		w.req.cwd = places[i];
		guard_judge(&w.req, &w.set, &res);
		assert_int_equal(res.decision, DECISION_ASK);
	}
	close_world(&w);
}

static void what_the_owner_asks_is_not_remembered(void **state)
{
	OWN(rule) struct rule r = { 0 };
	struct err err = { 0 };
	struct world w;

	(void)state;
	open_world(&w);
	add_rules(&w.set, "{" CLASS("fileDelete") ASK "}", RULE_FILE_MANAGED);
	judge(&w, "rm a", MODE_CHAT);
	assert_int_equal(guard_remember(&w.req, &w.res, GUARD_EXACT, DECISION_ALLOW, &r, &err), -1);
	assert_string_equal(err.msg, "cannot remember this: it has to be asked each time");
	close_world(&w);
}

/* --- words of a run, without a shell --- */

static void words_are_judged_as_the_words_they_are(void **state)
{
	static const char *const argv[] = { "npm", "publish", "a b", NULL }, *const other[] = { "npm", "publish", "a", "b", NULL };
	const struct command_request q = { .mode = MODE_CHAT, .workspace = "/w", .home = "/home/u" };
	OWN(rule_set) struct rule_set set = { 0 };
	struct err err = { 0 };

	(void)state;
	add_rules(&set, "{" HERE ONLY("lines", "npm publish 'a b'") ALLOW "}", RULE_FILE_PLAIN);
	for (int i = 0; i < 2; i++) {
		OWN(verdict) struct verdict v = { 0 };
		OWN(guard_result) struct guard_result res = { 0 };
		const struct guard_request req = { .workspace = "/w", .root = "/w", .cwd = "/w", .argv = i ? other : argv,
						   .verdict = &v, .now_us = NOW };

		assert_int_equal(command_check_argv(&q, req.argv, &v, &err), 0);
		guard_judge(&req, &set, &res);
		assert_int_equal(res.decision, i ? DECISION_ASK : DECISION_ALLOW);
	}
}

/* --- examples --- */

static int self_test(const char *rules, struct err *err)
{
	OWN(rule_set) struct rule_set set = { 0 };

	add_rules(&set, rules, RULE_FILE_PLAIN);
	return rule_set_self_test(&set, err);
}

static void examples_are_tried(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_int_equal(self_test("{" HERE CLASS("gitPush") ONLY("refs", "main") DENY
				   ",\"match\":[\"git push origin main\",\"git push\"],\"not_match\":[\"git push origin x\",\"ls\"]}",
				   &err), 0);
	assert_int_equal(self_test("{" HERE CLASS("gitPush") DENY ",\"match\":[\"ls\"]}", &err), -1);
	assert_string_equal(err.msg, "'t.json': rule 1: should match 'ls'");
	assert_int_equal(self_test("{" HERE COMMAND("make") DENY ",\"not_match\":[\"env make\"]}", &err), -1);
	assert_string_equal(err.msg, "'t.json': rule 1: should not match 'env make'");
	/* What it says holds when its time is over, too. */
	assert_int_equal(self_test("{" HERE COMMAND("make") DENY ",\"expires\":\"2000-01-01T00:00:00Z\",\"match\":[\"make\"]}",
				   &err), 0);
	assert_int_equal(self_test("{" SPACE CLASS("fileDelete") ONLY("paths", "build") ALLOW
				   ",\"match\":[\"rm build/x\"],\"not_match\":[\"rm x\",\"rm $X\"]}", &err), 0);
}

static void classes_are_listed_by_name(void **state)
{
	char text[256];

	(void)state;
	guard_classes(1u << EFFECT_GIT_PUSH | 1u << EFFECT_FILE_DELETE, text, sizeof(text));
	assert_string_equal(text, "fileDelete,gitPush");
	guard_classes(0, text, sizeof(text));
	assert_string_equal(text, "");
	guard_classes(RULE_ALL_CLASSES, text, sizeof(text));
	assert_true(strlen(text) < sizeof(text) - 1);
	assert_string_equal(text + strlen(text) - 16, "enclosureControl");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_remembered_as_far_as_was_said),
		cmocka_unit_test(a_remembered_rule_is_of_the_scope_that_asked_and_no_wider),
		cmocka_unit_test(a_denial_can_be_remembered_as_well),
		cmocka_unit_test(an_exact_answer_is_for_the_very_directory),
		cmocka_unit_test(what_the_owner_asks_is_not_remembered),
		cmocka_unit_test(words_are_judged_as_the_words_they_are),
		cmocka_unit_test(examples_are_tried),
		cmocka_unit_test(classes_are_listed_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
