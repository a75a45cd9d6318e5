/*
 * tests/unit/db/fixture.h - a state directory of one's own, and a second way into its file
 */
#ifndef TESTS_UNIT_DB_FIXTURE_H
#define TESTS_UNIT_DB_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "db/db.h"
#include "db/runs.h"

struct fixture {
	char dir[64];
	struct db *db;
	struct err err;
};

static inline int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	alarm(100);
	strcpy(f->dir, "/tmp/agate-db-XXXXXX");
	*state = f;
	if (!mkdtemp(f->dir) || db_open(f->dir, &f->db, &f->err) < 0) {
		fprintf(stderr, "%s\n", f->err.msg);
		return -1;
	}
	return 0;
}

static inline int tear_down(void **state)
{
	static const char *const names[] = { "agate.db", "agate.db-wal", "agate.db-shm", "agate.db.lock", "" };
	struct fixture *f = *state;
	char path[128];

	db_close(f->db);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", f->dir, names[i]);
		remove(path);
	}
	free(f);
	return 0;
}

/* Behind agate's back, as somebody with an SQL tool would: no lock, no defence. */
static inline void meddle(const struct fixture *f, const char *sql)
{
	sqlite3 *raw = NULL;
	char *why = NULL;

	assert_int_equal(sqlite3_open(db_path(f->db), &raw), SQLITE_OK);
	sqlite3_busy_timeout(raw, 5000);
	if (sqlite3_exec(raw, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	assert_true(sqlite3_changes(raw) > 0 || !strncmp(sql, "PRAGMA", 6));
	sqlite3_close(raw);
}

static inline int64_t ask(const struct fixture *f, const char *sql)
{
	sqlite3 *raw = NULL;
	sqlite3_stmt *st = NULL;
	int64_t n = -1;

	assert_int_equal(sqlite3_open(db_path(f->db), &raw), SQLITE_OK);
	sqlite3_busy_timeout(raw, 5000);
	assert_int_equal(sqlite3_prepare_v2(raw, sql, -1, &st, NULL), SQLITE_OK);
	if (sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(raw);
	return n;
}

static inline void make_run(struct fixture *f, const char *id)
{
	const struct run_row row = { .id = id, .state = "created", .mode = "chat" };

	if (run_insert(f->db, &row, &f->err) < 0)
		fail_msg("%s", f->err.msg);
}

/* Wait for @n children; each must have exited with 0. */
static inline void join(int n)
{
	while (n--) {
		int status = -1;

		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

#endif
