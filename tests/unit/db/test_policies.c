#include "tests/unit/db/fixture.h"

#include "base/clock.h"
#include "db/chain.h"
#include "db/db_internal.h"
#include "db/decisions.h"
#include "db/policies.h"

#define RULE "{\"class\":[\"gitPush\"],\"decision\":\"deny\"}"

static const struct policy_row push = {
	.scope = "workspace", .scope_id = "/w", .rule = RULE, .provenance = "user", .created_by = "uid 1000",
};

static int64_t add(struct fixture *f, const struct policy_row *row)
{
	int64_t id = 0;

	if (policy_add(f->db, row, &id, &f->err) < 0)
		fail_msg("%s", f->err.msg);
	return id;
}

static int count(void *cookie, const struct policy_row *row)
{
	(void)row;
	++*(int *)cookie;
	return 0;
}

static int in_force(struct fixture *f)
{
	int n = 0;

	assert_int_equal(policies_each(f->db, &(struct policy_filter){ 0 }, count, &n, &f->err), 0);
	return n;
}

static int check_push(void *cookie, const struct policy_row *row)
{
	*(int *)cookie = 1;
	assert_string_equal(row->scope, "workspace");
	assert_string_equal(row->scope_id, "/w");
	assert_string_equal(row->rule, RULE);
	assert_string_equal(row->provenance, "user");
	assert_string_equal(row->created_by, "uid 1000");
	assert_true(row->created_us > 0);
	assert_int_equal(row->expires_us, 0);
	assert_int_equal(row->removed_us, 0);
	return 0;
}

static void a_rule_comes_back_as_it_was_stored(void **state)
{
	struct fixture *f = *state;
	int seen = 0;

	assert_int_equal(add(f, &push), 1);
	assert_int_equal(policies_each(f->db, &(struct policy_filter){ 0 }, check_push, &seen, &f->err), 0);
	assert_int_equal(seen, 1);
}

static void the_same_rule_twice_is_refused_and_names_the_first(void **state)
{
	struct fixture *f = *state;
	struct policy_row elsewhere = push;
	int64_t id = 0;

	add(f, &push);
	assert_int_equal(policy_add(f->db, &push, &id, &f->err), -1);
	assert_int_equal(f->err.code, ERR_BUSY);
	assert_string_equal(f->err.msg, "the same rule is in force already, as number 1");
	assert_int_equal(id, 1);
	elsewhere.scope_id = "/v";
	assert_int_equal(add(f, &elsewhere), 2);
	assert_int_equal(in_force(f), 2);
}

static void a_removed_rule_stays_on_record_and_its_number_is_not_used_again(void **state)
{
	struct fixture *f = *state;
	int n = 0;

	add(f, &push);
	assert_int_equal(policy_remove(f->db, 1, "uid 0", &f->err), 0);
	assert_int_equal(in_force(f), 0);
	assert_int_equal(policies_each(f->db, &(struct policy_filter){ .with_removed = 1 }, count, &n, &f->err), 0);
	assert_int_equal(n, 1);
	assert_int_equal(policy_remove(f->db, 1, "uid 0", &f->err), -1);
	assert_string_equal(f->err.msg, "no rule 1 is in force");
	assert_int_equal(f->err.code, ERR_NOTFOUND);
	assert_int_equal(add(f, &push), 2);
}

static void an_expired_rule_makes_room_for_the_same_again(void **state)
{
	struct fixture *f = *state;
	struct policy_row brief = push;

	brief.expires_us = clock_wall_us() + 3600000000;
	add(f, &brief);
	assert_int_equal(policy_add(f->db, &push, &(int64_t){ 0 }, &f->err), -1);
	meddle(f, "UPDATE policies SET expires_us = 1");
	assert_int_equal(in_force(f), 1);	/* still listed, so that it can be explained */
	assert_int_equal(add(f, &push), 2);
	assert_int_equal(in_force(f), 1);
	assert_int_equal(ask(f, "SELECT count(*) FROM policies WHERE removed_by = 'expiry'"), 1);
}

static void rules_are_listed_by_scope(void **state)
{
	struct fixture *f = *state;
	struct policy_row agent = push;
	int n = 0;

	agent.scope = "agent";
	agent.scope_id = "claude";
	add(f, &push);
	add(f, &agent);
	assert_int_equal(policies_each(f->db, &(struct policy_filter){ .scope = "agent" }, count, &n, &f->err), 0);
	assert_int_equal(n, 1);
	n = 0;
	assert_int_equal(policies_each(f->db, &(struct policy_filter){ .scope = "agent", .scope_id = "x" }, count, &n,
				       &f->err), 0);
	assert_int_equal(n, 0);
}

