#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/own.h"
#include "base/spawn.h"

#define STACK_SIZE (64u * 1024)	/* and a word for each argument, should it have to be a shell script */
#define SIGNALS 32		/* those of real time are nobody's here */

/* What the child reads of us, and the one thing it writes. */
struct birth {
	const struct spawn *sp;
	int error;
};

/* The sanitizers' own bookkeeping would be our thread's, on a stack that is not. */
#define IN_CHILD __attribute__((no_sanitize("address", "thread")))

/* Handlers are ours, and would run in our memory; what is ignored stays so across exec. */
IN_CHILD static void reset_signals(uint32_t ignored)
{
	sigset_t none;

	for (int sig = 1; sig < SIGNALS; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			signal(sig, ignored >> sig & 1 ? SIG_IGN : SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Should another process share it, it must not be that a read of it fails. */
IN_CHILD static int make_blocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || !(flags & O_NONBLOCK) ? flags : fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

IN_CHILD static int place(int from, int to)
{
	int made = -1;

	if (from < 0 && to > STDERR_FILENO)
		return 0;	/* all that is open there is close-on-exec */
	if (from < 0)
		from = made = open("/dev/null", to ? O_RDWR : O_RDONLY);
	if (from < 0)
		return -1;
	if (from == to)
		return fcntl(to, F_SETFD, 0) < 0 || (to <= STDERR_FILENO && made < 0 && make_blocking(to) < 0) ? -1 : 0;
	if (dup2(from, to) < 0 || (to <= STDERR_FILENO && made < 0 && make_blocking(to) < 0))
		return -1;
	if (made >= 0)
		close(made);
	return 0;
}

/* Those that would be overwritten before they are used are first moved out of the way. */
IN_CHILD static int place_all(const struct spawn *sp)
{
	int from[LOOP_CHILD_FDS];

	for (int i = 0; i < sp->nfds; i++) {
		from[i] = sp->fds[i];
		if (from[i] >= 0 && from[i] < i && (from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, sp->nfds)) < 0)
			return -1;
	}
	for (int i = 0; i < sp->nfds; i++)
		if (place(from[i], i) < 0)
			return -1;
	return 0;
}

IN_CHILD static int become(void *cookie)
{
	struct birth *b = cookie;
	const struct spawn *sp = b->sp;

	reset_signals(sp->ignored);
	if ((sp->new_session && setsid() < 0) || place_all(sp) < 0 || (sp->cwd && chdir(sp->cwd) < 0) ||
	    (sp->prepare && sp->prepare(sp->prepare_cookie) < 0)) {
		b->error = errno;
		_exit(127);
	}
	if (sp->env)
		environ = (char **)(size_t)sp->env;	/* execvp() looks there; our thread puts it back */
	execvp(sp->file, sp->argv);
	b->error = errno;
	_exit(127);
}

int spawn_can(void)
{
	OWN(fd) int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	return fd >= 0 || errno != ENOSYS;
}

static size_t count(char *const v[])
{
	size_t n = 0;

	while (v[n])
		n++;
	return n;
}

/* No signal may find our handlers in the child, nor a changed environment in us. */
static pid_t give_birth(struct birth *b, char *stack, size_t size, int *ret_pidfd)
{
	char **env = environ;
	sigset_t all, old;
	int saved;
	pid_t pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pid = clone(become, stack + size, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, b, ret_pidfd);
	saved = errno;
	environ = env;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = saved;
	return pid;
}

pid_t spawn_child(const struct spawn *sp, int *ret_pidfd)
{
	size_t size = (STACK_SIZE + count(sp->argv) * sizeof(char *) + 15) & ~(size_t)15;
	OWN(mem) char *stack = aligned_alloc(16, size);
	struct birth b = { .sp = sp };
	int pidfd = -1;
	pid_t pid;

	if (!stack)
		return -1;
	pid = give_birth(&b, stack, size, &pidfd);
	if (pid >= 0 && !b.error) {
		*ret_pidfd = pidfd;
		return pid;
	}
	if (pid < 0)
		return -1;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(pidfd);
	errno = b.error;
	return -1;
}
