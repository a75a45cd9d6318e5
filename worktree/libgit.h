/*
 * worktree/libgit.h - libgit2 as this folder uses it
 *
 * Started at the first use, with everything off that reaches beyond the paths
 * it is given: no search for system and user configuration, no check of who
 * owns a repository (nothing of one is ever executed here).
 */
#ifndef WORKTREE_LIBGIT_H
#define WORKTREE_LIBGIT_H

#include <git2.h>

#include "base/err.h"

struct repo;

int libgit_ready(struct err *err);	/* 0, or -1 with @err */

/* libgit_fail() - err_set() with libgit2's own words behind it; always -1 */
int libgit_fail(struct err *err, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * libgit_open() - Open the repository repo_find() found, to look at it
 */
int libgit_open(const struct repo *repo, git_repository **ret, struct err *err);

enum config_scope {
	CONFIG_REPO,	/* the repository's own files */
	CONFIG_USER,	/* the user's and the system's */
	CONFIG_ALL,
};

/* libgit_config() - configuration as git would read it, includes followed */
int libgit_config(const struct repo *repo, git_repository *lg, enum config_scope scope,
		  git_config **ret, struct err *err);

#define OWN_LIBGIT(type) \
	static inline void own_git_##type(git_##type **p) \
	{ \
		git_##type##_free(*p); \
	}
OWN_LIBGIT(commit)
OWN_LIBGIT(config)
OWN_LIBGIT(config_iterator)
OWN_LIBGIT(indexer)
OWN_LIBGIT(odb)
OWN_LIBGIT(odb_object)
OWN_LIBGIT(patch)
OWN_LIBGIT(reference)
OWN_LIBGIT(reference_iterator)
OWN_LIBGIT(repository)
OWN_LIBGIT(tree)
#undef OWN_LIBGIT

static inline void own_git_buf(git_buf *b)
{
	git_buf_dispose(b);
}

#endif
