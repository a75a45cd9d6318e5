#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "dispatch/cli.h"
#include "dispatch/desk.h"
#include "dispatch/exit.h"
#include "dispatch/show.h"
#include "worktree/change.h"
#include "worktree/workspace.h"

struct values {
	int json;
};

static const struct opt rows[] = {
	OPT_ROW(struct values, "json", OPT_FLAG, json, NULL, "the result as one JSON object"),
	{ 0 },
};

static int print_json(const char *id, const struct apply_result *r, struct err *err)
{
	OWN(json) struct json *j = json_new_object();
	OWN(buf) struct buf b = { 0 };

	if (!j || !json_add_str(j, "run", id) || !json_add_bool(j, "applied", r->is_applied) ||
	    !json_add_int(j, "paths", (int64_t)r->n_applied) || !json_add_int(j, "same", (int64_t)r->n_same) ||
	    !json_add_str(j, "ref", r->ref) || !json_add_int(j, "objects", (int64_t)r->n_objects) ||
	    !json_add_strv(j, "conflicts", &r->conflicts) || !json_add_strv(j, "refused", &r->refused) ||
	    !json_add_strv(j, "skipped", &r->skipped))
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	OWN(mem) char *text = json_print(j);

	if (!text)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	buf_addf(&b, "%s\n", text);
	return cli_print(&b, err);
}

static void say_result(const char *id, const struct workspace *ws, const struct apply_result *r)
{
	for (size_t i = 0; i < r->conflicts.n; i++)
		say_bare("conflict: '%s' changed in the original too", r->conflicts.v[i]);
	for (size_t i = 0; i < r->refused.n; i++)
		say_bare("refused: %s", r->refused.v[i]);
	for (size_t i = 0; i < r->skipped.n; i++)
		say_bare("skipped: %s", r->skipped.v[i]);
	if (!r->is_applied) {
		say("nothing was applied to '%s'", ws->original);
		say_hint("agate diff %s | git apply -3 brings over what fits", id);
		return;
	}
	say_bare("%zu path%s brought into '%s'", r->n_applied, r->n_applied == 1 ? "" : "s", ws->original);
	if (r->ref)
		say_bare("its commits are in '%s'", r->ref);
}

static int apply(const struct cli_args *args, struct err *err)
{
	const struct values *v = args->values;
	OWN(desk) struct desk desk = { 0 };
	OWN(mem) char *id = NULL;
	OWN(workspace) struct workspace ws = { 0 };
	OWN(change_set) struct change_set set = { 0 };
	OWN(apply_result) struct apply_result r = { 0 };

	if (desk_open(&desk, err) < 0 || desk_workspace(&desk, args->operand[0], &id, &ws, err) < 0 ||
	    change_collect(&ws, &set, err) < 0)
		return -1;
	if (change_apply(&ws, &set, &r, err) < 0) {
		if (r.n_applied)
			say("%zu paths were brought over before it failed", r.n_applied);
		return -1;
	}
	if (v->json && print_json(id, &r, err) < 0)
		return -1;
	if (!v->json)
		say_result(id, &ws, &r);
	return r.is_applied ? EXIT_OK : r.refused.n ? EXIT_DENIED : EXIT_FAILED;
}

const struct command cmd_apply = {
	.name = "apply", .operands = "RUN", .summary = "bring what a run changed into the original",
	.more = "All or nothing: a path that changed in the original since the run began is a conflict.\n"
		"New commits come as the branch agate/RUN. RUN is a run's name, the beginning of one, or \"last\".\n",
	.opts = { { rows } }, .size = sizeof(struct values), .min = 1, .max = 1, .fn = apply,
};
