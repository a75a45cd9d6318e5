/*
 * dispatch/approve_case.h - what somebody is asked about: as a digest, as JSON, and back
 *
 * The digest is over the exact request: its words or line byte for byte, where,
 * in which mode and run, by whom, under which rules. The JSON is what a question
 * keeps in the database: all that is needed to show it, and to judge it once more
 * when the answer is to be remembered.
 */
#ifndef DISPATCH_APPROVE_CASE_H
#define DISPATCH_APPROVE_CASE_H

#include <stdint.h>

#include "base/digest.h"
#include "base/strv.h"
#include "gates/guard.h"

struct err;
struct json;
struct policy_row;

/* All borrowed. */
struct approve_case {
	const struct guard_request *req;
	const struct guard_result *res;	/* what was decided about it */
	const char *run_id;		/* NULL: no run */
	const char *tool_use;		/* the agent's id of its call; may be NULL */
	const char *input;		/* of a tool that is given no line: digest of its input; may be NULL */
	const char *rules;		/* digest of the rules */
};

/* case_digest() - 0, or -1 with @err (ERR_INPUT for a line that holds a NUL, ERR_NOMEM) */
int case_digest(const struct approve_case *c, char ret[DIGEST_HEX_SIZE], struct err *err);

/**
 * case_json() - One line; the caller's to free(), NULL with @err
 *
 * Secrets do not get there: a request that holds one is kept masked, to be shown
 * but not to be judged again, and so its answer cannot be remembered later.
 */
char *case_json(const struct approve_case *c, struct err *err);

/* case_line() - the command as one line for people, unmasked; the caller's to free(), NULL out of memory */
char *case_line(const struct guard_request *req);

/* A question read back; owns what .req borrows. */
struct approve_read {
	struct guard_request req;	/* .now_us is set by the reader */
	struct verdict verdict;
	struct json *root;
	struct strv argv, texts;
};

/**
 * case_read() - The other way round
 * @text:	of the database
 *
 * Return: 0, or -1 with @err: ERR_INPUT, not as case_json() wrote it; ERR_POLICY, masked
 */
int case_read(const char *text, struct approve_read *ret, struct err *err);
void case_read_done(struct approve_read *r);

/* A rule to be stored with an answer. */
struct approve_memory {
	struct rule rule;
	char *body;
};

/* How long an answer is remembered where nobody says. */
#define APPROVE_MEMORY_MS ((int64_t)30 * 86400000)

/**
 * case_remember() - Make the rule of an answer
 * @ttl_ms:	0: APPROVE_MEMORY_MS
 * @ret_row:	borrows from @ret
 * @err:	as guard_remember(); ERR_POLICY when the rule would hold a secret
 */
int case_remember(const struct guard_request *req, const struct guard_result *asked, enum guard_extent extent,
		  enum decision decision, int64_t ttl_ms, const char *by, struct approve_memory *ret,
		  struct policy_row *ret_row, struct err *err);
void case_memory_done(struct approve_memory *m);

static inline void own_approve_read(struct approve_read *r)
{
	case_read_done(r);
}

static inline void own_approve_memory(struct approve_memory *m)
{
	case_memory_done(m);
}

#endif
