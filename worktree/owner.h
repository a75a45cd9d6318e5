/*
 * worktree/owner.h - when root brings results back, files are to be the owner's
 */
#ifndef WORKTREE_OWNER_H
#define WORKTREE_OWNER_H

struct stat;

/*
 * owner_begin() - as root, make what this thread creates belong to @like's
 * owner until owner_end(); for anybody else nothing happens. Between the two,
 * root's override of permissions is off.
 */
void owner_begin(const struct stat *like);
void owner_end(void);

#endif
