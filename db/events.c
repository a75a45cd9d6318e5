#include "base/err.h"
#include "db/record.h"

/* One function for each kind of row: columns to a row, a row to the caller. */

struct reader {
	union {
		event_fn *event;
		violation_fn *violation;
		decision_fn *decision;
	} fn;
	void *cookie;
};

static int read_event(void *cookie, sqlite3_value **v)
{
	const struct reader *reader = cookie;
	struct event_row row;

	event_read(v, &row);
	return reader->fn.event(reader->cookie, &row);
}

int events_each(struct db *db, const struct event_filter *filter, event_fn *fn, void *cookie,
		struct err *err)
{
	struct query q = { .db = db, .select = EVENT_SELECT, .keys = { "e.seq", NULL }, .limit = filter->limit };
	struct reader reader = { .fn.event = fn, .cookie = cookie };
	int64_t run;

	if (run_number(db, filter->run, &run, err) < 0)
		return -1;
	query_int(&q, "e.chain = ?", run);
	query_text(&q, "e.type = ?", filter->type);
	query_int(&q, "e.seq > ?", filter->after_seq);
	return query_each(&q, read_event, &reader, err);
}

static int read_violation(void *cookie, sqlite3_value **v)
{
	const struct reader *reader = cookie;
	struct violation_row row;

	violation_read(v, &row);
	return reader->fn.violation(reader->cookie, &row);
}

int violations_each(struct db *db, const struct violation_filter *filter, violation_fn *fn,
		    void *cookie, struct err *err)
{
	struct query q = { .db = db, .select = VIOLATION_SELECT, .keys = { "v.ts_us", "v.id" },
			   .is_descending = !filter->oldest_first, .limit = filter->limit,
			   .is_sorted = filter->after_id > 0 };
	struct reader reader = { .fn.violation = fn, .cookie = cookie };

	/* A plus keeps SQLite from the index of a column that narrows less than another. */
	query_text(&q, "v.run = (SELECT n FROM runs WHERE id = ?)", filter->run);
	query_text(&q, filter->run ? "+v.action = (SELECT id FROM words WHERE text = ?)"
				   : "v.action = (SELECT id FROM words WHERE text = ?)", filter->action);
	query_text(&q, filter->run || filter->action ? "+v.layer = (SELECT id FROM words WHERE text = ?)"
						     : "v.layer = (SELECT id FROM words WHERE text = ?)",
		   filter->layer);
	query_int(&q, "v.ts_us >= ?", filter->since_us);
	query_int(&q, "v.id > ?", filter->after_id);
	return query_each(&q, read_violation, &reader, err);
}

int violations_count(struct db *db, const char *run_id, int64_t *ret_rows, int64_t *ret_times,
		     struct err *err)
{
	sqlite3_stmt *st;
	int64_t run;
	int r;

	if (run_number(db, run_id, &run, err) < 0)
		return -1;
	st = sql_query(db, err, "SELECT count(*), coalesce(sum(count), 0) FROM violations WHERE run = ?", "i", run);
	r = st ? sql_step(db, st, err) : -1;
	if (r > 0 && ret_rows)
		*ret_rows = sqlite3_column_int64(st, 0);
	if (r > 0 && ret_times)
		*ret_times = sqlite3_column_int64(st, 1);
	sql_end(st);
	return r < 0 ? -1 : 0;
}

static int read_decision(void *cookie, sqlite3_value **v)
{
	const struct reader *reader = cookie;
	struct decision_row row;

	decision_read(v, &row);
	return reader->fn.decision(reader->cookie, &row);
}

int decisions_each(struct db *db, const struct decision_filter *filter, decision_fn *fn, void *cookie,
		   struct err *err)
{
	struct query q = { .db = db, .select = DECISION_SELECT, .keys = { "d.ts_us", "d.id" },
			   .is_descending = !filter->oldest_first, .limit = filter->limit,
			   .is_sorted = filter->after_id > 0 };
	struct reader reader = { .fn.decision = fn, .cookie = cookie };

	query_text(&q, "d.run = (SELECT n FROM runs WHERE id = ?)", filter->run);
	query_text(&q, filter->run ? "+d.verdict = (SELECT id FROM words WHERE text = ?)"
				   : "d.verdict = (SELECT id FROM words WHERE text = ?)", filter->verdict);
	query_int(&q, "d.ts_us >= ?", filter->since_us);
	query_int(&q, "d.id > ?", filter->after_id);
	return query_each(&q, read_decision, &reader, err);
}
