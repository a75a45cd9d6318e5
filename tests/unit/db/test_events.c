#include "tests/unit/db/fixture.h"

#include <sys/resource.h>

#include "base/clock.h"
#include "base/json.h"
#include "db/decisions.h"
#include "db/events.h"
#include "db/record.h"

static struct recorder *record(struct fixture *f, const char *id)
{
	struct recorder *r = NULL;

	if (recorder_new(f->db, id, &r, &f->err) < 0)
		fail_msg("%s", f->err.msg);
	return r;
}

static void add_event(struct fixture *f, struct recorder *r, const char *type, struct stamp *ret)
{
	if (recorder_event(r, &(struct event){ .type = type }, ret, &f->err) < 0)
		fail_msg("%s", f->err.msg);
}

static int note_event(void *cookie, const struct event_row *row)
{
	char *text = cookie;

	sprintf(text + strlen(text), "%s/%lld/%s/%s ", row->run_id, (long long)row->seq, row->type,
		row->data ? row->data : "-");
	return 0;
}

struct seen {
	int n;
	char text[2048];
	struct violation_row row;
};

static int note_violation(void *cookie, const struct violation_row *row)
{
	struct seen *s = cookie;

	s->n++;
	s->row = *row;
	if (strlen(s->text) < 1900)
		sprintf(s->text + strlen(s->text), "%s/%lld/%s/%s/%lld ", row->run_id ? row->run_id : "-",
			(long long)row->seq, row->v.action, row->v.target ? row->v.target : "-",
			(long long)row->v.count);
	return 0;
}

static const struct violation env = { .layer = LAYER_FILE, .action = "file-write-create", .target = ".env",
				      .rule = "**/.env", .comm = "bash", .pid = 7 };
static const struct violation host = { .layer = LAYER_NETWORK, .action = "network-outbound",
				       .target = "evil.example:443", .rule = "not allowed", .comm = "curl" };

static void records_are_numbered_at_once_and_stored_by_a_flush(void **state)
{
	struct fixture *f = *state;
	OWN(json) struct json *data = json_new_object();
	struct recorder *r;
	struct stamp s;
	char text[512] = "", later[512] = "";

	make_run(f, "r1");
	r = record(f, "r1");
	json_add_int(data, "pid", 5);
	assert_false(recorder_pending(r));
	assert_int_equal(recorder_flush(r, &f->err), 0);
	assert_int_equal(recorder_event(r, &(struct event){ .type = "ready", .data = data }, &s, &f->err), 0);
	assert_int_equal(s.seq, 1);
	assert_true(s.ts_us > 1700000000000000);
	assert_int_equal(recorder_violation(r, &env, &s, &f->err), 0);
	assert_int_equal(s.seq, 2);
	add_event(f, r, "exit", &s);
	assert_int_equal(s.seq, 3);
	assert_true(recorder_pending(r));
	assert_int_equal(ask(f, "SELECT count(*) FROM events"), 0);
	assert_int_equal(recorder_flush(r, &f->err), 0);
	assert_false(recorder_pending(r));
	add_event(f, r, "late", &s);
	assert_int_equal(s.seq, 4);
	assert_int_equal(recorder_flush(r, &f->err), 0);

	assert_int_equal(events_each(f->db, &(struct event_filter){ .run = "r1" }, note_event, text, &f->err), 0);
	assert_string_equal(text, "r1/1/ready/{\"pid\":5} r1/3/exit/- r1/4/late/- ");
	assert_int_equal(events_each(f->db, &(struct event_filter){ .run = "r1", .after_seq = 1, .type = "exit" },
				     note_event, later, &f->err), 0);
	assert_string_equal(later, "r1/3/exit/- ");
	assert_int_equal(events_each(f->db, &(struct event_filter){ .run = "x" }, note_event, text, &f->err), -1);
	recorder_free(r);
}

