#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "dispatch/exit.h"
#include "dispatch/subcommand.h"

/* "rules add" -> "add" */
static const char *inner_name(const struct command *row)
{
	const char *blank = strchr(row->name, ' ');

	return blank ? blank + 1 : row->name;
}

static int print_help(const struct command *row, struct err *err)
{
	OWN(buf) struct buf b = { 0 };

	cli_help(row, &b);
	return cli_print(&b, err) < 0 ? -1 : EXIT_OK;
}

static int list_rows(const struct command *const rows[], struct err *err)
{
	size_t outer = strcspn(rows[0]->name, " ");
	OWN(buf) struct buf b = { 0 };

	buf_addf(&b, "usage: agate %.*s COMMAND [OPTIONS] [OPERANDS]\n\ncommands:\n", (int)outer, rows[0]->name);
	for (; *rows; rows++)
		buf_addf(&b, "  %-12s%s\n", inner_name(*rows), (*rows)->summary);
	return cli_print(&b, err) < 0 ? -1 : EXIT_OK;
}

static int unknown(const struct command *const rows[], const char *word, struct err *err)
{
	const char *names[16], *near;
	int outer = (int)strcspn(rows[0]->name, " ");
	size_t n = 0;

	for (size_t i = 0; rows[i] && n < ARRAY_LEN(names); i++)
		names[n++] = inner_name(rows[i]);
	if (!word)
		err_set(err, ERR_USAGE, 0, "agate %.*s needs to be told what to do", outer, rows[0]->name);
	else
		err_set(err, ERR_USAGE, 0, "agate %.*s has no command '%s'", outer, rows[0]->name, word);
	near = word ? nearest(word, names, n) : NULL;
	return near ? err_hint(err, "did you mean agate %.*s %s?", outer, rows[0]->name, near) :
		err_hint(err, "agate %.*s --help lists them", outer, rows[0]->name);
}

static int read_and_call(const struct command *row, char *const words[], void *values, struct err *err)
{
	OWN(strv) struct strv operands = { 0 };
	static char *const none[] = { NULL };
	struct cli_args args = { .values = values, .operand = none, .words = words };
	int help;

	if (opts_parse(&row->opts, words, row->flags & CMD_STOP ? OPTS_STOP : 0, values, &operands, &help, err) < 0)
		return err->hint[0] ? -1 : err_hint(err, "agate %s --help", row->name);
	if (help)
		return print_help(row, err);
	if (operands.n < row->min || operands.n > row->max) {
		err_set(err, ERR_USAGE, 0, "agate %s %s %s", row->name, operands.n < row->min ? "needs" : "takes",
			*row->operands ? row->operands : "no operands");
		return err_hint(err, "agate %s --help", row->name);
	}
	if (operands.n) {
		args.operand = operands.v;
		args.n = operands.n;
	}
	return row->fn(&args, err);
}

int sub_call(const struct command *const rows[], const struct cli_args *args, struct err *err)
{
	const char *word = args->words[0];
	const struct command *row = NULL;
	OWN(mem) void *values = NULL;
	int r;

	if (word && (!strcmp(word, "--help") || !strcmp(word, "-h")))
		return list_rows(rows, err);
	for (size_t i = 0; word && rows[i]; i++)
		if (!strcmp(inner_name(rows[i]), word))
			row = rows[i];
	if (!row)
		return unknown(rows, word, err);
	values = calloc(1, row->size ? row->size : 1);
	if (!values)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (row->init)
		row->init(values);
	r = read_and_call(row, args->words + 1, values, err);
	opts_done(&row->opts, values);
	return r;
}
