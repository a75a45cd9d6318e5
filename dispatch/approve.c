#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "db/approvals.h"
#include "db/policies.h"
#include "dispatch/approve.h"
#include "dispatch/approve_tty.h"

enum approver approve_default(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO) ? APPROVE_TTY : APPROVE_NONE;
}

void approve_who(char *ret, size_t size)
{
	snprintf(ret, size, "uid %u", (unsigned int)getuid());
}

struct asking {
	struct db *db;
	const struct approve_case *c;
	const struct approve_means *means;
	struct approve_answer *ret;
	struct tty_prompt tty;
	int is_over;		/* the answer is there, or asking has failed */
};

static void say(struct asking *a, enum approve_outcome outcome, const char *by, const char *why)
{
	a->ret->outcome = outcome;
	snprintf(a->ret->by, sizeof(a->ret->by), "%s", by);
	snprintf(a->ret->why, sizeof(a->ret->why), "%s", why);
}

/* --- the question --- */

static int put(struct asking *a, struct err *err)
{
	int64_t ms = a->means->timeout_ms ? a->means->timeout_ms : APPROVE_TIMEOUT_MS;
	OWN(mem) char *question = NULL;
	struct approval_row row = { .run_id = a->c->run_id, .digest = a->ret->digest };

	if (case_digest(a->c, a->ret->digest, err) < 0)
		return -1;
	question = case_json(a->c, err);
	if (!question)
		return -1;
	row.question = question;
	row.expires_us = clock_wall_us() + ms * 1000;
	if (approval_ask(a->db, &row, &a->ret->id, err) < 0)
		return -1;
	if (a->means->asked)
		a->means->asked(a->means->cookie, a->ret->id, a->ret->digest, row.expires_us);
	if (a->tty.fd >= 0)
		tty_show(&a->tty, a->c, ms / 1000);
	return 0;
}

/* --- the answer --- */

/* 1 it is there, 0 not yet, -1 with @err. */
static int look(struct asking *a, struct err *err)
{
	struct approval_news news;
	char why[sizeof(a->ret->why)];

	if (approval_take(a->db, a->ret->id, a->ret->digest, &news, err) < 0)
		return -1;
	a->ret->waited_us = news.waited_us;
	switch (news.state) {
	case APPROVAL_WAITING:
		return 0;
	case APPROVAL_USED:
		say(a, APPROVED, news.answered_by, "");
		return 1;
	case APPROVAL_DENIED:
		snprintf(why, sizeof(why), "%.100s said no%s%.200s", news.answered_by, news.note[0] ? ": " : "", news.note);
		say(a, APPROVE_REFUSED, news.answered_by, why);
		return 1;
	case APPROVAL_EXPIRED:
		say(a, APPROVE_UNANSWERED, "nobody", "nobody answered in time");
		return 1;
	default:
		say(a, APPROVE_UNANSWERED, "nobody", "the question is no longer open");
		return 1;
	}
}

/* The row is answered as if from elsewhere; if somebody was quicker, that stands. */
static int answer(struct asking *a, int is_allowed, const struct policy_row *remember, struct err *err)
{
	char by[64];
	const struct approval_answer say_it = { .is_allowed = is_allowed, .by = by, .remember = remember };
	struct err why = { 0 };

	approve_who(by, sizeof(by));
	if (!approval_answer(a->db, a->ret->id, &say_it, NULL, &why) || why.code == ERR_POLICY)
		return 0;
	*err = why;
	return -1;
}

static int remember(struct asking *a, enum guard_extent extent, struct err *err)
{
	OWN(approve_memory) struct approve_memory memory = { 0 };
	struct policy_row row;
	struct err why = { 0 };
	char by[64];

	approve_who(by, sizeof(by));
	if (case_remember(a->c->req, a->c->res, extent, DECISION_ALLOW, 0, by, &memory, &row, &why) < 0) {
		/* The yes still stands; only the memory does not. */
		tty_say(&a->tty, why.msg);
		return answer(a, 1, NULL, err);
	}
	return answer(a, 1, &row, err);
}

static int heard(struct asking *a, enum tty_word word, struct err *err)
{
	switch (word) {
	case TTY_YES:
		return answer(a, 1, NULL, err);
	case TTY_EXACT:
		return remember(a, GUARD_EXACT, err);
	case TTY_PREFIX:
		return remember(a, GUARD_PREFIX, err);
	case TTY_DIR:
		return remember(a, GUARD_DIR, err);
	case TTY_NOTHING:
		return 0;
	default:
		return answer(a, 0, NULL, err);
	}
}

/* What was typed meanwhile, if somebody may type. */
static int listen(struct asking *a, struct err *err)
{
	enum tty_word word = a->tty.fd >= 0 ? tty_wait(&a->tty, 0) : TTY_NOTHING;

	if (word == TTY_GONE)
		tty_close(&a->tty);
	return heard(a, word, err);
}

static int is_stopped(const struct asking *a)
{
	return a->means->stop && *a->means->stop;
}

static int poll_once(struct asking *a, struct err *err)
{
	int r = listen(a, err) < 0 ? -1 : look(a, err);

	if (r || !is_stopped(a))
		return r;
	say(a, APPROVE_STOPPED, "nobody", "stopped by a signal before there was an answer");
	return approval_withdraw(a->db, a->ret->id, err) < 0 ? -1 : 1;
}

int approve_poll(struct asking *a, struct err *err)
{
	int r = a->is_over ? 1 : poll_once(a, err);

	if (r < 0) {
		approval_withdraw(a->db, a->ret->id, NULL);
		say(a, APPROVE_NOBODY, "nobody", "asking failed");
	}
	a->is_over = a->is_over || r;
	return r;
}

/* There is somebody: 1; nobody, and the answer says so: 0. */
static int find_somebody(struct asking *a)
{
	const char *why;

	say(a, APPROVE_NOBODY, "nobody", "nobody can be asked");
	if (a->means->how == APPROVE_NONE)
		return 0;
	if (a->means->how != APPROVE_TTY || !tty_open(&a->tty, &why))
		return 1;
	say(a, APPROVE_NOBODY, "nobody", why);
	return 0;
}

int approve_begin(struct db *db, const struct approve_case *c, const struct approve_means *means,
		  struct approve_answer *answer, struct asking **ret, struct err *err)
{
	struct asking *a = calloc(1, sizeof(*a));

	*answer = (struct approve_answer){ 0 };
	*ret = NULL;
	if (!a)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	*a = (struct asking){ .db = db, .c = c, .means = means, .ret = answer, .tty.fd = -1 };
	if (!find_somebody(a)) {
		free(a);
		return 0;
	}
	if (put(a, err) < 0) {
		say(a, APPROVE_NOBODY, "nobody", "asking failed");
		approve_end(a);
		return -1;
	}
	*ret = a;
	return 0;
}

void approve_end(struct asking *a)
{
	if (!a)
		return;
	if (!a->is_over && a->ret->id)
		approval_withdraw(a->db, a->ret->id, NULL);
	tty_close(&a->tty);
	free(a);
}

/* Ends when the question does, which has a time. */
int approve_ask(struct db *db, const struct approve_case *c, const struct approve_means *means,
		struct approve_answer *ret, struct err *err)
{
	const struct timespec nap = { .tv_nsec = APPROVE_POLL_MS * 1000000 };
	struct asking *a;
	int r = approve_begin(db, c, means, ret, &a, err);

	while (!r && a && !(r = approve_poll(a, err)))
		nanosleep(&nap, NULL);
	approve_end(a);
	return r < 0 ? -1 : 0;
}
