/*
 * sandbox/seatbelt_internal.h - the pieces of the Seatbelt profile, for its own files only
 *
 *	seatbelt.c		the profile, section by section
 *	seatbelt_reads.c	which reads are denied, and which are allowed again
 *	seatbelt_rules.c	what is left of a rule below a directory
 *	seatbelt_except.c	a rule without its exceptions
 *	seatbelt_atom.c		names that match these patterns and not those
 *	seatbelt_machine.c	an automaton becomes an expression
 *	seatbelt_regex.c	bytes and patterns as expressions
 *
 * Expressions are POSIX extended ones over bytes, without anchors, backslashes
 * as few as can be; the profile's string quoting comes on top. Functions that
 * return -1 leave errno: ENOMEM, or E2BIG for what grows out of bounds.
 */
#ifndef SANDBOX_SEATBELT_INTERNAL_H
#define SANDBOX_SEATBELT_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sandbox/names.h"

struct sandbox_spec;
struct strv;

/* --- seatbelt_regex.c --- */

struct bits {
	uint64_t w[4];
};

static inline int bits_has(const struct bits *b, size_t i)
{
	return b->w[i / 64] >> (i % 64) & 1;
}

static inline void bits_set(struct bits *b, size_t i)
{
	b->w[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline int bits_empty(const struct bits *b)
{
	return !(b->w[0] | b->w[1] | b->w[2] | b->w[3]);
}

static inline struct bits bits_without(const struct bits *b, const struct bits *minus)
{
	struct bits r;

	for (size_t i = 0; i < 4; i++)
		r.w[i] = b->w[i] & ~minus->w[i];
	return r;
}

extern const struct bits any_byte;	/* every byte a name may have */

/* A pattern, cut up: a star, or one byte of a set. No two stars meet. */
struct token {
	int is_star;
	struct bits set;
};

struct glob {
	struct token *t;
	size_t n;
};

int glob_cut(struct glob *g, const struct name_part *part, int fold);
void glob_done(struct glob *g);

/* These append; a failure shows in the buffer. */
void regex_set(struct buf *to, const struct bits *b);	/* one byte of the set */
void regex_tokens(struct buf *to, const struct token *t, size_t n);

/* regex_text() - append what matches exactly this text */
int regex_text(struct buf *to, const char *text, size_t len, int fold);
/* regex_part() - append what matches a name as one part of a rule does; "**" is not for here */
int regex_part(struct buf *to, const struct name_part *part, int fold);
/* regex_parts() - append "/part" for each; "**" is any number of parts */
int regex_parts(struct buf *to, const struct name_part *parts, size_t n, int fold);

/* --- seatbelt_machine.c --- */

/*
 * An automaton with expressions on its edges. It reads from right to left, if not
 * told otherwise: what stands on the first edge is the end of the text. State 0
 * is the start, state 1 the end.
 */
struct machine {
	int is_forward;
	size_t n;
	size_t cap;
	char **label;	/* cap times cap; NULL: no edge */
};

#define MACHINE_MAX 256	/* states */
enum { MACHINE_START, MACHINE_END };

int machine_init(struct machine *m);
int machine_add(struct machine *m);	/* a new state's number, or -1 */
/* machine_edge() - one more way from @from to @to; @text must be safe to stand beside others: no bare "|" */
int machine_edge(struct machine *m, size_t from, size_t to, const char *text);
/* machine_regex() - append the whole: 1; 0 if it matches nothing; or -1. The machine is used up. */
int machine_regex(struct machine *m, struct buf *to);
void machine_done(struct machine *m);

/* --- seatbelt_atom.c --- */

#define ATOM_MAX 64	/* patterns of each sort */

/* The names that match all of @is and none of @isnt; with nothing in @is, any name. */
struct atom {
	const struct name_part *is[ATOM_MAX], *isnt[ATOM_MAX];
	size_t n_is, n_isnt;
	int fold;
};

/* atom_possible() - is there such a name? 1, 0 or -1 */
int atom_possible(const struct atom *a);
/* atom_regex() - append what matches such names: 1; 0 if there are none, with nothing added; or -1 */
int atom_regex(const struct atom *a, struct buf *to);

/* --- seatbelt_rules.c --- */

/* What is left of a rule below some directory: its parts from @from on, at least one. */
struct rest {
	const struct name_rule *rule;
	size_t index;	/* place of the rule in its list */
	size_t from;
};

struct rests {
	struct rest *v;
	size_t n;
	size_t cap;
};

void rests_done(struct rests *r);

/* rule_is_anchored() - 1 if it begins with a name: then it may mean a directory's other spelling, "/private/tmp" */
int rule_is_anchored(const struct name_rule *rule);

/*
 * rests_below() - append what is left of each rule of @n below the directory @at[0],
 * which may have other spellings (ends in NULL). 0 or -1
 */
int rests_below(struct rests *r, const struct names *n, const char *const at[]);

/* rest_below() - append what is left of @rest below @path, relative to where @rest begins ("/a/b") */
int rest_below(struct rests *r, const struct rest *rest, const char *path, int fold);

/* rest_text() - append what is left of a literal rule as text, "/a/b" */
int rest_text(const struct rest *rest, struct buf *to);
/* rest_takes() - 1 if it matches exactly "/a/b", relative to where it begins */
int rest_takes(const struct rest *rest, const char *path, int fold);

/* rule_takes() - 1 if the rule, sign aside, matches exactly this path */
int rule_takes(const struct name_rule *rule, const char *path, size_t len, int fold);
/* rule_is_literal() - 1 if there is no pattern in it: it names one path */
int rule_is_literal(const struct name_rule *rule);

/* rest_parts() - its parts */
const struct name_part *rest_parts(const struct rest *rest, size_t *ret_n);

/*
 * rest_heads() - append, for each way in which a directory leads into the rule, the
 * expression that matches such directories. 0 or -1
 */
int rest_heads(const struct rest *rest, int fold, struct strv *to);

/* --- seatbelt_except.c --- */

/*
 * rest_regex() - append what matches the paths that @rest does and no exception among
 * @all that comes after it. 1; 0 if there are none, with nothing added; or -1.
 * *ret_is_cut: an exception took something away
 */
int rest_regex(const struct rest *rest, const struct rests *all, int fold, struct buf *to, int *ret_is_cut);

/* --- seatbelt.c --- */

/*
 * A directory (or file) of the host that the command may see, and where on Linux
 * it would see it. @host is as the kernel resolves it: "/tmp" is "/private/tmp".
 */
struct view {
	char *host;
	const char *guest;
	char *guest_twin;	/* the other spelling of @guest, or NULL */
	const char *at[3];	/* @guest and its twin, ends in NULL */
	int is_writable;
	int is_system;		/* no bind */
};

struct profile {
	const struct sandbox_spec *spec;
	int fold;
	struct names writes;		/* denyWrite */
	struct names anchored_writes;	/* of them, those for other spellings */
	struct names deny_reads;	/* denyRead */
	struct names allow_reads;	/* allowRead */
	struct view *views;		/* outer before inner, by host path */
	size_t n_views;
	struct buf *to;
	const char **ret_rule;		/* the one that was too much */
};

/* Filters gather in a buffer, so that no rule is made without any: it would match everything. */

/* put_tree() - @rel ("" or "/a/b") below the view and all in it; @is_denial: in other letter case too, if folded */
int put_tree(const struct profile *p, struct buf *filters, const struct view *v, const char *rel, int is_denial);
/* put_regex() - what @regex matches below @rel of the view; @tail "$", or "(/|$)" for all in it as well */
int put_regex(const struct profile *p, struct buf *filters, const struct view *v, const char *rel,
	      const char *regex, const char *tail);
/* put_rule() - "(@action @filters)", and empty @filters; nothing if there are none */
int put_rule(const struct profile *p, const char *action, struct buf *filters);
/* put_executable() - what below @rel of the view may be executed */
int put_executable(const struct profile *p, struct buf *filters, const struct view *v, const char *rel);
/* put_hidden() - where other views lie over this one */
int put_hidden(const struct profile *p, struct buf *filters, const struct view *v);

/* --- seatbelt_reads.c --- */

/*
 * Which reads are denied, and which allowed again? The deepest path decides that
 * is named as it is, then patterns that match deeper; an allowance beats an equal
 * denial, but between two patterns the denial wins.
 */

/* reads_denied() - is the view's own top denied? *ret_by_pattern: by one, so that no pattern opens it below */
int reads_denied(const struct profile *p, const struct view *v, int *ret_by_pattern);
/* put_reads() - the rules for reading below all views, or for executing. 0 or -1 */
int put_reads(const struct profile *p, int is_exec);
/* put_unreadable() - what may not be written since it may not be read */
int put_unreadable(const struct profile *p, struct buf *filters, const struct view *v);

#endif
