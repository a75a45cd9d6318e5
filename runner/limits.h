/*
 * runner/limits.h - a run's tree is watched for what rlimits cannot hold
 *
 * rlimits hold a process, or a user's processes as a whole; this holds the
 * tree: every few hundred milliseconds its memory, processor time, processes
 * and the room left on disk are added up, and the first limit that is passed
 * is told, once. This holds everywhere, a moment late. Where the run has a
 * control group, the kernel holds memory and processes at once, and what is left
 * here is to tell that it did, processor time and the disk.
 */
#ifndef RUNNER_LIMITS_H
#define RUNNER_LIMITS_H

#include <stdint.h>
#include <sys/types.h>

struct cgroup;
struct err;
struct limits_watch;
struct loop;
struct spec_limits;

/* Processes and threads of a run that names no limit: enough for a build, no fork bomb. */
#define LIMITS_DEFAULT_PIDS 4096

/* What a tree uses. */
struct tree_usage {
	uint64_t memory_bytes;	/* resident and its own: what files share is not counted */
	uint64_t cpu_ms;	/* of all that live and of those they waited for */
	uint64_t tasks;		/* processes and their threads */
};

/* tree_usage() - add up @root and all below it; 0, or -1 when @root is gone */
int tree_usage(pid_t root, struct tree_usage *ret);

/**
 * limits_watch() - Watch the tree below @root
 * @dir:	the run's directory: the file system it is on must keep some room
 * @over:	called at most once, with the limit that was passed (ERR_LIMIT)
 *
 * Return: the watch, or NULL with @err
 */
struct limits_watch *limits_watch(struct loop *loop, pid_t root, const struct spec_limits *limits,
				  const char *dir, void (*over)(void *cookie, const struct err *why),
				  void *cookie, struct err *err);
/*
 * limits_leave_to() - memory and processes are held by @group, borrowed until limits_end(). Should its
 * controllers be taken away, they are watched here again.
 */
void limits_leave_to(struct limits_watch *w, const struct cgroup *group);
/* limits_last() - the tree is gone: what did the kernel count? Calls @over if that is why. NULL is fine */
void limits_last(struct limits_watch *w);
void limits_end(struct limits_watch *w);	/* NULL is fine */

#endif
