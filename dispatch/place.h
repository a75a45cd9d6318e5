/*
 * dispatch/place.h - where agate's own things are, and whose run it is
 *
 * Read once at the start of a command: the user, the home, the state directory
 * (made here, mode 0700, owner checked), our own program, its helper and data.
 */
#ifndef DISPATCH_PLACE_H
#define DISPATCH_PLACE_H

#include <sys/types.h>

struct err;

/* All paths clean and absolute; the state directory free of links. */
struct place {
	char *home;		/* the user's */
	char *cwd;
	char *state;		/* $AGATE_STATE_DIR, $XDG_STATE_HOME/agate, ~/.local/state/agate */
	char *runs;		/* state/runs */
	char *db;		/* state/agate.db */
	char *self;		/* this program */
	char *init;		/* agate-init: beside us, or in ../lib/agate; NULL: not found */
	char *data;		/* shipped lists: ../share/agate or ../data; NULL: not found */
};

/**
 * place_find() - Find them all, making the state directory if it is not there
 * @err:	ERR_SYS; ERR_POLICY when the state directory belongs to somebody else
 */
int place_find(struct place *ret, struct err *err);

/* place_run_dir() - state/runs/ID, the caller's to free(); NULL when out of memory */
char *place_run_dir(const struct place *p, const char *run_id);

void place_done(struct place *p);

static inline void own_place(struct place *p)
{
	place_done(p);
}

#endif
