/*
 * dispatch/recover.h - put in order what a dead supervisor left
 *
 * A run whose row is open and whose supervisor is no more: what it was about to
 * do is in the journal. Its processes are ended, a workspace that was never
 * finished is deleted, a finished one is kept, and the row is closed as "lost".
 */
#ifndef DISPATCH_RECOVER_H
#define DISPATCH_RECOVER_H

#include <stddef.h>

struct desk;
struct err;

/**
 * recover_dead_runs() - Find and close them all
 * @told:	called for each with what was done, may be NULL
 *
 * Cheap when there is none: one query. Return: 0, or -1 with @err when it
 * could not be found out; a run that cannot be put in order is told and left.
 */
int recover_dead_runs(struct desk *desk, void (*told)(void *cookie, const char *id, const char *what),
		      void *cookie, struct err *err);

#endif
