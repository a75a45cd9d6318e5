/*
 * agate-hook: what `agate hook` does, without the libraries that a hook has no use for
 *
 * An agent waits for its hook at each call, and loading libgit2 and what that
 * needs takes longer than all the rest together. Same objects, same options.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/strv.h"
#include "dispatch/cli.h"
#include "dispatch/hook_net.h"
#include "dispatch/show.h"

static int run(char *const words[], struct err *err)
{
	OWN(strv) struct strv operands = { 0 };
	OWN(mem) void *values = calloc(1, cmd_hook.size);
	struct cli_args args = { .values = values, .words = words };
	int help;

	if (!values)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (opts_parse(&cmd_hook.opts, words, 0, values, &operands, &help, err) < 0)
		return -1;
	if (help || operands.n != 1) {
		err_set(err, ERR_USAGE, 0, "agate-hook takes one word: claude");
		return err_hint(err, "agate hook --help tells its options");
	}
	args.operand = operands.v;
	args.n = operands.n;
	return cmd_hook.fn(&args, err);
}

int main(int argc, char **argv)
{
	struct err err = { 0 };

	(void)argc;
	hook_net_up();
	if (io_fill_std() < 0)
		return EXIT_FAILURE;
	if (run(argv + 1, &err) < 0)
		say_err(&err);
	return EXIT_FAILURE;	/* the net makes a denial of it */
}
