#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "dispatch/hook_event.h"
#include "dispatch/hook_programs.h"
#include "dispatch/hook_ruling.h"
#include "dispatch/hook_world.h"
#include "gates/redact.h"
#include "gates/tool.h"

/* The tools that are given a shell line. */
static int has_line(const char *tool)
{
	return !strcmp(tool, "Bash") || !strcmp(tool, "Monitor");
}

static void ask_for_network(struct verdict *v)
{
	for (size_t i = 0; i < v->effects_n && v->decision == DECISION_ALLOW; i++) {
		if (v->effects[i].class != EFFECT_NETWORK_EGRESS)
			continue;
		v->decision = DECISION_ASK;
		snprintf(v->rule, sizeof(v->rule), "network ask");
		snprintf(v->reason, sizeof(v->reason), "it reaches out, and --network ask wants somebody asked");
	}
}

/* @text with its secrets masked, the caller's to free(); NULL out of memory. */
static char *masked(const char *text, size_t *ret_n)
{
	struct buf b = { 0 };

	buf_adds(&b, "");
	if (redact_text(text, strlen(text), NULL, &b, ret_n) < 0)
		buf_done(&b);
	return b.data ? buf_steal(&b) : NULL;
}

/* In place: what does not fit, or cannot be masked, is not told. */
static void mask(char *text, size_t size)
{
	size_t n;
	OWN(mem) char *shown = masked(text, &n);

	snprintf(text, size, "%s", shown ? shown : "(out of memory)");
}

static int make_line(const struct hook_event *ev, struct ruling *r)
{
	OWN(mem) char *line = tool_line(ev->tool, ev->input);
	size_t n = 0;

	r->line = line ? masked(line, &n) : NULL;
	r->is_masked = n != 0;
	return r->line ? 0 : -1;
}

static int by_gate(const struct ruling_facts *f, const struct hook_event *ev, struct ruling *r, struct err *err)
{
	const struct tool_request req = {
		.tool = ev->tool, .input = ev->input, .mode = r->mode, .is_held = f->is_held, .workspace = f->workspace,
		.cwd = ev->cwd, .home = f->home, .read_roots = f->read_roots, .write_roots = f->write_roots,
		.protected = f->protected, .allow = f->allow, .deny = f->deny, .notes = &f->world->notes,
		.logs = &f->world->logs, .world = &f->world->ops,
	};

	r->gate = has_line(ev->tool) ? "command" : "tool";
	if (tool_check(&req, &r->verdict, err) < 0)
		return -1;
	if (f->ask_network)
		ask_for_network(&r->verdict);
	if (!f->is_held && mode_is_readonly(r->mode) && has_line(ev->tool))
		hook_programs(&r->verdict, json_str(json_get(ev->input, "command")), ev->cwd);
	if (make_line(ev, r) < 0 || hook_event_digest(ev, r->mode, r->digest) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return 0;
}

static void by_rules(const struct ruling_facts *f, const struct hook_event *ev, struct ruling *r)
{
	const char *line = has_line(ev->tool) ? json_str(json_get(ev->input, "command")) : NULL;

	rulebook_load(f->db, f->root, &r->book);
	r->request = (struct guard_request){
		.mode = r->mode, .space = f->space, .agent = "claude", .workspace = f->root, .tool = ev->tool, .line = line,
		.len = line ? strlen(line) : 0, .root = f->workspace, .cwd = ev->cwd, .home = f->home,
		.verdict = &r->verdict, .now_us = clock_wall_us(),
	};
	guard_judge(&r->request, &r->book.set, &r->result);
	mask(r->result.reason, sizeof(r->result.reason));
	if (!strcmp(r->result.gate, "guard"))
		r->gate = "guard";
	if (r->result.has_class && !strcmp(r->gate, "guard"))
		snprintf(r->action, sizeof(r->action), "guard-%s", effect_class_name(r->result.class));
	guard_classes(r->result.classes, r->classes, sizeof(r->classes));
	r->decision = r->result.decision;
}

int ruling_make(const struct ruling_facts *f, const struct hook_event *ev, struct ruling *ret, struct err *err)
{
	*ret = (struct ruling){
		.decision = DECISION_DENY, .gate = "tool", .tool_use = ev->tool_use, .action = "command-deny",
		.mode = ev->only_plans && f->mode == MODE_CHAT ? MODE_PLAN : f->mode,
	};
	if (by_gate(f, ev, ret, err) < 0)
		return -1;
	by_rules(f, ev, ret);
	return 0;
}

const char *ruling_reason(const struct ruling *r)
{
	return r->result.reason;
}

static const char *or_null(const char *s)
{
	return *s ? s : NULL;
}

struct judgement ruling_judgement(const struct ruling *r)
{
	return (struct judgement){
		.line = r->line, .mode = mode_name(r->mode), .verdict = decision_name(r->decision), .gate = r->gate,
		.rule = or_null(r->result.name), .reason = or_null(r->result.reason),
		.span_start = r->is_masked ? 0 : (int64_t)r->result.span_start,
		.span_end = r->is_masked ? 0 : (int64_t)r->result.span_end,
		.digest = r->digest, .tool_use = r->tool_use, .classes = or_null(r->classes),
	};
}

struct violation ruling_violation(const struct ruling *r)
{
	return (struct violation){
		.layer = strcmp(r->gate, "guard") != 0 ? LAYER_COMMAND : LAYER_GUARD, .action = r->action, .target = r->line,
		.rule = r->result.name, .reason = r->result.reason, .command_id = r->tool_use, .count = 1,
	};
}

void ruling_done(struct ruling *r)
{
	guard_result_done(&r->result);
	rulebook_done(&r->book);
	verdict_done(&r->verdict);
	free(r->line);
	*r = (struct ruling){ .decision = DECISION_DENY };
}
