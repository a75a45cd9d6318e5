#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "runner/limits.h"
#include "sandbox/cgroup.h"
#include "sandbox/spec.h"

#define SAMPLE_MS 200
#define MAX_TREE 32768		/* processes looked at in one sample */
#define ROOM_BYTES (256u << 20)	/* what a run must leave on disk */

struct limits_watch {
	struct watch *timer;
	pid_t root;
	uint64_t memory_bytes, cpu_ms, tasks;
	const char *dir;
	int had_room;		/* at the start: if not, it is not this run's doing */
	int full;		/* samples in a row with all tasks used */
	const struct cgroup *group;	/* NULL: none */
	uint64_t refused;	/* forks its limit did not allow, until the last sample */
	void (*over)(void *cookie, const struct err *why);
	void *cookie;
};

/* --- adding up --- */

static int read_text(const char *path, char *buf, size_t size)
{
	OWN(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (n < 0)
		return -1;
	buf[n] = '\0';
	return 0;
}

/* Fields of /proc/PID/stat behind the name, which may hold anything: 14 to 17 and 20. */
static int add_stat(pid_t pid, struct tree_usage *u)
{
	unsigned long utime, stime, tick = (unsigned long)sysconf(_SC_CLK_TCK);
	long cutime, cstime, threads;
	char path[64], text[1024];
	const char *rest;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (read_text(path, text, sizeof(text)) < 0)
		return -1;
	rest = strrchr(text, ')');
	if (!rest || sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld %*d %*d %ld",
			    &utime, &stime, &cutime, &cstime, &threads) != 5)
		return -1;
	u->cpu_ms += (utime + stime + (unsigned long)cutime + (unsigned long)cstime) * 1000 / tick;
	u->tasks += (uint64_t)threads;
	return 0;
}

static void add_memory(pid_t pid, struct tree_usage *u)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), resident, shared;
	char path[64], text[128];

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	if (!read_text(path, text, sizeof(text)) &&
	    sscanf(text, "%*u %" SCNu64 " %" SCNu64, &resident, &shared) == 2 && resident > shared)
		u->memory_bytes += (resident - shared) * page;
}

/* Append the children of all threads of @pid. */
static size_t add_children(pid_t pid, pid_t *all, size_t n)
{
	char path[64], text[16384];
	OWN(dir) DIR *tasks = NULL;
	const struct dirent *e;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && (e = readdir(tasks))) {
		char *p = text, *end;

		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", (int)pid, e->d_name);
		if (read_text(path, text, sizeof(text)) < 0)
			continue;
		for (long child; n < MAX_TREE && (child = strtol(p, &end, 10)) > 0; p = end)
			all[n++] = (pid_t)child;
	}
	return n;
}

int tree_usage(pid_t root, struct tree_usage *ret)
{
	OWN(mem) pid_t *all = malloc(MAX_TREE * sizeof(*all));
	struct tree_usage u = { 0 };
	size_t n = 1;

	if (!all)
		return -1;
	all[0] = root;
	for (size_t i = 0; i < n; i++) {
		if (add_stat(all[i], &u) < 0) {
			if (!i)
				return -1;
			continue;	/* ended meanwhile */
		}
		add_memory(all[i], &u);
		n = add_children(all[i], all, n);
	}
	*ret = u;
	return 0;
}

/* --- watching --- */

static int has_room(const char *dir)
{
	struct statvfs fs;

	return statvfs(dir, &fs) < 0 || (uint64_t)fs.f_bavail * fs.f_frsize >= ROOM_BYTES;
}

