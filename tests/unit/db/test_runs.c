#include "tests/unit/db/fixture.h"

#include "db/journal.h"

/* The last row seen, with what is checked copied. */
struct seen {
	int n, stop_after;
	char ids[512];
	char repo[64], argv[64], reason[64], state[16], facts[32], path[32], kind[16], boot[40];
	int64_t created_us, started_us, ended_us, exit_status, pid, start;
};

static void copy(char *to, size_t size, const char *s)
{
	snprintf(to, size, "%s", s ? s : "(null)");
}

static int note(void *cookie, const struct run_row *row)
{
	struct seen *s = cookie;

	s->n++;
	snprintf(s->ids + strlen(s->ids), sizeof(s->ids) - strlen(s->ids), "%s ", row->id);
	copy(s->repo, sizeof(s->repo), row->repo);
	copy(s->argv, sizeof(s->argv), row->argv);
	copy(s->reason, sizeof(s->reason), row->reason);
	copy(s->state, sizeof(s->state), row->state);
	copy(s->facts, sizeof(s->facts), row->facts);
	copy(s->path, sizeof(s->path), row->workspace_path);
	copy(s->kind, sizeof(s->kind), row->end_kind);
	copy(s->boot, sizeof(s->boot), row->supervisor_boot);
	s->created_us = row->created_us;
	s->started_us = row->started_us;
	s->ended_us = row->ended_us;
	s->exit_status = row->exit_status;
	s->pid = row->supervisor_pid;
	s->start = row->supervisor_start;
	return s->n == s->stop_after;
}

static struct seen get(struct fixture *f, const char *prefix)
{
	struct seen s = { 0 };

	if (run_get(f->db, prefix, note, &s, &f->err) < 0)
		fail_msg("%s", f->err.msg);
	return s;
}

static void a_row_comes_back_as_it_was_given(void **state)
{
	struct fixture *f = *state;
	const struct run_row row = {
		.id = "r1", .state = "created", .mode = "plan", .repo = "/home/\xff\\xff/caf\xc3\xa9",
		.argv = "[\"a\\\\xff\",\"\\u0001\"]", .supervisor_pid = 42, .supervisor_start = 99,
		.supervisor_boot = "boot/1", .created_us = 1000, .ended_us = 7, .end_kind = "exited", .reason = "no",
	};
	struct seen s;

	assert_int_equal(run_insert(f->db, &row, &f->err), 0);
	s = get(f, "r1");
	assert_string_equal(s.repo, "/home/\xff\\xff/caf\xc3\xa9");
	assert_string_equal(s.argv, "[\"a\\\\xff\",\"\\u0001\"]");
	assert_int_equal(s.pid, 42);
	assert_int_equal(s.start, 99);
	assert_string_equal(s.boot, "boot/1");
	assert_int_equal(s.created_us, 1000);
	assert_string_equal(s.kind, "(null)");	/* the end is not for run_insert() */
	assert_int_equal(s.ended_us, 0);
	assert_int_equal(ask(f, "SELECT count(*) FROM runs WHERE repo = '/home/\\xff\\x5cxff/caf' || char(233)"), 1);
}

static void an_id_is_taken_once_and_has_to_look_like_one(void **state)
{
	static const char *const bad[] = { "", "a/b", "a b", "a\n", "caf\xc3\xa9", "a\\b" };
	struct fixture *f = *state;
	struct run_row row = { .id = "r1", .state = "created", .mode = "chat" };

	make_run(f, "r1");
	assert_int_equal(run_insert(f->db, &row, &f->err), -1);
	assert_int_equal(f->err.code, ERR_BUSY);
	assert_string_equal(f->err.msg, "there is a run 'r1' already");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		row.id = bad[i];
		assert_int_equal(run_insert(f->db, &row, &f->err), -1);
		assert_int_equal(f->err.code, ERR_USAGE);
	}
	row = (struct run_row){ .id = "r2", .state = "created" };
	assert_int_equal(run_insert(f->db, &row, &f->err), -1);
}

static void a_unique_beginning_names_a_run(void **state)
{
	struct fixture *f = *state;
	char *id = NULL;

	make_run(f, "abc");
	make_run(f, "abcd");
	make_run(f, "b");
	assert_int_equal(run_find(f->db, "abc", &id, &f->err), 0);	/* a whole id beats a beginning */
	assert_string_equal(id, "abc");
	free(id);
	assert_int_equal(run_find(f->db, "abcd", &id, &f->err), 0);
	free(id);
	assert_int_equal(run_find(f->db, "ab", &id, &f->err), -1);
	assert_string_equal(f->err.msg, "'ab' is the beginning of 2 or more runs");
	assert_int_equal(f->err.code, ERR_USAGE);
	assert_int_equal(run_find(f->db, "x", &id, &f->err), -1);
	assert_string_equal(f->err.msg, "no run 'x'");
	assert_int_equal(f->err.code, ERR_NOTFOUND);
	assert_int_equal(run_find(f->db, "", &id, &f->err), -1);
	assert_int_equal(run_find(f->db, "%", &id, &f->err), -1);
	assert_int_equal(run_find(f->db, "\xff", &id, &f->err), -1);
	assert_int_equal(run_get(f->db, "x", note, NULL, &f->err), -1);
}

