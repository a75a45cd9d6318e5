/*
 * Step 1: may there be such a run at all? Nothing was made before; what is made
 * here is the run's row, its directory and its feed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "db/db.h"
#include "db/events.h"
#include "db/journal.h"
#include "db/runs.h"
#include "dispatch/exit.h"
#include "dispatch/recover.h"
#include "dispatch/run_internal.h"
#include "dispatch/show.h"

/* A workspace stands at the original's path; home and the system have to stay beside it. */
static int check_place(const struct run *run, struct err *err)
{
	const char *root = run->repo.root;
	OWN(mem) char *home = path_resolve(run->desk.place.home);

	if (!home)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (!path_under(home, root) && !path_under(run->desk.place.home, root))
		return 0;
	err_set(err, ERR_USAGE, 0, "cannot work on '%s': the home directory lies in it", root);
	return err_hint(err, "name the project itself with --repo");
}

static int find_hosts(struct run *run, struct err *err)
{
	if (!run->req->hosts)
		return 0;
	run->hosts = path_expand(run->req->hosts, run->desk.place.home, run->desk.place.cwd);
	if (!run->hosts)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return access(run->hosts, R_OK) < 0 ?
		err_set(err, ERR_SYS, errno, "cannot read the hosts file '%s'", run->req->hosts) : 0;
}

int run_find_host(struct run *run, struct err *err)
{
	const struct run_request *req = run->req;
	const struct place *place = &run->desk.place;

	if (repo_find(req->repo ? req->repo : place->cwd, &run->repo, err) < 0 || check_place(run, err) < 0 ||
	    run_find_identity(run, err) < 0 ||
	    lookup_binds(&req->read, place, "--read", &run->reads, err) < 0 ||
	    lookup_binds(&req->write, place, "--write", &run->writes, err) < 0 ||
	    lookup_sockets(&req->unix_socket, place, &run->sockets, err) < 0 || lookup_devices(&req->device, err) < 0 ||
	    user_config_load(place, &run->config, err) < 0 || find_hosts(run, err) < 0 || originals_list(place, &run->originals, err) < 0)
		return -1;
	if (strv_has(&run->originals, run->repo.root))
		return 0;
	return strv_add(&run->originals, run->repo.root) < 0 ? err_set(err, ERR_NOMEM, 0, "out of memory") : 0;
}

void run_forget_host(struct run *run)
{
	repo_done(&run->repo);
	free(run->git_name);
	free(run->git_email);
	bind_list_done(&run->reads);
	bind_list_done(&run->writes);
	bind_list_done(&run->sockets);
	strv_done(&run->originals);
	free(run->hosts);
	free(run->program);
	seam_done(&run->seam);
	user_config_free(&run->config);
	strv_done(&run->config_env);
}

/* What cannot be comes out now, before there is anything to undo. */
static int check_whole(struct run *run, struct err *err)
{
	OWN(spec) struct sandbox_spec spec = { 0 };
	OWN(strv) struct strv env = { 0 };

	return run_make_env(run, run->desk.place.home, &env, err) < 0 ? -1 : run_preview(run, &spec, err);
}

/* A sandbox that would fail at its first connection is refused before anything is made. */
static int check_installed(const struct run *run, struct err *err)
{
	if (run->runner->backend == BACKEND_NONE || (run->desk.place.init && run->desk.place.data))
		return 0;
	if (!run->desk.place.init)
		err_set(err, ERR_MISSING, 0, "cannot find agate-init near '%s'", run->desk.place.self);
	else
		err_set(err, ERR_MISSING, 0, "cannot find the lists of hosts near '%s'", run->desk.place.self);
	return err_hint(err, "make install puts what agate needs where it looks");
}

static int choose_runner(struct run *run, struct err *err)
{
	const char *wish = sandbox_wish_name((enum sandbox_wish)run->req->sandbox);

	if (runner_choose(wish, &run->runner, &run->runner_note, err) < 0 || check_installed(run, err) < 0)
		return -1;
	if (!run_has_view(run) || run->req->verbose)
		say("%s", run->runner_note);
	return 0;
}

static int make_dir(struct run *run, struct err *err)
{
	if (run_id_new(run->id) < 0)
		return err_set(err, ERR_SYS, errno, "cannot name the run");
	run->dir = place_run_dir(&run->desk.place, run->id);
	if (!run->dir)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (mkdir(run->dir, 0700) < 0)
		return err_set(err, ERR_SYS, errno, "cannot make the run's directory '%s'", run->dir);
	return 0;
}

static char *argv_json(const struct run_request *req)
{
	OWN(json) struct json *root = json_new_object();
	OWN(strv) struct strv shown = { 0 };
	struct json *list = root && !request_shown(req, &shown) ? json_add_strv(root, "argv", &shown) : NULL;

	return list ? json_print(list) : NULL;
}

static char *facts_json(const struct run_request *req)
{
	OWN(json) struct json *facts = json_new_object();
	OWN(json) struct json *asked = request_to_json(req);

	return facts && asked && json_add_copy(facts, "request", asked) ? json_print(facts) : NULL;
}

static int insert_row(struct run *run, struct err *err)
{
	OWN(mem) char *argv = argv_json(run->req);
	OWN(mem) char *facts = facts_json(run->req);
	struct proc_id self;
	struct run_row row = {
		.id = run->id, .state = run_state_name(RUN_CREATED), .mode = mode_name((enum mode)run->req->mode),
		.agent = agent_name((enum agent_kind)run->req->agent), .backend = backend_name(run->runner->backend),
		.repo = run->repo.root, .argv = argv, .facts = facts, .workspace_id = run->id,
	};

	if (!argv || !facts)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (proc_identify(0, &self, err) < 0)
		return -1;
	row.supervisor_pid = self.pid;
	row.supervisor_start = self.start;
	row.supervisor_boot = self.boot;
	return run_insert(run->desk.db, &row, err);
}

