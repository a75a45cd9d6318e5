/*
 * worktree/repo.h - which repository a directory belongs to, as plain facts
 *
 * Read through libgit2, which runs none of a repository's programs (hooks,
 * filters, fsmonitor), and nothing is written, not even an index refresh. The
 * environment (GIT_DIR and kin) is not asked: the disk alone decides.
 */
#ifndef WORKTREE_REPO_H
#define WORKTREE_REPO_H

struct err;

#define REPO_OID_SIZE 41	/* 40 hex digits of SHA-1 and the NUL */

enum head_kind {
	HEAD_NONE,	/* no repository */
	HEAD_BRANCH,	/* on a branch that has a commit */
	HEAD_DETACHED,	/* on a commit, no branch */
	HEAD_UNBORN,	/* on a branch without a commit yet */
	HEAD_NUM
};
const char *head_kind_name(enum head_kind kind);	/* "none", "branch", "detached", "unborn" */

/* All paths are clean, absolute and free of links. */
struct repo {
	char *root;		/* top of the working tree; the directory itself where there is no repository */
	char *gitdir;		/* holds HEAD and index; NULL: no repository */
	char *common_dir;	/* holds objects, refs, config: differs from gitdir in a linked worktree */
	enum head_kind head;
	char *branch;		/* "main"; NULL unless BRANCH or UNBORN */
	char base[REPO_OID_SIZE];	/* the commit at HEAD; "" when there is none */
	int is_linked;		/* root/.git is a file: a linked worktree or a submodule's checkout */
	struct git_repository *opened;	/* libgit2's own, for repo_identity(); NULL: it is opened again */
};

/**
 * repo_find() - Find the repository around a directory
 * @dir:	any path to an existing directory, relative ones to the cwd
 * @ret:	on success the facts, the caller's to repo_done()
 * @err:	ERR_NOTFOUND (no such directory), ERR_INPUT (a repository that
 *		cannot be used, with the reason: bare, SHA-256, reftable,
 *		core.worktree pointing elsewhere, broken), ERR_SYS, ERR_NOMEM
 *
 * Looks upwards like git: stops at a file system's edge, and takes a parent's
 * repository only from the same owner (or as root), so nobody else's
 * `/tmp/.git` decides what gets copied. No repository is not an error: then
 * @ret has the directory as root and a NULL gitdir.
 *
 * Return: 0, or -1 with @err set, @ret untouched
 */
int repo_find(const char *dir, struct repo *ret, struct err *err);

/* repo_copy() - the same facts once more, the caller's to repo_done(); -1 out of memory, @ret untouched */
int repo_copy(const struct repo *repo, struct repo *ret);

/* repo_base() - the commit at HEAD now, "" when unborn; 0, or -1 with @err */
int repo_base(const struct repo *repo, char ret[REPO_OID_SIZE], struct err *err);

/**
 * repo_identity() - Who the user is to git
 * @repo:	facts from repo_find()
 * @ret_name, @ret_email: strings of the caller's to free(); NULL where nothing says
 *
 * From the repository's configuration, then the user's, then the system's.
 * Return: 0, or -1 out of memory
 */
int repo_identity(const struct repo *repo, char **ret_name, char **ret_email, struct err *err);

void repo_done(struct repo *repo);	/* a zeroed one is fine */

static inline void own_repo(struct repo *repo)
{
	repo_done(repo);
}

#endif
