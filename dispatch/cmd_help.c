#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "dispatch/cli.h"
#include "dispatch/exit.h"

static int help(const struct cli_args *args, struct err *err)
{
	const struct command *cmd = args->n ? cli_find(args->operand[0]) : NULL;
	OWN(buf) struct buf b = { 0 };

	if (args->n && !cmd)
		return err_set(err, ERR_USAGE, 0, "no such command: '%s'", args->operand[0]);
	cli_help(cmd, &b);
	return cli_print(&b, err) < 0 ? -1 : EXIT_OK;
}

const struct command cmd_help = {
	.name = "help", .operands = "[COMMAND]", .summary = "say what a command does", .max = 1, .fn = help,
};
