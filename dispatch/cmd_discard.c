#include <stdlib.h>

#include "base/err.h"
#include "base/own.h"
#include "db/runs.h"
#include "dispatch/cli.h"
#include "dispatch/desk.h"
#include "dispatch/exit.h"
#include "dispatch/show.h"
#include "worktree/workspace.h"

#define MANY 1000

static int refuse_open(void *cookie, const struct run_row *row)
{
	int *is_open = cookie;

	*is_open = !row->end_kind;
	return 1;
}

static int discard_one(struct desk *desk, const char *word, struct err *err)
{
	const struct run_row cleared = { .workspace_path = "" };
	OWN(mem) char *id = NULL;
	OWN(mem) char *dir = NULL;
	int is_open = 0;

	if (desk_find(desk, word, &id, err) < 0 || run_get(desk->db, id, refuse_open, &is_open, err) < 0)
		return -1;
	if (is_open) {
		err_set(err, ERR_BUSY, 0, "run '%s' is still going on", id);
		return err_hint(err, "if its supervisor was killed, agate recover closes it");
	}
	dir = place_run_dir(&desk->place, id);
	if (!dir)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (workspace_discard(dir, err) < 0 || run_update(desk->db, id, &cleared, err) < 0)
		return -1;
	say_bare("the workspace of '%s' is deleted; its record stays", id);
	return 0;
}

static int discard(const struct cli_args *args, struct err *err)
{
	OWN(desk) struct desk desk = { 0 };

	if (desk_open(&desk, err) < 0)
		return -1;
	for (size_t i = 0; i < args->n; i++)
		if (discard_one(&desk, args->operand[i], err) < 0)
			return -1;
	return EXIT_OK;
}

const struct command cmd_discard = {
	.name = "discard", .operands = "RUN...", .summary = "delete the workspace of a run, not its record",
	.more = "RUN is a run's name, the beginning of one, or \"last\".\n",
	.min = 1, .max = MANY, .fn = discard,
};
