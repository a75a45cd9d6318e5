/*
 * The adapter without a sandbox: the same events, environment and end of life
 * as the others, and nothing that holds the command back. It says so itself.
 *
 * What it can promise is that no process outlives the run: we are the
 * subreaper, so whatever the command leaves behind becomes our child, however
 * often it forked, and is killed by walking /proc.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/path.h"
#include "runner/runner.h"
#include "runner/tree.h"
#include "sandbox/spec.h"

#define GRACE_MS 2000		/* between SIGTERM at the wall time and SIGKILL */
#define DRAIN_MS 2000		/* for the last bytes of output once all are dead */

struct stream {
	struct runner_run *run;
	int number;
	int fd;
	struct watch *watch;
};

struct runner_run {
	struct loop *loop;
	const struct run_ops *ops;
	void *cookie;
	struct watch *child, *wall, *later, *orphans;
	struct stream streams[2];
	pid_t pid;
	enum end_kind kind;	/* what was decided before the end, else END_EXITED */
	int status, signum;
	int has_exited;
	struct err err;
};

/* --- killing a tree --- */

static void kill_tree(const struct runner_run *run)
{
	if (tree_kill(run->pid, 0) < 0)
		kill(run->pid, SIGKILL);
}

/* --- the end --- */

static void close_stream(struct stream *s)
{
	watch_end(s->watch);
	s->watch = NULL;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static void end_watches(struct runner_run *run)
{
	struct watch **all[] = { &run->child, &run->wall, &run->later, &run->orphans };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		watch_end(*all[i]);
		*all[i] = NULL;
	}
}

/* Tell of the end once the command is gone and its output was read to the last byte. */
static void maybe_end(struct runner_run *run)
{
	struct run_end end = { .kind = run->kind, .status = run->status };

	if (!run->has_exited || run->streams[0].fd >= 0 || run->streams[1].fd >= 0)
		return;
	end_watches(run);
	if (end.kind == END_EXITED && run->signum)
		end.kind = END_SIGNALED;
	if (run->signum)
		end.status = run->signum;
	if (end.kind == END_NO_COMMAND || end.kind == END_FAILED)
		end.err = &run->err;
	run->ops->ended(run->cookie, &end);
}

static void drain_is_over(void *cookie)
{
	struct runner_run *run = cookie;

	run->later = NULL;
	close_stream(&run->streams[0]);
	close_stream(&run->streams[1]);
	maybe_end(run);
}

static void on_exited(void *cookie, int status, int signum)
{
	struct runner_run *run = cookie;

	run->child = NULL;
	run->has_exited = 1;
	run->status = status;
	run->signum = signum;
	kill_tree(run);
	watch_end(run->later);
	run->later = loop_timer(run->loop, DRAIN_MS, 0, drain_is_over, run);
	maybe_end(run);
}

static void on_started(void *cookie)
{
	struct runner_run *run = cookie;

	run->later = NULL;
	run->ops->started(run->cookie, run->pid);
}

/* The command never ran: tell so from the loop, as with every other end. */
static void on_no_command(void *cookie)
{
	struct runner_run *run = cookie;

	run->later = NULL;
	run->has_exited = 1;
	maybe_end(run);
}

/* --- output --- */

static void on_output(void *cookie, int fd, unsigned int ready)
{
	struct stream *s = cookie;
	struct runner_run *run = s->run;
	char data[65536];
	ssize_t n = read(fd, data, sizeof(data));

	(void)ready;
	if (n > 0) {
		run->ops->output(run->cookie, s->number, data, (size_t)n);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close_stream(s);
		maybe_end(run);
	}
}

