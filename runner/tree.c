#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "runner/tree.h"
#include "sandbox/proctree.h"

#define STOP_ROUNDS 8
#define KILL_ROUNDS 200		/* a tree that forks faster than this is left to the system */

/* Put @spare and all below it behind the rest; returns how many are left before. */
static size_t leave_out(struct process *all, size_t n, pid_t spare)
{
	size_t from = 0, below = 0;

	if (!spare)
		return n;
	while (from < n && all[from].pid != spare)
		from++;
	if (from == n)
		return n;
	all[from] = all[--n];
	below = proctree_below(all, n, spare);
	memmove(all, all + below, (n - below) * sizeof(*all));
	return n - below;
}

/*
 * Signal everything below us, and reap what nobody waits for. Returns how many
 * still live. Stopping comes first: a stopped tree cannot fork away.
 */
static size_t kill_once(struct process *all, pid_t waited_for, pid_t spare, int signum)
{
	OWN(fd) int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t n = proctree_below(all, proctree_list(proc, all, PROCTREE_MAX), getpid()), alive = 0;

	n = leave_out(all, n, spare);
	for (size_t i = 0; i < n; i++) {
		if (all[i].state != 'Z') {
			alive++;
			kill(all[i].pid, signum);
		} else if (all[i].pid != waited_for && all[i].parent == getpid()) {
			waitpid(all[i].pid, NULL, WNOHANG);
		}
	}
	return alive;
}

/* All that is below us hangs on a child of ours, since what loses its parent becomes one. */
static int has_children(void)
{
	siginfo_t who;

	return !waitid(P_ALL, 0, &who, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) || errno != ECHILD;
}

int tree_kill(pid_t waited_for, pid_t spare)
{
	OWN(mem) struct process *all = calloc(PROCTREE_MAX, sizeof(*all));
	const struct timespec pause = { .tv_nsec = 5000000 };
	size_t alive = 1, before = 0;

	if (!has_children())
		return 0;
	if (!all)
		return -1;
	for (int i = 0; i < STOP_ROUNDS && alive != before; i++) {
		before = alive;
		alive = kill_once(all, waited_for, spare, SIGSTOP);
	}
	for (int i = 0; i < KILL_ROUNDS && kill_once(all, waited_for, spare, SIGKILL); i++)
		nanosleep(&pause, NULL);
	kill_once(all, waited_for, spare, SIGKILL);	/* reaps those that died last */
	return 0;
}
