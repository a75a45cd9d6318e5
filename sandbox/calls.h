/*
 * sandbox/calls.h - the system calls that do not simply run, as plain data
 *
 * One table with a reason in every row. sandbox/filter compiles it to BPF in
 * the supervisor; the broker looks a notified call up in the same table, so
 * the two cannot disagree on what a call is or with which errno it ends. Libc
 * only: this file is linked into the static agate-init as well.
 *
 * A call no row matches is allowed. Numbers are those of the machine it is
 * built for (x86_64 or aarch64); calls newer than the headers are named by
 * number.
 */
#ifndef SANDBOX_CALLS_H
#define SANDBOX_CALLS_H

#include <stddef.h>
#include <stdint.h>

enum call_kind {
	CALL_OPEN,	/* notify: open, creat, openat, openat2; ends in a descriptor */
	CALL_FILE,	/* notify: changes a file, by name or by descriptor */
	CALL_SOCKET,	/* notify: bind, connect, listen, sendto with an address */
	CALL_PEER,	/* notify: concerns another process by its number; continued if that is the run's own */
	CALL_TOLD,	/* notify: refused; the broker answers .err and records "syscall-NAME" */
	CALL_QUIET,	/* refused by the filter itself with .err, no record */
	CALL_PASS,	/* notified only because BPF cannot tell it apart: continue it (no pointer is involved) */
	CALL_KIND_NUM
};

/* Which optional rows are in force; the filter and the broker are given the same. */
enum call_flags {
	CALLS_FILES = 1u,	/* CALL_FILE by path, and CALL_OPEN when the flags can change something */
	CALLS_SOCKETS = 2u,	/* CALL_SOCKET */
	CALLS_READS = 4u,	/* every open, not only those that can change something */
	CALLS_TCP_ONLY = 8u,	/* no network namespace: refuse what Landlock's TCP rights miss */
	CALLS_NO_UNIX_DGRAM = 16u, /* host sockets are in view: a datagram names its peer in sendmsg(2) */
	CALLS_BY_FD = 32u,	/* CALL_FILE by descriptor alone: spared where mounts hold what is protected */
	CALLS_BARE = 64u,	/* no namespaces at all: refuse or judge what they would have held */
	CALLS_ALL = 127u
};

/*
 * What must hold of (argument & mask). A mask is at most 32 bits wide, as the
 * arguments are for the kernel; without one, the last two tests look at all 64
 * bits, so that what lies above is refused rather than ignored.
 */
enum call_test {
	CALL_ANY_ARG,	/* nothing is asked; also ends a short list of conditions */
	CALL_EQ,	/* equals .value */
	CALL_HAS_BIT,	/* has at least one bit of .value */
	CALL_NOT_IN,	/* is none of .set[0 .. .n) */
	CALL_ABOVE,	/* is greater than .value; takes no mask */
};

struct call_cond {
	enum call_test test;
	unsigned int arg;	/* 0 to 5 */
	uint32_t mask;		/* 0: see above; all 32 bits for CALL_EQ and CALL_HAS_BIT */
	uint32_t value;
	const uint32_t *set;
	size_t n;
};

#define CALL_MAX_CONDS 2

struct call {
	int nr;
	const char *name;	/* as in syscalls(2): "openat" */
	enum call_kind kind;
	int err;		/* errno of a refusal; 0 for the other kinds */
	unsigned int on;	/* in force if one of these flags is given; 0: always */
	struct call_cond cond[CALL_MAX_CONDS];	/* all must hold */
	const char *reason;	/* one line for a person, why it does not simply run */
};

/*
 * Numbers above this one were unknown when the table was written: the filter
 * answers ENOSYS, as an older kernel would, so that no new way to change a
 * file arrives unjudged.
 */
#define CALL_NEWEST 470

/* calls_table() - all rows; rows of one call are neighbours in order of precedence */
const struct call *calls_table(size_t *ret_n);

/**
 * call_find() - What is to happen with this call?
 * @flags:	call_flags the filter was compiled with; CALLS_ALL is safe for a
 *		call known to have been notified
 * @arch:	seccomp_data.arch; any but our own gets the row "foreign-abi"
 * @nr:		seccomp_data.nr; x32 numbers get "foreign-abi" too
 * @args:	seccomp_data.args
 *
 * Return: the first row that matches; NULL if the call is allowed. The broker
 * treats NULL as a refusal with ENOSYS, since an allowed call is not notified.
 */
const struct call *call_find(unsigned int flags, uint32_t arch, int nr, const uint64_t args[6]);

/* call_arch() - the AUDIT_ARCH_ number this was built for */
uint32_t call_arch(void);

/* call_holds() - 1 if @cond is true of @args */
int call_holds(const struct call_cond *cond, const uint64_t args[6]);

#endif
