#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "gates/rule.h"

static int read_rule(const char *text, struct rule *ret, struct err *err)
{
	OWN(json) struct json *j = NULL;

	if (json_parse(text, strlen(text), NULL, &j, err) < 0)
		fail_msg("%s: %s", text, err->msg);
	return rule_from_json(j, "rule 7", ret, err);
}

static void a_rule_reads_as_it_says(void **state)
{
	static const char text[] =
		"{\"scope\":\"agent\",\"scopeId\":\"claude\",\"class\":[\"gitPush\",\"prCreate\"],\"constraint\":{\"refs\":"
		"[\"main\",\"!topic/*\"],\"hosts\":[\"*.example.com\"],\"commands\":[\"git push\",\"!git push --dry-run\"],"
		"\"maxCount\":3},\"decision\":\"deny\",\"enforcement\":\"soft\",\"expires\":\"2027-01-31T12:00:00Z\","
		"\"provenance\":\"user\",\"reason\":\"why\",\"match\":[\"git push\"],\"not_match\":[\"ls\"]}";
	OWN(rule) struct rule r = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(read_rule(text, &r, &err), 0);
	assert_int_equal(r.scope, RULE_AGENT);
	assert_string_equal(r.scope_id, "claude");
	assert_int_equal(r.classes, 1u << EFFECT_GIT_PUSH | 1u << EFFECT_PR_CREATE);
	assert_int_equal(r.only.list[RULE_REFS].n, 2);
	assert_int_equal(r.only.max_count, 3);
	assert_int_equal(r.decision, DECISION_DENY);
	assert_int_equal(r.enforcement, RULE_SOFT);
	assert_int_equal(r.expires_us, 1801396800000000);
	assert_string_equal(r.reason, "why");
	assert_string_equal(r.place, "rule 7");
	assert_int_equal(r.words_n, 2);
	assert_true(rule_is_constrained(&r));
}

static void a_rule_for_a_class_needs_little_more(void **state)
{
	OWN(rule) struct rule r = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(read_rule("{\"class\":\"gitPush\",\"decision\":\"deny\"}", &r, &err), 0);
	assert_int_equal(r.scope, RULE_WORKSPACE);
	assert_string_equal(r.scope_id, "*");
	assert_int_equal(r.enforcement, RULE_HARD);
	assert_int_equal(r.only.max_count, -1);
	assert_false(rule_is_constrained(&r));
}

static void a_rule_reads_back_as_it_was_written(void **state)
{
	static const char *const texts[] = {
		"{\"class\":\"gitPush\",\"decision\":\"deny\"}",
		"{\"command\":\"git push\",\"decision\":\"ask\",\"enforcement\":\"advisory\"}",
		"{\"scope\":\"space\",\"scopeId\":\"s\",\"constraint\":{\"lines\":[\"a  'b'\"],\"cwd\":[\"/w\"]},"
		"\"decision\":\"allow\",\"expires\":\"2027-01-31T12:00:00.5Z\",\"provenance\":\"remembered\"}",
		"{\"scope\":\"managed\",\"constraint\":{\"tools\":[\"mcp__*\"]},\"decision\":\"deny\"}",
		"{\"class\":\"fileDelete\",\"constraint\":{\"maxCount\":0,\"paths\":[\"**/x\"]},\"decision\":\"allow\"}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		OWN(rule) struct rule a = { 0 };
		OWN(rule) struct rule b = { 0 };
		OWN(json) struct json *j = NULL;
		OWN(mem) char *one = NULL;
		OWN(mem) char *two = NULL;
		OWN(json) struct json *again = NULL;
		struct err err = { 0 };

		assert_int_equal(read_rule(texts[i], &a, &err), 0);
		j = rule_to_json(&a);
		one = json_print_canonical(j);
		assert_int_equal(read_rule(one, &b, &err), 0);
		again = rule_to_json(&b);
		two = json_print_canonical(again);
		assert_string_equal(one, two);
	}
}

