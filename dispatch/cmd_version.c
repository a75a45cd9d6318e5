#include "base/buf.h"
#include "base/own.h"
#include "dispatch/cli.h"
#include "dispatch/exit.h"

static int version(const struct cli_args *args, struct err *err)
{
	OWN(buf) struct buf b = { 0 };

	(void)args;
	buf_adds(&b, "agate " AGATE_VERSION "\n");
	return cli_print(&b, err) < 0 ? -1 : EXIT_OK;
}

const struct command cmd_version = {
	.name = "version", .operands = "", .summary = "say which version this is", .fn = version,
};
