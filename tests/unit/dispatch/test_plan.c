#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/own.h"
#include "dispatch/plan.h"
#include "dispatch/request.h"
#include "dispatch/seam.h"
#include "sandbox/policy.h"
#include "sandbox/spec.h"

/* A host that is made up from end to end: the plan never looks at the real one. */
struct world {
	struct run_request req;
	struct seam seam;
	struct strv roots, masks, originals, nested;
	struct plan_bind objects[1], reads[4], writes[4];
	struct plan_facts f;
};

static void world(struct world *w)
{
	memset(w, 0, sizeof(*w));
	request_init(&w->req);
	w->req.agent = AGENT_BASH;
	w->req.sandbox = SANDBOX_ON;
	strv_add(&w->roots, "/home/u/.cargo");
	strv_add(&w->masks, "/home/u/.cargo/credentials.toml");
	strv_add(&w->originals, "/home/u/src/app");
	strv_add(&w->originals, "/srv/other");
	w->objects[0] = (struct plan_bind){ "/home/u/src/app/.git/objects", "/run/agate/objects/0" };
	w->f = (struct plan_facts){
		.request = &w->req, .run_id = "r1", .home = "/home/u", .cwd = "/home/u/src/app/lib",
		.state_dir = "/home/u/.local/state/agate",
		.run_home = "/home/u/.local/state/agate/runs/r1/home",
		.workspace = "/home/u/.local/state/agate/runs/r1/ws", .original = "/home/u/src/app",
		.gitdir = "/home/u/.local/state/agate/runs/r1/git", .guest_gitdir = "/home/u/src/app/.git",
		.source_gitdir = "/home/u/src/app/.git", .objects = w->objects, .n_objects = 1,
		.nested = &w->nested, .reads = w->reads, .writes = w->writes, .tool_roots = &w->roots,
		.tool_masks = &w->masks, .originals = &w->originals, .seam = &w->seam,
	};
}

static void world_done(struct world *w)
{
	request_done(&w->req);
	seam_done(&w->seam);
	strv_done(&w->roots);
	strv_done(&w->masks);
	strv_done(&w->originals);
	strv_done(&w->nested);
}

static void plan(struct world *w, struct sandbox_spec *spec)
{
	struct err err = { 0 };

	*spec = (struct sandbox_spec){ 0 };
	if (plan_spec(&w->f, spec, &err) < 0)
		fail_msg("no plan: %s", err.msg);
	if (spec_check(spec, &err) < 0)
		fail_msg("not a good plan: %s", err.msg);
}

static void refused(struct world *w, const char *part)
{
	struct sandbox_spec spec = { 0 };
	struct err err = { 0 };

	assert_int_equal(plan_spec(&w->f, &spec, &err), -1);
	assert_int_equal(err.code, ERR_POLICY);
	if (!strstr(err.msg, part))
		fail_msg("said '%s', not '%s'", err.msg, part);
}

static void the_same_facts_give_the_same_text(void **state)
{
	static const char expected[] =
		"{\"agentId\":\"bash\",\"allowRead\":[],\"allowUnixSockets\":[],\"bindMounts\":["
		"{\"guestPath\":\"/home/u\",\"hostPath\":\"/home/u/.local/state/agate/runs/r1/home\",\"readOnly\":false},"
		"{\"guestPath\":\"/home/u/.cargo\",\"hostPath\":\"/home/u/.cargo\",\"readOnly\":true},"
		"{\"guestPath\":\"/home/u/src/app\",\"hostPath\":\"/home/u/.local/state/agate/runs/r1/ws\",\"readOnly\":false},"
		"{\"guestPath\":\"/home/u/src/app/.git\",\"hostPath\":\"/home/u/.local/state/agate/runs/r1/git\",\"readOnly\":false},"
		"{\"guestPath\":\"/run/agate/objects/0\",\"hostPath\":\"/home/u/src/app/.git/objects\",\"readOnly\":true}],"
		"\"deniedDomains\":[\"bad.example\"],\"denyRead\":[\"/home/u/.cargo/credentials.toml\",\"/home/u/.local/state/agate\"],\"denyWrite\":[],"
		"\"egressAllowlist\":[\"good.example\"],\"execGrantRoots\":[],\"guestHome\":\"/home/u\","
		"\"guestWorkdir\":\"/home/u/src/app/lib\",\"limits\":{\"pids\":7,\"wallMs\":60000},\"mode\":\"chat\","
		"\"networkEnabled\":true,\"protectedPaths\":[\"/home/u/src/app\",\"/srv/other\"],"
		"\"runnerStateDirs\":[\"/home/u\"],\"sessionId\":\"r1\",\"workspaceId\":\"r1\"}";
	struct world w;
	OWN(spec) struct sandbox_spec spec;
	char digest[DIGEST_HEX_SIZE], want[DIGEST_HEX_SIZE];

	(void)state;
	world(&w);
	strv_add(&w.req.allow_domain, "good.example");
	strv_add(&w.req.deny_domain, "bad.example");
	w.req.timeout_ms = 60000;
	w.req.pids = 7;
	plan(&w, &spec);
	strv_done(&spec.deny_write);	/* the standard policy has tests of its own */
	OWN(mem) char *text = spec_canonical(&spec, digest);
	assert_string_equal(text, expected);
	digest_hex(text, strlen(text), want);
	assert_string_equal(digest, want);
	world_done(&w);
}

