/*
 * runner/native.c - the life of a sandboxed run
 *
 *	start		bwrap and the broker are started side by side; meanwhile what was decided
 *			is written down, and only then the stage gets the plan it waits for
 *	LISTENERS	the stage stands in its namespaces, which the broker joins
 *	JOINED		the broker has sealed what is denied; the stage hears which filter is enough
 *	NOTIFY		the stage is confined; its listener goes to the broker
 *	READY		the broker answers calls; the stage is told to go on
 *	end of file	the command was executed
 *	bwrap exits	the tree is gone; helpers say their last and end; then ops->ended
 *
 * In the bare layout one process is both: agate-init forks the stage and becomes
 * the broker, so what is called bwrap below is it. Its end is the tree's.
 *
 * A helper that ends too early ends the run: a gate nobody keeps is closed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/strv.h"
#include "runner/limits.h"
#include "runner/native.h"
#include "runner/tree.h"
#include "sandbox/cgroup.h"
#include "sandbox/init/proto.h"
#include "sandbox/probe.h"
#include "sandbox/spec.h"

#define GRACE_MS 1500		/* between SIGTERM at the wall time and SIGKILL */
#define HELPER_MS 5000		/* for the broker and the egress helper to say their last */
#define DRAIN_MS 2000		/* for the last bytes of output */
#define SETUP_MS 30000		/* from the start to the command */
#define REAP_MS 12000		/* for the broker to kill what the command left behind */

struct runner_run {
	struct loop *loop;
	struct run_params p;
	int is_bare;				/* no bwrap: what is called so below is the broker, and there is no other */
	int stage_ctl, broker_ctl, blob;
	struct watch *stage_watch, *broker_watch;
	struct watch *bwrap, *broker;		/* the two children */
	pid_t bwrap_pid, broker_pid;
	int command_pidfd;			/* the stage, later the command */
	pid_t command_pid;
	int proxies[2];				/* from the stage, until the egress helper's watch owns them */
	struct bare_ports ports;		/* bare only: the same for ports of the host */
	struct kept_closed kept;		/* not if bare */
	struct egress *egress;
	struct callers callers;
	struct output output[2];
	struct watch *wall, *grace, *setup, *last;
	struct limits_watch *limits;
	struct cgroup *group;			/* NULL: limits are watched */
	enum run_state state;
	int bwrap_gone, broker_gone, egress_gone;
	int was_started, got_listeners, got_notify, said_go;
	int broker_ready, egress_ready;		/* the two that the command waits for */
	enum end_kind kind;
	int status;
	struct err err;
};

/* --- the end --- */

static int read_broker(struct runner_run *run, int fd);
static int read_stage(struct runner_run *run);
static void on_stage(void *cookie, int fd, unsigned int ready);

static void end_watch(struct watch **w)
{
	watch_end(*w);
	*w = NULL;
}

static void maybe_end(struct runner_run *run)
{
	struct run_end end = { .kind = run->kind, .status = run->status };

	if (!run->bwrap_gone || !run->broker_gone || !run->egress_gone || run->output[0].fd >= 0 ||
	    run->output[1].fd >= 0 || run->state == RUN_DESTROYED || run->state == RUN_ERROR)
		return;
	end_watch(&run->last);
	end_watch(&run->wall);
	end_watch(&run->grace);
	end_watch(&run->setup);
	run->state = end.kind == END_FAILED ? RUN_ERROR : RUN_DESTROYED;
	if (run->err.code != ERR_NONE)
		end.err = &run->err;
	run->p.ops->ended(run->p.cookie, &end);
}

static void on_never_reaped(void *cookie)
{
	struct runner_run *run = cookie;

	run->last = NULL;
	if (run->bwrap_pid > 0)
		kill(run->bwrap_pid, SIGKILL);
}

/*
 * SIGKILL to bwrap takes the whole pid namespace with it. Without one the
 * broker has to kill what is below it, and does so when we hang up.
 */
