#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "db/record.h"
#include "db/runs.h"

enum kind {
	RAW,	/* JSON: kept as it is, an escape would change it */
	TEXT,	/* stored, and shown, with \xNN escapes */
	PATH,	/* the same, but handed out as the bytes it was */
	NUMBER,	/* 0 is null */
};

#define LATER 1		/* may change after the end, so no seal vouches for it */
#define AT_END 2	/* is written by run_close() alone */
#define ONCE 4		/* is written by run_insert() alone */

static const struct column {
	const char *name;
	size_t at;	/* in struct run_row */
	enum kind kind;
	int when;
} columns[] = {
#define COLUMN(name, kind, when) { #name, offsetof(struct run_row, name), kind, when }
	COLUMN(id, TEXT, ONCE),
	COLUMN(state, TEXT, 0),
	COLUMN(mode, TEXT, ONCE),
	COLUMN(agent, TEXT, 0),
	COLUMN(backend, TEXT, 0),
	COLUMN(repo, PATH, 0),
	COLUMN(cwd, PATH, 0),
	COLUMN(argv, RAW, 0),
	COLUMN(spec, RAW, 0),
	COLUMN(spec_digest, TEXT, 0),
	COLUMN(workspace_id, TEXT, 0),
	COLUMN(workspace_path, PATH, LATER),
	COLUMN(strategy, TEXT, 0),
	COLUMN(branch, TEXT, 0),
	COLUMN(base_commit, TEXT, 0),
	COLUMN(facts, RAW, LATER),
	COLUMN(supervisor_pid, NUMBER, 0),
	COLUMN(supervisor_start, NUMBER, 0),
	COLUMN(supervisor_boot, TEXT, 0),
	COLUMN(created_us, NUMBER, ONCE),
	COLUMN(started_us, NUMBER, 0),
	COLUMN(ended_us, NUMBER, AT_END),
	COLUMN(end_kind, TEXT, AT_END),
	COLUMN(exit_status, NUMBER, AT_END),
	COLUMN(reason, TEXT, AT_END),
#undef COLUMN
};

static const char *text_at(const struct run_row *row, const struct column *c)
{
	return *(const char *const *)((const char *)row + c->at);
}

static int64_t number_at(const struct run_row *row, const struct column *c)
{
	return *(const int64_t *)((const char *)row + c->at);
}

static int is_set(const struct run_row *row, const struct column *c)
{
	return c->kind == NUMBER ? number_at(row, c) != 0 : text_at(row, c) != NULL;
}

static int bind_column(sqlite3_stmt *st, int i, const struct run_row *row, const struct column *c)
{
	if (!is_set(row, c))
		return sqlite3_bind_null(st, i);
	if (c->kind == NUMBER)
		return sqlite3_bind_int64(st, i, number_at(row, c));
	if (c->kind == RAW)
		return sqlite3_bind_text(st, i, text_at(row, c), -1, SQLITE_STATIC);
	return sql_bind_stored(st, i, text_at(row, c));
}

int run_number(struct db *db, const char *id, int64_t *ret, struct err *err)
{
	int64_t n = 0;

	if (sql_int(db, err, &n, "SELECT n FROM runs WHERE id = ?", "t", id) < 0)
		return -1;
	if (!n)
		return err_set(err, ERR_NOTFOUND, 0, "no run '%s'", id);
	*ret = n;
	return 0;
}

/* --- making --- */

static int check_id(const char *id, struct err *err)
{
	size_t n = id ? strlen(id) : 0;

	for (size_t i = 0; i < n; i++)
		if (id[i] <= ' ' || id[i] > '~' || id[i] == '/' || id[i] == '\\')
			n = 0;
	return n && n <= 128 ? 0 : err_set(err, ERR_USAGE, 0, "'%s' cannot be the id of a run", id ? id : "");
}

