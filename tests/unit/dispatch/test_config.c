#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/own.h"
#include "dispatch/config.h"
#include "dispatch/place.h"

static char home[] = "/tmp/agate-test-config.XXXXXX";
static char file[sizeof(home) + 16];

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(home))
		return -1;
	snprintf(file, sizeof(file), "%s/config.json", home);
	setenv("AGATE_CONFIG", file, 1);
	setenv("TEST_SECRET", "s3cret", 1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(file);
	return rmdir(home);
}

static int load(const char *text, struct user_config *ret, struct err *err)
{
	const struct place place = { .home = home, .cwd = home };

	assert_int_equal(io_replace_file(-100, file, text, strlen(text), 0600, err), 0);
	return user_config_load(&place, ret, err);
}

static int reveal(struct user_config *c, struct strv *env, struct err *err)
{
	const struct place place = { .home = home, .cwd = home };

	return user_config_reveal(c, &place, env, err);
}

#define FROM "\"from\":{\"env\":\"TEST_SECRET\"}"

static void what_is_not_understood_is_refused_at_load(void **state)
{
	static const struct { const char *text, *why; } rows[] = {
		{ "[]", "object" }, { "{", "config" }, { "{\"allowedDomain\":[]}", "allowedDomain" },
		{ "{\"allowedDomains\":[\"*\"]}", "allowedDomains" }, { "{\"deniedDomains\":\"x\"}", "deniedDomains" },
		{ "{\"credentials\":{}}", "list" }, { "{\"credentials\":[{\"name\":\"A\"}]}", "hosts" },
		{ "{\"credentials\":[{\"name\":\"A B\",\"hosts\":[]," FROM "}]}", "name" },
		{ "{\"credentials\":[{\"name\":\"LD_PRELOAD\",\"hosts\":[\"a.test\"]," FROM "}]}", "loader" },
		{ "{\"credentials\":[{\"name\":\"A\",\"provider\":\"nobody\"," FROM "}]}", "provider" },
		{ "{\"credentials\":[{\"name\":\"A\",\"hosts\":[\"a.test\"]}]}", "from" },
		{ "{\"credentials\":[{\"name\":\"A\",\"hosts\":[\"a.test\"],\"from\":{\"env\":\"X\",\"file\":\"Y\"}}]}", "one of" },
		{ "{\"credentials\":[{\"name\":\"A\",\"hosts\":[\"a.test\"],\"from\":{\"command\":\"x y\"}}]}", "words" },
		{ "{\"credentials\":[{\"name\":\"A\",\"provider\":\"openai\"," FROM "},"
		  "{\"name\":\"A\",\"provider\":\"openai\"," FROM "}]}", "twice" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct user_config c = { .looks_into_tls = 0 };
		struct err err = { 0 };

		if (load(rows[i].text, &c, &err) != -1)
			fail_msg("%s was taken", rows[i].text);
		if (!strstr(err.msg, rows[i].why))
			fail_msg("%s: %s", rows[i].text, err.msg);
	}
}

static void a_secret_is_kept_apart_from_what_is_told(void **state)
{
	struct user_config c;
	OWN(strv) struct strv env = { 0 };
	OWN(mem) char *told = NULL;
	const struct json *credential;
	struct err err;

	(void)state;
	if (load("{\"credentials\":[{\"name\":\"ANTHROPIC_API_KEY\",\"provider\":\"anthropic\"," FROM "}]}", &c, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(c.looks_into_tls);
	if (reveal(&c, &env, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(c.secrets_len, 7);
	assert_memory_equal(c.secrets, "s3cret", 7);
	told = json_print(c.egress);
	assert_null(strstr(told, "s3cret"));
	credential = json_at(json_get(c.egress, "credentials"), 0);
	assert_string_equal(json_str(json_at(json_get(credential, "hosts"), 0)), "api.anthropic.com");
	assert_int_equal(strncmp(json_str(json_get(credential, "placeholder")), "sk-ant-api03-", 13), 0);
	for (size_t i = 0; i < env.n; i++)
		if (!strncmp(env.v[i], "ANTHROPIC_API_KEY=", 18))
			assert_string_equal(env.v[i] + 18, json_str(json_get(credential, "placeholder")));
	assert_true(strv_has(&env, "SSL_CERT_FILE=/run/agate/ca.pem"));
	user_config_wipe(&c);
	assert_null(c.secrets);
	user_config_free(&c);
}

static void a_key_for_github_does_not_push(void **state)
{
	static const struct { const char *member; int is_forbidden; } rows[] = {
		{ "\"provider\":\"github\"", 1 }, { "\"hosts\":[\"github.com:443\"]", 1 },
		{ "\"hosts\":[\"GitHub.com.\"]", 1 }, { "\"hosts\":[\"github.com.:443\"]", 1 },
		{ "\"hosts\":[\"*.com\"]", 1 }, { "\"hosts\":[\"github.com:8443\"]", 0 },
		{ "\"hosts\":[\"github.community\"]", 0 }, { "\"hosts\":[\"github.com.evil.test\"]", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		OWN(strv) struct strv env = { 0 };
		const struct json *route;
		struct user_config c;
		struct err err;
		char text[256];

		snprintf(text, sizeof(text), "{\"credentials\":[{\"name\":\"GH_TOKEN\",%s," FROM "}]}", rows[i].member);
		assert_int_equal(load(text, &c, &err), 0);
		assert_int_equal(reveal(&c, &env, &err), 0);
		route = json_at(json_get(c.egress, "routes"), 0);
		if (!route != !rows[i].is_forbidden)
			fail_msg("%s", rows[i].member);
		if (route) {
			assert_string_equal(json_str(json_get(route, "host")), "github.com");
			assert_string_equal(json_str(json_at(json_get(route, "deny"), 0)), "POST /**/git-receive-pack");
		}
		user_config_free(&c);
	}
}

static void a_rule_against_pushes_does_not_widen_what_a_user_allows(void **state)
{
	OWN(strv) struct strv env = { 0 };
	const struct json *route;
	struct user_config c;
	struct err err;

	(void)state;
	assert_int_equal(load("{\"credentials\":[{\"name\":\"GH_TOKEN\",\"provider\":\"github\"," FROM "}],"
			      "\"routes\":[{\"host\":\"*.com\",\"allow\":[\"GET /x\"]}]}", &c, &err), 0);
	assert_int_equal(reveal(&c, &env, &err), 0);
	route = json_at(json_get(c.egress, "routes"), 1);
	assert_string_equal(json_str(json_get(route, "host")), "github.com");
	assert_null(json_get(route, "allow"));
	assert_string_equal(json_str(json_at(json_get(route, "deny"), 0)), "POST /**/git-receive-pack");
	user_config_free(&c);
}

static void a_source_that_gives_no_secret_is_named(void **state)
{
	static const struct { const char *from, *why; } rows[] = {
		{ "{\"env\":\"NOT_THERE_AT_ALL\"}", "env gives none" }, { "{\"file\":\"not-there\"}", "file gives none" },
		{ "{\"command\":[\"false\"]}", "command gives none" }, { "{\"command\":[\"/not/there\"]}", "command gives none" },
		{ "{\"command\":[\"true\"]}", "is empty" }, { "{\"command\":[\"printf\",\"a\\\\nb\"]}", "more than one line" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		OWN(strv) struct strv env = { 0 };
		struct user_config c;
		struct err err = { 0 };
		char text[512];

		snprintf(text, sizeof(text), "{\"credentials\":[{\"name\":\"A\",\"hosts\":[\"a.test\"],\"from\":%s}]}", rows[i].from);
		assert_int_equal(load(text, &c, &err), 0);
		if (reveal(&c, &env, &err) != -1 || !strstr(err.msg, rows[i].why) || !strstr(err.msg, "'A'"))
			fail_msg("%s: %s", rows[i].from, err.msg);
		user_config_free(&c);
	}
}

static void a_file_of_others_is_refused_and_none_is_fine(void **state)
{
	const struct place place = { .home = home, .cwd = home };
	struct user_config c;
	struct err err;

	(void)state;
	assert_int_equal(load("{}", &c, &err), 0);
	assert_false(c.looks_into_tls);
	user_config_free(&c);
	assert_int_equal(chmod(file, 0666), 0);
	assert_int_equal(user_config_load(&place, &c, &err), -1);
	assert_int_equal(err.code, ERR_POLICY);
	unlink(file);
	assert_int_equal(user_config_load(&place, &c, &err), -1);	/* it was named */
	unsetenv("AGATE_CONFIG");
	unsetenv("XDG_CONFIG_HOME");
	assert_int_equal(user_config_load(&place, &c, &err), 0);
	user_config_free(&c);
	setenv("AGATE_CONFIG", file, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_understood_is_refused_at_load),
		cmocka_unit_test(a_secret_is_kept_apart_from_what_is_told),
		cmocka_unit_test(a_key_for_github_does_not_push),
		cmocka_unit_test(a_rule_against_pushes_does_not_widen_what_a_user_allows),
		cmocka_unit_test(a_source_that_gives_no_secret_is_named),
		cmocka_unit_test(a_file_of_others_is_refused_and_none_is_fine),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
