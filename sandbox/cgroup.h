/*
 * sandbox/cgroup.h - one control group (cgroup v2) for one run, where they are delegated
 *
 * The kernel then holds memory and processes of the whole tree, exactly and at
 * once; cgroups(7). The group is made below our own, or beside it, wherever the
 * memory and pids controllers are passed on and we may write. Nothing of what
 * is there already is changed: no controller is switched on, nobody is moved
 * but the process that is named. Where there is no such place the reason is
 * told, and runner/limits.h watches instead.
 *
 * Both "agate doctor" and the start of a run go through cgroup_make().
 */
#ifndef SANDBOX_CGROUP_H
#define SANDBOX_CGROUP_H

#include <stdint.h>
#include <sys/types.h>

struct err;
struct cgroup;

/* What is done in the file system of groups; each 0, or -1 and errno. Tests put their own in. */
struct cgroup_ops {
	int (*make)(int dir, const char *name);
	int (*write)(int dir, const char *file, const char *text);
	int (*remove)(int dir, const char *name);
};

struct cgroup_host {
	const char *proc;	/* where procfs is mounted */
	const char *root;	/* stands before each mount point of mountinfo; "" but in tests */
	const struct cgroup_ops *ops;
};

extern const struct cgroup_host cgroup_here;

struct cgroup_limits {
	uint64_t memory_bytes;	/* swap included; 0: none */
	uint64_t pids;		/* processes and threads; 0: none */
};

struct cgroup_counts {
	uint64_t oom_kills;	/* processes that ended for want of memory */
	uint64_t refused;	/* forks that the limit did not allow */
	uint64_t pids;		/* that live now */
};

/**
 * cgroup_make() - Make an empty group with limits
 * @name:	of the new directory; must not exist yet
 *
 * Half a group is none: what fails on the way is undone.
 * Return: 0, or -1 with @err: ERR_MISSING where this host has no place for
 * one, and why; else something went wrong that should not
 */
int cgroup_make(const struct cgroup_host *host, const char *name, const struct cgroup_limits *limits,
		struct cgroup **ret, struct err *err);

/* cgroup_path() - its directory, absolute; borrowed */
const char *cgroup_path(const struct cgroup *g);

/* cgroup_enter() - move process @pid, all its threads and its future children in; 0, or -1 with @err */
int cgroup_enter(const struct cgroup *g, pid_t pid, struct err *err);

/* cgroup_look() - what the kernel counted; 0, or -1: a controller was taken away, and its limit with it */
int cgroup_look(const struct cgroup *g, struct cgroup_counts *ret);

/**
 * cgroup_end() - Kill whoever is in it, wait until it is empty, remove it
 * @g:	freed in any case; NULL is fine
 *
 * Takes a second at most. Return: 0, or -1 with @err: it is still there
 */
int cgroup_end(struct cgroup *g, struct err *err);

/**
 * cgroup_remove() - The same for a group that a run which is gone left behind
 * @path:	of cgroup_path(); one that is gone already is fine
 * @name:	what it must be called: nothing else is touched
 */
int cgroup_remove(const struct cgroup_host *host, const char *path, const char *name, struct err *err);

/* cgroup_try() - make one with both limits, move a child of ours in, and remove it; 0, or -1 with @err */
int cgroup_try(const struct cgroup_host *host, struct err *err);

#endif
