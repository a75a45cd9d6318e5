/*
 * base/err.h - why a call failed, told once and carried up
 *
 * The struct lives on the caller's stack and needs no memory, so it can tell
 * of running out of it. The function that notices a failure fills it; those
 * above may put context in front; only dispatch/ prints it.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

enum err_code {
	ERR_NONE,
	ERR_SYS,	/* a system call failed; err.sys holds errno */
	ERR_NOMEM,
	ERR_USAGE,	/* the user's words are off */
	ERR_INPUT,	/* a file or message from outside does not hold what it must */
	ERR_POLICY,	/* a rule forbids it */
	ERR_MISSING,	/* this host lacks what is needed */
	ERR_NOTFOUND,	/* the named thing does not exist */
	ERR_BUSY,	/* somebody else holds it */
	ERR_LIMIT,	/* over a size, depth or time bound */
	ERR_NUM
};

struct err {
	enum err_code code;
	int sys;		/* errno, or 0 */
	char msg[512];		/* one line, lower case, no full stop */
	char hint[256];		/* the next step for a person; may be empty */
};

/**
 * err_set() - Say why a call failed
 * @err:	to fill; NULL is allowed and ignored
 * @code:	the kind of failure
 * @sys:	an errno to append in words, or 0
 * @fmt:	what failed, the subject in quotes
 *
 * Return: -1, always, so that a caller can return it
 */
int err_set(struct err *err, enum err_code code, int sys, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/**
 * err_wrap() - Put context in front of a failure on its way up
 * @err:	filled already; NULL is ignored
 * @fmt:	becomes "context: earlier message"
 *
 * Return: -1, always
 */
int err_wrap(struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * err_hint() - Name the next step
 *
 * Return: -1, always
 */
int err_hint(struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