static void kill_tree(struct runner_run *run)
{
	if (run->bwrap_pid > 0 && !run->is_bare)
		kill(run->bwrap_pid, SIGKILL);
	if (run->is_bare && run->bwrap_pid > 0 && !shutdown(run->broker_ctl, SHUT_WR) && !run->last)
		run->last = loop_timer(run->loop, REAP_MS, 0, on_never_reaped, run);
}

/* The first reason stays. */
static void fail(struct runner_run *run, enum end_kind kind, const struct err *why)
{
	if (run->kind == END_EXITED) {
		run->kind = kind;
		run->err = *why;
	}
	kill_tree(run);
}

static void fail_words(struct runner_run *run, const char *words)
{
	struct err err = { 0 };

	err_set(&err, ERR_SYS, 0, "%s", words);
	fail(run, END_FAILED, &err);
}

/* Helpers that will not end by themselves, output that never closes. */
static void on_last_time(void *cookie)
{
	struct runner_run *run = cookie;

	run->last = NULL;
	if (run->broker_pid > 0)
		kill(run->broker_pid, SIGKILL);
	egress_free(run->egress);
	run->egress = NULL;
	run->egress_gone = 1;
	output_close(&run->output[0]);
	output_close(&run->output[1]);
	maybe_end(run);
}

/*
 * The broker is gone and with it the tree; if it did not go by itself, what is
 * left came to us. What both said before is read first.
 */
static void on_bare_gone(struct runner_run *run, int status, int signum)
{
	while (run->broker_watch && read_broker(run, run->broker_ctl))
		;
	while (run->stage_watch && read_stage(run))
		;
	run->broker_gone = 1;
	if (signum && run->kind == END_EXITED)
		fail_words(run, "the broker ended before the command");
	if (signum || status == 125)
		tree_kill(0, egress_pid(run->egress));
	end_watch(&run->last);
}

static void on_bwrap_exited(void *cookie, int status, int signum)
{
	struct runner_run *run = cookie;

	run->bwrap = NULL;
	run->bwrap_pid = 0;
	run->bwrap_gone = 1;
	if (run->is_bare)
		on_bare_gone(run, status, signum);
	limits_last(run->limits);
	limits_end(run->limits);
	run->limits = NULL;
	group_leave(&run->p, TAKE(run->group));
	run->status = signum ? 128 + signum : status;
	if (!run->got_notify && run->kind == END_EXITED) {
		struct err err = { 0 };

		err_set(&err, ERR_MISSING, 0, "%s could not build the sandbox (status %d)",
			run->is_bare ? "the broker" : "bubblewrap", run->status);
		err_hint(&err, "see its message above; `agate doctor` tries each part");
		fail(run, END_FAILED, &err);
	}
	end_watch(&run->setup);
	/* What was counted but not sent goes out on end of file. */
	shutdown(run->broker_ctl, SHUT_WR);
	if (!run->egress || egress_stop(run->egress))
		run->egress_gone = 1;
	run->last = loop_timer(run->loop, HELPER_MS, 0, on_last_time, run);
	maybe_end(run);
}

static void on_broker_exited(void *cookie, int status, int signum)
{
	struct runner_run *run = cookie;

	(void)status;
	(void)signum;
	run->broker = NULL;
	run->broker_pid = 0;
	run->broker_gone = 1;
	while (run->broker_watch && read_broker(run, run->broker_ctl))	/* its last words */
		;
	if (!run->bwrap_gone)
		fail_words(run, "the broker ended before the command");
	maybe_end(run);
}

static void on_output_closed(void *cookie)
{
	maybe_end(cookie);
}

/* --- the egress helper --- */

/* The broker named the caller before it connected: hear it out first. */
static void on_egress_violation(void *cookie, struct violation *v, unsigned int port)
{
	struct runner_run *run = cookie;

	while (run->broker_watch && read_broker(run, run->broker_ctl))
		;
	callers_name(&run->callers, port, v);
	run->p.ops->violation(run->p.cookie, v);
}

static void on_egress_event(void *cookie, const char *type, struct json *data, unsigned int port)
{
	struct runner_run *run = cookie;
	const struct event ev = { .type = type, .data = data };

	while (port && run->broker_watch && read_broker(run, run->broker_ctl))
		;
	callers_tell(&run->callers, port, data);
	run->p.ops->event(run->p.cookie, &ev);
}

