#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/path.h"
#include "sandbox/cgroup.h"

#define TEXT_MAX 65536
#define EMPTY_MS 1000		/* for what was killed to be gone */
#define AGAIN_MS 20		/* between two looks, should the kernel not tell */

struct cgroup {
	const struct cgroup_host *host;
	int parent, dir;
	char *path;
	const char *name;	/* in path */
};

/* --- the file system of groups, for real --- */

static int make_dir(int dir, const char *name)
{
	return mkdirat(dir, name, 0755);
}

/* One write(2) is one order. */
static int write_text(int dir, const char *file, const char *text)
{
	OWN(fd) int fd = openat(dir, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

static int remove_dir(int dir, const char *name)
{
	return unlinkat(dir, name, AT_REMOVEDIR);
}

static const struct cgroup_ops kernel_ops = { .make = make_dir, .write = write_text, .remove = remove_dir };
const struct cgroup_host cgroup_here = { .proc = "/proc", .root = "", .ops = &kernel_ops };

/* --- reading --- */

/* The whole of a small file as text, or -1. */
static int read_text(int dir, const char *file, struct buf *ret)
{
	return io_read_file(dir, file, TEXT_MAX, ret, NULL) < 0 || buf_add(ret, "", 1) < 0 ? -1 : 0;
}

/* Is @word in the list of words that @file holds? */
static int has_word(int dir, const char *file, const char *word)
{
	OWN(buf) struct buf text = { 0 };
	size_t len = strlen(word), n;

	if (read_text(dir, file, &text) < 0)
		return 0;
	for (const char *p = text.data + strspn(text.data, " \n"); *p; p += n, p += strspn(p, " \n")) {
		n = strcspn(p, " \n");
		if (n == len && !memcmp(p, word, len))
			return 1;
	}
	return 0;
}

/* The number behind @key in a file of "key number" lines; 0, or -1 if there is none. */
static int read_count(int dir, const char *file, const char *key, uint64_t *ret)
{
	OWN(buf) struct buf text = { 0 };
	size_t len = strlen(key);

	if (read_text(dir, file, &text) < 0)
		return -1;
	for (const char *p = text.data; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (!strncmp(p, key, len) && (!len || p[len] == ' '))
			return sscanf(p + len, "%" SCNu64, ret) == 1 ? 0 : -1;
	return -1;
}

/* --- where we are --- */

struct own_group {
	char *dir;	/* our own group */
	size_t top;	/* length of the part of @dir that is the mount point */
};

static void own_own_group(struct own_group *g)
{
	free(g->dir);
}

/* "0::/a/b" of /proc/self/cgroup is ours: the path, or NULL. */
static char *find_own(const char *text)
{
	const char *line = strncmp(text, "0::", 3) ? strstr(text, "\n0::") : text - 1;

	return line ? strndup(line + 4, strcspn(line + 4, "\n")) : NULL;
}

/* mountinfo writes blanks and backslashes as three octal digits: proc_pid_mountinfo(5). */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		unsigned int n;

		if (*s == '\\' && sscanf(s + 1, "%3o", &n) == 1) {
			*to++ = (char)n;
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* If @line mounts cgroup2 so that @own is in it, the directory; else NULL. */
static int match_mount(const struct cgroup_host *host, const char *line, const char *own, struct own_group *ret)
{
	char top[PATH_MAX], point[PATH_MAX];
	const char *type = strstr(line, " - ");

	if (!type || strncmp(type, " - cgroup2 ", 11) || sscanf(line, "%*s %*s %*s %4095s %4095s", top, point) != 2)
		return 0;
	unescape(top);
	unescape(point);
	if (!path_is_clean(top) || !path_is_clean(point) || !path_under(own, top))
		return 0;
	own += strcmp(top, "/") ? strlen(top) : 0;
	if (asprintf(&ret->dir, "%s%s%s", host->root, point, strcmp(own, "/") ? own : "") < 0) {
		ret->dir = NULL;
		return -1;
	}
	ret->top = strlen(host->root) + strlen(point);
	return 1;
}

static int find_mount(const struct cgroup_host *host, char *mounts, const char *own, struct own_group *ret)
{
	char *save = NULL;
	int r = 0;

	for (char *line = strtok_r(mounts, "\n", &save); line && !r; line = strtok_r(NULL, "\n", &save))
		r = match_mount(host, line, own, ret);
	return r;
}

static int find_group(const struct cgroup_host *host, struct own_group *ret, struct err *err)
{
	OWN(fd) int proc = open(host->proc, O_PATH | O_DIRECTORY | O_CLOEXEC);
	OWN(buf) struct buf groups = { 0 };
	OWN(buf) struct buf mounts = { 0 };
	OWN(mem) char *own = NULL;
	int r;

	if (proc < 0 || read_text(proc, "self/cgroup", &groups) < 0 || read_text(proc, "self/mountinfo", &mounts) < 0)
		return err_set(err, ERR_MISSING, 0, "our own control group cannot be told");
	own = find_own(groups.data);
	if (!own)
		return err_set(err, ERR_MISSING, 0, "this kernel has no cgroup v2");
	/* "/../x": moved out of what our namespace may see. */
	if (!path_is_clean(own))
		return err_set(err, ERR_MISSING, 0, "our own control group '%s' is out of view", own);
	r = find_mount(host, mounts.data, own, ret);
	if (r < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return r ? 0 : err_set(err, ERR_MISSING, 0, "cgroup v2 is not mounted where our own group '%s' is seen", own);
}

/* --- may a group be made there? --- */

static const char *const controllers[] = { "memory", "pids" };

/* @dir passes both controllers on to groups below it, and lets us make one and move a process into it. */
static int check_parent(const char *path, int *ret_dir, struct err *err)
{
	OWN(fd) int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return err_set(err, ERR_MISSING, errno, "cannot open the control group '%s'", path);
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++) {
		if (!has_word(dir, "cgroup.controllers", controllers[i]))
			return err_set(err, ERR_MISSING, 0, "the %s controller is not there in cgroup v2 at '%s'", controllers[i], path);
		if (!has_word(dir, "cgroup.subtree_control", controllers[i]))
			return err_set(err, ERR_MISSING, 0, "the %s controller is not passed on below '%s'", controllers[i], path);
	}
	if (faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) < 0 || faccessat(dir, "cgroup.procs", W_OK, AT_EACCESS) < 0)
		return err_set(err, ERR_MISSING, 0, "the control group '%s' is not delegated to us", path);
	*ret_dir = fd_take(&dir);
	return 0;
}

/* What our own group is held to that a group beside it would not be: NULL if our limits are as narrow. */
static const char *wider_than(const char *own, const struct cgroup_limits *limits)
{
	const uint64_t memory = limits->memory_bytes ? limits->memory_bytes : UINT64_MAX;
	const struct { const char *file; uint64_t ours; } kept[] = {
		{ "memory.max", memory }, { "memory.high", memory },
		{ "memory.swap.max", limits->memory_bytes ? 0 : UINT64_MAX },	/* with a limit no swap at all */
		{ "pids.max", limits->pids ? limits->pids : UINT64_MAX }, { "cpu.max", UINT64_MAX },
	};
	OWN(fd) int dir = open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		uint64_t max;

		/* A file is missing where the controller does not reach, and in the topmost group. */
		if (dir >= 0 && (faccessat(dir, kept[i].file, F_OK, 0) < 0 || has_word(dir, kept[i].file, "max")))
			continue;
		if (dir < 0 || read_count(dir, kept[i].file, "", &max) < 0 || kept[i].ours > max)
			return kept[i].file;
	}
	return NULL;
}

/*
 * Below our own group, or beside it: a group with processes in it, as ours is,
 * cannot pass controllers on (unless it is the topmost one).
 */
static int find_parent(const struct cgroup_host *host, const struct cgroup_limits *limits, char **ret_path, int *ret_dir,
		       struct err *err)
{
	__attribute__((cleanup(own_own_group))) struct own_group own = { 0 };
	struct err below = { 0 }, beside = { 0 };
	const char *wider;
	char *slash;

	if (find_group(host, &own, err) < 0)
		return -1;
	if (check_parent(own.dir, ret_dir, &below) < 0) {
		slash = strrchr(own.dir, '/');
		if ((size_t)(slash - own.dir) < own.top)	/* there is nothing above */
			return err_set(err, ERR_MISSING, 0, "%.240s", below.msg);
		wider = wider_than(own.dir, limits);
		*slash = '\0';
		if (check_parent(own.dir, ret_dir, &beside) < 0)
			return err_set(err, ERR_MISSING, 0, "%.240s; and %.240s", below.msg, beside.msg);
		if (wider) {
			close(*ret_dir);
			return err_set(err, ERR_MISSING, 0, "%.240s; a group beside our own would not be under its %s",
				       below.msg, wider);
		}
	}
	*ret_path = TAKE(own.dir);
	return 0;
}

/* --- making --- */

static int has_swap(const struct cgroup_host *host)
{
	OWN(fd) int proc = open(host->proc, O_PATH | O_DIRECTORY | O_CLOEXEC);
	OWN(buf) struct buf text = { 0 };
	const char *first;

	if (proc < 0 || read_text(proc, "swaps", &text) < 0)
		return errno != ENOENT;
	first = strchr(text.data, '\n');
	return first && first[1];
}

static int set_limit(const struct cgroup *g, const char *file, uint64_t value, struct err *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	if (g->host->ops->write(g->dir, file, text) < 0)
		return err_set(err, ERR_SYS, errno, "cannot write '%s' to '%s/%s'", text, g->path, file);
	return 0;
}

static int set_limits(const struct cgroup *g, const struct cgroup_limits *limits, struct err *err)
{
	if (limits->memory_bytes) {
		if (set_limit(g, "memory.max", limits->memory_bytes, err) < 0)
			return -1;
		/* A kernel that counts no swap has no such file. */
		if ((faccessat(g->dir, "memory.swap.max", F_OK, 0) == 0 || has_swap(g->host)) &&
		    set_limit(g, "memory.swap.max", 0, err) < 0)
			return -1;
	}
	/* Half a tree helps nobody. */
	if (set_limit(g, "memory.oom.group", 1, err) < 0)
		return -1;
	return limits->pids ? set_limit(g, "pids.max", limits->pids, err) : 0;
}

static void cgroup_free(struct cgroup *g)
{
	int saved = errno;

	if (g->parent >= 0)
		close(g->parent);
	if (g->dir >= 0)
		close(g->dir);
	free(g->path);
	free(g);
	errno = saved;
}

/* A struct for group @name in the directory @parent; both are taken, also on failure. */
static struct cgroup *group_new(const struct cgroup_host *host, int parent, char *parent_path, const char *name, struct err *err)
{
	struct cgroup *g = calloc(1, sizeof(*g));
	OWN(mem) char *path = parent_path;

	if (!g || asprintf(&g->path, "%s/%s", path, name) < 0) {
		free(g);
		close(parent);
		err_set(err, ERR_NOMEM, 0, "out of memory");
		return NULL;
	}
	g->host = host;
	g->parent = parent;
	g->dir = -1;
	g->name = path_base(g->path);
	return g;
}

static int open_dir(struct cgroup *g)
{
	g->dir = openat(g->parent, g->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return g->dir < 0 ? -1 : 0;
}

static int fill(struct cgroup *g, const struct cgroup_limits *limits, struct err *err)
{
	if (open_dir(g) < 0)
		return err_set(err, ERR_SYS, errno, "cannot open the control group '%s'", g->path);
	/* Below a threaded group a new one is of no use until somebody decides what it is. */
	if (!has_word(g->dir, "cgroup.type", "domain") || has_word(g->dir, "cgroup.type", "invalid"))
		return err_set(err, ERR_MISSING, 0, "the control group '%s' is not a domain", g->path);
	return set_limits(g, limits, err);
}

int cgroup_make(const struct cgroup_host *host, const char *name, const struct cgroup_limits *limits,
		struct cgroup **ret, struct err *err)
{
	struct cgroup *g;
	char *path;
	int parent;

	if (!*name || strchr(name, '/') || name[0] == '.')
		return err_set(err, ERR_INPUT, 0, "no control group can be called '%s'", name);
	if (find_parent(host, limits, &path, &parent, err) < 0)
		return -1;
	g = group_new(host, parent, path, name, err);
	if (!g)
		return -1;
	if (host->ops->make(g->parent, name) < 0) {
		err_set(err, errno == EACCES || errno == EPERM || errno == EROFS ? ERR_MISSING : ERR_SYS, errno,
			"cannot make the control group '%s'", g->path);
		cgroup_free(g);
		return -1;
	}
	if (fill(g, limits, err) < 0) {
		host->ops->remove(g->parent, g->name);
		cgroup_free(g);
		return -1;
	}
	*ret = g;
	return 0;
}

const char *cgroup_path(const struct cgroup *g)
{
	return g->path;
}

int cgroup_enter(const struct cgroup *g, pid_t pid, struct err *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%d", (int)pid);
	if (g->host->ops->write(g->dir, "cgroup.procs", text) < 0)
		return err_set(err, ERR_SYS, errno, "cannot move process %d to the control group '%s'", (int)pid, g->path);
	return 0;
}

int cgroup_look(const struct cgroup *g, struct cgroup_counts *ret)
{
	struct cgroup_counts c;

	if (read_count(g->dir, "memory.events", "oom_kill", &c.oom_kills) < 0 ||
	    read_count(g->dir, "pids.events", "max", &c.refused) < 0 ||
	    read_count(g->dir, "pids.current", "", &c.pids) < 0)
		return -1;
	*ret = c;
	return 0;
}

/* --- the end --- */

/* Before Linux 5.14 each has to be killed by its number. What it forked meanwhile is found the next time. */
static void kill_each(const struct cgroup *g)
{
	OWN(buf) struct buf text = { 0 };
	char *end;
	long pid;

	if (read_text(g->dir, "cgroup.procs", &text) < 0)
		return;
	for (const char *p = text.data; (pid = strtol(p, &end, 10)) > 0; p = end)
		if (pid != getpid())
			kill((pid_t)pid, SIGKILL);
}

static int is_empty(const struct cgroup *g)
{
	uint64_t populated;

	return read_count(g->dir, "cgroup.events", "populated", &populated) < 0 || !populated;
}

/* Kill until it is empty. The kernel tells of a change in cgroup.events; who cannot hear that looks again. */
static void kill_all(const struct cgroup *g, int64_t until_ms)
{
	OWN(fd) int events = openat(g->dir, "cgroup.events", O_RDONLY | O_CLOEXEC);
	struct pollfd p = { .fd = events, .events = POLLPRI };

	while (!is_empty(g) && clock_mono_ms() < until_ms) {
		if (g->host->ops->write(g->dir, "cgroup.kill", "1") < 0)
			kill_each(g);
		if (is_empty(g))
			return;
		/* A regular file is always ready, with an error in a stand-in: that is no reason to spin. */
		if (poll(&p, 1, AGAIN_MS) != 0 && !(p.revents & POLLPRI))
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

/* The last process may still be on its way out of the group when it counts as empty. */
static int remove_group(const struct cgroup *g, struct err *err)
{
	int64_t until_ms = clock_mono_ms() + EMPTY_MS;

	kill_all(g, until_ms);
	while (g->host->ops->remove(g->parent, g->name) < 0) {
		if (errno == ENOENT)
			return 0;
		if (errno != EBUSY || clock_mono_ms() >= until_ms)
			return err_set(err, ERR_SYS, errno, "cannot remove the control group '%s'", g->path);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		kill_all(g, until_ms);
	}
	return 0;
}

int cgroup_end(struct cgroup *g, struct err *err)
{
	int r;

	if (!g)
		return 0;
	r = remove_group(g, err);
	cgroup_free(g);
	return r;
}

/* 1 if @path lies in a cgroup2 mount: whoever wrote it down, nothing else may be removed. */
static int is_group_path(const struct cgroup_host *host, const char *path)
{
	OWN(fd) int proc = open(host->proc, O_PATH | O_DIRECTORY | O_CLOEXEC);
	OWN(buf) struct buf mounts = { 0 };
	char *save = NULL;

	if (proc < 0 || read_text(proc, "self/mountinfo", &mounts) < 0)
		return 0;
	for (char *line = strtok_r(mounts.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char point[PATH_MAX];
		const char *type = strstr(line, " - "), *rest = path + strlen(host->root);

		if (!type || strncmp(type, " - cgroup2 ", 11) || sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1)
			continue;
		unescape(point);
		if (path_is_clean(point) && path_under(rest, point) && strcmp(rest, point))
			return 1;
	}
	return 0;
}

int cgroup_remove(const struct cgroup_host *host, const char *path, const char *name, struct err *err)
{
	struct cgroup *g;
	char *above;
	int parent;

	if (strncmp(path, host->root, strlen(host->root)) || !path_is_clean(path + strlen(host->root)) ||
	    strcmp(path_base(path), name) || !is_group_path(host, path))
		return err_set(err, ERR_INPUT, 0, "'%s' is not the control group '%s'", path, name);
	above = path_parent(path);
	if (!above)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	parent = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0) {
		free(above);
		return errno == ENOENT ? 0 : err_set(err, ERR_SYS, errno, "cannot open where '%s' is", path);
	}
	g = group_new(host, parent, above, name, err);
	if (!g)
		return -1;
	if (open_dir(g) == 0)
		return cgroup_end(g, err);
	cgroup_free(g);
	return errno == ENOENT ? 0 : err_set(err, ERR_SYS, errno, "cannot open the control group '%s'", path);
}

/* --- the trial --- */

#define TRY_MEMORY (64u << 20)
#define TRY_PIDS 16

/* A child that waits to be killed: by the group's end, or by us. */
static int try_to_enter(const struct cgroup *g, struct err *err)
{
	pid_t pid = fork();
	int r;

	if (pid == 0) {
		alarm(10);
		for (;;)
			pause();
	}
	if (pid < 0)
		return err_set(err, ERR_SYS, errno, "cannot start a child");
	r = cgroup_enter(g, pid, err);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return r;
}

int cgroup_try(const struct cgroup_host *host, struct err *err)
{
	const struct cgroup_limits limits = { .memory_bytes = TRY_MEMORY, .pids = TRY_PIDS };
	struct cgroup_counts counts;
	struct cgroup *g;
	char name[40];
	int r;

	snprintf(name, sizeof(name), "agate-probe-%d", (int)getpid());
	if (cgroup_make(host, name, &limits, &g, err) < 0)
		return -1;
	r = try_to_enter(g, err);
	if (!r && cgroup_look(g, &counts) < 0)
		r = err_set(err, ERR_MISSING, 0, "the control group '%s' does not tell what it counts", cgroup_path(g));
	return cgroup_end(g, r ? NULL : err) < 0 || r ? -1 : 0;
}
