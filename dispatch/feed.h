/*
 * dispatch/feed.h - everything that happens in a run, to where it is wanted
 *
 * One sink for all who notice something: each event, refusal and piece of output
 * gets its number and time, goes into the database, and with --json to stdout,
 * one line each. A line is printed only after its record is on disk. Records are
 * committed in groups, a few times a second, and at the latest by feed_flush().
 *
 * A reader that is slow does not hold the run up until a few megabytes wait for it.
 *
 * A feed that cannot record or print has failed: it remembers why and calls
 * on_failure once, and whoever runs the command ends it.
 */
#ifndef DISPATCH_FEED_H
#define DISPATCH_FEED_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/event.h"
#include "base/json.h"

struct db;
struct loop;
struct recorder;
struct run_result;
struct watch;

/* Refusals kept for the summary at the end; more are only counted. */
#define FEED_KEPT 200

struct kept {
	char *action, *target, *rule, *comm;	/* target: as agate understood it */
	int64_t count;
};

struct feed {
	struct event_sink sink;		/* first: a callback turns it into the feed */
	const char *run_id;
	struct recorder *recorder;
	int as_json;			/* NDJSON on stdout */
	int out;			/* the descriptor it goes to */
	struct loop *loop;		/* NULL: nothing flushes by itself */
	struct watch *timer;
	struct buf lines;		/* their records are not yet on disk */
	struct buf ready;		/* their records are; not yet printed beyond .printed */
	size_t printed;
	struct watch *writable;		/* while a slow reader is waited for */
	struct buf held;		/* output not yet an event */
	int held_stream;		/* 1 or 2; 0: none */
	int64_t started_us;
	struct kept refusal[FEED_KEPT];
	size_t n_refusals;
	int64_t refusals_total;
	int64_t refusals_ignored;	/* of them: on record like the others, not in the summary */
	const struct json *ignored;	/* which those are, see ignore.h; borrowed until feed_done(); NULL: none */
	struct err failure;		/* .msg empty: none */
	void (*on_failure)(void *cookie);
	void *cookie;
};

/* feed_init() - @db and @run_id are borrowed until feed_done(); the run's row exists */
int feed_init(struct feed *f, struct db *db, const char *run_id, int as_json, struct err *err);

/* feed_attach() - flush by a timer of @loop's from now on; NULL detaches */
int feed_attach(struct feed *f, struct loop *loop, void (*on_failure)(void *cookie), void *cookie,
		struct err *err);

/* feed_event() - @data: an object, or NULL; taken over and freed in any case */
void feed_event(struct feed *f, const char *type, struct json *data);

/* feed_output() - bytes the command wrote to @stream (1 or 2) */
void feed_output(struct feed *f, int stream, const char *data, size_t len);

/* What a gate said, in words; NULL where there is nothing to say. */
struct judgement {
	const char *line, *mode, *verdict, *gate, *rule, *reason;
	const char *classes;	/* effects that counted: "fileDelete,gitPush" */
	const char *answered_by;	/* where somebody had to be asked */
	int64_t waited_us;	/* for that answer */
	const char *digest;	/* of the exact request, hex */
	const char *tool_use;	/* the agent's id of its call */
	int64_t span_start, span_end;	/* bytes of line */
};
void feed_judgement(struct feed *f, const struct judgement *j);

/* feed_flush() - all on disk and printed; 0, or -1 with @err when the feed has failed */
int feed_flush(struct feed *f, struct err *err);

/* feed_flush_with() - the same, and @fn in the same commit before it; see recorder_first() */
int feed_flush_with(struct feed *f, int (*fn)(struct db *db, void *cookie, struct err *err), void *cookie,
		    struct err *err);

/* feed_end() - the last flush: closes and seals the run's row with the same commit, after @fn (or NULL) */
int feed_end(struct feed *f, const struct run_result *res,
	     int (*fn)(struct db *db, void *cookie, struct err *err), void *cookie, struct err *err);

/* feed_fail() - something beside the records could not be written: the run must end as well */
void feed_fail(struct feed *f, const struct err *why);

void feed_done(struct feed *f);

/**
 * feed_text() - Output as members of a JSON object: "data", and where that loses bytes "base64"
 *
 * It loses bytes where they are not UTF-8, and a NUL is lost on many readers.
 * Pure. 0 or -1 out of memory
 */
int feed_text(struct buf *to, const char *data, size_t len);

#endif
