#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/own.h"
#include "dispatch/asked.h"
#include "dispatch/cli.h"
#include "dispatch/run.h"

static int run(const struct cli_args *args, struct err *err)
{
	OWN(request) struct run_request req = { 0 };

	if (asked_read(args, &req, err) < 0)
		return -1;
	return run_execute(&req, err);
}

static void init(void *values)
{
	asked_init(values);
}

const struct command cmd_run = {
	.name = "run", .operands = "[--] COMMAND [ARGUMENT...]",
	.summary = "run a command gated and sandboxed; its exit status is the command's",
	.more = "Options behind the command are the command's. In a request FILE the same names are fields\n"
		"of one JSON object, and \"command\" is a list of words.\n"
		"\n"
		"Exit status: the command's; 124 time-out, 125 agate failed, 126 a gate denied, 127 no such\n"
		"command, 128+n ended by signal n.\n",
	.opts = { { request_rows, asked_rows } }, .size = sizeof(struct asked), .init = init,
	.flags = CMD_STOP, .max = (size_t)-1, .fn = run,
};
