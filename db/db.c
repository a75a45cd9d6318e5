#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "db/db.h"
#include "db/db_internal.h"

#define WAIT_MS 10000		/* for a turn to write */
#define CLOSE_WAIT_MS 2000
#define NAP_US 150
#define LOCK_BYTE 0
#define NEXT_BYTE 1
#define WAL_FRAMES_MAX 1000	/* then the WAL is copied into the file: about 4 MB */
#define WAL_FRAMES_STEP 250	/* further frames before it is tried again */
#define CLOSE_FRAMES_MIN 200	/* the last one to close leaves fewer than these where they are */
#define OLDEST_SQLITE 3037000	/* STRICT tables */

/* --- errors --- */

static enum err_code code_of(int result)
{
	static const struct { int result; enum err_code code; } codes[] = {
		{ SQLITE_BUSY, ERR_BUSY },	{ SQLITE_LOCKED, ERR_BUSY },
		{ SQLITE_NOMEM, ERR_NOMEM },	{ SQLITE_CORRUPT, ERR_INPUT },
		{ SQLITE_NOTADB, ERR_INPUT },	{ SQLITE_TOOBIG, ERR_LIMIT },
	};

	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (codes[i].result == (result & 0xff))
			return codes[i].code;
	return ERR_SYS;
}

int db_fail(struct db *db, const char *what, struct err *err)
{
	int result = sqlite3_extended_errcode(db->sql);
	int sys = sqlite3_system_errno(db->sql);

	/* SQLite's own words for a failed read or write do not say why it failed. */
	if ((result & 0xff) != SQLITE_IOERR && (result & 0xff) != SQLITE_CANTOPEN)
		sys = 0;
	err_set(err, code_of(result), sys, "cannot %s the database: %s", what, sqlite3_errmsg(db->sql));
	if ((result & 0xff) == SQLITE_FULL)
		err_hint(err, "make room on the file system of '%s'", db->path);
	else if (code_of(result) == ERR_INPUT)
		err_hint(err, "'%s' is damaged or not a database; move it away to begin anew", db->path);
	return -1;
}

/* --- waiting --- */

/*
 * A random nap of @least_us to twice that. SQLite's own waiting naps longer each
 * time, so that who has waited longest asks least often, and starves.
 */
static void nap(uint32_t least_us)
{
	uint32_t dice = 0;
	struct timespec t;

	if (getrandom(&dice, sizeof(dice), GRND_NONBLOCK) < 0)
		dice = (uint32_t)clock_wall_us();
	t = (struct timespec){ .tv_nsec = (least_us + dice % least_us) * 1000 };
	nanosleep(&t, NULL);
}

/* Beside the lock file this matters while a database is opened, recovered or closed. */
static int on_busy(void *cookie, int times)
{
	struct db *db = cookie;
	int64_t now = clock_mono_ms();

	if (!times)
		db->busy_since_ms = now;
	if (now - db->busy_since_ms > WAIT_MS)
		return 0;
	nap(NAP_US);
	return 1;
}

/* A byte of the lock file, held by this open file and not by the process. */
static int try_byte(struct db *db, off_t byte, short type)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

	return fcntl(db->lock_fd, F_OFD_SETLK, &l);
}

/* 0, or -1 with errno: EAGAIN when the time is over. */
static int wait_byte(struct db *db, off_t byte, int64_t until_ms)
{
	while (try_byte(db, byte, F_WRLCK) < 0) {
		if (errno != EAGAIN && errno != EACCES && errno != EINTR)
			return -1;
		if (clock_mono_ms() > until_ms) {
			errno = EAGAIN;
			return -1;
		}
		nap(byte == NEXT_BYTE ? 2 * NAP_US : NAP_US);
	}
	return 0;
}

/*
 * First become the next one, then wait for the lock itself: who has just had it
 * cannot snatch it again from the one who is next.
 */
static int lock_within(struct db *db, int64_t wait_ms)
{
	int64_t until_ms = clock_mono_ms() + wait_ms;
	int r, saved;

	if (wait_byte(db, NEXT_BYTE, until_ms) < 0)
		return -1;
	r = wait_byte(db, LOCK_BYTE, until_ms);
	saved = errno;
	try_byte(db, NEXT_BYTE, F_UNLCK);
	errno = saved;
	return r;
}

