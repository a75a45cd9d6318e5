#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "dispatch/cli.h"
#include "dispatch/desk.h"
#include "dispatch/exit.h"
#include "dispatch/list.h"
#include "dispatch/show.h"
#include "worktree/change.h"
#include "worktree/workspace.h"

#define DIFF_MAX (1024u * 1024 * 1024)

struct values {
	int json, stat;
};

#define ROW(word, kind, member, ...) OPT_ROW(struct values, word, kind, member, __VA_ARGS__)
static const struct opt rows[] = {
	ROW("stat", OPT_FLAG, stat, NULL, "only which paths, and how"),
	ROW("json", OPT_FLAG, json, NULL, "one JSON object a changed path"),
	{ 0 },
};

static const struct list_column columns[] = {
	{ "kind", "CHANGE", 0 }, { "bytes", "BYTES", 1 }, { "path", "PATH", 0 }, { 0 },
};

static struct json *change_json(const struct change *c)
{
	OWN(json) struct json *j = json_new_object();
	char old_mode[8], new_mode[8];

	snprintf(old_mode, sizeof(old_mode), "%06o", (unsigned int)c->old_mode);
	snprintf(new_mode, sizeof(new_mode), "%06o", (unsigned int)c->new_mode);
	if (!j || !json_add_str(j, "path", c->path) || !json_add_str(j, "kind", change_kind_name(c->kind)) ||
	    (c->old_mode && (!json_add_str(j, "oldMode", old_mode) || !json_add_int(j, "oldSize", c->old_size))) ||
	    (c->new_mode && (!json_add_str(j, "newMode", new_mode) || !json_add_int(j, "newSize", c->new_size))) ||
	    !json_add_int(j, "bytes", c->new_mode ? c->new_size : 0))
		return NULL;
	return TAKE(j);
}

static int print_list(const struct change_set *set, int as_json, struct err *err)
{
	struct list list;

	list_init(&list, columns, as_json);
	for (size_t i = 0; i < set->n; i++) {
		OWN(json) struct json *j = change_json(&set->v[i]);

		if (!j || list_add(&list, j, err) < 0) {
			list_done(&list);
			return j ? -1 : err_set(err, ERR_NOMEM, 0, "out of memory");
		}
	}
	return list_end(&list, "nothing changed", err) < 0 ? -1 : EXIT_OK;
}

/* A file's content could steer the terminal; a pipe gets the bytes as they are. */
static int print_for_terminal(const struct buf *diff, struct err *err)
{
	OWN(buf) struct buf b = { .max = 4u * DIFF_MAX - 1 };
	const char *p = diff->data, *end = p + diff->len;

	buf_adds(&b, "");
	while (p < end) {
		size_t n = strcspn(p, "\n\t");

		if (p + n > end)
			n = (size_t)(end - p);
		show_add(&b, p, n);
		p += n;
		if (p < end)
			buf_addc(&b, *p == '\n' || *p == '\t' ? *p : '?');
		p++;
	}
	return cli_print(&b, err);
}

static int print_diff(const struct workspace *ws, const struct change_set *set, struct err *err)
{
	OWN(buf) struct buf b = { .max = DIFF_MAX };

	buf_adds(&b, "");
	if (change_diff(ws, set, &b, err) < 0)
		return -1;
	if (!b.len)
		say_bare("nothing changed");
	if (b.failed)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return (isatty(STDOUT_FILENO) ? print_for_terminal : cli_print)(&b, err) < 0 ? -1 : EXIT_OK;
}

/* What a diff of files cannot show. */
static void say_the_rest(const struct change_set *set)
{
	for (size_t i = 0; i < set->git_metadata.n; i++)
		say("'%s' differs and stays in the workspace: it is git's own", set->git_metadata.v[i]);
	for (size_t i = 0; i < set->notes.n; i++)
		say("%s", set->notes.v[i]);
	if (set->commits_problem)
		say("its commits cannot be read: %s", set->commits_problem);
	if (set->n_commits)
		say_bare("%zu new commit%s%s, newest: %.12s %s", set->n_commits, set->n_commits == 1 ? "" : "s",
			 set->commits_cut ? " and more" : "", set->commits[0].oid, set->commits[0].subject);
}

static int diff(const struct cli_args *args, struct err *err)
{
	const struct values *v = args->values;
	OWN(desk) struct desk desk = { 0 };
	OWN(mem) char *id = NULL;
	OWN(workspace) struct workspace ws = { 0 };
	OWN(change_set) struct change_set set = { 0 };

	if (desk_open(&desk, err) < 0 || desk_workspace(&desk, args->operand[0], &id, &ws, err) < 0 ||
	    change_collect(&ws, &set, err) < 0)
		return -1;
	if (v->json)
		return print_list(&set, 1, err);
	say_the_rest(&set);
	return v->stat ? print_list(&set, 0, err) : print_diff(&ws, &set, err);
}

const struct command cmd_diff = {
	.name = "diff", .operands = "RUN", .summary = "show what a run changed",
	.more = "Against the original as it was when the run began, as git apply takes it.\n"
		"RUN is a run's name, the beginning of one, or \"last\".\n",
	.opts = { { rows } }, .size = sizeof(struct values), .min = 1, .max = 1, .fn = diff,
};
