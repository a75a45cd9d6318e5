#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "dispatch/cli.h"
#include "dispatch/exit.h"

static const struct command *const commands[] = {
	&cmd_run, &cmd_plan, &cmd_check, &cmd_runs, &cmd_show, &cmd_diff, &cmd_apply, &cmd_discard,
	&cmd_violations, &cmd_rules, &cmd_approvals, &cmd_hook, &cmd_recover, &cmd_doctor, &cmd_version, &cmd_help, &cmd_egress, &cmd_complete,
	NULL,
};

const struct command *const *cli_commands(void)
{
	return commands;
}

const struct command *cli_find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static void help_all(struct buf *b)
{
	buf_adds(b, "usage: agate COMMAND [OPTIONS] [OPERANDS]\n\n"
		 "Runs coding agents and their commands so that nothing reaches past what was allowed,\n"
		 "and whatever was refused is on record.\n\ncommands:\n");
	for (size_t i = 0; commands[i]; i++)
		if (!(commands[i]->flags & CMD_HIDDEN))
			buf_addf(b, "  %-12s%s\n", commands[i]->name, commands[i]->summary);
	buf_adds(b, "\nagate COMMAND --help tells more; the manual is agate(1).\n");
}

void cli_help(const struct command *cmd, struct buf *b)
{
	if (!cmd) {
		help_all(b);
		return;
	}
	buf_addf(b, "usage: agate %s [OPTIONS]%s%s\n\n%s\n\noptions:\n", cmd->name,
		 *cmd->operands ? " " : "", cmd->operands, cmd->summary);
	opts_help(&cmd->opts, b);
	if (cmd->more)
		buf_addf(b, "\n%s", cmd->more);
}

int cli_print(const struct buf *b, struct err *err)
{
	if (b->failed)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (fflush(stdout) == EOF || io_write_all(STDOUT_FILENO, b->data, b->len) < 0)
		return err_set(err, ERR_SYS, errno, "cannot write to standard output");
	return 0;
}

static int print_help(const struct command *cmd, struct err *err)
{
	OWN(buf) struct buf b = { 0 };

	cli_help(cmd, &b);
	return cli_print(&b, err) < 0 ? -1 : EXIT_OK;
}

static int unknown_command(const char *name, struct err *err)
{
	const char *names[ARRAY_LEN(commands)], *near;
	size_t n = 0;

	for (size_t i = 0; commands[i]; i++)
		if (!(commands[i]->flags & CMD_HIDDEN))
			names[n++] = commands[i]->name;
	near = nearest(name, names, n);
	err_set(err, ERR_USAGE, 0, "no such command: '%s'", name);
	return near ? err_hint(err, "did you mean agate %s?", near) : err_hint(err, "agate help lists them");
}

static int wrong_operands(const struct command *cmd, size_t n, struct err *err)
{
	if (n < cmd->min)
		err_set(err, ERR_USAGE, 0, "agate %s needs %s", cmd->name, cmd->operands);
	else
		err_set(err, ERR_USAGE, 0, "agate %s takes %s", cmd->name,
			cmd->max ? cmd->operands : "no operands");
	return err_hint(err, "agate %s --help", cmd->name);
}

static int parse_and_call(const struct command *cmd, char *const words[], void *values, struct err *err)
{
	OWN(strv) struct strv operands = { 0 };
	static char *const none[] = { NULL };
	struct cli_args args = { .values = values, .operand = none, .words = words };
	int help;

	if (opts_parse(&cmd->opts, words, cmd->flags & CMD_STOP ? OPTS_STOP : 0, values, &operands,
		       &help, err) < 0) {
		if (!err->hint[0])
			err_hint(err, "agate %s --help", cmd->name);
		return -1;
	}
	if (help)
		return print_help(cmd, err);
	if (operands.n < cmd->min || operands.n > cmd->max)
		return wrong_operands(cmd, operands.n, err);
	if (operands.n) {
		args.operand = operands.v;
		args.n = operands.n;
	}
	return cmd->fn(&args, err);
}

static int call(const struct command *cmd, char *const words[], struct err *err)
{
	OWN(mem) void *values = calloc(1, cmd->size ? cmd->size : 1);
	int status;

	if (!values)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (cmd->flags & CMD_RAW) {
		const struct cli_args args = { .words = words, .operand = words };

		return cmd->fn(&args, err);
	}
	if (cmd->init)
		cmd->init(values);
	status = parse_and_call(cmd, words, values, err);
	opts_done(&cmd->opts, values);
	return status;
}

int cli_main(char *const argv[], struct err *err)
{
	const struct command *cmd;
	const char *name = argv[0] ? argv[1] : NULL;

	if (!name) {
		err_set(err, ERR_USAGE, 0, "no command was given");
		return err_hint(err, "agate run -- COMMAND runs one; agate help lists the others");
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		return print_help(NULL, err);
	if (!strcmp(name, "--version"))
		name = cmd_version.name;
	cmd = cli_find(name);
	if (!cmd)
		return unknown_command(name, err);
	return call(cmd, argv + 2, err);
}
