/*
 * What a rule means below a directory. The profile knows host paths only, and a
 * directory may be shown elsewhere to the command; so a rule is first led down
 * to that directory, and what is left of it is said of the host path.
 */
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/strv.h"
#include "sandbox/seatbelt_internal.h"

/* --- a rule's states: bit i set means that its parts before i are matched --- */

static uint64_t bit(size_t i)
{
	return UINT64_C(1) << i;
}

static uint64_t close_right(const struct name_rule *r, uint64_t states)
{
	for (size_t i = 0; i < r->n_parts; i++)
		if ((states & bit(i)) && r->parts[i].kind == NAME_ANY_DEPTH)
			states |= bit(i + 1);
	return states;
}

static uint64_t step(const struct name_rule *r, uint64_t states, const char *s, size_t len, int fold)
{
	uint64_t next = 0;

	for (size_t i = 0; i < r->n_parts; i++) {
		const struct name_part *p = &r->parts[i];

		if (!(states & bit(i)))
			continue;
		if (p->kind == NAME_ANY_DEPTH)
			next |= bit(i);
		else if (names_glob(p->text, p->len, s, len, fold))	/* a literal has no pattern in it */
			next |= bit(i + 1);
	}
	return close_right(r, next);
}

static uint64_t walk(const struct name_rule *r, uint64_t states, const char *path, size_t path_len, int fold)
{
	const char *end = path + path_len;

	states = close_right(r, states);
	while (path < end && states) {
		size_t len = 0;

		while (path < end && *path == '/')
			path++;
		while (path + len < end && path[len] != '/')
			len++;
		if (len)
			states = step(r, states, path, len, fold);
		path += len;
	}
	return states;
}

int rule_takes(const struct name_rule *rule, const char *path, size_t len, int fold)
{
	return (walk(rule, 1, path, len, fold) & bit(rule->n_parts)) != 0;
}

int rest_takes(const struct rest *rest, const char *path, int fold)
{
	return (walk(rest->rule, bit(rest->from), path, strlen(path), fold) & bit(rest->rule->n_parts)) != 0;
}

/* --- lists of rests --- */

void rests_done(struct rests *r)
{
	free(r->v);
	*r = (struct rests){ 0 };
}

static int add_rest(struct rests *r, struct rest rest)
{
	if (r->n == r->cap) {
		struct rest *more = reallocarray(r->v, r->cap ? r->cap * 2 : 16, sizeof(*more));

		if (!more)
			return -1;
		r->v = more;
		r->cap = r->cap ? r->cap * 2 : 16;
	}
	r->v[r->n++] = rest;
	return 0;
}

/* One rest for each state from which there is a way on; none behind a "**" that may match nothing. */
static int add_states(struct rests *r, const struct name_rule *rule, size_t index, uint64_t states)
{
	for (size_t i = 0; i < rule->n_parts; i++) {
		if (!(states & bit(i)))
			continue;
		if (i && (states & bit(i - 1)) && rule->parts[i - 1].kind == NAME_ANY_DEPTH)
			continue;
		if (add_rest(r, (struct rest){ rule, index, i }) < 0)
			return -1;
	}
	return 0;
}

int rule_is_anchored(const struct name_rule *rule)
{
	return rule->parts[0].kind == NAME_LITERAL;
}

int rests_below(struct rests *r, const struct names *n, const char *const at[])
{
	for (size_t i = 0; i < n->n; i++) {
		uint64_t states = 0;

		for (size_t k = 0; at[k] && (!k || rule_is_anchored(&n->rules[i])); k++)
			states |= walk(&n->rules[i], 1, at[k], strlen(at[k]), n->fold_case);
		if (add_states(r, &n->rules[i], i, states) < 0)
			return -1;
	}
	return 0;
}

int rest_below(struct rests *r, const struct rest *rest, const char *path, int fold)
{
	return add_states(r, rest->rule, rest->index,
			  walk(rest->rule, bit(rest->from), path, strlen(path), fold));
}

int rule_is_literal(const struct name_rule *rule)
{
	for (size_t i = 0; i < rule->n_parts; i++)
		if (rule->parts[i].kind != NAME_LITERAL)
			return 0;
	return 1;
}

int rest_text(const struct rest *rest, struct buf *to)
{
	for (size_t i = rest->from; i < rest->rule->n_parts; i++) {
		buf_addc(to, '/');
		buf_add(to, rest->rule->parts[i].text, rest->rule->parts[i].len);
	}
	return to->failed ? -1 : 0;
}

const struct name_part *rest_parts(const struct rest *rest, size_t *ret_n)
{
	*ret_n = rest->rule->n_parts - rest->from;
	return rest->rule->parts + rest->from;
}

/* --- the way into a rule --- */

int rest_heads(const struct rest *rest, int fold, struct strv *to)
{
	const struct name_part *parts = rest->rule->parts;
	size_t n = rest->rule->n_parts, lead = 0;

	/* Having come through a leading "**" says nothing of where one is. */
	while (parts[lead].kind == NAME_ANY_DEPTH)
		lead++;
	for (size_t i = rest->from; i < n; i++) {
		int is_deep = parts[i].kind == NAME_ANY_DEPTH;
		OWN(buf) struct buf regex = { 0 };

		if ((lead && i <= lead) || (i == rest->from && !is_deep))
			continue;
		if (regex_parts(&regex, parts + rest->from, i - rest->from + (size_t)is_deep, fold) < 0 ||
		    (!strv_has(to, regex.data) && strv_add(to, regex.data) < 0))
			return -1;
		if (is_deep)	/* all that lies below */
			break;
	}
	return 0;
}