int db_lock(struct db *db, struct err *err)
{
	if (!lock_within(db, WAIT_MS))
		return 0;
	if (errno != EAGAIN)
		return err_set(err, ERR_SYS, errno, "cannot lock '%s.lock'", db->path);
	err_set(err, ERR_BUSY, 0, "cannot write to the database: another process has kept it for over %d s",
		WAIT_MS / 1000);
	return err_hint(err, "'fuser %s.lock' tells which", db->path);
}

void db_unlock(struct db *db)
{
	try_byte(db, LOCK_BYTE, F_UNLCK);
}

/* --- transactions --- */

int db_begin(struct db *db, struct err *err)
{
	assert(!db->in_tx);
	if (db_lock(db, err) < 0)
		return -1;
	if (sqlite3_exec(db->sql, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) {
		db_fail(db, "write to", err);
		db_unlock(db);
		return -1;
	}
	db->in_tx = 1;
	return 0;
}

static int on_wal(void *cookie, sqlite3 *sql, const char *name, int frames)
{
	struct db *db = cookie;

	(void)sql;
	(void)name;
	db->wal_frames = frames;
	return SQLITE_OK;
}

/*
 * Still under the lock, so no writer can restart the WAL meanwhile. A reader may
 * keep part of it in use; then the next commits try again, and none fails.
 */
static void empty_wal(struct db *db)
{
	if (db->wal_frames < db->wal_tried)
		db->wal_tried = 0;
	if (db->wal_frames < WAL_FRAMES_MAX || db->wal_frames < db->wal_tried + WAL_FRAMES_STEP)
		return;
	db->wal_tried = db->wal_frames;
	sqlite3_wal_checkpoint_v2(db->sql, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

int db_commit(struct db *db, struct err *err)
{
	assert(db->in_tx);
	if (sqlite3_exec(db->sql, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) {
		db_fail(db, "write to", err);
		db_rollback(db);
		return -1;
	}
	empty_wal(db);
	db->in_tx = 0;
	db_unlock(db);
	return 0;
}

void db_rollback(struct db *db)
{
	if (!db->in_tx)
		return;
	/* After some errors SQLite has rolled back by itself, and there is none to end. */
	if (!sqlite3_get_autocommit(db->sql))
		sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
	word_forget(db);
	db->in_tx = 0;
	db_unlock(db);
}

int tx_run(struct db *db, int (*fn)(struct db *db, void *cookie, struct err *err), void *cookie,
	   struct err *err)
{
	if (db->in_tx)
		return fn(db, cookie, err);
	if (db_begin(db, err) < 0)
		return -1;
	if (fn(db, cookie, err) < 0) {
		db_rollback(db);
		return -1;
	}
	return db_commit(db, err);
}

/* --- opening --- */

/* The directory and the two files, before SQLite sees them: their modes are ours to set. */
static int make_files(struct db *db, const char *dir, struct err *err)
{
	OWN(fd) int dir_fd = -1, fd = -1;
	struct stat st;

	if (io_mkdirs(dir, 0700, err) < 0)
		return -1;
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0 || fstat(dir_fd, &st) < 0)
		return err_set(err, ERR_SYS, errno, "cannot open '%s'", dir);
	if (st.st_mode & 022) {
		err_set(err, ERR_POLICY, 0, "others may write in the state directory '%s'", dir);
		return err_hint(err, "chmod 700 '%s'", dir);
	}
	fd = openat(dir_fd, "agate.db", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, ERR_SYS, errno, "cannot open '%s'", db->path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_POLICY, 0, "'%s' is not a regular file", db->path);
	if ((st.st_mode & 077) && fchmod(fd, 0600) < 0)
		return err_set(err, ERR_SYS, errno, "cannot make '%s' private", db->path);
	db->lock_fd = openat(dir_fd, "agate.db.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (db->lock_fd < 0)
		return err_set(err, ERR_SYS, errno, "cannot open '%s.lock'", db->path);
	return 0;
}

/* For this connection. The file's own schema is not trusted to run code. */
static int configure(struct db *db, struct err *err)
{
	static const char pragmas[] =
		"PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;"
		"PRAGMA journal_size_limit = 16777216; PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON";

	sqlite3_busy_handler(db->sql, on_busy, db);
	sqlite3_extended_result_codes(db->sql, 1);
	sqlite3_db_config(db->sql, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db->sql, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(db->sql, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	if (sqlite3_exec(db->sql, pragmas, NULL, NULL, NULL) != SQLITE_OK)
		return db_fail(db, "open", err);
	/* Replaces SQLite's own checkpoints, which would not be under the lock. */
	sqlite3_wal_hook(db->sql, on_wal, db);
	return 0;
}

/* Ours, new, or somebody else's? And of which version? */
static int check_file(struct db *db, int64_t *ret_version, struct err *err)
{
	int64_t application = 0, tables = 0;

	if (sql_int(db, err, &application, "PRAGMA application_id", "") < 0 ||
	    sql_int(db, err, ret_version, "PRAGMA user_version", "") < 0 ||
	    sql_int(db, err, &tables, "SELECT count(*) FROM sqlite_schema", "") < 0)
		return -1;
	if (application != DB_APPLICATION_ID && (application || *ret_version || tables))
		return err_set(err, ERR_INPUT, 0, "'%s' is not a database of agate", db->path);
	if (*ret_version > schema_version()) {
		err_set(err, ERR_INPUT, 0, "'%s' was written by a newer agate (version %lld, known: %d)", db->path,
			(long long)*ret_version, schema_version());
		return err_hint(err, "use the newer agate, or another AGATE_STATE_DIR");
	}
	return 0;
}

static int open_file(struct db *db, struct err *err)
{
	int64_t version = 0;

	if (sqlite3_libversion_number() < OLDEST_SQLITE)
		return err_set(err, ERR_MISSING, 0, "SQLite %s is too old: 3.37 is needed", sqlite3_libversion());
	if (sqlite3_open_v2(db->path, &db->sql, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		return db->sql ? db_fail(db, "open", err) : err_set(err, ERR_NOMEM, 0, "out of memory");
	if (configure(db, err) < 0 || check_file(db, &version, err) < 0)
		return -1;
	return version < schema_version() ? schema_update(db, err) : 0;
}

int db_open(const char *state_dir, struct db **ret, struct err *err)
{
	OWN(db) struct db *db = calloc(1, sizeof(*db));

	if (!db)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	db->lock_fd = -1;
	if (asprintf(&db->path, "%s/agate.db", state_dir) < 0) {
		db->path = NULL;
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	}
	if (make_files(db, state_dir, err) < 0 || open_file(db, err) < 0)
		return -1;
	*ret = TAKE(db);
	return 0;
}

/*
 * The last one to close empties the WAL and removes it, which costs three syncs now
 * and two more for the next one to make it: worth it only when there is much in it,
 * since the next one has to read it through. It has to be under the lock; better
 * not at all than without.
 */
static void close_file(struct db *db)
{
	int is_locked = db->wal_frames >= CLOSE_FRAMES_MIN && db->lock_fd >= 0 && !lock_within(db, CLOSE_WAIT_MS);

	if (!is_locked)
		sqlite3_db_config(db->sql, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_close(db->sql);
}

void db_close(struct db *db)
{
	if (!db)
		return;
	db_rollback(db);
	sql_forget(db);
	if (db->sql)
		close_file(db);
	if (db->lock_fd >= 0)
		close(db->lock_fd);	/* and with it the lock */
	free(db->path);
	free(db);
}

const char *db_path(const struct db *db)
{
	return db->path;
}

int db_check(struct db *db, struct err *err)
{
	OWN(stmt) sqlite3_stmt *st = sql_query(db, err, "PRAGMA integrity_check(1)", "");
	const char *word;

	if (!st || sql_step(db, st, err) < 0)
		return -1;
	word = (const char *)sqlite3_column_text(st, 0);
	if (!word || strcmp(word, "ok"))
		return err_set(err, ERR_INPUT, 0, "'%s' is damaged: %s", db->path, word ? word : "");
	return 0;
}