static void equal_violations_become_one_row_with_a_count(void **state)
{
	struct fixture *f = *state;
	struct violation other = env;
	int64_t rows = 0, times = 0;
	struct seen seen = { 0 };
	struct recorder *r;
	struct stamp s;

	make_run(f, "r1");
	r = record(f, "r1");
	clock_fix(1000);
	assert_int_equal(recorder_violation(r, &env, &s, &f->err), 0);
	assert_int_equal(s.count, 1);
	clock_fix(2000);
	assert_int_equal(recorder_violation(r, &env, &s, &f->err), 0);
	assert_int_equal(s.count, 2);
	assert_int_equal(s.seq, 1);
	assert_int_equal(recorder_flush(r, &f->err), 0);
	/* Also across flushes; pid, reason and such do not make a difference, comm does. */
	clock_fix(3000);
	other.pid = 8;
	other.reason = "another";
	other.count = 5;
	assert_int_equal(recorder_violation(r, &other, &s, &f->err), 0);
	assert_int_equal(s.count, 7);
	assert_int_equal(s.seq, 1);
	other.comm = "sh";
	assert_int_equal(recorder_violation(r, &other, &s, &f->err), 0);
	assert_int_equal(s.seq, 2);
	assert_int_equal(recorder_flush(r, &f->err), 0);
	clock_fix(0);

	assert_int_equal(violations_each(f->db, &(struct violation_filter){ .oldest_first = 1 }, note_violation,
					 &seen, &f->err), 0);
	assert_string_equal(seen.text, "r1/1/file-write-create/.env/7 r1/2/file-write-create/.env/5 ");
	assert_int_equal(ask(f, "SELECT last_us - ts_us FROM v_violations WHERE seq = 1"), 2000);
	assert_int_equal(ask(f, "SELECT pid FROM v_violations WHERE seq = 1"), 7);
	assert_int_equal(violations_count(f->db, "r1", &rows, &times, &f->err), 0);
	assert_int_equal(rows, 2);
	assert_int_equal(times, 12);
	recorder_free(r);
}

static int check_odd(void *cookie, const struct violation_row *row)
{
	(void)cookie;
	assert_int_equal(row->v.layer, LAYER_EXEC);
	assert_string_equal(row->v.action, "process-exec");
	assert_string_equal(row->v.target, "/tmp/\\xff\\xfe\n\x1b[2J\\x5cx41");
	assert_string_equal(row->v.resolved, "caf\xc3\xa9");
	assert_string_equal(row->v.rule, "");
	assert_null(row->v.reason);
	assert_string_equal(row->v.syscall, "execve");
	assert_string_equal(row->v.comm, "a\\xc3");
	assert_string_equal(row->v.exe, "/bin/a");
	assert_string_equal(row->v.command_id, "c1");
	assert_string_equal(row->v.raw, "raw\\x80");
	assert_int_equal(row->v.pid, 77);
	assert_string_equal(row->mode, "chat");
	return 0;
}

static void odd_bytes_are_kept_as_escapes(void **state)
{
	const struct violation odd = {
		.layer = LAYER_EXEC, .action = "process-exec", .target = "/tmp/\xff\xfe\n\x1b[2J\\x41",
		.resolved = "caf\xc3\xa9", .rule = "", .syscall = "execve", .comm = "a\xc3", .exe = "/bin/a",
		.command_id = "c1", .raw = "raw\x80", .pid = 77,
	};
	struct fixture *f = *state;
	struct recorder *r;

	make_run(f, "r1");
	r = record(f, "r1");
	assert_int_equal(recorder_violation(r, &odd, NULL, &f->err), 0);
	assert_int_equal(recorder_flush(r, &f->err), 0);
	assert_int_equal(violations_each(f->db, &(struct violation_filter){ .run = "r1" }, check_odd, NULL, &f->err), 0);
	assert_int_equal(ask(f, "SELECT count(*) FROM v_violations WHERE target LIKE '/tmp/\\xff\\xfe%'"), 1);
	recorder_free(r);
}

static void violations_are_found_by_run_layer_action_time_and_cursor(void **state)
{
	static const struct { struct violation_filter filter; const char *text; } rows[] = {
		{ { 0 }, "r2/1/network-outbound/evil.example:443/1 r1/2/network-outbound/evil.example:443/1 "
			 "r1/1/file-write-create/.env/1 " },
		{ { .run = "r1" }, "r1/2/network-outbound/evil.example:443/1 r1/1/file-write-create/.env/1 " },
		{ { .layer = "file" }, "r1/1/file-write-create/.env/1 " },
		{ { .layer = "no such layer" }, "" },
		{ { .run = "no such run" }, "" },
		{ { .action = "network-outbound", .oldest_first = 1 },
		  "r1/2/network-outbound/evil.example:443/1 r2/1/network-outbound/evil.example:443/1 " },
		{ { .since_us = 3000 }, "r2/1/network-outbound/evil.example:443/1 " },
		{ { .after_id = 1, .oldest_first = 1 },
		  "r1/2/network-outbound/evil.example:443/1 r2/1/network-outbound/evil.example:443/1 " },
		{ { .limit = 1 }, "r2/1/network-outbound/evil.example:443/1 " },
		{ { .run = "r1", .layer = "file", .action = "file-write-create", .since_us = 1, .after_id = 1 }, "" },
	};
	struct fixture *f = *state;
	struct recorder *r1, *r2;

	make_run(f, "r1");
	make_run(f, "r2");
	r1 = record(f, "r1");
	r2 = record(f, "r2");
	clock_fix(1000);
	assert_int_equal(recorder_violation(r1, &env, NULL, &f->err), 0);
	clock_fix(2000);
	assert_int_equal(recorder_violation(r1, &host, NULL, &f->err), 0);
	clock_fix(3000);
	assert_int_equal(recorder_violation(r2, &host, NULL, &f->err), 0);
	assert_int_equal(recorder_flush(r1, &f->err), 0);
	assert_int_equal(recorder_flush(r2, &f->err), 0);
	clock_fix(0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct seen s = { 0 };

		assert_int_equal(violations_each(f->db, &rows[i].filter, note_violation, &s, &f->err), 0);
		assert_string_equal(s.text, rows[i].text);
	}
	recorder_free(r1);
	recorder_free(r2);
}

