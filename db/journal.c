#include "base/clock.h"
#include "base/err.h"
#include "db/db_internal.h"
#include "db/journal.h"

struct entry {
	const char *run_id, *step, *data;
	int64_t id;
};

static int begin_tx(struct db *db, void *cookie, struct err *err)
{
	struct entry *e = cookie;
	int64_t run;

	if (run_number(db, e->run_id, &run, err) < 0 ||
	    sql_run(db, err, "INSERT INTO journal(run, step, data, begun_us) VALUES(?, ?, ?, ?)", "itti", run,
		    e->step, e->data, clock_wall_us()) < 0)
		return -1;
	e->id = sqlite3_last_insert_rowid(db->sql);
	return 0;
}

int journal_begin(struct db *db, const char *run_id, const char *step, const char *data,
		  int64_t *ret_id, struct err *err)
{
	struct entry e = { .run_id = run_id, .step = step, .data = data };

	if (tx_run(db, begin_tx, &e, err) < 0)
		return -1;
	*ret_id = e.id;
	return 0;
}

static int check_changed(struct db *db, int64_t id, struct err *err)
{
	if (sqlite3_changes(db->sql))
		return 0;
	return err_set(err, ERR_NOTFOUND, 0, "no open journal entry %lld", (long long)id);
}

static int note_tx(struct db *db, void *cookie, struct err *err)
{
	const struct entry *e = cookie;

	if (sql_run(db, err, "UPDATE journal SET data = ? WHERE id = ? AND done_us IS NULL", "ti", e->data, e->id) < 0)
		return -1;
	return check_changed(db, e->id, err);
}

int journal_note(struct db *db, int64_t id, const char *data, struct err *err)
{
	struct entry e = { .id = id, .data = data };

	return tx_run(db, note_tx, &e, err);
}

static int done_tx(struct db *db, void *cookie, struct err *err)
{
	const struct entry *e = cookie;

	if (sql_run(db, err, "UPDATE journal SET done_us = coalesce(done_us, ?) WHERE id = ?", "ii",
		    clock_wall_us(), e->id) < 0)
		return -1;
	return check_changed(db, e->id, err);
}

int journal_done(struct db *db, int64_t id, struct err *err)
{
	struct entry e = { .id = id };

	return tx_run(db, done_tx, &e, err);
}

struct reader {
	journal_fn *fn;
	void *cookie;
};

static int read_entry(void *cookie, sqlite3_value **v)
{
	const struct reader *reader = cookie;
	const struct journal_row row = {
		.id = sqlite3_value_int64(v[0]),
		.run_id = text_of(v[1]),
		.step = text_of(v[2]),
		.data = text_of(v[3]),
		.begun_us = sqlite3_value_int64(v[4]),
		.done_us = sqlite3_value_int64(v[5]),
	};

	return reader->fn(reader->cookie, &row);
}

int journal_each(struct db *db, const char *run_id, int only_open, journal_fn *fn, void *cookie,
		 struct err *err)
{
	struct query q = {
		.db = db, .keys = { "j.id", NULL }, .is_descending = 1,
		.select = "SELECT j.id, r.id, j.step, j.data, j.begun_us, j.done_us"
			  " FROM journal j JOIN runs r ON r.n = j.run",
	};
	struct reader reader = { .fn = fn, .cookie = cookie };

	query_text(&q, "j.run = (SELECT n FROM runs WHERE id = ?)", run_id);
	if (only_open)
		query_plain(&q, "j.done_us IS NULL");
	return query_each(&q, read_entry, &reader, err);
}
