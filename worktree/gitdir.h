/*
 * worktree/gitdir.h - a private git directory that borrows everything and shares nothing
 *
 * Own HEAD, index, configuration and a copy of all references as packed-refs;
 * objects through alternates at guest paths (worktree/objects.h). Inside, git
 * works as in the source; outside, nothing of it is ever obeyed.
 */
#ifndef WORKTREE_GITDIR_H
#define WORKTREE_GITDIR_H

#include "base/strv.h"
#include "worktree/repo.h"

struct err;
struct node;

struct gitdir_params {
	const struct repo *repo;	/* the source; has a gitdir */
	int out_fd;			/* an empty directory to fill */
	const char *run_id;		/* HEAD becomes branch "agate/<run_id>"; NULL: HEAD stays what it is */
	const char *worktree;		/* core.worktree, for a submodule; NULL: the place decides */
	struct node *tree;		/* the working tree's copy, for the index: nodes whose content
					 * git knows get their oid; NULL: the index is taken as it is */
	struct strv *objects;		/* host object directories, added to */
	struct strv *notes;		/* what was left out, a line each */
};

/**
 * gitdir_check() - Can the state @repo is in be carried?
 *
 * Return: 0, or -1 with ERR_INPUT: a rebase, am, bisect or sequence is going on
 */
int gitdir_check(const struct repo *repo, struct err *err);

/**
 * gitdir_make() - Fill @params->out_fd
 * @ret_branch:	the run's branch, short; caller's to free(). NULL stays NULL
 *		without a run_id. Where the source has a branch called "agate",
 *		it is "agate-<run_id>"
 */
int gitdir_make(const struct gitdir_params *params, char **ret_branch, struct err *err);

/**
 * gitdir_modules() - The same for each submodule's checkout in a copied tree
 * @params:	as used for the repository around; tree and out_fd are those
 * @ws_fd:	the copy, whose `.git` files are set right
 * @nested:	paths of all `.git` below the root
 *
 * Only checkouts whose repository lies in the source's own git directory are
 * carried; other pointers stay as they are and lead nowhere inside.
 */
int gitdir_modules(const struct gitdir_params *params, int ws_fd, const struct strv *nested,
		   struct err *err);

#endif