static struct json *admitted_json(const struct run *run)
{
	OWN(json) struct json *j = json_new_object();
	OWN(strv) struct strv shown = { 0 };

	if (!j || request_shown(run->req, &shown) < 0 ||
	    !json_add_str(j, "mode", mode_name((enum mode)run->req->mode)) ||
	    !json_add_str(j, "agent", agent_name((enum agent_kind)run->req->agent)) ||
	    !json_add_str(j, "backend", backend_name(run->runner->backend)) ||
	    !json_add_str(j, "note", run->runner_note) || !json_add_str(j, "repo", run->repo.root) ||
	    !json_add_strv(j, "command", &shown))
		return NULL;
	return TAKE(j);
}

/*
 * The row, and with it the intents of what comes: to fill the directory, and to start
 * processes around the command. That it may run is written when all is decided.
 */
static int begin_record(struct run *run, struct err *err)
{
	struct db *db = run->desk.db;

	if (db_begin(db, err) < 0)
		return -1;
	if (insert_row(run, err) < 0 ||
	    journal_begin(db, run->id, "workspace", NULL, &run->workspace_entry, err) < 0 ||
	    journal_begin(db, run->id, "launch", NULL, &run->launch_entry, err) < 0) {
		db_rollback(db);
		return -1;
	}
	if (db_commit(db, err) < 0)
		return -1;
	run->has_row = 1;
	return 0;
}

int step_admit(struct run *run, struct err *err)
{
	if (place_find(&run->desk.place, err) < 0)
		return STEP_FAILED;
	ahead_start(&run->ahead, run->desk.place.state, run->req->sandbox != SANDBOX_OFF);
	if (run_find_host(run, err) < 0 || choose_runner(run, err) < 0 || check_whole(run, err) < 0 ||
	    ahead_db(&run->ahead, &run->desk.db, err) < 0 || recover_dead_runs(&run->desk, NULL, NULL, err) < 0 ||
	    originals_add(&run->desk.place, run->repo.root, err) < 0 || make_dir(run, err) < 0 ||
	    begin_record(run, err) < 0 ||
	    feed_init(&run->feed, run->desk.db, run->id, run->req->json, err) < 0)
		return STEP_FAILED;
	run->has_feed = 1;
	run->feed.ignored = json_get(run->config.file, "ignoreViolations");
	feed_event(&run->feed, "run.admitted", admitted_json(run));
	return STEP_DONE;
}

/* --- the other end of a run's life: its row is closed last --- */

static struct json *ended_json(const struct run *run)
{
	OWN(json) struct json *j = json_new_object();

	if (!j || !json_add_str(j, "kind", run->end.kind) || !json_add_int(j, "status", run->end.status) ||
	    (run->end.reason[0] && !json_add_str(j, "reason", run->end.reason)) ||
	    !json_add_int(j, "refusals", run->feed.refusals_total) ||
	    (run->has_changes && (!json_add_int(j, "changes", (int64_t)run->changes.n) ||
				  !json_add_int(j, "commits", (int64_t)run->changes.n_commits))) ||
	    (run->has_changes && run->changes.commits_problem &&
	     !json_add_str(j, "commitsProblem", run->changes.commits_problem)))
		return NULL;
	return TAKE(j);
}

/* What was begun and is over now: nothing is left to undo. */
static int close_journal(struct db *db, const struct run *run, struct err *err)
{
	if (run->workspace_entry && journal_done(db, run->workspace_entry, err) < 0)
		return -1;
	return run->launch_entry && journal_done(db, run->launch_entry, err) < 0 ? -1 : 0;
}

static int write_facts(struct db *db, void *cookie, struct err *err)
{
	const struct run *run = cookie;
	const struct run_row last = {
		.state = run->has_started ? run_state_name(RUN_ACTIVE) : NULL, .started_us = run->started_us,
		.workspace_path = run->workspace_gone ? "" : NULL,
	};

	return run_update(db, run->id, &last, err) < 0 ? -1 : close_journal(db, run, err);
}

static int write_end(struct run *run, struct err *err)
{
	const struct run_result res = {
		.state = run_state_name(strcmp(run->end.kind, "failed") != 0 ? RUN_DESTROYED : RUN_ERROR),
		.end_kind = run->end.kind, .exit_status = run->end.status,
		.reason = run->end.reason[0] ? run->end.reason : NULL,
	};

	if (run->has_feed) {
		feed_event(&run->feed, "run.ended", ended_json(run));
		return feed_end(&run->feed, &res, write_facts, run, err);
	}
	return write_facts(run->desk.db, run, err) < 0 ? -1 : run_finish(run->desk.db, run->id, &res, err);
}

static void close_row(struct run *run)
{
	struct err err = { 0 };

	if (write_end(run, &err) < 0) {
		say("cannot close the record of run '%s': %s", run->id, err.msg);
		say_hint("agate recover closes it once the database can be written again");
	}
}

void undo_admit(struct run *run)
{
	if (run->has_row) {
		close_row(run);
		report_end(run);
	} else if (run->dir)
		rmdir(run->dir);	/* empty still */
	change_set_done(&run->changes);
	workspace_done(&run->ws);
	if (run->has_feed)
		feed_done(&run->feed);
	run_forget_host(run);
	free(run->dir);
	ahead_end(&run->ahead);
	desk_done(&run->desk);
}
