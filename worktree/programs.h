/*
 * worktree/programs.h - the programs a repository's configuration names for git to run
 *
 * `git status` runs core.fsmonitor, `git diff` an external diff, a textconv or a
 * clean filter, `git log` what checks signatures: whoever wrote the configuration
 * chose them. Where a run may only look, git is told by its environment to run
 * none, and what the repository had tried is named.
 *
 * Read by a scanner of our own, in git's grammar, which takes every include for
 * granted and goes on behind an error, so that it sees at least what git sees.
 * git-lfs in its usual form is known and stays.
 */
#ifndef WORKTREE_PROGRAMS_H
#define WORKTREE_PROGRAMS_H

#include <stddef.h>

#include "base/strv.h"

struct err;

#define PROGRAMS_MAX 500	/* keys; a configuration with more is not believed to be one */

struct programs {
	struct strv keys;	/* that name a program reading commands would run: "diff.x.textconv"; each once */
	struct strv off;	/* a key and the value that switches it off, in turn */
};

/**
 * programs_scan() - Look through the text of one configuration file
 * @p:		added to; zeroed is empty
 * @ret_includes: the files it includes, as written and on whatever condition; appended to
 * @err:	ERR_LIMIT, ERR_NOMEM
 */
int programs_scan(struct programs *p, const char *text, size_t len, struct strv *ret_includes, struct err *err);

/**
 * programs_find() - All files that git would read for one checkout
 * @dot:	host path of its `.git`, a directory or a pointer to one; one that is not there is fine
 *
 * The configuration, those of its worktrees and submodules, and what they include.
 * A file that cannot be read is passed over: git fails on it.
 * Return: 0, or -1 with @err (ERR_LIMIT: too large or too many; ERR_NOMEM)
 */
int programs_find(struct programs *p, const char *dot, struct err *err);

/* programs_env() - append NAME=VALUE for git to run none of @p, nor what needs no name; 0, or -1 out of memory */
int programs_env(const struct programs *p, struct strv *ret);

void programs_done(struct programs *p);

static inline void own_programs(struct programs *p)
{
	programs_done(p);
}

#endif
