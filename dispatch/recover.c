#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/strv.h"
#include "db/journal.h"
#include "db/runs.h"
#include "dispatch/desk.h"
#include "dispatch/exit.h"
#include "dispatch/hostgit.h"
#include "dispatch/recover.h"
#include "dispatch/show.h"
#include "runner/runner.h"
#include "sandbox/cgroup.h"
#include "worktree/workspace.h"

#define ENVIRON_MAX (4u << 20)
#define KILL_ROUNDS 100

/* --- which runs --- */

static int find_dead(void *cookie, const struct run_row *row)
{
	struct strv *dead = cookie;
	struct proc_id id = { .pid = (pid_t)row->supervisor_pid, .start = row->supervisor_start };

	snprintf(id.boot, sizeof(id.boot), "%s", row->supervisor_boot ? row->supervisor_boot : "");
	if (proc_look(&id) != PROC_DEAD)
		return 0;
	return strv_add(dead, row->id) < 0;
}

/* --- their processes --- */

/*
 * Every process of a run was started with AGATE_RUN=ID in its environment. One
 * that has rewritten it can only have done so without a sandbox, since inside
 * one nothing outlives the supervisor.
 */
static int belongs_to(const char *pid, const char *want)
{
	OWN(buf) struct buf b = { .max = ENVIRON_MAX };
	char path[300];
	size_t n = strlen(want) + 1;

	snprintf(path, sizeof(path), "/proc/%s/environ", pid);
	if (io_read_file(AT_FDCWD, path, ENVIRON_MAX, &b, NULL) < 0)
		return 0;
	for (size_t i = 0; i + n <= b.len; i += strlen(b.data + i) + 1)
		if (!memcmp(b.data + i, want, n))
			return 1;
	return 0;
}

static int kill_once(const char *want)
{
	OWN(dir) DIR *proc = opendir("/proc");
	const struct dirent *e;
	int found = 0;

	while (proc && (e = readdir(proc))) {
		if (isdigit((unsigned char)e->d_name[0]) && atoi(e->d_name) != getpid() &&
		    belongs_to(e->d_name, want)) {
			kill(atoi(e->d_name), SIGKILL);
			found++;
		}
	}
	return found;
}

static int kill_processes(const char *id)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	char want[96];
	int found, first = 0;

	snprintf(want, sizeof(want), "AGATE_RUN=%s", id);
	for (int i = 0; i < KILL_ROUNDS && (found = kill_once(want)); i++) {
		if (!first)
			first = found;
		nanosleep(&pause, NULL);
	}
	return first;
}

/* The group's path is in the run's directory; what cannot be removed is the kernel's to tell, not a reason to stop. */
static void end_group(const struct desk *desk, const char *id)
{
	OWN(mem) char *dir = place_run_dir(&desk->place, id);
	OWN(mem) char *file = dir ? path_join(dir, RUN_GROUP) : NULL;
	OWN(buf) struct buf path = { 0 };
	char name[RUN_GROUP_NAME];
	struct err why = { 0 };

	if (!file || access(file, F_OK) < 0)
		return;
	snprintf(name, sizeof(name), RUN_GROUP_FORM, id);
	if (io_read_file(AT_FDCWD, file, PATH_MAX, &path, &why) < 0 ||
	    cgroup_remove(&cgroup_here, path.data ? path.data : "", name, &why) < 0)
		say("cannot end the control group of run '%s': %s", id, why.msg);
	else
		unlink(file);
}

/* --- their workspace, journal and row --- */

static int keeps_workspace(const char *dir, int launched, struct err *err)
{
	OWN(workspace) struct workspace ws = { 0 };

	if (!launched)
		return 0;	/* no command was in it yet */
	if (!workspace_open(dir, &ws, err))
		return hostgit_move_out(&ws, err) < 0 ? -1 : 1;
	return err->code == ERR_NOTFOUND ? 0 : -1;
}

static int clear_workspace(struct desk *desk, const char *id, int launched, const char **ret_what,
			   struct err *err)
{
	const struct run_row cleared = { .workspace_path = "" };
	OWN(mem) char *dir = place_run_dir(&desk->place, id);
	int keep;

	if (!dir)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	keep = keeps_workspace(dir, launched, err);
	*ret_what = "closed as lost, its workspace kept";
	if (keep)
		return keep < 0 ? -1 : 0;
	if (workspace_discard(dir, err) < 0)
		return -1;
	*ret_what = "closed as lost, its unfinished workspace deleted";
	return run_update(desk->db, id, &cleared, err);
}

struct entries {
	int64_t *id;
	size_t n, cap;
};

static int take_entry(void *cookie, const struct journal_row *row)
{
	struct entries *e = cookie;

	if (e->n == e->cap) {
		size_t cap = e->cap ? e->cap * 2 : 16;
		int64_t *id = reallocarray(e->id, cap, sizeof(*id));

		if (!id)
			return 1;
		e->id = id;
		e->cap = cap;
	}
	e->id[e->n++] = row->id;
	return 0;
}

static int close_journal(struct desk *desk, const struct entries *open, struct err *err)
{
	for (size_t i = 0; i < open->n; i++)
		if (journal_done(desk->db, open->id[i], err) < 0)
			return -1;
	return 0;
}

static int close_row(struct desk *desk, const char *id, struct err *err)
{
	const struct run_result lost = {
		.state = "error", .end_kind = "lost", .exit_status = EXIT_FAILED,
		.reason = "its supervisor was gone",
	};

	if (run_finish(desk->db, id, &lost, err) == 0 || err->code == ERR_USAGE)
		return 0;	/* somebody else was faster */
	return -1;
}

/* The workspace's path is written with the intent to launch: without it, no command was in there. */
static int look_launched(void *cookie, const struct run_row *row)
{
	int *launched = cookie;

	*launched = row->workspace_path && *row->workspace_path;
	return 1;
}

static int recover_one(struct desk *desk, const char *id, const char **ret_what, struct err *err)
{
	struct entries open = { 0 };
	int r, launched = 0;

	end_group(desk, id);
	kill_processes(id);
	r = run_get(desk->db, id, look_launched, &launched, err);
	if (!r)
		r = clear_workspace(desk, id, launched, ret_what, err);
	if (!r)
		r = journal_each(desk->db, id, 1, take_entry, &open, err);
	if (!r)
		r = close_journal(desk, &open, err);
	free(open.id);
	return r ? r : close_row(desk, id, err);
}

int recover_dead_runs(struct desk *desk, void (*told)(void *cookie, const char *id, const char *what),
		      void *cookie, struct err *err)
{
	const struct run_filter open = { .only_open = 1 };
	OWN(strv) struct strv dead = { 0 };

	if (runs_each(desk->db, &open, find_dead, &dead, err) < 0)
		return -1;
	for (size_t i = 0; i < dead.n; i++) {
		const char *what = "";
		struct err why = { 0 };

		if (recover_one(desk, dead.v[i], &what, &why) < 0)
			say("cannot put run '%s' in order: %s", dead.v[i], why.msg);
		else if (told)
			told(cookie, dead.v[i], what);
	}
	return 0;
}
