/*
 * sandbox/init/reap.c - the end of a run's tree where no process namespace ends it
 *
 * We are the subreaper and an ancestor of all the command starts, so whatever it
 * leaves behind becomes our child, however often it forked. Stopping comes
 * first: a stopped tree cannot fork away.
 */
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/init/broker.h"

#define MAX_PROCESSES 65536
#define STOP_ROUNDS 8
#define KILL_ROUNDS 2000	/* of 5 ms */

struct process {
	pid_t pid, parent;
	char state;
};

/* Fields 1, 3 and 4 of /proc/PID/stat; the second is a name in brackets that may hold anything. */
static int read_process(int proc, const char *pid, struct process *ret)
{
	char path[64], line[512];
	const char *rest;
	int fd, parent;
	ssize_t n;

	snprintf(path, sizeof(path), "%.20s/stat", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	line[n] = '\0';
	rest = strrchr(line, ')');
	if (!rest || sscanf(rest + 1, " %c %d", &ret->state, &parent) != 2)
		return -1;
	ret->pid = atoi(pid);
	ret->parent = parent;
	return 0;
}

static size_t list_processes(int proc, struct process *all)
{
	int fd = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	size_t n = 0;

	while (d && n < MAX_PROCESSES && (e = readdir(d)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && !read_process(proc, e->d_name, &all[n]))
			n++;
	if (d)
		closedir(d);
	return n;
}

/* Sort the descendants of @root to the front; returns how many. */
static size_t descendants(struct process *all, size_t n, pid_t root)
{
	size_t found = 0, before;

	do {
		before = found;
		for (size_t i = found; i < n; i++) {
			int mine = all[i].parent == root;

			for (size_t j = 0; j < found && !mine; j++)
				mine = all[i].parent == all[j].pid;
			if (mine) {
				struct process p = all[i];

				all[i] = all[found];
				all[found++] = p;
			}
		}
	} while (found != before);
	return found;
}

/* Returns how many live still; their zombies are reaped by whoever waits for children. */
static size_t signal_all(const struct broker *b, struct process *all, int signum)
{
	size_t n = descendants(all, list_processes(b->proc, all), b->bare), alive = 0;

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
	static struct process all[MAX_PROCESSES];	/* there is one end */
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
