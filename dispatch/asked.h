/*
 * dispatch/asked.h - the run request of a command line: `agate run` and `agate plan`
 */
#ifndef DISPATCH_ASKED_H
#define DISPATCH_ASKED_H

#include "dispatch/request.h"

struct cli_args;
struct err;

/* The values of both commands; the request comes first, so that its rows fit. */
struct asked {
	struct run_request req;
	char *request;		/* --request: a file, "-" is standard input */
	int backend;		/* --backend: enum plan_backend */
};

/* What agate plan can print a spec for. */
enum plan_backend { PLAN_NATIVE, PLAN_SEATBELT };

extern const struct opt asked_rows[];
extern const struct opt asked_plan_rows[];	/* of agate plan alone */

void asked_init(struct asked *asked);

/**
 * asked_read() - The request, from the file it names and what the command line adds
 * @args:	as the command got them
 * @ret:	on success settled, the caller's to request_done()
 *
 * An option on the command line is stronger than the same in the file; lists
 * grow. The command may stand in one of the two places, not in both.
 */
int asked_read(const struct cli_args *args, struct run_request *ret, struct err *err);

#endif
