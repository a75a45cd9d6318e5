#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/event.h"
#include "base/json.h"
#include "base/own.h"
#include "db/events.h"
#include "dispatch/cli.h"
#include "dispatch/desk.h"
#include "dispatch/exit.h"
#include "dispatch/list.h"
#include "dispatch/show.h"
#include "dispatch/suggest.h"

struct values {
	int json, suggest;
	char *run, *layer, *action;
	uint64_t limit;
};

static int check_layer(const char *word, struct err *err)
{
	enum layer l;

	if (!layer_parse(word, &l))
		return 0;
	return err_set(err, ERR_USAGE, 0, "'%s' is none of: file, network, unix, exec, syscall, command, "
		       "guard, push, token", word);
}

#define ROW(word, kind, member, ...) OPT_ROW(struct values, word, kind, member, __VA_ARGS__)
static const struct opt rows[] = {
	ROW("run", OPT_TEXT, run, "RUN", "only those of this run"),
	ROW("layer", OPT_TEXT, layer, "LAYER", "only those of this layer: file, network, command, ...",
	    .check = check_layer),
	ROW("action", OPT_TEXT, action, "ACTION", "only this action: file-write-create, network-outbound, ..."),
	ROW("limit", OPT_COUNT, limit, "N", "at most this many (default 100; with --json all)"),
	ROW("suggest", OPT_FLAG, suggest, NULL, "say which options would have allowed it"),
	ROW("json", OPT_FLAG, json, NULL, "one JSON object a line"),
	{ 0 },
};

static const struct list_column columns[] = {
	{ "when", "TIME", 0 }, { "run", "RUN", 0 }, { "action", "ACTION", 0 }, { "count", "N", 1 },
	{ "comm", "PROGRAM", 0 }, { "pid", "PID", 1 }, { "target", "TARGET", 0 }, { "rule", "RULE", 0 },
	{ 0 },
};

struct walk {
	struct list list;
	struct suggest suggest;
	struct err *err;
	int failed;
};

static struct json *row_json(const struct violation_row *row, int as_json)
{
	OWN(json) struct json *j = json_new_object();
	char ts[CLOCK_TEXT_SIZE], last[CLOCK_TEXT_SIZE];

	clock_text(row->ts_us, ts);
	clock_text(row->last_us, last);
	if (!j || !json_add_str(j, "run", row->run_id) || !json_add_int(j, "seq", row->seq) ||
	    !json_add_str(j, "ts", ts) || !json_add_str(j, "last", last) ||
	    (row->mode && !json_add_str(j, "mode", row->mode)) || violation_json(j, &row->v, row->v.count) < 0)
		return NULL;
	ts[19] = '\0';
	ts[10] = ' ';
	return as_json || json_add_str(j, "when", ts) ? TAKE(j) : NULL;
}

static int one(void *cookie, const struct violation_row *row)
{
	struct walk *w = cookie;
	OWN(json) struct json *j = row_json(row, w->list.as_json);

	w->failed = j ? list_add(&w->list, j, w->err) : err_set(w->err, ERR_NOMEM, 0, "out of memory");
	return w->failed;
}

static int one_to_suggest(void *cookie, const struct violation_row *row)
{
	struct walk *w = cookie;

	w->failed = suggest_add(&w->suggest, &row->v, w->err);
	return w->failed;
}

static int suggest(struct db *db, const struct violation_filter *filter, int as_json, struct err *err)
{
	struct walk w = { .err = err };
	int r = violations_each(db, filter, one_to_suggest, &w, err);

	if (r == 0 && !w.failed && !w.suggest.n)
		say_bare("nothing was refused");
	suggest_settle(&w.suggest);
	r = r < 0 || w.failed || suggest_print(&w.suggest, as_json, err) < 0 ? -1 : EXIT_OK;
	suggest_done(&w.suggest);
	return r;
}

static int violations(const struct cli_args *args, struct err *err)
{
	const struct values *v = args->values;
	OWN(desk) struct desk desk = { 0 };
	OWN(mem) char *run = NULL;
	struct walk w = { .err = err };
	struct violation_filter filter = { .layer = v->layer, .action = v->action };

	filter.limit = v->limit ? (int64_t)v->limit : v->json || v->suggest ? 0 : 100;
	if (desk_open(&desk, err) < 0 || (v->run && desk_find(&desk, v->run, &run, err) < 0))
		return -1;
	filter.run = run;
	filter.oldest_first = run != NULL;
	if (v->suggest)
		return suggest(desk.db, &filter, v->json, err);
	list_init(&w.list, columns, v->json);
	if (violations_each(desk.db, &filter, one, &w, err) < 0 || w.failed) {
		list_done(&w.list);
		return -1;
	}
	return list_end(&w.list, "nothing was refused", err) < 0 ? -1 : EXIT_OK;
}

const struct command cmd_violations = {
	.name = "violations", .operands = "", .summary = "list what was refused",
	.more = "Of one run in the order it happened, of all runs the newest first. RUN is a run's name,\n"
		"the beginning of one, or \"last\".\n"
		"\n"
		"--suggest prints options of \"agate run\", one a line, and as comments what no option lifts.\n",
	.opts = { { rows } }, .size = sizeof(struct values), .fn = violations,
};