static void on_egress_ended(void *cookie, const struct err *why)
{
	struct runner_run *run = cookie;

	run->egress_gone = 1;
	if (why && !run->bwrap_gone)
		fail(run, END_FAILED, why);
	maybe_end(run);
}

static void maybe_go(struct runner_run *run);

static void on_egress_ready(void *cookie)
{
	struct runner_run *run = cookie;

	run->egress_ready = 1;
	maybe_go(run);
}

/* Before READY the broker would not understand; and a full socket must not keep us from reading it. */
static int on_egress_inside(void *cookie, int64_t id, unsigned int port)
{
	struct runner_run *run = cookie;
	const struct msg_inside m = { .type = MSG_INSIDE, .id = id, .port = port };

	if (!run->broker_ready)
		return -1;
	return send(run->broker_ctl, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(m) ? 0 : -1;
}

static const struct egress_ops egress_ops = {
	.violation = on_egress_violation, .event = on_egress_event, .ready = on_egress_ready,
	.inside = on_egress_inside, .ended = on_egress_ended,
};

/* --- the stage --- */

static int join_broker(struct runner_run *run, struct err *err)
{
	const struct msg_plain m = { .type = MSG_JOIN };

	if (!run->is_bare)
		return stage_join(run->command_pid, run->broker_ctl, run->blob, err);
	if (io_send_fds(run->broker_ctl, &m, sizeof(m), &run->blob, 1) < 0)
		return err_set(err, ERR_SYS, errno, "cannot start the broker");
	return 0;
}

static int on_listeners(struct runner_run *run, int fds[2], size_t nfds, pid_t pid, struct err *err)
{
	if (nfds != (run->is_bare ? 0 : 2) || run->got_listeners || pid <= 0) {
		for (size_t i = 0; i < nfds; i++)
			close(fds[i]);
		return err_set(err, ERR_INPUT, 0, "the stage broke the protocol");
	}
	run->got_listeners = 1;
	if (!run->is_bare)
		memcpy(run->proxies, fds, sizeof(run->proxies));
	run->command_pid = pid;
	run->command_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (run->command_pidfd < 0)
		return err_set(err, ERR_SYS, errno, "cannot hold on to the command");
	/* The stage goes no further before we have heard of the broker. */
	if (join_broker(run, err) < 0)
		return -1;
	run->group = group_enter(&cgroup_here, &run->p, pid);
	return 0;
}

static int on_notify(struct runner_run *run, int notify, struct err *err)
{
	const struct msg_plain m = { .type = MSG_SERVE };

	run->got_notify = 1;
	if (io_send_fds(run->broker_ctl, &m, sizeof(m), &notify, 1) < 0)
		return err_set(err, ERR_SYS, errno, "cannot hand the listener to the broker");
	return 0;
}

static void stage_failed(struct runner_run *run, const struct msg_fail *m)
{
	struct err err = { 0 };
	char what[sizeof(m->what)];

	snprintf(what, sizeof(what), "%.*s", (int)sizeof(m->what) - 1, m->what);
	err_set(&err, m->is_exec && m->sys == ENOENT ? ERR_NOTFOUND : ERR_SYS, m->sys, "cannot %s", what);
	run->got_notify = 1;	/* bwrap is not to blame */
	fail(run, m->is_exec ? END_NO_COMMAND : END_FAILED, &err);
}

/* Memory, processor time, processes, disk: the run's own failure, and no reason to be patient. */
static void on_limit(void *cookie, const struct err *why)
{
	fail(cookie, END_LIMIT, why);
}

static void on_executed(struct runner_run *run)
{
	struct spec_limits limits;
	struct err err = { 0 };

	end_watch(&run->stage_watch);
	end_watch(&run->setup);
	if (run->kind != END_EXITED || !run->said_go || run->was_started)
		return;
	run->was_started = 1;
	run->state = RUN_ACTIVE;
	limits = run->p.spec->limits;
	limits.pids = (limits.pids ? limits.pids : LIMITS_DEFAULT_PIDS) + own_tasks(run->is_bare);
	run->limits = limits_watch(run->loop, run->bwrap_pid, &limits, run->p.run_dir, on_limit, run, &err);
	if (!run->limits) {
		fail(run, END_FAILED, &err);
		return;
	}
	limits_leave_to(run->limits, run->group);
	run->p.ops->started(run->p.cookie, run->command_pid);
}

/* One message, if there is one: 1, else 0. */
static int read_stage(struct runner_run *run)
{
	struct pollfd p = { .fd = run->stage_ctl, .events = POLLIN };

	if (poll(&p, 1, 0) <= 0)
		return 0;
	on_stage(run, run->stage_ctl, LOOP_READ);
	return 1;
}

static void on_stage(void *cookie, int fd, unsigned int ready)
{
	struct runner_run *run = cookie;
	union { struct msg_plain plain; struct msg_fail fail; } m = { .plain = { 0 } };
	struct err err = { 0 };
	int fds[2] = { -1, -1 }, r = 0;
	size_t nfds;
	pid_t pid;
	ssize_t n = stage_receive(fd, &m, sizeof(m), fds, &nfds, &pid);

	(void)ready;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		on_executed(run);
		return;
	}
	if (n == sizeof(m.plain) && m.plain.type == MSG_LISTENERS) {
		r = on_listeners(run, fds, nfds, pid, &err);
	} else if (n == sizeof(m.plain) && m.plain.type == MSG_NOTIFY && nfds == 1 && run->got_listeners &&
		   !run->got_notify) {
		r = on_notify(run, fds[0], &err);
		close(fds[0]);
	} else if (n == sizeof(m.fail) && m.plain.type == MSG_FAIL && !nfds) {
		stage_failed(run, &m.fail);
	} else {
		for (size_t i = 0; i < nfds; i++)
			close(fds[i]);
		r = err_set(&err, ERR_INPUT, 0, "the stage broke the protocol");
	}
	if (r < 0)
		fail(run, END_FAILED, &err);
}

