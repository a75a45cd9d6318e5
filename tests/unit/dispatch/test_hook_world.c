/*
 * What the tool gate is told: links on a real disk, names by the standard
 * policy, hosts by rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "db/db.h"
#include "dispatch/hook_event.h"
#include "dispatch/hook_ruling.h"
#include "dispatch/hook_world.h"
#include "dispatch/place.h"

static char top[64];

static char *in_top(const char *rel)
{
	char *path = path_join(top, rel);

	assert_non_null(path);
	return path;
}

static void link_to(const char *target, const char *rel)
{
	OWN(mem) char *path = in_top(rel);

	assert_int_equal(symlink(target, path), 0);
}

static void dir(const char *rel)
{
	OWN(mem) char *path = in_top(rel);

	assert_int_equal(mkdir(path, 0700), 0);
}

static int make_top(void **state)
{
	OWN(mem) char *real = NULL;

	(void)state;
	strcpy(top, "/tmp/agate-world.XXXXXX");
	if (!mkdtemp(top))
		return -1;
	real = path_resolve(top);
	strcpy(top, real);
	dir("w");
	dir("w/src");
	dir("home");
	dir("lists");
	link_to("src", "w/in");
	link_to("../home", "w/out");
	link_to("../home/.bashrc", "w/nowhere");
	link_to("nowhere", "w/to-nowhere");
	link_to("loop-b", "w/loop-a");
	link_to("loop-a", "w/loop-b");
	return 0;
}

static int remove_top(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	return system(command);
}

static void expect_real(const char *rel, const char *want)
{
	OWN(mem) char *path = in_top(rel);
	OWN(mem) char *at = in_top(want ? want : "x");
	OWN(mem) char *real = hook_real(path);

	if (want)
		assert_string_equal(real, at);
	else
		assert_null(real);
}

static void links_are_followed_to_the_end_and_to_nowhere(void **state)
{
	(void)state;
	expect_real("w/a", "w/a");
	expect_real("w/new/dir/a", "w/new/dir/a");
	expect_real("w/in/a", "w/src/a");
	expect_real("w/out/x", "home/x");
	expect_real("w/nowhere", "home/.bashrc");
	expect_real("w/to-nowhere", "home/.bashrc");
	expect_real("w/loop-a", NULL);
}

/* --- with the standard policy --- */

struct bench {
	char *workspace, *home, *state, *lists;
	struct place place;
	struct hook_world world;
	struct db *db;
};

static void bench_init(struct bench *b, const struct strv *allow, const struct strv *deny)
{
	struct err err = { 0 };

	*b = (struct bench){
		.workspace = in_top("w"), .home = in_top("home"), .state = in_top("home/state"), .lists = in_top("lists"),
	};
	b->place = (struct place){ .home = b->home, .state = b->state };
	if (hook_world_init(&b->world, allow, deny, b->lists, 1, &err) < 0 ||
	    hook_world_standard(&b->world, &b->place, b->workspace, &err) < 0)
		fail_msg("%s", err.msg);
	hook_world_links(&b->world);
	if (db_open(b->state, &b->db, &err) < 0)
		fail_msg("%s", err.msg);
}

static struct ruling_facts facts_of(const struct bench *b)
{
	return (struct ruling_facts){
		.workspace = b->workspace, .root = b->workspace, .home = b->home, .world = &b->world, .db = b->db,
	};
}

static void bench_done(struct bench *b)
{
	db_close(b->db);
	hook_world_done(&b->world);
	free(b->workspace);
	free(b->home);
	free(b->state);
	free(b->lists);
}

static const char *rule(const struct bench *b, const char *rel, bool is_write)
{
	OWN(mem) char *path = in_top(rel);

	return b->world.ops.path_rule(b->world.ops.cookie, path, is_write);
}

static void names_are_kept_as_in_a_run(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b, NULL, NULL);
	assert_null(rule(&b, "w/a.c", true));
	assert_non_null(rule(&b, "w/.env", true));
	assert_null(rule(&b, "w/.env", false));
	assert_non_null(rule(&b, "w/deep/er/server.key", true));
	assert_non_null(rule(&b, "w/.git/config", true));
	assert_non_null(rule(&b, "w/.git/hooks/pre-commit", true));
	assert_null(rule(&b, "w/.git/config", false));
	assert_non_null(rule(&b, "w/.claude/settings.json", true));
	assert_non_null(rule(&b, "home/.ssh/id", false));
	assert_non_null(rule(&b, "home/.vimrc", true));
	assert_non_null(rule(&b, "home/state/agate.db", true));
	assert_non_null(rule(&b, "home/state/agate.db", false));
	bench_done(&b);
}

