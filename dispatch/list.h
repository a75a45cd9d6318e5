/*
 * dispatch/list.h - one printer for every listing
 *
 * A row is a JSON object. With --json it is printed as it is, one line each, as
 * soon as it comes; else the named members become the columns of a table, whose
 * widths are known when the last row has come. So both forms tell the same.
 */
#ifndef DISPATCH_LIST_H
#define DISPATCH_LIST_H

#include "base/buf.h"
#include "base/strv.h"

struct err;
struct json;

#define LIST_MAX_COLUMNS 12

struct list_column {
	const char *key;	/* member of the row; NULL ends the columns */
	const char *title;	/* "RUN" */
	int right;		/* numbers stand to the right */
};

struct list {
	const struct list_column *columns;
	int as_json;
	size_t n_columns, n_rows;
	size_t width[LIST_MAX_COLUMNS];
	struct strv cells;	/* of all rows, masked, in order */
	struct buf out;		/* JSON lines not yet written */
};

void list_init(struct list *l, const struct list_column *columns, int as_json);

/* list_add() - one more row, borrowed; 0, or -1 with @err (nobody reads on) */
int list_add(struct list *l, const struct json *row, struct err *err);

/* list_end() - print what is left and free; @none is said on stderr when a table stayed empty */
int list_end(struct list *l, const char *none, struct err *err);

void list_done(struct list *l);

static inline void own_list(struct list *l)
{
	list_done(l);
}

#endif
