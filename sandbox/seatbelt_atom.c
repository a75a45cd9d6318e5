/*
 * Names that match these patterns and not those. They are read from right to
 * left, since patterns mostly differ at their ends: "*" but not "*.sample" is a
 * short chain then. As soon as none of the patterns that must not match can
 * any more, what is left of the one that must is all there is to say.
 *
 * For "*" but not "test*" the other direction is the short one. It is the same
 * with all tokens turned around, so what is said here of left and right, ends
 * and beginnings, is meant for both.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "sandbox/seatbelt_internal.h"

#define MAX_TOKENS 255	/* a name has no more bytes */
#define GOOD_SIZE 500	/* bytes: a longer expression is worth another try */

/* Having read the end of a name. Without holes, to be compared as bytes. */
struct state {
	struct bits may[ATOM_MAX];	/* of each pattern that must not match, where it may be */
	unsigned char left[ATOM_MAX];	/* of each that must, this many tokens */
	unsigned char has_begun;	/* a name has at least one byte */
	unsigned char unused[7 - ATOM_MAX % 8];
};
_Static_assert(sizeof(struct state) == sizeof(struct bits) * ATOM_MAX + (ATOM_MAX / 8 + 1) * 8, "a hole");

struct search {
	struct glob is[ATOM_MAX], isnt[ATOM_MAX];
	size_t n_is, n_isnt;
	struct bits class[256];		/* bytes no token tells apart */
	size_t n_class;
	struct state *state;
	size_t n_state;
	int is_forward;		/* tokens are turned around */
	struct machine *m;	/* NULL: only asking whether there is a name */
	int found;		/* there is */
};

static void own_search(struct search **s)
{
	for (size_t i = 0; *s && i < ATOM_MAX; i++) {
		glob_done(&(*s)->is[i]);
		glob_done(&(*s)->isnt[i]);
	}
	if (*s)
		free((*s)->state);
	free(*s);
}

static int too_big(void)
{
	errno = E2BIG;
	return -1;
}

/* --- beginning --- */

static void split_classes(struct search *s, const struct bits *by)
{
	size_t n = s->n_class;

	for (size_t i = 0; i < n; i++) {
		struct bits out = bits_without(&s->class[i], by), in = bits_without(&s->class[i], &out);

		if (bits_empty(&out) || bits_empty(&in))
			continue;
		s->class[i] = in;
		s->class[s->n_class++] = out;
	}
}

static void turn_around(struct glob *g)
{
	for (size_t i = 0; i < g->n / 2; i++) {
		struct token t = g->t[i];

		g->t[i] = g->t[g->n - 1 - i];
		g->t[g->n - 1 - i] = t;
	}
}

static int load_glob(struct search *s, struct glob *g, const struct name_part *part, int fold)
{
	if (glob_cut(g, part, fold) < 0)
		return -1;
	if (g->n > MAX_TOKENS)
		return too_big();
	if (s->is_forward)
		turn_around(g);
	for (size_t j = 0; j < g->n; j++)
		if (!g->t[j].is_star)
			split_classes(s, &g->t[j].set);
	return 0;
}

/* A star may match nothing. */
static void close_left(const struct glob *g, struct bits *at)
{
	for (size_t k = g->n; k > 0; k--)
		if (bits_has(at, k) && g->t[k - 1].is_star)
			bits_set(at, k - 1);
}

static int begin(struct search *s, const struct atom *a)
{
	struct state *first = s->state = calloc(1, sizeof(*s->state));

	if (!first)
		return -1;
	s->n_class = 1;
	s->class[0] = any_byte;
	for (; s->n_is < a->n_is; s->n_is++) {
		if (load_glob(s, &s->is[s->n_is], a->is[s->n_is], a->fold) < 0)
			return -1;
		first->left[s->n_is] = (unsigned char)s->is[s->n_is].n;
	}
	for (; s->n_isnt < a->n_isnt; s->n_isnt++) {
		struct glob *g = &s->isnt[s->n_isnt];

		if (load_glob(s, g, a->isnt[s->n_isnt], a->fold) < 0)
			return -1;
		bits_set(&first->may[s->n_isnt], g->n);
		close_left(g, &first->may[s->n_isnt]);
	}
	s->n_state = 1;
	return 0;
}

