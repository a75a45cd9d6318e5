#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "db/db_internal.h"

#define PAGE_ROWS 256
#define MAX_COLUMNS 32

/* --- statements --- */

static sqlite3_stmt *fresh(sqlite3_stmt *st)
{
	assert(!sqlite3_stmt_busy(st));
	return st;
}

/* In turn, so that a statement lasts for many others after it. */
static size_t victim(struct db *db)
{
	do
		db->next_victim = (db->next_victim + 1) % SQL_CACHE;
	while (sqlite3_stmt_busy(db->cache[db->next_victim].st));
	return db->next_victim;
}

/* From the cache, or made and kept there. */
static sqlite3_stmt *prepare(struct db *db, const char *sql, struct err *err)
{
	size_t slot;

	for (slot = 0; slot < SQL_CACHE && db->cache[slot].text; slot++)
		if (!strcmp(db->cache[slot].text, sql))
			return fresh(db->cache[slot].st);
	if (slot == SQL_CACHE)
		slot = victim(db);
	sqlite3_finalize(db->cache[slot].st);
	free(db->cache[slot].text);
	db->cache[slot].st = NULL;
	db->cache[slot].text = strdup(sql);
	if (!db->cache[slot].text) {
		err_set(err, ERR_NOMEM, 0, "out of memory");
		return NULL;
	}
	if (sqlite3_prepare_v3(db->sql, sql, -1, SQLITE_PREPARE_PERSISTENT, &db->cache[slot].st, NULL) != SQLITE_OK) {
		db_fail(db, "ask", err);
		free(TAKE(db->cache[slot].text));
		return NULL;
	}
	return db->cache[slot].st;
}

static int is_storable(const char *s)
{
	if (strstr(s, "\\x"))
		return 0;
	for (size_t left = strlen(s), n; left; s += n, left -= n)
		if (!(n = text_char(s, left)))
			return 0;
	return 1;
}

int sql_bind_stored(sqlite3_stmt *st, int i, const char *s)
{
	OWN(buf) struct buf b = { 0 };

	if (!s || is_storable(s))
		return sqlite3_bind_text(st, i, s, -1, SQLITE_STATIC);
	if (text_store(&b, s, strlen(s)) < 0)
		return SQLITE_NOMEM;
	return sqlite3_bind_text(st, i, b.data, -1, SQLITE_TRANSIENT);
}

static int bind_one(sqlite3_stmt *st, int i, char type, va_list *ap)
{
	int64_t number;

	switch (type) {
	case 't':
		return sqlite3_bind_text(st, i, va_arg(*ap, const char *), -1, SQLITE_STATIC);
	case 'x':
		return sql_bind_stored(st, i, va_arg(*ap, const char *));
	case 'd':
		return sqlite3_bind_blob(st, i, va_arg(*ap, const unsigned char *), DIGEST_SIZE, SQLITE_STATIC);
	case 'n':
		number = va_arg(*ap, int64_t);
		return number ? sqlite3_bind_int64(st, i, number) : sqlite3_bind_null(st, i);
	default:
		assert(type == 'i');
		return sqlite3_bind_int64(st, i, va_arg(*ap, int64_t));
	}
}

static sqlite3_stmt *query(struct db *db, struct err *err, const char *sql, const char *types, va_list *ap)
{
	sqlite3_stmt *st = prepare(db, sql, err);

	for (int i = 0; st && types[i]; i++) {
		if (bind_one(st, i + 1, types[i], ap) == SQLITE_OK)
			continue;
		db_fail(db, "ask", err);
		sql_end(st);
		return NULL;
	}
	return st;
}

sqlite3_stmt *sql_query(struct db *db, struct err *err, const char *sql, const char *types, ...)
{
	sqlite3_stmt *st;
	va_list ap;

	va_start(ap, types);
	st = query(db, err, sql, types, &ap);
	va_end(ap);
	return st;
}

