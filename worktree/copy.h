/*
 * worktree/copy.h - a directory tree copied by two threads
 *
 * Files, directories, links, FIFOs; hard links within the tree stay hard
 * links; permission bits (set-id bits of files dropped), times to the
 * nanosecond, user.* attributes, holes. Sockets and device nodes are left out
 * with a note, and so is what cannot be read or vanishes. The copy belongs to
 * whoever runs this. The source is only read.
 */
#ifndef WORKTREE_COPY_H
#define WORKTREE_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strv.h"
#include "worktree/copy_file.h"

struct err;
struct node;

struct file_id {
	dev_t dev;
	ino_t ino;
};

struct copy_params {
	int src_fd;		/* the root to read, a directory */
	int dst_fd;		/* the root to fill: empty but for what skip_git leaves room for */
	int skip_git;		/* leave out `.git` at the root */
	enum copy_sharing sharing;
	const struct file_id *exclude;	/* directories left out, with all below */
	size_t n_exclude;
};

struct copy_result {
	struct node *root;	/* what was made, with stamps of both sides */
	uint64_t files;		/* entries made, directories but the root included */
	uint64_t bytes;		/* of content */
	uint64_t cloned;	/* files whose blocks are shared */
	struct strv nested;	/* paths of `.git` below the root, sorted */
	struct strv notes;
	uint64_t notes_dropped;
};

#define COPY_MAX_NOTES 200

/**
 * copy_tree() - Fill @dst_fd with what is below @src_fd
 * @err:	ERR_LIMIT when the disk would get too full, ERR_MISSING when blocks
 *		must be shared and cannot, ERR_SYS, ERR_NOMEM
 *
 * On failure what was made so far is the caller's to remove.
 * Return: 0 with @ret the caller's to copy_result_done(), or -1, @ret untouched
 */
int copy_tree(const struct copy_params *params, struct copy_result *ret, struct err *err);

void copy_result_done(struct copy_result *r);

static inline void own_copy_result(struct copy_result *r)
{
	copy_result_done(r);
}

#endif
