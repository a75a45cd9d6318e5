/*
 * The trials behind sandbox/probe.h. Each forks a child that does the thing
 * for real and answers in its exit status; a deadline bounds it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "sandbox/calls.h"
#include "sandbox/cgroup.h"
#include "sandbox/filter.h"
#include "sandbox/probe.h"
#include "sandbox/probe_internal.h"

#define SECOND_LAYOUT 1	/* runner/ has an adapter that does without namespaces */
#define TRIAL_MS 5000
#define BWRAP_MS 10000

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#define LANDLOCK_VERSION_QUESTION 1u	/* LANDLOCK_CREATE_RULESET_VERSION */

/* --- children --- */

/* Wait for the end of @pid. Where the kernel gives no descriptor for it, a nap at a time. */
static void await(pid_t pid, int64_t left_ms)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	OWN(fd) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (fd < 0)
		nanosleep(&nap, NULL);
	else if (left_ms > 0)
		poll(&p, 1, (int)left_ms);
}

/* Reap @pid; kill it once @until_ms has passed. Return: its exit status, or -1 */
static int reap(pid_t pid, int64_t until_ms)
{
	int status, killed = 0;
	pid_t r;

	while ((r = waitpid(pid, &status, killed ? 0 : WNOHANG)) != pid) {
		int64_t left = until_ms - clock_mono_ms();

		if (r < 0 && errno != EINTR)
			return -1;
		if (left <= 0) {
			kill(pid, SIGKILL);
			killed = 1;
		}
		await(pid, left);
	}
	return !killed && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int try_in_child(int (*trial)(void))
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(trial());
	return pid < 0 ? -1 : reap(pid, clock_mono_ms() + TRIAL_MS);
}

static int make_userns(void)
{
	return unshare(CLONE_NEWUSER) < 0;
}

/* --- bubblewrap --- */

/* The namespaces are those of runner/native_args.c. */
static const char *const bwrap_words[] = {
	"--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-net", "--unshare-ipc",
	"--unshare-uts", "--unshare-cgroup-try", "--die-with-parent", "--cap-drop", "ALL",
	"--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/tmp",
};
#define BWRAP_NUM (sizeof(bwrap_words) / sizeof(bwrap_words[0]))