static void an_update_sets_what_it_names_and_clears_with_an_empty_word(void **state)
{
	struct fixture *f = *state;
	struct seen s;

	make_run(f, "r1");
	assert_int_equal(run_update(f->db, "r1", &(struct run_row){ .repo = "/r", .workspace_path = "/w" }, &f->err), 0);
	assert_int_equal(run_update(f->db, "r1", &(struct run_row){ .state = "active", .started_us = 5 }, &f->err), 0);
	assert_int_equal(run_update(f->db, "r1", &(struct run_row){ .workspace_path = "", .mode = "plan" }, &f->err), 0);
	assert_int_equal(run_update(f->db, "r1", &(struct run_row){ 0 }, &f->err), 0);
	s = get(f, "r1");
	assert_string_equal(s.repo, "/r");
	assert_string_equal(s.state, "active");
	assert_string_equal(s.path, "(null)");
	assert_int_equal(s.started_us, 5);
	assert_int_equal(ask(f, "SELECT mode = 'chat' FROM runs"), 1);
	assert_int_equal(run_update(f->db, "r2", &(struct run_row){ .state = "active" }, &f->err), -1);
	assert_int_equal(f->err.code, ERR_NOTFOUND);
}

static void a_run_ends_once_and_then_stays_as_it_is(void **state)
{
	const struct run_result res = { .state = "destroyed", .end_kind = "signaled", .exit_status = 9,
					.reason = "killed \xff", .ended_us = 77 };
	struct fixture *f = *state;
	struct seen s;

	make_run(f, "r1");
	assert_int_equal(run_finish(f->db, "r1", &res, &f->err), 0);
	s = get(f, "r1");
	assert_string_equal(s.kind, "signaled");
	assert_int_equal(s.exit_status, 9);
	assert_int_equal(s.ended_us, 77);
	assert_string_equal(s.reason, "killed \\xff");
	assert_string_equal(s.state, "destroyed");

	assert_int_equal(run_finish(f->db, "r1", &res, &f->err), -1);
	assert_int_equal(f->err.code, ERR_USAGE);
	assert_int_equal(ask(f, "SELECT count(*) FROM seals"), 1);
	assert_int_equal(run_finish(f->db, "none", &res, &f->err), -1);
	assert_int_equal(f->err.code, ERR_NOTFOUND);

	assert_int_equal(run_update(f->db, "r1", &(struct run_row){ .branch = "x" }, &f->err), -1);
	assert_string_equal(f->err.msg, "run 'r1' has ended: its branch cannot change");
	assert_int_equal(run_update(f->db, "r1", &(struct run_row){ .facts = "{\"kept\":1}" }, &f->err), 0);
	assert_string_equal(get(f, "r1").facts, "{\"kept\":1}");
}

static void runs_are_listed_newest_first_and_by_filter(void **state)
{
	static const struct { struct run_filter filter; const char *ids; } rows[] = {
		{ { 0 }, "d c b a " },
		{ { .limit = 2 }, "d c " },
		{ { .state = "active" }, "c a " },
		{ { .repo = "/r\xff" }, "b a " },
		{ { .repo = "/r" }, "" },
		{ { .agent = "claude" }, "d " },
		{ { .since_us = 20 }, "d c b " },
		{ { .only_open = 1 }, "c b a " },
		{ { .only_open = 1, .state = "active", .repo = "/r\xff", .since_us = 1, .limit = 5 }, "a " },
	};
	static const struct run_row runs[] = {
		{ .id = "a", .state = "active", .mode = "chat", .repo = "/r\xff", .created_us = 10 },
		{ .id = "b", .state = "created", .mode = "chat", .repo = "/r\xff", .created_us = 20 },
		{ .id = "c", .state = "active", .mode = "chat", .created_us = 30 },
		{ .id = "d", .state = "created", .mode = "chat", .agent = "claude", .created_us = 30 },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(runs); i++)
		assert_int_equal(run_insert(f->db, &runs[i], &f->err), 0);
	assert_int_equal(run_finish(f->db, "d", &(struct run_result){ .state = "error", .end_kind = "failed" },
				    &f->err), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct seen s = { 0 };

		assert_int_equal(runs_each(f->db, &rows[i].filter, note, &s, &f->err), 0);
		assert_string_equal(s.ids, rows[i].ids);
	}
}

