/*
 * worktree/tree.h - a directory tree in memory, and its file, the manifest
 *
 * A node remembers how an entry looked in the copy right after copying and how
 * the original looked then. A regular file's change time cannot be set back by
 * a command, so equal stamps mean equal content. Children are sorted by name
 * as bytes. Nothing here recurses: depth is bounded by memory alone.
 */
#ifndef WORKTREE_TREE_H
#define WORKTREE_TREE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/strv.h"

struct buf;
struct err;

/* What stat(2) says, as far as it tells one content from another. */
struct stamp {
	int64_t mtime_ns;	/* since 1970 */
	int64_t ctime_ns;
	uint64_t size;
	uint64_t ino;
	uint32_t dev;		/* as git's index has it: the low 32 bits */
	uint32_t uid;
	uint32_t gid;
	uint32_t mode;		/* with the type bits */
};

#define NODE_UNREAD 2u		/* a directory tree_scan() could not read: what is in it is not known */
#define NODE_HAS_OID 1u		/* oid is the git blob that the original held, known from its index */

struct node {
	struct node *parent;	/* NULL for the root */
	struct node **child;
	size_t n_child;
	struct stamp copy;
	struct stamp orig;
	uint32_t flags;
	uint32_t index;		/* scratch of manifest_save() */
	uint8_t oid[20];
	char name[];		/* "" for the root */
};

struct stamp stamp_of(const struct stat *st);
int stamp_same(const struct stamp *a, const struct stamp *b);	/* all but mode, owner and device */

struct node *node_new(struct node *parent, const char *name);	/* not yet among its parent's children; NULL: no memory */
int node_append(struct node *dir, struct node *child);	/* behind all others, sort afterwards; 0 or -1 out of memory */
void tree_free(struct node *root);	/* NULL is fine */

/* node_sort() - put children in order; of equal names one is kept, @drop gets the others to free */
void node_sort(struct node *dir, void (*drop)(void *cookie, struct node *n), void *cookie);

/* node_path() - @n's path from the root, "" for it; replaces what @out held. 0 or -1 out of memory */
int node_path(const struct node *n, struct buf *out);

struct node *node_child(const struct node *dir, const char *name, size_t len);	/* NULL: none */
struct node *tree_find(struct node *root, const char *path, size_t len);	/* NULL: none */
int node_insert(struct node *dir, struct node *child);	/* in order; 0 or -1 out of memory */
void node_remove(struct node *n);	/* with all below; not for a root */

/* node_next() - the next in preorder below @top, or NULL; start with @top itself */
struct node *node_next(const struct node *top, const struct node *n);
/* node_skip() - the same, leaving out what is below @n */
struct node *node_skip(const struct node *top, const struct node *n);

/**
 * tree_scan() - Read a directory tree from the disk, looking at every entry once
 * @dirfd:	its root
 * @skip_git:	leave out `.git` at the root
 * @notes:	gets a line for each directory that cannot be read; may be NULL
 * @ret:	on success the root, stamps in .copy, the caller's to tree_free()
 */
int tree_scan(int dirfd, int skip_git, struct strv *notes, struct node **ret, struct err *err);

/*
 * manifest_save() - a tree as the file @name in @dirfd, which must be new or, with
 * @replace, is exchanged as a whole and synced
 * manifest_load() - the tree again; ERR_INPUT when damaged
 */
int manifest_save(struct node *root, int dirfd, const char *name, int replace, struct err *err);
int manifest_load(int dirfd, const char *name, struct node **ret, struct err *err);

static inline void own_tree(struct node **root)
{
	tree_free(*root);
}

#endif
