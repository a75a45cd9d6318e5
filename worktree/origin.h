/*
 * worktree/origin.h - what the original held when the run began
 *
 * The copy's manifest says how each file of the original looked. As long as it
 * still looks so, its content is the old content; where it does not, git may
 * still have it as a blob.
 */
#ifndef WORKTREE_ORIGIN_H
#define WORKTREE_ORIGIN_H

#include <stddef.h>

struct buf;
struct err;
struct git_odb;
struct node;
struct workspace;

struct origin {
	const struct workspace *ws;	/* borrowed */
	int root_fd;			/* of the original */
	struct git_odb *odb;		/* opened when first needed */
};

int origin_open(const struct workspace *ws, struct origin *ret, struct err *err);
void origin_done(struct origin *o);

/**
 * origin_same() - Does a file or link hold what the original held?
 * @n:		from the manifest; a file or a link
 * @path:	n's
 * @dirfd, @name: the file to compare, of the same type as @n
 *
 * Return: 1 yes; 0 no, or nobody knows any more; -1 @err
 */
int origin_same(struct origin *o, const struct node *n, const char *path, int dirfd,
		const char *name, struct err *err);

/**
 * origin_read() - The old content
 * @out:	appended to; a link's target for a link
 *
 * Return: 1; 0 when nobody knows it any more; -1 @err (ERR_LIMIT over @max bytes)
 */
int origin_read(struct origin *o, const struct node *n, const char *path, size_t max,
		struct buf *out, struct err *err);

/*
 * origin_unmoved() - 1 if the original's entry at @path still looks as @n
 * remembers it. Its change time does not count: a link made, an owner changed
 * is no new content, and here nobody wants to deceive.
 */
int origin_unmoved(const struct origin *o, const struct node *n, const char *path);

static inline void own_origin(struct origin *o)
{
	origin_done(o);
}

#endif
