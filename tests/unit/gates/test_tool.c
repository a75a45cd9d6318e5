/*
 * Tool calls: each kind of tool both ways, where links lead, what cannot be
 * read, and the words of a refusal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/strv.h"
#include "gates/tool.h"

/* --- a small world: two links, two rules, three hosts --- */

static char *real(void *cookie, const char *path)
{
	static const struct { const char *from, *to; } links[] = {
		{ "/w/to-shadow", "/etc/shadow" }, { "/w/to-home", "/home/u/notes" },
		{ "/w/to-bashrc", "/home/u/.bashrc" }, { "/w/to-src", "/w/src" }, { "/home/u/into-w", "/w/a.c" },
	};

	(void)cookie;
	if (!strcmp(path, "/w/loop"))
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		if (!strcmp(path, links[i].from))
			return strdup(links[i].to);
	return strdup(path);
}

static const char *path_rule(void *cookie, const char *path, bool is_write)
{
	(void)cookie;
	if (is_write && strstr(path, "/sealed/"))
		return "**/sealed";
	return strstr(path, "/hidden/") ? "**/hidden" : NULL;
}

static enum tool_host host(void *cookie, const char *name, uint16_t port, char *ret_why, size_t size)
{
	(void)cookie;
	if (!strcmp(name, "good.test") && port == 443)
		return TOOL_HOST_ALLOWED;
	if (strcmp(name, "bad.test") != 0)
		return TOOL_HOST_UNKNOWN;
	snprintf(ret_why, size, "the list says no");
	return TOOL_HOST_DENIED;
}

static const struct tool_world world = { .real = real, .path_rule = path_rule, .host = host };

static struct tool_request request(const char *tool, const struct json *input, enum mode mode, bool is_held)
{
	return (struct tool_request){
		.tool = tool, .input = input, .mode = mode, .is_held = is_held, .workspace = "/w", .cwd = "/w",
		.home = "/home/u", .world = &world,
	};
}

static struct json *parse(const char *text)
{
	struct json *j = NULL;
	struct err err = { 0 };