static int open_stream(struct runner_run *run, int number, int *ret_child_end, struct err *err)
{
	struct stream *s = &run->streams[number - 1];
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return err_set(err, ERR_SYS, errno, "cannot make a pipe for the output");
	s->fd = p[0];
	*ret_child_end = p[1];
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	s->watch = loop_fd(run->loop, p[0], LOOP_READ, on_output, s);
	return s->watch ? 0 : err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* --- the beginning --- */

static void on_grace_over(void *cookie)
{
	struct runner_run *run = cookie;

	run->wall = NULL;
	kill_tree(run);
}

static void on_wall_time(void *cookie)
{
	struct runner_run *run = cookie;

	run->kind = END_TIMEOUT;
	kill(run->pid, SIGTERM);
	run->wall = loop_timer(run->loop, GRACE_MS, 0, on_grace_over, run);
	if (!run->wall)
		kill_tree(run);
}

/* Orphans become our children; leave none as a zombie while the command runs on. */
static void on_orphan(void *cookie, int signum)
{
	const struct runner_run *run = cookie;
	siginfo_t who = { 0 };

	(void)signum;
	while (!waitid(P_ALL, 0, &who, WEXITED | WNOHANG | WNOWAIT) && who.si_pid && who.si_pid != run->pid)
		waitpid(who.si_pid, NULL, WNOHANG);
}

/* Where the command starts, as the host knows it: nothing is bound here. */
static char *host_workdir(const struct sandbox_spec *spec)
{
	const struct bind_mount *best = NULL;
	const char *guest = spec->guest_workdir;

	for (size_t i = 0; i < spec->n_binds; i++) {
		const struct bind_mount *b = &spec->binds[i];

		if (guest ? path_under(guest, b->guest_path) : !b->read_only)
			if (!best || strlen(b->guest_path) > strlen(best->guest_path))
				best = b;
	}
	if (!best)
		return strdup(guest ? guest : "/");
	if (!guest || !strcmp(guest, best->guest_path))
		return strdup(best->host_path);
	guest += strlen(best->guest_path);
	return path_join(best->host_path, guest + strspn(guest, "/"));
}

static int spawn(struct runner_run *run, const struct run_params *p, struct err *err)
{
	OWN(mem) char *cwd = host_workdir(p->spec);
	OWN(fd) int out = -1;
	OWN(fd) int errors = -1;
	int fds[3] = { p->input, STDOUT_FILENO, STDERR_FILENO };
	struct spawn sp = { .file = p->argv[0], .argv = p->argv, .env = p->env, .cwd = cwd, .fds = fds, .nfds = 3 };
	struct err why = { 0 };

	if (!cwd)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (access(cwd, X_OK) < 0)
		return err_set(err, ERR_SYS, errno, "cannot start in '%s'", cwd);
	if (p->capture) {
		if (open_stream(run, 1, &out, err) < 0 || open_stream(run, 2, &errors, err) < 0)
			return -1;
		fds[1] = out;
		fds[2] = errors;
	}
	run->child = loop_spawn(run->loop, &sp, on_exited, run, &run->pid, &why);
	if (!run->child) {
		run->err = why;
		run->kind = END_NO_COMMAND;
	}
	run->later = loop_timer(run->loop, 0, 0, run->child ? on_started : on_no_command, run);
	return run->later ? 0 : err_set(err, ERR_NOMEM, 0, "out of memory");
}

static void free_run(struct runner_run *run)
{
	if (!run)
		return;
	if (run->pid > 0 && !run->has_exited) {
		watch_end(run->child);
		run->child = NULL;
		kill_tree(run);
		waitpid(run->pid, NULL, WNOHANG);
	}
	end_watches(run);
	close_stream(&run->streams[0]);
	close_stream(&run->streams[1]);
	free(run);
}

static struct runner_run *new_run(struct loop *loop, const struct run_params *p)
{
	struct runner_run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run->loop = loop;
	run->ops = p->ops;
	run->cookie = p->cookie;
	run->kind = END_EXITED;
	for (int i = 0; i < 2; i++)
		run->streams[i] = (struct stream){ .run = run, .number = i + 1, .fd = -1 };
	return run;
}

static int start(struct loop *loop, const struct run_params *p, struct runner_run **ret, struct err *err)
{
	struct runner_run *run;

	if (p->spec->publish.n)
		return err_set(err, ERR_POLICY, 0, "cannot publish '%s': without a sandbox servers are on this machine's "
			       "own ports", p->spec->publish.v[0]);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return err_set(err, ERR_SYS, errno, "cannot become the subreaper of the run");
	run = new_run(loop, p);
	if (!run)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if ((p->ops->commit && p->ops->commit(p->cookie, err) < 0) || spawn(run, p, err) < 0) {
		free_run(run);
		return -1;
	}
	if (run->child) {
		run->orphans = loop_signal(loop, SIGCHLD, on_orphan, run);
		if (p->spec->limits.wall_ms)
			run->wall = loop_timer(loop, (uint64_t)p->spec->limits.wall_ms, 0, on_wall_time, run);
		if (!run->orphans || (p->spec->limits.wall_ms && !run->wall)) {
			free_run(run);
			return err_set(err, ERR_NOMEM, 0, "out of memory");
		}
	}
	*ret = run;
	return 0;
}

static void kill_run(struct runner_run *run, int signum)
{
	if (run->has_exited || run->pid <= 0)
		return;
	if (signum != SIGKILL) {
		kill(run->pid, signum);
		return;
	}
	if (run->kind == END_EXITED)
		run->kind = END_KILLED;
	kill_tree(run);
}

static int probe(struct err *err)
{
	(void)err;
	return 0;
}

const struct runner runner_none = {
	.backend = BACKEND_NONE, .probe = probe, .start = start, .kill = kill_run, .free = free_run,
};
