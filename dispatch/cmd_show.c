#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "db/events.h"
#include "db/runs.h"
#include "dispatch/cli.h"
#include "dispatch/desk.h"
#include "dispatch/exit.h"
#include "dispatch/show.h"

struct values {
	int json, spec, events;
};

#define ROW(word, kind, member, ...) OPT_ROW(struct values, word, kind, member, __VA_ARGS__)
static const struct opt rows[] = {
	ROW("json", OPT_FLAG, json, NULL, "one JSON object"),
	ROW("spec", OPT_FLAG, spec, NULL, "only the SandboxSpec, as it was hashed"),
	ROW("events", OPT_FLAG, events, NULL, "its events, one JSON object a line"),
	{ 0 },
};

struct got {
	struct json *run;
	char *spec;
};

static int take(void *cookie, const struct run_row *row)
{
	struct got *g = cookie;

	g->run = run_json(row);
	g->spec = row->spec ? strdup(row->spec) : NULL;
	return 1;
}

static int print_text(const char *text, struct err *err)
{
	OWN(buf) struct buf b = { 0 };

	if (!text)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	buf_addf(&b, "%s\n", text);
	return cli_print(&b, err) < 0 ? -1 : EXIT_OK;
}

/* A value as a person reads it: a list as words, an object not at all here. */
static void add_value(struct buf *b, const struct json *value)
{
	if (json_type(value) == JSON_ARRAY) {
		for (const struct json *i = json_first(value); i; i = json_next(i)) {
			if (i != json_first(value))
				buf_addc(b, ' ');
			add_value(b, i);
		}
	} else if (json_str(value)) {
		show_add(b, json_str(value), strlen(json_str(value)));
	} else {
		OWN(mem) char *text = json_print(value);

		buf_adds(b, text ? text : "?");
	}
}

static void add_lines(struct buf *b, const struct json *obj, const char *under)
{
	for (const struct json *m = json_first(obj); m; m = json_next(m)) {
		char name[96];

		snprintf(name, sizeof(name), "%s%s%s", under, *under ? "." : "", json_key(m));
		if (json_type(m) == JSON_OBJECT) {
			add_lines(b, m, *under || strcmp(json_key(m), "facts") != 0 ? name : "");
			continue;
		}
		buf_addf(b, "%-18s ", name);
		add_value(b, m);
		buf_addc(b, '\n');
	}
}

static int print_run(const struct json *run, struct err *err)
{
	OWN(buf) struct buf b = { 0 };

	buf_adds(&b, "");
	add_lines(&b, run, "");
	return cli_print(&b, err) < 0 ? -1 : EXIT_OK;
}

static int add_event(void *cookie, const struct event_row *row)
{
	struct buf *b = cookie;

	/* The row's data is an object whose members stand beside ours: drop its brace. */
	buf_addf(b, "{\"run\":\"%s\",\"seq\":%lld,\"type\":\"%s\"%s%s\n", row->run_id, (long long)row->seq,
		 row->type, row->data && strlen(row->data) > 2 ? "," : "",
		 row->data && strlen(row->data) > 2 ? row->data + 1 : "}");
	return b->failed;
}

static int print_events(struct desk *desk, const char *id, struct err *err)
{
	const struct event_filter filter = { .run = id };
	OWN(buf) struct buf b = { 0 };

	buf_adds(&b, "");
	if (events_each(desk->db, &filter, add_event, &b, err) < 0)
		return -1;
	return cli_print(&b, err) < 0 ? -1 : EXIT_OK;
}

static int print_what_was_asked(struct desk *desk, const char *id, const struct values *v,
				const struct got *g, struct err *err)
{
	if (v->events)
		return print_events(desk, id, err);
	if (v->spec && !g->spec)
		return err_set(err, ERR_NOTFOUND, 0, "run '%s' ended before it had a spec", id);
	if (v->spec)
		return print_text(g->spec, err);
	if (!g->run)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (v->json) {
		OWN(mem) char *text = json_print(g->run);

		return print_text(text, err);
	}
	return print_run(g->run, err);
}

static int show(const struct cli_args *args, struct err *err)
{
	OWN(desk) struct desk desk = { 0 };
	OWN(mem) char *id = NULL;
	struct got g = { 0 };
	int64_t kinds = 0, times = 0;
	int status;

	if (desk_open(&desk, err) < 0 || desk_find(&desk, args->operand[0], &id, err) < 0 ||
	    run_get(desk.db, id, take, &g, err) < 0 || violations_count(desk.db, id, &kinds, &times, err) < 0)
		return -1;
	if (g.run && (!json_add_int(g.run, "violations", kinds) || !json_add_int(g.run, "refusals", times))) {
		json_free(g.run);
		g.run = NULL;
	}
	status = print_what_was_asked(&desk, id, args->values, &g, err);
	json_free(g.run);
	free(g.spec);
	return status;
}

const struct command cmd_show = {
	.name = "show", .operands = "RUN", .summary = "tell all that is known of a run",
	.more = "RUN is a run's name, the beginning of one, or \"last\".\n",
	.opts = { { rows } }, .size = sizeof(struct values), .min = 1, .max = 1, .fn = show,
};