/* --- the broker --- */

static void tell_stage(struct runner_run *run, const void *msg, size_t len)
{
	if (send(run->stage_ctl, msg, len, MSG_NOSIGNAL) != (ssize_t)len)
		fail_words(run, "the stage ended before the command could start");
}

/* The namespace is ready: the helper's sockets are complete, and the stage hears which filter is enough. */
static int on_joined(struct runner_run *run, const struct msg_filter *m, const int *net, size_t n, struct err *err)
{
	const struct msg_filter use = { .type = MSG_FILTER, .which = m->which };
	size_t hosts = run->p.spec->host_ports.n;
	int fds[EGRESS_LISTENERS];

	if (run->egress || n > NET_NUM + hosts || (run->is_bare ? n > 0 : n < NET_TRANSPARENT6 + hosts)) {
		for (size_t i = 0; i < n; i++)
			close(net[i]);
		return err_set(err, ERR_INPUT, 0, "the broker broke the protocol");
	}
	if (run->is_bare) {
		net = run->ports.fd;
		n = hosts;
	}
	memcpy(fds, run->proxies, sizeof(run->proxies));
	memcpy(fds + 2, net, n * sizeof(*net));
	run->proxies[0] = run->proxies[1] = -1;
	run->ports.n = 0;
	tell_stage(run, &use, sizeof(use));
	run->egress = egress_watch(run->loop, &run->p, fds, 2 + n, &egress_ops, run, err);
	return run->egress ? 0 : -1;
}

static void on_caller(struct runner_run *run, const struct msg_caller *m)
{
	char ip[INET6_ADDRSTRLEN];

	callers_add(&run->callers, m);
	if (m->family && run->egress && inet_ntop((int)m->family, m->to, ip, sizeof(ip)))
		egress_caller(run->egress, m->port, ip, m->to_port);
}

static int on_fail(const struct msg_fail *m, struct err *err)
{
	return err_set(err, ERR_SYS, m->sys, "cannot %.*s", (int)sizeof(m->what) - 1, m->what);
}

