#include "tests/unit/db/fixture.h"

#include "db/chain.h"
#include "db/decisions.h"
#include "db/events.h"

/* A run with an event, a violation seen twice, a decision and an event; and one loose decision. */
static int set_up_run(void **state)
{
	const struct violation v = { .layer = LAYER_FILE, .action = "file-write-create", .target = ".env" };
	const struct decision d = { .line = "ls", .mode = "chat", .verdict = "allow" };
	OWN(recorder) struct recorder *r = NULL;
	struct fixture *f;
	int bad = set_up(state);

	f = *state;
	if (bad)
		return -1;
	make_run(f, "r1");
	if (recorder_new(f->db, "r1", &r, &f->err) < 0 ||
	    recorder_event(r, &(struct event){ .type = "starting" }, NULL, &f->err) < 0 ||
	    recorder_violation(r, &v, NULL, &f->err) < 0 || recorder_violation(r, &v, NULL, &f->err) < 0 ||
	    recorder_decision(r, &d, NULL, &f->err) < 0 || recorder_flush(r, &f->err) < 0 ||
	    recorder_event(r, &(struct event){ .type = "exit" }, NULL, &f->err) < 0 ||
	    recorder_flush(r, &f->err) < 0)
		return -1;
	return decision_record(f->db, NULL, &d, &f->err);
}

static int set_up_ended_run(void **state)
{
	const struct run_result res = { .state = "destroyed", .end_kind = "exited", .exit_status = 3 };
	struct fixture *f;
	int bad = set_up_run(state);

	f = *state;
	return bad ? -1 : run_finish(f->db, "r1", &res, &f->err);
}

static struct chain_report verify(struct fixture *f, const char *run)
{
	struct chain_report report;

	if (chain_verify(f->db, run, &report, &f->err) < 0)
		fail_msg("%s", f->err.msg);
	return report;
}

static struct chain_report verify_seals(struct fixture *f)
{
	struct chain_report report;

	if (chain_verify_seals(f->db, &report, &f->err) < 0)
		fail_msg("%s", f->err.msg);
	return report;
}

static void untouched_records_are_intact(void **state)
{
	struct fixture *f = *state;
	struct chain_report open = verify(f, "r1"), closed;
	int64_t in_seal;

	assert_true(open.is_intact);
	assert_false(open.is_sealed);
	assert_int_equal(open.records, 4);
	assert_int_equal(strlen(open.head), 64);
	assert_int_equal(run_finish(f->db, "r1", &(struct run_result){ .state = "x", .end_kind = "exited" },
				    &f->err), 0);
	closed = verify(f, "r1");
	assert_true(closed.is_intact);
	assert_true(closed.is_sealed);
	assert_string_equal(closed.head, open.head);

	closed = verify(f, NULL);
	assert_true(closed.is_intact);
	assert_true(closed.is_sealed);
	assert_int_equal(closed.records, 1);
	closed = verify_seals(f);
	assert_true(closed.is_intact);
	assert_int_equal(closed.records, 2);
	in_seal = ask(f, "SELECT count(*) FROM seals s JOIN chains c ON c.id = s.chain AND c.head = s.head");
	assert_int_equal(in_seal, 2);
	assert_int_equal(chain_verify(f->db, "none", &closed, &f->err), -1);
	assert_int_equal(f->err.code, ERR_NOTFOUND);
}

static void an_empty_run_is_intact(void **state)
{
	struct fixture *f = *state;

	make_run(f, "empty");
	assert_true(verify(f, "empty").is_intact);
	assert_int_equal(run_finish(f->db, "empty", &(struct run_result){ .state = "x", .end_kind = "failed" },
				    &f->err), 0);
	assert_true(verify(f, "empty").is_sealed);
}

static void facts_may_change_after_the_end(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(run_update(f->db, "r1", &(struct run_row){ .facts = "{}", .workspace_path = "/w" }, &f->err), 0);
	assert_true(verify(f, "r1").is_intact);
}

/* What somebody does to the file, and what is said about it. */
struct damage {
	const char *sql;
	int64_t bad_seq;
	const char *why;
};

static const struct damage damages[] = {
	{ "UPDATE events SET type = 'ready' WHERE seq = 1", 1, "record 1 was changed" },
	{ "UPDATE events SET data = '{}' WHERE seq = 4", 4, "record 4 was changed" },
	{ "UPDATE events SET ts_us = ts_us + 1 WHERE seq = 4", 4, "record 4 was changed" },
	{ "UPDATE violations SET pid = 1 WHERE seq = 2", 2, "record 2 was changed" },
	{ "UPDATE violations SET target = NULL WHERE seq = 2", 2, "record 2 was changed" },
	{ "UPDATE violations SET run = NULL WHERE seq = 2", 2, "record 2 was changed" },
	{ "UPDATE words SET text = 'else' WHERE text = '.env'", 2, "record 2 was changed" },
	{ "UPDATE decisions SET span_end = 9 WHERE chain = 1", 3, "record 3 was changed" },
	{ "UPDATE decisions SET digest = zeroblob(32) WHERE chain = 1", 3, "record 3 was changed" },
	{ "UPDATE decisions SET digest = x'00' WHERE chain = 1", 3, "record 3 was changed" },
	{ "DELETE FROM violations", 2, "record 2 is missing" },
	{ "DELETE FROM events WHERE seq = 1", 1, "record 1 is missing" },
	{ "DELETE FROM events WHERE seq = 4", 4, "record 4 is missing" },
	{ "INSERT INTO events VALUES(1, 3, 1, 'x', NULL, zeroblob(32))", 3, "record 3 was changed" },
	{ "INSERT INTO events VALUES(1, 2, 1, 'x', NULL, zeroblob(32))", 2, "record 2 was changed" },
	{ "INSERT INTO events VALUES(1, 5, 1, 'x', NULL, zeroblob(32))", 5, "record 5 was changed" },
	{ "UPDATE chains SET head = zeroblob(32) WHERE id = 1", 4, "the head of the chain was changed" },
	{ "UPDATE chains SET salt = zeroblob(32) WHERE id = 1", 1, "record 1 was changed" },
	{ "UPDATE chains SET seq = 3 WHERE id = 1", 4, "record 4 was added from outside" },
};

