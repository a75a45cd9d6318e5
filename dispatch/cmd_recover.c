#include <stdio.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "dispatch/cli.h"
#include "dispatch/desk.h"
#include "dispatch/exit.h"
#include "dispatch/list.h"
#include "dispatch/recover.h"

struct values {
	int json;
};

static const struct opt rows[] = {
	OPT_ROW(struct values, "json", OPT_FLAG, json, NULL, "one JSON object a line"),
	{ 0 },
};

static const struct list_column columns[] = { { "run", "RUN", 0 }, { "what", "DONE", 0 }, { 0 } };

struct told {
	struct list list;
	struct err *err;
	int failed;
};

static void on_told(void *cookie, const char *id, const char *what)
{
	struct told *t = cookie;
	OWN(json) struct json *j = json_new_object();

	if (!j || !json_add_str(j, "run", id) || !json_add_str(j, "what", what))
		t->failed = err_set(t->err, ERR_NOMEM, 0, "out of memory");
	else if (list_add(&t->list, j, t->err) < 0)
		t->failed = -1;
}

static int recover(const struct cli_args *args, struct err *err)
{
	const struct values *v = args->values;
	OWN(desk) struct desk desk = { 0 };
	struct told t = { .err = err };

	if (desk_open(&desk, err) < 0)
		return -1;
	list_init(&t.list, columns, v->json);
	if (recover_dead_runs(&desk, on_told, &t, err) < 0 || t.failed) {
		list_done(&t.list);
		return -1;
	}
	return list_end(&t.list, "nothing was left behind", err) < 0 ? -1 : EXIT_OK;
}

const struct command cmd_recover = {
	.name = "recover", .operands = "", .summary = "put in order what a killed supervisor left",
	.more = "Runs do this by themselves when they start.\n",
	.opts = { { rows } }, .size = sizeof(struct values), .fn = recover,
};