/* Nothing is in the command's way any more. */
static void maybe_go(struct runner_run *run)
{
	const struct msg_plain go = { .type = MSG_GO };

	if (run->said_go || !run->broker_ready || (egress_is_early(&run->p) && !run->egress_ready))
		return;
	run->said_go = 1;
	run->state = RUN_WARM;
	tell_stage(run, &go, sizeof(go));
}

/* One message of @n bytes with @n_fds descriptors. */
static void broker_says(struct runner_run *run, const char *msg, size_t n, const int *fds, size_t n_fds)
{
	union { struct msg_plain plain; struct msg_filter filter; struct msg_caller caller; struct msg_inside inside;
		struct msg_fail fail; } m;
	struct err err = { 0 };
	int r = -1;

	memcpy(&m, msg, n < sizeof(m) ? n : sizeof(m));
	err_set(&err, ERR_INPUT, 0, "the broker broke the protocol");
	if (m.plain.type == MSG_VIOLATION) {
		r = tell_violation(&run->p, msg, n);
	} else if (m.plain.type == MSG_CALLER && n == sizeof(m.caller)) {
		on_caller(run, &m.caller);
		r = 0;
	} else if (m.plain.type == MSG_INSIDE && n == sizeof(m.inside) && run->egress) {
		r = egress_inside(run->egress, &m.inside, fds, n_fds);
	} else if (m.plain.type == MSG_JOINED && n == sizeof(m.filter) && run->got_listeners) {
		r = on_joined(run, &m.filter, fds, n_fds, &err);
	} else if (m.plain.type == MSG_READY && run->got_notify && !run->broker_ready) {
		run->broker_ready = 1;
		maybe_go(run);
		r = 0;
	} else if (m.plain.type == MSG_FAIL && n == sizeof(m.fail)) {
		r = on_fail(&m.fail, &err);
	}
	if (r < 0)
		fail(run, END_FAILED, &err);
}

/* One message, if there is one: 1, else 0. */
static int read_broker(struct runner_run *run, int fd)
{
	char msg[MSG_MAX];
	int fds[NET_FDS_MAX];
	size_t n_fds;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	if (poll(&p, 1, 0) <= 0)
		return 0;
	n = io_recv_fds(fd, msg, sizeof(msg), fds, NET_FDS_MAX, &n_fds);
	if (n < (ssize_t)sizeof(struct msg_plain)) {
		end_watch(&run->broker_watch);
		return 0;
	}
	broker_says(run, msg, (size_t)n, fds, n_fds);
	return 1;
}

static void on_broker(void *cookie, int fd, unsigned int ready)
{
	(void)ready;
	read_broker(cookie, fd);
}

