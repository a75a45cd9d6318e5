#include "tests/unit/db/fixture.h"

#include <errno.h>
#include <sys/resource.h>
#include <time.h>

#include "db/db_internal.h"
#include "db/events.h"
#include "db/journal.h"

static void an_empty_directory_gets_a_private_database_of_the_newest_version(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	assert_int_equal(stat(db_path(f->db), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(ask(f, "PRAGMA user_version"), schema_version());
	assert_int_equal(ask(f, "PRAGMA application_id"), DB_APPLICATION_ID);
	assert_int_equal(ask(f, "SELECT count(*) FROM sqlite_schema WHERE type = 'table'"
				" AND name NOT LIKE 'sqlite_%' AND sql NOT LIKE '%STRICT%'"), 0);
	assert_int_equal(ask(f, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'"), 1);
	assert_int_equal(ask(f, "PRAGMA auto_vacuum"), 2);
	assert_int_equal(db_check(f->db, &f->err), 0);
}

static void views_for_people_work(void **state)
{
	struct fixture *f = *state;

	make_run(f, "r1");
	assert_int_equal(ask(f, "SELECT count(*) FROM v_runs"), 1);
	assert_int_equal(ask(f, "SELECT count(*) FROM v_events"), 0);
	assert_int_equal(ask(f, "SELECT count(*) FROM v_violations"), 0);
	assert_int_equal(ask(f, "SELECT count(*) FROM v_decisions"), 0);
}

static void a_second_open_and_a_reopening_see_what_is_there(void **state)
{
	struct fixture *f = *state;
	struct db *second = NULL;
	char *id = NULL;

	make_run(f, "r1");
	assert_int_equal(db_open(f->dir, &second, &f->err), 0);
	assert_int_equal(run_find(second, "r1", &id, &f->err), 0);
	free(id);
	db_close(second);
	make_run(f, "r2");
	db_close(f->db);
	assert_int_equal(db_open(f->dir, &f->db, &f->err), 0);
	assert_int_equal(run_find(f->db, "r2", &id, &f->err), 0);
	free(id);
	assert_int_equal(ask(f, "PRAGMA user_version"), schema_version());
}

static void a_missing_state_directory_is_made_private(void **state)
{
	struct fixture *f = *state;
	struct db *db = NULL;
	struct stat st;
	char dir[96];

	snprintf(dir, sizeof(dir), "%s/a/b", f->dir);
	assert_int_equal(db_open(dir, &db, &f->err), 0);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	db_close(db);
	for (const char *const *n = (const char *const[]){ "b/agate.db", "b/agate.db-wal", "b/agate.db-shm", "b/agate.db.lock",
							  "b", "", NULL }; *n; n++) {
		snprintf(dir, sizeof(dir), "%s/a/%s", f->dir, *n);
		assert_int_equal(remove(dir), 0);
	}
}

static void a_directory_others_may_write_in_is_refused(void **state)
{
	struct fixture *f = *state;
	struct db *db = NULL;
	char want[160];

	assert_int_equal(chmod(f->dir, 0720), 0);
	assert_int_equal(db_open(f->dir, &db, &f->err), -1);
	assert_int_equal(f->err.code, ERR_POLICY);
	snprintf(want, sizeof(want), "others may write in the state directory '%s'", f->dir);
	assert_string_equal(f->err.msg, want);
	assert_null(db);
	assert_int_equal(chmod(f->dir, 0700), 0);
}

static void a_link_in_place_of_the_database_is_refused(void **state)
{
	struct fixture *f = *state;
	struct db *db = NULL;
	char path[96];

	snprintf(path, sizeof(path), "%s/agate.db", f->dir);
	db_close(f->db);
	f->db = NULL;
	assert_int_equal(remove(path), 0);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(db_open(f->dir, &db, &f->err), -1);
	assert_int_equal(f->err.sys, ELOOP);
}

static void another_programs_file_and_a_newer_one_are_refused(void **state)
{
	struct fixture *f = *state;
	struct db *db = NULL;
	char want[160];

	meddle(f, "PRAGMA user_version = 99");
	assert_int_equal(db_open(f->dir, &db, &f->err), -1);
	snprintf(want, sizeof(want), "'%s' was written by a newer agate (version 99, known: %d)", db_path(f->db),
		 schema_version());
	assert_string_equal(f->err.msg, want);
	meddle(f, "PRAGMA application_id = 1");
	assert_int_equal(db_open(f->dir, &db, &f->err), -1);
	assert_int_equal(f->err.code, ERR_INPUT);
	snprintf(want, sizeof(want), "'%s' is not a database of agate", db_path(f->db));
	assert_string_equal(f->err.msg, want);
}

/* What the last one to close may leave beside the file. */
static void remove_log(const struct fixture *f)
{
	for (const char *const *n = (const char *const[]){ "wal", "shm", NULL }; *n; n++) {
		char path[96];

		snprintf(path, sizeof(path), "%s/agate.db-%s", f->dir, *n);
		unlink(path);
	}
}

static void a_short_log_is_left_for_the_next_and_a_long_one_is_not(void **state)
{
	struct fixture *f = *state;
	char path[96], id[16];
	struct stat st;

	snprintf(path, sizeof(path), "%s/agate.db-wal", f->dir);
	make_run(f, "first");
	db_close(f->db);
	f->db = NULL;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(db_open(f->dir, &f->db, &f->err), 0);
	assert_int_equal(db_check(f->db, &f->err), 0);
	for (int i = 0; i < 60; i++) {
		snprintf(id, sizeof(id), "r%d", i);
		make_run(f, id);
	}
	db_close(f->db);
	f->db = NULL;
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(db_open(f->dir, &f->db, &f->err), 0);
	assert_int_equal(db_check(f->db, &f->err), 0);
}

static void a_file_that_is_no_database_is_refused_and_left_alone(void **state)
{
	struct fixture *f = *state;
	struct db *db = NULL;
	char path[96], back[16] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/agate.db", f->dir);
	db_close(f->db);
	f->db = NULL;
	remove_log(f);
	fd = open(path, O_RDWR | O_TRUNC | O_CLOEXEC);
	assert_int_equal(write(fd, "my own words", 12), 12);
	assert_int_equal(db_open(f->dir, &db, &f->err), -1);
	assert_int_equal(f->err.code, ERR_INPUT);
	assert_string_equal(f->err.msg, "cannot open the database: file is not a database");
	assert_int_equal(pread(fd, back, 15, 0), 12);
	assert_string_equal(back, "my own words");
	close(fd);
}

/* --- many processes --- */

static void wait_for_start(int fd)
{
	char c;

	while (read(fd, &c, 1) < 0 && errno == EINTR)
		;
}

/* A child of @n that begins together with the others, when @start is closed. */
static int in_child(int start[2])
{
	if (fork())
		return 0;
	alarm(60);
	close(start[1]);
	wait_for_start(start[0]);
	return 1;
}

static void many_may_open_a_new_database_at_once(void **state)
{
	struct fixture *f = *state;
	char path[96];
	int start[2];

	db_close(f->db);
	f->db = NULL;
	snprintf(path, sizeof(path), "%s/agate.db", f->dir);
	assert_int_equal(remove(path), 0);
	remove_log(f);
	assert_int_equal(pipe2(start, O_CLOEXEC), 0);
	for (int i = 0; i < 12; i++) {
		struct err err = { 0 };
		struct db *db = NULL;

		if (!in_child(start))
			continue;
		if (db_open(f->dir, &db, &err) < 0)
			fprintf(stderr, "# %s\n", err.msg);
		db_close(db);
		_exit(db ? 0 : 1);
	}
	close(start[0]);
	close(start[1]);
	join(12);
	assert_int_equal(db_open(f->dir, &f->db, &f->err), 0);
	assert_int_equal(db_check(f->db, &f->err), 0);
}

#define WRITERS 4
#define COMMITS 60

/* Writes @COMMITS journal entries, each a commit; the longest wait in ms is its status' message. */
static int write_many(const char *dir, int number, struct err *err)
{
	OWN(db) struct db *db = NULL;
	char id[16];
	int64_t entry;

	snprintf(id, sizeof(id), "w%d", number);
	if (db_open(dir, &db, err) < 0 ||
	    run_insert(db, &(struct run_row){ .id = id, .state = "active", .mode = "chat" }, err) < 0)
		return -1;
	for (int i = 0; i < COMMITS; i++)
		if (journal_begin(db, id, "step", "{}", &entry, err) < 0)
			return -1;
	return 0;
}

static void writers_of_many_processes_never_fail_as_busy(void **state)
{
	struct fixture *f = *state;
	int start[2];

	assert_int_equal(pipe2(start, O_CLOEXEC), 0);
	for (int i = 0; i < WRITERS; i++) {
		struct err err = { 0 };

		if (!in_child(start))
			continue;
		if (write_many(f->dir, i, &err) == 0)
			_exit(0);
		fprintf(stderr, "# writer %d: %s\n", i, err.msg);
		_exit(1);
	}
	close(start[0]);
	close(start[1]);
	join(WRITERS);
	assert_int_equal(ask(f, "SELECT count(*) FROM journal"), WRITERS * COMMITS);
	assert_int_equal(ask(f, "SELECT min(n) FROM (SELECT count(*) AS n FROM journal GROUP BY run)"), COMMITS);
	assert_int_equal(db_check(f->db, &f->err), 0);
}

static void what_was_acknowledged_survives_sigkill(void **state)
{
	struct fixture *f = *state;

	make_run(f, "r1");
	for (int round = 0; round < 10; round++) {
		int64_t ids[256], n = 0;
		int acks[2];
		ssize_t got;
		pid_t pid;

		assert_int_equal(pipe2(acks, O_CLOEXEC), 0);
		pid = fork();
		if (!pid) {
			struct db *db = NULL;
			int64_t id;

			alarm(60);
			if (db_open(f->dir, &db, NULL) < 0)
				_exit(1);
			while (!journal_begin(db, "r1", "step", NULL, &id, NULL) &&
			       write(acks[1], &id, sizeof(id)) == sizeof(id))
				;
			_exit(1);
		}
		close(acks[1]);
		while (n < 10 + round * 3 && read(acks[0], &ids[n], sizeof(ids[n])) == sizeof(ids[n]))
			n++;
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		while (n < 256 && (got = read(acks[0], &ids[n], sizeof(ids[n]))) == sizeof(ids[n]))
			n++;
		close(acks[0]);
		for (int64_t i = 0; i < n; i++) {
			char sql[96];

			snprintf(sql, sizeof(sql), "SELECT count(*) FROM journal WHERE id = %lld", (long long)ids[i]);
			assert_int_equal(ask(f, sql), 1);
		}
	}
	assert_int_equal(db_check(f->db, &f->err), 0);
}

static void a_process_that_keeps_the_lock_is_waited_for_and_then_named(void **state)
{
	struct fixture *f = *state;
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	char path[96];
	int64_t before;
	int fd;

	snprintf(path, sizeof(path), "%s/agate.db.lock", f->dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	before = time(NULL);
	assert_int_equal(db_begin(f->db, &f->err), -1);
	assert_true(time(NULL) - before >= 9);
	assert_int_equal(f->err.code, ERR_BUSY);
	assert_string_equal(f->err.msg, "cannot write to the database: another process has kept it for over 10 s");
	close(fd);
	assert_int_equal(db_begin(f->db, &f->err), 0);
	db_rollback(f->db);
}

/* --- transactions --- */

static void a_transaction_is_one_commit_or_nothing(void **state)
{
	struct fixture *f = *state;
	int64_t id;

	assert_int_equal(db_begin(f->db, &f->err), 0);
	make_run(f, "r1");
	assert_int_equal(journal_begin(f->db, "r1", "step", NULL, &id, &f->err), 0);
	db_rollback(f->db);
	assert_int_equal(ask(f, "SELECT count(*) FROM runs"), 0);

	assert_int_equal(db_begin(f->db, &f->err), 0);
	make_run(f, "r1");
	assert_int_equal(journal_begin(f->db, "r1", "step", NULL, &id, &f->err), 0);
	assert_int_equal(ask(f, "SELECT count(*) FROM runs"), 0);
	assert_int_equal(db_commit(f->db, &f->err), 0);
	assert_int_equal(ask(f, "SELECT count(*) FROM runs"), 1);
	assert_int_equal(ask(f, "SELECT count(*) FROM journal"), 1);
}

static void words_of_a_rolled_back_transaction_are_made_anew(void **state)
{
	struct fixture *f = *state;
	const struct violation v = { .layer = LAYER_FILE, .action = "file-write-create", .target = "/x" };

	assert_int_equal(db_begin(f->db, &f->err), 0);
	assert_int_equal(violation_record(f->db, NULL, &v, &f->err), 0);
	db_rollback(f->db);
	assert_int_equal(ask(f, "SELECT count(*) FROM words"), 0);
	assert_int_equal(violation_record(f->db, NULL, &v, &f->err), 0);
	assert_int_equal(ask(f, "SELECT count(*) FROM v_violations WHERE target = '/x'"), 1);
}

/* In a child, since the limit stays with the process. */
static int fill_up(const char *dir)
{
	struct rlimit limit = { .rlim_max = RLIM_INFINITY };
	char data[8192];
	struct err err = { 0 };
	struct db *db = NULL;
	struct stat st;
	int64_t id, good = 0;

	signal(SIGXFSZ, SIG_IGN);
	memset(data, 'x', sizeof(data) - 1);
	data[sizeof(data) - 1] = '\0';
	if (db_open(dir, &db, &err) < 0 || stat(db_path(db), &st) < 0)
		return 1;
	limit.rlim_cur = 600000;	/* more than an empty database takes */
	setrlimit(RLIMIT_FSIZE, &limit);
	while (good < 1000 && !journal_begin(db, "r1", "step", data, &id, &err))
		good++;
	if (good == 1000 || !good || err.code != ERR_SYS ||
	    strncmp(err.msg, "cannot write to the database: ", 30))
		return 2;
	/* It stays usable: once there is room again, it goes on. */
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &limit);
	if (journal_begin(db, "r1", "step", "last", &id, &err) < 0)
		return 3;
	db_close(db);
	return 0;
}

static void without_room_a_write_fails_with_a_reason_and_leaves_nothing(void **state)
{
	struct fixture *f = *state;

	make_run(f, "r1");
	if (!fork())
		_exit(fill_up(f->dir));
	join(1);
	assert_int_equal(ask(f, "SELECT count(*) FROM journal WHERE length(data) NOT IN (8191, 4)"), 0);
	assert_int_equal(ask(f, "SELECT count(*) FROM journal WHERE data = 'last'"), 1);
	assert_int_equal(db_check(f->db, &f->err), 0);
}

static void the_wal_is_kept_short_even_beside_a_reader(void **state)
{
	struct fixture *f = *state;
	char data[4000], path[96];
	sqlite3 *reader = NULL;
	struct stat st;
	int64_t id;

	memset(data, 'x', sizeof(data) - 1);
	data[sizeof(data) - 1] = '\0';
	snprintf(path, sizeof(path), "%s/agate.db-wal", f->dir);
	make_run(f, "r1");
	for (int i = 0; i < 800; i++)
		assert_int_equal(journal_begin(f->db, "r1", "step", data, &id, &f->err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size < 8 * 1024 * 1024);

	/* A reader that stays keeps the WAL from being emptied, but no write fails. */
	assert_int_equal(sqlite3_open(db_path(f->db), &reader), SQLITE_OK);
	assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM journal", NULL, NULL, NULL), SQLITE_OK);
	for (int i = 0; i < 800; i++)
		assert_int_equal(journal_begin(f->db, "r1", "step", data, &id, &f->err), 0);
	sqlite3_close(reader);
	for (int i = 0; i < 300; i++)
		assert_int_equal(journal_begin(f->db, "r1", "step", data, &id, &f->err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size <= 16 * 1024 * 1024 + 65536);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(an_empty_directory_gets_a_private_database_of_the_newest_version),
		TEST(views_for_people_work),
		TEST(a_second_open_and_a_reopening_see_what_is_there),
		TEST(a_missing_state_directory_is_made_private),
		TEST(a_directory_others_may_write_in_is_refused),
		TEST(a_link_in_place_of_the_database_is_refused),
		TEST(another_programs_file_and_a_newer_one_are_refused),
		TEST(a_file_that_is_no_database_is_refused_and_left_alone),
		TEST(a_short_log_is_left_for_the_next_and_a_long_one_is_not),
		TEST(many_may_open_a_new_database_at_once),
		TEST(writers_of_many_processes_never_fail_as_busy),
		TEST(what_was_acknowledged_survives_sigkill),
		TEST(a_process_that_keeps_the_lock_is_waited_for_and_then_named),
		TEST(a_transaction_is_one_commit_or_nothing),
		TEST(words_of_a_rolled_back_transaction_are_made_anew),
		TEST(without_room_a_write_fails_with_a_reason_and_leaves_nothing),
		TEST(the_wal_is_kept_short_even_beside_a_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