static void what_is_no_rule_is_refused_with_the_place_and_why(void **state)
{
	static const struct { const char *text, *why; } bad[] = {
		{ "[]", "must be an object" },
		{ "{\"decision\":\"deny\"}", "is about nothing: it has no class, no command and no constraint" },
		{ "{\"class\":\"gitPush\"}", "field 'decision' must be allow, ask or deny" },
		{ "{\"class\":\"gitPush\",\"decision\":\"prompt\"}", "field 'decision' must be allow, ask or deny" },
		{ "{\"class\":\"gitpush\",\"decision\":\"deny\"}", "field 'class': 'gitpush' is no class of effects" },
		{ "{\"class\":[],\"decision\":\"deny\"}", "field 'class' must be a string or a list that is not empty" },
		{ "{\"class\":3,\"decision\":\"deny\"}", "field 'class' must be a string or a list that is not empty" },
		{ "{\"class\":\"gitPush\",\"command\":\"git\",\"decision\":\"deny\"}",
		  "is about a class and a command; put the command into the constraint" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"extra\":1}", "rule: unknown field 'extra'" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"constraint\":{}}",
		  "field 'constraint' must be an object that is not empty" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"constraint\":{\"ref\":[\"x\"]}}", "constraint: unknown field 'ref'" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"constraint\":{\"refs\":[]}}",
		  "field 'refs' must be a list that is not empty" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"constraint\":{\"refs\":\"x\"}}",
		  "field 'refs' must be a list that is not empty" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"constraint\":{\"refs\":[1]}}",
		  "field 'refs' must be a list of strings" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"constraint\":{\"refs\":[\"\"]}}", "refs: pattern '' is empty" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"constraint\":{\"refs\":[\"!\"]}}", "refs: pattern '!' is empty" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"constraint\":{\"refs\":[\"a b\"]}}",
		  "refs: pattern 'a b' holds a sign no ref has" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"constraint\":{\"maxCount\":-1}}",
		  "field 'maxCount' must be a whole number from 0 up" },
		{ "{\"decision\":\"deny\",\"constraint\":{\"maxCount\":1}}", "maxCount: needs a class, whose things are counted" },
		{ "{\"class\":\"fileDelete\",\"decision\":\"deny\",\"constraint\":{\"paths\":[\"a/../b\"]}}",
		  "paths: pattern 'a/../b' has a part '..'" },
		{ "{\"class\":\"fileDelete\",\"decision\":\"deny\",\"constraint\":{\"paths\":[\"a[b\"]}}",
		  "paths: pattern 'a[b' has a '[' that nothing closes" },
		{ "{\"class\":\"fileDelete\",\"decision\":\"deny\",\"constraint\":{\"paths\":[\"~root/x\"]}}",
		  "paths: pattern '~root/x' names somebody's home; only '~/' is known" },
		{ "{\"class\":\"networkEgress\",\"decision\":\"deny\",\"constraint\":{\"hosts\":[\"*.a.*\"]}}",
		  "hosts: pattern '*.a.*' has more than one star" },
		{ "{\"class\":\"networkEgress\",\"decision\":\"deny\",\"constraint\":{\"hosts\":[\"x*.com\"]}}",
		  "hosts: pattern 'x*.com' has a star that is no whole label in front or in the middle" },
		{ "{\"class\":\"networkEgress\",\"decision\":\"deny\",\"constraint\":{\"hosts\":[\"https://a.com\"]}}",
		  "hosts: pattern 'https://a.com' is no host like example.com or *.example.com" },
		{ "{\"command\":\"\",\"decision\":\"deny\"}", "command: command pattern '' is empty" },
		{ "{\"command\":\"a 'b\",\"decision\":\"deny\"}", "command: command pattern 'a 'b' has a quote that nothing closes" },
		{ "{\"command\":\"a $ b\",\"decision\":\"deny\"}",
		  "command: command pattern 'a $ b' has words behind '$', which means the end" },
		{ "{\"class\":\"gitPush\",\"decision\":\"allow\",\"enforcement\":\"soft\"}",
		  "enforcement: is for rules that ask or deny" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"enforcement\":\"firm\"}",
		  "field 'enforcement' must be hard, soft or advisory" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"scope\":\"channel\"}",
		  "field 'scope' must be space, agent, workspace or managed" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"scope\":\"repository\"}",
		  "field 'scope' must be space, agent, workspace or managed" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"scope\":\"agent\"}", "scopeId: scope 'agent' needs one" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"scope\":\"agent\",\"scopeId\":\"*\"}",
		  "scopeId: '*' is for scope 'workspace'; a rule for everything is one" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"scope\":\"managed\",\"scopeId\":\"x\"}",
		  "scopeId: scope 'managed' has none" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"expires\":\"tomorrow\"}",
		  "field 'expires' must be a time like 2027-01-31T12:00:00Z" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"match\":\"git push\"}", "field 'match' must be a list that is not empty" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"match\":[\"\"]}",
		  "match: an example is empty or longer than 4096 bytes" },
		{ "{\"class\":\"gitPush\",\"decision\":\"deny\",\"constraint\":{\"tools\":[\"a b\"]}}",
		  "tools: pattern 'a b' is no name of a tool" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct rule r = { .id = 77 };
		struct err err = { 0 };

		if (!read_rule(bad[i].text, &r, &err))
			fail_msg("%s was taken", bad[i].text);
		assert_int_equal(err.code, ERR_INPUT);
		assert_memory_equal(err.msg, "rule 7: ", 8);
		assert_string_equal(err.msg + 8, bad[i].why);
		assert_int_equal(r.id, 77);	/* failure left the output alone */
	}
}

/* --- sets --- */

static int read_set(struct rule_set *set, const char *text, enum rule_file kind, struct err *err)
{
	return rule_set_read(set, text, strlen(text), "p.json", kind, err);
}

static void a_file_is_read_whole_or_not_at_all(void **state)
{
	OWN(rule_set) struct rule_set set = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(read_set(&set, "{\"version\":1,\"rules\":[{\"class\":\"gitPush\",\"decision\":\"deny\"}]}",
				  RULE_FILE_PLAIN, &err), 0);
	assert_int_equal(set.n, 1);
	assert_string_equal(set.v[0].place, "'p.json': rule 1");
	assert_int_equal(read_set(&set, "{\"version\":1,\"rules\":[{\"class\":\"gitPush\",\"decision\":\"ask\"},{}]}",
				  RULE_FILE_PLAIN, &err), -1);
	assert_string_equal(err.msg, "'p.json': rule 2: field 'decision' must be allow, ask or deny");
	assert_int_equal(set.n, 1);
}

static void what_is_no_file_of_rules_is_refused(void **state)
{
	static const struct { const char *text, *why; } bad[] = {
		{ "", "'p.json': " },
		{ "[]", "'p.json': must hold an object" },
		{ "{}", "'p.json': field 'version' must be 1" },
		{ "{\"version\":2,\"rules\":[]}", "'p.json': field 'version' must be 1" },
		{ "{\"version\":1}", "'p.json': field 'rules' must be a list" },
		{ "{\"version\":1,\"rules\":[],\"x\":1}", "'p.json': file of rules: unknown field 'x'" },
		{ "{\"version\":1,\"rules\":[]} x", "'p.json': " },
		{ "{\"version\":1,\"rules\":[[[[[[[[[[]]]]]]]]]]}", "'p.json': " },
	};
	OWN(rule_set) struct rule_set set = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err err = { 0 };

		assert_int_equal(read_set(&set, bad[i].text, RULE_FILE_PLAIN, &err), -1);
		if (strncmp(err.msg, bad[i].why, strlen(bad[i].why)) != 0)
			fail_msg("'%s' is not '%s'", err.msg, bad[i].why);
	}
}

