/*
 * worktree/copy_file.h - the bytes and attributes of one file, the cheapest way that works
 *
 * Blocks are shared (FICLONE) where the file system can and the caller wants,
 * else copied by the kernel (copy_file_range), else read and written. Holes
 * stay holes.
 */
#ifndef WORKTREE_COPY_FILE_H
#define WORKTREE_COPY_FILE_H

#include <stdatomic.h>
#include <sys/stat.h>

enum copy_sharing {
	COPY_MAY_SHARE,
	COPY_MUST_SHARE,	/* ENOTSUP where blocks cannot be shared */
	COPY_NO_SHARE,
};

/* What was learnt about the pair of file systems; zeroed at first, shared by threads. */
struct copy_ways {
	enum copy_sharing sharing;
	dev_t dev;		/* where the verdicts below hold */
	atomic_int no_clone;
	atomic_int no_range;
	atomic_int no_xattr;
};

/**
 * copy_data() - Make @dst hold what @src holds
 * @st:		fstat(2) of @src; no more than its size is copied, so a file
 *		that grows meanwhile cannot keep us
 * @dst:	empty, open for writing
 * @ret_cloned:	1 if blocks are shared
 *
 * Return: 0, or -1 and errno
 */
int copy_data(struct copy_ways *ways, int src, const struct stat *st, int dst, int *ret_cloned);

/* copy_xattrs() - the user.* attributes; those that cannot be set are left out */
void copy_xattrs(struct copy_ways *ways, int src, int dst);

#endif
