#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "runner/tree.h"

#define STOP_ROUNDS 8
#define KILL_ROUNDS 200		/* a tree that forks faster than this is left to the system */
#define MAX_TREE 65536

struct process {
	pid_t pid, parent;
	char state;
};

/* Fields 1, 3 and 4 of /proc/PID/stat; the second is a name in brackets that may hold anything. */
static int read_process(const char *pid, struct process *ret)
{
	char path[64], line[512];
	const char *rest;
	int fd, parent;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
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

static size_t list_processes(struct process *all, size_t max)
{
	OWN(dir) DIR *proc = opendir("/proc");
	const struct dirent *e;
	size_t n = 0;

	while (proc && n < max && (e = readdir(proc)))
		if (isdigit((unsigned char)e->d_name[0]) && !read_process(e->d_name, &all[n]))
			n++;
	return n;
}

/* Sort the descendants of @root to the front of @all; returns how many. */
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
	below = descendants(all, n, spare);
	memmove(all, all + below, (n - below) * sizeof(*all));
	return n - below;
}

/*
 * Signal everything below us, and reap what nobody waits for. Returns how many
 * still live. Stopping comes first: a stopped tree cannot fork away.
 */
static size_t kill_once(struct process *all, pid_t waited_for, pid_t spare, int signum)
{
	size_t n = descendants(all, list_processes(all, MAX_TREE), getpid()), alive = 0;

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
	OWN(mem) struct process *all = calloc(MAX_TREE, sizeof(*all));
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