static int insert(struct db *db, const struct run_row *row, struct err *err)
{
	OWN(stmt) sqlite3_stmt *st = NULL;
	OWN(buf) struct buf sql = { 0 };
	int n = 0, r = SQLITE_OK;

	buf_adds(&sql, "INSERT INTO runs(");
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		buf_addf(&sql, "%s%s", i ? ", " : "", columns[i].name);
	buf_adds(&sql, ") VALUES(");
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		buf_adds(&sql, i ? ", ?" : "?");
	if (buf_adds(&sql, ")") < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	st = sql_query(db, err, sql.data, "");
	if (!st)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		r |= columns[i].when & AT_END ? sqlite3_bind_null(st, ++n) : bind_column(st, ++n, row, &columns[i]);
	return r == SQLITE_OK ? sql_step(db, st, err) : db_fail(db, "write to", err);
}

static int insert_tx(struct db *db, void *cookie, struct err *err)
{
	struct run_row row = *(const struct run_row *)cookie;
	int64_t taken = 0;

	if (sql_int(db, err, &taken, "SELECT n FROM runs WHERE id = ?", "t", row.id) < 0)
		return -1;
	if (taken)
		return err_set(err, ERR_BUSY, 0, "there is a run '%s' already", row.id);
	if (!row.created_us)
		row.created_us = clock_wall_us();
	if (insert(db, &row, err) < 0)
		return -1;
	return chain_make(db, sqlite3_last_insert_rowid(db->sql), err);
}

int run_insert(struct db *db, const struct run_row *row, struct err *err)
{
	if (check_id(row->id, err) < 0)
		return -1;
	if (!row->state || !row->mode)
		return err_set(err, ERR_USAGE, 0, "run '%s' has no state or no mode", row->id);
	return tx_run(db, insert_tx, (void *)(size_t)row, err);
}

/* --- changing --- */

struct change {
	const char *id;
	const struct run_row *row;
};

static int update(struct db *db, const struct change *change, struct err *err)
{
	OWN(stmt) sqlite3_stmt *st = NULL;
	OWN(buf) struct buf sql = { 0 };
	int n = 0, r = SQLITE_OK;

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		if (!(columns[i].when & (AT_END | ONCE)) && is_set(change->row, &columns[i]))
			buf_addf(&sql, "%s%s = nullif(?, '')", n++ ? ", " : "UPDATE runs SET ", columns[i].name);
	if (!n)
		return 0;
	if (buf_adds(&sql, " WHERE id = ?") < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	st = sql_query(db, err, sql.data, "");
	if (!st)
		return -1;
	n = 0;
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		if (!(columns[i].when & (AT_END | ONCE)) && is_set(change->row, &columns[i]))
			r |= bind_column(st, ++n, change->row, &columns[i]);
	r |= sqlite3_bind_text(st, ++n, change->id, -1, SQLITE_STATIC);
	return r == SQLITE_OK ? sql_step(db, st, err) : db_fail(db, "write to", err);
}

static int update_tx(struct db *db, void *cookie, struct err *err)
{
	const struct change *change = cookie;
	int64_t n, ended = 0;

	if (run_number(db, change->id, &n, err) < 0 ||
	    sql_int(db, err, &ended, "SELECT ended_us FROM runs WHERE n = ?", "i", n) < 0)
		return -1;
	for (size_t i = 0; ended && i < ARRAY_LEN(columns); i++)
		if (!columns[i].when && is_set(change->row, &columns[i]))
			return err_set(err, ERR_USAGE, 0, "run '%s' has ended: its %s cannot change", change->id,
				       columns[i].name);
	return update(db, change, err);
}

int run_update(struct db *db, const char *id, const struct run_row *row, struct err *err)
{
	struct change change = { .id = id, .row = row };

	return tx_run(db, update_tx, &change, err);
}

/* --- ending --- */

int run_close(struct db *db, const char *id, const struct run_result *res, struct err *err)
{
	int64_t n, ended = 0;

	assert(res->end_kind && res->state);
	if (run_number(db, id, &n, err) < 0 ||
	    sql_int(db, err, &ended, "SELECT ended_us FROM runs WHERE n = ?", "i", n) < 0)
		return -1;
	if (ended)
		return err_set(err, ERR_USAGE, 0, "run '%s' has ended already", id);
	if (sql_run(db, err,
		    "UPDATE runs SET state = ?, ended_us = ?, end_kind = ?, exit_status = ?, reason = ? WHERE n = ?",
		    "xixixi", res->state, res->ended_us ? res->ended_us : clock_wall_us(), res->end_kind,
		    res->exit_status, res->reason, n) < 0)
		return -1;
	return chain_seal(db, n, err);
}

struct finish {
	const char *id;
	const struct run_result *res;
};

static int finish_tx(struct db *db, void *cookie, struct err *err)
{
	const struct finish *f = cookie;

	return run_close(db, f->id, f->res, err);
}

int run_finish(struct db *db, const char *id, const struct run_result *res, struct err *err)
{
	struct finish f = { .id = id, .res = res };

	return tx_run(db, finish_tx, &f, err);
}

/* --- reading --- */

/* "SELECT created_us, n, all columns FROM runs"; built once, the same ever after. */
static const char *run_select(void)
{
	static char text[640];
	OWN(buf) struct buf b = { .max = sizeof(text) - 1 };

	if (text[0])
		return text;
	buf_adds(&b, "SELECT created_us, n");
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		buf_addf(&b, ", %s", columns[i].name);
	buf_adds(&b, " FROM runs");
	assert(!b.failed);
	memcpy(text, b.data, b.len + 1);
	return text;
}

int run_facts(struct db *db, int64_t number, unsigned char ret[DIGEST_SIZE], struct err *err)
{
	OWN(stmt) sqlite3_stmt *st = NULL;
	OWN(buf) struct buf b = { 0 }, sql = { 0 };
	int r;

	memset(ret, 0, DIGEST_SIZE);
	if (!number)
		return 0;
	if (buf_addf(&sql, "%s WHERE n = ?", run_select()) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	st = sql_query(db, err, sql.data, "i", number);
	r = st ? sql_step(db, st, err) : -1;
	if (r < 0)
		return -1;
	for (size_t i = 0; r && i < ARRAY_LEN(columns); i++) {
		if (columns[i].when & LATER)
			continue;
		put_text(&b, columns[i].name);
		put_text(&b, (const char *)sqlite3_column_text(st, (int)i + 2));
	}
	if (b.failed)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	digest_raw(b.data ? b.data : "", b.len, ret);
	return 0;
}

struct reader {
	run_fn *fn;
	void *cookie;
	int seen;
	int is_out_of_memory;
};

/* Columns of @kind PATH as bytes in @bytes, one after the other, each with its NUL. */
static int restore_paths(sqlite3_value **v, struct buf *bytes, size_t offsets[])
{
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		offsets[i] = bytes->len;
		if (columns[i].kind == PATH && text_of(v[i]) &&
		    (text_restore(bytes, text_of(v[i])) < 0 || buf_addc(bytes, '\0') < 0))
			return -1;
	}
	return 0;
}

static int read_run(void *cookie, sqlite3_value **v)
{
	struct reader *reader = cookie;
	OWN(buf) struct buf bytes = { 0 };
	size_t offsets[ARRAY_LEN(columns)];
	struct run_row row = { 0 };

	v += 2;
	if (restore_paths(v, &bytes, offsets) < 0) {
		reader->is_out_of_memory = 1;
		return 1;
	}
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		char *at = (char *)&row + columns[i].at;

		if (columns[i].kind == NUMBER)
			*(int64_t *)at = sqlite3_value_int64(v[i]);
		else if (columns[i].kind == PATH && text_of(v[i]))
			*(const char **)at = bytes.data + offsets[i];
		else
			*(const char **)at = text_of(v[i]);
	}
	reader->seen++;
	return reader->fn(reader->cookie, &row);
}

static int read_runs(struct query *q, struct reader *reader, struct err *err)
{
	if (query_each(q, read_run, reader, err) < 0)
		return -1;
	return reader->is_out_of_memory ? err_set(err, ERR_NOMEM, 0, "out of memory") : 0;
}

int runs_each(struct db *db, const struct run_filter *filter, run_fn *fn, void *cookie, struct err *err)
{
	struct query q = { .db = db, .select = run_select(), .keys = { "created_us", "n" }, .is_descending = 1,
			   .limit = filter->limit };
	struct reader reader = { .fn = fn, .cookie = cookie };

	query_text(&q, "state = ?", filter->state);
	query_text(&q, "repo = ?", filter->repo);
	query_text(&q, "agent = ?", filter->agent);
	query_int(&q, "created_us >= ?", filter->since_us);
	if (filter->only_open)
		query_plain(&q, "ended_us IS NULL");
	return read_runs(&q, &reader, err);
}

int run_find(struct db *db, const char *prefix, char **ret_id, struct err *err)
{
	OWN(stmt) sqlite3_stmt *st = NULL;
	OWN(mem) char *id = NULL;
	int r;

	/* Ids hold nothing above '~'. */
	st = sql_query(db, err, "SELECT id FROM runs WHERE id >= ?1 AND id < ?1 || char(127) ORDER BY id LIMIT 2",
		       "t", prefix);
	r = st ? sql_step(db, st, err) : -1;
	if (r < 0)
		return -1;
	if (!r || !*prefix)
		return err_set(err, ERR_NOTFOUND, 0, "no run '%s'", prefix);
	id = strdup((const char *)sqlite3_column_text(st, 0));
	if (!id)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	r = strcmp(id, prefix) ? sql_step(db, st, err) : 0;
	if (r > 0)
		return err_set(err, ERR_USAGE, 0, "'%s' is the beginning of 2 or more runs", prefix);
	if (r < 0)
		return -1;
	*ret_id = TAKE(id);
	return 0;
}

int run_get(struct db *db, const char *prefix, run_fn *fn, void *cookie, struct err *err)
{
	struct query q = { .db = db, .select = run_select(), .keys = { "n", NULL }, .limit = 1 };
	struct reader reader = { .fn = fn, .cookie = cookie };
	OWN(mem) char *id = NULL;

	if (run_find(db, prefix, &id, err) < 0)
		return -1;
	query_text(&q, "id = ?", id);
	if (read_runs(&q, &reader, err) < 0)
		return -1;
	return reader.seen ? 0 : err_set(err, ERR_NOTFOUND, 0, "no run '%s'", id);
}
