#include "tests/unit/gates/guard_fixture.h"

#include "gates/import_rules.h"

#define MATRIX "../shared/clients/rules_matrix.tsv"

static const struct import_where where = { .name = "settings.json", .base = "/w", .scope = RULE_WORKSPACE, .scope_id = "*" };

static void import(const char *permissions, struct rule_set *set, struct import_report *report)
{
	char text[2000];
	struct err err = { 0 };

	snprintf(text, sizeof(text), "{\"permissions\":{%s}}", permissions);
	if (import_claude(text, strlen(text), &where, set, report, &err) < 0)
		fail_msg("%s", err.msg);
}

static enum decision decide_by(const char *permissions, const char *base, const char *line)
{
	OWN(rule_set) struct rule_set set = { 0 };
	OWN(import_report) struct import_report report = { 0 };
	enum decision before;

	import(permissions, &set, &report);
	add_rules(&set, base, RULE_FILE_PLAIN);
	return decide(line, MODE_CHAT, &set, &before);
}

/* What no rule speaks of is asked about, as Claude does it. */
#define ASK_ELSE "{" EVERYWHERE COMMAND("**") ASK "}"

/* --- the table measured on the real program --- */

/* What Claude's own denials do not find, and ours do. */
static const char *const found[] = {
	"bash -c 'make all'", "sh -c 'make all'", "eval 'make all'", "xargs -n1 make all", "make -C /tmp all", "make -s all",
	"find . -name q -exec make all \\;", NULL,
};

static bool is_listed(const char *const *list, const char *line)
{
	for (; *list; list++)
		if (!strcmp(*list, line))
			return true;
	return false;
}

/* "allow make all:*" -> "allow", "Bash(make all:*)" */
static void rule_of(char *column, char ret[128])
{
	char *space = strchr(column, ' ');

	*space = '\0';
	snprintf(ret, 128, "\"%s\":[\"Bash(%s)\"]", column, space + 1);
}

struct column {
	char permissions[128];
	enum decision decision;
};

static size_t check_cell(const struct column *c, const char *line, const char *claude)
{
	bool accepts = !strcmp(claude, "accept"), is_allow = c->decision == DECISION_ALLOW;
	enum decision got = decide_by(c->permissions, is_allow ? ASK_ELSE : "", line);

	if (is_allow && got == DECISION_ALLOW && !accepts)
		print_error("looser: %s lets '%s' through\n", c->permissions, line);
	else if (!is_allow && got < c->decision && !accepts)
		print_error("looser: %s does not stop '%s'\n", c->permissions, line);
	else if (is_allow && got != DECISION_ALLOW && accepts)
		print_error("narrower: %s asks about '%s'\n", c->permissions, line);
	else if (!is_allow && got != DECISION_ALLOW && accepts && !is_listed(found, line))
		print_error("wider: %s stops '%s'\n", c->permissions, line);
	else
		return 0;
	return 1;
}

static size_t check_row(char *row, const struct column *columns, size_t n)
{
	char *line = strtok(row, "\t");
	size_t bad = 0;

	unescape(line);
	for (size_t i = 0; i < n; i++)
		bad += check_cell(&columns[i], line, strtok(NULL, "\t"));
	return bad;
}

static void nothing_comes_out_looser_than_the_real_program_has_it(void **state)
{
	OWN(file) FILE *f = fopen(MATRIX, "r");
	OWN(mem) char *row = NULL;
	struct column columns[8];
	size_t size = 0, n = 0, rows = 0, bad = 0;

	(void)state;
	if (!f) {
		print_message("no '%s' here\n", MATRIX);
		skip();
	}
	while (getline(&row, &size, f) > 0) {
		row[strcspn(row, "\n")] = '\0';
		if (row[0] == '#')
			continue;
		if (n) {
			bad += check_row(row, columns, n);
			rows++;
			continue;
		}
		strtok(row, "\t");
		for (char *head; (head = strtok(NULL, "\t")); n++) {
			columns[n].decision = *head == 'd' ? DECISION_DENY : head[1] == 's' ? DECISION_ASK : DECISION_ALLOW;
			rule_of(head, columns[n].permissions);
		}
	}
	print_message("%zu lines, %zu rules, %zu wrong\n", rows, n, bad);
	assert_true(rows >= 50 && n == 6);
	assert_int_equal(bad, 0);
}

/* --- everything else --- */