static void exec_bwrap(const char *path, int with_proc, int says_fd)
{
	const char *argv[BWRAP_NUM + 8];
	int null = open("/dev/null", O_RDWR);
	size_t n = 0;

	argv[n++] = "bwrap";
	for (size_t i = 0; i < BWRAP_NUM; i++)
		argv[n++] = bwrap_words[i];
	if (with_proc) {
		argv[n++] = "--proc";
		argv[n++] = "/proc";
	}
	argv[n++] = "--";
	argv[n++] = "/bin/true";
	argv[n] = NULL;
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(says_fd, 2) < 0)
		_exit(125);
	execv(path, (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* What the child wrote, up to one line without control bytes. */
static void read_line(int fd, int64_t until_ms, char ret[PROBE_SAYS])
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t n = 0;

	while (n < PROBE_SAYS - 1) {
		int64_t left = until_ms - clock_mono_ms();
		ssize_t r;

		if (left <= 0 || poll(&p, 1, (int)left) <= 0)
			break;
		r = read(fd, ret + n, PROBE_SAYS - 1 - n);
		if (r <= 0)
			break;
		n += (size_t)r;
	}
	ret[n] = '\0';
	for (n = 0; ret[n] && ret[n] != '\n'; n++)
		if ((unsigned char)ret[n] < 0x20 || ret[n] == 0x7f)
			ret[n] = ' ';
	ret[n] = '\0';
}

/* 1 if it ran to its end. */
static int run_bwrap(const char *path, int with_proc, char says[PROBE_SAYS])
{
	int64_t until = clock_mono_ms() + BWRAP_MS;
	int fds[2], status;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return 0;
	pid = fork();
	if (pid == 0)
		exec_bwrap(path, with_proc, fds[1]);
	close(fds[1]);
	if (pid > 0)
		read_line(fds[0], until, says);
	close(fds[0]);
	status = pid > 0 ? reap(pid, until) : -1;
	if (status && !says[0])
		snprintf(says, PROBE_SAYS, "bwrap ended with status %d", status);
	return status == 0;
}

static void try_bwrap(struct probe_facts *f)
{
	char ignored[PROBE_SAYS] = "";

	if (probe_bwrap(f->bwrap, sizeof(f->bwrap)) < 0)
		return;
	if (probe_wants_bare()) {
		snprintf(f->bwrap_says, sizeof(f->bwrap_says), "AGATE_LAYOUT=2 asks to do without");
		return;
	}
	f->bwrap_runs = run_bwrap(f->bwrap, 1, f->bwrap_says);
	if (!f->bwrap_runs)
		f->bwrap_runs_without_proc = run_bwrap(f->bwrap, 0, ignored);
}

/* --- notification, end to end --- */

/* What the child tells with its listener, and the parent looks for in its memory. */
struct hello {
	int killable;
	int pipe_fd;
	int token;
};

static volatile int token = 1;	/* the child makes it 77 */
#define TOKEN 77
#define ANSWER 4242
#define LETTER 'a'

static int install(unsigned long flags)
{
	static const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = 4, .filter = (struct sock_filter *)(uintptr_t)code };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

/* The child. Exit: bit 0 the answer arrived, bit 1 the descriptor arrived; 64: no listener. */
static int ask(int sock)
{
	struct hello hello = { .killable = 1, .token = TOKEN };
	int listener, fds[2], result = 0;
	char letter = LETTER;
	long got;

	token = TOKEN;
	if (pipe2(fds, O_CLOEXEC) < 0 || write(fds[1], &letter, 1) != 1 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 64;
	hello.pipe_fd = fds[0];
	listener = install(SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
	if (listener < 0) {
		hello.killable = 0;
		listener = install(SECCOMP_FILTER_FLAG_NEW_LISTENER);
	}
	if (listener < 0 || io_send_fds(sock, &hello, sizeof(hello), &listener, 1) < 0)
		return 64;
	close(listener);
	if (syscall(SYS_getppid) == ANSWER)
		result |= 1;
	got = syscall(SYS_getppid);
	if (got >= 0 && read((int)got, &letter, 1) == 0)	/* it is the parent's /dev/null */
		result |= 2;
	return result;
}

static int receive(int listener, struct seccomp_notif *n)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };

	memset(n, 0, sizeof(*n));
	if (poll(&p, 1, TRIAL_MS) <= 0 || ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, n) < 0)
		return -1;
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &n->id);
}

static int answer(int listener, uint64_t id, int64_t val, int error)
{
	struct seccomp_notif_resp resp = { .id = id, .val = val, .error = error };

	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

static int put_in(int listener, uint64_t id)
{
	OWN(fd) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct seccomp_notif_addfd add = {
		.id = id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = (uint32_t)null,
	};

	if (null >= 0 && ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) >= 0)
		return 0;
	return answer(listener, id, 0, -EOPNOTSUPP);
}

static int take_out(pid_t pid, int fd)
{
	OWN(fd) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	OWN(fd) int copy = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	char letter = 0;

	return copy >= 0 && read(copy, &letter, 1) == 1 && letter == LETTER;
}

static int read_memory(pid_t pid)
{
	int found = 0;
	struct iovec local = { &found, sizeof(found) };
	struct iovec remote = { (void *)(uintptr_t)&token, sizeof(token) };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)sizeof(found) && found == TOKEN;
}

/* The parent: answer two calls, and look at the caller in between. */
static void serve(int sock, pid_t pid, struct probe_facts *f)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	struct seccomp_notif n;
	struct hello hello;
	OWN(fd) int listener = -1;
	size_t nfds = 0;

	if (poll(&p, 1, TRIAL_MS) <= 0 ||
	    io_recv_fds(sock, &hello, sizeof(hello), &listener, 1, &nfds) != (ssize_t)sizeof(hello) || nfds != 1)
		return;
	f->killable = hello.killable;
	if (receive(listener, &n) < 0)
		return;
	f->pidfd_getfd = take_out(pid, hello.pipe_fd);
	f->memory = read_memory(pid);
	if (answer(listener, n.id, ANSWER, 0) < 0 || receive(listener, &n) < 0)
		return;
	put_in(listener, n.id);
}

