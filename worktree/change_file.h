/*
 * worktree/change_file.h - what change.c, change_diff.c and change_apply.c share
 */
#ifndef WORKTREE_CHANGE_FILE_H
#define WORKTREE_CHANGE_FILE_H

struct err;
struct node;
struct workspace;

int change_may_compare(const struct workspace *ws, struct err *err);	/* 0, or -1: it worked in place */
int change_manifest_load(const struct workspace *ws, struct node **ret, struct err *err);
int change_open_tree(const struct workspace *ws, struct err *err);	/* the workspace's root, or -1 */

#endif
