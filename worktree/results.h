/*
 * worktree/results.h - the commits a run made, read without trusting its git directory
 *
 * References are parsed by us. New objects are first brought into a directory
 * of our own: loose files as they are, packs indexed anew, nothing else, so no
 * alternates, index, graph or link a command planted is ever followed. Each
 * object is hashed when it is read.
 */
#ifndef WORKTREE_RESULTS_H
#define WORKTREE_RESULTS_H

#include "worktree/change.h"

struct err;
struct git_odb;
struct workspace;

struct results {
	const struct workspace *ws;	/* borrowed */
	int git_fd;			/* the private git directory */
	char tip[REPO_OID_SIZE];	/* "" when there is no commit */
	char *head_ref;			/* NULL when detached */
	struct git_odb *source;		/* what the original has */
	struct git_odb *all;		/* and what the run added; NULL when it added nothing that counts */
	char *quarantine;		/* our directory, removed by results_done(); NULL */
	uint8_t (*wanted)[20];		/* objects to import, those that others need last; from results_check() */
	size_t n_wanted;
};

/* results_open() - read the references and, if the tip is new, bring the objects in */
int results_open(const struct workspace *ws, struct results *ret, struct err *err);
void results_done(struct results *r);

/* results_commits() - fill commits, n_commits and commits_cut of @set */
int results_commits(struct results *r, struct change_set *set, struct err *err);

/**
 * results_check() - Walk what an import would bring and remember it
 * @refused:	gets a line for each thing no repository should hold: `.git` in a tree
 *
 * Return: 0, or -1 with @err: ERR_INPUT when an object is missing or damaged
 */
int results_check(struct results *r, struct strv *refused, struct err *err);

/**
 * results_import() - Write the objects results_check() found into the original
 *		and point refs/heads/<branch> at the tip
 * @ret_ref:	the full name; caller's to free()
 *
 * The branch may be new or move forward; ERR_BUSY when it went elsewhere or is
 * checked out. Nothing to do when the tip is the base: *ret_ref stays NULL.
 */
int results_import(struct results *r, char **ret_ref, struct err *err);

static inline void own_results(struct results *r)
{
	results_done(r);
}

#endif