static void too_many_different_refusals_are_counted_together(void **state)
{
	struct fixture *f = *state;
	struct violation v = env;
	struct seen seen = { 0 };
	struct recorder *r;
	struct stamp s;
	char target[32];

	make_run(f, "r1");
	r = record(f, "r1");
	recorder_limit(r, 300);
	for (int i = 0; i < 1000; i++) {
		snprintf(target, sizeof(target), "/t/%d", i);
		v.target = target;
		assert_int_equal(recorder_violation(r, &v, &s, &f->err), 0);
	}
	assert_int_equal(s.seq, 301);
	assert_int_equal(s.count, 700);
	v.target = "/t/7";	/* a known one still is its own */
	assert_int_equal(recorder_violation(r, &v, &s, &f->err), 0);
	assert_int_equal(s.seq, 8);
	assert_int_equal(recorder_flush(r, &f->err), 0);
	assert_int_equal(violations_each(f->db, &(struct violation_filter){ .limit = 1 }, note_violation, &seen,
					 &f->err), 0);
	assert_string_equal(seen.text, "r1/301/file-write-create/-/700 ");
	assert_int_equal(ask(f, "SELECT count(*) FROM violations"), 301);
	recorder_free(r);
}

static void a_large_queue_is_flushed_on_the_way(void **state)
{
	struct fixture *f = *state;
	struct recorder *r;
	struct stamp s;

	make_run(f, "r1");
	r = record(f, "r1");
	for (int i = 0; i < 3000; i++)
		add_event(f, r, "tick", &s);
	assert_int_equal(s.seq, 3000);
	assert_true(ask(f, "SELECT count(*) FROM events") >= 2000);
	assert_int_equal(recorder_flush(r, &f->err), 0);
	assert_int_equal(ask(f, "SELECT count(*) FROM events"), 3000);
	recorder_free(r);
}

static void a_record_that_is_too_large_is_refused_and_the_rest_goes_on(void **state)
{
	struct fixture *f = *state;
	OWN(mem) char *large = malloc(5u << 20);
	struct violation v = env;
	struct recorder *r;
	struct stamp s;

	memset(large, 'x', (5u << 20) - 1);
	large[(5u << 20) - 1] = '\0';
	make_run(f, "r1");
	r = record(f, "r1");
	add_event(f, r, "one", &s);
	v.raw = large;
	v.target = "/y";
	assert_int_equal(recorder_violation(r, &v, &s, &f->err), -1);
	assert_int_equal(f->err.code, ERR_LIMIT);
	assert_int_equal(violation_record(f->db, NULL, &v, &f->err), -1);
	add_event(f, r, "two", &s);
	assert_int_equal(s.seq, 2);
	v.raw = NULL;
	assert_int_equal(recorder_violation(r, &v, &s, &f->err), 0);
	assert_int_equal(s.seq, 3);
	assert_int_equal(recorder_flush(r, &f->err), 0);
	recorder_free(r);
}

static void times_of_a_run_never_go_back(void **state)
{
	struct fixture *f = *state;
	struct recorder *r;
	struct stamp a, b;

	make_run(f, "r1");
	r = record(f, "r1");
	clock_fix(5000);
	add_event(f, r, "one", &a);
	clock_fix(4000);
	add_event(f, r, "two", &b);
	clock_fix(0);
	assert_int_equal(a.ts_us, 5000);
	assert_int_equal(b.ts_us, 5000);
	recorder_free(r);
}

