/*
 * runner/native.h - the pieces of the native adapter, for its own files only
 *
 *	native.c	the life of a run: processes, messages, the end
 *	native_args.c	the spec as a bubblewrap command line
 *	native_around.c	a directory without some of its entries, as words for that
 *	native_bare.c	what differs without namespaces
 *	native_early.c	masks that need not wait for bwrap
 *	native_blob.c	the spec as the plan agate-init reads
 *	native_egress.c	the egress helper: started at the first connection
 *	native_group.c	its control group, where there can be one
 *	native_output.c	what the command prints
 *	native_stage.c	what the stage says, and who says it; the broker's start
 *	native_tell.c	refusals as violation records
 */
#ifndef RUNNER_NATIVE_H
#define RUNNER_NATIVE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/strv.h"
#include "runner/runner.h"
#include "sandbox/init/proto.h"

/* The stage's socket, as bubblewrap inherits it. */
#define STAGE_CTL_FD 3
/* The bare layout's second one: the broker's. */
#define BARE_BROKER_FD 4
#define GUEST_INIT "/run/agate/init"

/* own_tasks() - ours in the tree of a run: bwrap and its first process inside, or the broker and its threads */
static inline unsigned int own_tasks(int is_bare)
{
	return is_bare ? 8 : 2;
}

/* --- native_args.c --- */

/*
 * Paths inside that a mount hides, or would if they were there. The mount goes when somebody on
 * the host replaces what it covers, so the stage has Landlock keep them closed: see
 * sandbox/init/closed.h.
 */
struct kept_closed {
	struct strv root_only;	/* only root may read them on the host */
	struct strv named;	/* by a rule of the spec */
	struct strv shown;	/* shown again inside one of those */
	int too_far;		/* 1: there is too much beside them for Landlock */
	int by_name;		/* 1: some that neither it nor mounts can keep, so that the broker has to open every file */
};

static inline void kept_closed_done(struct kept_closed *k)
{
	strv_done(&k->root_only);
	strv_done(&k->named);
	strv_done(&k->shown);
}

/**
 * args_build() - The bubblewrap command line up to and with the command
 * @p:		the run; p->run_dir gets two empty files that masks are made of
 * @ret:	appended: argv, starting with "bwrap"; on failure some of it may be there
 * @ret_kept:	appended, for blob_build()
 * @err:	ERR_POLICY when a bind would open what the spec protects; ERR_MISSING
 *		when the spec asks for what mounts cannot hold; ERR_SYS
 */
int args_build(const struct run_params *p, struct strv *ret, struct kept_closed *ret_kept, struct err *err);

/* TRUST_FILE - in p->run_dir: empty when args_build() binds it, written before the command starts */
#define TRUST_FILE "ca.pem"
#define TRUST_JAVA_FILE "ca.jks"	/* the same in Java's form */

/* guest_of() - where @host is seen inside through @spec's binds, caller's to free(); NULL: nowhere */
struct sandbox_spec;
char *guest_of(const struct sandbox_spec *spec, const char *host);

/* is_glob() - 1 if a rule's text has a pattern in it */
int is_glob(const char *rule);

/* --- native_around.c --- */

struct around_place {
	const char *run_dir;		/* for the likeness */
	const char *host, *guest;	/* a directory, and where it is to be seen */
};

/**
 * around_add() - Show a directory read-only without what is in it of @hidden
 * @hidden:	paths inside; they need not be there
 * @to:		appended: words for bwrap, all or none
 * @err:	ERR_LIMIT when it has too many entries, ERR_SYS, ERR_NOMEM
 */
int around_add(const struct around_place *p, const struct strv *hidden, struct strv *to, struct err *err);

/* --- native_early.c --- */

/* What is mounted, and dropped, before bwrap is started. */
struct early {
	struct strv files;	/* in pairs: a file of the run's, and the system's that it hides */
	struct strv dirs;	/* hidden */
	int drops_sys;		/* nothing of /sys is shown: its mounts are a third of the table on many hosts */
};

/**
 * early_take() - Which masks of a bwrap command line can be had without bwrap
 * @argv:	as args_build() makes it, without our own words before "bwrap"
 * @run_dir:	files in it are the run's own
 * @ret_argv:	appended: the rest of the command line
 * @ret:	appended; nothing where something in the command line is not understood
 *
 * Return: 0, or -1 out of memory
 */
int early_take(const struct strv *argv, const char *run_dir, struct strv *ret_argv, struct early *ret);

void early_done(struct early *e);

/**
 * early_spawn() - loop_spawn() of bwrap with @argv: for root with its masks mounted before
 * @sp:		all but its argv; keys typed at the terminal are not for bwrap
 *
 * Root that may not mount leaves it to bwrap.
 */
struct watch *early_spawn(struct loop *loop, struct spawn *sp, const struct strv *argv, const char *run_dir,
			  void (*exited)(void *cookie, int status, int signum), void *cookie, pid_t *ret_pid,
			  struct err *err);

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

/* Where the helper listens for ports of the host, whose own places are the host's. */
struct bare_ports {
	int fd[PROTO_HOST_PORTS];
	uint16_t port[PROTO_HOST_PORTS];
	size_t n;
};

/*
 * bare_open() - one socket on any port of loopback for each of the spec's; and 0 only if the ports
 * that the run will publish by just listening on them are free
 */
int bare_open(const struct sandbox_spec *spec, struct bare_ports *ret, struct err *err);
void bare_close(struct bare_ports *ports);
struct publish_rule;
/* bare_needs_no_help() - 1 if a server that listens inside is where @rule wants it by that */
int bare_needs_no_help(const struct publish_rule *rule);

/* --- native_blob.c --- */

