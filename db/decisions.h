/*
 * db/decisions.h - what the gates said to a command, and why
 *
 * A supervisor records its run's decisions with recorder_decision(); anybody
 * else (a hook, `agate check`) with decision_record(), on disk at once.
 */
#ifndef DB_DECISIONS_H
#define DB_DECISIONS_H

#include <stdint.h>

struct db;
struct err;

/* Strings are borrowed for the call. */
struct decision {
	const char *line;	/* what was judged, secrets masked already */
	const char *mode;	/* "plan", ... */
	const char *verdict;	/* "allow", "ask", "deny" */
	const char *gate;	/* who decided: "command", "guard", ...; may be NULL */
	const char *rule;	/* may be NULL */
	const char *reason;	/* one line; may be NULL */
	int64_t span_start;	/* bytes of line the reason is about, [start, end); equal: none */
	int64_t span_end;
	const char *digest;	/* of the exact request, hex; may be NULL */
	const char *tool_use;	/* the agent's id of its tool call; may be NULL */
	const char *classes;	/* effects that counted: "fileDelete,gitPush"; may be NULL */
	const char *answered_by;	/* who was asked and answered: "uid 1000", "nobody"; NULL: nobody was asked */
	int64_t waited_us;	/* for that answer */
};

/**
 * decision_record() - Commit one decision
 * @run_id:	full id, NULL for none
 */
int decision_record(struct db *db, const char *run_id, const struct decision *d, struct err *err);

struct decision_row {
	int64_t id;		/* grows: a cursor */
	const char *run_id;	/* may be NULL */
	int64_t seq;
	int64_t ts_us;
	struct decision d;	/* texts with \xNN escapes */
};

typedef int decision_fn(void *cookie, const struct decision_row *row);

/* Zeroed: all of them. */
struct decision_filter {
	const char *run;	/* full id */
	const char *verdict;
	int64_t since_us;
	int64_t after_id;
	int64_t limit;
	int oldest_first;
};

int decisions_each(struct db *db, const struct decision_filter *filter, decision_fn *fn, void *cookie,
		   struct err *err);

#endif
