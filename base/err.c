#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

int err_set(struct err *err, enum err_code code, int sys, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	if (!err)
		return -1;
	err->code = code;
	err->sys = sys;
	err->hint[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	n = strlen(err->msg);
	if (sys && n < sizeof(err->msg) - 1)
		snprintf(err->msg + n, sizeof(err->msg) - n, ": %s", strerror(sys));
	return -1;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	char front[sizeof(err->msg)], old[sizeof(err->msg)];
	va_list ap;

	if (!err)
		return -1;
	memcpy(old, err->msg, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(front, sizeof(front), fmt, ap);
	va_end(ap);
	/* The reason matters more than the context: cut the front, not the end. */
	if (strlen(front) + 2 + strlen(old) < sizeof(err->msg))
		snprintf(err->msg, sizeof(err->msg), "%s: %s", front, old);
	return -1;
}

int err_hint(struct err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
	return -1;
}
