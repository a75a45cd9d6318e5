/*
 * dispatch/rulebook.h - all the rules that hold for a run, read together
 *
 * Three places: the machine owner's file, a file in the repository, and the
 * database. The first two may only tighten, so that it does no harm who wrote
 * them. Whatever cannot be read, or does not pass its own examples, makes a book
 * that denies everything and says where the trouble is.
 */
#ifndef DISPATCH_RULEBOOK_H
#define DISPATCH_RULEBOOK_H

#include <stdint.h>

#include "base/digest.h"
#include "gates/rule.h"

struct db;
struct strv;

/* $AGATE_MANAGED_POLICY may name a further file, which can only tighten, too. */
#define RULEBOOK_MANAGED "/etc/agate/policy.json"
#define RULEBOOK_REPOSITORY ".agate/policy.json"

struct rulebook {
	struct rule_set set;
	char digest[DIGEST_HEX_SIZE];
};

/**
 * rulebook_load() - Read them
 * @root:	the checkout; NULL: no repository's file
 * @ret:	always usable; .set.problem tells what is wrong; the caller's to rulebook_done()
 */
void rulebook_load(struct db *db, const char *root, struct rulebook *ret);

void rulebook_done(struct rulebook *b);

/* policy_rule() - a stored row as a rule, with place "rule N"; 0, or -1 with @err */
struct policy_row;
int policy_rule(const struct policy_row *row, struct rule *ret, struct err *err);

/* Whose a run is, as the scopes of rules name it; NULL where there is none. */
struct rule_owner {
	const char *space, *agent, *workspace;
};

/**
 * rulebook_network() - What the rules say about the network for a whole run
 * @ret_hosts:	hosts that a hard rule denies and nothing else narrows are appended
 *
 * Return: the hard rule that denies all of it, or NULL; a set out of memory: -1 in
 * *ret_failed. Rules that ask, or that look at commands, are for single commands.
 */
const struct rule *rulebook_network(const struct rulebook *b, const struct rule_owner *owner, int64_t now_us,
				    struct strv *ret_hosts, int *ret_failed);

static inline void own_rulebook(struct rulebook *b)
{
	rulebook_done(b);
}

#endif
