#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "db/approvals.h"
#include "db/db_internal.h"
#include "db/policies.h"

static const char *const state_names[] = { "waiting", "allowed", "used", "denied", "withdrawn", "expired" };
static_assert(ARRAY_LEN(state_names) == APPROVAL_NUM, "a name for each state");

const char *approval_state_name(enum approval_state s)
{
	assert(s < APPROVAL_NUM);
	return state_names[s];
}

/* --- reading --- */

#define SELECT_APPROVAL \
	"SELECT a.id, r.id, a.digest, a.question, a.state, a.asked_us, a.expires_us, a.answered_us, a.answered_by," \
	" a.note, a.policy, r.ended_us, a.closed_us FROM approvals a LEFT JOIN runs r ON r.n = a.run"

/* What is written there is the last thing that happened; time and the run's end happen by themselves. */
static enum approval_state state_now(const char *stored, int64_t expires_us, int64_t run_ended_us)
{
	enum approval_state s = APPROVAL_WITHDRAWN;

	for (size_t i = 0; i < ARRAY_LEN(state_names); i++)
		if (stored && !strcmp(stored, state_names[i]))
			s = (enum approval_state)i;
	if (s != APPROVAL_WAITING && s != APPROVAL_ALLOWED)
		return s;
	if (expires_us <= clock_wall_us())
		return APPROVAL_EXPIRED;
	return run_ended_us ? APPROVAL_WITHDRAWN : s;
}

struct reader {
	approval_fn *fn;
	void *cookie;
	int found;
};

static int read_approval(void *cookie, sqlite3_value **v)
{
	struct reader *reader = cookie;
	const struct approval_row row = {
		.id = sqlite3_value_int64(v[0]),
		.run_id = text_of(v[1]),
		.digest = text_of(v[2]),
		.question = text_of(v[3]),
		.state = state_now(text_of(v[4]), sqlite3_value_int64(v[6]), sqlite3_value_int64(v[11])),
		.asked_us = sqlite3_value_int64(v[5]),
		.expires_us = sqlite3_value_int64(v[6]),
		.answered_us = sqlite3_value_int64(v[7]),
		.answered_by = text_of(v[8]),
		.note = text_of(v[9]),
		.policy = sqlite3_value_int64(v[10]),
	};

	reader->found = 1;
	return reader->fn(reader->cookie, &row);
}

static int no_question(int64_t id, struct err *err)
{
	return err_set(err, ERR_NOTFOUND, 0, "no question %lld", (long long)id);
}

int approval_get(struct db *db, int64_t id, approval_fn *fn, void *cookie, struct err *err)
{
	struct query q = { .db = db, .select = SELECT_APPROVAL, .keys = { "a.id", NULL } };
	struct reader reader = { .fn = fn, .cookie = cookie };

	query_int(&q, "a.id = ?", id ? id : -1);
	if (query_each(&q, read_approval, &reader, err) < 0)
		return -1;
	return reader.found ? 0 : no_question(id, err);
}

int approvals_each(struct db *db, const struct approval_filter *filter, approval_fn *fn, void *cookie,
		   struct err *err)
{
	struct query q = { .db = db, .select = SELECT_APPROVAL, .keys = { "a.id", NULL },
			   .is_descending = !filter->only_waiting, .limit = filter->limit };
	struct reader reader = { .fn = fn, .cookie = cookie };

	query_text(&q, "a.run = (SELECT n FROM runs WHERE id = ?)", filter->run);
	if (filter->only_waiting) {
		query_plain(&q, "a.state = 'waiting'");
		query_plain(&q, "r.ended_us IS NULL");
		query_int(&q, "a.expires_us > ?", clock_wall_us());
	}
	return query_each(&q, read_approval, &reader, err);
}

/* --- asking --- */

struct asking {
	const struct approval_row *row;
	int64_t id, now_us;
};

/* Rows whose time is up, or whose run is over, no longer count as open. */
static int close_overdue(struct db *db, const struct asking *a, struct err *err)
{
	return sql_run(db, err,
		       "UPDATE approvals SET state = iif(expires_us <= ?, 'expired', 'withdrawn'), closed_us = ?"
		       " WHERE digest = ? AND state IN ('waiting', 'allowed') AND (expires_us <= ?"
		       " OR (SELECT ended_us FROM runs WHERE n = approvals.run) IS NOT NULL)",
		       "iiti", a->now_us, a->now_us, a->row->digest, a->now_us);
}

static int ask_tx(struct db *db, void *cookie, struct err *err)
{
	struct asking *a = cookie;
	int64_t run = 0;

	if (a->row->run_id && run_number(db, a->row->run_id, &run, err) < 0)
		return -1;
	if (close_overdue(db, a, err) < 0 ||
	    sql_int(db, err, &a->id, "SELECT id FROM approvals WHERE digest = ? AND state IN ('waiting', 'allowed')",
		    "t", a->row->digest) < 0)
		return -1;
	if (a->id)
		return 0;
	if (sql_run(db, err,
		    "INSERT INTO approvals(run, digest, question, state, asked_us, expires_us)"
		    " VALUES(?, ?, ?, 'waiting', ?, ?)",
		    "nttii", run, a->row->digest, a->row->question, a->now_us, a->row->expires_us) < 0)
		return -1;
	a->id = sqlite3_last_insert_rowid(db->sql);
	return 0;
}

int approval_ask(struct db *db, const struct approval_row *row, int64_t *ret_id, struct err *err)
{
	struct asking a = { .row = row, .now_us = clock_wall_us() };

	assert(row->digest && row->question && row->expires_us);
	if (tx_run(db, ask_tx, &a, err) < 0)
		return -1;
	*ret_id = a.id;
	return 0;
}

