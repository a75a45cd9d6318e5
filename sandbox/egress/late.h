/*
 * sandbox/egress/late.h - a library opened by who needs it, when it is needed
 *
 * Every `agate` command is one program, and most have no use for OpenSSL or
 * nghttp2: linked, they would cost each of them their loading time. So they
 * are opened by name and called through a table (tls_lib.h, h2_lib.h) whose
 * types are those of the library's own headers.
 */
#ifndef SANDBOX_EGRESS_LATE_H
#define SANDBOX_EGRESS_LATE_H

#include <stddef.h>

struct err;

struct late_call {
	const char *name;
	size_t offset;		/* of its pointer in the table */
};

/**
 * late_load() - Open @file and fill in @table
 * @calls:	@n of them; each must be there
 *
 * Mustn't: come behind confine_serve(). Return: 0, or -1 with @err (ERR_MISSING)
 * and @table filled in part
 */
int late_load(const char *file, const struct late_call *calls, size_t n, void *table, struct err *err);

#endif
