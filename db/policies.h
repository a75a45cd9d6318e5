/*
 * db/policies.h - guardrail rules as they were stored
 *
 * A rule is JSON here, and a scope; gates/rule.h knows what it means. A rule
 * that was removed stays as a row, since decisions name it by its number.
 */
#ifndef DB_POLICIES_H
#define DB_POLICIES_H

#include <stdint.h>

struct db;
struct err;

/* Strings are borrowed for the call. All but the rule come back with db.h's escapes. */
struct policy_row {
	int64_t id;		/* never used twice */
	const char *scope;	/* "space", "agent", "workspace" */
	const char *scope_id;	/* which; "*" any */
	const char *rule;	/* canonical JSON, without scope and expiry */
	const char *provenance;	/* where it came from: "user", "remembered", "import claude" ... */
	const char *created_by;	/* may be NULL */
	int64_t created_us;	/* policy_add() fills a 0 */
	int64_t expires_us;	/* 0: never */
	int64_t removed_us;	/* 0: in force */
	const char *removed_by;	/* may be NULL */
};

/**
 * policy_add() - Store a rule
 * @row:	needs scope, scope_id, rule and provenance; id and removed_* are not looked at
 * @err:	ERR_BUSY when the same rule of the same scope is in force already, which
 *		is not the same as one that has expired
 *
 * The number goes to @ret_id, also with ERR_BUSY: that of the one there is.
 */
int policy_add(struct db *db, const struct policy_row *row, int64_t *ret_id, struct err *err);

/* policy_remove() - ERR_NOTFOUND: no such rule, or removed before */
int policy_remove(struct db *db, int64_t id, const char *by, struct err *err);

/* Non-zero from @fn ends the walk (which is no error). */
typedef int policy_fn(void *cookie, const struct policy_row *row);

/* Zeroed: all in force, expired ones too. */
struct policy_filter {
	const char *scope;
	const char *scope_id;
	int with_removed;
};

/* policies_each() - in the order they were added */
int policies_each(struct db *db, const struct policy_filter *filter, policy_fn *fn, void *cookie,
		  struct err *err);

#endif