int sql_step(struct db *db, sqlite3_stmt *st, struct err *err)
{
	int r = sqlite3_step(st);

	if (r == SQLITE_ROW)
		return 1;
	if (r == SQLITE_DONE)
		return 0;
	return db_fail(db, sqlite3_stmt_readonly(st) ? "read" : "write to", err);
}

void sql_end(sqlite3_stmt *st)
{
	if (!st)
		return;
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
}

int sql_run(struct db *db, struct err *err, const char *sql, const char *types, ...)
{
	OWN(stmt) sqlite3_stmt *st = NULL;
	va_list ap;
	int r;

	va_start(ap, types);
	st = query(db, err, sql, types, &ap);
	va_end(ap);
	r = st ? sql_step(db, st, err) : -1;
	assert(r <= 0);
	return r;
}

int sql_int(struct db *db, struct err *err, int64_t *ret, const char *sql, const char *types, ...)
{
	OWN(stmt) sqlite3_stmt *st = NULL;
	va_list ap;
	int r;

	va_start(ap, types);
	st = query(db, err, sql, types, &ap);
	va_end(ap);
	r = st ? sql_step(db, st, err) : -1;
	if (r > 0)
		*ret = sqlite3_column_int64(st, 0);
	return r < 0 ? -1 : 0;
}

void sql_forget(struct db *db)
{
	for (size_t i = 0; i < SQL_CACHE; i++) {
		sqlite3_finalize(db->cache[i].st);
		db->cache[i].st = NULL;
		free(TAKE(db->cache[i].text));
	}
	word_forget(db);
}

/* --- the dictionary --- */

static size_t slot_of(const char *text)
{
	uint32_t h = 2166136261u;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 16777619u;
	return h % WORD_CACHE;
}

static int64_t find_word(struct db *db, const char *text, struct err *err)
{
	int64_t id = 0;

	if (sql_int(db, err, &id, "SELECT id FROM words WHERE text = ?", "t", text) < 0)
		return -1;
	if (id)
		return id;
	if (sql_run(db, err, "INSERT INTO words(text) VALUES(?)", "t", text) < 0)
		return -1;
	return sqlite3_last_insert_rowid(db->sql);
}

int64_t word_id(struct db *db, const char *text, struct err *err)
{
	size_t slot;
	int64_t id;

	if (!text)
		return 0;
	slot = slot_of(text);
	if (db->words[slot].text && !strcmp(db->words[slot].text, text))
		return db->words[slot].id;
	id = find_word(db, text, err);
	if (id > 0) {
		free(db->words[slot].text);
		db->words[slot].text = strdup(text);	/* NULL: just not remembered */
		db->words[slot].id = id;
	}
	return id;
}

void word_forget(struct db *db)
{
	for (size_t i = 0; i < WORD_CACHE; i++)
		free(TAKE(db->words[i].text));
}

/* --- walks --- */

static void add_condition(struct query *q, const char *condition, const char *text, int64_t number)
{
	assert((size_t)q->n_where < ARRAY_LEN(q->where));
	q->where[q->n_where].condition = condition;
	q->where[q->n_where].text = text;
	q->where[q->n_where++].number = number;
}

void query_text(struct query *q, const char *condition, const char *text)
{
	if (text)
		add_condition(q, condition, text, 0);
}

void query_int(struct query *q, const char *condition, int64_t number)
{
	if (number)
		add_condition(q, condition, NULL, number);
}

void query_plain(struct query *q, const char *condition)
{
	assert(!strchr(condition, '?'));
	add_condition(q, condition, NULL, 0);
}

/*
 * "SELECT ... WHERE (k1, k2) < (?1, ?2) AND ... ORDER BY k1 DESC, k2 DESC LIMIT ?"
 * A plus in front of a column keeps SQLite from using its index.
 */
