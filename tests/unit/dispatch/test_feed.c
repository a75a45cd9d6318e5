#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/own.h"
#include "db/db.h"
#include "db/events.h"
#include "db/runs.h"
#include "dispatch/feed.h"
#include "dispatch/id.h"

/* A database in a directory of its own, with one open run. */
struct desk {
	char dir[64];
	struct db *db;
	struct feed feed;
	int lines;	/* where NDJSON goes */
};

static void set_up(struct desk *d, int as_json)
{
	const struct run_row row = { .id = "r1", .state = "active", .mode = "chat" };
	struct err err = { 0 };

	clock_fix(1785446566123456);
	snprintf(d->dir, sizeof(d->dir), "/tmp/agate-feed.XXXXXX");
	assert_non_null(mkdtemp(d->dir));
	if (db_open(d->dir, &d->db, &err) < 0 || run_insert(d->db, &row, &err) < 0 ||
	    feed_init(&d->feed, d->db, "r1", as_json, &err) < 0)
		fail_msg("%s", err.msg);
	d->lines = memfd_create("lines", MFD_CLOEXEC);
	d->feed.out = d->lines;
}

static void tear_down(struct desk *d)
{
	char cmd[96];

	feed_done(&d->feed);
	db_close(d->db);
	close(d->lines);
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", d->dir);
	assert_int_equal(system(cmd), 0);
	clock_fix(0);
}

static char *printed(struct desk *d)
{
	struct buf b = { 0 };

	buf_adds(&b, "");
	lseek(d->lines, 0, SEEK_SET);
	assert_int_equal(io_read_fd(d->lines, 1 << 20, &b, NULL), 0);
	return buf_steal(&b);
}

static void every_line_has_run_seq_ts_and_type(void **state)
{
	struct desk d;
	struct json *j = json_new_object();

	(void)state;
	set_up(&d, 1);
	json_add_str(j, "backend", "none");
	feed_event(&d.feed, "starting", j);
	feed_event(&d.feed, "token.none", NULL);
	assert_int_equal(feed_flush(&d.feed, NULL), 0);
	OWN(mem) char *got = printed(&d);
	assert_string_equal(got,
		"{\"run\":\"r1\",\"seq\":1,\"ts\":\"2026-07-30T21:22:46.123456Z\",\"type\":\"starting\",\"backend\":\"none\"}\n"
		"{\"run\":\"r1\",\"seq\":2,\"ts\":\"2026-07-30T21:22:46.123456Z\",\"type\":\"token.none\"}\n");
	tear_down(&d);
}

static void nothing_is_printed_before_it_is_on_disk(void **state)
{
	struct desk d;

	(void)state;
	set_up(&d, 1);
	feed_event(&d.feed, "ready", NULL);
	OWN(mem) char *before = printed(&d);
	assert_string_equal(before, "");
	assert_int_equal(feed_flush(&d.feed, NULL), 0);
	OWN(mem) char *after = printed(&d);
	assert_non_null(strstr(after, "ready"));
	tear_down(&d);
}

static void output_of_one_stream_becomes_one_event_and_keeps_the_order(void **state)
{
	struct desk d;

	(void)state;
	set_up(&d, 1);
	feed_output(&d.feed, 1, "a", 1);
	feed_output(&d.feed, 1, "b", 1);
	feed_output(&d.feed, 2, "c", 1);
	feed_output(&d.feed, 1, "d", 1);
	feed_event(&d.feed, "exit", NULL);
	assert_int_equal(feed_flush(&d.feed, NULL), 0);
	OWN(mem) char *got = printed(&d);
	const char *ab = strstr(got, "\"stdout\",\"data\":\"ab\""), *c = strstr(got, "\"stderr\",\"data\":\"c\"");
	const char *last = strstr(got, "\"stdout\",\"data\":\"d\""), *end = strstr(got, "\"exit\"");
	assert_true(ab && c && last && end && ab < c && c < last && last < end);
	tear_down(&d);
}

static void a_character_cut_in_two_comes_out_whole(void **state)
{
	struct desk d;

	(void)state;
	set_up(&d, 1);
	feed_output(&d.feed, 1, "x\xc3", 2);
	assert_int_equal(feed_flush(&d.feed, NULL), 0);
	feed_output(&d.feed, 1, "\xbcy", 2);
	feed_event(&d.feed, "exit", NULL);
	assert_int_equal(feed_flush(&d.feed, NULL), 0);
	OWN(mem) char *got = printed(&d);
	assert_non_null(strstr(got, "\"data\":\"x\""));
	assert_non_null(strstr(got, "\"data\":\"\xc3\xbcy\""));
	assert_null(strstr(got, "base64"));
	tear_down(&d);
}