static void a_rule_that_is_none_is_an_error(void **state)
{
	struct bench b;
	char bad[] = "relative";
	char *v[] = { bad, NULL };
	const struct strv rules = { .v = v, .n = 1 };
	struct err err = { 0 };

	(void)state;
	bench_init(&b, NULL, NULL);
	assert_int_equal(hook_world_rules(&b.world, &rules, NULL, &err), -1);
	assert_int_equal(err.code, ERR_POLICY);
	bench_done(&b);
}

/* --- hosts --- */

static void write_list(const char *name, const char *text)
{
	OWN(mem) char *path = NULL;
	char rel[64];
	FILE *f;

	snprintf(rel, sizeof(rel), "lists/domains-%s.txt", name);
	path = in_top(rel);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static enum tool_host ask(struct bench *b, const char *host, uint16_t port)
{
	char why[256] = "";
	enum tool_host answer = b->world.ops.host(b->world.ops.cookie, host, port, why, sizeof(why));

	if (answer == TOOL_HOST_DENIED)
		assert_true(why[0]);
	return answer;
}

static void hosts_are_judged_as_the_proxy_would(void **state)
{
	char a[] = "own.test", d[] = "worse.test";
	char *allow_v[] = { a, NULL }, *deny_v[] = { d, NULL };
	const struct strv allow = { .v = allow_v, .n = 1 }, deny = { .v = deny_v, .n = 1 };
	struct bench b;

	(void)state;
	write_list("denied", "bad.test\n");
	write_list("baseline", "listed.test\nbad.test\n");
	write_list("github", "github.com\n");
	bench_init(&b, &allow, &deny);
	assert_int_equal(ask(&b, "own.test", 443), TOOL_HOST_ALLOWED);
	assert_int_equal(ask(&b, "listed.test", 80), TOOL_HOST_ALLOWED);
	assert_int_equal(ask(&b, "listed.test", 8080), TOOL_HOST_UNKNOWN);
	assert_int_equal(ask(&b, "other.test", 443), TOOL_HOST_UNKNOWN);
	assert_int_equal(ask(&b, "bad.test", 443), TOOL_HOST_DENIED);
	assert_int_equal(ask(&b, "worse.test", 443), TOOL_HOST_DENIED);
	assert_int_equal(ask(&b, "93.184.216.34", 443), TOOL_HOST_UNKNOWN);
	assert_int_equal(ask(&b, "169.254.169.254", 80), TOOL_HOST_DENIED);
	assert_int_equal(ask(&b, "10.0.0.1", 443), TOOL_HOST_DENIED);
	assert_int_equal(ask(&b, "[::1]", 443), TOOL_HOST_DENIED);
	assert_int_equal(ask(&b, "2130706433", 443), TOOL_HOST_DENIED);
	assert_int_equal(ask(&b, "a b", 443), TOOL_HOST_DENIED);
	bench_done(&b);
}

static void without_the_lists_no_host_is_taken(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b, NULL, NULL);
	free(b.world.data);
	b.world.data = NULL;
	assert_int_equal(ask(&b, "listed.test", 443), TOOL_HOST_DENIED);
	assert_int_equal(ask(&b, "listed.test", 443), TOOL_HOST_DENIED);
	bench_done(&b);
}

/* --- the whole of a ruling --- */

static void expect(struct bench *b, const char *tool, const char *field, const char *rel, enum decision want)
{
	OWN(mem) char *path = in_top(rel);
	OWN(json) struct json *input = json_new_object();
	const struct hook_event ev = { .tool = tool, .input = input, .cwd = b->workspace, .tool_use = "t1" };
	const struct ruling_facts facts = facts_of(b);
	OWN(ruling) struct ruling r = { 0 };
	struct judgement j;
	struct err err = { 0 };

	assert_non_null(json_add_str(input, field, path));
	if (!strcmp(tool, "Write"))
		json_add_str(input, "content", "");
	assert_int_equal(ruling_make(&facts, &ev, &r, &err), 0);
	if (r.decision != want)
		fail_msg("%s %s: %s", tool, path, decision_name(r.decision));
	j = ruling_judgement(&r);
	assert_string_equal(j.verdict, decision_name(want));
	assert_string_equal(j.tool_use, "t1");
	assert_int_equal(strlen(j.digest), 64);
	assert_non_null(strstr(j.line, path));
}

