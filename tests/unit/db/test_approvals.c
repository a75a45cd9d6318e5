#include "tests/unit/db/fixture.h"

#include "base/clock.h"
#include "base/digest.h"
#include "db/approvals.h"
#include "db/policies.h"

#define HOUR_US ((int64_t)3600 * 1000000)

struct asked {
	int64_t id;
	char digest[DIGEST_HEX_SIZE];
};

static struct asked put_question(struct fixture *f, const char *run, const char *what)
{
	struct asked a = { 0 };
	struct approval_row row = { .run_id = run, .digest = a.digest, .question = "{}",
				    .expires_us = clock_wall_us() + HOUR_US };

	digest_hex(what, strlen(what), a.digest);
	if (approval_ask(f->db, &row, &a.id, &f->err) < 0)
		fail_msg("%s", f->err.msg);
	return a;
}

static int answer(struct fixture *f, int64_t id, int is_allowed)
{
	const struct approval_answer say = { .is_allowed = is_allowed, .by = "uid 1000", .note = "because" };

	return approval_answer(f->db, id, &say, NULL, &f->err);
}

static enum approval_state take(struct fixture *f, const struct asked *a)
{
	struct approval_news news;

	if (approval_take(f->db, a->id, a->digest, &news, &f->err) < 0)
		fail_msg("%s", f->err.msg);
	return news.state;
}

static void an_allowed_question_is_used_once(void **state)
{
	struct fixture *f = *state;
	struct asked a = put_question(f, NULL, "x");
	struct approval_news news;

	assert_int_equal(take(f, &a), APPROVAL_WAITING);
	assert_int_equal(answer(f, a.id, 1), 0);
	assert_int_equal(approval_take(f->db, a.id, a.digest, &news, &f->err), 0);
	assert_int_equal(news.state, APPROVAL_USED);
	assert_string_equal(news.answered_by, "uid 1000");
	assert_string_equal(news.note, "because");
	assert_true(news.waited_us >= 0);
	assert_int_equal(take(f, &a), APPROVAL_WITHDRAWN);
}

static void a_denied_question_stays_denied(void **state)
{
	struct fixture *f = *state;
	struct asked a = put_question(f, NULL, "x");

	assert_int_equal(answer(f, a.id, 0), 0);
	assert_int_equal(take(f, &a), APPROVAL_DENIED);
	assert_int_equal(take(f, &a), APPROVAL_DENIED);
}

static void answering_twice_changes_nothing(void **state)
{
	struct fixture *f = *state;
	struct asked a = put_question(f, NULL, "x");

	assert_int_equal(answer(f, a.id, 0), 0);
	assert_int_equal(answer(f, a.id, 1), -1);
	assert_int_equal(f->err.code, ERR_POLICY);
	assert_string_equal(f->err.msg, "question 1 is answered already: denied by uid 1000");
	assert_int_equal(take(f, &a), APPROVAL_DENIED);
}

static void a_rule_is_remembered_only_with_the_answer_that_counts(void **state)
{
	const struct policy_row rule = { .scope = "workspace", .scope_id = "*", .rule = "{}", .provenance = "remembered" };
	const struct approval_answer say = { .is_allowed = 1, .by = "me", .remember = &rule };
	struct fixture *f = *state;
	struct asked a = put_question(f, NULL, "x"), b = put_question(f, NULL, "y");
	int64_t policy = 0;

	assert_int_equal(answer(f, a.id, 0), 0);
	assert_int_equal(approval_answer(f->db, a.id, &say, &policy, &f->err), -1);
	assert_int_equal(ask(f, "SELECT count(*) FROM policies"), 0);
	assert_int_equal(approval_answer(f->db, b.id, &say, &policy, &f->err), 0);
	assert_int_equal(policy, 1);
	assert_int_equal(ask(f, "SELECT policy FROM approvals WHERE id = 2"), 1);
}

static void an_equal_rule_that_is_there_does_as_well(void **state)
{
	const struct policy_row rule = { .scope = "workspace", .scope_id = "*", .rule = "{}", .provenance = "remembered" };
	const struct approval_answer say = { .is_allowed = 1, .by = "me", .remember = &rule };
	struct fixture *f = *state;
	struct asked a = put_question(f, NULL, "x"), b = put_question(f, NULL, "y");
	int64_t policy = 0;

	assert_int_equal(approval_answer(f->db, a.id, &say, &policy, &f->err), 0);
	assert_int_equal(approval_answer(f->db, b.id, &say, &policy, &f->err), 0);
	assert_int_equal(policy, 1);
	assert_int_equal(take(f, &b), APPROVAL_USED);
}

static void another_request_takes_nothing(void **state)
{
	struct fixture *f = *state;
	struct asked a = put_question(f, NULL, "x");
	struct approval_news news;
	char other[DIGEST_HEX_SIZE];

	digest_hex("z", 1, other);
	assert_int_equal(answer(f, a.id, 1), 0);
	assert_int_equal(approval_take(f->db, a.id, other, &news, &f->err), -1);
	assert_int_equal(f->err.code, ERR_POLICY);
	assert_int_equal(take(f, &a), APPROVAL_USED);
}