static void without_mounts_everything_is_shown_where_it_is(void **state)
{
	static const char ws[] = "/home/u/.local/state/agate/runs/r1/ws";
	struct world w;
	OWN(spec) struct sandbox_spec spec;

	(void)state;
	world(&w);
	w.f.is_bare = 1;
	strv_add(&w.req.deny_write, "Makefile");
	strv_add(&w.req.deny_write, "/home/u/src/app/secret");
	plan(&w, &spec);
	for (size_t i = 0; i < spec.n_binds; i++)
		assert_string_equal(spec.binds[i].host_path, spec.binds[i].guest_path);
	assert_string_equal(spec.guest_workdir, "/home/u/.local/state/agate/runs/r1/ws/lib");
	assert_string_equal(spec.guest_home, "/home/u/.local/state/agate/runs/r1/home");
	/* What was said of the original is meant for its copy, and the state directory hides all but what is the run's. */
	assert_true(strv_has(&spec.deny_write, "/home/u/.local/state/agate/runs/r1/ws/lib/Makefile"));
	assert_true(strv_has(&spec.deny_write, "/home/u/.local/state/agate/runs/r1/ws/secret"));
	assert_true(strv_has(&spec.deny_read, "/home/u/.local/state/agate"));
	assert_true(strv_has(&spec.allow_read, ws));
	world_done(&w);
}

static void without_mounts_an_agents_settings_have_no_place(void **state)
{
	struct world w;

	(void)state;
	world(&w);
	w.f.is_bare = 1;
	w.f.managed_host = "/home/u/.local/state/agate/runs/r1/managed-settings.json";
	w.seam.managed_guest = "/etc/claude-code/managed-settings.json";
	refused(&w, "/etc/claude-code");
	world_done(&w);
}

static void what_the_user_denies_stands_behind_the_standard_policy(void **state)
{
	struct world w;
	OWN(spec) struct sandbox_spec spec;
	OWN(strv) struct strv standard = { 0 };

	(void)state;
	world(&w);
	strv_add(&w.req.deny_write, "*.lock");
	strv_add(&w.req.deny_write, "Makefile");
	policy_standard_denies(&standard);
	plan(&w, &spec);
	assert_true(spec.deny_write.n > standard.n + 2);
	for (size_t i = 0; i < standard.n; i++)
		assert_string_equal(spec.deny_write.v[i], standard.v[i]);
	assert_string_equal(spec.deny_write.v[spec.deny_write.n - 2], "**/*.lock");
	assert_string_equal(spec.deny_write.v[spec.deny_write.n - 1], "/home/u/src/app/lib/Makefile");
	world_done(&w);
}

