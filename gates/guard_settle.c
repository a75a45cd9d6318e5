/*
 * What the gate before would ask, and whether rules have answered it. A verdict
 * tells only one of its questions, so the line is judged again, to see them all.
 */
#include <string.h>

#include "gates/guard_judge.h"

/* Everything the gate found in the line; NULL if it cannot be read. */
static struct judge *judge_again(struct judging *d)
{
	const struct guard_request *req = d->g.req;
	struct judge *j = ARENA_NEW(d->g.arena, struct judge);
	struct command_request *line_req = ARENA_NEW(d->g.arena, struct command_request);
	struct shell_problem problem = { 0 };
	struct args args = { 0 };
	struct node *script;

	*line_req = d->g.line_req;
	line_req->mode = req->mode;
	j->arena = d->g.arena;
	j->req = line_req;
	j->lim.max_depth = COMMAND_MAX_DEPTH;
	j->lim.max_commands = COMMAND_MAX_COMMANDS;
	j->sh.cwd = req->cwd ? req->cwd : req->root;
	if (!req->argv) {
		j->len = req->len;
		if (shell_parse(j->arena, req->line, req->len, false, &j->lim, &script, &problem))
			return NULL;
		walk_node(j, script);
		return j;
	}
	for (size_t i = 0; req->argv[i]; i++)
		args_add(j, &args, (struct arg){ .text = req->argv[i], .is_known = true });
	run_argv(j, &args);
	return j;
}

static const struct rule *allowed_by(struct judging *d, const struct effect *e)
{
	const struct item it = { .class = e->class, .place = e->place, .subject = e->subject, .start = e->span_start,
				 .end = e->span_end };
	struct item_result r;

	guard_judge_item(d, &it, &r);
	return r.is_allowed ? r.rule : NULL;
}

/* All findings that ask; *ret_n counts them. */
static const struct rule *all_asked_allowed(struct judging *d, const struct judge *j, size_t *ret_n)
{
	const struct rule *first = NULL;

	for (const struct finding *f = j->first; f; f = f->next) {
		const struct rule *by;

		if (f->weight != ASKS)
			continue;
		++*ret_n;
		by = allowed_by(d, &f->effect);
		if (!by)
			return NULL;
		first = first ? first : by;
	}
	return first;
}

/* A question from elsewhere (the network, a tool): every effect has to be allowed. */
static const struct rule *all_allowed(const struct judging *d)
{
	const struct rule *first = NULL;

	for (size_t i = 0; i < d->g.n; i++) {
		if (d->g.items[i].is_call || item_is_read(&d->g.items[i]))
			continue;
		if (!d->results[i].is_allowed)
			return NULL;
		first = first ? first : d->results[i].rule;
	}
	return first;
}

/* Of one class: --network ask. */
static const struct rule *all_of_class_allowed(const struct judging *d, const struct verdict *v)
{
	const struct rule *first = NULL;
	unsigned int asked = 0;

	for (size_t i = 0; i < v->effects_n; i++)
		if (v->effects[i].span_start == v->span_start && v->effects[i].span_end == v->span_end)
			asked |= 1u << v->effects[i].class;
	for (size_t i = 0; i < d->g.n; i++) {
		if (d->g.items[i].is_call || !(asked & 1u << d->g.items[i].class))
			continue;
		if (!d->results[i].is_allowed || d->g.items[i].is_any)
			return NULL;
		first = first ? first : d->results[i].rule;
	}
	return first;
}

const struct rule *guard_settles(struct judging *d)
{
	const struct verdict *v = d->g.req->verdict;
	const struct guard_line *line;
	const struct rule *by;
	struct judge *j;
	size_t n = 0;

	if (d->results[0].is_allowed)
		return d->results[0].rule;	/* the call itself */
	by = all_allowed(d);
	line = by ? NULL : guard_line_of(&d->g);
	if (!line || line->unreadable || d->g.req->tool)
		return by;
	j = judge_again(d);
	if (!j)
		return NULL;
	by = all_asked_allowed(d, j, &n);
	return n ? by : all_of_class_allowed(d, v);
}
