/*
 * dispatch/cli.h - the commands of agate, one row each
 *
 * A command is a row in its own cmd_X.c: its words, its options, its function.
 * The list of them is in cli.c. Help, parsing and completion are the same for
 * all and live here.
 */
#ifndef DISPATCH_CLI_H
#define DISPATCH_CLI_H

#include <stddef.h>

#include "dispatch/options.h"

struct buf;
struct err;

enum {
	CMD_HIDDEN = 1,	/* for agate itself; in no list */
	CMD_STOP = 2,	/* the first operand ends the options */
	CMD_RAW = 4,	/* gets its words unread */
};

/* What a command's function is given; all borrowed for the call. */
struct cli_args {
	void *values;			/* the struct the option rows point into */
	char *const *operand;		/* ends in NULL */
	size_t n;
	char *const *words;		/* everything behind the command's name, unread */
};

struct command {
	const char *name;
	const char *operands;	/* for the usage line: "RUN", "[--] COMMAND [ARGUMENT...]" */
	const char *summary;	/* one line, lower case, no full stop */
	const char *more;	/* what --help says below the options, or NULL */
	struct opts opts;
	size_t size;		/* of the values; 0: none */
	void (*init)(void *values);	/* defaults; NULL: all zero */
	unsigned int flags;
	size_t min, max;	/* operands */
	/* The exit status, or -1 with @err, which main() prints */
	int (*fn)(const struct cli_args *args, struct err *err);
};

/* cli_commands() - all rows, ends in NULL */
const struct command *const *cli_commands(void);
const struct command *cli_find(const char *name);	/* NULL if there is none */

/* cli_help() - append what `agate COMMAND --help` says; NULL: the list of commands */
void cli_help(const struct command *cmd, struct buf *b);

/* cli_main() - do what @argv says. The exit status, or -1 with @err */
int cli_main(char *const argv[], struct err *err);

/* cli_print() - all of @b to stdout; 0, or -1 with @err when it cannot be written */
int cli_print(const struct buf *b, struct err *err);

extern const struct command cmd_run, cmd_plan, cmd_check, cmd_runs, cmd_show, cmd_diff, cmd_apply,
	cmd_discard, cmd_violations, cmd_rules, cmd_approvals, cmd_hook, cmd_recover, cmd_doctor, cmd_version, cmd_help, cmd_egress,
	cmd_complete;

#endif