static void a_second_recorder_of_a_run_is_found_out(void **state)
{
	struct fixture *f = *state;
	struct recorder *a, *b;
	struct stamp s;

	make_run(f, "r1");
	a = record(f, "r1");
	b = record(f, "r1");
	add_event(f, a, "one", &s);
	add_event(f, b, "two", &s);
	assert_int_equal(recorder_flush(a, &f->err), 0);
	assert_int_equal(recorder_flush(b, &f->err), -1);
	assert_int_equal(f->err.code, ERR_BUSY);
	assert_string_equal(f->err.msg, "cannot record run 'r1': another process has written records of run 'r1'");
	assert_int_equal(ask(f, "SELECT count(*) FROM events"), 1);
	recorder_free(a);
	recorder_free(b);
	assert_int_equal(recorder_new(f->db, "none", &a, &f->err), -1);
	assert_int_equal(f->err.code, ERR_NOTFOUND);
}

/* In a child: the limit stays with the process. */
static int flush_without_room(struct fixture *f)
{
	struct rlimit limit = { .rlim_cur = 1000, .rlim_max = RLIM_INFINITY };
	struct db *db = NULL;
	struct recorder *r = NULL;
	struct stamp s;

	signal(SIGXFSZ, SIG_IGN);
	if (db_open(f->dir, &db, &f->err) < 0 || recorder_new(db, "r1", &r, &f->err) < 0 ||
	    recorder_violation(r, &env, &s, &f->err) < 0)
		return 1;
	setrlimit(RLIMIT_FSIZE, &limit);
	if (recorder_flush(r, &f->err) == 0 || !recorder_pending(r) ||
	    strncmp(f->err.msg, "cannot record run 'r1': cannot write to the database: ", 54))
		return 2;
	if (recorder_violation(r, &env, &s, &f->err) < 0 || recorder_flush(r, &f->err) == 0)
		return 3;
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &limit);
	if (recorder_flush(r, &f->err) < 0 || recorder_pending(r))
		return 4;
	recorder_free(r);
	db_close(db);
	return 0;
}

static void a_flush_that_fails_drops_nothing(void **state)
{
	struct fixture *f = *state;

	make_run(f, "r1");
	if (!fork())
		_exit(flush_without_room(f));
	join(1);
	assert_int_equal(ask(f, "SELECT count FROM violations"), 2);
}

