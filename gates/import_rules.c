#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "gates/import_rules.h"

static const char *const fate_names[] = { "carried over", "made stricter", "left out", "lost" };
static_assert(ARRAY_LEN(fate_names) == IMPORT_FATE_NUM, "a name for each fate");

const char *import_fate_name(enum import_fate f)
{
	assert(f < IMPORT_FATE_NUM);
	return fate_names[f];
}

void import_report_done(struct import_report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->v[i].entry);
		free(r->v[i].why);
	}
	free(r->v);
	*r = (struct import_report){ 0 };
}

static int no_memory(struct importing *imp)
{
	return err_set(imp->err, ERR_NOMEM, 0, "out of memory");
}

int import_note(struct importing *imp, enum import_fate fate, const char *entry, const char *why)
{
	struct import_report *r = imp->report;
	struct import_note *n;

	if (r->n == r->cap) {
		size_t cap = r->cap ? 2 * r->cap : 16;
		struct import_note *v = reallocarray(r->v, cap, sizeof(*v));

		if (!v)
			return no_memory(imp);
		r->v = v;
		r->cap = cap;
	}
	n = &r->v[r->n++];
	*n = (struct import_note){ .fate = fate, .entry = strdup(entry), .why = strdup(why) };
	r->count[fate]++;
	return n->entry && n->why ? 0 : no_memory(imp);
}

int import_begin(struct importing *imp, const char *place, enum decision decision, struct rule *ret)
{
	struct rule r = { .scope = imp->where->scope, .decision = decision, .only.max_count = -1 };

	r.scope_id = strdup(imp->where->scope_id);
	r.provenance = strdup(imp->provenance);
	r.place = strdup(place);
	if (!r.scope_id || !r.provenance || !r.place) {
		rule_done(&r);
		return no_memory(imp);
	}
	*ret = r;
	return 0;
}

int import_end(struct importing *imp, struct rule *r)
{
	if (rule_finish(r, imp->err) < 0) {
		err_wrap(imp->err, "%s", r->place ? r->place : "rule");
		rule_done(r);
		return -1;
	}
	return rule_set_take(imp->set, r, imp->err);
}
