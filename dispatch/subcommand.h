/*
 * dispatch/subcommand.h - commands that have commands: `agate rules add`
 *
 * The outer row has CMD_RAW; its function hands its words on. An inner row's
 * name is both words, "rules add", so that its help says what to type.
 */
#ifndef DISPATCH_SUBCOMMAND_H
#define DISPATCH_SUBCOMMAND_H

#include "dispatch/cli.h"

/* sub_call() - find the row that the first word names, read its options, call it */
int sub_call(const struct command *const rows[], const struct cli_args *args, struct err *err);

#endif
