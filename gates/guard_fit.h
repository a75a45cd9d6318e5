/*
 * gates/guard_fit.h - does one rule apply to one thing that happens?
 *
 * Internal to the guard. A thing is an effect the gate before found, or the call
 * as a whole. All memory is the arena's.
 */
#ifndef GATES_GUARD_FIT_H
#define GATES_GUARD_FIT_H

#include "gates/guard.h"
#include "gates/guard_line.h"

struct item {
	bool is_call;
	bool is_any;		/* effects that were not listed any more: could be whatever */
	enum effect_class class;
	enum effect_place place;
	const char *subject;	/* NULL: none; "*" and PLACE_HOLE where it is not known */
	size_t start, end;
};

struct guard {
	struct arena *arena;
	const struct guard_request *req;
	struct command_request line_req;
	struct guard_line *line;	/* once somebody asked for it: guard_line_of() */
	const char *text;		/* of the line, or of the words with quotes; NULL: no command */
	signed char *harmless;		/* for each plain command: -1 not looked at */
	struct item *items;		/* the call first */
	size_t n;
};

struct fit {
	enum guard_fate fate;	/* up to GUARD_UNSURE it does not apply; GUARD_DECIDES: it does */
	enum tri sure;		/* of one that applies */
	char why[200];
};

/* guard_open() - take the request apart; @text: see struct guard, borrowed */
void guard_open(struct guard *g, struct arena *a, const struct guard_request *req, const char *text);

/* guard_line_of() - the command taken apart, when that is needed first; NULL: the act is no command */
const struct guard_line *guard_line_of(struct guard *g);

/* guard_fit() - always fills *ret; counts of things are made over all of @g's items */
void guard_fit(struct guard *g, const struct rule *r, const struct item *it, struct fit *ret);

/* guard_text() - for struct guard: empty where there is none; the caller's to free(), NULL out of memory */
char *guard_text(const struct guard_request *req);

/* guard_is_harmless() - plain command @i only reads, or changes to a directory of the workspace */
bool guard_is_harmless(struct guard *g, size_t i);

/* item_is_read() - it is no more than reading, which needs nobody's leave */
bool item_is_read(const struct item *it);

/* item_words() - "gitPush of 'git push'", "the command" */
const char *item_words(struct guard *g, const struct item *it);

#endif
