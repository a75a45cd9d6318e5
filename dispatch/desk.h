/*
 * dispatch/desk.h - what every command that looks at runs has before it
 */
#ifndef DISPATCH_DESK_H
#define DISPATCH_DESK_H

#include <stdint.h>

#include "dispatch/place.h"

struct db;
struct err;
struct json;
struct run_row;
struct violation;
struct workspace;

struct desk {
	struct place place;
	struct db *db;
};

int desk_open(struct desk *d, struct err *err);
void desk_done(struct desk *d);

/**
 * desk_find() - The full id of the run that @word means
 * @word:	an id, the beginning of exactly one, or "last"
 * @ret_id:	the caller's to free()
 */
int desk_find(struct desk *d, const char *word, char **ret_id, struct err *err);

/**
 * desk_workspace() - Open the workspace of a run that is over
 * @ret_id:	full id, the caller's to free(); also set when the workspace is gone
 * @err:	ERR_BUSY while the run goes on, ERR_NOTFOUND when the workspace was discarded
 */
int desk_workspace(struct desk *d, const char *word, char **ret_id, struct workspace *ret,
		   struct err *err);

/* --- rows as JSON, the same everywhere --- */

/* run_json() - all that is known of a run; the caller's to json_free(), NULL out of memory */
struct json *run_json(const struct run_row *row);

/* run_outcome() - how it stands in a word or two: "running", "exit 0", "timeout"; into @ret */
void run_outcome(const struct run_row *row, char *ret, unsigned int size);

/* violation_json() - add a refusal's members to @to; 0 or -1 out of memory */
int violation_json(struct json *to, const struct violation *v, int64_t count);

static inline void own_desk(struct desk *d)
{
	desk_done(d);
}

#endif
