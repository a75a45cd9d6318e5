/*
 * db/events.h - what happened in a run: write it grouped, read it back
 *
 * A supervisor has one recorder. Adding a record puts it in a queue and gives it
 * its number and time at once, so that the same can be printed; recorder_flush()
 * commits the queue. Whoever reports something to others flushes first.
 *
 * Events, violations and decisions of a run share one sequence, 1, 2, 3, ... and
 * one hash chain (db/chain.h).
 */
#ifndef DB_EVENTS_H
#define DB_EVENTS_H

#include <stdint.h>

#include "base/event.h"

struct db;
struct decision;
struct err;
struct recorder;
struct run_result;

/* Further different refusals of one run are counted in one row for each action. */
#define RECORDER_MAX_VIOLATIONS 50000

/* What a record was given. */
struct stamp {
	int64_t seq;
	int64_t ts_us;
	int64_t count;	/* of a violation: how often so far; over 1 means that seq is the first one's */
};

/**
 * recorder_new() - Get ready to write the records of one run
 * @db:		borrowed; must outlive the recorder
 * @run_id:	full id. A run that has ended may get more records (a push, say)
 *
 * Two recorders of one run at once is a mistake; the second to flush fails with
 * ERR_BUSY and writes nothing.
 */
int recorder_new(struct db *db, const char *run_id, struct recorder **ret, struct err *err);

/* recorder_free() - what was not flushed is lost; NULL is fine */
void recorder_free(struct recorder *r);

/*
 * Each copies what it needs. @ret may be NULL. A queue that has grown large is
 * flushed on the way: -1 with @err means that the record was not taken.
 */
int recorder_event(struct recorder *r, const struct event *ev, struct stamp *ret, struct err *err);

/* Equal ones (layer, action, target, rule, comm) become one row with a count. */
int recorder_violation(struct recorder *r, const struct violation *v, struct stamp *ret, struct err *err);

int recorder_decision(struct recorder *r, const struct decision *d, struct stamp *ret, struct err *err);

/**
 * recorder_flush() - Commit all that was added; on disk when it returns 0
 *
 * On failure nothing is written and nothing is dropped: a later flush tries
 * again. A run whose records cannot be written must end. Not to be called, nor
 * anything be added, between db_begin() and db_commit() (asserted).
 */
int recorder_flush(struct recorder *r, struct err *err);

/**
 * recorder_first() - What the next flush does first, in its transaction and so by its one sync
 * @fn:	0, or -1 with @err set: then nothing of the flush stays
 *
 * Said once a flush: it is forgotten whether that succeeds or not.
 */
typedef int recorder_fn(struct db *db, void *cookie, struct err *err);
void recorder_first(struct recorder *r, recorder_fn *fn, void *cookie);

/* recorder_pending() - 1 if there is something to flush */
int recorder_pending(const struct recorder *r);

/* recorder_finish() - flush, close the run's row and seal its records, in one commit */
int recorder_finish(struct recorder *r, const struct run_result *res, struct err *err);

/**
 * violation_record() - One refusal from outside a supervisor (a hook), committed at once
 * @run_id:	NULL: belongs to no run
 */
int violation_record(struct db *db, const char *run_id, const struct violation *v, struct err *err);

/* --- reading --- */

struct event_row {
	const char *run_id;
	int64_t seq;
	int64_t ts_us;
	const char *type;
	const char *data;	/* JSON object; NULL if there was none */
};

typedef int event_fn(void *cookie, const struct event_row *row);

/* Zeroed but for run: all of them. */
struct event_filter {
	const char *run;	/* full id, needed */
	const char *type;
	int64_t after_seq;	/* only later ones */
	int64_t limit;		/* 0: no limit */
};

/* events_each() - in order of seq */
int events_each(struct db *db, const struct event_filter *filter, event_fn *fn, void *cookie,
		struct err *err);

struct violation_row {
	int64_t id;		/* grows with each row of the database: a cursor */
	const char *run_id;	/* NULL: of no run */
	const char *mode;	/* the run's; NULL without one */
	int64_t seq;
	int64_t ts_us;		/* the first time */
	int64_t last_us;	/* the last time */
	struct violation v;	/* texts with \xNN escapes */
};

typedef int violation_fn(void *cookie, const struct violation_row *row);

/* Zeroed: all of them. */
struct violation_filter {
	const char *run;	/* full id */
	const char *layer;	/* "file", ...; a word that is no layer matches nothing */
	const char *action;	/* "file-write-create", ... */
	int64_t since_us;	/* first seen at or after */
	int64_t after_id;	/* only rows stored later */
	int64_t limit;		/* 0: no limit */
	int oldest_first;	/* 0: newest first */
};

int violations_each(struct db *db, const struct violation_filter *filter, violation_fn *fn,
		    void *cookie, struct err *err);

/* violations_count() - rows and their counts summed; either may be NULL */
int violations_count(struct db *db, const char *run_id, int64_t *ret_rows, int64_t *ret_times,
		     struct err *err);

static inline void own_recorder(struct recorder **r)
{
	recorder_free(*r);
}

#endif
