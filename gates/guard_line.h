/*
 * gates/guard_line.h - the commands of a line, for rules that name commands
 *
 * The same line is looked at in two ways. Rules that restrict want everything
 * that could run: behind wrappers, in substitutions, in nested shells. Rules that
 * allow want what plainly runs, and hear of anything that puts it in doubt.
 * Internal to the guard; all memory is the arena's.
 */
#ifndef GATES_GUARD_LINE_H
#define GATES_GUARD_LINE_H

#include <stdbool.h>

#include "gates/judge.h"

struct guard_command {
	struct args argv;
	bool has_more;		/* words are added where it is run (xargs) */
	size_t start, end;	/* bytes of the line */
};

struct guard_commands {
	struct guard_command *v;
	size_t n, cap;
};

struct guard_line {
	const char *unreadable;		/* why nothing of it is known; NULL: all below is */
	const char *doubt;		/* "a redirection", ...: why it is more than plain commands; or NULL */
	struct guard_commands plain;	/* as written, without what only waits or ranks (timeout, nice, ...) */
	struct guard_commands all;	/* everything that could run */
	bool is_cut;			/* .all is not all of it */
	struct args refs;		/* what git push names; not known: could be any */
	struct args remotes;		/* and where it goes */
	bool has_push;
};

/**
 * guard_line_read() - Take a line, or the words of a command, apart
 * @argv:	ends in NULL; NULL: @req's line
 *
 * Leaves by @a's way out when there is no memory.
 */
struct guard_line *guard_line_read(struct arena *a, const struct command_request *req, const char *const argv[]);

#endif
