/*
 * Braces: a{b,c}d is two words, {1..3} three, before anything else of a word
 * is looked at.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "gates/judge.h"

/* Parts with unquoted "{", "," and "}" standing alone, so that they can be matched up. */
static struct part *isolate_braces(struct arena *a, const struct part *parts)
{
	struct part *first = NULL, **tail = &first;

	for (; parts; parts = parts->next) {
		const char *s = parts->text;
		size_t left = parts->kind == PART_TEXT && !parts->quoted ? parts->len : 0;

		if (!left) {
			*tail = ARENA_NEW(a, struct part);
			**tail = *parts;
			(*tail)->next = NULL;
			tail = &(*tail)->next;
		}
		while (left) {
			size_t n = strcspn(s, "{,}");

			n = n ? n : 1;
			*tail = ARENA_NEW(a, struct part);
			**tail = *parts;
			(*tail)->text = arena_dup(a, s, n);
			(*tail)->len = n;
			(*tail)->next = NULL;
			tail = &(*tail)->next;
			s += n;
			left -= n;
		}
	}
	return first;
}

static bool is_brace(const struct part *p, char c)
{
	return p->kind == PART_TEXT && !p->quoted && p->len == 1 && p->text[0] == c;
}

/* The "}" that ends the "{" at @open, if a comma stands between at its level, or a range. */
static const struct part *brace_end(const struct part *open)
{
	const struct part *inner = open->next;
	bool has_comma = false;
	int depth = 0;

	for (const struct part *p = open; p; p = p->next) {
		depth += is_brace(p, '{') ? 1 : is_brace(p, '}') ? -1 : 0;
		has_comma |= depth == 1 && is_brace(p, ',');
		if (depth)
			continue;
		if (!has_comma &&
		    !(inner && inner->next == p && inner->kind == PART_TEXT && strstr(inner->text, "..")))
			return NULL;
		return p;
	}
	return NULL;
}

static struct part *copy_until(struct arena *a, const struct part *p, const struct part *end,
			       struct part *rest)
{
	struct part *first = NULL, **tail = &first;

	for (; p && p != end; p = p->next) {
		*tail = ARENA_NEW(a, struct part);
		**tail = *p;
		(*tail)->next = NULL;
		tail = &(*tail)->next;
	}
	*tail = rest;
	return first;
}

struct braces {
	struct judge *j;
	struct part **v;	/* the words found */
	size_t n;
};

static void brace_words(struct braces *b, struct part *parts, unsigned int depth);

static struct part *range_item(struct braces *b, long at, bool is_char, struct part *rest)
{
	struct part *p = ARENA_NEW(b->j->arena, struct part);

	p->op = "";
	p->quoted = true;
	p->text = is_char ? arena_printf(b->j->arena, "%c", (int)at) : arena_printf(b->j->arena, "%ld", at);
	p->len = strlen(p->text);
	p->next = rest;
	return p;
}

/* {1..9}, {a..e}; false when it is none. A long one is cut: what matters are its kind and its ends. */
static bool brace_range(struct braces *b, struct part *parts, const struct part *open, const struct part *end,
			unsigned int depth)
{
	const char *s = open->next->text, *dots = strstr(s, "..");
	bool is_char =
		isalpha((unsigned char)s[0]) && dots == s + 1 && isalpha((unsigned char)dots[2]) && !dots[3];
	char *stop;
	long from = is_char ? s[0] : strtol(s, &stop, 10), to, step;

	if (!is_char && (stop != dots || stop == s))
		return false;
	to = is_char ? dots[2] : strtol(dots + 2, &stop, 10);
	if (!is_char && *stop && strncmp(stop, "..", 2))
		return false;
	step = from <= to ? 1 : -1;
	for (long at = from; b->n < BRACE_MAX; at += step) {
		struct part *rest = copy_until(b->j->arena, end->next, NULL, NULL);

		brace_words(b, copy_until(b->j->arena, parts, open, range_item(b, at, is_char, rest)),
			    depth + 1);
		if (at == to)
			break;
	}
	return true;
}

static void brace_words(struct braces *b, struct part *parts, unsigned int depth)
{
	struct arena *a = b->j->arena;
	const struct part *open, *end = NULL, *item;
	int level = 0;

	for (open = parts; open; open = open->next)
		if (is_brace(open, '{') && (end = brace_end(open)))
			break;
	if (b->n >= BRACE_MAX || depth > 16)
		return;
	if (!open) {
		b->v[b->n++] = parts;
		return;
	}
	if (open->next->next == end && strstr(open->next->text, "..") &&
	    brace_range(b, parts, open, end, depth))
		return;
	item = open->next;
	for (const struct part *p = open->next;; p = p->next) {
		level += is_brace(p, '{') ? 1 : 0;
		if ((p == end || is_brace(p, ',')) && !level) {
			struct part *rest = copy_until(a, end->next, NULL, NULL);

			brace_words(b, copy_until(a, parts, open, copy_until(a, item, p, rest)), depth + 1);
			item = p->next;
		}
		if (p == end)
			break;
		level -= is_brace(p, '}') ? 1 : 0;
	}
}

bool brace_may(const struct word *w)
{
	for (const struct part *p = w->parts; p; p = p->next)
		if (p->kind == PART_TEXT && !p->quoted && memchr(p->text, '{', p->len))
			return true;
	return false;
}

size_t brace_expand(struct judge *j, const struct word *w, struct part *v[BRACE_MAX])
{
	struct braces b = { .j = j, .v = v };

	brace_words(&b, isolate_braces(j->arena, w->parts), 0);
	return b.n;
}