static void a_question_expires_unanswered_and_answered(void **state)
{
	struct fixture *f = *state;
	struct asked a = put_question(f, NULL, "x"), b = put_question(f, NULL, "y");

	assert_int_equal(answer(f, b.id, 1), 0);
	meddle(f, "UPDATE approvals SET expires_us = 5");
	assert_int_equal(answer(f, a.id, 1), -1);
	assert_string_equal(f->err.msg, "question 1 has expired");
	assert_int_equal(take(f, &a), APPROVAL_EXPIRED);
	assert_int_equal(take(f, &b), APPROVAL_EXPIRED);
	assert_int_equal(ask(f, "SELECT count(*) FROM approvals WHERE state = 'expired'"), 2);
	/* The same may be asked anew. */
	assert_int_equal(put_question(f, NULL, "x").id, 3);
}

static void a_withdrawn_question_cannot_be_answered(void **state)
{
	struct fixture *f = *state;
	struct asked a = put_question(f, NULL, "x");

	assert_int_equal(approval_withdraw(f->db, a.id, &f->err), 0);
	assert_int_equal(answer(f, a.id, 1), -1);
	assert_string_equal(f->err.msg, "question 1 is no longer asked");
	assert_int_equal(take(f, &a), APPROVAL_WITHDRAWN);
}

static void a_question_of_a_run_that_ended_is_no_longer_asked(void **state)
{
	struct fixture *f = *state;
	const struct run_result res = { .state = "destroyed", .end_kind = "killed" };
	struct asked a;

	make_run(f, "r1");
	a = put_question(f, "r1", "x");
	assert_int_equal(run_finish(f->db, "r1", &res, &f->err), 0);
	assert_int_equal(answer(f, a.id, 1), -1);
	assert_string_equal(f->err.msg, "question 1 is no longer asked");
}

static void who_comes_back_after_a_restart_finds_the_answer(void **state)
{
	struct fixture *f = *state;
	struct asked a = put_question(f, NULL, "x"), again;

	db_close(f->db);
	assert_int_equal(db_open(f->dir, &f->db, &f->err), 0);
	again = put_question(f, NULL, "x");
	assert_int_equal(again.id, a.id);
	assert_int_equal(answer(f, a.id, 1), 0);
	db_close(f->db);
	assert_int_equal(db_open(f->dir, &f->db, &f->err), 0);
	again = put_question(f, NULL, "x");
	assert_int_equal(again.id, a.id);
	assert_int_equal(take(f, &again), APPROVAL_USED);
	assert_int_equal(put_question(f, NULL, "x").id, 2);
}

static int count(void *cookie, const struct approval_row *row)
{
	(void)row;
	++*(int *)cookie;
	return 0;
}

static void many_wait_at_once_and_only_those_are_listed(void **state)
{
	struct fixture *f = *state;
	char what[16];
	int n = 0;

	for (int i = 0; i < 300; i++) {
		snprintf(what, sizeof(what), "q%d", i);
		assert_int_equal(put_question(f, NULL, what).id, i + 1);
	}
	assert_int_equal(answer(f, 7, 1), 0);
	assert_int_equal(answer(f, 9, 0), 0);
	assert_int_equal(approvals_each(f->db, &(struct approval_filter){ .only_waiting = 1 }, count, &n, &f->err), 0);
	assert_int_equal(n, 298);
	n = 0;
	assert_int_equal(approvals_each(f->db, &(struct approval_filter){ 0 }, count, &n, &f->err), 0);
	assert_int_equal(n, 300);
}

/* Eight processes answer and eight take, all at once: one of each succeeds. */
static void of_many_who_race_one_answers_and_one_uses(void **state)
{
	struct fixture *f = *state;
	struct asked a = put_question(f, NULL, "x");
	int pipes[2], wins = 0, uses = 0;
	char c;

	assert_int_equal(pipe(pipes), 0);
	for (int i = 0; i < 16; i++) {
		if (fork())
			continue;
		f->db = NULL;
		if (db_open(f->dir, &f->db, &f->err) < 0)
			_exit(1);
		if (i < 8) {
			c = answer(f, a.id, 1) ? '-' : 'w';
		} else {
			struct approval_news news = { 0 };

			while (!approval_take(f->db, a.id, a.digest, &news, &f->err) && news.state == APPROVAL_WAITING)
				usleep(1000);
			c = news.state == APPROVAL_USED ? 'u' : '-';
		}
		_exit(write(pipes[1], &c, 1) != 1);
	}
	join(16);
	for (int i = 0; i < 16; i++) {
		assert_int_equal(read(pipes[0], &c, 1), 1);
		wins += c == 'w';
		uses += c == 'u';
	}
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(wins, 1);
	assert_int_equal(uses, 1);
}

static void a_question_that_is_not_there_is_said_so(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(answer(f, 4, 1), -1);
	assert_int_equal(f->err.code, ERR_NOTFOUND);
	assert_string_equal(f->err.msg, "no question 4");
	assert_int_equal(answer(f, 0, 1), -1);
	assert_string_equal(f->err.msg, "no question 0");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_allowed_question_is_used_once),
		TEST(a_denied_question_stays_denied),
		TEST(answering_twice_changes_nothing),
		TEST(a_rule_is_remembered_only_with_the_answer_that_counts),
		TEST(an_equal_rule_that_is_there_does_as_well),
		TEST(another_request_takes_nothing),
		TEST(a_question_expires_unanswered_and_answered),
		TEST(a_withdrawn_question_cannot_be_answered),
		TEST(a_question_of_a_run_that_ended_is_no_longer_asked),
		TEST(who_comes_back_after_a_restart_finds_the_answer),
		TEST(many_wait_at_once_and_only_those_are_listed),
		TEST(of_many_who_race_one_answers_and_one_uses),
		TEST(a_question_that_is_not_there_is_said_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