static void bytes_that_are_no_text_are_told_exactly_too(void **state)
{
	static const struct { const char *data; size_t len; const char *base64; } cases[] = {
		{ "\xff", 1, "/w==" }, { "a\xff", 2, "Yf8=" }, { "ab\xff", 3, "YWL/" },
		{ "a\0b", 3, "YQBi" }, { "\xff\xfe\xfd\xfc", 4, "//79/A==" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(buf) struct buf b = { 0 };
		OWN(json) struct json *j = NULL;

		buf_addc(&b, '{');
		assert_int_equal(feed_text(&b, cases[i].data, cases[i].len), 0);
		buf_addc(&b, '}');
		if (memchr(cases[i].data, 0, cases[i].len)) {	/* our own strict reader takes no NUL */
			assert_non_null(strstr(b.data, cases[i].base64));
			continue;
		}
		assert_int_equal(json_parse(b.data, b.len, NULL, &j, NULL), 0);
		assert_string_equal(json_str(json_get(j, "base64")), cases[i].base64);
	}
	OWN(buf) struct buf plain = { 0 };
	assert_int_equal(feed_text(&plain, "gr\xc3\xbc\xc3\x9f\n\"", 8), 0);
	assert_string_equal(plain.data, "\"data\":\"gr\xc3\xbc\xc3\x9f\\n\\\"\"");
}

static void a_refusal_that_repeats_is_counted_and_printed_when_it_doubled(void **state)
{
	const struct violation v = {
		.layer = LAYER_FILE, .action = "file-write-create", .target = ".env", .rule = "**/.env", .count = 1,
	};
	struct desk d;
	size_t lines = 0;

	(void)state;
	set_up(&d, 1);
	for (int i = 0; i < 9; i++)
		d.feed.sink.violation(&d.feed.sink, &v);
	assert_int_equal(feed_flush(&d.feed, NULL), 0);
	OWN(mem) char *got = printed(&d);
	for (const char *p = got; (p = strchr(p, '\n')); p++)
		lines++;
	assert_int_equal(lines, 4);	/* 1, 2, 4, 8 */
	assert_int_equal(d.feed.n_refusals, 1);
	assert_int_equal(d.feed.refusal[0].count, 9);
	assert_int_equal(d.feed.refusals_total, 9);
	tear_down(&d);
}

static int failures;

static void on_failure(void *cookie)
{
	(void)cookie;
	failures++;
}

static void a_reader_that_is_gone_is_a_failure_told_once(void **state)
{
	struct desk d;
	struct err err = { 0 };
	int p[2];

	(void)state;
	set_up(&d, 1);
	failures = 0;
	assert_int_equal(pipe(p), 0);
	close(p[0]);
	d.feed.out = p[1];
	d.feed.on_failure = on_failure;
	feed_event(&d.feed, "ready", NULL);
	assert_int_equal(feed_flush(&d.feed, &err), -1);
	assert_int_equal(feed_flush(&d.feed, &err), -1);
	assert_int_equal(failures, 1);
	assert_string_equal(err.msg, "cannot write events to standard output: Broken pipe");
	close(p[1]);
	tear_down(&d);
}

static void names_of_runs_sort_by_time(void **state)
{
	char early[RUN_ID_SIZE], late[RUN_ID_SIZE], fresh[RUN_ID_SIZE];

	(void)state;
	run_id_text(1785446566123000, ~0ULL, early);
	run_id_text(1785446566124000, 0, late);
	assert_string_equal(late + 10, "0000000");
	assert_true(strcmp(early, late) < 0);
	assert_int_equal(run_id_new(fresh), 0);
	assert_true(run_id_is(fresh));
	assert_false(run_id_is("../../etc/passwd"));
	assert_false(run_id_is("rILOU00000000000"));
	assert_false(run_id_is(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_line_has_run_seq_ts_and_type),
		cmocka_unit_test(nothing_is_printed_before_it_is_on_disk),
		cmocka_unit_test(output_of_one_stream_becomes_one_event_and_keeps_the_order),
		cmocka_unit_test(a_character_cut_in_two_comes_out_whole),
		cmocka_unit_test(bytes_that_are_no_text_are_told_exactly_too),
		cmocka_unit_test(a_refusal_that_repeats_is_counted_and_printed_when_it_doubled),
		cmocka_unit_test(a_reader_that_is_gone_is_a_failure_told_once),
		cmocka_unit_test(names_of_runs_sort_by_time),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
