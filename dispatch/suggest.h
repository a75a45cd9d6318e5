/*
 * dispatch/suggest.h - which options would have allowed what was refused
 *
 * Reads refusals, says options of `agate run`: one line for each, whatever
 * number of refusals it would have lifted. What no option lifts (a deny rule,
 * a protected name, cloud metadata) becomes a comment that says so. A
 * suggestion is no advice: whoever takes one decides that it is right.
 */
#ifndef DISPATCH_SUGGEST_H
#define DISPATCH_SUGGEST_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct violation;

struct suggestion {
	char *option;	/* "--allow-domain"; NULL: none helps */
	char *value;	/* of the option; else what was refused */
	char *note;	/* why none helps, else NULL */
	int64_t count;	/* how often it was refused */
};

/* A zeroed struct is empty. */
struct suggest {
	struct suggestion *v;
	size_t n, cap;
};

/* suggest_add() - one refusal more; 0, or -1 with @err (ERR_NOMEM) */
int suggest_add(struct suggest *s, const struct violation *v, struct err *err);

/* suggest_settle() - sort them, options first, and count equal ones together */
void suggest_settle(struct suggest *s);

/**
 * suggest_print() - All of them to stdout: options, ready for a shell, and comments
 * @as_json:	one object a line instead
 *
 * Return: 0, or -1 with @err when it cannot be written
 */
int suggest_print(const struct suggest *s, int as_json, struct err *err);

void suggest_done(struct suggest *s);

static inline void own_suggest(struct suggest *s)
{
	suggest_done(s);
}

#endif