/* 1 with the words when a limit is passed. */
static int is_over(struct limits_watch *w, const struct tree_usage *u, struct err *ret)
{
	w->full = w->tasks && u->tasks >= w->tasks ? w->full + 1 : 0;
	if (w->memory_bytes && u->memory_bytes > w->memory_bytes)
		err_set(ret, ERR_LIMIT, 0, "memory: the run used %" PRIu64 " of %" PRIu64 " bytes", u->memory_bytes,
			w->memory_bytes);
	else if (w->cpu_ms && u->cpu_ms > w->cpu_ms)
		err_set(ret, ERR_LIMIT, 0, "processor time: the run used %" PRIu64 " of %" PRIu64 " ms", u->cpu_ms,
			w->cpu_ms);
	else if (w->full >= 2)	/* once may be a moment's peak, which the kernel held */
		err_set(ret, ERR_LIMIT, 0, "processes: the run used all of its %" PRIu64, w->tasks);
	else if (w->had_room && !has_room(w->dir))
		err_set(ret, ERR_LIMIT, 0, "disk: less than %u MiB are left where the workspace is", ROOM_BYTES >> 20);
	else
		return 0;
	return 1;
}

/*
 * What the kernel counted, as usage of those two limits. -1: it counts no more.
 * A fork that was refused says that all were used, if only for a moment.
 */
static int group_usage(struct limits_watch *w, struct tree_usage *u, uint64_t *ret_oom_kills)
{
	struct cgroup_counts c;

	if (cgroup_look(w->group, &c) < 0)
		return -1;
	u->memory_bytes = 0;
	u->tasks = c.refused > w->refused ? w->tasks : c.pids;
	w->refused = c.refused;
	*ret_oom_kills = c.oom_kills;
	return 0;
}

/* Without a limit of its own a run ends so when the machine has none left, or the group above. */
static int out_of_memory(const struct limits_watch *w, struct err *ret)
{
	if (w->memory_bytes)
		err_set(ret, ERR_LIMIT, 0, "memory: the run used all of its %" PRIu64 " bytes", w->memory_bytes);
	else
		err_set(ret, ERR_LIMIT, 0, "memory: the kernel ended the run, as there was none left");
	return 1;
}

static void tell(struct limits_watch *w, const struct err *why)
{
	watch_end(w->timer);
	w->timer = NULL;
	w->over(w->cookie, why);
}

static void sample(void *cookie)
{
	struct limits_watch *w = cookie;
	struct tree_usage u;
	struct err why = { 0 };
	uint64_t oom_kills = 0;

	if (tree_usage(w->root, &u) < 0)
		return;
	if (w->group && group_usage(w, &u, &oom_kills) < 0)
		w->group = NULL;	/* what it does not count it does not hold */
	if ((oom_kills && out_of_memory(w, &why)) || is_over(w, &u, &why))
		tell(w, &why);
}

void limits_leave_to(struct limits_watch *w, const struct cgroup *group)
{
	w->group = group;
}

void limits_last(struct limits_watch *w)
{
	struct cgroup_counts c;
	struct err why = { 0 };

	if (w && w->timer && w->group && !cgroup_look(w->group, &c) && c.oom_kills && out_of_memory(w, &why))
		tell(w, &why);
}

struct limits_watch *limits_watch(struct loop *loop, pid_t root, const struct spec_limits *limits,
				  const char *dir, void (*over)(void *cookie, const struct err *why),
				  void *cookie, struct err *err)
{
	struct limits_watch *w = calloc(1, sizeof(*w));

	if (w) {
		*w = (struct limits_watch){ .root = root, .memory_bytes = limits->memory_bytes,
					    .cpu_ms = (uint64_t)limits->cpu_ms, .dir = dir, .had_room = has_room(dir),
					    .tasks = limits->pids ? limits->pids : LIMITS_DEFAULT_PIDS,
					    .over = over, .cookie = cookie };
		w->timer = loop_timer(loop, SAMPLE_MS, SAMPLE_MS, sample, w);
	}
	if (!w || !w->timer) {
		free(w);
		err_set(err, ERR_NOMEM, 0, "out of memory");
		return NULL;
	}
	return w;
}

void limits_end(struct limits_watch *w)
{
	if (!w)
		return;
	watch_end(w->timer);
	free(w);
}
