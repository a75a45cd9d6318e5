#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/cmd_rules.h"
#include "dispatch/exit.h"
#include "dispatch/rulebook.h"
#include "dispatch/show.h"
#include "gates/guard.h"

struct values {
	int mode, json;
	char *agent, *space, *repo;
};

static const char *const modes[] = { "chat", "review", "plan", "orchestrate", NULL };

#define ROW(word, kind, member, ...) OPT_ROW(struct values, word, kind, member, __VA_ARGS__)
static const struct opt rows[] = {
	ROW("mode", OPT_WORD, mode, NULL, "in this mode (default chat)", .words = modes),
	ROW("agent", OPT_TEXT, agent, "NAME", "as this agent would run it (default bash)"),
	ROW("space", OPT_TEXT, space, "NAME", "in this conversation (as --workspace-id names it)"),
	ROW("repo", OPT_TEXT, repo, "DIR", "in this checkout (default: the one around here)"),
	ROW("json", OPT_FLAG, json, NULL, "all of it as one JSON object"),
	{ 0 },
};

static const int statuses[DECISION_NUM] = {
	[DECISION_ALLOW] = EXIT_OK, [DECISION_ASK] = EXIT_ASK, [DECISION_DENY] = EXIT_DENIED,
};

struct explained {
	const struct values *v;
	const char *line;
	struct desk desk;
	struct repo repo;
	struct rulebook book;
	struct verdict before;
	struct guard_result res;
};

static void explained_done(struct explained *e)
{
	guard_result_done(&e->res);
	verdict_done(&e->before);
	rulebook_done(&e->book);
	repo_done(&e->repo);
	desk_done(&e->desk);
}

static int judge(struct explained *e, struct err *err)
{
	const struct values *v = e->v;
	struct command_request q = { .line = e->line, .len = strlen(e->line), .mode = (enum mode)v->mode };
	struct guard_request req;

	if (desk_open(&e->desk, err) < 0 || rules_root(&e->desk, v->repo, &e->repo, err) < 0)
		return -1;
	q.workspace = e->repo.root;
	q.cwd = path_under(e->desk.place.cwd, e->repo.root) ? e->desk.place.cwd : e->repo.root;
	q.home = e->desk.place.home;
	if (command_check(&q, &e->before, err) < 0)
		return -1;
	rulebook_load(e->desk.db, e->repo.root, &e->book);
	req = (struct guard_request){
		.mode = q.mode, .space = v->space, .agent = v->agent ? v->agent : "bash", .workspace = e->repo.root,
		.line = e->line, .len = q.len, .root = q.workspace, .cwd = q.cwd, .home = q.home, .verdict = &e->before,
		.now_us = clock_wall_us(),
	};
	guard_judge(&req, &e->book.set, &e->res);
	return 0;
}

/* --- as JSON --- */

static int add_before(struct json *to, const struct verdict *v)
{
	struct json *j = json_add_object(to, "before"), *effects;

	if (!j || !json_add_str(j, "verdict", decision_name(v->decision)) || !json_add_str(j, "rule", v->rule) ||
	    !json_add_str(j, "reason", v->reason))
		return -1;
	effects = json_add_array(j, "effects");
	for (size_t i = 0; i < v->effects_n; i++) {
		const struct effect *f = &v->effects[i];
		struct json *one = json_add_object(effects, NULL);

		if (!one || !json_add_str(one, "class", effect_class_name(f->class)) ||
		    (f->place != PLACE_NONE && !json_add_str(one, "place", effect_place_name(f->place))) ||
		    (f->subject && !json_add_str(one, "subject", f->subject)))
			return -1;
	}
	return effects ? 0 : -1;
}

static int add_notes(struct json *to, const struct guard_result *res)
{
	struct json *list = json_add_array(to, "rules");

	for (size_t i = 0; list && i < res->notes_n; i++) {
		const struct guard_note *n = &res->notes[i];
		OWN(json) struct json *rule = rules_json(n->rule);
		struct json *j = json_add_object(list, NULL);

		if (!rule || !j || !json_add_str(j, "fate", guard_fate_name(n->fate)) || !json_add_str(j, "why", n->why) ||
		    !json_add_copy(j, "rule", rule))
			return -1;
	}
	return list ? 0 : -1;
}