static void a_walk_crosses_pages_and_may_be_ended(void **state)
{
	struct fixture *f = *state;
	struct seen all = { 0 }, some = { .stop_after = 300 }, limited = { 0 };
	char id[16];

	assert_int_equal(db_begin(f->db, &f->err), 0);
	for (int i = 0; i < 700; i++) {
		snprintf(id, sizeof(id), "r%d", i);
		/* Three to a microsecond, so that pages end among equal times. */
		assert_int_equal(run_insert(f->db, &(struct run_row){ .id = id, .state = "x", .mode = "chat",
								      .created_us = 1 + i / 3 }, &f->err), 0);
	}
	assert_int_equal(db_commit(f->db, &f->err), 0);
	assert_int_equal(runs_each(f->db, &(struct run_filter){ 0 }, note, &all, &f->err), 0);
	assert_int_equal(all.n, 700);
	assert_int_equal(runs_each(f->db, &(struct run_filter){ 0 }, note, &some, &f->err), 0);
	assert_int_equal(some.n, 300);
	assert_int_equal(runs_each(f->db, &(struct run_filter){ .limit = 600 }, note, &limited, &f->err), 0);
	assert_int_equal(limited.n, 600);
}

static int write_inside(void *cookie, const struct run_row *row)
{
	struct fixture *f = cookie;
	struct seen s = { 0 };
	int64_t id;

	assert_int_equal(journal_begin(f->db, row->id, "step", NULL, &id, &f->err), 0);
	assert_int_equal(runs_each(f->db, &(struct run_filter){ 0 }, note, &s, &f->err), 0);
	assert_int_equal(s.n, 2);
	return 0;
}

static void a_walk_may_write_and_walk_again(void **state)
{
	struct fixture *f = *state;

	make_run(f, "r1");
	make_run(f, "r2");
	assert_int_equal(runs_each(f->db, &(struct run_filter){ 0 }, write_inside, f, &f->err), 0);
	assert_int_equal(ask(f, "SELECT count(*) FROM journal"), 2);
}

/* --- the journal --- */

static int note_entry(void *cookie, const struct journal_row *row)
{
	char *text = cookie;

	sprintf(text + strlen(text), "%s:%s:%s%s ", row->run_id, row->step, row->data ? row->data : "-",
		row->done_us ? ":done" : "");
	assert_true(row->begun_us > 0);
	return 0;
}

static void intents_stay_open_until_they_are_done(void **state)
{
	struct fixture *f = *state;
	char all[256] = "", open[256] = "", one[256] = "";
	int64_t a, b, c;

	make_run(f, "r1");
	make_run(f, "r2");
	assert_int_equal(journal_begin(f->db, "r1", "workspace", "{\"p\":1}", &a, &f->err), 0);
	assert_int_equal(journal_begin(f->db, "r1", "lease", NULL, &b, &f->err), 0);
	assert_int_equal(journal_begin(f->db, "r2", "workspace", NULL, &c, &f->err), 0);
	assert_int_equal(journal_note(f->db, b, "{\"id\":7}", &f->err), 0);
	assert_int_equal(journal_done(f->db, a, &f->err), 0);
	assert_int_equal(journal_done(f->db, a, &f->err), 0);
	assert_int_equal(journal_each(f->db, NULL, 0, note_entry, all, &f->err), 0);
	assert_string_equal(all, "r2:workspace:- r1:lease:{\"id\":7} r1:workspace:{\"p\":1}:done ");
	assert_int_equal(journal_each(f->db, NULL, 1, note_entry, open, &f->err), 0);
	assert_string_equal(open, "r2:workspace:- r1:lease:{\"id\":7} ");
	assert_int_equal(journal_each(f->db, "r1", 1, note_entry, one, &f->err), 0);
	assert_string_equal(one, "r1:lease:{\"id\":7} ");

	assert_int_equal(journal_note(f->db, a, "late", &f->err), -1);
	assert_string_equal(f->err.msg, "no open journal entry 1");
	assert_int_equal(journal_done(f->db, 99, &f->err), -1);
	assert_int_equal(f->err.code, ERR_NOTFOUND);
	assert_int_equal(journal_begin(f->db, "r3", "x", NULL, &a, &f->err), -1);
	assert_int_equal(f->err.code, ERR_NOTFOUND);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_row_comes_back_as_it_was_given),
		TEST(an_id_is_taken_once_and_has_to_look_like_one),
		TEST(a_unique_beginning_names_a_run),
		TEST(an_update_sets_what_it_names_and_clears_with_an_empty_word),
		TEST(a_run_ends_once_and_then_stays_as_it_is),
		TEST(runs_are_listed_newest_first_and_by_filter),
		TEST(a_walk_crosses_pages_and_may_be_ended),
		TEST(a_walk_may_write_and_walk_again),
		TEST(intents_stay_open_until_they_are_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