static void the_file_says_whose_rules_they_are(void **state)
{
	static const char plain[] = "{\"version\":1,\"rules\":[{\"class\":\"gitPush\",\"decision\":\"deny\"}]}";
	static const char managed[] =
		"{\"version\":1,\"rules\":[{\"scope\":\"managed\",\"class\":\"gitPush\",\"decision\":\"deny\"}]}";
	static const char agent[] = "{\"version\":1,\"rules\":[{\"scope\":\"agent\",\"scopeId\":\"x\",\"class\":\"gitPush\","
				    "\"decision\":\"deny\"}]}";
	OWN(rule_set) struct rule_set set = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(read_set(&set, plain, RULE_FILE_MANAGED, &err), 0);
	assert_int_equal(set.v[0].scope, RULE_MANAGED);
	assert_int_equal(read_set(&set, managed, RULE_FILE_MANAGED, &err), 0);
	assert_int_equal(read_set(&set, plain, RULE_FILE_REPOSITORY, &err), 0);
	assert_int_equal(set.v[2].scope, RULE_REPOSITORY);
	assert_int_equal(read_set(&set, managed, RULE_FILE_REPOSITORY, &err), -1);
	assert_int_equal(read_set(&set, managed, RULE_FILE_PLAIN, &err), -1);
	assert_string_equal(err.msg, "'p.json': rule 1: scope 'managed' is for /etc/agate/policy.json");
	assert_int_equal(read_set(&set, agent, RULE_FILE_MANAGED, &err), -1);
	assert_string_equal(err.msg, "'p.json': rule 1: a rule of this file may not name a scope");
	assert_int_equal(set.n, 3);
}

