/*
 * worktree/workspace_file.h - a workspace's record on disk
 */
#ifndef WORKTREE_WORKSPACE_FILE_H
#define WORKTREE_WORKSPACE_FILE_H

struct err;
struct workspace;

/* workspace_save() - write workspace.json in @run_fd: the moment a workspace exists */
int workspace_save(const struct workspace *ws, int run_fd, struct err *err);

#endif