static void links_out_of_the_workspace_lead_nowhere(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b, NULL, NULL);
	expect(&b, "Write", "file_path", "w/a.c", DECISION_ALLOW);
	expect(&b, "Write", "file_path", "w/in/a.c", DECISION_ALLOW);
	expect(&b, "Write", "file_path", "w/nowhere", DECISION_DENY);
	expect(&b, "Write", "file_path", "w/to-nowhere", DECISION_DENY);
	expect(&b, "Write", "file_path", "w/out/.profile", DECISION_DENY);
	expect(&b, "Read", "file_path", "w/out/.ssh/id", DECISION_DENY);
	expect(&b, "Read", "file_path", "w/loop-a", DECISION_DENY);
	bench_done(&b);
}

static void what_the_agent_keeps_for_itself_is_its_own(void **state)
{
	OWN(mem) char *config = in_top("home/.claude");
	OWN(mem) char *transcript = in_top("home/.claude/projects/p/s.jsonl");
	struct bench b;
	struct err err = { 0 };

	(void)state;
	bench_init(&b, NULL, NULL);
	expect(&b, "Write", "file_path", "home/.claude/plans/p.md", DECISION_DENY);
	expect(&b, "Read", "file_path", "home/.claude/projects/p/s/tool-results/1.txt", DECISION_DENY);
	assert_int_equal(hook_world_agent(&b.world, config, transcript, &err), 0);
	expect(&b, "Write", "file_path", "home/.claude/plans/p.md", DECISION_ALLOW);
	expect(&b, "Read", "file_path", "home/.claude/projects/p/s/tool-results/1.txt", DECISION_ALLOW);
	expect(&b, "Write", "file_path", "home/.claude/projects/p/s/tool-results/1.txt", DECISION_DENY);
	expect(&b, "Read", "file_path", "home/.claude/projects/p/other.jsonl", DECISION_DENY);
	expect(&b, "Write", "file_path", "home/.claude/settings.json", DECISION_DENY);
	bench_done(&b);
}

static void an_agent_that_plans_is_judged_as_in_plan_mode(void **state)
{
	OWN(json) struct json *input = json_new_object();
	struct bench b;
	struct ruling_facts facts = { 0 };
	struct hook_event ev = { .tool = "Bash", .input = input };
	OWN(ruling) struct ruling r = { 0 };
	struct err err = { 0 };

	(void)state;
	bench_init(&b, NULL, NULL);
	json_add_str(input, "command", "touch a");
	facts = facts_of(&b);
	ev.cwd = b.workspace;
	ev.only_plans = 1;
	assert_int_equal(ruling_make(&facts, &ev, &r, &err), 0);
	assert_int_equal(r.decision, DECISION_DENY);
	assert_int_equal(r.mode, MODE_PLAN);
	bench_done(&b);
}

static void what_is_no_call_is_denied(void **state)
{
	OWN(json) struct json *input = json_new_object();
	struct bench b;
	struct ruling_facts facts = { 0 };
	const struct hook_event ev = { .tool = "no such name", .input = input, .cwd = "/" };
	OWN(ruling) struct ruling r = { 0 };
	struct err err = { 0 };

	(void)state;
	bench_init(&b, NULL, NULL);
	facts = facts_of(&b);
	assert_int_equal(ruling_make(&facts, &ev, &r, &err), -1);
	assert_int_equal(r.decision, DECISION_DENY);
	assert_true(err.msg[0]);
	bench_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_are_followed_to_the_end_and_to_nowhere),
		cmocka_unit_test(names_are_kept_as_in_a_run),
		cmocka_unit_test(a_rule_that_is_none_is_an_error),
		cmocka_unit_test(hosts_are_judged_as_the_proxy_would),
		cmocka_unit_test(without_the_lists_no_host_is_taken),
		cmocka_unit_test(links_out_of_the_workspace_lead_nowhere),
		cmocka_unit_test(what_the_agent_keeps_for_itself_is_its_own),
		cmocka_unit_test(an_agent_that_plans_is_judged_as_in_plan_mode),
		cmocka_unit_test(what_is_no_call_is_denied),
	};

	return cmocka_run_group_tests(tests, make_top, remove_top);
}