/* --- what this version added to decisions --- */

static void record(struct fixture *f, const char *classes, const char *by, int64_t waited_us)
{
	const struct decision d = { .line = "git push", .mode = "chat", .verdict = "allow", .gate = "guard",
				    .digest = "ab", .tool_use = "t1", .classes = classes, .answered_by = by,
				    .waited_us = waited_us };

	if (decision_record(f->db, NULL, &d, &f->err) < 0)
		fail_msg("%s", f->err.msg);
}

static int is_intact(struct fixture *f)
{
	struct chain_report report;

	assert_int_equal(chain_verify(f->db, NULL, &report, &f->err), 0);
	return report.is_intact;
}

static int check_decision(void *cookie, const struct decision_row *row)
{
	*(int *)cookie = 1;
	assert_string_equal(row->d.classes, "gitPush,networkEgress");
	assert_string_equal(row->d.answered_by, "uid 1000");
	assert_int_equal(row->d.waited_us, 1500000);
	return 0;
}

static void a_decision_tells_its_classes_and_who_answered_after_how_long(void **state)
{
	struct fixture *f = *state;
	int seen = 0;

	record(f, "gitPush,networkEgress", "uid 1000", 1500000);
	assert_int_equal(decisions_each(f->db, &(struct decision_filter){ 0 }, check_decision, &seen, &f->err), 0);
	assert_int_equal(seen, 1);
	assert_int_equal(is_intact(f), 1);
}

static void changing_who_answered_shows(void **state)
{
	static const char *const edits[] = {
		"UPDATE decisions SET answered = NULL", "UPDATE decisions SET waited_us = 1",
		"UPDATE decisions SET classes = NULL", "UPDATE decisions SET classes = answered",
		"UPDATE decisions SET answered = NULL, waited_us = NULL, classes = NULL",
	};

	for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
		void *own = NULL;
		struct fixture *f;

		(void)state;
		assert_int_equal(set_up(&own), 0);
		f = own;
		record(f, "gitPush", "uid 1000", 7);
		meddle(f, edits[i]);
		assert_int_equal(is_intact(f), 0);
		tear_down(&own);
	}
}

/* What version 2 brought, taken away again. */
static const char *const back_to_1 =
	"DROP VIEW v_decisions; CREATE VIEW v_decisions AS SELECT 1;"
	"ALTER TABLE decisions DROP COLUMN classes; ALTER TABLE decisions DROP COLUMN answered;"
	"ALTER TABLE decisions DROP COLUMN waited_us; DROP TABLE approvals; DROP TABLE policies;"
	"PRAGMA user_version = 1";

static void records_of_an_older_database_still_verify(void **state)
{
	struct fixture *f = *state;
	sqlite3 *raw = NULL;
	char *why = NULL;

	if (schema_version() != 2)
		skip();
	record(f, NULL, NULL, 0);
	assert_int_equal(sqlite3_open(db_path(f->db), &raw), SQLITE_OK);
	db_close(f->db);
	f->db = NULL;
	if (sqlite3_exec(raw, back_to_1, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s", why);
	sqlite3_close(raw);
	assert_int_equal(db_open(f->dir, &f->db, &f->err), 0);
	assert_int_equal(ask(f, "PRAGMA user_version"), 2);
	assert_int_equal(is_intact(f), 1);
	add(f, &push);
	record(f, "gitPush", "nobody", 1);
	assert_int_equal(is_intact(f), 1);
	assert_int_equal(ask(f, "SELECT count(*) FROM v_decisions WHERE answered_by = 'nobody'"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_rule_comes_back_as_it_was_stored),
		TEST(the_same_rule_twice_is_refused_and_names_the_first),
		TEST(a_removed_rule_stays_on_record_and_its_number_is_not_used_again),
		TEST(an_expired_rule_makes_room_for_the_same_again),
		TEST(rules_are_listed_by_scope),
		TEST(a_decision_tells_its_classes_and_who_answered_after_how_long),
		TEST(changing_who_answered_shows),
		TEST(records_of_an_older_database_still_verify),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
