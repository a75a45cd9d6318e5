/*
 * gates/guard.h - what the rules make of a command, or of any act of an agent
 *
 * In goes what the gate before said, with the effects it found; out comes one
 * decision, the rule it rests on, and what became of every rule.
 *
 * Each effect is judged, and so is the call as a whole (rules about commands,
 * lines and tools). The strictest answer stands: deny beats ask beats allow.
 *
 *	1. A hard rule that denies and applies decides, whatever its scope.
 *	2. Else the nearest scope decides: space, agent, this workspace, every
 *	   workspace. In one scope a remembered answer goes before other rules, a rule
 *	   with constraints before one without, the longer command before the shorter,
 *	   then the stricter one. A soft denial that wins this way asks.
 *	3. An advisory rule never decides; that it would have is told.
 *	4. No rule: allowed. The sandbox holds the rest.
 *	5. Managed rules and those of the repository are resolved each for themselves,
 *	   and count only where they are stricter.
 *	6. A mode that only looks denies its classes; no rule lifts that.
 *	7. What the gate before denied stays denied. What it would ask, a rule may have
 *	   answered: then every effect that asks, or the call, was allowed by a rule.
 *
 * What cannot be told ("git push origin $x") is taken against the command: a rule
 * that asks or denies applies, one that allows does not. No workspace, a set that
 * could not be read, no memory: denied, with the reason.
 *
 * Pure: the clock is passed in.
 */
#ifndef GATES_GUARD_H
#define GATES_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mode.h"
#include "gates/rule.h"

struct err;

/* All borrowed. Paths are clean and absolute, as the command sees them. */
struct guard_request {
	enum mode mode;
	const char *space, *agent;	/* which; NULL: none */
	const char *workspace;		/* which; NULL: not known, and so denied */
	const char *tool;		/* the agent's tool; NULL: a command of ours */
	const char *line;		/* a shell line of @len bytes, */
	size_t len;
	const char *const *argv;	/* or words, ends in NULL; both NULL: no command */
	const char *root;		/* the workspace's directory; NULL: not known */
	const char *cwd, *home;		/* NULL: not known */
	const struct verdict *verdict;	/* what the gate before said; never NULL */
	int64_t now_us;
};

/* What became of a rule. The later ones say more. */
enum guard_fate {
	GUARD_OTHER_SCOPE,	/* is for somebody else */
	GUARD_EXPIRED,
	GUARD_OTHER_THING,	/* nothing it is about happens */
	GUARD_NO_FIT,		/* a constraint does not fit */
	GUARD_UNSURE,		/* allows, but it cannot be told that it fits */
	GUARD_ADVISES,		/* applies, and is only put on record */
	GUARD_OUTRANKED,	/* applies, but another one decides */
	GUARD_AGREES,		/* applies, and says the same as the one that decides */
	GUARD_DECIDES,
	GUARD_FATE_NUM
};

const char *guard_fate_name(enum guard_fate f);	/* "other scope", "decides", ... */

struct guard_note {
	const struct rule *rule;	/* the set's */
	enum guard_fate fate;
	char why[200];			/* one line; control bytes masked */
};

struct guard_result {
	enum decision decision;
	const char *gate;		/* who decided: "command" (the gate before) or "guard" */
	const struct rule *rule;	/* the set's; NULL: none decided */
	char name[128];			/* of what decided: "rule 12", "plan: gitPush", the verdict's rule */
	char reason[256];		/* one line for a person; control bytes masked */
	size_t span_start, span_end;
	bool is_override;		/* ask: a rule denies, softly */
	bool is_settled;		/* allow: the gate before would have asked, and a rule answered */
	bool may_remember;		/* ask: a rule could answer it next time */
	bool has_class;			/* it was about an effect of */
	enum effect_class class;
	unsigned int classes;		/* of all effects that are more than reading: bits */
	struct guard_note *notes;	/* one a rule, in the set's order; the result's */
	size_t notes_n;
};

void guard_result_done(struct guard_result *r);

/**
 * guard_judge() - Decide
 * @set:	borrowed; the result points into it
 * @ret:	always filled, from the start with a denial; the caller's to guard_result_done()
 *
 * A failure to decide is a denial. There is nothing else to fail.
 */
void guard_judge(const struct guard_request *req, const struct rule_set *set, struct guard_result *ret);

/**
 * guard_classes() - the bits as words: "fileDelete,gitPush"; "" for none
 * @size:	256 is enough for all
 */
void guard_classes(unsigned int classes, char *ret, size_t size);

/* --- self-tests --- */

/**
 * rule_self_test() - Does the rule apply to its match examples, and not to the others?
 *
 * Examples are judged as if they stood in the workspace that the rule is for ("/workspace"
 * where it is for any), in mode chat.
 * Return: 0, or -1 with @err (ERR_POLICY): "rule 12: should match 'git push'"
 */
int rule_self_test(const struct rule *r, struct err *err);

/* rule_set_self_test() - of all; the first that fails */
int rule_set_self_test(const struct rule_set *set, struct err *err);

/* --- remembering an answer --- */

enum guard_extent {
	GUARD_EXACT,	/* this very line, in this directory */
	GUARD_PREFIX,	/* commands that begin like those of this line */
	GUARD_DIR,	/* the same effects on the same directories, branches and hosts */
	GUARD_EXTENT_NUM
};

const char *guard_extent_name(enum guard_extent e);			/* "EXACT", ... */
int guard_extent_parse(const char *word, enum guard_extent *ret);	/* letters of either case */

/**
 * guard_remember() - The rule that answers the same question next time
 * @asked:	what guard_judge() answered to @req
 * @ret:	of this workspace, or the scope of the rule that asked; the caller's to rule_done()
 * @err:	ERR_POLICY when no rule could: the managed rules ask, or there is nothing to
 *		generalise ("'make x' touches no path: remember it as EXACT or PREFIX")
 */
int guard_remember(const struct guard_request *req, const struct guard_result *asked, enum guard_extent extent,
		   enum decision decision, struct rule *ret, struct err *err);

static inline void own_guard_result(struct guard_result *r)
{
	guard_result_done(r);
}

#endif
