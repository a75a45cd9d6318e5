#include <stdio.h>
#include <sys/stat.h>

#include "db/db.h"
#include "db/decisions.h"
#include "db/events.h"
#include "dispatch/feed.h"
#include "dispatch/hook_record.h"

static int write_rows(struct db *db, const struct judgement *j, const struct violation *refusal, struct err *err)
{
	const struct decision d = {
		.line = j->line, .mode = j->mode, .verdict = j->verdict, .gate = j->gate, .rule = j->rule,
		.reason = j->reason, .span_start = j->span_start, .span_end = j->span_end, .classes = j->classes,
		.answered_by = j->answered_by, .digest = j->digest, .tool_use = j->tool_use,
	};

	if (decision_record(db, NULL, &d, err) < 0)
		return -1;
	return refusal ? violation_record(db, NULL, refusal, err) : 0;
}

/* How much the next process to open the database may have to read again. */
#define LOG_MAX_BYTES (256 * 1024)

/*
 * Closing empties the log into the file, and a log that was left is read by who
 * comes next: the one costs more, the other grows. So every few calls one closes.
 */
static void leave(struct db *db)
{
	char log[4096];
	struct stat st;

	if (snprintf(log, sizeof(log), "%s-wal", db_path(db)) < (int)sizeof(log) && !stat(log, &st) &&
	    st.st_size > LOG_MAX_BYTES)
		db_close(db);
}

int hook_record(struct db *db, const struct judgement *j, const struct violation *refusal, struct err *err)
{
	if (db_begin(db, err) < 0)
		return -1;
	if (write_rows(db, j, refusal, err) < 0) {
		db_rollback(db);
		return -1;
	}
	if (db_commit(db, err) < 0)
		return -1;
	leave(db);
	return 0;
}