struct taking {
	int64_t id;
	const char *digest;
	struct approval_news *news;
	int is_other;
};

static int look(void *cookie, const struct approval_row *row)
{
	struct taking *t = cookie;
	int64_t until_us = row->answered_us ? row->answered_us : clock_wall_us();

	*t->news = (struct approval_news){ .state = row->state };
	t->news->waited_us = until_us > row->asked_us ? until_us - row->asked_us : 0;
	snprintf(t->news->answered_by, sizeof(t->news->answered_by), "%s", row->answered_by ? row->answered_by : "");
	snprintf(t->news->note, sizeof(t->news->note), "%s", row->note ? row->note : "");
	t->is_other = strcmp(row->digest, t->digest) != 0;
	return 1;
}

static int take_tx(struct db *db, void *cookie, struct err *err)
{
	const struct taking *t = cookie;
	int is_late = t->news->state == APPROVAL_EXPIRED;
	int64_t now_us = clock_wall_us();

	if (is_late)
		return sql_run(db, err, "UPDATE approvals SET state = 'expired', closed_us = ? WHERE id = ?"
			       " AND state IN ('waiting', 'allowed')", "ii", now_us, t->id);
	if (sql_run(db, err, "UPDATE approvals SET state = 'used', closed_us = ? WHERE id = ? AND digest = ?"
		    " AND state = 'allowed' AND expires_us > ?", "iiti", now_us, t->id, t->digest, now_us) < 0)
		return -1;
	t->news->state = sqlite3_changes(db->sql) ? APPROVAL_USED : APPROVAL_WITHDRAWN;
	return 0;
}

int approval_take(struct db *db, int64_t id, const char *digest, struct approval_news *ret, struct err *err)
{
	struct approval_news news;
	struct taking t = { .id = id, .digest = digest, .news = &news };

	if (approval_get(db, id, look, &t, err) < 0)
		return -1;
	if (t.is_other)
		return err_set(err, ERR_POLICY, 0, "question %lld was about another request", (long long)id);
	/* Who finds it used up comes too late: it was given out before. */
	if (news.state == APPROVAL_USED)
		news.state = APPROVAL_WITHDRAWN;
	else if ((news.state == APPROVAL_ALLOWED || news.state == APPROVAL_EXPIRED) &&
		 tx_run(db, take_tx, &t, err) < 0)
		return -1;
	*ret = news;
	return 0;
}

static int withdraw_tx(struct db *db, void *cookie, struct err *err)
{
	const int64_t *id = cookie;

	return sql_run(db, err, "UPDATE approvals SET state = 'withdrawn', closed_us = ? WHERE id = ?"
		       " AND state IN ('waiting', 'allowed')", "ii", clock_wall_us(), *id);
}

int approval_withdraw(struct db *db, int64_t id, struct err *err)
{
	return tx_run(db, withdraw_tx, &id, err);
}

/* --- answering --- */

struct answering {
	int64_t id, policy;
	const struct approval_answer *answer;
	enum approval_state state;
	char by[128];
};

static int look_before(void *cookie, const struct approval_row *row)
{
	struct answering *a = cookie;

	a->state = row->state;
	snprintf(a->by, sizeof(a->by), "%s", row->answered_by ? row->answered_by : "");
	return 1;
}

static int not_open(const struct answering *a, struct err *err)
{
	static const char *const words[APPROVAL_NUM] = {
		[APPROVAL_ALLOWED] = "is answered already: allowed", [APPROVAL_USED] = "is answered already: allowed",
		[APPROVAL_DENIED] = "is answered already: denied", [APPROVAL_WITHDRAWN] = "is no longer asked",
		[APPROVAL_EXPIRED] = "has expired",
	};
	const char *by = a->by[0] && a->state != APPROVAL_EXPIRED ? " by " : "";

	return err_set(err, ERR_POLICY, 0, "question %lld %s%s%s", (long long)a->id, words[a->state], by,
		       *by ? a->by : "");
}

/* An equal rule that is there already does as well. */
static int remember(struct db *db, struct answering *a, struct err *err)
{
	struct err why = { 0 };

	if (!a->answer->remember || !policy_add(db, a->answer->remember, &a->policy, &why))
		return 0;
	if (why.code == ERR_BUSY && a->policy)
		return 0;
	if (err)
		*err = why;
	return -1;
}

static int answer_tx(struct db *db, void *cookie, struct err *err)
{
	struct answering *a = cookie;
	const struct approval_answer *answer = a->answer;

	if (approval_get(db, a->id, look_before, a, err) < 0)
		return -1;
	if (a->state != APPROVAL_WAITING)
		return not_open(a, err);
	if (remember(db, a, err) < 0)
		return -1;
	return sql_run(db, err,
		       "UPDATE approvals SET state = ?, answered_us = ?, answered_by = ?, note = ?, policy = ?"
		       " WHERE id = ?",
		       "tixxni", answer->is_allowed ? "allowed" : "denied", clock_wall_us(), answer->by, answer->note,
		       a->policy, a->id);
}

int approval_answer(struct db *db, int64_t id, const struct approval_answer *answer, int64_t *ret_policy,
		    struct err *err)
{
	struct answering a = { .id = id, .answer = answer };

	assert(answer->by);
	if (tx_run(db, answer_tx, &a, err) < 0)
		return -1;
	if (ret_policy)
		*ret_policy = a.policy;
	return 0;
}
