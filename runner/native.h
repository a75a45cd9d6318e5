/*
 * runner/native.h - the pieces of the native adapter, for its own files only
 *
 *	native.c	the life of a run: processes, messages, the end
 *	native_args.c	the spec as a bubblewrap command line
 *	native_bare.c	what differs without namespaces
 *	native_blob.c	the spec as the plan agate-init reads
 *	native_egress.c	the egress helper: started at the first connection
 *	native_stage.c	what the stage says, and who says it
 *	native_tell.c	refusals as violation records
 */
#ifndef RUNNER_NATIVE_H
#define RUNNER_NATIVE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strv.h"
#include "runner/runner.h"

/* The stage's socket, as bubblewrap inherits it. */
#define STAGE_CTL_FD 3
/* The bare layout's second one: the broker's. */
#define BARE_BROKER_FD 4
#define GUEST_INIT "/run/agate/init"

/* --- native_args.c --- */

/**
 * args_build() - The bubblewrap command line up to and with the command
 * @p:		the run; p->run_dir gets two empty files that masks are made of
 * @ret:	appended: argv, starting with "bwrap"; on failure some of it may be there
 * @err:	ERR_POLICY when a bind would open what the spec protects; ERR_MISSING
 *		when the spec asks for what mounts cannot hold; ERR_SYS
 */
int args_build(const struct run_params *p, struct strv *ret, struct err *err);

/* TRUST_FILE - in p->run_dir: empty when args_build() binds it, written before the command starts */
#define TRUST_FILE "ca.pem"

/* guest_of() - where @host is seen inside through @spec's binds, caller's to free(); NULL: nowhere */
struct sandbox_spec;
char *guest_of(const struct sandbox_spec *spec, const char *host);

/* is_glob() - 1 if a rule's text has a pattern in it */
int is_glob(const char *rule);

/* --- native_bare.c --- */

/* What a bare run has, beside its binds. */
struct bare_view {
	struct strv system;	/* readable directories of the host */
	struct strv devices;	/* nodes */
	struct strv hidden;	/* in them, not to be read: more than the spec says, when root runs agate */
	char *tmp;		/* private */
};

/* bare_check() - 0 if the spec can be held without mounts, else -1 with @err (ERR_POLICY) */
int bare_check(const struct run_params *p, struct err *err);
/* bare_look() - find it all out, and make the private directory */
int bare_look(const struct run_params *p, struct bare_view *ret, struct err *err);
void bare_view_done(struct bare_view *v);
/* bare_args() - the command line of agate-init, with the command; 0, or -1 out of memory */
int bare_args(const struct run_params *p, struct strv *ret);
/* bare_tasks() - how many tasks our user has now: RLIMIT_NPROC counts those too; 0 unknown */
uint64_t bare_tasks(void);
/* bare_listen() - the proxies' sockets */
int bare_listen(struct run_proxies *ret, struct err *err);

/* --- native_blob.c --- */

/* workdir_of() - where the command starts, as it sees it; borrowed */
const char *workdir_of(const struct sandbox_spec *spec);

/* blob_build() - a sealed memory file, close-on-exec; -1 with @err */
int blob_build(const struct run_params *p, int is_bare, struct err *err);

/* --- native_egress.c --- */

struct egress;

struct egress_ops {
	/* @port: the caller's local port, to name the program by; 0 unknown */
	void (*violation)(void *cookie, struct violation *v, unsigned int port);
	void (*event)(void *cookie, const struct event *ev);
	void (*trusted)(void *cookie);	/* the bundle is written: the command may start */
	void (*ended)(void *cookie, const struct err *why);	/* @why NULL: asked to */
};

/* In the order the helper expects them: the proxies, DNS, transparent; without IPv6 one less. */
#define EGRESS_LISTENERS 6

/**
 * egress_watch() - Wait for the first connection, then start the helper; at once if it looks into TLS
 * @fds:	@n of EGRESS_LISTENERS sockets inside; owned from now on, also on failure
 */
struct egress *egress_watch(struct loop *loop, const struct run_params *p, const int *fds, size_t n,
			    const struct egress_ops *ops, void *cookie, struct err *err);
/* egress_caller() - a transparent connection is about to come from local @port to where @ip, @to_port says */
void egress_caller(struct egress *e, unsigned int port, const char *ip, unsigned int to_port);
/* egress_stop() - no more connections; ops->ended follows, at once if the helper never ran (then returns 1) */
int egress_stop(struct egress *e);
pid_t egress_pid(const struct egress *e);	/* 0: not started; NULL is fine */
void egress_free(struct egress *e);	/* kills; NULL is fine */

/* --- native_stage.c --- */

/* stage_receive() - one message with the sender's pid (0 if unknown) and at most two descriptors, without waiting */
ssize_t stage_receive(int sock, void *data, size_t len, int fds[2], size_t *ret_nfds, pid_t *ret_pid);

/* stage_join() - let the broker join the namespaces of the stage, which waits, so that its pid is still its own */
int stage_join(pid_t stage, int broker_ctl, int blob, struct err *err);

/* --- native_tell.c --- */

/* Who connected to a proxy from which local port, the newest of each port. */
#define CALLERS 256
struct callers {
	struct { unsigned int port; int64_t pid; char comm[17]; char exe[257]; } of[CALLERS];
	size_t next;
};

struct msg_caller;
/* callers_add() - remember one */
void callers_add(struct callers *c, const struct msg_caller *m);
/* callers_name() - fill pid, comm and exe of @v for the connection from @port, if known */
void callers_name(const struct callers *c, unsigned int port, struct violation *v);

/* tell_violation() - decode one MSG_VIOLATION of @len bytes for ops->violation; -1 if it is malformed */
int tell_violation(const struct run_params *p, const void *msg, size_t len);

#endif
