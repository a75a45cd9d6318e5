/*
 * dispatch/channel_args.h - what `claude -p ...` asks for, taken apart
 *
 * A printing claude under agate does not get its prompt and its formats from the
 * command line: agate speaks with it over its standard input and output and
 * translates (dispatch/channel.h). So its words have to be understood: which
 * option takes how many of them is a table, and an option that is in no table is
 * refused. Pure.
 */
#ifndef DISPATCH_CHANNEL_ARGS_H
#define DISPATCH_CHANNEL_ARGS_H

#include "base/strv.h"

struct err;

enum channel_format { CHANNEL_TEXT, CHANNEL_JSON, CHANNEL_STREAM, CHANNEL_FORMAT_NUM };

struct channel_ask {
	int is_print;			/* -p: the run is driven over the channel */
	char *prompt;			/* the first operand; NULL: none */
	enum channel_format format;	/* of what the user gets */
	int verbose;
	int has_servers;		/* --mcp-config: the user's own servers */
	struct strv rest;		/* the other words, for claude itself */
};

/**
 * channel_args() - Take a command line apart
 * @argv:	claude's words behind its name, ends in NULL
 * @is_terminal: standard input and output are one: without -p claude talks then;
 *		else it prints
 * @ret:	on success the caller's to channel_ask_done()
 * @err:	ERR_POLICY: an option that is not known, or that a printing run cannot
 *		have; ERR_USAGE: as claude itself would say
 *
 * Of a claude that talks nothing is taken apart: is_print is 0 and the rest empty.
 */
int channel_args(const char *const argv[], int is_terminal, struct channel_ask *ret, struct err *err);

void channel_ask_done(struct channel_ask *ask);

static inline void own_channel_ask(struct channel_ask *ask)
{
	channel_ask_done(ask);
}

#endif
