/*
 * db/approvals.h - questions to people, and their answers
 *
 * A question is bound to the digest of the exact request. It is answered once;
 * an answer that allows is used once, before the question's time is up, by who
 * asks with the same digest. All of it is on disk, so either side may be killed
 * and come back.
 *
 *	waiting -> allowed -> used
 *	        -> denied
 *	        -> withdrawn	who asked gave up, or its run is over
 *	waiting, allowed -> expired
 */
#ifndef DB_APPROVALS_H
#define DB_APPROVALS_H

#include <stdint.h>

struct db;
struct err;
struct policy_row;

enum approval_state {
	APPROVAL_WAITING, APPROVAL_ALLOWED, APPROVAL_USED, APPROVAL_DENIED, APPROVAL_WITHDRAWN,
	APPROVAL_EXPIRED, APPROVAL_NUM
};

/* approval_state_name() - "waiting", ... */
const char *approval_state_name(enum approval_state s);

/* Strings are borrowed for the call. */
struct approval_row {
	int64_t id;
	const char *run_id;	/* may be NULL */
	const char *digest;	/* of the request, 64 hex digits */
	const char *question;	/* JSON object, for people and programs; comes back as it was */
	enum approval_state state;	/* as it counts now: an overdue one is expired already */
	int64_t asked_us;
	int64_t expires_us;
	int64_t answered_us;	/* 0: not answered */
	const char *answered_by;	/* may be NULL */
	const char *note;	/* of who answered; may be NULL */
	int64_t policy;		/* the rule made of the answer; 0: none */
};

/**
 * approval_ask() - Put a question, or come back to one that is open
 * @row:	needs digest, question and expires_us; perhaps run_id
 *
 * An open question of the same digest is joined, and keeps its own expiry: an
 * answer that was given while nobody waited is then there to be taken.
 */
int approval_ask(struct db *db, const struct approval_row *row, int64_t *ret_id, struct err *err);

/* What approval_take() found. */
struct approval_news {
	enum approval_state state;	/* APPROVAL_USED: allowed, and this call has used it up */
	char answered_by[128];		/* empty: nobody */
	char note[256];
	int64_t waited_us;		/* from the question to the answer, or to now */
};

/**
 * approval_take() - Is there an answer? Use it up if there is.
 * @digest:	of the request as it would run now; another than that of the question
 *		takes nothing (ERR_POLICY)
 *
 * APPROVAL_WAITING: ask again later. Each "allowed" is given out once: a second
 * call finds nothing to take (APPROVAL_WITHDRAWN), whoever makes it.
 */
int approval_take(struct db *db, int64_t id, const char *digest, struct approval_news *ret, struct err *err);

/* approval_withdraw() - nobody waits for it any more; fine when it is closed already */
int approval_withdraw(struct db *db, int64_t id, struct err *err);

/* An answer. */
struct approval_answer {
	int is_allowed;
	const char *by;		/* who says so */
	const char *note;	/* may be NULL */
	const struct policy_row *remember;	/* a rule to be stored in the same commit, or NULL */
};

/**
 * approval_answer() - Answer a waiting question
 * @ret_policy:	number of the remembered rule, 0 for none; may be NULL
 * @err:	ERR_NOTFOUND: no such question; ERR_POLICY: it is answered, expired or
 *		withdrawn already, and then nothing is changed
 */
int approval_answer(struct db *db, int64_t id, const struct approval_answer *answer, int64_t *ret_policy,
		    struct err *err);

/* Non-zero from @fn ends the walk (which is no error). */
typedef int approval_fn(void *cookie, const struct approval_row *row);

/* approval_get() - one question; ERR_NOTFOUND */
int approval_get(struct db *db, int64_t id, approval_fn *fn, void *cookie, struct err *err);

/* Zeroed: all of them. */
struct approval_filter {
	int only_waiting;	/* 1: those somebody can answer now */
	const char *run;	/* full id */
	int64_t limit;		/* 0: none */
};

/* approvals_each() - oldest first when only_waiting, else newest first */
int approvals_each(struct db *db, const struct approval_filter *filter, approval_fn *fn, void *cookie,
		   struct err *err);

#endif