	if (json_parse(text, strlen(text), NULL, &j, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return j;
}

/* --- verdicts: chat beside the agent, chat in our sandbox, plan; a(llow) ?(ask) d(eny) --- */

static const struct row {
	const char *tool, *input, *want;
} rows[] = {
	/* shell lines: the gate's verdict, and a second look where no sandbox holds */
	{ "Bash", "{\"command\":\"ls\"}", "aaa" },
	{ "Bash", "{\"command\":\"touch a\"}", "aad" },
	{ "Bash", "{\"command\":\"sudo ls\"}", "ddd" },
	{ "Bash", "{\"command\":\"git push\"}", "??d" },
	{ "Bash", "{\"command\":\"cat /home/u/notes\"}", "?ad" },
	{ "Bash", "{\"command\":\"cat .env\"}", "?ad" },
	{ "Bash", "{\"command\":\"cat to-home\"}", "?ad" },
	{ "Bash", "{\"command\":\"cat to-shadow\"}", "dad" },
	{ "Bash", "{\"command\":\"echo x > to-bashrc\"}", "dad" },
	{ "Bash", "{\"command\":\"echo x > sealed/a\"}", "dad" },
	{ "Bash", "{\"command\":\"cat hidden/a\"}", "dad" },
	{ "Bash", "{\"command\":\"cat $X\"}", "?a?" },
	{ "Bash", "{\"command\":\"curl https://good.test/x\"}", "aad" },
	{ "Bash", "{\"command\":\"curl https://other.test/x\"}", "?ad" },
	{ "Bash", "{\"command\":\"curl https://bad.test/x\"}", "dad" },
	{ "Bash", "{\"command\":\"curl bad.test\"}", "dad" },
	{ "Bash", "{\"command\":\"ls\",\"dangerouslyDisableSandbox\":true}", "?a?" },
	{ "Bash", "{\"command\":\"ls\",\"dangerouslyDisableSandbox\":false}", "aaa" },
	{ "Bash", "{\"command\":\"ls\",\"timeout\":5,\"description\":\"d\",\"run_in_background\":true}", "aaa" },
	{ "Bash", "{\"command\":\"ls\",\"shell\":\"/tmp/sh\"}", "ddd" },
	{ "Bash", "{\"command\":\"\"}", "ddd" },
	{ "Bash", "{\"command\":7}", "ddd" },
	{ "Bash", "{}", "ddd" },
	{ "Monitor", "{\"command\":\"tail -f log\",\"description\":\"d\",\"timeout_ms\":1}", "aaa" },
	{ "Monitor", "{\"command\":\"touch a\",\"description\":\"d\",\"timeout_ms\":1}", "aad" },
	{ "Monitor", "{\"ws\":{\"url\":\"wss://good.test\"},\"description\":\"d\",\"timeout_ms\":1}", "ddd" },
	{ "Monitor", "{\"description\":\"d\"}", "ddd" },

	/* reading */
	{ "Read", "{\"file_path\":\"/w/a.c\"}", "aaa" },
	{ "Read", "{\"file_path\":\"a.c\",\"offset\":1,\"limit\":2}", "aaa" },
	{ "Read", "{\"file_path\":\"/w/../w/src/./a.c\"}", "aaa" },
	{ "Read", "{\"file_path\":\"/usr/include/stdio.h\"}", "aaa" },
	{ "Read", "{\"file_path\":\"/tmp/claude-0/tasks/x.output\"}", "aaa" },
	{ "Read", "{\"file_path\":\"/home/u/notes\"}", "?ad" },
	{ "Read", "{\"file_path\":\"~/notes\"}", "?ad" },
	{ "Read", "{\"file_path\":\"../other/a\"}", "?ad" },
	{ "Read", "{\"file_path\":\"/home/u/.ssh/id_rsa\"}", "ddd" },
	{ "Read", "{\"file_path\":\"/etc/shadow\"}", "ddd" },
	{ "Read", "{\"file_path\":\"/w/.env\"}", "?ad" },
	{ "Read", "{\"file_path\":\"/w/.env.example\"}", "aaa" },
	{ "Read", "{\"file_path\":\"/w/hidden/a\"}", "ddd" },
	{ "Read", "{\"file_path\":\"/w/to-shadow\"}", "ddd" },
	{ "Read", "{\"file_path\":\"/w/to-home\"}", "?ad" },
	{ "Read", "{\"file_path\":\"/w/to-src\"}", "aaa" },
	{ "Read", "{\"file_path\":\"/home/u/into-w\"}", "aaa" },
	{ "Read", "{\"file_path\":\"/w/loop\"}", "ddd" },
	{ "Read", "{\"file_path\":\"/proc/self/environ\"}", "ddd" },
	{ "Read", "{\"file_path\":\"/proc/self/fd/3\"}", "ddd" },
	{ "Read", "{\"file_path\":\"/proc/1/environ\"}", "ddd" },
	{ "Read", "{\"file_path\":\"/dev/stdin\"}", "ddd" },
	{ "Read", "{\"file_path\":\" /etc/hostname\"}", "ddd" },
	{ "Read", "{\"file_path\":\"/w/a.c\\u00a0\"}", "ddd" },
	{ "Read", "{\"file_path\":\"~other/a\"}", "ddd" },
	{ "Read", "{\"file_path\":\"\"}", "ddd" },
	{ "Read", "{\"file_path\":[\"/w/a.c\"]}", "ddd" },
	{ "Read", "{\"path\":\"/w/a.c\"}", "ddd" },
	{ "Read", "{}", "ddd" },
	{ "NotebookRead", "{\"notebook_path\":\"/w/a.ipynb\"}", "aaa" },
	{ "Grep", "{\"pattern\":\"x\"}", "aaa" },
	{ "Grep", "{\"pattern\":\"x\",\"path\":\"src\",\"-n\":true,\"output_mode\":\"content\"}", "aaa" },
	{ "Grep", "{\"pattern\":\"x\",\"path\":\"/home/u\"}", "?ad" },
	{ "Grep", "{\"pattern\":\"x\",\"path\":\"/home/u/.aws\"}", "ddd" },
	{ "Grep", "{\"pattern\":\"x\",\"path\":null}", "ddd" },
	{ "Grep", "{\"pattern\":\"x\",\"pre\":\"sh\"}", "ddd" },
	{ "Glob", "{\"pattern\":\"**/*.c\"}", "aaa" },
	{ "Glob", "{\"pattern\":\"src/*.{c,h}\",\"path\":\"/w\"}", "aaa" },
	{ "Glob", "{\"pattern\":\"/home/u/**\"}", "?ad" },
	{ "Glob", "{\"pattern\":\"../**\"}", "?ad" },
	{ "Glob", "{\"pattern\":\"{a,..}/**\"}", "ddd" },
	{ "Glob", "{\"pattern\":\"*\",\"path\":\"/home/u/.ssh\"}", "ddd" },
	{ "Glob", "{\"pattern\":\"/home/u/.ssh/*\",\"path\":\"/w\"}", "ddd" },
	{ "LS", "{\"path\":\"/w\"}", "aaa" },
	{ "LS", "{\"path\":\"/home/u\"}", "?ad" },

	/* writing */
	{ "Write", "{\"file_path\":\"/w/a.c\",\"content\":\"x\"}", "aad" },
	{ "Write", "{\"file_path\":\"new/a.c\",\"content\":\"\"}", "aad" },
	{ "Write", "{\"file_path\":\"/tmp/x\",\"content\":\"x\"}", "aad" },
	{ "Write", "{\"file_path\":\"/home/u/notes\",\"content\":\"x\"}", "?ad" },
	{ "Write", "{\"file_path\":\"/home/u/.bashrc\",\"content\":\"x\"}", "ddd" },
	{ "Write", "{\"file_path\":\"/etc/hosts\",\"content\":\"x\"}", "ddd" },
	{ "Write", "{\"file_path\":\"/srv/x\",\"content\":\"x\"}", "ddd" },
	{ "Write", "{\"file_path\":\"/w/.env\",\"content\":\"x\"}", "ddd" },
	{ "Write", "{\"file_path\":\"/w/sub/.env.local\",\"content\":\"x\"}", "ddd" },
	{ "Write", "{\"file_path\":\"/w/.git/hooks/pre-commit\",\"content\":\"x\"}", "ddd" },
	{ "Write", "{\"file_path\":\"/w/.claude/settings.json\",\"content\":\"x\"}", "ddd" },
	{ "Write", "{\"file_path\":\"/w/sealed/a\",\"content\":\"x\"}", "ddd" },
	{ "Write", "{\"file_path\":\"/w/to-bashrc\",\"content\":\"x\"}", "ddd" },
	{ "Write", "{\"file_path\":\"/dev/null\",\"content\":\"x\"}", "ddd" },
	{ "Write", "{\"file_path\":\"/notes/plan.md\",\"content\":\"x\"}", "aaa" },
	{ "Write", "{\"file_path\":\"/notes\",\"content\":\"x\"}", "ddd" },
	{ "Write", "{\"file_path\":\"/notes/../w/a.c\",\"content\":\"x\"}", "aad" },
	{ "Write", "{\"content\":\"x\"}", "ddd" },
	{ "Write", "{\"file_path\":\"/home/u/.claude/projects/p/s/results/1\",\"content\":\"x\"}", "ddd" },
	{ "Read", "{\"file_path\":\"/home/u/.claude/projects/p/s/results/1\"}", "aaa" },
	{ "Read", "{\"file_path\":\"/home/u/.claude/projects/p/s\"}", "ddd" },
	{ "Read", "{\"file_path\":\"/home/u/.claude/projects/p/other/1\"}", "ddd" },
	{ "Edit", "{\"file_path\":\"/w/a.c\",\"old_string\":\"a\",\"new_string\":\"b\",\"replace_all\":true}", "aad" },
	{ "Edit", "{\"file_path\":\"/w/key.pem\",\"old_string\":\"a\",\"new_string\":\"b\"}", "ddd" },
	{ "MultiEdit", "{\"file_path\":\"/w/a.c\",\"edits\":[]}", "aad" },
	{ "NotebookEdit", "{\"notebook_path\":\"/w/a.ipynb\",\"new_source\":\"x\"}", "aad" },
	{ "NotebookEdit", "{\"notebook_path\":\"/etc/a.ipynb\",\"new_source\":\"x\"}", "ddd" },

	/* hosts */
	{ "WebFetch", "{\"url\":\"https://good.test/a\",\"prompt\":\"p\"}", "aa?" },
	{ "WebFetch", "{\"url\":\"https://good.test:8443/a\",\"prompt\":\"p\"}", "?a?" },
	{ "WebFetch", "{\"url\":\"https://other.test/\",\"prompt\":\"p\"}", "?a?" },
	{ "WebFetch", "{\"url\":\"https://bad.test/\",\"prompt\":\"p\"}", "ddd" },
	{ "WebFetch", "{\"url\":\"HTTPS://good.test?q\",\"prompt\":\"p\"}", "aa?" },
	{ "WebFetch", "{\"url\":\"https://good.test@bad.test/\",\"prompt\":\"p\"}", "ddd" },
	{ "WebFetch", "{\"url\":\"https://good.test\\\\@bad.test/\",\"prompt\":\"p\"}", "ddd" },
	{ "WebFetch", "{\"url\":\"https://good%2etest/\",\"prompt\":\"p\"}", "ddd" },
	{ "WebFetch", "{\"url\":\"https:///etc/passwd\",\"prompt\":\"p\"}", "ddd" },
	{ "WebFetch", "{\"url\":\"https://good.test:0/\",\"prompt\":\"p\"}", "ddd" },
	{ "WebFetch", "{\"url\":\"https://good.test:99999/\",\"prompt\":\"p\"}", "ddd" },
	{ "WebFetch", "{\"url\":\"file:///etc/passwd\",\"prompt\":\"p\"}", "ddd" },
	{ "WebFetch", "{\"url\":\"good.test\",\"prompt\":\"p\"}", "ddd" },
	{ "WebFetch", "{\"prompt\":\"p\"}", "ddd" },
	{ "WebSearch", "{\"query\":\"q\"}", "aa?" },

	/* agents, book-keeping, the rest */
	{ "Agent", "{\"description\":\"d\",\"prompt\":\"p\",\"subagent_type\":\"Explore\"}", "aaa" },
	{ "Task", "{\"description\":\"d\",\"prompt\":\"p\"}", "aaa" },
	{ "Agent", "{\"description\":\"d\",\"prompt\":\"p\",\"isolation\":\"worktree\"}", "?ad" },
	{ "Agent", "{\"description\":\"d\",\"prompt\":\"p\",\"isolation\":\"remote\"}", "ddd" },
	{ "TodoWrite", "{\"todos\":[]}", "aaa" },
	{ "AskUserQuestion", "{\"questions\":[]}", "ada" },
	{ "TaskUpdate", "{\"taskId\":\"1\",\"whatever\":1}", "aaa" },
	{ "ExitPlanMode", "{}", "aad-held" },
	{ "Skill", "{\"skill\":\"x\"}", "?ad" },
	{ "EnterWorktree", "{\"name\":\"x\"}", "?ad" },
	{ "CronCreate", "{\"cron\":\"* * * * *\",\"prompt\":\"p\"}", "?ad" },
	{ "Artifact", "{\"file_path\":\"/w/a.html\"}", "??d" },
	{ "mcp__github__create_issue", "{\"title\":\"t\"}", "??d" },
	{ "mcp__good__do", "{}", "aad" },
	{ "mcp__goodness__do", "{}", "??d" },
	{ "mcp__", "{}", "??d" },
	{ "mcp__evil__do", "{}", "ddd" },
	{ "ReadMcpResourceTool", "{\"server\":\"s\",\"uri\":\"u\"}", "??d" },
	{ "PowerShell", "{\"command\":\"ls\"}", "ddd" },
	{ "bash", "{\"command\":\"ls\"}", "ddd" },
	{ "Invented", "{}", "ddd" },
	{ "Named", "{}", "aad" },
};

static char letter(const struct row *r, enum mode mode, bool is_held)
{
	static const char letters[DECISION_NUM] = { 'a', '?', 'd' };
	char l[] = "/home/u/.claude/projects/p/s", n[] = "/notes", g[] = "mcp__good", m[] = "Named", e[] = "mcp__evil__*";
	char *logs[] = { l, NULL }, *notes[] = { n, NULL }, *allow[] = { g, m, NULL }, *deny[] = { e, NULL };
	const struct strv logs_v = { .v = logs, .n = 1 };
	const struct strv notes_v = { .v = notes, .n = 1 }, allow_v = { .v = allow, .n = 2 }, deny_v = { .v = deny, .n = 1 };
	OWN(json) struct json *input = parse(r->input);
	OWN(verdict) struct verdict v = { 0 };
	struct tool_request req = request(r->tool, input, mode, is_held);
	struct err err = { 0 };

	req.logs = &logs_v;
	req.notes = &notes_v;
	req.allow = &allow_v;
	req.deny = &deny_v;
	if (tool_check(&req, &v, &err) < 0)
		fail_msg("%s: %s", r->tool, err.msg);
	if (v.decision != DECISION_ALLOW && (!v.reason[0] || !v.rule[0]))
		fail_msg("%s %s: refused without a reason or a rule", r->tool, r->input);
	return letters[v.decision];
}

static void every_kind_of_call_has_its_verdict(void **state)
{
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		char got[4] = { letter(r, MODE_CHAT, false), letter(r, MODE_CHAT, true), letter(r, MODE_PLAN, false), 0 };
		const char *want = strstr(r->want, "held") ? "aaa" : r->want;

		if (!strcmp(got, want))
			continue;
		print_error("%s %s: %s, not %s\n", r->tool, r->input, got, want);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void the_modes_that_only_look_agree(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char plan = letter(&rows[i], MODE_PLAN, false);

		assert_int_equal(letter(&rows[i], MODE_REVIEW, false), plan);
		assert_int_equal(letter(&rows[i], MODE_ORCHESTRATE, false), plan);
	}
}

static void a_run_that_plans_does_not_leave_plan_mode(void **state)
{
	const struct row leave = { "ExitPlanMode", "{}", "" };

	(void)state;
	assert_int_equal(letter(&leave, MODE_PLAN, true), 'd');
	assert_int_equal(letter(&leave, MODE_PLAN, false), 'a');
	assert_int_equal(letter(&leave, MODE_CHAT, true), 'a');
}

/* --- requests --- */

static void a_broken_request_is_a_denial_and_an_error(void **state)
{
	static const char *const names[] = { NULL, "", "Ba sh", "Bash\n", "B\xc3\xa4sh", "a/b" };
	OWN(json) struct json *input = parse("{\"command\":\"ls\"}");
	OWN(json) struct json *list = parse("[]");
	struct tool_request req;
	struct err err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		OWN(verdict) struct verdict v = { 0 };

		req = request(names[i], input, MODE_CHAT, false);
		assert_int_equal(tool_check(&req, &v, &err), -1);
		assert_int_equal(v.decision, DECISION_DENY);
	}
	for (int i = 0; i < 3; i++) {
		OWN(verdict) struct verdict v = { 0 };

		req = request("Bash", i == 0 ? list : i == 1 ? NULL : input, MODE_CHAT, false);
		if (i == 2)
			req.cwd = "w";
		assert_int_equal(tool_check(&req, &v, &err), -1);
		assert_int_equal(v.decision, DECISION_DENY);
	}
}

static void a_very_long_name_is_refused(void **state)
{
	OWN(json) struct json *input = parse("{}");
	OWN(verdict) struct verdict v = { 0 };
	char name[300];
	struct tool_request req;
	struct err err = { 0 };

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	req = request(name, input, MODE_CHAT, false);
	assert_int_equal(tool_check(&req, &v, &err), -1);
}

/* --- words and effects --- */

static void check(const char *tool, const char *text, enum mode mode, struct verdict *v)
{
	OWN(json) struct json *input = parse(text);
	struct tool_request req = request(tool, input, mode, false);
	struct err err = { 0 };

	assert_int_equal(tool_check(&req, v, &err), 0);
}

static void a_refusal_says_what_where_and_why(void **state)
{
	static const struct { const char *tool, *input, *reason; enum mode mode; } cases[] = {
		{ "Write", "{\"file_path\":\"a\",\"content\":\"\"}", "plan mode only looks, and 'Write' writes '/w/a'", MODE_PLAN },
		{ "Read", "{\"file_path\":\"/etc/shadow\"}", "'Read' reads '/etc/shadow', where credentials are kept", MODE_CHAT },
		{ "Read", "{\"file_path\":\"to-home\"}",
		  "'Read' reads '/w/to-home', a link to '/home/u/notes', which lies outside the workspace", MODE_CHAT },
		{ "Write", "{\"file_path\":\"sealed/a\",\"content\":\"\"}",
		  "'Write' writes '/w/sealed/a', which the rule '**/sealed' keeps from it", MODE_CHAT },
		{ "WebFetch", "{\"url\":\"https://bad.test\",\"prompt\":\"\"}",
		  "'WebFetch' reaches out to 'bad.test': the list says no", MODE_CHAT },
		{ "Invented", "{}", "'Invented' is a tool nobody here knows", MODE_CHAT },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(verdict) struct verdict v = { 0 };

		check(cases[i].tool, cases[i].input, cases[i].mode, &v);
		assert_string_equal(v.reason, cases[i].reason);
	}
}

static void a_reason_holds_no_control_bytes(void **state)
{
	OWN(verdict) struct verdict v = { 0 };

	(void)state;
	check("Read", "{\"file_path\":\"/etc/shadow/\\u001b[31m\\nx\"}", MODE_CHAT, &v);
	assert_int_equal(v.decision, DECISION_DENY);
	for (const char *p = v.reason; *p; p++)
		assert_true((unsigned char)*p >= ' ' && *p != 0x7f);
}

static void a_long_reason_is_cut_between_characters(void **state)
{
	OWN(verdict) struct verdict v = { 0 };
	char text[2000] = "{\"file_path\":\"/etc/shadow/x";

	(void)state;
	for (int i = 0; i < 300; i++)
		strcat(text, "\xc3\xa4");
	strcat(text, "\"}");
	check("Read", text, MODE_CHAT, &v);
	assert_int_equal(v.decision, DECISION_DENY);
	assert_true(strlen(v.reason) > 200);
	assert_int_not_equal((unsigned char)v.reason[strlen(v.reason) - 1], 0xc3);
}

static void a_lines_span_shows_the_part_that_was_looked_at_again(void **state)
{
	OWN(verdict) struct verdict v = { 0 };

	(void)state;
	check("Bash", "{\"command\":\"ls; cat to-shadow\"}", MODE_CHAT, &v);
	assert_int_equal(v.decision, DECISION_DENY);
	assert_int_equal(v.span_start, 8);
	assert_int_equal(v.span_end, 17);
}

static void effects_are_told_as_for_lines(void **state)
{
	OWN(verdict) struct verdict v = { 0 };
	OWN(verdict) struct verdict w = { 0 };

	(void)state;
	check("Write", "{\"file_path\":\"a.c\",\"content\":\"\"}", MODE_CHAT, &v);
	assert_int_equal(v.effects_n, 1);
	assert_int_equal(v.effects[0].class, EFFECT_WORKSPACE_MUTATION);
	assert_int_equal(v.effects[0].place, PLACE_INSIDE);
	assert_string_equal(v.effects[0].subject, "/w/a.c");
	check("WebFetch", "{\"url\":\"https://good.test/x\",\"prompt\":\"p\"}", MODE_CHAT, &w);
	assert_int_equal(w.effects_n, 1);
	assert_int_equal(w.effects[0].class, EFFECT_NETWORK_EGRESS);
	assert_string_equal(w.effects[0].subject, "https://good.test/x");
}

static void only_what_stays_in_the_workspace_is_contained(void **state)
{
	static const struct { const char *tool, *input; int want; } cases[] = {
		{ "Read", "{\"file_path\":\"/w/a\"}", 1 },
		{ "Read", "{\"file_path\":\"/usr/include/x\"}", 1 },
		{ "Write", "{\"file_path\":\"/w/a\",\"content\":\"\"}", 1 },
		{ "Write", "{\"file_path\":\"/tmp/a\",\"content\":\"\"}", 1 },
		{ "TodoWrite", "{}", 1 },
		{ "Bash", "{\"command\":\"ls; cat a\"}", 1 },
		{ "Bash", "{\"command\":\"touch a\"}", 1 },
		{ "Bash", "{\"command\":\"rm a\"}", 0 },
		{ "Bash", "{\"command\":\"./x\"}", 0 },
		{ "Bash", "{\"command\":\"make\"}", 0 },
		{ "Bash", "{\"command\":\"git commit -m x\"}", 0 },
		{ "Bash", "{\"command\":\"curl https://good.test\"}", 0 },
		{ "WebFetch", "{\"url\":\"https://good.test\",\"prompt\":\"\"}", 0 },
		{ "WebSearch", "{\"query\":\"x\"}", 0 },
		{ "Write", "{\"file_path\":\"/home/u/a\",\"content\":\"\"}", 0 },
		{ "Invented", "{}", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(verdict) struct verdict v = { 0 };

		check(cases[i].tool, cases[i].input, MODE_CHAT, &v);
		if (verdict_is_contained(&v) != cases[i].want)
			fail_msg("%s %s", cases[i].tool, cases[i].input);
	}
}

static void the_line_for_the_record_names_what_was_acted_on(void **state)
{
	static const struct { const char *tool, *input, *line; } cases[] = {
		{ "Bash", "{\"command\":\"ls -l\"}", "ls -l" },
		{ "Write", "{\"file_path\":\"/w/a\",\"content\":\"secret\"}", "Write /w/a" },
		{ "WebFetch", "{\"url\":\"https://a.test\",\"prompt\":\"p\"}", "WebFetch https://a.test" },
		{ "Glob", "{\"pattern\":\"*.c\"}", "Glob *.c" },
		{ "Bash", "{}", "Bash" },
		{ "mcp__a__b", "{\"x\":\"y\"}", "mcp__a__b" },
		{ "Invented", "{\"command\":\"x\"}", "Invented" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(json) struct json *input = parse(cases[i].input);
		OWN(mem) char *line = tool_line(cases[i].tool, input);

		assert_string_equal(line, cases[i].line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_call_has_its_verdict),
		cmocka_unit_test(the_modes_that_only_look_agree),
		cmocka_unit_test(a_run_that_plans_does_not_leave_plan_mode),
		cmocka_unit_test(a_broken_request_is_a_denial_and_an_error),
		cmocka_unit_test(a_very_long_name_is_refused),
		cmocka_unit_test(a_refusal_says_what_where_and_why),
		cmocka_unit_test(a_reason_holds_no_control_bytes),
		cmocka_unit_test(a_long_reason_is_cut_between_characters),
		cmocka_unit_test(a_lines_span_shows_the_part_that_was_looked_at_again),
		cmocka_unit_test(effects_are_told_as_for_lines),
		cmocka_unit_test(only_what_stays_in_the_workspace_is_contained),
		cmocka_unit_test(the_line_for_the_record_names_what_was_acted_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
