#include <stdint.h>

#include "base/err.h"
#include "dispatch/cli.h"
#include "dispatch/exit.h"
#include "sandbox/egress/egress.h"

struct values {
	uint64_t control;
};

static const struct opt rows[] = {
	OPT_ROW(struct values, "control", OPT_COUNT, control, "FD", "the socket to the supervisor"),
	{ 0 },
};

static int egress(const struct cli_args *args, struct err *err)
{
	const struct values *v = args->values;

	if (v->control < 3 || v->control > 1000000)
		return err_set(err, ERR_USAGE, 0, "agate egress is started by agate run, with --control");
	return egress_main((int)v->control, err) < 0 ? -1 : EXIT_OK;
}

const struct command cmd_egress = {
	.name = "egress", .operands = "", .summary = "the egress helper of one run; started by agate run",
	.opts = { { rows } }, .size = sizeof(struct values), .flags = CMD_HIDDEN, .fn = egress,
};