static void words_of_rules_become_guest_paths(void **state)
{
	static const struct { const char *cwd, *word, *rule; } cases[] = {
		{ "/home/u/src/app/lib", "/etc/x", "/etc/x" },
		{ "/home/u/src/app/lib", "**/x", "**/x" },
		{ "/home/u/src/app/lib", "*.c", "**/*.c" },
		{ "/home/u/src/app/lib", "x", "/home/u/src/app/lib/x" },
		{ "/home/u/src/app/lib", "../x/*.c", "/home/u/src/app/x/*.c" },
		{ "/home/u/src/app/lib", "~", "/home/u" },
		{ "/home/u/src/app/lib", "~/x", "/home/u/x" },
		{ "/tmp", "x", "/home/u/src/app/x" },
		{ "/tmp", "./a/", "/home/u/src/app/a" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct world w;

		world(&w);
		w.f.cwd = cases[i].cwd;
		OWN(mem) char *rule = plan_rule(&w.f, cases[i].word);
		assert_string_equal(rule, cases[i].rule);
		world_done(&w);
	}
}

static const struct bind_mount *bind_at(const struct sandbox_spec *spec, const char *guest)
{
	for (size_t i = 0; i < spec->n_binds; i++)
		if (!strcmp(spec->binds[i].guest_path, guest))
			return &spec->binds[i];
	return NULL;
}

static void modes_that_only_look_get_a_read_only_workspace_and_keep_their_home(void **state)
{
	static const enum mode modes[] = { MODE_REVIEW, MODE_PLAN, MODE_ORCHESTRATE };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		struct world w;
		OWN(spec) struct sandbox_spec spec;

		world(&w);
		w.req.mode = (int)modes[i];
		plan(&w, &spec);
		assert_false(spec_bind_is_writable(&spec, bind_at(&spec, "/home/u/src/app")));
		assert_false(spec_bind_is_writable(&spec, bind_at(&spec, "/home/u/src/app/.git")));
		assert_true(spec_bind_is_writable(&spec, bind_at(&spec, "/home/u")));
		world_done(&w);
	}
}

static void binds_stand_outer_before_inner_and_once(void **state)
{
	struct world w;
	OWN(spec) struct sandbox_spec spec;

	(void)state;
	world(&w);
	w.reads[0] = (struct plan_bind){ "/srv", "/srv" };
	w.reads[1] = (struct plan_bind){ "/home/u/.cargo", "/home/u/.cargo" };	/* a tool root, too */
	w.f.n_reads = 2;
	w.writes[0] = (struct plan_bind){ "/var/cache/u", "/srv/cache" };
	w.f.n_writes = 1;
	plan(&w, &spec);
	for (size_t i = 0; i < spec.n_binds; i++)
		for (size_t j = 0; j < i; j++) {
			const char *outer = spec.binds[j].guest_path, *inner = spec.binds[i].guest_path;

			assert_true(strcmp(outer, inner) != 0);
			assert_true(strncmp(inner, outer, strlen(inner)) != 0 || strlen(outer) < strlen(inner));
		}
	assert_non_null(bind_at(&spec, "/srv/cache"));
	assert_false(bind_at(&spec, "/srv/cache")->read_only);
	world_done(&w);
}