static void what_was_flushed_survives_sigkill(void **state)
{
	struct fixture *f = *state;
	int64_t seq, last = 0;
	char sql[96];
	int acks[2];
	pid_t pid;

	make_run(f, "r1");
	assert_int_equal(pipe2(acks, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		struct db *db = NULL;
		struct recorder *r = NULL;
		struct stamp s;

		alarm(60);
		if (db_open(f->dir, &db, NULL) < 0 || recorder_new(db, "r1", &r, NULL) < 0)
			_exit(1);
		for (;;) {
			for (int i = 0; i < 5; i++)
				recorder_event(r, &(struct event){ .type = "tick" }, &s, NULL);
			if (recorder_flush(r, NULL) < 0 || write(acks[1], &s.seq, sizeof(s.seq)) != sizeof(s.seq))
				_exit(1);
		}
	}
	close(acks[1]);
	for (int i = 0; i < 40 && read(acks[0], &seq, sizeof(seq)) == sizeof(seq); i++)
		last = seq;
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	while (read(acks[0], &seq, sizeof(seq)) == sizeof(seq))
		last = seq;
	close(acks[0]);
	assert_true(last >= 200);
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM events WHERE seq <= %lld", (long long)last);
	assert_int_equal(ask(f, sql), last);
}

static void ending_writes_what_is_pending_and_closes_the_row(void **state)
{
	struct fixture *f = *state;
	struct recorder *r;
	struct stamp s;

	make_run(f, "r1");
	r = record(f, "r1");
	add_event(f, r, "exit", &s);
	assert_int_equal(recorder_finish(r, &(struct run_result){ .state = "destroyed", .end_kind = "exited" },
					 &f->err), 0);
	assert_int_equal(ask(f, "SELECT count(*) FROM runs WHERE end_kind = 'exited'"), 1);
	assert_int_equal(ask(f, "SELECT seq FROM seals"), 1);
	add_event(f, r, "push.done", &s);
	assert_int_equal(s.seq, 2);
	assert_int_equal(recorder_flush(r, &f->err), 0);
	assert_int_equal(ask(f, "SELECT max(seq) FROM seals"), 2);
	recorder_free(r);
}

/* --- decisions --- */

static int check_decision(void *cookie, const struct decision_row *row)
{
	(*(int *)cookie)++;
	assert_string_equal(row->run_id, "r1");
	assert_string_equal(row->d.line, "rm -rf \\xff");
	assert_string_equal(row->d.mode, "plan");
	assert_string_equal(row->d.verdict, "deny");
	assert_string_equal(row->d.gate, "command");
	assert_null(row->d.rule);
	assert_string_equal(row->d.reason, "rm removes files");
	assert_int_equal(row->d.span_start, 0);
	assert_int_equal(row->d.span_end, 2);
	assert_string_equal(row->d.digest, "abc");
	assert_string_equal(row->d.tool_use, "t1");
	return 0;
}

static int count_decision(void *cookie, const struct decision_row *row)
{
	(void)row;
	(*(int *)cookie)++;
	return 0;
}

static void decisions_of_a_run_and_of_nobody_are_kept(void **state)
{
	const struct decision d = { .line = "rm -rf \xff", .mode = "plan", .verdict = "deny", .gate = "command",
				    .reason = "rm removes files", .span_end = 2, .digest = "abc", .tool_use = "t1" };
	const struct decision least = { .line = "ls", .verdict = "allow" };
	struct fixture *f = *state;
	struct recorder *r;
	struct stamp s;
	int of_run = 0, all = 0, denied = 0;

	make_run(f, "r1");
	r = record(f, "r1");
	assert_int_equal(recorder_decision(r, &d, &s, &f->err), 0);
	assert_int_equal(s.seq, 1);
	assert_int_equal(recorder_flush(r, &f->err), 0);
	/* Somebody else's does not disturb the supervisor. */
	assert_int_equal(decision_record(f->db, "r1", &d, &f->err), 0);
	assert_int_equal(decision_record(f->db, NULL, &least, &f->err), 0);
	assert_int_equal(recorder_decision(r, &d, &s, &f->err), 0);
	assert_int_equal(s.seq, 2);
	assert_int_equal(recorder_flush(r, &f->err), 0);
	assert_int_equal(decisions_each(f->db, &(struct decision_filter){ .run = "r1" }, check_decision, &of_run,
					&f->err), 0);
	assert_int_equal(of_run, 3);
	assert_int_equal(decisions_each(f->db, &(struct decision_filter){ 0 }, count_decision, &all, &f->err), 0);
	assert_int_equal(all, 4);
	assert_int_equal(decisions_each(f->db, &(struct decision_filter){ .verdict = "deny", .after_id = 1 },
					count_decision, &denied, &f->err), 0);
	assert_int_equal(denied, 2);
	assert_int_equal(decision_record(f->db, "none", &d, &f->err), -1);
	assert_int_equal(f->err.code, ERR_NOTFOUND);
	recorder_free(r);
}

static void a_violation_of_nobody_is_kept(void **state)
{
	struct fixture *f = *state;
	struct seen all = { 0 }, of_run = { 0 };

	make_run(f, "r1");
	assert_int_equal(violation_record(f->db, NULL, &env, &f->err), 0);
	assert_int_equal(violation_record(f->db, "r1", &env, &f->err), 0);
	assert_int_equal(violations_each(f->db, &(struct violation_filter){ .oldest_first = 1 }, note_violation,
					 &all, &f->err), 0);
	assert_string_equal(all.text, "-/1/file-write-create/.env/1 r1/2/file-write-create/.env/1 ");
	assert_int_equal(violations_each(f->db, &(struct violation_filter){ .run = "r1" }, note_violation, &of_run,
					 &f->err), 0);
	assert_int_equal(of_run.n, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(records_are_numbered_at_once_and_stored_by_a_flush),
		TEST(equal_violations_become_one_row_with_a_count),
		TEST(odd_bytes_are_kept_as_escapes),
		TEST(violations_are_found_by_run_layer_action_time_and_cursor),
		TEST(too_many_different_refusals_are_counted_together),
		TEST(a_large_queue_is_flushed_on_the_way),
		TEST(a_record_that_is_too_large_is_refused_and_the_rest_goes_on),
		TEST(times_of_a_run_never_go_back),
		TEST(a_second_recorder_of_a_run_is_found_out),
		TEST(a_flush_that_fails_drops_nothing),
		TEST(what_was_flushed_survives_sigkill),
		TEST(ending_writes_what_is_pending_and_closes_the_row),
		TEST(decisions_of_a_run_and_of_nobody_are_kept),
		TEST(a_violation_of_nobody_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
