/*
 * db/runs.h - a run's row, from admission to its end
 *
 * States, backends and end kinds are words here: runner/ and dispatch/ own their
 * meaning. A run is open until run_finish() or recorder_finish() gave it an end.
 */
#ifndef DB_RUNS_H
#define DB_RUNS_H

#include <stdint.h>

struct db;
struct err;

/*
 * All strings are borrowed for the call; NULL or 0: not known (yet). Paths come
 * back as the bytes they were given as.
 */
struct run_row {
	const char *id;			/* unique, printable, without '/' */
	const char *state;		/* "created", "active", "destroyed", ... */
	const char *mode;		/* "chat", ... */
	const char *agent;		/* "bash", "claude", ... */
	const char *backend;		/* "native", "none" */
	const char *repo;		/* the original checkout; a path */
	const char *cwd;		/* inside; a path */
	const char *argv;		/* JSON array of strings */
	const char *spec;		/* canonical JSON of the SandboxSpec */
	const char *spec_digest;	/* 64 hex digits */
	const char *workspace_id;
	const char *workspace_path;	/* host side; a path */
	const char *strategy;		/* how the workspace was made: "reflink", ... */
	const char *branch;		/* "agate/<run>" */
	const char *base_commit;
	const char *facts;		/* JSON object: whatever else is worth keeping */

	int64_t supervisor_pid;		/* as base/proc.h tells them, so that recover */
	int64_t supervisor_start;	/* can tell a live supervisor from a */
	const char *supervisor_boot;	/* recycled pid */

	int64_t created_us;		/* wall time, UTC; run_insert() fills a 0 */
	int64_t started_us;		/* the command began */
	int64_t ended_us;		/* 0: still open */
	const char *end_kind;		/* "exited", "signaled", "timeout", ...; NULL: still open */
	int64_t exit_status;		/* means something once end_kind is set */
	const char *reason;		/* why it ended so, one line; NULL: nothing to say */
};

/* run_insert() - a new run; needs id, state and mode. ERR_BUSY: the id is taken */
int run_insert(struct db *db, const struct run_row *row, struct err *err);

/**
 * run_update() - Set what became known about run @id
 * @row:	fields that are NULL or 0 stay as they are; id, mode, created_us and the
 *		end (ended_us, end_kind, exit_status, reason) are not looked at
 *
 * Only an open run can be changed, but for .facts and .workspace_path (a
 * workspace may be moved or dropped later; "" clears it). ERR_NOTFOUND.
 */
int run_update(struct db *db, const char *id, const struct run_row *row, struct err *err);

/* The end of a run. */
struct run_result {
	const char *state;		/* the last one: "destroyed", "error" */
	const char *end_kind;		/* never NULL */
	int64_t exit_status;
	const char *reason;		/* may be NULL */
	int64_t ended_us;		/* 0: now */
};

/**
 * run_finish() - Close the row and seal its records (see db/chain.h)
 *
 * For runs without a recorder: what recover finds. A supervisor calls
 * recorder_finish(), which writes what is pending and this in one commit.
 * ERR_NOTFOUND; ERR_USAGE when it has ended already, and then changes nothing.
 */
int run_finish(struct db *db, const char *id, const struct run_result *res, struct err *err);

/**
 * run_find() - The full id that @prefix means
 * @prefix:	an id or the beginning of exactly one
 * @ret_id:	the caller's to free()
 *
 * ERR_NOTFOUND ("no run 'x'"), ERR_USAGE ("'x' is the beginning of 2 or more runs")
 */
int run_find(struct db *db, const char *prefix, char **ret_id, struct err *err);

/* Both borrow the row for the call. Non-zero from @fn ends the walk (which is no error). */
typedef int run_fn(void *cookie, const struct run_row *row);

/* run_get() - call @fn with the run that @prefix means; errors as run_find() */
int run_get(struct db *db, const char *prefix, run_fn *fn, void *cookie, struct err *err);

/* Zeroed: all runs. */
struct run_filter {
	const char *state;
	const char *repo;	/* a path */
	const char *agent;
	int only_open;		/* 1: not ended yet */
	int64_t since_us;	/* created at or after */
	int64_t limit;		/* 0: no limit */
};

/*
 * runs_each() - newest first. Here and in all walks of db/: rows are read in
 * pages, and no read transaction is open while @fn runs, so it may be slow (a
 * pager) and may write to @db.
 */
int runs_each(struct db *db, const struct run_filter *filter, run_fn *fn, void *cookie, struct err *err);

#endif
