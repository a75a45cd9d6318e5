/*
 * worktree/remove.h - take a directory tree away, whatever a command has made of it
 */
#ifndef WORKTREE_REMOVE_H
#define WORKTREE_REMOVE_H

struct err;

/**
 * remove_tree() - Remove @name in @dirfd with all below it
 *
 * Follows no link and crosses no mount; opens up directories that deny their
 * owner; needs neither recursion nor long paths: directories below the first
 * level are moved up to it before they are emptied, so depth does not matter.
 * Not being there is fine.
 *
 * Return: 0, or -1 with @err: the rest is still there
 */
int remove_tree(int dirfd, const char *name, struct err *err);

#endif
