/*
 * worktree/dotgit.h - is a name `.git` to any file system that matters?
 *
 * Case does not count, nor do what HFS+ ignores and what NTFS drops or adds:
 * a tree with such a name, checked out there, would be a git directory.
 */
#ifndef WORKTREE_DOTGIT_H
#define WORKTREE_DOTGIT_H

#include <stddef.h>

int dotgit_name(const char *name, size_t len);	/* one part of a path */
int dotgit_path(const char *path);		/* 1 if any part is one */

#endif