/* --- one byte further to the left --- */

static struct bits step_back(const struct glob *g, const struct bits *at, const struct bits *class)
{
	struct bits next = { { 0 } };

	for (size_t k = 1; k <= g->n; k++) {
		struct bits miss = bits_without(class, &g->t[k - 1].set);

		if (!bits_has(at, k))
			continue;
		if (g->t[k - 1].is_star)
			bits_set(&next, k);
		else if (bits_empty(&miss))
			bits_set(&next, k - 1);
	}
	close_left(g, &next);
	return next;
}

/* Read a byte of @class: 1 and the state it leads to, or 0 if no name has it here. */
static int read_byte(const struct search *s, const struct state *at, const struct bits *class, struct state *ret)
{
	*ret = (struct state){ .has_begun = 1 };
	for (size_t i = 0; i < s->n_is; i++) {
		const struct token *t = at->left[i] ? &s->is[i].t[at->left[i] - 1] : NULL;
		struct bits miss;

		if (!t)
			return 0;
		miss = bits_without(class, &t->set);
		if (!t->is_star && !bits_empty(&miss))
			return 0;
		ret->left[i] = (unsigned char)(at->left[i] - !t->is_star);
	}
	for (size_t i = 0; i < s->n_isnt; i++) {
		const struct glob *g = &s->isnt[i];

		ret->may[i] = step_back(g, &at->may[i], class);
		if (bits_has(&ret->may[i], 1) && g->t[0].is_star)	/* whatever stands before, it matches */
			return 0;
	}
	return 1;
}

static int is_name(const struct search *s, const struct state *at)
{
	for (size_t i = 0; i < s->n_is; i++)
		if (at->left[i])
			return 0;
	for (size_t i = 0; i < s->n_isnt; i++)
		if (bits_has(&at->may[i], 0))
			return 0;
	/* With nothing that must match, there may always be more; it need not. */
	return at->has_begun;
}

/* Nothing but what is left of one pattern, or anything at all, is to come. */
static int is_free(const struct search *s, const struct state *at)
{
	for (size_t i = 0; i < s->n_isnt; i++)
		if (!bits_empty(&at->may[i]))
			return 0;
	return at->has_begun && s->n_is <= 1;
}

/* --- all of them --- */

/* State 0 is the machine's start; the others stand one further, behind its end. */
static size_t machine_state(size_t state)
{
	return state ? state + 1 : MACHINE_START;
}

static int find_state(struct search *s, const struct state *at)
{
	struct state *more;

	for (size_t i = 0; i < s->n_state; i++)
		if (!memcmp(&s->state[i], at, sizeof(*at)))
			return (int)i;
	if (s->n_state == MACHINE_MAX - 1)
		return too_big();
	more = reallocarray(s->state, s->n_state + 1, sizeof(*more));
	if (more)
		s->state = more;
	if (!more || (s->m && machine_add(s->m) < 0))
		return -1;
	memcpy(&more[s->n_state], at, sizeof(*at));
	return (int)s->n_state++;
}

/* The beginning of the name, as far as it is left to say. */
static void add_rest(const struct search *s, struct buf *label, size_t left)
{
	if (!s->n_is)
		buf_adds(label, "[^/]*");
	else if (!s->is_forward)
		regex_tokens(label, s->is[0].t, left);
	else
		while (left--)
			regex_tokens(label, &s->is[0].t[left], 1);
}

/* A byte of @last, and then nothing but what is left. */
static int finish(struct search *s, size_t from, size_t left, const struct bits *last)
{
	OWN(buf) struct buf label = { 0 };

	s->found = 1;
	if (!s->m)
		return 0;
	if (s->is_forward)
		regex_set(&label, last);
	add_rest(s, &label, left);
	if (!s->is_forward)
		regex_set(&label, last);
	return label.failed ? -1 : machine_edge(s->m, machine_state(from), MACHINE_END, label.data);
}

