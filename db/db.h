/*
 * db/db.h - the state directory's database: agate.db
 *
 * Many short processes write one file at the same time, so this module decides
 * how: WAL, synchronous=FULL, each write transaction and each checkpoint under
 * one lock file (agate.db.lock), with a fair wait up to a deadline. Why: SQLite's
 * stock wait starves writers, and its releases before 3.51.3 can corrupt a file
 * when one process restarts the WAL while another checkpoints.
 *
 * What the calls of db/ write is on disk when they return 0: SIGKILL or a power
 * cut right after loses nothing. When they fail nothing was written, and the
 * reason is in @err ("cannot write to the database: database or disk is full").
 *
 * Text from outside may hold any bytes. It is stored as UTF-8 with base/text.h's
 * escapes (\xNN) and, unless a row says otherwise, handed out in that form.
 *
 * A struct db belongs to one thread at a time and must not cross fork(2).
 */
#ifndef DB_DB_H
#define DB_DB_H

struct db;
struct err;

/**
 * db_open() - Open the database, make it if it is not there, bring it up to date
 * @state_dir:	clean absolute path; made with mode 0700 if missing. Refused when
 *		others may write in it.
 * @ret:	the caller's to db_close()
 *
 * Return: 0, or -1 with @err: ERR_SYS, ERR_POLICY (permissions), ERR_INPUT (not
 * ours, damaged, or written by a newer agate), ERR_BUSY, ERR_NOMEM
 */
int db_open(const char *state_dir, struct db **ret, struct err *err);

/* db_close() - NULL is fine. A transaction still open is rolled back. */
void db_close(struct db *db);

/**
 * db_begin() - Put the writes that follow into one commit
 *
 * Waits for its turn, and keeps all other writers waiting until db_commit() or
 * db_rollback(): do nothing slow in between. Nesting is a mistake (asserted);
 * calls that write on their own join the transaction that is open, and when one
 * of them fails the transaction has to be rolled back.
 */
int db_begin(struct db *db, struct err *err);
int db_commit(struct db *db, struct err *err);	/* on failure all is rolled back */
void db_rollback(struct db *db);		/* fine without a transaction */

/**
 * db_check() - SQLite's own integrity check; slow on large files
 *
 * Return: 0, or -1 with @err (ERR_INPUT) naming the first damage
 */
int db_check(struct db *db, struct err *err);

/* db_path() - of the file, for messages; lives as long as @db */
const char *db_path(const struct db *db);

static inline void own_db(struct db **db)
{
	db_close(*db);
}

#endif
