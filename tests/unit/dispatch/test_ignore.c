#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/event.h"
#include "base/json.h"
#include "base/own.h"
#include "dispatch/ignore.h"

static struct json *read_rules(const char *text)
{
	struct json *j = NULL;
	struct err err = { 0 };

	if (json_parse(text, strlen(text), NULL, &j, &err) < 0)
		fail_msg("%s", err.msg);
	return j;
}

static void a_refusal_is_ignored_by_command_and_target(void **state)
{
	static const struct { const char *comm, *raw, *target, *resolved; int ignored; } table[] = {
		{ "node", "node index.js", "/usr/lib/node/x", NULL, 1 },
		{ "node", "node index.js", "../lib/node/x", "/usr/lib/node/x", 1 },
		{ "node", "node index.js", "/usr/libnode", NULL, 0 },
		{ "git", "git push origin", "/w/.cache/a", NULL, 1 },
		{ "git", "git pull", "/w/.cache/a", NULL, 0 },
		{ "git", NULL, "/w/.cache/a", NULL, 0 },
		{ "npm", NULL, "registry.example:443", NULL, 1 },
		{ "npx", NULL, "registry.example:443", NULL, 0 },
		{ "npm", NULL, "other.example:443", NULL, 0 },
		{ NULL, NULL, NULL, NULL, 0 },
	};
	OWN(json) struct json *rules = read_rules("{\"*\":[\"/usr/lib/node\"],\"git push\":[\"**/.cache\"],"
						  "\"npm\":[\"registry.example\"]}");

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct violation v = { .comm = table[i].comm, .raw = table[i].raw, .target = table[i].target,
					     .resolved = table[i].resolved };

		if (ignore_match(rules, &v) != table[i].ignored)
			fail_msg("row %zu: want %d", i, table[i].ignored);
	}
	assert_int_equal(ignore_match(NULL, &(struct violation){ .target = "/x" }), 0);
}

static void what_is_not_a_rule_is_refused(void **state)
{
	static const char *const bad[] = { "[]", "\"x\"", "{\"*\":\"/x\"}", "{\"\":[\"/x\"]}", "{\"*\":[\"\"]}", "{\"*\":[1]}",
					   "{\"*\":[\"/a/../b\"]}", "{\"*\":[\"/\"]}" };
	static const char *const good[] = { "{}", "{\"*\":[]}", "{\"*\":[\"/x\",\"**/y\",\"z\"]}" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		OWN(json) struct json *j = read_rules(bad[i]);
		struct err err = { 0 };

		if (!ignore_check(j, &err) || !err.msg[0])
			fail_msg("%s was taken", bad[i]);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		OWN(json) struct json *j = read_rules(good[i]);

		assert_int_equal(ignore_check(j, NULL), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refusal_is_ignored_by_command_and_target),
		cmocka_unit_test(what_is_not_a_rule_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
