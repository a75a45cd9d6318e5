#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "db/db.h"
#include "dispatch/cli.h"
#include "dispatch/desk.h"
#include "dispatch/show.h"
#include "runner/runner.h"
#include "sandbox/probe.h"

/* Something is missing: a script may want to know, and it is no failure of agate's. */
#define EXIT_MISSING 1

struct values {
	int json;
};

static const struct opt rows[] = {
	OPT_ROW(struct values, "json", OPT_FLAG, json, NULL, "one JSON object a line"),
	{ 0 },
};

struct visit {
	int as_json;
	struct buf out;
	int missing;
};

static void add_masked(struct buf *b, const char *before, const char *text)
{
	buf_adds(b, before);
	show_add(b, text, strlen(text));
}

static void add_words(struct buf *b, const struct probe_line *l)
{
	buf_addf(b, "%-8s", probe_state_name(l->state));
	add_masked(b, "", l->rule);
	add_masked(b, "\n          held by ", l->layer);
	if (l->detail)
		add_masked(b, ": ", l->detail);
	if (l->hint)
		add_masked(b, "\n          hint: ", l->hint);
	buf_addc(b, '\n');
}

static void add_json(struct buf *b, const struct probe_line *l)
{
	OWN(json) struct json *j = json_new_object();
	OWN(mem) char *text = NULL;

	if (j && json_add_str(j, "rule", l->rule) && json_add_str(j, "state", probe_state_name(l->state)) &&
	    json_add_str(j, "layer", l->layer) && json_add_str(j, "detail", l->detail) &&
	    json_add_str(j, "hint", l->hint))
		text = json_print(j);
	if (!text)
		b->failed = 1;
	else
		buf_addf(b, "%s\n", text);
}

static void on_line(void *cookie, const struct probe_line *l)
{
	struct visit *v = cookie;

	v->missing += l->state == PROBE_MISSING;
	(v->as_json ? add_json : add_words)(&v->out, l);
}

/* --- what agate itself needs, beside what the kernel has to hold --- */

static void check_init(struct visit *v, const struct place *p)
{
	const struct probe_line line = {
		.rule = "the helper that lives in each sandbox is installed", .layer = "files",
		.state = p->init && !access(p->init, X_OK) ? PROBE_OK : PROBE_MISSING,
		.detail = p->init ? p->init : "no agate-init beside agate, nor in ../lib/agate",
		.hint = p->init ? NULL : "make leaves both in one directory; make install puts them in place",
	};

	on_line(v, &line);
}

static void check_lists(struct visit *v, const struct place *p)
{
	const struct probe_line line = {
		.rule = "the lists of hosts that runs may and may never reach are installed", .layer = "files",
		.state = p->data ? PROBE_OK : PROBE_MISSING,
		.detail = p->data ? p->data : "no share/agate and no data directory near agate",
		.hint = p->data ? NULL : "make install puts them in place",
	};

	on_line(v, &line);
}

static void check_records(struct visit *v, struct desk *desk)
{
	struct err err = { 0 };
	int r = db_check(desk->db, &err);
	const struct probe_line line = {
		.rule = "runs and refusals are recorded", .layer = "the database",
		.state = r < 0 ? PROBE_MISSING : PROBE_OK, .detail = r < 0 ? err.msg : db_path(desk->db),
		.hint = err.hint[0] ? err.hint : NULL,
	};

	on_line(v, &line);
}

/* The line a server prints at its start. */
static void add_boot_line(struct visit *v)
{
	const struct runner *runner;
	const char *note = NULL;

	if (!v->as_json && !runner_choose("on", &runner, &note, NULL)) {
		add_masked(&v->out, "", note);
		buf_addc(&v->out, '\n');
	}
}

static int doctor(const struct cli_args *args, struct err *err)
{
	struct visit v = { .as_json = ((const struct values *)args->values)->json };
	OWN(desk) struct desk desk = { 0 };
	int r;

	if (desk_open(&desk, err) < 0)
		return -1;
	add_boot_line(&v);
	probe_each(on_line, &v);
	check_init(&v, &desk.place);
	check_lists(&v, &desk.place);
	check_records(&v, &desk);
	r = cli_print(&v.out, err);
	buf_done(&v.out);
	return r < 0 ? -1 : v.missing ? EXIT_MISSING : 0;
}

const struct command cmd_doctor = {
	.name = "doctor", .operands = "", .summary = "say what this host can hold, by trying it",
	.more = "Exit status: 0 if every rule is held, 1 if one is not.\n",
	.opts = { { rows } }, .size = sizeof(struct values), .fn = doctor,
};
