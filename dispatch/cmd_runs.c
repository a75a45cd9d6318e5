#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "db/runs.h"
#include "dispatch/cli.h"
#include "dispatch/desk.h"
#include "dispatch/exit.h"
#include "dispatch/list.h"

struct values {
	int json, open;
	char *repo;
	uint64_t limit;
};

#define ROW(word, kind, member, ...) OPT_ROW(struct values, word, kind, member, __VA_ARGS__)
static const struct opt rows[] = {
	ROW("json", OPT_FLAG, json, NULL, "one JSON object a line"),
	ROW("open", OPT_FLAG, open, NULL, "only those still going on"),
	ROW("repo", OPT_TEXT, repo, "DIR", "only those of this original"),
	ROW("limit", OPT_COUNT, limit, "N", "at most this many (default 50; with --json all)"),
	{ 0 },
};

static const struct list_column columns[] = {
	{ "run", "RUN", 0 }, { "when", "CREATED", 0 }, { "mode", "MODE", 0 }, { "agent", "AGENT", 0 },
	{ "backend", "BACKEND", 0 }, { "outcome", "OUTCOME", 0 }, { "repo", "REPO", 0 },
	{ "line", "COMMAND", 0 }, { 0 },
};

struct walk {
	struct list list;
	struct err *err;
	int failed;
};

/* The table has the time to the second and the command as one short line. */
static int add_words(struct json *j, const struct run_row *row)
{
	OWN(buf) struct buf line = { 0 };
	char when[CLOCK_TEXT_SIZE];

	clock_text(row->created_us, when);
	when[19] = '\0';
	when[10] = ' ';
	buf_adds(&line, "");
	for (const struct json *w = json_first(json_get(j, "command")); w; w = json_next(w))
		buf_addf(&line, "%s%s", line.len ? " " : "", json_str(w) ? json_str(w) : "?");
	if (line.failed)
		return -1;
	if (line.len > 60)
		strcpy(line.data + 57, "...");
	return json_add_str(j, "when", when) && json_add_str(j, "line", line.data) ? 0 : -1;
}

static int one(void *cookie, const struct run_row *row)
{
	struct walk *w = cookie;
	OWN(json) struct json *j = run_json(row);

	if (!j || (!w->list.as_json && add_words(j, row) < 0))
		w->failed = err_set(w->err, ERR_NOMEM, 0, "out of memory");
	else
		w->failed = list_add(&w->list, j, w->err);
	return w->failed;
}

static int runs(const struct cli_args *args, struct err *err)
{
	const struct values *v = args->values;
	OWN(desk) struct desk desk = { 0 };
	struct walk w = { .err = err };
	struct run_filter filter = { .only_open = v->open, .repo = v->repo };

	filter.limit = v->limit ? (int64_t)v->limit : v->json ? 0 : 50;
	if (desk_open(&desk, err) < 0)
		return -1;
	list_init(&w.list, columns, v->json);
	if (runs_each(desk.db, &filter, one, &w, err) < 0 || w.failed) {
		list_done(&w.list);
		return -1;
	}
	return list_end(&w.list, "no runs", err) < 0 ? -1 : EXIT_OK;
}

const struct command cmd_runs = {
	.name = "runs", .operands = "", .summary = "list runs, newest first",
	.opts = { { rows } }, .size = sizeof(struct values), .fn = runs,
};
