/*
 * worktree/workspace.h - a run's private working copy and git directory
 *
 * Under a run's own directory:
 *
 *	ws/		the complete tree of the source: tracked, dirty, untracked and
 *			ignored files; an empty ws/.git waits for a mount
 *	git/		a synthetic git directory: own HEAD, refs, index and config,
 *			objects borrowed through alternates at guest paths
 *	manifest	what every file looked like when the copy was made
 *	workspace.json	written last: without it the workspace was never finished
 *
 * Inside the sandbox ws/ is bound at the original's path and git/ at its
 * `.git`, so absolute paths hit the copy. The original is only read. There is
 * no falling back to less: what cannot be made so fails.
 */
#ifndef WORKTREE_WORKSPACE_H
#define WORKTREE_WORKSPACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/strv.h"
#include "worktree/repo.h"

struct err;

enum workspace_strategy {
	WORKSPACE_AUTO,		/* share blocks where the file system can, copy elsewhere, file by file */
	WORKSPACE_COPY,		/* own bytes, never shared by our asking */
	WORKSPACE_REFLINK,	/* share blocks or fail */
	WORKSPACE_IN_PLACE,	/* no copy: the workspace is the directory itself */
	WORKSPACE_SNAPSHOT,	/* these three are refused for now, in plain words */
	WORKSPACE_OVERLAY,
	WORKSPACE_WORKTREE,
	WORKSPACE_NUM
};
const char *workspace_strategy_name(enum workspace_strategy s);
int workspace_strategy_parse(const char *word, enum workspace_strategy *ret);	/* 0 or -1 */

struct workspace_params {
	const char *source;	/* any directory; the repository around it is found */
	const struct repo *repo;	/* what was found there a moment ago; NULL: look for it */
	const char *run_id;	/* [A-Za-z0-9._-], becomes the branch's name: "agate/<run_id>" */
	const char *run_dir;	/* exists, absolute, private to this run (0700), outside every sandbox */
	enum workspace_strategy strategy;
	const struct strv *exclude;	/* host directories never copied though they lie below the
					 * source: the state directory; NULL: none (run_dir is always left out) */
};

/* A host path to be bound read-only at a guest path, for git's sake. */
struct workspace_bind {
	char *host;
	char *guest;
};

struct workspace {
	char *run_id;
	char *run_dir;
	char *path;		/* host path of the tree: run_dir/ws, or the original when in place */
	char *original;		/* the source's root; also where `path` is bound inside */
	char *source_gitdir;	/* of the original; NULL without a repository */
	char *source_common_dir;
	char *gitdir;		/* host path of the private git directory, to be bound writable at
				 * guest_gitdir; NULL without a repository and in place */
	char *guest_gitdir;	/* original + "/.git"; NULL as above */
	enum workspace_strategy strategy;	/* what was really done: COPY, REFLINK or IN_PLACE */
	char *reason;		/* why that one, a line for people */
	int64_t ms;		/* how long making it took */
	uint64_t files;		/* entries made, directories included */
	uint64_t bytes;		/* of file content, shared or copied */
	uint64_t cloned;	/* files whose blocks are shared */
	enum head_kind head;	/* of the source when the run began */
	char *source_branch;	/* the user's branch; NULL when detached or none */
	char *branch;		/* the run's: "agate/<run>"; NULL without a repository */
	char base[REPO_OID_SIZE];	/* where the branch starts; "" when unborn */
	struct workspace_bind *binds;	/* object directories at /run/agate/objects/N, in mount order;
					 * mount them before the workspace, which may hide their host paths */
	size_t n_binds;
	struct strv objects;	/* host object directories alone, what reading results needs */
	struct strv nested;	/* each `.git` (directory or file) below the root, relative: "vendor/x/.git" */
	struct strv notes;	/* what could not be carried, a line each: sockets, unreadable files;
				 * may hold any bytes of a name */
	uint64_t notes_dropped;	/* more notes than were kept */
};

/**
 * workspace_create() - Make a run's workspace
 * @params:	what to copy where; borrowed
 * @ret:	on success the caller's to workspace_done()
 * @err:	ERR_USAGE (strategy, ids), ERR_NOTFOUND, ERR_INPUT (a repository that
 *		cannot be carried: see repo_find(); or one in the middle of a
 *		rebase, am, bisect or a sequence of picks), ERR_LIMIT (disk too
 *		full), ERR_SYS, ERR_NOMEM
 *
 * A transaction: built under `.tmp` names, renamed, workspace.json last. On
 * failure everything made is removed again. A merge, cherry-pick or revert in
 * progress is carried. Files that change or vanish meanwhile are noted, not
 * fatal. Uses two threads, both gone on return.
 *
 * Return: 0, or -1 with @err set, @ret untouched
 */
int workspace_create(const struct workspace_params *params, struct workspace *ret, struct err *err);

/**
 * workspace_open() - Load what workspace_create() left in @run_dir
 * @err:	ERR_NOTFOUND when it was never finished, ERR_INPUT when damaged
 */
int workspace_open(const char *run_dir, struct workspace *ret, struct err *err);

/**
 * workspace_discard() - Remove @run_dir and all below it
 *
 * Renamed aside first, so that nobody finds half of it; then emptied without
 * following a link or crossing a mount, opening up read-only directories on
 * the way. Works on unfinished workspaces. One that is not there is fine. An
 * in-place run's directory lies elsewhere and is not touched.
 */
int workspace_discard(const char *run_dir, struct err *err);

void workspace_done(struct workspace *ws);	/* frees the record, not the files; zeroed is fine */

static inline void own_workspace(struct workspace *ws)
{
	workspace_done(ws);
}

#endif