static int print_json(const struct explained *e, struct err *err)
{
	const struct guard_result *res = &e->res;
	OWN(json) struct json *j = json_new_object();
	OWN(mem) char *text = NULL;
	OWN(buf) struct buf b = { 0 };
	char classes[256];

	guard_classes(res->classes, classes, sizeof(classes));
	if (j && json_add_str(j, "verdict", decision_name(res->decision)) && json_add_str(j, "gate", res->gate) &&
	    json_add_str(j, "rule", res->name) && json_add_str(j, "reason", res->reason) &&
	    json_add_str(j, "classes", classes) && json_add_bool(j, "override", res->is_override) &&
	    json_add_bool(j, "settled", res->is_settled) && !add_before(j, &e->before) && !add_notes(j, res))
		text = json_print(j);
	if (!text)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	buf_addf(&b, "%s\n", text);
	return cli_print(&b, err);
}

/* --- in words --- */

static void add_shown(struct buf *b, const char *text)
{
	show_add(b, text, strlen(text));
}

static void add_decision(struct buf *b, const struct guard_result *res, const struct verdict *before)
{
	buf_adds(b, decision_name(res->decision));
	if (res->reason[0]) {
		buf_adds(b, ": ");
		add_shown(b, res->reason);
	} else if (res->is_settled) {
		buf_adds(b, ": it would be asked about, but ");
		add_shown(b, res->name);
		buf_adds(b, " allows it");
	} else if (res->name[0]) {
		buf_adds(b, ", by ");
		add_shown(b, res->name);
	}
	buf_adds(b, "\n\nthe command policy says ");
	buf_adds(b, decision_name(before->decision));
	if (before->reason[0]) {
		buf_adds(b, ": ");
		add_shown(b, before->reason);
	}
	buf_addc(b, '\n');
}

static void add_effects(struct buf *b, const struct verdict *v)
{
	for (size_t i = 0; i < v->effects_n; i++) {
		const struct effect *f = &v->effects[i];

		buf_addf(b, "  %-26s", effect_class_name(f->class));
		add_shown(b, f->subject ? f->subject : "");
		if (f->place != PLACE_NONE)
			buf_addf(b, " (%s)", effect_place_name(f->place));
		buf_addc(b, '\n');
	}
}

static void add_rules(struct buf *b, const struct guard_result *res)
{
	buf_adds(b, res->notes_n ? "\nrules\n" : "\nthere are no rules\n");
	for (size_t i = 0; i < res->notes_n; i++) {
		const struct guard_note *n = &res->notes[i];
		OWN(buf) struct buf words = { 0 };

		rules_words(&words, n->rule);
		buf_addf(b, "  %-20s", guard_fate_name(n->fate));
		add_shown(b, n->rule->place);
		buf_adds(b, ": ");
		add_shown(b, words.data ? words.data : "");
		buf_adds(b, "\n                      ");
		add_shown(b, n->why);
		buf_addc(b, '\n');
	}
}

static int print_words(const struct explained *e, struct err *err)
{
	OWN(buf) struct buf b = { 0 };

	add_decision(&b, &e->res, &e->before);
	add_effects(&b, &e->before);
	add_rules(&b, &e->res);
	return cli_print(&b, err);
}

static int explain(const struct cli_args *args, struct err *err)
{
	struct explained e = { .v = args->values, .line = args->operand[0] };
	int status = -1;

	if (!judge(&e, err) && !(e.v->json ? print_json(&e, err) : print_words(&e, err)))
		status = statuses[e.res.decision];
	explained_done(&e);
	return status;
}

const struct command cmd_rules_explain = {
	.name = "rules explain", .operands = "LINE", .summary = "what the rules make of a shell line, and why each of them",
	.more = "Nothing is run and nothing recorded. Exit status: 0 allowed, 3 somebody would be asked,\n"
		"126 denied, 125 failed.\n",
	.opts = { { rows } }, .size = sizeof(struct values), .min = 1, .max = 1, .fn = explain,
};
