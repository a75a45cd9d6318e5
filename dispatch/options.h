/*
 * dispatch/options.h - one table of options, read four ways
 *
 * A row says what an option is called, what it takes and where its value goes.
 * From the same rows come the command line, the fields of a JSON request, the
 * text of --help and the words for completion, so that they cannot differ.
 *
 * Values live in a struct of the command's own, which starts from zero bytes
 * plus what the command sets as defaults; opts_done() frees what rows put there.
 */
#ifndef DISPATCH_OPTIONS_H
#define DISPATCH_OPTIONS_H

#include <stddef.h>

#include "base/strv.h"

struct buf;
struct err;
struct json;

enum opt_kind {
	OPT_FLAG,	/* int: becomes .value (1 if that is 0); in JSON true, or false for nothing */
	OPT_WORD,	/* int: the index of the word in .words */
	OPT_TEXT,	/* char *: the last one given */
	OPT_LIST,	/* struct strv: each one given */
	OPT_DURATION,	/* int64_t, ms: "90" seconds, "1500ms", "2h30m"; in JSON also a whole number of seconds */
	OPT_SIZE,	/* uint64_t, bytes: "512M"; in JSON also a whole number */
	OPT_COUNT,	/* uint64_t: decimal, not 0 */
};

struct opt {
	const char *name;		/* "allow-domain"; NULL ends a table */
	enum opt_kind kind;
	size_t at;			/* offsetof() in the values */
	const char *arg;		/* what it takes, for --help: "DOMAIN"; NULL for OPT_FLAG and OPT_WORD */
	const char *help;		/* one line, lower case, no full stop */
	const char *const *words;	/* OPT_WORD: ends in NULL */
	int value;			/* OPT_FLAG */
	int argv_only;			/* not a field of a JSON request */
	/* May it have this value? 0, or -1 with @err: ERR_USAGE. NULL: any. */
	int (*check)(const char *word, struct err *err);
};

/* OPT_ROW() - a row for @member of @type; what stands behind @text are further fields */
#define OPT_ROW(type, word, what, member, takes, text, ...) \
	{ .name = (word), .kind = (what), .at = offsetof(type, member), .arg = (takes), .help = (text), __VA_ARGS__ }

#define OPT_GROUPS 3

/* Tables one after the other; unused places NULL. */
struct opts {
	const struct opt *group[OPT_GROUPS];
};

/* How the operands stand. */
enum {
	OPTS_STOP = 1,	/* the first operand ends the options: what follows belongs to the command */
};

/* opts_each() - the row after @prev (NULL: the first), or NULL at the end */
const struct opt *opts_each(const struct opts *opts, const struct opt *prev);

/* opts_find() - the row called @name, @len bytes, or NULL */
const struct opt *opts_find(const struct opts *opts, const char *name, size_t len);

/**
 * opts_parse() - Read a command line
 * @argv:	the words behind the command's name, ends in NULL
 * @flags:	OPTS_STOP or 0
 * @values:	the struct the rows point into; also set in part on failure
 * @operands:	gets the words that are no options
 * @ret_help:	1 if --help (or -h) was among the options; then nothing after it was read
 * @err:	ERR_USAGE, with the nearest name as a hint
 *
 * "--" ends the options. "--name value" and "--name=value" are the same; names
 * are not shortened.
 */
int opts_parse(const struct opts *opts, char *const argv[], unsigned int flags, void *values,
	       struct strv *operands, int *ret_help, struct err *err);

/**
 * opts_from_json() - Read the same from an object
 * @also:	a field that is the caller's to read, or NULL
 * @what:	named in errors: "request"
 * @err:	ERR_INPUT; unknown fields are refused
 */
int opts_from_json(const struct opts *opts, const struct json *obj, const char *also,
		   const char *what, void *values, struct err *err);

/* opts_to_json() - the given values as fields of @to; 0, or -1 out of memory */
int opts_to_json(const struct opts *opts, const void *values, struct json *to);

/* opts_help() - the option part of --help */
void opts_help(const struct opts *opts, struct buf *b);

/* opts_done() - free the texts and lists rows point at */
void opts_done(const struct opts *opts, void *values);

/* nearest() - the candidate that @word was meant to be, or NULL: at most two slips away */
const char *nearest(const char *word, const char *const candidates[], size_t n);

#endif
