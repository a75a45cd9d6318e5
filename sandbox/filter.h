/*
 * sandbox/filter.h - the seccomp program of a run, compiled to bytes
 *
 * Compiled in the supervisor with libseccomp from the table in sandbox/calls;
 * handed to the static agate-init, which loads it as it is, with
 * SECCOMP_FILTER_FLAG_NEW_LISTENER and WAIT_KILLABLE_RECV.
 *
 * What the program does, in order:
 *	another architecture, x32	notify ("foreign-abi")
 *	number above CALL_NEWEST	ENOSYS
 *	a row of the table		notify, or the row's errno
 *	everything else			allow, at native speed: no argument is looked
 *					at, so the kernel answers from its bitmap
 */
#ifndef SANDBOX_FILTER_H
#define SANDBOX_FILTER_H

struct buf;
struct err;

/**
 * filter_compile() - The program for a set of rows
 * @flags:	enum call_flags; the broker has to be told the same
 * @ret_bpf:	empty buffer; gets an array of struct sock_filter
 * @err:	ERR_MISSING when this kernel has no notifications, ERR_SYS, ERR_NOMEM
 *
 * Return: 0, or -1 with @err and @ret_bpf empty
 */
int filter_compile(unsigned int flags, struct buf *ret_bpf, struct err *err);

#endif
