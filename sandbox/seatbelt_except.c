/*
 * A rule without its exceptions: the paths that it matches and none of them
 * does. All are read from their last part back, since exceptions mostly differ
 * from their rule at the end; as soon as no exception can match any more, the
 * rule's own beginning is all that is left to say.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "sandbox/seatbelt_internal.h"

#define MAX_ACTIVE 64	/* different parts to ask a name about at once */
#define MAX_ANSWERS 2000	/* of one rule: each takes a moment */

static int too_big(void)
{
	errno = E2BIG;
	return -1;
}

static uint64_t bit(size_t i)
{
	return UINT64_C(1) << i;
}

/* --- do two rests have a path in common? --- */

/* 1, 0 or -1 */
static int have_common_name(const struct name_part *a, const struct name_part *b, int fold)
{
	const struct atom both = { .is = { a, b }, .n_is = 2, .fold = fold };

	if (a->kind == NAME_ANY_DEPTH || b->kind == NAME_ANY_DEPTH)
		return 1;
	if (!fold && a->kind == NAME_LITERAL)
		return names_glob(b->text, b->len, a->text, a->len, 0);
	if (!fold && b->kind == NAME_LITERAL)
		return names_glob(a->text, a->len, b->text, b->len, 0);
	return atom_possible(&both);
}

/* Walk both from their beginnings: reached[i] has bit j if some path leads i and j parts in. */
static int have_common_path(const struct rest *one, const struct rest *two, int fold)
{
	uint64_t reached[NAMES_MAX_PARTS + 2] = { 1 };
	size_t n, m;
	const struct name_part *a = rest_parts(one, &n), *b = rest_parts(two, &m);

	for (size_t i = 0; i <= n; i++) {
		for (size_t j = 0; j <= m; j++) {
			int is_deep = i < n && a[i].kind == NAME_ANY_DEPTH;
			int is_deep_too = j < m && b[j].kind == NAME_ANY_DEPTH;
			int r;

			if (!(reached[i] & bit(j)))
				continue;
			if (is_deep)
				reached[i + 1] |= bit(j);
			if (is_deep_too)
				reached[i] |= bit(j + 1);
			if (i == n || j == m)
				continue;
			r = have_common_name(&a[i], &b[j], fold);
			if (r < 0)
				return -1;
			if (r)
				reached[is_deep ? i : i + 1] |= bit(is_deep_too ? j : j + 1);
		}
	}
	return (reached[n] & bit(m)) != 0;
}

/* --- exceptions as a tree --- */

/*
 * Of the exceptions, their beginnings: those that begin alike share nodes, and
 * so are known to have the same left to match. Node 0 is nothing left.
 */
struct node {
	const struct name_part *part;
	size_t parent;
};

struct difference {
	const struct name_part *parts;
	size_t n;
	int fold;
	struct node node[256];
	size_t n_node;
	struct state {
		struct bits at;	/* where exceptions may be */
		size_t left;	/* parts of the rule */
	} state[MACHINE_MAX];
	size_t n_state;
	size_t n_answer;
	struct machine m;
};

static int same_part(const struct name_part *a, const struct name_part *b)
{
	return a->kind == b->kind && a->len == b->len && !memcmp(a->text, b->text, a->len);
}

/* The node for @part below @parent; 0 when there is no more room. */
static size_t find_node(struct difference *d, size_t parent, const struct name_part *part)
{
	for (size_t i = 1; i < d->n_node; i++)
		if (d->node[i].parent == parent && same_part(d->node[i].part, part))
			return i;
	if (d->n_node == sizeof(d->node) / sizeof(*d->node))
		return 0;
	d->node[d->n_node] = (struct node){ part, parent };
	return d->n_node++;
}

static int is_deep(const struct difference *d, size_t node)
{
	return node && d->node[node].part->kind == NAME_ANY_DEPTH;
}

/* "**" may match nothing. Parents have smaller numbers than their children. */
static void close_left(const struct difference *d, struct bits *at)
{
	for (size_t i = d->n_node; i-- > 1;)
		if (bits_has(at, i) && is_deep(d, i))
			bits_set(at, d->node[i].parent);
}

static int add_exception(struct difference *d, const struct rest *e, struct bits *at)
{
	size_t n, node = 0;
	const struct name_part *parts = rest_parts(e, &n);

	for (size_t i = 0; i < n; i++) {
		node = find_node(d, node, &parts[i]);
		if (!node)
			return too_big();
	}
	bits_set(at, node);
	return 0;
}

static int add_exceptions(struct difference *d, const struct rest *rest, const struct rests *all, struct bits *at)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct rest *e = &all->v[i];
		int r;

		if (!e->rule->is_exception || e->index < rest->index)
			continue;
		r = have_common_path(rest, e, d->fold);
		if (r < 0 || (r && add_exception(d, e, at) < 0))
			return -1;
	}
	close_left(d, at);
	return 0;
}

/* --- reading back --- */

/* A name in the making: what is asked of it, and what the answers are. */
struct question {
	const struct name_part *part[MAX_ACTIVE];
	int is_so[MAX_ACTIVE];
	size_t n;
};

static size_t machine_state(size_t state)
{
	return state ? state + 1 : MACHINE_START;
}

/* Whatever stands before, some exception matches. */
static int is_excepted(const struct difference *d, const struct bits *at)
{
	for (size_t i = 1; i < d->n_node; i++)
		if (bits_has(at, i) && is_deep(d, i) && !d->node[i].parent)
			return 1;
	return 0;
}

