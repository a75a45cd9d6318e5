/*
 * gates/guard_judge.h - one judgement on its way; internal to the guard
 */
#ifndef GATES_GUARD_JUDGE_H
#define GATES_GUARD_JUDGE_H

#include "gates/guard_fit.h"

/* What the rules make of one item. */
struct item_result {
	enum decision decision;
	const struct rule *rule;	/* that decides; NULL: none */
	bool is_allowed;		/* a stored rule allows it, and none is stricter */
	const struct rule *winner[3];	/* managed, the repository's, stored */
};

struct judging {
	struct guard g;
	const struct rule_set *set;
	struct guard_note *notes;	/* one a rule, or NULL: not wanted */
	struct item_result *results;	/* one an item */
};

void guard_judge_item(struct judging *d, const struct item *it, struct item_result *ret);

/**
 * guard_settles() - Has a rule answered all that the gate before would ask?
 *
 * Return: the rule, or the first of several; NULL: somebody has to be asked
 */
const struct rule *guard_settles(struct judging *d);

#endif