static int add_edge(struct search *s, size_t from, size_t to, const struct bits *bytes)
{
	OWN(buf) struct buf label = { 0 };

	if (!s->m)
		return 0;
	if (bytes)
		regex_set(&label, bytes);
	return label.failed ? -1 :
		machine_edge(s->m, machine_state(from), machine_state(to), label.data ? label.data : "");
}

/* Stars that match nothing more. */
static int skip_stars(struct search *s, size_t from)
{
	for (size_t i = 0; i < s->n_is; i++) {
		struct state next = s->state[from];
		int to;

		if (!next.left[i] || !s->is[i].t[next.left[i] - 1].is_star)
			continue;
		next.left[i]--;
		to = find_state(s, &next);
		if (to < 0 || add_edge(s, from, (size_t)to, NULL) < 0)
			return -1;
	}
	return 0;
}

static void join(struct bits *to, const struct bits *more)
{
	for (size_t i = 0; i < 4; i++)
		to->w[i] |= more->w[i];
}

/* Bytes that lead to the same place make one edge. */
static int expand(struct search *s, size_t from)
{
	struct bits edge[MACHINE_MAX] = { 0 }, free_edge[MAX_TOKENS + 1] = { 0 };

	if (is_name(s, &s->state[from])) {
		s->found = 1;
		if (s->m && machine_edge(s->m, machine_state(from), MACHINE_END, "") < 0)
			return -1;
	}
	if (skip_stars(s, from) < 0)
		return -1;
	for (size_t c = 0; c < s->n_class; c++) {
		struct state next;
		int to;

		if (!read_byte(s, &s->state[from], &s->class[c], &next))
			continue;
		if (is_free(s, &next)) {
			join(&free_edge[next.left[0]], &s->class[c]);
			continue;
		}
		to = find_state(s, &next);
		if (to < 0)
			return -1;
		join(&edge[to], &s->class[c]);
	}
	for (size_t to = 0; to < s->n_state; to++)
		if (!bits_empty(&edge[to]) && add_edge(s, from, to, &edge[to]) < 0)
			return -1;
	for (size_t left = 0; left <= MAX_TOKENS; left++)
		if (!bits_empty(&free_edge[left]) && finish(s, from, left, &free_edge[left]) < 0)
			return -1;
	return 0;
}

int atom_possible(const struct atom *a)
{
	__attribute__((cleanup(own_search))) struct search *s = calloc(1, sizeof(*s));

	if (!s || begin(s, a) < 0)
		return -1;
	for (size_t i = 0; i < s->n_state && !s->found; i++)
		if (expand(s, i) < 0)
			return -1;
	return s->found;
}

static void own_machine(struct machine *m)
{
	machine_done(m);
}

static int try_regex(const struct atom *a, int is_forward, struct buf *to)
{
	__attribute__((cleanup(own_search))) struct search *s = calloc(1, sizeof(*s));
	__attribute__((cleanup(own_machine))) struct machine m = { 0 };

	if (s)
		s->is_forward = is_forward;
	if (!s || begin(s, a) < 0 || machine_init(&m) < 0)
		return -1;
	m.is_forward = is_forward;
	s->m = &m;
	for (size_t i = 0; i < s->n_state; i++)
		if (expand(s, i) < 0)
			return -1;
	return machine_regex(&m, to);
}

int atom_regex(const struct atom *a, struct buf *to)
{
	OWN(buf) struct buf back = { 0 };
	OWN(buf) struct buf forward = { 0 };
	int r, r_forward;

	if (!a->n_is && !a->n_isnt)
		return buf_adds(to, "[^/]+") < 0 ? -1 : 1;
	if (a->n_is == 1 && !a->n_isnt)
		return regex_part(to, a->is[0], a->fold) < 0 ? -1 : 1;
	r = try_regex(a, 0, &back);
	if (!r || (r > 0 && back.len <= GOOD_SIZE))
		return buf_add(to, back.data, back.len) < 0 ? -1 : r;
	r_forward = try_regex(a, 1, &forward);
	if (r_forward > 0 && (r < 0 || forward.len < back.len))
		return buf_add(to, forward.data, forward.len) < 0 ? -1 : 1;
	return r < 0 || buf_add(to, back.data, back.len) < 0 ? -1 : r;
}
