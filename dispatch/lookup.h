/*
 * dispatch/lookup.h - what has to be asked of the disk before a run is planned
 */
#ifndef DISPATCH_LOOKUP_H
#define DISPATCH_LOOKUP_H

#include <stddef.h>

#include "base/strv.h"
#include "dispatch/plan.h"

struct err;
struct place;

/**
 * lookup_program() - The file that @name runs, as execvp(3) would find it
 * @path:	a PATH, may be NULL
 * @cwd:	for names with a slash that are relative
 *
 * Return: its real path, links followed, the caller's to free(); NULL when there is none
 */
char *lookup_program(const char *name, const char *path, const char *cwd);

/* Host paths and where they are to be seen; .bind[i] points into .words. */
struct bind_list {
	struct plan_bind *bind;
	size_t n;
	struct strv words;
};

/**
 * lookup_binds() - Resolve the paths of --read or --write
 * @option:	named in errors: "--read"
 * @err:	ERR_NOTFOUND when one is not there
 *
 * A relative path is taken from the current directory. What is shown is what a
 * link points to, at the path that was asked for.
 */
int lookup_binds(const struct strv *paths, const struct place *place, const char *option,
		 struct bind_list *ret, struct err *err);

/* lookup_sockets() - the same for --allow-unix-socket: each has to be a socket now */
int lookup_sockets(const struct strv *paths, const struct place *place, struct bind_list *ret, struct err *err);

/* lookup_devices() - is each a device, or a directory, below /dev, and none that opens the machine? */
int lookup_devices(const struct strv *paths, struct err *err);

void bind_list_done(struct bind_list *l);

/**
 * originals_add() - Register a checkout as one that no run may write
 *
 * One small file a checkout in state/originals, named by a digest of its path.
 */
int originals_add(const struct place *place, const char *root, struct err *err);

/* originals_list() - all registered ones that still exist; a failure to look is an error */
int originals_list(const struct place *place, struct strv *ret, struct err *err);

static inline void own_bind_list(struct bind_list *l)
{
	bind_list_done(l);
}

#endif
