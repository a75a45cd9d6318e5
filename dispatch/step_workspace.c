/*
 * Steps 2 and 3: the private working copy and home, and the token that this
 * build does not mint yet.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/hostgit.h"
#include "dispatch/run_internal.h"
#include "dispatch/show.h"

static const enum workspace_strategy strategies[WISH_NUM] = {
	[WISH_AUTO] = WORKSPACE_AUTO, [WISH_SNAPSHOT] = WORKSPACE_SNAPSHOT,
	[WISH_REFLINK] = WORKSPACE_REFLINK, [WISH_OVERLAY] = WORKSPACE_OVERLAY,
	[WISH_COPY] = WORKSPACE_COPY, [WISH_WORKTREE] = WORKSPACE_WORKTREE,
	[WISH_IN_PLACE] = WORKSPACE_IN_PLACE,
};

static int make_home(struct run *run, struct err *err)
{
	run->home = path_join(run->dir, "home");
	run->guest_home = run->home ? strdup(run_has_view(run) ? run->desk.place.home : run->home) : NULL;
	if (!run->guest_home)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (mkdir(run->home, 0700) < 0)
		return err_set(err, ERR_SYS, errno, "cannot make the private home '%s'", run->home);
	return 0;
}

static struct json *ready_json(const struct workspace *ws)
{
	OWN(json) struct json *j = json_new_object();

	if (!j || !json_add_str(j, "path", ws->path) ||
	    !json_add_str(j, "strategy", workspace_strategy_name(ws->strategy)) ||
	    !json_add_str(j, "reason", ws->reason) || !json_add_int(j, "ms", ws->ms) ||
	    !json_add_int(j, "files", (int64_t)ws->files) || !json_add_int(j, "bytes", (int64_t)ws->bytes) ||
	    (ws->branch && !json_add_str(j, "branch", ws->branch)) ||
	    (ws->base[0] && !json_add_str(j, "base", ws->base)) ||
	    (ws->notes.n && !json_add_strv(j, "notes", &ws->notes)))
		return NULL;
	return TAKE(j);
}

static void tell(const struct run *run)
{
	const struct workspace *ws = &run->ws;

	if (run->req->verbose)
		say("workspace: %llu files by %s in %lld ms (%s)", (unsigned long long)ws->files,
		    workspace_strategy_name(ws->strategy), (long long)ws->ms, ws->reason ? ws->reason : "");
	for (size_t i = 0; i < ws->notes.n && i < 5; i++)
		say("workspace: %s", ws->notes.v[i]);
	if (ws->notes.n > 5)
		say("workspace: and %llu more of these", (unsigned long long)(ws->notes.n - 5 + ws->notes_dropped));
}

static int connect_git(const struct run *run, struct err *err)
{
	if (run_has_view(run))
		return 0;
	return (run->runner->is_bare ? hostgit_move_in : hostgit_connect)(&run->ws, err);
}

static void disconnect_git(const struct run *run)
{
	struct err err = { 0 };

	if (run_has_view(run))
		return;
	if (!run->runner->is_bare)
		hostgit_disconnect(&run->ws);
	else if (hostgit_move_out(&run->ws, &err) < 0)
		say("%s", err.msg);
}

int step_workspace(struct run *run, struct err *err)
{
	OWN(strv) struct strv exclude = { 0 };
	const struct workspace_params params = {
		.source = run->repo.root, .repo = &run->repo, .run_id = run->id, .run_dir = run->dir,
		.strategy = strategies[run->req->workspace], .exclude = &exclude,
	};

	if (strv_add(&exclude, run->desk.place.state) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (make_home(run, err) < 0 || workspace_create(&params, &run->ws, err) < 0)
		return STEP_FAILED;
	run->has_workspace = 1;
	if (connect_git(run, err) < 0)
		return STEP_FAILED;
	tell(run);
	feed_event(&run->feed, "workspace.ready", ready_json(&run->ws));
	return STEP_DONE;
}

/* A working copy is worth keeping if the command ran and left something there. */
static int is_worth_keeping(const struct run *run)
{
	if (!run->has_workspace || !run->has_started || run->req->fate == FATE_DISCARD)
		return 0;
	if (run->ws.strategy == WORKSPACE_IN_PLACE)
		return 0;
	return run->req->fate == FATE_KEEP || !run->has_changes || run->changes.n || run->changes.n_commits ||
		run->changes.git_metadata.n || run->changes.commits_problem;
}

static void collect(struct run *run)
{
	struct err err = { 0 };

	if (!run->has_started || run->ws.strategy == WORKSPACE_IN_PLACE || run->req->fate == FATE_DISCARD)
		return;
	if (change_collect(&run->ws, &run->changes, &err) < 0)
		say("cannot tell what the run changed: %s", err.msg);
	else
		run->has_changes = 1;
}

static void drop(struct run *run)
{
	struct err err = { 0 };

	if (workspace_discard(run->dir, &err) < 0) {
		say("cannot delete the workspace: %s", err.msg);
		say_hint("agate discard %s tries again", run->id);
		return;
	}
	run->workspace_gone = 1;
}

/* A bare run's private /tmp, which no mount namespace took along. */
static void drop_private(const struct run *run)
{
	OWN(mem) char *tmp = run->dir && run->runner->is_bare ? path_join(run->dir, RUN_TMP) : NULL;
	struct err err = { 0 };

	if (tmp && workspace_discard(tmp, &err) < 0)
		say("cannot delete the run's temporary files: %s", err.msg);
}

void undo_workspace(struct run *run)
{
	if (run->has_workspace)
		disconnect_git(run);
	if (run->has_workspace)
		collect(run);
	drop_private(run);
	if (run->dir && run->has_row && !is_worth_keeping(run))
		drop(run);
	if (run->has_feed)
		feed_event(&run->feed, run->workspace_gone ? "workspace.discarded" : "workspace.kept", NULL);
	free(run->home);
	free(run->guest_home);
}

int step_token(struct run *run, struct err *err)
{
	(void)err;
	feed_event(&run->feed, "token.none", NULL);
	return STEP_DONE;
}