static void commands_come_out_as_claude_would_have_them(void **state)
{
	static const struct { const char *permissions, *line; enum decision want; } cases[] = {
		{ "\"deny\":[\"Bash\"]", "ls", DECISION_DENY },
		{ "\"deny\":[\"Bash(*)\"]", "ls", DECISION_DENY },
		{ "\"allow\":[\"Bash(make test)\"]", "make test", DECISION_ALLOW },
		{ "\"allow\":[\"Bash(make test)\"]", "make test x", DECISION_ASK },
		{ "\"allow\":[\"Bash(npm run test*)\"]", "npm run test:unit", DECISION_ALLOW },
		{ "\"allow\":[\"Bash(npm run test*)\"]", "npm run lint", DECISION_ASK },
		{ "\"allow\":[\"Bash(make * fast)\"]", "make all fast", DECISION_ALLOW },
		{ "\"allow\":[\"Bash(make * fast)\"]", "make all of it fast", DECISION_ALLOW },
		{ "\"allow\":[\"Bash(make * fast)\"]", "make all slow", DECISION_ASK },
		{ "\"deny\":[\"Bash(make * fast)\"]", "make all of it fast", DECISION_DENY },
		{ "\"deny\":[\"Bash(make x*y z)\"]", "make xay q", DECISION_DENY },
		{ "\"allow\":[\"Bash(make x*y z)\"]", "make xay z", DECISION_ALLOW },
		{ "\"allow\":[\"Bash(make x*y z)\"]", "make xa by z", DECISION_ASK },
		/* ask goes before allow, however special the allowance is */
		{ "\"ask\":[\"Bash(make)\"],\"allow\":[\"Bash(make test)\"]", "make test", DECISION_ALLOW },
		{ "\"ask\":[\"Bash(make:*)\"],\"allow\":[\"Bash(make test)\"]", "make test", DECISION_ASK },
		{ "\"ask\":[\"Bash\"],\"allow\":[\"Bash(make test)\"]", "make test", DECISION_ASK },
		{ "\"deny\":[\"Bash(make:*)\"],\"allow\":[\"Bash(make test)\"]", "make test", DECISION_DENY },
		{ "\"allow\":[\"Bash(make:*)\"],\"ask\":[\"Bash(make deploy:*)\"]", "make test && make deploy", DECISION_ASK },
		/* paths */
		{ "\"deny\":[\"Read(./secrets/**)\"]", "cat secrets/k", DECISION_DENY },
		{ "\"deny\":[\"Read(secret.txt)\"]", "head a/b/secret.txt", DECISION_DENY },
		{ "\"deny\":[\"Read(//etc/hosts)\"]", "cat /etc/hosts", DECISION_DENY },
		{ "\"deny\":[\"Read(~/notes)\"]", "cat ~/notes/x", DECISION_DENY },
		{ "\"deny\":[\"Read(/top.txt)\"]", "cat top.txt", DECISION_DENY },
		{ "\"deny\":[\"Read(/top.txt)\"]", "cat a/top.txt", DECISION_ASK },
		{ "\"deny\":[\"Edit(src/**)\"]", "touch src/a", DECISION_DENY },
		{ "\"deny\":[\"Edit(src/**)\"]", "rm src/a", DECISION_DENY },
		{ "\"deny\":[\"Edit(src/**)\"]", "echo x > src/a", DECISION_DENY },
		{ "\"deny\":[\"Write(src/**)\"]", "touch src/a", DECISION_DENY },
		{ "\"deny\":[\"Edit(src/**)\"]", "cat src/a", DECISION_ASK },
		/* an allowance for tools is none for commands */
		{ "\"allow\":[\"Edit(src/**)\"]", "touch src/a", DECISION_ASK },
		/* hosts */
		{ "\"deny\":[\"WebFetch(domain:evil.example)\"]", "curl https://evil.example/x", DECISION_DENY },
		{ "\"deny\":[\"WebFetch(domain:evil.example)\"]", "curl https://x.evil.example/", DECISION_ASK },
		{ "\"deny\":[\"WebFetch(domain:*.evil.example)\"]", "curl https://x.evil.example/", DECISION_DENY },
		{ "\"allow\":[\"WebFetch(domain:good.example)\"]", "curl https://good.example/", DECISION_ASK },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		enum decision got = decide_by(cases[i].permissions, ASK_ELSE, cases[i].line);

		if (got != cases[i].want)
			fail_msg("%s: '%s' is %s", cases[i].permissions, cases[i].line, decision_name(got));
	}
}

