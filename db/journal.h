/*
 * db/journal.h - what a run is about to do, written before it does it
 *
 * A step begins with its intent, acts, and is done when its effect is undone or
 * needs no undoing. Whatever is not done is what a crash left, newest first the
 * order to undo it in.
 */
#ifndef DB_JOURNAL_H
#define DB_JOURNAL_H

#include <stdint.h>

struct db;
struct err;

/**
 * journal_begin() - Record an intent; on disk when it returns
 * @run_id:	full id of an existing run (else ERR_NOTFOUND)
 * @step:	"workspace", "lease", "launch", ...
 * @data:	JSON: what undoing needs; NULL: nothing
 * @ret_id:	the entry, positive
 */
int journal_begin(struct db *db, const char *run_id, const char *step, const char *data,
		  int64_t *ret_id, struct err *err);

/* journal_note() - replace an open entry's @data, with what acting has shown. ERR_NOTFOUND */
int journal_note(struct db *db, int64_t id, const char *data, struct err *err);

/* journal_done() - nothing is left to undo; a second time is fine. ERR_NOTFOUND */
int journal_done(struct db *db, int64_t id, struct err *err);

struct journal_row {
	int64_t id;
	const char *run_id;
	const char *step;
	const char *data;	/* NULL if none was given */
	int64_t begun_us;
	int64_t done_us;	/* 0: open */
};

typedef int journal_fn(void *cookie, const struct journal_row *row);

/**
 * journal_each() - Walk entries, newest first
 * @run_id:	NULL: of all runs
 * @only_open:	1: those not done
 */
int journal_each(struct db *db, const char *run_id, int only_open, journal_fn *fn, void *cookie,
		 struct err *err);

#endif