static void what_must_stay_closed_cannot_be_asked_for(void **state)
{
	static const struct { int write; struct plan_bind bind; const char *part; } cases[] = {
		{ 0, { "/home/u/.local", "/home/u/.local" }, "agate's own state" },
		{ 0, { "/home/u/.local/state/agate/agate.db", "/x" }, "agate's own state" },
		{ 0, { "/home/u/.local/state/agate", "/x" }, "agate's own state" },
		{ 1, { "/home/u/.local/state", "/x" }, "agate's own state" },
		{ 1, { "/srv/other", "/srv/other" }, "'/srv/other' is an original checkout" },
		{ 1, { "/srv/other/sub", "/x" }, "'/srv/other' is an original checkout" },
		{ 1, { "/srv", "/srv" }, "'/srv/other' is an original checkout" },
		{ 1, { "/home/u/src/app", "/x" }, "is an original checkout" },
		{ 0, { "/etc", "/home/u/src/app/etc" }, "the run has its own copy" },
		{ 0, { "/home/u/src/app", "/home/u/src/app" }, "the run has its own copy" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct world w;

		world(&w);
		if (cases[i].write) {
			w.writes[0] = cases[i].bind;
			w.f.n_writes = 1;
		} else {
			w.reads[0] = cases[i].bind;
			w.f.n_reads = 1;
		}
		refused(&w, cases[i].part);
		world_done(&w);
	}
}

static void what_is_hidden_may_be_shown_again_but_for_our_state(void **state)
{
	static const struct { const char *word; int is_bare, in_place, refused; } table[] = {
		{ "src/pub", 0, 0, 0 }, { "*.pub", 0, 0, 0 }, { "~/.cargo/credentials.toml", 0, 0, 0 },
		{ "/home/u/.local/state/agate", 0, 0, 1 }, { "~/.local/state/agate/agate.db", 0, 0, 1 },
		{ "/home/u/src/app/.agate/x", 0, 1, 1 }, { "*.db", 0, 1, 1 }, { "*.db", 1, 0, 1 }, { "src/pub", 0, 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct world w;
		OWN(spec) struct sandbox_spec spec = { 0 };
		struct err err = { 0 };
		int r;

		world(&w);
		w.f.is_bare = table[i].is_bare;
		w.f.in_place = table[i].in_place;
		if (table[i].in_place)
			w.f.state_dir = "/home/u/src/app/.agate";
		strv_add(&w.req.deny_read, "src");
		strv_add(&w.req.allow_read, table[i].word);
		r = plan_spec(&w.f, &spec, &err);
		if ((r < 0) != table[i].refused)
			fail_msg("row %zu, '%s': %s", i, table[i].word, r < 0 ? err.msg : "taken");
		if (!i)
			assert_true(strv_has(&spec.allow_read, "/home/u/src/app/lib/src/pub"));
		world_done(&w);
	}
}

static void a_secret_of_the_home_is_shown_only_by_its_own_name(void **state)
{
	struct world w;
	OWN(spec) struct sandbox_spec spec;

	(void)state;
	world(&w);
	w.f.state_dir = "/var/lib/agate";
	w.reads[0] = (struct plan_bind){ "/home/u/docs", "/home/u/docs" };
	w.reads[1] = (struct plan_bind){ "/home/u/.ssh/known_hosts", "/home/u/.ssh/known_hosts" };
	w.f.n_reads = 2;
	plan(&w, &spec);
	assert_true(strv_has(&spec.deny_read, "/home/u/.ssh"));
	assert_true(strv_has(&spec.allow_read, "/home/u/.ssh/known_hosts"));
	assert_false(strv_has(&spec.allow_read, "/home/u/docs"));
	world_done(&w);
}

static void in_place_the_original_is_the_workspace_and_its_git_is_guarded(void **state)
{
	struct world w;
	OWN(spec) struct sandbox_spec spec;

	(void)state;
	world(&w);
	w.f.in_place = 1;
	w.f.workspace = w.f.original;
	w.f.gitdir = w.f.guest_gitdir = NULL;
	w.f.n_objects = 0;
	strv_add(&w.nested, "vendor/x/.git");
	plan(&w, &spec);
	assert_string_equal(bind_at(&spec, "/home/u/src/app")->host_path, "/home/u/src/app");
	assert_false(strv_has(&spec.protected_paths, "/home/u/src/app"));
	assert_true(strv_has(&spec.protected_paths, "/srv/other"));
	assert_true(strv_has(&spec.deny_write, "/home/u/src/app/.git/config"));
	assert_true(strv_has(&spec.deny_write, "/home/u/src/app/vendor/x/.git/config"));
	world_done(&w);
}

static void network_deny_turns_it_off_and_ask_leaves_it_on(void **state)
{
	static const struct { enum network_rule rule; int on; } cases[] = {
		{ NETWORK_ALLOW, 1 }, { NETWORK_ASK, 1 }, { NETWORK_DENY, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct world w;
		OWN(spec) struct sandbox_spec spec;

		world(&w);
		w.req.network = (int)cases[i].rule;
		plan(&w, &spec);
		assert_int_equal(spec.network_enabled, cases[i].on);
		world_done(&w);
	}
}

static void a_seam_brings_its_program_and_its_settings(void **state)
{
	struct world w;
	OWN(spec) struct sandbox_spec spec;

	(void)state;
	world(&w);
	strv_add(&w.seam.roots, "/srv/node_modules");
	w.seam.managed_guest = "/etc/claude-code/managed-settings.json";
	w.f.managed_host = "/home/u/.local/state/agate/runs/r1/managed-settings.json";
	plan(&w, &spec);
	assert_true(bind_at(&spec, "/srv/node_modules")->read_only);
	assert_true(bind_at(&spec, "/etc/claude-code/managed-settings.json")->read_only);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_facts_give_the_same_text),
		cmocka_unit_test(without_mounts_everything_is_shown_where_it_is),
		cmocka_unit_test(without_mounts_an_agents_settings_have_no_place),
		cmocka_unit_test(what_the_user_denies_stands_behind_the_standard_policy),
		cmocka_unit_test(words_of_rules_become_guest_paths),
		cmocka_unit_test(modes_that_only_look_get_a_read_only_workspace_and_keep_their_home),
		cmocka_unit_test(binds_stand_outer_before_inner_and_once),
		cmocka_unit_test(what_must_stay_closed_cannot_be_asked_for),
		cmocka_unit_test(a_secret_of_the_home_is_shown_only_by_its_own_name),
		cmocka_unit_test(in_place_the_original_is_the_workspace_and_its_git_is_guarded),
		cmocka_unit_test(network_deny_turns_it_off_and_ask_leaves_it_on),
		cmocka_unit_test(what_is_hidden_may_be_shown_again_but_for_our_state),
		cmocka_unit_test(a_seam_brings_its_program_and_its_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
