/*
 * dispatch/hostgit.h - git in a workspace that nothing is bound in
 *
 * Inside a sandbox the private git directory is mounted at the workspace's
 * `.git` and the original's objects at paths below /run. Without one the same is
 * said in git's own words: `.git` becomes a file that points to the directory,
 * and its alternates name the objects where they really are.
 */
#ifndef DISPATCH_HOSTGIT_H
#define DISPATCH_HOSTGIT_H

struct err;
struct workspace;

/*
 * hostgit_move_in() - the git directory itself becomes `.git`: for a run whose rules about `.git` must
 * hold, but where nothing can be mounted; fine without a repository and in place
 */
int hostgit_move_in(const struct workspace *ws, struct err *err);

/* hostgit_move_out() - back to where the results are read; fine when it was never moved, and again */
int hostgit_move_out(const struct workspace *ws, struct err *err);

/* hostgit_connect() - before the command runs; fine without a repository and in place */
int hostgit_connect(const struct workspace *ws, struct err *err);

/* hostgit_disconnect() - afterwards: `.git` is the empty directory it was, unless the command put something else there */
void hostgit_disconnect(const struct workspace *ws);

#endif
