#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/event.h"
#include "base/json.h"
#include "base/own.h"
#include "db/db.h"
#include "db/runs.h"
#include "dispatch/desk.h"
#include "worktree/workspace.h"

int desk_open(struct desk *d, struct err *err)
{
	*d = (struct desk){ 0 };
	if (place_find(&d->place, err) < 0 || db_open(d->place.state, &d->db, err) < 0) {
		desk_done(d);
		return -1;
	}
	return 0;
}

void desk_done(struct desk *d)
{
	db_close(d->db);
	d->db = NULL;
	place_done(&d->place);
}

static int take_id(void *cookie, const struct run_row *row)
{
	char **id = cookie;

	*id = strdup(row->id);
	return 1;
}

int desk_find(struct desk *d, const char *word, char **ret_id, struct err *err)
{
	const struct run_filter newest = { .limit = 1 };

	*ret_id = NULL;
	if (strcmp(word, "last") != 0) {
		if (run_find(d->db, word, ret_id, err) == 0)
			return 0;
		return err->hint[0] ? -1 : err_hint(err, "agate runs lists them");
	}
	if (runs_each(d->db, &newest, take_id, ret_id, err) < 0)
		return -1;
	return *ret_id ? 0 : err_set(err, ERR_NOTFOUND, 0, "there is no run yet");
}

struct look {
	int is_open;
	int is_gone;
};

static int look_at(void *cookie, const struct run_row *row)
{
	struct look *l = cookie;

	l->is_open = !row->end_kind;
	l->is_gone = !row->workspace_path || !*row->workspace_path;
	return 1;
}

int desk_workspace(struct desk *d, const char *word, char **ret_id, struct workspace *ret,
		   struct err *err)
{
	struct look l = { 0 };
	OWN(mem) char *dir = NULL;

	if (desk_find(d, word, ret_id, err) < 0 || run_get(d->db, *ret_id, look_at, &l, err) < 0)
		return -1;
	if (l.is_open) {
		err_set(err, ERR_BUSY, 0, "run '%s' is still going on", *ret_id);
		return err_hint(err, "if its supervisor was killed, agate recover closes it");
	}
	if (l.is_gone)
		return err_set(err, ERR_NOTFOUND, 0, "run '%s' has no workspace any more", *ret_id);
	dir = place_run_dir(&d->place, *ret_id);
	if (!dir)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return workspace_open(dir, ret, err);
}

/* --- rows --- */

void run_outcome(const struct run_row *row, char *ret, unsigned int size)
{
	if (!row->end_kind)
		snprintf(ret, size, "running");
	else if (!strcmp(row->end_kind, "exited"))
		snprintf(ret, size, "exit %lld", (long long)row->exit_status);
	else if (!strcmp(row->end_kind, "signaled"))
		snprintf(ret, size, "signal %lld", (long long)row->exit_status - 128);
	else
		snprintf(ret, size, "%s", row->end_kind);
}

static int add_time(struct json *to, const char *key, int64_t us)
{
	char text[CLOCK_TEXT_SIZE];

	if (!us)
		return 0;
	clock_text(us, text);
	return json_add_str(to, key, text) ? 0 : -1;
}

/* Text that is JSON already becomes part of the whole; damaged text is left out. */
static int add_parsed(struct json *to, const char *key, const char *text)
{
	OWN(json) struct json *j = NULL;

	if (!text || json_parse(text, strlen(text), NULL, &j, NULL) < 0)
		return 0;
	return json_add_copy(to, key, j) ? 0 : -1;
}

static int add_end(struct json *to, const struct run_row *row)
{
	char outcome[48];

	run_outcome(row, outcome, sizeof(outcome));
	if (!json_add_str(to, "outcome", outcome) || add_time(to, "ended", row->ended_us) < 0)
		return -1;
	if (!row->end_kind)
		return 0;
	if (!json_add_str(to, "endKind", row->end_kind) || !json_add_int(to, "exitStatus", row->exit_status))
		return -1;
	if (row->started_us && !json_add_int(to, "ms", (row->ended_us - row->started_us) / 1000))
		return -1;
	return row->reason && !json_add_str(to, "reason", row->reason) ? -1 : 0;
}

struct json *run_json(const struct run_row *row)
{
	const struct { const char *key, *value; } texts[] = {
		{ "run", row->id }, { "state", row->state }, { "mode", row->mode }, { "agent", row->agent },
		{ "backend", row->backend }, { "repo", row->repo }, { "cwd", row->cwd },
		{ "workspacePath", row->workspace_path }, { "strategy", row->strategy },
		{ "branch", row->branch }, { "baseCommit", row->base_commit },
		{ "specDigest", row->spec_digest },
	};
	OWN(json) struct json *j = json_new_object();

	for (size_t i = 0; j && i < ARRAY_LEN(texts); i++)
		if (texts[i].value && *texts[i].value && !json_add_str(j, texts[i].key, texts[i].value))
			return NULL;
	if (!j || add_parsed(j, "command", row->argv) < 0 || add_time(j, "created", row->created_us) < 0 ||
	    add_time(j, "started", row->started_us) < 0 || add_end(j, row) < 0 ||
	    (row->supervisor_pid && !json_add_int(j, "supervisorPid", row->supervisor_pid)) ||
	    add_parsed(j, "facts", row->facts) < 0)
		return NULL;
	return TAKE(j);
}

int violation_json(struct json *to, const struct violation *v, int64_t count)
{
	const struct { const char *key, *value; } texts[] = {
		{ "layer", layer_name(v->layer) }, { "action", v->action }, { "target", v->target },
		{ "resolved", v->resolved }, { "rule", v->rule }, { "reason", v->reason },
		{ "syscall", v->syscall }, { "comm", v->comm }, { "exe", v->exe },
		{ "command", v->command_id }, { "raw", v->raw },
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i].value && !json_add_str(to, texts[i].key, texts[i].value))
			return -1;
	if (v->pid && !json_add_int(to, "pid", v->pid))
		return -1;
	return json_add_int(to, "count", count) ? 0 : -1;
}
