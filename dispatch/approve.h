/*
 * dispatch/approve.h - ask somebody, and wait for the answer
 *
 * A question is a row in the database (db/approvals.h), bound to the digest of
 * the exact request. Whoever may use the state directory can answer it: at the
 * terminal, with `agate approvals`, or through the service. The answer is used
 * up by who asked, and what then runs is what was asked about: the caller goes on
 * with the very words it handed in.
 *
 * No answer is a no: nobody to ask, time over, terminal gone, signal, error.
 */
#ifndef DISPATCH_APPROVE_H
#define DISPATCH_APPROVE_H

#include <signal.h>
#include <stdint.h>

#include "base/digest.h"
#include "dispatch/approve_case.h"
#include "dispatch/request.h"

struct db;
struct err;

#define APPROVE_TIMEOUT_MS ((int64_t)10 * 60000)

enum approve_outcome {
	APPROVED,		/* and used up */
	APPROVE_REFUSED,	/* somebody said no */
	APPROVE_UNANSWERED,	/* the time is over */
	APPROVE_NOBODY,		/* there is nobody to ask */
	APPROVE_STOPPED,	/* a signal came */
};

struct approve_means {
	enum approver how;
	int64_t timeout_ms;			/* 0: APPROVE_TIMEOUT_MS */
	const volatile sig_atomic_t *stop;	/* becomes non-zero when waiting has to end; may be NULL */
	/* The question is on disk, with this number. May be NULL. */
	void (*asked)(void *cookie, int64_t id, const char *digest, int64_t expires_us);
	void *cookie;
};

struct approve_answer {
	enum approve_outcome outcome;
	int64_t id;		/* of the question; 0: none was put */
	char digest[DIGEST_HEX_SIZE];	/* of the request; empty if none was made */
	char by[128];		/* who answered: "uid 1000"; "nobody" */
	char why[320];		/* one line, what is to be said when it is a no */
	int64_t waited_us;
};

/**
 * approve_default() - Who is asked where nobody says: the terminal, if there is one to talk at
 *
 * Looks at standard input and error.
 */
enum approver approve_default(void);

/**
 * approve_ask() - Ask and wait
 * @c:		borrowed for the call
 * @ret:	always filled, from the start with a no
 *
 * Return: 0, or -1 with @err when the question or the answer could not be
 * recorded; the answer is a no then, too
 */
int approve_ask(struct db *db, const struct approve_case *c, const struct approve_means *means,
		struct approve_answer *ret, struct err *err);

/*
 * --- the same without waiting, for who has a loop to turn ---
 */

struct asking;

/**
 * approve_begin() - Put the question
 * @c:		borrowed until approve_end(), as are @means and @answer
 * @answer:	always filled, from the start with a no
 * @ret:	NULL when there is nobody to ask; else for approve_poll(), and in any
 *		case the caller's to approve_end()
 */
int approve_begin(struct db *db, const struct approve_case *c, const struct approve_means *means,
		  struct approve_answer *answer, struct asking **ret, struct err *err);

/* approve_poll() - 1: the answer is there; 0: call again in a moment; -1 with @err: it is a no */
int approve_poll(struct asking *a, struct err *err);

/* approve_end() - a question that is still open is withdrawn; NULL is fine */
void approve_end(struct asking *a);

/* How long a moment is. */
#define APPROVE_POLL_MS 100

/* approve_who() - the caller, as records name it: "uid 1000" */
void approve_who(char *ret, size_t size);

#endif
