#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/own.h"
#include "base/strv.h"
#include "sandbox/seatbelt_internal.h"

#define OWN_RESTS __attribute__((cleanup(rests_done))) struct rests

/* --- the verdict on one path --- */

#define NOWHERE (-1000000)

/* Where the rules of each kind match a path, deepest: at its end 0, above that negative. */
struct depths {
	ssize_t literal_deny, literal_allow, pattern_deny, pattern_allow;
};

static void note(const struct names *n, const char *path, size_t len, int is_twin, ssize_t *literal, ssize_t *pattern)
{
	ssize_t depth = (ssize_t)len - (ssize_t)strlen(path);

	for (size_t i = 0; i < n->n; i++) {
		ssize_t *deepest = rule_is_literal(&n->rules[i]) ? literal : pattern;

		if (depth > *deepest && (!is_twin || rule_is_anchored(&n->rules[i])) &&
		    rule_takes(&n->rules[i], path, len, n->fold_case))
			*deepest = depth;
	}
}

/* Every directory on the way, and the path itself. */
static void measure(const struct profile *p, const char *path, int is_twin, struct depths *d)
{
	for (const char *end = path; *end;) {
		size_t len;

		end += strspn(end, "/");
		end += strcspn(end, "/");
		len = (size_t)(end - path);
		note(&p->deny_reads, path, len, is_twin, &d->literal_deny, &d->pattern_deny);
		note(&p->allow_reads, path, len, is_twin, &d->literal_allow, &d->pattern_allow);
	}
}

int reads_denied(const struct profile *p, const struct view *v, int *ret_by_pattern)
{
	struct depths d = { NOWHERE, NOWHERE, NOWHERE, NOWHERE };
	ssize_t literal;

	for (size_t i = 0; v->at[i]; i++)
		measure(p, v->at[i], i > 0, &d);
	literal = d.literal_deny > d.literal_allow ? d.literal_deny : d.literal_allow;
	*ret_by_pattern = d.pattern_deny > literal;
	if (*ret_by_pattern)
		return 1;
	if (d.pattern_allow > literal)
		return 0;
	return d.literal_deny > d.literal_allow && d.pattern_allow != literal;
}

/* --- the rules below a view --- */

/* A path below the view that a rule names as it is. */
struct named {
	char *path;	/* "/a/b" */
	int is_allowed;
};

struct reading {
	const struct profile *p;
	const struct view *v;
	int is_exec;
	struct rests deny, allow;
	struct named *named;	/* shallow before deep */
	size_t n_named;
};

static void own_reading(struct reading *r)
{
	rests_done(&r->deny);
	rests_done(&r->allow);
	for (size_t i = 0; i < r->n_named; i++)
		free(r->named[i].path);
	free(r->named);
}

/* Is exactly this path allowed again, by name or by pattern? */
static int is_allowed_at(const struct reading *r, const char *path)
{
	for (size_t i = 0; i < r->allow.n; i++)
		if (rest_takes(&r->allow.v[i], path, r->p->fold))
			return 1;
	return 0;
}

static int add_named(struct reading *r, const struct rests *rests)
{
	for (size_t i = 0; i < rests->n; i++) {
		OWN(buf) struct buf text = { 0 };
		struct named *more;

		if (!rule_is_literal(rests->v[i].rule))
			continue;
		more = reallocarray(r->named, r->n_named + 1, sizeof(*more));
		if (more)
			r->named = more;
		if (!more || rest_text(&rests->v[i], &text) < 0)
			return -1;
		more[r->n_named] = (struct named){ .path = buf_steal(&text) };
		if (!more[r->n_named].path)
			return -1;
		more[r->n_named].is_allowed = is_allowed_at(r, more[r->n_named].path);
		r->n_named++;
	}
	return 0;
}

/* What lies above another is shorter; equal ones meet. */
static int by_length(const void *a, const void *b)
{
	const struct named *one = a, *two = b;
	size_t la = strlen(one->path), lb = strlen(two->path);

	return la != lb ? (la < lb ? -1 : 1) : strcmp(one->path, two->path);
}

static void drop_repeats(struct reading *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n_named; i++) {
		if (kept && !strcmp(r->named[kept - 1].path, r->named[i].path))
			free(r->named[i].path);
		else
			r->named[kept++] = r->named[i];
	}
	r->n_named = kept;
}

static int load(struct reading *r)
{
	if (rests_below(&r->deny, &r->p->deny_reads, r->v->at) < 0 ||
	    rests_below(&r->allow, &r->p->allow_reads, r->v->at) < 0 ||
	    add_named(r, &r->deny) < 0 || add_named(r, &r->allow) < 0)
		return -1;
	if (r->n_named)
		qsort(r->named, r->n_named, sizeof(*r->named), by_length);
	drop_repeats(r);
	return 0;
}

