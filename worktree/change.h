/*
 * worktree/change.h - what a run changed, and bringing it into the original
 *
 * "Changed" means: against the source as it was when the workspace was made
 * (or as the last change_apply() left it). The lists are plain data, so gates
 * may judge them. All that is read here was in a command's hands: nothing of
 * it is executed, no link is followed, no configuration, hook, attribute or
 * alternate of the workspace's git directory is obeyed.
 */
#ifndef WORKTREE_CHANGE_H
#define WORKTREE_CHANGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strv.h"
#include "worktree/repo.h"

struct buf;
struct err;
struct workspace;

enum change_kind {
	CHANGE_ADDED,
	CHANGE_MODIFIED,	/* content (or a link's target), perhaps mode too */
	CHANGE_DELETED,
	CHANGE_MODE,		/* permission bits only */
	CHANGE_TYPE,		/* a file became a directory, a link, ... */
	CHANGE_NUM
};
const char *change_kind_name(enum change_kind kind);	/* "added", "modified", "deleted", "mode", "type" */

struct change {
	enum change_kind kind;
	char *path;		/* relative to the root; any bytes but NUL */
	mode_t old_mode;	/* with the type bits, stat(2); 0 where it was not there */
	mode_t new_mode;	/* 0 where it is gone */
	int64_t old_size;	/* bytes; 0 for other than files and links */
	int64_t new_size;
};

/* A commit the original does not have. Texts are the command's: mask before showing. */
struct change_commit {
	char oid[REPO_OID_SIZE];
	char *author;		/* "Name <mail>" */
	char *subject;		/* first line of the message */
	int64_t time_s;		/* author's time, seconds since 1970 */
	unsigned int parents;
};

struct change_set {
	struct change *v;	/* sorted by path as bytes, parents before children */
	size_t n;
	struct strv git_metadata;	/* paths with a `.git` part that differ: told, never applied */
	struct strv notes;	/* what could not be looked at, a line each */
	char tip[REPO_OID_SIZE];	/* what commits ends with: the run's branch, or HEAD where
					 * only that moved; "" without a repository or commit */
	char *head_ref;		/* where HEAD is now: "refs/heads/..."; NULL when detached or none */
	struct change_commit *commits;	/* from the tip down, newest first, at most CHANGE_MAX_COMMITS */
	size_t n_commits;
	int commits_cut;	/* there are more */
	char *commits_problem;	/* why commits cannot be read, in one line; NULL: they could. Then
				 * change_apply() refuses, for it would lose them */
};

#define CHANGE_MAX_COMMITS 10000

/**
 * change_collect() - List what a run changed
 * @ws:		a finished workspace; the run may still be going on
 * @ret:	on success the caller's to change_set_done()
 * @err:	ERR_USAGE (it worked in place: nothing to compare with), ERR_INPUT
 *		(manifest damaged), ERR_LIMIT, ERR_SYS, ERR_NOMEM
 *
 * A file whose stat data is as the copy left it is unchanged. Where they
 * differ the content is compared, as long as the original still has it.
 */
int change_collect(const struct workspace *ws, struct change_set *ret, struct err *err);

/**
 * change_read() - A changed file's (or link's) content as the run left it
 * @path:	relative, from a change
 * @max:	bytes; more is ERR_LIMIT
 */
int change_read(const struct workspace *ws, const char *path, size_t max, struct buf *out,
		struct err *err);

/**
 * change_diff() - The changes as a unified diff, as git prints one
 * @out:	appended to; its .max bounds the whole (ERR_LIMIT)
 *
 * `git apply` takes it as far as it is text: binary and very large files get
 * one line, and so do those whose old content nobody knows any more, because
 * the original has moved on and git does not have it. Content is the
 * command's: mask control bytes before a terminal sees them.
 */
int change_diff(const struct workspace *ws, const struct change_set *set, struct buf *out,
		struct err *err);

struct apply_result {
	int is_applied;		/* 0: refused as a whole, nothing was written; the lists say why */
	size_t n_applied;	/* paths brought over */
	size_t n_same;		/* paths the original already had so */
	struct strv conflicts;	/* paths that changed in the original since the run began */
	struct strv refused;	/* "path: reason": links that leave the tree, `.git` parts in commits */
	struct strv skipped;	/* "path: reason": FIFOs and sockets, not brought over */
	char *ref;		/* "refs/heads/agate/<run>" made or moved; NULL without new commits */
	size_t n_objects;	/* imported into the original's object store */
};

/**
 * change_apply() - Bring a run's changes into the original
 * @set:	from change_collect() on the same workspace
 * @ret:	filled also on failure (n_applied says how far it came); the
 *		caller's to apply_result_done()
 *
 * All or none is decided before the first write: one conflict or refusal and
 * nothing is written. Files are replaced by rename beneath a descriptor of the
 * original's root, never through a link, never with a `.git` part. The run's
 * new commits come as re-hashed objects and the branch refs/heads/agate/<run>.
 * The original's index is left alone. What was applied becomes the state later
 * calls compare with, so a run that goes on can be applied again.
 *
 * Return: 0 (also when refused), or -1 with @err set
 */
int change_apply(const struct workspace *ws, const struct change_set *set,
		 struct apply_result *ret, struct err *err);

void change_set_done(struct change_set *set);
void apply_result_done(struct apply_result *r);

static inline void own_change_set(struct change_set *set)
{
	change_set_done(set);
}

static inline void own_apply_result(struct apply_result *r)
{
	apply_result_done(r);
}

#endif
