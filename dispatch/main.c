/*
 * agate: set up, find the command, print the one error, leave.
 */
#include <linux/close_range.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/signals.h"
#include "dispatch/cli.h"
#include "dispatch/exit.h"
#include "dispatch/hook_net.h"
#include "dispatch/show.h"

/* A hook that ends in any other way than it means to must block what it was asked about. */
static void catch_hook(char *const argv[])
{
	if (!argv[0] || !argv[1] || strcmp(argv[1], "hook") != 0)
		return;
	for (size_t i = 2; argv[i]; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return;
	hook_net_up();
}

int main(int argc, char **argv)
{
	struct err err = { 0 };
	int status;

	(void)argc;
	catch_hook(argv);
	signals_note();
	if (io_fill_std() < 0)
		return EXIT_FAILED;
	/* What our caller left open is none of our children's business. */
	close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	status = cli_main(argv, &err);
	if (status < 0) {
		say_err(&err);
		status = EXIT_FAILED;
	}
	return status;
}