/* A filter for each pattern of @rests, which begin below @rel. */
static int put_patterns(const struct reading *r, struct buf *filters, const struct rests *rests, const char *rel)
{
	for (size_t i = 0; i < rests->n; i++) {
		const struct rest *rest = &rests->v[i];
		OWN(buf) struct buf regex = { 0 };

		if (rule_is_literal(rest->rule))
			continue;
		if (regex_parts(&regex, rest->rule->parts + rest->from, rest->rule->n_parts - rest->from,
				r->p->fold) < 0 ||
		    put_regex(r->p, filters, r->v, rel, regex.data, "(/|$)") < 0)
			return -1;
	}
	return 0;
}

static int allow(const struct reading *r, struct buf *filters)
{
	return put_rule(r->p, r->is_exec ? "allow process-exec*" : "allow file-read* file-map-executable", filters);
}

static int deny(const struct reading *r, struct buf *filters)
{
	return put_rule(r->p, r->is_exec ? "deny process-exec*" : "deny file-read* file-map-executable", filters);
}

static int allow_tree(const struct reading *r, const char *rel)
{
	OWN(buf) struct buf filters = { 0 };

	if ((r->is_exec ? put_executable(r->p, &filters, r->v, rel) : put_tree(r->p, &filters, r->v, rel, 0)) < 0)
		return -1;
	return allow(r, &filters);
}

/* A pattern cannot be cut down to what execGrantRoots opens, so in a writable view it opens no program. */
static int allow_patterns(const struct reading *r, const struct rests *rests, const char *rel)
{
	OWN(buf) struct buf filters = { 0 };

	if (r->is_exec && r->v->is_writable)
		return 0;
	return put_patterns(r, &filters, rests, rel) < 0 ? -1 : allow(r, &filters);
}

static int deny_patterns(const struct reading *r, const struct rests *rests, const char *rel)
{
	OWN(buf) struct buf filters = { 0 };

	return put_patterns(r, &filters, rests, rel) < 0 ? -1 : deny(r, &filters);
}

/* The patterns among @rests, led down to @rel. */
static int lead_down(const struct reading *r, const struct rests *rests, const char *rel, struct rests *to)
{
	for (size_t i = 0; i < rests->n; i++)
		if (!rule_is_literal(rests->v[i].rule) && rest_below(to, &rests->v[i], rel, r->p->fold) < 0)
			return -1;
	return 0;
}

/* Below a path that is denied or allowed by name, patterns that match deeper still count. */
static int put_named(const struct reading *r, const struct named *named)
{
	OWN_RESTS deny_below = { 0 };
	OWN_RESTS allow_below = { 0 };
	OWN(buf) struct buf filters = { 0 };

	if (lead_down(r, &r->deny, named->path, &deny_below) < 0 ||
	    lead_down(r, &r->allow, named->path, &allow_below) < 0)
		return -1;
	if (named->is_allowed) {
		if (allow_tree(r, named->path) < 0)
			return -1;
	} else if (put_tree(r->p, &filters, r->v, named->path, 1) < 0 || deny(r, &filters) < 0 ||
		   allow_patterns(r, &allow_below, named->path) < 0) {
		return -1;
	}
	return deny_patterns(r, &deny_below, named->path);
}

/* The view's own allowance, unless it had one with the others, then all of its denials. */
static int put_view(const struct profile *p, const struct view *v, int is_exec)
{
	__attribute__((cleanup(own_reading))) struct reading r = { .p = p, .v = v, .is_exec = is_exec };
	OWN(buf) struct buf hidden = { 0 };
	int by_pattern, is_denied = reads_denied(p, v, &by_pattern);

	if (load(&r) < 0 || (!is_denied && !v->is_system && allow_tree(&r, "") < 0))
		return -1;
	if (is_denied && !by_pattern && allow_patterns(&r, &r.allow, "") < 0)
		return -1;
	if (deny_patterns(&r, &r.deny, "") < 0)
		return -1;
	for (size_t i = 0; i < r.n_named; i++)
		if (put_named(&r, &r.named[i]) < 0)
			return -1;
	return put_hidden(p, &hidden, v) < 0 ? -1 : deny(&r, &hidden);
}

int put_reads(const struct profile *p, int is_exec)
{
	const struct reading system = { .p = p, .is_exec = is_exec };
	OWN(buf) struct buf filters = { 0 };
	int by_pattern;

	for (size_t i = 0; i < p->n_views; i++) {
		const struct view *v = &p->views[i];

		if (v->is_system && !reads_denied(p, v, &by_pattern) && put_tree(p, &filters, v, "", 0) < 0)
			return -1;
	}
	if (allow(&system, &filters) < 0)
		return -1;
	for (size_t i = 0; i < p->n_views; i++)
		if (put_view(p, &p->views[i], is_exec) < 0)
			return -1;
	return 0;
}

/* Linux masks what may not be read by a mount, read-only; and what is allowed again in it is so as well. */
int put_unreadable(const struct profile *p, struct buf *filters, const struct view *v)
{
	__attribute__((cleanup(own_reading))) struct reading r = { .p = p, .v = v };

	if (load(&r) < 0 || put_patterns(&r, filters, &r.deny, "") < 0)
		return -1;
	for (size_t i = 0; i < r.n_named; i++)
		if (!r.named[i].is_allowed && put_tree(p, filters, v, r.named[i].path, 1) < 0)
			return -1;
	return 0;
}
