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
	char front[sizeof(err->msg)];
	va_list ap;
	size_t n, old;

	if (!err)
		return -1;
	va_start(ap, fmt);
	vsnprintf(front, sizeof(front) - 2, fmt, ap);
	va_end(ap);
	n = strlen(front);
	memcpy(front + n, ": ", 2);
	n += 2;
	old = strlen(err->msg);
	/* The reason matters more than the context: without room for both, it stays alone. */
	if (n + old >= sizeof(err->msg))
		return -1;
	memmove(err->msg + n, err->msg, old + 1);
	memcpy(err->msg, front, n);
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
