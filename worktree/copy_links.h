/*
 * worktree/copy_links.h - which files of a tree are the same file
 *
 * The first name met is copied; the others become hard links to it once every
 * name exists. Not locked: the caller's lock guards it while threads run.
 */
#ifndef WORKTREE_COPY_LINKS_H
#define WORKTREE_COPY_LINKS_H

#include <stddef.h>
#include <sys/stat.h>

struct copy_params;
struct copy_result;
struct err;
struct link_name;
struct node;

struct copy_links {
	struct link_name *v;	/* every name met, in order */
	size_t n, cap;
	size_t *slot;		/* hash of (device, inode) to 1 + index of the first name */
	size_t n_slots, n_used;
};

/* copy_links_see() - 1: the first name of its file, copy it; 0: will be a link; -1 out of memory */
int copy_links_see(struct copy_links *l, const struct stat *st, struct node *n);

/* copy_links_forget() - the first name @n could not be copied after all */
void copy_links_forget(struct copy_links *l, const struct node *n);

/* copy_links_make() - make all links and bring the nodes' stamps up to date */
int copy_links_make(struct copy_links *l, const struct copy_params *params,
		    struct copy_result *result, struct err *err);

void copy_links_done(struct copy_links *l);

#endif
