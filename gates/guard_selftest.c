/*
 * The examples inside rules: each rule has to apply to those it should match,
 * and to none of the others.
 */
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "gates/guard_fit.h"

static bool applies(struct arena *a, const struct guard_request *req, const struct rule *r)
{
	struct guard *g = ARENA_NEW(a, struct guard);
	struct fit fit;

	guard_open(g, a, req, req->line);
	for (size_t i = 0; i < g->n; i++) {
		guard_fit(g, r, &g->items[i], &fit);
		if (fit.fate == GUARD_DECIDES)
			return true;
	}
	return false;
}

/* 1, 0, or -1 when it cannot be told. */
static int try_line(const struct rule *r, const char *line)
{
	const char *place = r->scope == RULE_WORKSPACE && path_is_clean(r->scope_id) ? r->scope_id : "/workspace";
	const struct command_request q = { .line = line, .len = strlen(line), .mode = MODE_CHAT, .workspace = place,
					   .home = "/home/user" };
	OWN(verdict) struct verdict v = { 0 };
	const struct guard_request req = {
		.mode = MODE_CHAT, .space = r->scope_id, .agent = r->scope_id, .workspace = r->scope_id, .line = line,
		.len = q.len, .root = place, .cwd = place, .home = q.home, .verdict = &v,
		.tool = r->only.list[RULE_TOOLS].n ? "Bash" : NULL,
	};
	struct rule lasting = *r;	/* what it says does not change when its time is over */
	struct arena arena = { 0 };
	int said = -1;

	lasting.expires_us = 0;
	if (command_check(&q, &v, NULL) < 0)
		return -1;
	if (!setjmp(arena.out))
		said = applies(&arena, &req, &lasting);
	arena_done(&arena);
	return said;
}

static int expect(const struct rule *r, const struct strv *lines, int want, struct err *err)
{
	for (size_t i = 0; i < lines->n; i++)
		if (try_line(r, lines->v[i]) != want)
			return err_set(err, ERR_POLICY, 0, "%s: should %smatch '%s'", r->place, want ? "" : "not ",
				       lines->v[i]);
	return 0;
}

int rule_self_test(const struct rule *r, struct err *err)
{
	return expect(r, &r->match, 1, err) < 0 ? -1 : expect(r, &r->not_match, 0, err);
}

int rule_set_self_test(const struct rule_set *set, struct err *err)
{
	for (size_t i = 0; i < set->n; i++)
		if (rule_self_test(&set->v[i], err) < 0)
			return -1;
	return 0;
}
