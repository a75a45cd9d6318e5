/*
 * Step 4: the variables the command will have, and how its agent wants to be
 * launched. Nothing of ours comes along that was not named.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/exit.h"
#include "dispatch/run_internal.h"
#include "dispatch/show.h"
#include "sandbox/init/proto.h"
#include "sandbox/policy.h"
#include "tokens/scrub.h"

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

int run_make_seam(struct run *run, struct err *err)
{
	struct seam_facts facts = { .guest_home = run->guest_home, .home = run->desk.place.home };

	free(run->program);
	run->program = lookup_program(run->req->command.v[0], getenv("PATH"), run->desk.place.cwd);
	facts.program = run->program;
	facts.is_terminal = !run->req->json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	return seam_make(run->req, &facts, &run->seam, err);
}

/* --- who the run is to git: the user's own names, marked as an agent's --- */

int run_find_identity(struct run *run, struct err *err)
{
	OWN(mem) char *name = NULL;

	if (repo_identity(&run->repo, &name, &run->git_email, err) < 0)
		return -1;
	if (asprintf(&run->git_name, "%s (agent)", name ? name : "agate") < 0) {
		run->git_name = NULL;
		return no_memory(err);
	}
	if (!run->git_email)
		run->git_email = strdup("agent@localhost");
	return run->git_email ? 0 : no_memory(err);
}

/* --- what a PATH may lead into --- */

static int add_guests(const struct bind_list *l, struct strv *to)
{
	for (size_t i = 0; i < l->n; i++)
		if (strv_add(to, l->bind[i].guest) < 0)
			return -1;
	return 0;
}

static int find_visible(const struct run *run, struct strv *ret, struct err *err)
{
	OWN(strv) struct strv masks = { 0 };

	if (policy_system_binds(ret) < 0 || strv_add(ret, run->desk.place.home) < 0 || strv_add(ret, run->repo.root) < 0 ||
	    add_guests(&run->reads, ret) < 0 || add_guests(&run->writes, ret) < 0 ||
	    strv_copy(ret, &run->seam.roots) < 0 ||
	    policy_tool_roots(run->desk.place.home, getenv("PATH"), ret, &masks) < 0)
		return no_memory(err);
	return 0;
}

/* --- all of it --- */

/* Did the user give this variable a value of their own? Then the seam's does not come. */
static int is_wanted(const struct strv *wanted, const char *assignment)
{
	size_t n = strcspn(assignment, "=");

	for (size_t i = 0; i < wanted->n; i++)
		if (strcspn(wanted->v[i], "=") == n && !strncmp(wanted->v[i], assignment, n))
			return 1;
	return 0;
}

static int find_own(const struct run *run, struct strv *ret)
{
	for (size_t i = 0; i < run->seam.env.n; i++)
		if (!is_wanted(&run->req->env, run->seam.env.v[i]) && strv_add(ret, run->seam.env.v[i]) < 0)
			return -1;
	for (size_t i = 0; i < run->config_env.n; i++)
		if (!is_wanted(&run->req->env, run->config_env.v[i]) && strv_add(ret, run->config_env.v[i]) < 0)
			return -1;
	/* A workspace that may not change: git is to look, and to run nothing that the repository chose. */
	return mode_is_readonly((enum mode)run->req->mode) ? programs_env(&run->programs, ret) : 0;
}

int run_make_env(const struct run *run, const char *home, struct strv *ret, struct err *err)
{
	OWN(strv) struct strv visible = { 0 };
	OWN(strv) struct strv own = { 0 };
	OWN(mem) char *tmp = NULL;
	struct scrub_rules rules = {
		.wanted = &run->req->env, .home = home, .run_id = run->id[0] ? run->id : "plan", .own = &own,
		.git_name = run->git_name, .git_email = run->git_email,
	};
	int r = 0;

	if (run_is_native(run)) {
		r = find_visible(run, &visible, err);
		rules.visible = &visible;
		rules.http_port = run->has_proxies ? run->proxies.port[0] : PROXY_HTTP_PORT;
		rules.proxy_credential = run->has_proxies ? run->proxies.credential : NULL;
		rules.socks_port = run->has_proxies ? run->proxies.port[1] : PROXY_SOCKS_PORT;
	}
	if (!r && run->runner->is_bare && run->dir) {
		tmp = path_join(run->dir, RUN_TMP);
		rules.tmpdir = tmp;
		r = tmp ? 0 : no_memory(err);
	}
	if (!r && find_own(run, &own) < 0)
		r = no_memory(err);
	return r ? r : scrub_env(&rules, (const char *const *)environ, ret, err);
}

