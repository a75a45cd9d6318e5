/*
 * worktree/objects.h - the object directories a repository reads from
 *
 * A private git directory borrows them through alternates at guest paths. They
 * are found by following the source's own alternates, and each must look like
 * an object store: a planted line must not make any directory of the host
 * visible inside.
 */
#ifndef WORKTREE_OBJECTS_H
#define WORKTREE_OBJECTS_H

#include "base/strv.h"

struct err;

#define OBJECTS_GUEST "/run/agate/objects"	/* number i of a list is at OBJECTS_GUEST/i */

/**
 * objects_find() - Add @dir and the directories it borrows from
 * @list:	host paths without repeats
 * @ret_lines:	one line a directory of this repository, as guest paths: what
 *		objects/info/alternates must hold; caller's to free()
 * @err:	ERR_INPUT (something that is no object store), ERR_LIMIT, ERR_NOMEM
 */
int objects_find(const char *dir, struct strv *list, char **ret_lines, struct err *err);

/* objects_has_alternates() - 1 if @dir has a list of its own, useless and noisy inside */
int objects_has_alternates(const char *dir);

#endif
