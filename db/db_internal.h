/*
 * db/db_internal.h - what the modules of db/ share; nobody else includes it
 */
#ifndef DB_DB_INTERNAL_H
#define DB_DB_INTERNAL_H

#include <sqlite3.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"

struct err;

#define SQL_CACHE 64
#define WORD_CACHE 512

struct db {
	sqlite3 *sql;
	char *path;
	int lock_fd;
	int in_tx;
	int wal_frames;		/* as the last commit left it */
	int wal_tried;		/* wal_frames when it was last tried to empty it */
	int64_t busy_since_ms;
	struct {
		char *text;
		sqlite3_stmt *st;
	} cache[SQL_CACHE];
	size_t next_victim;
	struct {
		char *text;
		int64_t id;
	} words[WORD_CACHE];
};

/* --- db.c --- */

/*
 * tx_run() - @fn(db, cookie, err) in a transaction of its own, or in the one
 * that is open. -1: nothing of it stays (in an open one: its owner rolls back).
 */
int tx_run(struct db *db, int (*fn)(struct db *db, void *cookie, struct err *err), void *cookie,
	   struct err *err);

/* db_fail() - -1, with @err saying "cannot WHAT the database: " and SQLite's reason */
int db_fail(struct db *db, const char *what, struct err *err);

/* db_lock() - wait for the turn to write; db_unlock() */
int db_lock(struct db *db, struct err *err);
void db_unlock(struct db *db);

/* --- schema.c --- */

#define DB_APPLICATION_ID 0x61676174	/* "agat" */

/* schema_update() - under the lock: bring an empty or older file to the newest version */
int schema_update(struct db *db, struct err *err);

/* schema_version() - the newest one */
int schema_version(void);

/* --- sql.c: statements --- */

/*
 * Arguments of a statement, one letter each:
 *	t	const char *, bound as it is; NULL: null
 *	x	const char *, stored with base/text.h's escapes; NULL: null
 *	i	int64_t
 *	n	int64_t, 0: null
 *	d	const unsigned char[DIGEST_SIZE]
 * Text must live until the statement was stepped.
 */

/* sql_run() - a statement that gives no rows; "cannot write to the database: ..." */
int sql_run(struct db *db, struct err *err, const char *sql, const char *types, ...);

/* sql_query() - ready to be stepped with sql_step(), and then sql_end() */
sqlite3_stmt *sql_query(struct db *db, struct err *err, const char *sql, const char *types, ...);
int sql_step(struct db *db, sqlite3_stmt *st, struct err *err);	/* 1 a row, 0 the end, -1 */
void sql_end(sqlite3_stmt *st);					/* NULL is fine */

/* sql_int() - the one number a query gives; 0 rows leave *ret alone */
int sql_int(struct db *db, struct err *err, int64_t *ret, const char *sql, const char *types, ...);

static inline void own_stmt(sqlite3_stmt **st)
{
	sql_end(*st);
}

/* sql_bind_stored() - as letter x; a result code of SQLite */
int sql_bind_stored(sqlite3_stmt *st, int i, const char *s);

/* text_of() - a column or value as a string, NULL for null */
static inline const char *text_of(sqlite3_value *v)
{
	return (const char *)sqlite3_value_text(v);
}

/* sql_forget() - statements and words, before closing */
void sql_forget(struct db *db);

/* word_id() - the number of @text in the dictionary, made if need be; 0 for NULL. -1 with @err */
int64_t word_id(struct db *db, const char *text, struct err *err);
void word_forget(struct db *db);	/* a rollback took words away */

/* --- sql.c: walks over many rows, page by page --- */

struct query {
	struct db *db;
	const char *select;	/* "SELECT key columns, others... FROM ..." */
	const char *keys[2];	/* unique together; the second may be NULL */
	int is_descending;
	int is_sorted;		/* let it sort, rather than walk by the keys' index */
	int64_t limit;		/* 0: none */
	struct {
		const char *condition;	/* with one '?', or without any */
		const char *text;	/* bound if not NULL, else number */
		int64_t number;
	} where[8];
	int n_where;
};

void query_text(struct query *q, const char *condition, const char *text);	/* no-op for NULL */
void query_int(struct query *q, const char *condition, int64_t number);		/* no-op for 0 */
void query_plain(struct query *q, const char *condition);

typedef int row_fn(void *cookie, sqlite3_value **columns);

/* query_each() - non-zero from @fn ends it */
int query_each(struct query *q, row_fn *fn, void *cookie, struct err *err);

/* --- runs.c --- */

/* run_number() - its row id; ERR_NOTFOUND */
int run_number(struct db *db, const char *id, int64_t *ret, struct err *err);

/* run_close() - in a transaction: write the end and seal; as run_finish() */
struct run_result;
int run_close(struct db *db, const char *id, const struct run_result *res, struct err *err);

/* run_facts() - digest of what a seal vouches for in the run's row; all zero for number 0 */
int run_facts(struct db *db, int64_t number, unsigned char ret[DIGEST_SIZE], struct err *err);

#endif
