/*
 * gates/import_rules.h - rules that were written for another program
 *
 * What means the same here becomes a rule. Where the two differ, a rule that asks
 * or denies comes out no weaker than it was, one that allows no stronger, and the
 * report says so. What cannot be carried over is told, entry by entry; losing one
 * that asks or denies is told apart, since it weakens things.
 *
 * Pure: the file's text goes in.
 */
#ifndef GATES_IMPORT_RULES_H
#define GATES_IMPORT_RULES_H

#include <stddef.h>

#include "gates/rule.h"

struct err;

enum import_fate {
	IMPORT_SAME,		/* carried over */
	IMPORT_STRICTER,	/* carried over, and it asks, denies or withholds more */
	IMPORT_LEFT_OUT,	/* not carried over; nothing gets weaker by that */
	IMPORT_LOST,		/* not carried over, though it asked or denied */
	IMPORT_FATE_NUM
};

const char *import_fate_name(enum import_fate f);	/* "carried over", ... */

struct import_note {
	enum import_fate fate;
	char *entry;		/* as it stood there: "deny Bash(git push:*)" */
	char *why;		/* "" where there is nothing to say */
};

struct import_report {
	struct import_note *v;
	size_t n, cap;
	size_t count[IMPORT_FATE_NUM];
};

void import_report_done(struct import_report *r);

/* Whose the rules will be. All borrowed. */
struct import_where {
	const char *name;	/* the file, for messages */
	const char *base;	/* what "/x" in it is below: clean absolute, or NULL when there is none */
	enum rule_scope scope;
	const char *scope_id;
};

/**
 * import_claude() - The permissions of a settings file of Claude Code
 * @set:	gets the rules; provenance "import claude"
 * @report:	one note an entry, also on failure
 * @err:	ERR_INPUT when the file is no such thing
 *
 * Never taken: hooks, environment, helpers, servers and plugins, which run programs.
 */
int import_claude(const char *text, size_t len, const struct import_where *where, struct rule_set *set,
		  struct import_report *report, struct err *err);

/**
 * import_codex() - A file of Codex's prefix_rule(...) calls
 *
 * Plain calls with strings and lists; what computes anything is refused whole,
 * with the line, since nobody can tell what it would have said.
 */
int import_codex(const char *text, size_t len, const struct import_where *where, struct rule_set *set,
		 struct import_report *report, struct err *err);

/* --- what both need; for the import_*.c files --- */

struct importing {
	const struct import_where *where;
	const char *provenance;
	struct rule_set *set;
	struct import_report *report;
	struct err *err;
};

/* import_note() - copies; 0, or -1 with @imp->err */
int import_note(struct importing *imp, enum import_fate fate, const char *entry, const char *why);

/* import_begin() - a rule of the right scope, to be filled in; 0 or -1 */
int import_begin(struct importing *imp, const char *place, enum decision decision, struct rule *ret);

/* import_end() - check and append it; takes @r in any case */
int import_end(struct importing *imp, struct rule *r);

static inline void own_import_report(struct import_report *r)
{
	import_report_done(r);
}

#endif
