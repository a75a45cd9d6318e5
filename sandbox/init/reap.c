/*
 * sandbox/init/reap.c - the end of a run's tree where no process namespace ends it
 *
 * We are the subreaper and an ancestor of all the command starts, so whatever it
 * leaves behind becomes our child, however often it forked. Stopping comes
 * first: a stopped tree cannot fork away.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "sandbox/init/broker.h"
#include "sandbox/proctree.h"

#define STOP_ROUNDS 8
#define KILL_ROUNDS 2000	/* of 5 ms */

/* Returns how many live still; their zombies are reaped by whoever waits for children. */
static size_t signal_all(const struct broker *b, struct process *all, int signum)
{
	size_t n = proctree_below(all, proctree_list(b->proc, all, PROCTREE_MAX), b->bare), alive = 0;

	for (size_t i = 0; i < n; i++)
		if (all[i].state != 'Z') {
			alive++;
			kill(all[i].pid, signum);
		}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return alive;
}

void reap_tree(const struct broker *b)
{
	static struct process all[PROCTREE_MAX];	/* there is one end */
	const struct timespec pause = { .tv_nsec = 5000000 };
	size_t alive = 1, before = 0;

	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	if (errno == ECHILD)	/* the usual end: nothing was left behind */
		return;
	for (int i = 0; i < STOP_ROUNDS && alive != before; i++) {
		before = alive;
		alive = signal_all(b, all, SIGSTOP);
	}
	for (int i = 0; i < KILL_ROUNDS && signal_all(b, all, SIGKILL); i++)
		nanosleep(&pause, NULL);
}
