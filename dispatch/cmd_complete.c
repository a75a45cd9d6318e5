/*
 * What could come next on a command line: for completion.bash, from the rows
 * that also make --help and read the words.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "db/runs.h"
#include "dispatch/cli.h"
#include "dispatch/desk.h"
#include "dispatch/exit.h"

#define SOME_RUNS 50

static void offer(struct buf *b, const char *word, const char *begun)
{
	if (!strncmp(word, begun, strlen(begun)))
		buf_addf(b, "%s\n", word);
}

static void offer_commands(struct buf *b, const char *begun)
{
	for (const struct command *const *c = cli_commands(); *c; c++)
		if (!((*c)->flags & CMD_HIDDEN))
			offer(b, (*c)->name, begun);
}

static void offer_options(struct buf *b, const struct opts *opts, const char *begun)
{
	char word[80];

	for (const struct opt *o = opts_each(opts, NULL); o; o = opts_each(opts, o)) {
		snprintf(word, sizeof(word), "--%s", o->name);
		offer(b, word, begun);
	}
	offer(b, "--help", begun);
}

struct offers {
	struct buf *b;
	const char *begun;
};

static int offer_run(void *cookie, const struct run_row *row)
{
	const struct offers *o = cookie;

	offer(o->b, row->id, o->begun);
	return 0;
}

static void offer_runs(struct buf *b, const char *begun)
{
	const struct run_filter filter = { .limit = SOME_RUNS };
	struct offers o = { b, begun };
	OWN(desk) struct desk desk = { 0 };

	offer(b, "last", begun);
	if (!desk_open(&desk, NULL))
		runs_each(desk.db, &filter, offer_run, &o, NULL);
}

/* The option that @word is, if what follows is its value. */
static const struct opt *takes_value(const struct opts *opts, const char *word)
{
	const struct opt *o = !strncmp(word, "--", 2) ? opts_find(opts, word + 2, strlen(word + 2)) : NULL;

	return o && o->kind != OPT_FLAG ? o : NULL;
}

/* words: the command's name, its words so far, the one begun (perhaps empty) */
static int complete(const struct cli_args *args, struct err *err)
{
	OWN(buf) struct buf b = { 0 };
	char *const *words = args->words;
	const struct command *cmd;
	const struct opt *o;
	size_t n = 0;

	for (; words[n]; n++)
		;
	buf_adds(&b, "");
	if (n < 2) {
		offer_commands(&b, n ? words[0] : "");
		return cli_print(&b, err) < 0 ? -1 : EXIT_OK;
	}
	cmd = cli_find(words[0]);
	o = cmd && n > 2 ? takes_value(&cmd->opts, words[n - 2]) : NULL;
	if (o && o->words)
		for (size_t i = 0; o->words[i]; i++)
			offer(&b, o->words[i], words[n - 1]);
	else if (o && o->arg && !strcmp(o->arg, "RUN"))
		offer_runs(&b, words[n - 1]);
	else if (cmd && !o && words[n - 1][0] == '-')
		offer_options(&b, &cmd->opts, words[n - 1]);
	else if (cmd && !o && !strncmp(cmd->operands, "RUN", 3))
		offer_runs(&b, words[n - 1]);
	else if (cmd == &cmd_help)
		offer_commands(&b, words[n - 1]);
	return cli_print(&b, err) < 0 ? -1 : EXIT_OK;
}

const struct command cmd_complete = {
	.name = "complete", .operands = "", .summary = "for completion.bash",
	.flags = CMD_HIDDEN | CMD_RAW, .fn = complete,
};