static int start_broker(struct runner_run *run, int theirs, struct err *err)
{
	run->broker = stage_spawn_broker(run->loop, run->p.init_path, theirs, on_broker_exited, run, &run->broker_pid, err);
	if (!run->broker)
		return -1;
	run->broker_watch = loop_fd(run->loop, run->broker_ctl, LOOP_READ, on_broker, run);
	return run->broker_watch ? 0 : err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* --- time --- */

static void on_grace_over(void *cookie)
{
	struct runner_run *run = cookie;

	run->grace = NULL;
	kill_tree(run);
}

static void signal_command(struct runner_run *run, int signum)
{
	if (run->command_pidfd >= 0 && run->was_started)
		syscall(SYS_pidfd_send_signal, run->command_pidfd, signum, NULL, 0);
	else
		kill_tree(run);
}

static void on_wall_time(void *cookie)
{
	struct runner_run *run = cookie;

	run->wall = NULL;
	if (run->kind == END_EXITED)
		run->kind = END_TIMEOUT;
	signal_command(run, SIGTERM);
	run->grace = loop_timer(run->loop, GRACE_MS, 0, on_grace_over, run);
	if (!run->grace)
		kill_tree(run);
}

static void on_setup_time(void *cookie)
{
	struct runner_run *run = cookie;

	run->setup = NULL;
	fail_words(run, "the sandbox was not ready in time");
}

/* --- the beginning --- */

/* Both ends of the pipes for captured output, the command's in @fds as well. */
static int open_output(struct runner_run *run, int *ret_out, int *ret_errors, int *fds, struct err *err)
{
	if (!run->p.capture)
		return 0;
	if (output_open(&run->output[0], run->loop, ret_out, err) < 0 ||
	    output_open(&run->output[1], run->loop, ret_errors, err) < 0)
		return -1;
	fds[1] = *ret_out;
	fds[2] = *ret_errors;
	return 0;
}

static int start_bwrap(struct runner_run *run, int theirs, struct err *err)
{
	OWN(strv) struct strv argv = { 0 };
	OWN(fd) int out = -1;
	OWN(fd) int errors = -1;
	int fds[] = { run->p.input, STDOUT_FILENO, STDERR_FILENO, theirs };
	char bwrap[4096];
	struct spawn sp = { .file = bwrap, .env = run->p.env, .cwd = "/", .fds = fds, .nfds = 4 };

	if (probe_bwrap(bwrap, sizeof(bwrap)) < 0)
		return err_set(err, ERR_MISSING, 0, "cannot find bubblewrap");
	if (args_build(&run->p, &argv, &run->kept, err) < 0)
		return -1;
	if (open_output(run, &out, &errors, fds, err) < 0)
		return -1;
	run->bwrap = early_spawn(run->loop, &sp, &argv, run->p.run_dir, on_bwrap_exited, run, &run->bwrap_pid, err);
	return run->bwrap ? 0 : -1;
}

static int start_bare(struct runner_run *run, int stage, int broker, struct err *err)
{
	OWN(strv) struct strv argv = { 0 };
	OWN(fd) int out = -1;
	OWN(fd) int errors = -1;
	int fds[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, stage, broker };
	struct spawn sp = { .file = run->p.init_path, .env = run->p.env, .cwd = workdir_of(run->p.spec), .fds = fds,
			    .nfds = ARRAY_LEN(fds) };

	/* Should the broker die, what it was to reap comes to us. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return err_set(err, ERR_SYS, errno, "cannot become the subreaper of the run");
	if (access(sp.cwd, X_OK) < 0)
		return err_set(err, ERR_SYS, errno, "cannot start in '%s'", sp.cwd);
	if (bare_args(&run->p, &argv) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (open_output(run, &out, &errors, fds, err) < 0)
		return -1;
	sp.argv = argv.v;
	run->bwrap = loop_spawn(run->loop, &sp, on_bwrap_exited, run, &run->bwrap_pid, err);
	if (!run->bwrap)
		return -1;
	run->broker_watch = loop_fd(run->loop, run->broker_ctl, LOOP_READ, on_broker, run);
	return run->broker_watch ? 0 : err_set(err, ERR_NOMEM, 0, "out of memory");
}

static int start_processes(struct runner_run *run, struct err *err)
{
	OWN(fd) int stage_end = -1;
	OWN(fd) int broker_end = -1;
	int stage[2], broker[2], on = 1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, stage) < 0)
		return err_set(err, ERR_SYS, errno, "cannot make a socket for the stage");
	run->stage_ctl = stage[0];
	stage_end = stage[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, broker) < 0)
		return err_set(err, ERR_SYS, errno, "cannot make a socket for the broker");
	run->broker_ctl = broker[0];
	broker_end = broker[1];
	if (setsockopt(run->stage_ctl, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return err_set(err, ERR_SYS, errno, "cannot ask for credentials");
	run->stage_watch = loop_fd(run->loop, run->stage_ctl, LOOP_READ, on_stage, run);
	if (!run->stage_watch)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (run->is_bare)
		return start_bare(run, stage_end, broker_end, err);
	if (start_bwrap(run, stage_end, err) < 0)
		return -1;
	return start_broker(run, broker_end, err);
}

static int start_timers(struct runner_run *run, struct err *err)
{
	run->setup = loop_timer(run->loop, SETUP_MS, 0, on_setup_time, run);
	if (run->p.spec->limits.wall_ms > 0)
		run->wall = loop_timer(run->loop, (uint64_t)run->p.spec->limits.wall_ms, 0, on_wall_time, run);
	if (!run->setup || (run->p.spec->limits.wall_ms > 0 && !run->wall))
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return 0;
}

static void native_free(struct runner_run *run)
{
	struct watch **all[] = { &run->stage_watch, &run->broker_watch, &run->bwrap, &run->broker,
				 &run->wall, &run->grace, &run->setup, &run->last };
	int fds[] = { run->stage_ctl, run->broker_ctl, run->blob, run->command_pidfd, run->proxies[0], run->proxies[1] };

	kill_tree(run);
	if (run->broker_pid > 0)
		kill(run->broker_pid, SIGKILL);
	if (!run->is_bare && run->bwrap_pid > 0 && !run->was_started)
		stage_await(run->stage_ctl);
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		end_watch(all[i]);
	limits_end(run->limits);
	group_leave(&run->p, run->group);
	egress_free(run->egress);
	bare_close(&run->ports);
	kept_closed_done(&run->kept);
	callers_done(&run->callers);
	output_close(&run->output[0]);
	output_close(&run->output[1]);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(run);
}

/* Made while bwrap builds the namespaces: the stage waits for it. */
static int send_plan(struct runner_run *run, struct err *err)
{
	const struct msg_plain m = { .type = MSG_PLAN };

	run->blob = blob_build(&run->p, run->is_bare ? &run->ports : NULL, &run->kept, err);
	if (run->blob < 0)
		return -1;
	if (io_send_fds(run->stage_ctl, &m, sizeof(m), &run->blob, 1) < 0)
		return err_set(err, ERR_SYS, errno, "cannot hand the plan to the stage");
	return 0;
}

/* The proxies' sockets were made by who made the environment, and stay theirs. */
static int take_proxies(struct runner_run *run, struct err *err)
{
	for (int i = 0; run->is_bare && i < 2; i++) {
		run->proxies[i] = fcntl(run->p.proxies.fd[i], F_DUPFD_CLOEXEC, 3);
		if (run->proxies[i] < 0)
			return err_set(err, ERR_SYS, errno, "cannot take over the proxies' sockets");
	}
	return run->is_bare ? bare_open(run->p.spec, &run->ports, err) : 0;
}

static int start(struct loop *loop, const struct run_params *p, int is_bare, struct runner_run **ret, struct err *err)
{
	struct runner_run *run = calloc(1, sizeof(*run));

	if (!run)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	*run = (struct runner_run){ .loop = loop, .p = *p, .is_bare = is_bare, .stage_ctl = -1, .broker_ctl = -1,
				    .blob = -1, .command_pidfd = -1, .proxies = { -1, -1 }, .kind = END_EXITED, .state = RUN_CREATED };
	for (int i = 0; i < 2; i++)
		run->output[i] = (struct output){ .p = &run->p, .number = i + 1, .fd = -1, .closed = on_output_closed,
						  .cookie = run };
	if (take_proxies(run, err) < 0 || start_processes(run, err) < 0 ||
	    (run->p.ops->commit && run->p.ops->commit(run->p.cookie, err) < 0) || send_plan(run, err) < 0 || start_timers(run, err) < 0) {
		native_free(run);
		return -1;
	}
	*ret = run;
	return 0;
}

static int native_start(struct loop *loop, const struct run_params *p, struct runner_run **ret, struct err *err)
{
	return start(loop, p, 0, ret, err);
}

static int bare_start(struct loop *loop, const struct run_params *p, struct runner_run **ret, struct err *err)
{
	return start(loop, p, 1, ret, err);
}

static void native_kill(struct runner_run *run, int signum)
{
	if (run->bwrap_gone)
		return;
	if (run->kind == END_EXITED && signum == SIGKILL)
		run->kind = END_KILLED;
	if (signum == SIGKILL)
		kill_tree(run);
	else
		signal_command(run, signum);
}

const struct runner runner_native = {
	.backend = BACKEND_NATIVE,
	.has_view = 1,
	.probe = probe_native,
	.start = native_start,
	.kill = native_kill,
	.free = native_free,
};

const struct runner runner_bare = {
	.backend = BACKEND_NATIVE,
	.is_bare = 1,
	.listen = bare_listen,
	.probe = probe_bare,
	.start = bare_start,
	.kill = native_kill,
	.free = native_free,
};
