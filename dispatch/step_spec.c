/*
 * Step 6: the facts are put together, and plan.c makes the spec of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/plan.h"
#include "dispatch/run_internal.h"
#include "dispatch/show.h"
#include "sandbox/policy.h"

/* What spec_of() borrows from for the length of one call. */
struct looked_up {
	struct strv roots, masks;
	struct plan_bind *objects;
	char *home, *managed;
};

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

static void looked_up_done(struct looked_up *l)
{
	strv_done(&l->roots);
	strv_done(&l->masks);
	free(l->objects);
	free(l->home);
	free(l->managed);
}

static int look_up(const struct run *run, const struct workspace *ws, const char *dir, struct looked_up *l)
{
	l->home = path_join(dir, "home");
	l->managed = path_join(dir, "managed-settings.json");
	l->objects = calloc(ws->n_binds + 1, sizeof(*l->objects));
	if (!l->home || !l->managed || !l->objects)
		return -1;
	for (size_t i = 0; i < ws->n_binds; i++)
		l->objects[i] = (struct plan_bind){ ws->binds[i].host, ws->binds[i].guest };
	return policy_tool_roots(run->desk.place.home, getenv("PATH"), &l->roots, &l->masks);
}

/* What rules deny for the whole run is the spec's to hold. */
static int add_rules(const struct run *run, struct sandbox_spec *spec, struct err *err)
{
	if (run->network_off)
		spec->network_enabled = 0;
	return strv_copy(&spec->egress_deny, &run->denied_hosts) < 0 ? no_memory(err) : 0;
}

static int spec_of(const struct run *run, const struct workspace *ws, const char *id, const char *dir,
		   struct sandbox_spec *ret, struct err *err)
{
	struct looked_up l = { 0 };
	struct plan_facts f = {
		.request = run->req, .run_id = id, .home = run->desk.place.home, .cwd = run->desk.place.cwd,
		.state_dir = run->desk.place.state, .workspace = ws->path, .original = ws->original,
		.gitdir = ws->gitdir, .guest_gitdir = ws->guest_gitdir, .source_gitdir = ws->source_gitdir,
		.in_place = ws->strategy == WORKSPACE_IN_PLACE, .n_objects = ws->n_binds,
		.nested = &ws->nested, .reads = run->reads.bind, .n_reads = run->reads.n,
		.writes = run->writes.bind, .n_writes = run->writes.n,
		.sockets = run->sockets.bind, .n_sockets = run->sockets.n, .tool_roots = &l.roots,
		.tool_masks = &l.masks, .originals = &run->originals, .seam = &run->seam,
		.allow = &run->config.allow, .deny = &run->config.deny,
		.is_bare = run->runner && run->runner->is_bare,
	};
	int r = look_up(run, ws, dir, &l) < 0 ? no_memory(err) : 0;

	f.run_home = l.home;
	f.objects = l.objects;
	f.managed_host = run->seam.managed ? l.managed : NULL;
	if (!r)
		r = plan_spec(&f, ret, err);
	looked_up_done(&l);
	if (!r && (add_rules(run, ret, err) < 0 || spec_twins(ret, err) < 0 || spec_check(ret, err) < 0)) {
		spec_done(ret);
		r = -1;
	}
	return r;
}

/* --- the preview: a workspace that is never made --- */

/* As worktree/workspace.h promises it; what only the copy shows (nested repositories) is left out. */
static int imagine(const struct run *run, const char *dir, struct workspace *ws)
{
	const struct repo *repo = &run->repo;
	int in_place = run->req->workspace == WISH_IN_PLACE, failed = 0;

	ws->strategy = in_place ? WORKSPACE_IN_PLACE : WORKSPACE_COPY;
	ws->original = strdup(repo->root);
	ws->path = in_place ? strdup(repo->root) : path_join(dir, "ws");
	failed = !ws->original || !ws->path;
	if (!repo->gitdir || failed)
		return failed ? -1 : 0;
	ws->source_gitdir = strdup(repo->gitdir);
	if (in_place)
		return ws->source_gitdir ? 0 : -1;
	ws->gitdir = path_join(dir, "git");
	ws->guest_gitdir = path_join(repo->root, ".git");
	ws->binds = calloc(1, sizeof(*ws->binds));
	if (!ws->source_gitdir || !ws->gitdir || !ws->guest_gitdir || !ws->binds)
		return -1;
	ws->n_binds = 1;
	ws->binds[0].host = path_join(repo->common_dir, "objects");
	ws->binds[0].guest = strdup("/run/agate/objects/0");
	return ws->binds[0].host && ws->binds[0].guest ? 0 : -1;
}

int run_preview(struct run *run, struct sandbox_spec *ret, struct err *err)
{
	static const char id[] = "plan";
	OWN(workspace) struct workspace ws = { 0 };
	OWN(mem) char *dir = place_run_dir(&run->desk.place, id);

	if (!dir || imagine(run, dir, &ws) < 0)
		return no_memory(err);
	return spec_of(run, &ws, id, dir, ret, err);
}

/* --- the step --- */

/* The settings file an agent's seam wants bound in, written where only we write. */
static int write_managed(const struct run *run, struct err *err)
{
	OWN(mem) char *path = path_join(run->dir, "managed-settings.json");

	if (!run->seam.managed)
		return 0;
	if (!path)
		return no_memory(err);
	return io_replace_file(AT_FDCWD, path, run->seam.managed, strlen(run->seam.managed), 0444, err);
}

int step_spec(struct run *run, struct err *err)
{
	OWN(json) struct json *j = json_new_object();

	if (spec_of(run, &run->ws, run->id, run->dir, &run->spec, err) < 0 || write_managed(run, err) < 0)
		return STEP_FAILED;
	run->spec_text = spec_canonical(&run->spec, run->digest);
	if (!run->spec_text || !j || !json_add_str(j, "digest", run->digest))
		return no_memory(err);
	feed_event(&run->feed, "run.spec", TAKE(j));
	if (run->req->verbose)
		say("spec: %zu binds, %zu write rules, digest %.16s...", run->spec.n_binds, run->spec.deny_write.n,
		    run->digest);
	return STEP_DONE;
}

void undo_spec(struct run *run)
{
	spec_done(&run->spec);
	free(run->spec_text);
}