static void try_notify(struct probe_facts *f)
{
	int socks[2], status;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		close(socks[0]);
		_exit(ask(socks[1]));
	}
	close(socks[1]);
	if (pid > 0)
		serve(socks[0], pid, f);
	close(socks[0]);
	status = pid > 0 ? reap(pid, clock_mono_ms() + TRIAL_MS) : -1;
	f->notify = status >= 0 && status < 64 && (status & 1);
	f->addfd_send = status >= 0 && status < 64 && (status & 2) != 0;
}

/* --- the rest --- */

int probe_landlock(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION_QUESTION);

	return abi > 0 ? (int)abi : 0;
}

int probe_has_notify(void)
{
	uint32_t action = SECCOMP_RET_USER_NOTIF;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

int probe_sysctl(const char *name, long *ret)
{
	char path[128], text[32] = "", *end;
	OWN(fd) int fd = -1;
	long v;

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return -1;
	v = strtol(text, &end, 10);
	if (end == text)
		return -1;
	*ret = v;
	return 0;
}

static void try_filter(struct probe_facts *f)
{
	OWN(buf) struct buf bpf = { 0 };
	struct err err = { 0 };

	if (filter_compile(CALLS_FILES | CALLS_SOCKETS, &bpf, &err) < 0)
		snprintf(f->filter_says, sizeof(f->filter_says), "%.*s", PROBE_SAYS - 1, err.msg);
	else
		f->filter = (int)(bpf.len / sizeof(struct sock_filter));
}

/* The very functions that the start of a run uses. */
static void try_cgroup(struct probe_facts *f)
{
	struct err why = { 0 };

	f->cgroup = !cgroup_try(&cgroup_here, &why);
	snprintf(f->cgroup_says, sizeof(f->cgroup_says), "%.*s", PROBE_SAYS - 1,
		 f->cgroup ? "a group with limits was made, entered and removed" : why.msg);
}

#define SPACES_STACK 16384

/* On a stack that a sanitizer does not know. */
__attribute__((no_sanitize("address", "thread")))
static int make_mounts(void *cookie)
{
	(void)cookie;
	_exit(unshare(CLONE_NEWNS) < 0);
}

/*
 * As bwrap does it: a user namespace, and the rights in it to make a mount namespace.
 * Every run asks, so the child is made without a copy of our memory.
 */
static int makes_spaces(void)
{
	OWN(mem) char *stack = malloc(SPACES_STACK);
	pid_t pid = stack ? clone(make_mounts, stack + SPACES_STACK,
				  CLONE_NEWUSER | CLONE_VM | CLONE_VFORK | SIGCHLD, NULL) : -1;

	return pid > 0 && reap(pid, clock_mono_ms() + TRIAL_MS) == 0;
}

int probe_spaces(void)
{
	char bwrap[PATH_MAX], ignored[PROBE_SAYS] = "";

	if (makes_spaces())
		return 0;
	return probe_bwrap(bwrap, sizeof(bwrap)) == 0 && run_bwrap(bwrap, 1, ignored) ? 0 : -1;
}

int probe_child(void)
{
	int fds[2], letter = LETTER, is_ours, until = TRIAL_MS;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		token = TOKEN;
		_exit(write(fds[1], &letter, 1) == 1 && pause() ? 1 : 0);
	}
	/* The byte says that the token is set; taking it is the trial of descriptors. */
	is_ours = pid > 0 && poll(&(struct pollfd){ .fd = fds[0], .events = POLLIN }, 1, until) == 1 &&
		  take_out(pid, fds[0]) && read_memory(pid);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	close(fds[0]);
	close(fds[1]);
	return is_ours ? 0 : -1;
}

void probe_try(struct probe_facts *ret)
{
	long limited = 0;

	*ret = (struct probe_facts){ .second_layout = SECOND_LAYOUT };
	ret->landlock = probe_landlock();
	ret->is_apparmor_limited = probe_sysctl("kernel/apparmor_restrict_unprivileged_userns", &limited) == 0 && limited;
	ret->is_userns = try_in_child(make_userns) == 0;
	try_bwrap(ret);
	try_notify(ret);
	try_filter(ret);
	try_cgroup(ret);
}