/* workdir_of() - where the command starts, as it sees it; borrowed */
const char *workdir_of(const struct sandbox_spec *spec);

/*
 * blob_build() - a sealed memory file, close-on-exec; -1 with @err. @ports: NULL unless the layout is bare;
 * @kept: of args_build(), empty where the layout is
 */
int blob_build(const struct run_params *p, const struct bare_ports *ports, const struct kept_closed *kept, struct err *err);

/* --- native_egress.c --- */

struct egress;

struct egress_ops {
	/* @port: the caller's local port, to name the program by; 0 unknown */
	void (*violation)(void *cookie, struct violation *v, unsigned int port);
	/* @data: borrowed, may be added to; @port: as above */
	void (*event)(void *cookie, const char *type, struct json *data, unsigned int port);
	void (*ready)(void *cookie);	/* of an early one: the command may start */
	/* a server inside is wanted: egress_inside() answers. -1: nobody can be asked */
	int (*inside)(void *cookie, int64_t id, unsigned int port);
	void (*ended)(void *cookie, const struct err *why);	/* @why NULL: asked to */
};

/* In the order the helper expects them: the proxies, what the broker opened, ports of the host. */
#define EGRESS_LISTENERS (2 + NET_FDS_MAX)

/* egress_is_early() - 1 if the command has to wait for it: it looks into TLS, or listens on the host */
int egress_is_early(const struct run_params *p);

/**
 * egress_watch() - Wait for the first connection, then start the helper; at once if it is early
 * @fds:	@n of EGRESS_LISTENERS sockets inside; owned from now on, also on failure
 */
struct egress *egress_watch(struct loop *loop, const struct run_params *p, const int *fds, size_t n,
			    const struct egress_ops *ops, void *cookie, struct err *err);
/* egress_caller() - a transparent connection is about to come from local @port to where @ip, @to_port says */
void egress_caller(struct egress *e, unsigned int port, const char *ip, unsigned int to_port);
/* egress_inside() - the broker's answer, with its socket; takes @fds. 0, or -1 if it is malformed */
struct msg_inside;
int egress_inside(struct egress *e, const struct msg_inside *m, const int *fds, size_t n);
/* egress_stop() - no more connections; ops->ended follows, at once if the helper never ran (then returns 1) */
int egress_stop(struct egress *e);
pid_t egress_pid(const struct egress *e);	/* 0: not started; NULL is fine */
void egress_free(struct egress *e);	/* kills; NULL is fine */

/* --- native_group.c --- */

struct cgroup;
struct cgroup_host;
/*
 * group_enter() - make the run's group and move @stage in. NULL where the host offers no place for one; if
 * it does, but something went wrong, an event tells
 */
struct cgroup *group_enter(const struct cgroup_host *host, const struct run_params *p, pid_t stage);
/* group_leave() - kill what is in it and remove it; NULL is fine */
void group_leave(const struct run_params *p, struct cgroup *group);

/* --- native_output.c --- */

/* One of the two pipes; @closed is called when the last byte was read. */
struct output {
	const struct run_params *p;
	int number;		/* 1 or 2 */
	int fd;			/* -1: closed */
	struct watch *watch;
	void (*closed)(void *cookie);
	void *cookie;
};

int output_open(struct output *o, struct loop *loop, int *ret_child_end, struct err *err);
void output_close(struct output *o);

/* --- native_stage.c --- */

/* stage_receive() - one message with the sender's pid (0 if unknown) and at most two descriptors, without waiting */
ssize_t stage_receive(int sock, void *data, size_t len, int fds[2], size_t *ret_nfds, pid_t *ret_pid);

/* stage_join() - let the broker join the namespaces of the stage, which waits, so that its pid is still its own */
int stage_join(pid_t stage, int broker_ctl, int blob, struct err *err);

/*
 * stage_await() - a sandbox that was abandoned while bwrap built it was killed, but in the middle of a
 * mount it dies a moment later, and would complain of a directory that is gone: wait, a second at most,
 * until nobody has the other end of the stage's socket
 */
void stage_await(int sock);

/* stage_spawn_broker() - agate-init as the broker, with @ctl as its end of the socket */
struct watch *stage_spawn_broker(struct loop *loop, const char *init_path, int ctl,
				 void (*exited)(void *cookie, int status, int signum), void *cookie, pid_t *ret_pid,
				 struct err *err);

/* --- native_tell.c --- */

/*
 * Who connected from which local port, the newest of each. A connection that lasts is told of
 * when it ends, so programs are kept for long: the oldest go first, and pages nobody used take no memory.
 */
#define PORTS 65536
#define PROGRAMS 4096
#define CALLERS_LOOK 32

struct program {
	int64_t pid;
	char comm[17];
	char exe[257];
};

struct callers {
	uint16_t *by_port;	/* PORTS of them: index into @of + 1; 0: nobody */
	struct program *of;	/* PROGRAMS of them, a ring */
	size_t n, next;
};

struct msg_caller;
/* callers_add() - remember one */
void callers_add(struct callers *c, const struct msg_caller *m);
/* callers_find() - who connected from @port; NULL if that is not known */
const struct program *callers_find(const struct callers *c, unsigned int port);
/* callers_name() - fill pid, comm and exe of @v for the connection from @port, if known */
void callers_name(const struct callers *c, unsigned int port, struct violation *v);
/* callers_tell() - the same as members of @to; 0, or -1 out of memory */
struct json;
int callers_tell(const struct callers *c, unsigned int port, struct json *to);
void callers_done(struct callers *c);

/* tell_violation() - decode one MSG_VIOLATION of @len bytes for ops->violation; -1 if it is malformed */
int tell_violation(const struct run_params *p, const void *msg, size_t len);

#endif