/* --- what the repository would have git run --- */

static int find_in(struct run *run, const char *base, const char *dot, struct err *err)
{
	OWN(mem) char *path = path_join(base, dot);

	return path ? programs_find(&run->programs, path, err) : no_memory(err);
}

/* Those of the original too, which a copy does not take along: somebody tried. */
static int find_programs(struct run *run, struct err *err)
{
	if (!mode_is_readonly((enum mode)run->req->mode))
		return 0;
	if (find_in(run, run->repo.root, ".git", err) < 0 ||
	    (run->ws.gitdir && programs_find(&run->programs, run->ws.gitdir, err) < 0))
		return -1;
	for (size_t i = 0; i < run->ws.nested.n; i++)
		if (find_in(run, run->ws.path, run->ws.nested.v[i], err) < 0)
			return -1;
	return 0;
}

static struct json *programs_json(const struct strv *keys)
{
	OWN(json) struct json *j = json_new_object();

	return j && json_add_strv(j, "keys", keys) ? TAKE(j) : NULL;
}

#define KEYS_SAID 4

static void tell_programs(struct run *run)
{
	const struct strv *keys = &run->programs.keys;
	OWN(buf) struct buf said = { 0 };

	if (!keys->n)
		return;
	for (size_t i = 0; i < keys->n && i < KEYS_SAID; i++)
		buf_addf(&said, "%s%s", i ? ", " : "", keys->v[i]);
	if (keys->n > KEYS_SAID)
		buf_addf(&said, " and %zu more", keys->n - KEYS_SAID);
	say("the git configuration names programs, and git runs none of them here: %s", said.failed ? "" : said.data);
	feed_event(&run->feed, "workspace.programs", programs_json(keys));
}

/* The record has the names; values may be secrets. */
static struct json *names_json(const struct strv *env)
{
	OWN(json) struct json *j = json_new_object();
	struct json *list = j ? json_add_array(j, "names") : NULL;

	for (size_t i = 0; list && i < env->n; i++) {
		OWN(mem) char *name = strndup(env->v[i], strcspn(env->v[i], "="));

		if (!name || !json_add_str(list, NULL, name))
			return NULL;
	}
	return list ? TAKE(j) : NULL;
}

/* The secrets of the user's file, for the egress helper; the command gets what stands in for them. */
static int reveal(struct run *run, struct err *err)
{
	const struct strv *names = &run->config.names;

	if (!run_is_native(run) || run->req->network == NETWORK_DENY)
		return 0;
	for (size_t i = 0; i < names->n; i++) {
		if (!is_wanted(&run->req->env, names->v[i]))
			continue;
		err_set(err, ERR_USAGE, 0, "may not pass '%s': a credential of the configuration stands for it", names->v[i]);
		return err_hint(err, "drop --env %s, or the credential", names->v[i]);
	}
	return user_config_reveal(&run->config, &run->desk.place, &run->config_env, err);
}

int step_environment(struct run *run, struct err *err)
{
	if (run_make_seam(run, err) < 0)
		return err->code == ERR_NOTFOUND ? end_set(run, "no-command", EXIT_NO_COMMAND, err) : STEP_FAILED;
	if (reveal(run, err) < 0)
		return STEP_FAILED;
	/* The variables name the proxies' ports, which nobody can know before the sockets are there. */
	if (run->runner->listen) {
		if (run->runner->listen(&run->proxies, err) < 0)
			return STEP_FAILED;
		run->has_proxies = 1;
	}
	if (find_programs(run, err) < 0 || run_make_env(run, run->guest_home, &run->env, err) < 0)
		return STEP_FAILED;
	tell_programs(run);
	feed_event(&run->feed, "run.environment", names_json(&run->env));
	return STEP_DONE;
}

void undo_environment(struct run *run)
{
	strv_done(&run->env);
	programs_done(&run->programs);
	user_config_wipe(&run->config);
	for (int i = 0; run->has_proxies && i < 2; i++)
		close(run->proxies.fd[i]);
	run->has_proxies = 0;
}