static void the_digest_changes_with_whatever_could_change_a_verdict(void **state)
{
	static const char *const texts[] = {
		"{\"class\":\"gitPush\",\"decision\":\"deny\"}", "{\"class\":\"gitPush\",\"decision\":\"ask\"}",
		"{\"class\":\"gitPush\",\"decision\":\"deny\",\"enforcement\":\"soft\"}",
		"{\"class\":\"gitPush\",\"decision\":\"deny\",\"scopeId\":\"/w\"}",
		"{\"class\":\"gitPush\",\"decision\":\"deny\",\"expires\":\"2027-01-01T00:00:00Z\"}",
		"{\"class\":\"gitPush\",\"decision\":\"deny\",\"constraint\":{\"refs\":[\"x\"]}}",
		"{\"class\":[\"gitPush\",\"prCreate\"],\"decision\":\"deny\"}",
	};
	char digest[ARRAY_LEN(texts) + 2][DIGEST_HEX_SIZE];
	struct rule_set none = { 0 };
	size_t n = 0;

	(void)state;
	assert_int_equal(rule_set_digest(&none, digest[n++]), 0);
	rule_set_broken(&none, "x");
	assert_int_equal(rule_set_digest(&none, digest[n++]), 0);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		OWN(rule_set) struct rule_set set = { 0 };
		struct rule r = { 0 };
		struct err err = { 0 };

		assert_int_equal(read_rule(texts[i], &r, &err), 0);
		assert_int_equal(rule_set_take(&set, &r, &err), 0);
		assert_int_equal(rule_set_digest(&set, digest[n++]), 0);
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(digest[i], digest[k]);
}

static void rules_have_a_bound(void **state)
{
	OWN(rule_set) struct rule_set set = { 0 };
	struct err err = { 0 };
	struct rule r = { 0 };

	(void)state;
	for (size_t i = 0; i < RULE_SET_MAX; i++) {
		assert_int_equal(read_rule("{\"class\":\"gitPush\",\"decision\":\"deny\"}", &r, &err), 0);
		assert_int_equal(rule_set_take(&set, &r, &err), 0);
	}
	assert_int_equal(read_rule("{\"class\":\"gitPush\",\"decision\":\"deny\"}", &r, &err), 0);
	assert_int_equal(rule_set_take(&set, &r, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_null(r.place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_reads_as_it_says),
		cmocka_unit_test(a_rule_for_a_class_needs_little_more),
		cmocka_unit_test(a_rule_reads_back_as_it_was_written),
		cmocka_unit_test(what_is_no_rule_is_refused_with_the_place_and_why),
		cmocka_unit_test(a_file_is_read_whole_or_not_at_all),
		cmocka_unit_test(what_is_no_file_of_rules_is_refused),
		cmocka_unit_test(the_file_says_whose_rules_they_are),
		cmocka_unit_test(the_digest_changes_with_whatever_could_change_a_verdict),
		cmocka_unit_test(rules_have_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
