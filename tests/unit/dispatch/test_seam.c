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
#include "dispatch/seam.h"

static void claude(struct run_request *req, const char *words)
{
	OWN(mem) char *copy = strdup(words);

	request_init(req);
	req->agent = AGENT_CLAUDE;
	strv_add(&req->command, "claude");
	for (char *save = NULL, *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		strv_add(&req->command, strcmp(w, "EMPTY") != 0 ? w : "");
}

static void arguments_that_switch_mediation_off_are_refused(void **state)
{
	static const char *const bad[] = {
		"--bare", "-p hi --bare", "--safe-mode", "--settings x.json", "--settings=x.json",
		"--managed-settings {}", "--plugin-dir d", "--plugin-dir=d", "--dangerously-skip-permissions",
		"--allow-dangerously-skip-permissions", "--permission-mode bypassPermissions",
		"--permission-mode=auto", "--permission-prompt-tool stdio", "--permission-prompts none",
		"--setting-sources user", "--setting-sources=project", "--setting-sources", "--ide",
		"-p hi --bg", "-p hi --no-such-option", "-p hi --input-format stream-json",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		OWN(request) struct run_request req;
		struct err err = { 0 };

		claude(&req, bad[i]);
		if (seam_check(&req, &err) == 0)
			fail_msg("'%s' went through", bad[i]);
		assert_int_equal(err.code, ERR_POLICY);
	}
}

static void variables_that_switch_mediation_off_are_refused(void **state)
{
	static const struct { const char *env; int passes; } cases[] = {
		{ "CLAUDE_CODE_SIMPLE=1", 0 }, { "CLAUDE_CODE_SAFE_MODE", 0 }, { "CLAUDE_CODE_MANAGED_SETTINGS_PATH=/x", 0 },
		{ "CLAUDE_CODE_BRIDGE_SETTINGS_BINDING=x", 0 }, { "CLAUDE_CODE_EVEN_MORE_DANGEROUSLY_SKIP_PERMISSIONS=1", 0 },
		{ "CLAUDE_CODE_SIMPLE_SYSTEM_PROMPT=1", 1 }, { "CLAUDE_CODE_MAX_OUTPUT_TOKENS=1", 1 }, { "ANTHROPIC_BASE_URL=x", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(request) struct run_request req;
		struct err err = { 0 };

		claude(&req, "-p hi");
		strv_add(&req.env, cases[i].env);
		if ((seam_check(&req, &err) == 0) != cases[i].passes)
			fail_msg("%s", cases[i].env);
	}
}

static void ordinary_arguments_pass(void **state)
{
	static const char *const good[] = {
		"", "-p hi", "-p hi --output-format stream-json --verbose", "--allowedTools Bash,Edit",
		"--setting-sources= --strict-mcp-config", "--setting-sources EMPTY -p x", "--mcp-config m.json",
		"--model x --max-turns 3", "-p -- --bare", "--permissive", "--settingsx",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		OWN(request) struct run_request req;
		struct err err = { 0 };

		claude(&req, good[i]);
		if (seam_check(&req, &err) < 0)
			fail_msg("'%s': %s", good[i], err.msg);
	}
}

#define SPOKEN_WITH \
	"-p --input-format=stream-json --output-format=stream-json --verbose --permission-prompt-tool=stdio "

static void what_keeps_a_repository_out_is_added_once(void **state)
{
	static const struct { const char *words; enum mode mode; const char *argv; } cases[] = {
		{ "-p hi", MODE_CHAT,
		  "/opt/c/claude --setting-sources= --strict-mcp-config --permission-mode=default " SPOKEN_WITH },
		{ "--strict-mcp-config -p hi --model x --output-format json", MODE_CHAT,
		  "/opt/c/claude --setting-sources= --permission-mode=default " SPOKEN_WITH "--strict-mcp-config --model x " },
		{ "-p hi", MODE_PLAN,
		  "/opt/c/claude --setting-sources= --strict-mcp-config --permission-mode=plan " SPOKEN_WITH },
		/* one that talks with a person keeps its words */
		{ "hi --model x", MODE_CHAT,
		  "/opt/c/claude --setting-sources= --strict-mcp-config --permission-mode=default hi --model x " },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct seam_facts facts = { "/opt/c/claude", "/home/u", "/home/u", 1 };
		OWN(request) struct run_request req;
		OWN(seam) struct seam seam = { 0 };
		struct err err = { 0 };
		char got[512] = "";

		claude(&req, cases[i].words);
		req.mode = (int)cases[i].mode;
		assert_int_equal(seam_make(&req, &facts, &seam, &err), 0);
		for (size_t j = 0; j < seam.argv.n; j++) {
			strcat(got, seam.argv.v[j]);
			strcat(got, " ");
		}
		assert_string_equal(got, cases[i].argv);
		assert_int_equal(seam.roots.n, 0);	/* below /opt: in view anyway */
	}
}

static void the_program_is_shown_with_what_it_needs_and_no_more(void **state)
{
	static const struct { const char *program, *root; } cases[] = {
		{ "/home/u/.local/share/claude/versions/2", "/home/u/.local/share/claude/versions" },
		{ "/srv/t/node_modules/@x/claude/bin/claude", "/srv/t/node_modules" },
		{ "/srv/t/node_modules/a/node_modules/b/claude", "/srv/t/node_modules" },
		{ "/home/u/claude", "/home/u/claude" },	/* not the whole home */
		{ "/home/claude", "/home/claude" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct seam_facts facts = { cases[i].program, "/home/u", "/home/u", 1 };
		OWN(request) struct run_request req;
		OWN(seam) struct seam seam = { 0 };
		struct err err = { 0 };

		claude(&req, "-p hi");
		assert_int_equal(seam_make(&req, &facts, &seam, &err), 0);
		assert_int_equal(seam.roots.n, 1);
		assert_string_equal(seam.roots.v[0], cases[i].root);
	}
}

static void its_key_is_none_and_its_settings_are_in_the_private_home(void **state)
{
	const struct seam_facts facts = { "/opt/c/claude", "/home/u", "/home/u", 1 };
	OWN(request) struct run_request req;
	OWN(seam) struct seam seam = { 0 };
	OWN(json) struct json *managed = NULL;
	struct err err = { 0 };
	int on = -1;

	(void)state;
	claude(&req, "-p hi");
	assert_int_equal(seam_make(&req, &facts, &seam, &err), 0);
	assert_true(strv_has(&seam.env, "ANTHROPIC_API_KEY=agate-placeholder"));
	assert_true(strv_has(&seam.env, "CLAUDE_CONFIG_DIR=/home/u/.config/claude"));
	assert_true(strv_has(&seam.env, "DISABLE_TELEMETRY=1"));
	assert_true(strv_has(&seam.writes, "/home/u/.config/claude/sessions/*.key"));
	assert_string_equal(seam.managed_guest, "/etc/claude-code/managed-settings.json");
	assert_int_equal(json_parse(seam.managed, strlen(seam.managed), NULL, &managed, &err), 0);
	assert_string_equal(json_str(json_get(json_get(managed, "permissions"), "disableBypassPermissionsMode")), "disable");
	assert_int_equal(json_bool(json_get(managed, "allowManagedHooksOnly"), &on), 0);
	assert_int_equal(on, 1);
}

static void an_agent_that_is_not_installed_is_told_as_that(void **state)
{
	const struct seam_facts facts = { NULL, "/home/u", "/home/u", 1 };
	OWN(request) struct run_request req;
	OWN(seam) struct seam seam = { 0 };
	struct err err = { 0 };

	(void)state;
	claude(&req, "-p hi");
	assert_int_equal(seam_make(&req, &facts, &seam, &err), -1);
	assert_int_equal(err.code, ERR_NOTFOUND);
	assert_string_equal(err.msg, "no such command: 'claude'");
}

static void a_plain_command_is_left_as_it_is(void **state)
{
	const struct seam_facts facts = { NULL, "/home/u", "/home/u", 1 };
	OWN(request) struct run_request req;
	OWN(seam) struct seam seam = { 0 };
	struct err err = { 0 };

	(void)state;
	claude(&req, "--bare --dangerously-x");
	req.agent = AGENT_BASH;
	assert_int_equal(seam_check(&req, &err), 0);
	assert_int_equal(seam_make(&req, &facts, &seam, &err), 0);
	assert_int_equal(seam.argv.n, 3);
	assert_null(seam.managed);
	assert_int_equal(seam.env.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_that_switch_mediation_off_are_refused),
		cmocka_unit_test(variables_that_switch_mediation_off_are_refused),
		cmocka_unit_test(ordinary_arguments_pass),
		cmocka_unit_test(what_keeps_a_repository_out_is_added_once),
		cmocka_unit_test(the_program_is_shown_with_what_it_needs_and_no_more),
		cmocka_unit_test(its_key_is_none_and_its_settings_are_in_the_private_home),
		cmocka_unit_test(an_agent_that_is_not_installed_is_told_as_that),
		cmocka_unit_test(a_plain_command_is_left_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