static int find_state(struct difference *d, size_t left, const struct bits *at)
{
	for (size_t i = 0; i < d->n_state; i++)
		if (d->state[i].left == left && !memcmp(&d->state[i].at, at, sizeof(*at)))
			return (int)i;
	if (d->n_state == MACHINE_MAX - 1)
		return too_big();
	if (d->n_state && machine_add(&d->m) < 0)
		return -1;
	d->state[d->n_state] = (struct state){ *at, left };
	return (int)d->n_state++;
}

/* From machine state @from, having read @label, with @left parts of the rule to go. */
static int go(struct difference *d, size_t from, size_t left, const struct bits *at, const char *label)
{
	OWN(buf) struct buf rest = { 0 };
	int to;

	if (is_excepted(d, at))
		return 0;
	if (bits_empty(at)) {
		if (regex_parts(&rest, d->parts, left, d->fold) < 0 || buf_adds(&rest, label) < 0)
			return -1;
		return machine_edge(&d->m, from, MACHINE_END, rest.data);
	}
	to = find_state(d, left, at);
	return to < 0 ? -1 : machine_edge(&d->m, from, machine_state((size_t)to), label);
}

static size_t find_part(const struct question *q, const struct name_part *part)
{
	size_t i = 0;

	while (i < q->n && !same_part(q->part[i], part))
		i++;
	return i;
}

/* What the exceptions want to know of the next name. */
static int ask(const struct difference *d, const struct bits *at, struct question *q)
{
	for (size_t i = 1; i < d->n_node; i++) {
		const struct name_part *part = d->node[i].part;

		if (!bits_has(at, i) || is_deep(d, i) || find_part(q, part) < q->n)
			continue;
		if (q->n == MAX_ACTIVE)
			return too_big();
		q->part[q->n++] = part;
	}
	return 0;
}

/* All is answered: where are the exceptions after such a name? */
static int read_name(struct difference *d, size_t from, size_t left, const struct bits *at,
		     const struct question *q, const struct atom *name)
{
	OWN(buf) struct buf label = { 0 };
	struct bits next = { { 0 } };

	for (size_t i = 1; i < d->n_node; i++) {
		if (!bits_has(at, i))
			continue;
		if (is_deep(d, i))
			bits_set(&next, i);
		else if (q->is_so[find_part(q, d->node[i].part)])
			bits_set(&next, d->node[i].parent);
	}
	close_left(d, &next);
	buf_addc(&label, '/');
	if (atom_regex(name, &label) < 0 || label.failed)
		return -1;
	return go(d, from, left, &next, label.data);
}

/* Answer the questions from @i on in every way there are names for. */
static int answer(struct difference *d, size_t from, size_t left, const struct bits *at, struct question *q,
		  size_t i, const struct atom *name)
{
	struct atom yes = *name, no = *name;
	int can, need_not;

	if (d->n_answer++ == MAX_ANSWERS)
		return too_big();
	if (i == q->n)
		return read_name(d, from, left, at, q, name);
	if (name->n_is == ATOM_MAX || name->n_isnt == ATOM_MAX)
		return too_big();
	yes.is[yes.n_is++] = q->part[i];
	no.isnt[no.n_isnt++] = q->part[i];
	can = atom_possible(&yes);
	need_not = atom_possible(&no);
	if (can < 0 || need_not < 0)
		return -1;
	q->is_so[i] = 1;
	if (can && answer(d, from, left, at, q, i + 1, need_not ? &yes : name) < 0)
		return -1;
	q->is_so[i] = 0;
	return need_not ? answer(d, from, left, at, q, i + 1, can ? &no : name) : 0;
}

/* All that can stand left of what led to this state. */
static int expand(struct difference *d, size_t state)
{
	const struct bits at = d->state[state].at;
	size_t left = d->state[state].left, from = machine_state(state);
	struct question q = { 0 };
	struct atom name = { .fold = d->fold };
	int any_depth;

	if (!left)
		return bits_has(&at, 0) ? 0 : machine_edge(&d->m, from, MACHINE_END, "");
	any_depth = d->parts[left - 1].kind == NAME_ANY_DEPTH;
	if (any_depth && go(d, from, left - 1, &at, "") < 0)
		return -1;
	/* Any name will do for "*" too. */
	if (!any_depth && (d->parts[left - 1].len != 1 || d->parts[left - 1].text[0] != '*'))
		name.is[name.n_is++] = &d->parts[left - 1];
	if (ask(d, &at, &q) < 0)
		return -1;
	return answer(d, from, any_depth ? left : left - 1, &at, &q, 0, &name);
}

static void own_difference(struct difference **d)
{
	if (*d)
		machine_done(&(*d)->m);
	free(*d);
}

int rest_regex(const struct rest *rest, const struct rests *all, int fold, struct buf *to, int *ret_is_cut)
{
	__attribute__((cleanup(own_difference))) struct difference *d = calloc(1, sizeof(*d));
	struct bits at = { { 0 } };

	if (!d)
		return -1;
	d->fold = fold;
	d->n_node = 1;
	d->parts = rest_parts(rest, &d->n);
	if (add_exceptions(d, rest, all, &at) < 0)
		return -1;
	*ret_is_cut = !bits_empty(&at);
	if (!*ret_is_cut)
		return regex_parts(to, d->parts, d->n, fold) < 0 ? -1 : 1;
	if (machine_init(&d->m) < 0 || find_state(d, d->n, &at) < 0)
		return -1;
	for (size_t i = 0; i < d->n_state; i++)
		if (expand(d, i) < 0)
			return -1;
	return machine_regex(&d->m, to);
}
