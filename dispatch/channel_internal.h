/*
 * dispatch/channel_internal.h - what the files of the control channel share
 *
 *	channel.c	lines in, what each kind of them means
 *	channel_uses.c	which calls were asked about, and how they were answered
 *	channel_text.c	lines that JSON can carry and our reader cannot
 *	channel_show.c	what the user sees
 */
#ifndef DISPATCH_CHANNEL_INTERNAL_H
#define DISPATCH_CHANNEL_INTERNAL_H

#include "base/buf.h"
#include "dispatch/channel.h"

struct json;

/* --- channel_uses.c: a table by the agent's id of a call --- */

enum use_state { USE_UNKNOWN, USE_ASKED, USE_ALLOWED, USE_DENIED };

struct use {
	char *id;		/* NULL: free */
	enum use_state state;
};

struct uses {
	struct use *v;		/* a power of two of them */
	size_t n, cap;
};

enum use_state uses_state(const struct uses *u, const char *id);
int uses_set(struct uses *u, const char *id, enum use_state state);	/* 0, or -1 out of memory */
void uses_done(struct uses *u);

/* --- channel_text.c --- */

/**
 * channel_text() - Make a line fit for base/json.h
 * @line:	changed in place, its length kept
 *
 * "\u0000" and halves of surrogate pairs, which a tool's output may hold, become
 * "\ufffd". Return: 1 if there was any
 */
int channel_text(char *line, size_t len);

/* --- channel_show.c --- */

struct show {
	enum channel_format format;
	int verbose;
	int results;		/* how many there were */
	struct buf kept;	/* JSON: the last result, or with verbose all lines */
};

/* show_line() - a line for the user, which is @j; what goes out now is appended to @out. 0, or -1 out of memory */
int show_line(struct show *s, const char *line, size_t len, const struct json *j, struct buf *out);

/* show_end() - what was kept back */
int show_end(struct show *s, struct buf *out);

void show_done(struct show *s);

#endif