/* Seen only when the run is sealed. */
static const struct damage sealed_damages[] = {
	{ "UPDATE violations SET count = 1 WHERE seq = 2", 0, "how often something was refused was changed" },
	{ "UPDATE runs SET exit_status = 0", 0, "the row of the run was changed" },
	{ "UPDATE runs SET argv = '[]'", 0, "the row of the run was changed" },
	{ "UPDATE runs SET reason = 'none'", 0, "the row of the run was changed" },
	{ "UPDATE seals SET head = zeroblob(32) WHERE chain = 1", 4, "seal 1 does not fit record 4" },
};

/* Each in its own database, since damage stays. */
static void check_damage(int (*make)(void **state), const struct damage *d)
{
	struct chain_report report;
	void *state = NULL;

	assert_int_equal(make(&state), 0);
	meddle(state, d->sql);
	report = verify(state, "r1");
	if (report.is_intact || report.bad_seq != d->bad_seq || strcmp(report.why, d->why))
		fail_msg("%s: %d, %lld, '%s'", d->sql, report.is_intact, (long long)report.bad_seq, report.why);
	tear_down(&state);
}

static void any_change_to_a_record_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(damages); i++)
		check_damage(set_up_run, &damages[i]);
}

static void a_seal_covers_counts_and_the_row_too(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sealed_damages); i++)
		check_damage(set_up_ended_run, &sealed_damages[i]);
}

static void a_tail_that_was_cut_with_its_chain_row_is_missed_by_the_seal(void **state)
{
	struct fixture *f = *state;

	meddle(f, "UPDATE chains SET seq = 3, head = (SELECT digest FROM decisions WHERE chain = 1) WHERE id = 1");
	meddle(f, "DELETE FROM events WHERE seq = 4");
	assert_string_equal(verify(f, "r1").why, "record 4 is missing");
}

static void a_loose_record_is_watched_as_well(void **state)
{
	struct fixture *f = *state;

	meddle(f, "UPDATE decisions SET line = 'rm' WHERE chain = 0");
	assert_true(verify(f, "r1").is_intact);
	assert_string_equal(verify(f, NULL).why, "record 1 was changed");
}

static void changed_cut_and_missing_seals_are_found(void **state)
{
	static const struct { const char *sql, *why; } rows[] = {
		{ "UPDATE seals SET ts_us = 1 WHERE n = 1", "seal 1 was changed" },
		{ "UPDATE seals SET facts = zeroblob(32) WHERE n = 1", "seal 1 was changed" },
		{ "UPDATE seals SET digest = x'' WHERE n = 2", "seal 2 was changed" },
		{ "DELETE FROM seals WHERE n = 1", "seal 1 is missing" },
		{ "DELETE FROM seals", "run 'r1' has ended without a seal" },
		{ "DELETE FROM seals WHERE n = 2", "" },	/* of the loose chain: only a head kept elsewhere tells */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		void *own = NULL;

		assert_int_equal(set_up_ended_run(&own), 0);
		meddle(own, rows[i].sql);
		assert_string_equal(verify_seals(own).why, rows[i].why);
		tear_down(&own);
	}
}

static void records_after_the_end_are_sealed_again(void **state)
{
	struct fixture *f = *state;
	OWN(recorder) struct recorder *r = NULL;

	assert_int_equal(recorder_new(f->db, "r1", &r, &f->err), 0);
	assert_int_equal(recorder_event(r, &(struct event){ .type = "push.done" }, NULL, &f->err), 0);
	assert_int_equal(recorder_flush(r, &f->err), 0);
	assert_true(verify(f, "r1").is_sealed);
	assert_int_equal(verify(f, "r1").records, 5);
	assert_true(verify_seals(f).is_intact);
	meddle(f, "UPDATE violations SET count = 1");
	assert_false(verify(f, "r1").is_intact);
}

int main(void)
{
#define TEST(name, made_by) cmocka_unit_test_setup_teardown(name, made_by, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(untouched_records_are_intact, set_up_run),
		TEST(an_empty_run_is_intact, set_up),
		TEST(facts_may_change_after_the_end, set_up_ended_run),
		cmocka_unit_test(any_change_to_a_record_is_found),
		cmocka_unit_test(a_seal_covers_counts_and_the_row_too),
		TEST(a_tail_that_was_cut_with_its_chain_row_is_missed_by_the_seal, set_up_ended_run),
		TEST(a_loose_record_is_watched_as_well, set_up_run),
		cmocka_unit_test(changed_cut_and_missing_seals_are_found),
		TEST(records_after_the_end_are_sealed_again, set_up_ended_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
