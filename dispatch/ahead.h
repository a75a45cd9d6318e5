/*
 * dispatch/ahead.h - what a run needs later and can be had beside what comes first
 *
 * While the first thread finds out about the repository and the host, one opens
 * the database, and one looks through the system's directories for what only root
 * may read. They only look: nothing of a run is made there.
 */
#ifndef DISPATCH_AHEAD_H
#define DISPATCH_AHEAD_H

#include <pthread.h>

#include "base/err.h"

struct db;

struct ahead {
	const char *state_dir;	/* borrowed until ahead_db() */
	pthread_t opener, looker;
	int is_opening, is_looking;	/* there is a thread to be joined */
	struct db *db;
	struct err err;		/* why there is none */
};

/* ahead_start() - @looks: policy_look_ahead() too. Where no thread is to be had, all is done when it is asked for */
void ahead_start(struct ahead *a, const char *state_dir, int looks);

/* ahead_db() - once: wait for the database, the caller's from now on; 0, or -1 with @err as db_open() */
int ahead_db(struct ahead *a, struct db **ret, struct err *err);

/* ahead_end() - wait until all is done; closes a database nobody took. A zeroed one is fine, and so is twice */
void ahead_end(struct ahead *a);

#endif
