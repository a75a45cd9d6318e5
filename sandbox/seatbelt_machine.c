/*
 * An automaton becomes an expression: its states are bypassed one by one, each
 * leaving behind longer labels on the edges around it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "sandbox/seatbelt_internal.h"

#define MAX_LABEL 32768		/* bytes of one expression */

/* Appending fails for want of memory or by the bound; the bound is far more likely. */
static int too_big(void)
{
	errno = E2BIG;
	return -1;
}

int machine_init(struct machine *m)
{
	*m = (struct machine){ .n = 2, .cap = 8 };
	m->label = calloc(m->cap * m->cap, sizeof(*m->label));
	return m->label ? 0 : -1;
}

void machine_done(struct machine *m)
{
	for (size_t i = 0; m->label && i < m->cap * m->cap; i++)
		free(m->label[i]);
	free(m->label);
	*m = (struct machine){ 0 };
}

static char **edge(const struct machine *m, size_t from, size_t to)
{
	return &m->label[from * m->cap + to];
}

static int grow(struct machine *m)
{
	struct machine more = { .is_forward = m->is_forward, .n = m->n, .cap = m->cap * 2 };

	more.label = calloc(more.cap * more.cap, sizeof(*more.label));
	if (!more.label)
		return -1;
	for (size_t i = 0; i < m->n; i++)
		memcpy(edge(&more, i, 0), edge(m, i, 0), m->n * sizeof(*m->label));
	free(m->label);
	*m = more;
	return 0;
}

int machine_add(struct machine *m)
{
	if (m->n == MACHINE_MAX)
		return too_big();
	if (m->n == m->cap && grow(m) < 0)
		return -1;
	return (int)m->n++;
}

/* Length of the first atom of an expression: a byte, an escaped one, a bracket, a group. */
static size_t first_atom(const char *s)
{
	const char *p = s;
	int depth = 0;

	do {
		if (*p == '\\') {
			p += 2;
		} else if (*p == '[') {
			p += p[1] == '^' ? 2 : 1;
			p += *p == ']';
			p += strcspn(p, "]") + 1;
		} else {
			depth += (*p == '(') - (*p == ')');
			p++;
		}
	} while (depth && *p);
	return (size_t)(p - s);
}

static int is_atom(const char *s)
{
	return *s && first_atom(s) == strlen(s);
}

/* Append alternatives: a whole group of them is opened, so that they do not nest. */
static void add_choice(struct buf *to, const char *s)
{
	if (*s == '(' && is_atom(s))
		buf_add(to, s + 1, strlen(s) - 2);
	else
		buf_adds(to, s);
}

/* What matches either; labels are always safe to stand beside others. */
static char *either(const char *a, const char *b)
{
	struct buf r = { .max = MAX_LABEL };
	const char *some = *a ? a : b;

	if (!strcmp(a, b))
		return strdup(a);
	if (!*a || !*b) {
		if (is_atom(some))
			buf_addf(&r, "%s?", some);
		else
			buf_addf(&r, "(%s)?", some);
		return buf_steal(&r);
	}
	buf_addc(&r, '(');
	add_choice(&r, a);
	buf_addc(&r, '|');
	add_choice(&r, b);
	buf_addc(&r, ')');
	return buf_steal(&r);
}

int machine_edge(struct machine *m, size_t from, size_t to, const char *text)
{
	char **at = edge(m, from, to);
	char *label = *at ? either(*at, text) : strdup(text);

	if (!label)
		return too_big();
	free(*at);
	*at = label;
	return 0;
}

static int bypass_one(struct machine *m, size_t from, size_t k, size_t to)
{
	const char *in = *edge(m, from, k), *out = *edge(m, k, to), *loop = *edge(m, k, k);
	OWN(buf) struct buf r = { .max = MAX_LABEL };

	buf_adds(&r, m->is_forward ? in : out);
	if (loop && *loop)
		buf_addf(&r, is_atom(loop) ? "%s*" : "(%s)*", loop);
	buf_adds(&r, m->is_forward ? out : in);
	if (r.failed)
		return too_big();
	return machine_edge(m, from, to, r.data ? r.data : "");
}

static void forget(struct machine *m, size_t k)
{
	for (size_t i = 0; i < m->n; i++) {
		free(TAKE(*edge(m, i, k)));
		free(TAKE(*edge(m, k, i)));
	}
}

/* How many labels it takes to go around a state. */
static size_t cost(const struct machine *m, size_t k)
{
	size_t in = 0, out = 0;

	for (size_t i = 0; i < m->n; i++) {
		in += i != k && *edge(m, i, k);
		out += i != k && *edge(m, k, i);
	}
	return in * out;
}

static int bypass(struct machine *m, size_t k)
{
	for (size_t i = 0; i < m->n; i++) {
		if (i == k || !*edge(m, i, k))
			continue;
		for (size_t j = 0; j < m->n; j++)
			if (j != k && *edge(m, k, j) && bypass_one(m, i, k, j) < 0)
				return -1;
	}
	forget(m, k);
	return 0;
}

/* Drop the states from which no edge leads to the end: @lives is made true for the others. */
static void trim(struct machine *m, unsigned char lives[MACHINE_MAX])
{
	int found = 1;

	while (found) {
		found = 0;
		for (size_t i = 0; i < m->n; i++)
			for (size_t j = 0; j < m->n && !lives[i]; j++)
				if (lives[j] && *edge(m, i, j))
					found = lives[i] = 1;
	}
	for (size_t i = 2; i < m->n; i++)
		if (!lives[i])
			forget(m, i);
}

int machine_regex(struct machine *m, struct buf *to)
{
	unsigned char gone[MACHINE_MAX] = { 1, 1 }, lives[MACHINE_MAX] = { 0, 1 };
	const char *whole;

	trim(m, lives);
	for (size_t round = 2; round < m->n; round++) {
		size_t best = 0;

		for (size_t k = 2; k < m->n; k++)
			if (!gone[k] && (!best || cost(m, k) < cost(m, best)))
				best = k;
		if (bypass(m, best) < 0)
			return -1;
		gone[best] = 1;
	}
	whole = *edge(m, MACHINE_START, MACHINE_END);
	if (!whole)
		return 0;
	return buf_adds(to, whole) < 0 ? -1 : 1;
}
