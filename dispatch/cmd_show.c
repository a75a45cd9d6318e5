#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "db/events.h"
#include "db/runs.h"
#include "dispatch/cli.h"
#include "dispatch/desk.h"
#include "dispatch/exit.h"
#include "dispatch/show.h"

#define VALUES_AT 32	/* column behind the time and the type */

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
		if (*under && !strcmp(json_key(m), "command"))
			continue;	/* said above */
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
	buf_addc(&b, '\n');
	return cli_print(&b, err);
}

/* --- events, and with them the refusals, in the order they happened --- */

struct moment {
	int64_t seq;
	char *text;
};

struct timeline {
	struct moment *v;
	size_t n, cap;
	int as_json;
};

static int add_moment(struct timeline *t, int64_t seq, char *text)
{
	if (text && t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 64;
		struct moment *v = reallocarray(t->v, cap, sizeof(*v));

		if (v) {
			t->v = v;
			t->cap = cap;
		}
	}
	if (!text || t->n == t->cap) {
		free(text);
		return -1;
	}
	t->v[t->n++] = (struct moment){ seq, text };
	return 0;
}

static struct json *event_json(const struct event_row *row)
{
	OWN(json) struct json *j = json_new_object();
	OWN(json) struct json *data = NULL;
	char ts[CLOCK_TEXT_SIZE];

	clock_text(row->ts_us, ts);
	if (!j || !json_add_str(j, "run", row->run_id) || !json_add_int(j, "seq", row->seq) ||
	    !json_add_str(j, "ts", ts) || !json_add_str(j, "type", row->type))
		return NULL;
	if (row->data && json_parse(row->data, strlen(row->data), NULL, &data, NULL) < 0)
		return NULL;
	for (const struct json *m = json_first(data); m; m = json_next(m))
		if (!json_add_copy(j, json_key(m), m))
			return NULL;
	return TAKE(j);
}

/* "21:15:27.076  ready             pid 26758" */
static char *moment_text(int64_t ts_us, const char *type, const struct json *data, const char *const keys[])
{
	struct buf b = { 0 };
	char ts[CLOCK_TEXT_SIZE];

	clock_text(ts_us, ts);
	buf_addf(&b, "%.12s  %s", ts + 11, type);
	for (const struct json *m = json_first(data); m && !b.failed; m = json_next(m)) {
		int shown = !keys;

		for (size_t i = 0; keys && keys[i]; i++)
			shown |= !strcmp(keys[i], json_key(m));
		if (!shown || json_type(m) == JSON_OBJECT)
			continue;
		while (b.len < VALUES_AT && !b.failed)
			buf_addc(&b, ' ');
		buf_addf(&b, "  %s ", json_key(m));
		add_value(&b, m);
	}
	return buf_steal(&b);
}

/* What a person wants of the long ones; the whole is in --events. */
static const struct { const char *type; const char *const keys[5]; } briefly[] = {
	{ "run.admitted", { "mode", "agent", "backend" } },
	{ "workspace.ready", { "strategy", "ms", "files" } },
	{ "run.environment", { "" } },
	{ "stdout", { "bytes" } },
	{ "stderr", { "bytes" } },
};

static char *event_text(const struct event_row *row)
{
	OWN(json) struct json *data = NULL;
	const char *const *keys = NULL;

	if (row->data)
		json_parse(row->data, strlen(row->data), NULL, &data, NULL);
	for (size_t i = 0; i < ARRAY_LEN(briefly); i++)
		if (!strcmp(briefly[i].type, row->type))
			keys = briefly[i].keys;
	return moment_text(row->ts_us, row->type, data, keys);
}

static int take_event(void *cookie, const struct event_row *row)
{
	struct timeline *t = cookie;
	OWN(json) struct json *j = NULL;

	if (!t->as_json)
		return add_moment(t, row->seq, event_text(row));
	j = event_json(row);
	return add_moment(t, row->seq, j ? json_print(j) : NULL);
}

static int take_violation(void *cookie, const struct violation_row *row)
{
	static const char *const keys[] = { "action", "target", "rule", "comm", NULL };
	struct timeline *t = cookie;
	OWN(json) struct json *j = json_new_object();
	char ts[CLOCK_TEXT_SIZE];

	clock_text(row->ts_us, ts);
	if (t->as_json && j && (!json_add_str(j, "run", row->run_id) || !json_add_int(j, "seq", row->seq) ||
				!json_add_str(j, "ts", ts) || !json_add_str(j, "type", "violation")))
		return -1;
	if (!j || violation_json(j, &row->v, row->v.count) < 0)
		return -1;
	return add_moment(t, row->seq, t->as_json ? json_print(j) : moment_text(row->ts_us, "violation", j, keys));
}

static int by_seq(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return (x->seq > y->seq) - (x->seq < y->seq);
}

static int print_timeline(struct timeline *t, struct err *err)
{
	OWN(buf) struct buf b = { 0 };

	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), by_seq);
	buf_adds(&b, "");
	for (size_t i = 0; i < t->n; i++)
		buf_addf(&b, "%s\n", t->v[i].text);
	return cli_print(&b, err);
}

static int print_events(struct desk *desk, const char *id, int as_json, struct err *err)
{
	const struct event_filter events = { .run = id };
	const struct violation_filter refusals = { .run = id, .oldest_first = 1 };
	struct timeline t = { .as_json = as_json };
	int r = events_each(desk->db, &events, take_event, &t, err);

	if (!r)
		r = violations_each(desk->db, &refusals, take_violation, &t, err);
	if (!r)
		r = print_timeline(&t, err);
	for (size_t i = 0; i < t.n; i++)
		free(t.v[i].text);
	free(t.v);
	return r < 0 ? -1 : EXIT_OK;
}

static int print_what_was_asked(struct desk *desk, const char *id, const struct values *v,
				const struct got *g, struct err *err)
{
	if (v->events)
		return print_events(desk, id, 1, err);
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
	if (print_run(g->run, err) < 0)
		return -1;
	return print_events(desk, id, 0, err);
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
