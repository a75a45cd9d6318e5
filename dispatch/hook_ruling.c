#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "dispatch/hook_event.h"
#include "dispatch/hook_ruling.h"
#include "dispatch/hook_world.h"
#include "gates/tool.h"

/* "fileDelete,gitPush": each class once, in the order it was found */
static char *classes_of(const struct verdict *v)
{
	struct buf b = { 0 };
	unsigned int seen = 0;

	static_assert(EFFECT_NUM <= 32, "a bit for each class");
	buf_adds(&b, "");
	for (size_t i = 0; i < v->effects_n; i++) {
		if (seen & 1u << v->effects[i].class)
			continue;
		seen |= 1u << v->effects[i].class;
		buf_addf(&b, "%s%s", b.len ? "," : "", effect_class_name(v->effects[i].class));
	}
	return buf_steal(&b);
}

/* The verdict is put aside when it cannot be told whole. */
static int deny(struct ruling *r, struct err *err)
{
	r->verdict.decision = DECISION_DENY;
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

int ruling_make(const struct ruling_facts *f, const struct hook_event *ev, struct ruling *ret, struct err *err)
{
	struct tool_request req = {
		.tool = ev->tool, .input = ev->input, .is_held = f->is_held, .workspace = f->workspace, .cwd = ev->cwd,
		.home = f->home, .read_roots = f->read_roots, .write_roots = f->write_roots, .protected = f->protected,
		.allow = f->allow, .deny = f->deny, .notes = &f->world->notes, .logs = &f->world->logs,
		.world = &f->world->ops,
	};
	int r;

	*ret = (struct ruling){ .verdict.decision = DECISION_DENY, .gate = "tool", .tool_use = ev->tool_use };
	ret->mode = req.mode = ev->only_plans && f->mode == MODE_CHAT ? MODE_PLAN : f->mode;
	r = tool_check(&req, &ret->verdict, err);
	if (r < 0)
		return -1;
	if (!strcmp(ev->tool, "Bash"))
		ret->gate = "command";
	ret->line = tool_line(ev->tool, ev->input);
	ret->classes = classes_of(&ret->verdict);
	if (!ret->line || !ret->classes || hook_event_digest(ev, ret->mode, ret->digest) < 0)
		return deny(ret, err);
	return 0;
}

struct judgement ruling_judgement(const struct ruling *r)
{
	const struct verdict *v = &r->verdict;

	return (struct judgement){
		.line = r->line, .mode = mode_name(r->mode), .verdict = decision_name(v->decision), .gate = r->gate,
		.rule = v->rule[0] ? v->rule : NULL, .reason = v->reason[0] ? v->reason : NULL,
		.span_start = (int64_t)v->span_start, .span_end = (int64_t)v->span_end, .digest = r->digest,
		.tool_use = r->tool_use, .classes = r->classes && *r->classes ? r->classes : NULL,
	};
}

struct violation ruling_violation(const struct ruling *r)
{
	return (struct violation){
		.layer = LAYER_COMMAND, .action = "command-deny", .target = r->line, .rule = r->verdict.rule,
		.reason = r->verdict.reason, .command_id = r->tool_use, .count = 1,
	};
}

void ruling_done(struct ruling *r)
{
	verdict_done(&r->verdict);
	free(r->line);
	free(r->classes);
	*r = (struct ruling){ .verdict.decision = DECISION_DENY };
}