static char *build(const struct query *q)
{
	const char *plus = q->is_sorted ? "+" : "", *word = q->is_descending ? " DESC" : "";
	const char *sign = q->is_descending ? "<" : ">";
	OWN(buf) struct buf b = { 0 };

	if (q->keys[1])
		buf_addf(&b, "%s WHERE (%s%s, %s%s) %s (?, ?)", q->select, plus, q->keys[0], plus, q->keys[1], sign);
	else
		buf_addf(&b, "%s WHERE %s%s %s ?", q->select, plus, q->keys[0], sign);
	for (int i = 0; i < q->n_where; i++)
		buf_addf(&b, " AND %s", q->where[i].condition);
	buf_addf(&b, " ORDER BY %s%s%s", plus, q->keys[0], word);
	if (q->keys[1])
		buf_addf(&b, ", %s%s%s", plus, q->keys[1], word);
	buf_adds(&b, " LIMIT ?");
	return buf_steal(&b);
}

struct page {
	sqlite3_value *v[PAGE_ROWS][MAX_COLUMNS];
	int rows, columns;
};

static void own_page(struct page **page)
{
	for (int r = 0; *page && r < (*page)->rows; r++)
		for (int c = 0; c < (*page)->columns; c++)
			sqlite3_value_free((*page)->v[r][c]);
	free(*page);
}

static int copy_row(struct page *page, sqlite3_stmt *st)
{
	sqlite3_value **row = page->v[page->rows++];

	memset(row, 0, (size_t)page->columns * sizeof(*row));
	for (int c = 0; c < page->columns; c++)
		if (!(row[c] = sqlite3_value_dup(sqlite3_column_value(st, c))))
			return -1;
	return 0;
}

static int bind_query(const struct query *q, sqlite3_stmt *st, const int64_t *cursor, int64_t rows)
{
	int n = 0, r = sqlite3_bind_int64(st, ++n, cursor[0]);

	if (q->keys[1])
		r |= sqlite3_bind_int64(st, ++n, cursor[1]);
	for (int i = 0; i < q->n_where; i++) {
		if (!strchr(q->where[i].condition, '?'))
			continue;
		r |= q->where[i].text ? sql_bind_stored(st, ++n, q->where[i].text)
				      : sqlite3_bind_int64(st, ++n, q->where[i].number);
	}
	return r | sqlite3_bind_int64(st, ++n, rows);
}

/* Read up to @rows rows behind @cursor. */
static int read_page(const struct query *q, const char *sql, const int64_t *cursor, int64_t rows,
		     struct page *page, struct err *err)
{
	OWN(stmt) sqlite3_stmt *st = prepare(q->db, sql, err);
	int r;

	if (!st)
		return -1;
	page->columns = sqlite3_column_count(st);
	assert(page->columns <= MAX_COLUMNS);
	if (bind_query(q, st, cursor, rows) != SQLITE_OK)
		return db_fail(q->db, "ask", err);
	while ((r = sql_step(q->db, st, err)) > 0)
		if (copy_row(page, st) < 0)
			return err_set(err, ERR_NOMEM, 0, "out of memory");
	return r;
}

int query_each(struct query *q, row_fn *fn, void *cookie, struct err *err)
{
	OWN(mem) char *sql = build(q);
	int64_t left = q->limit > 0 ? q->limit : INT64_MAX;
	int64_t first = q->is_descending ? INT64_MAX : INT64_MIN, cursor[2] = { first, first };

	if (!sql)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	while (left > 0) {
		__attribute__((cleanup(own_page))) struct page *page = malloc(sizeof(*page));
		int64_t rows = left < PAGE_ROWS ? left : PAGE_ROWS;

		if (!page)
			return err_set(err, ERR_NOMEM, 0, "out of memory");
		page->rows = page->columns = 0;	/* it is large, and few rows are the rule */
		if (read_page(q, sql, cursor, rows, page, err) < 0)
			return -1;
		for (int r = 0; r < page->rows; r++)
			if (fn(cookie, page->v[r]))
				return 0;
		if (page->rows < rows)
			return 0;
		for (int k = 0; k < 2 && q->keys[k]; k++)
			cursor[k] = sqlite3_value_int64(page->v[rows - 1][k]);
		left -= rows;
	}
	return 0;
}