static void every_entry_is_told_about(void **state)
{
	static const struct { const char *permissions; enum import_fate fate; const char *entry; size_t rules; } cases[] = {
		{ "\"allow\":[\"Bash(make test)\"]", IMPORT_SAME, "allow Bash(make test)", 1 },
		{ "\"deny\":[\"Bash(make test)\"]", IMPORT_STRICTER, "deny Bash(make test)", 1 },
		{ "\"allow\":[\"Bash(a && b)\"]", IMPORT_LEFT_OUT, "allow Bash(a && b)", 0 },
		{ "\"deny\":[\"Bash(a && b)\"]", IMPORT_LOST, "deny Bash(a && b)", 0 },
		{ "\"ask\":[\"Bash(X=1 make)\"]", IMPORT_LOST, "ask Bash(X=1 make)", 0 },
		{ "\"deny\":[\"Bash(a $(b))\"]", IMPORT_LOST, "deny Bash(a $(b))", 0 },
		{ "\"deny\":[\"nonsense(\"]", IMPORT_LOST, "deny nonsense(", 0 },
		{ "\"allow\":[\"\"]", IMPORT_LEFT_OUT, "allow ", 0 },
		{ "\"deny\":[3]", IMPORT_LOST, "deny (no string)", 0 },
		{ "\"deny\":[\"Read(!x)\"]", IMPORT_LOST, "deny Read(!x)", 0 },
		{ "\"deny\":[\"Read(a/../b)\"]", IMPORT_LOST, "deny Read(a/../b)", 0 },
		{ "\"deny\":[\"Read\"]", IMPORT_STRICTER, "deny Read", 1 },
		{ "\"allow\":[\"Write(x)\"]", IMPORT_LEFT_OUT, "allow Write(x)", 0 },
		{ "\"deny\":[\"WebFetch(url:x)\"]", IMPORT_LOST, "deny WebFetch(url:x)", 0 },
		{ "\"deny\":[\"WebFetch(domain:a b)\"]", IMPORT_LOST, "deny WebFetch(domain:a b)", 0 },
		{ "\"deny\":[\"WebFetch\"]", IMPORT_SAME, "deny WebFetch", 1 },
		{ "\"allow\":[\"mcp__github\"]", IMPORT_SAME, "allow mcp__github", 1 },
		{ "\"deny\":[\"Agent(reviewer)\"]", IMPORT_LOST, "deny Agent(reviewer)", 0 },
		{ "\"deny\":[\"Bash(run_in_background:true)\"]", IMPORT_LOST, "deny Bash(run_in_background:true)", 0 },
		{ "\"allow\":[\"WebSearch\"]", IMPORT_SAME, "allow WebSearch", 1 },
		{ "\"defaultMode\":\"plan\"", IMPORT_LEFT_OUT, "defaultMode", 0 },
		{ "\"ask\":[\"Bash\"],\"allow\":[\"Bash(ls)\"]", IMPORT_LEFT_OUT, "allow Bash(ls)", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(rule_set) struct rule_set set = { 0 };
		OWN(import_report) struct import_report report = { 0 };
		bool seen = false;

		import(cases[i].permissions, &set, &report);
		for (size_t k = 0; k < report.n; k++) {
			if (strcmp(report.v[k].entry, cases[i].entry) != 0)
				continue;
			seen = true;
			if (report.v[k].fate != cases[i].fate)
				fail_msg("%s: %s", cases[i].entry, import_fate_name(report.v[k].fate));
			assert_true(report.v[k].fate == IMPORT_SAME || report.v[k].why[0]);
		}
		if (!seen)
			fail_msg("nothing is said of '%s'", cases[i].entry);
		assert_int_equal(set.n, cases[i].rules);
		for (size_t k = 0; k < set.n; k++)
			assert_string_equal(set.v[k].provenance, "import claude");
	}
}

static void what_runs_programs_is_never_taken(void **state)
{
	static const char text[] = "{\"hooks\":{\"PreToolUse\":[]},\"env\":{\"A\":\"b\"},\"apiKeyHelper\":\"x\","
				   "\"sandbox\":{\"network\":{\"deniedDomains\":[\"evil.example\"]}}}";
	OWN(rule_set) struct rule_set set = { 0 };
	OWN(import_report) struct import_report report = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(import_claude(text, strlen(text), &where, &set, &report, &err), 0);
	assert_int_equal(set.n, 1);
	assert_string_equal(set.v[0].only.list[RULE_HOSTS].v[0], "evil.example");
	assert_int_equal(report.count[IMPORT_LEFT_OUT], 5);
	assert_int_equal(report.count[IMPORT_LOST], 0);
}

static void what_is_no_settings_file_is_refused(void **state)
{
	static const char *const bad[] = { "", "[]", "{", "{\"permissions\":[]}", "{\"permissions\":{\"deny\":\"Bash\"}}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		OWN(rule_set) struct rule_set set = { 0 };
		OWN(import_report) struct import_report report = { 0 };
		struct err err = { 0 };

		assert_int_equal(import_claude(bad[i], strlen(bad[i]), &where, &set, &report, &err), -1);
		assert_int_equal(err.code, ERR_INPUT);
		assert_memory_equal(err.msg, "'settings.json'", 15);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_comes_out_looser_than_the_real_program_has_it),
		cmocka_unit_test(commands_come_out_as_claude_would_have_them),
		cmocka_unit_test(every_entry_is_told_about),
		cmocka_unit_test(what_runs_programs_is_never_taken),
		cmocka_unit_test(what_is_no_settings_file_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
