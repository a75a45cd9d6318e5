/*
 * Bytes, sets of bytes, and the patterns of sandbox/names.h, token by token.
 */
#include <stdlib.h>
#include <string.h>

#include "sandbox/seatbelt_internal.h"

static size_t count(const struct bits *b)
{
	size_t n = 0;

	for (size_t i = 0; i < 4; i++)
		n += (size_t)__builtin_popcountll(b->w[i]);
	return n;
}

const struct bits any_byte = {
	{ ~(UINT64_C(1) << '/' | UINT64_C(1)), ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0) }
};

/* --- bytes and sets of bytes --- */

static void add_byte(struct buf *to, unsigned char c)
{
	if (c == '^' || c == '\\')
		buf_addc(to, '\\');
	else if (strchr(".[]*+?(){}|$", c)) {
		buf_addf(to, "[%c]", c);
		return;
	}
	buf_addc(to, (char)c);
}

/* Those with a meaning of their own inside brackets are never the end of a range. */
static int is_plain(const struct bits *b, size_t c)
{
	return c < 256 && bits_has(b, c) && !strchr("]^-[\\", (int)c);
}

/* What stands between brackets: "]" first, "^" not first, "-" last; a backslash twice means itself anywhere. */
static void add_members(struct buf *to, const struct bits *b, int is_negated)
{
	size_t before = to->len;

	if (bits_has(b, ']'))
		buf_addc(to, ']');
	for (size_t c = 1; c < 256; c++) {
		size_t end = c;

		if (c == '[' || c == '\\') {
			if (bits_has(b, c))
				buf_adds(to, c == '[' ? "[" : "\\\\");
			continue;
		}
		if (!is_plain(b, c))
			continue;
		while (is_plain(b, end + 1))
			end++;
		buf_addc(to, (char)c);
		if (end - c >= 3) {
			buf_addc(to, '-');
			buf_addc(to, (char)end);
			c = end;
		}
	}
	if (bits_has(b, '^') && bits_has(b, '-') && to->len == before && !is_negated) {
		buf_adds(to, "-^");
		return;
	}
	if (bits_has(b, '^'))
		buf_addc(to, '^');
	if (bits_has(b, '-'))
		buf_addc(to, '-');
}

void regex_set(struct buf *to, const struct bits *b)
{
	struct bits rest = bits_without(&any_byte, b);

	if (count(b) == 1) {
		for (size_t c = 1; c < 256; c++)
			if (bits_has(b, c))
				add_byte(to, (unsigned char)c);
		return;
	}
	if (count(&rest) < count(b)) {
		bits_set(&rest, '/');
		buf_adds(to, "[^");
		add_members(to, &rest, 1);
	} else {
		buf_addc(to, '[');
		add_members(to, b, 0);
	}
	buf_addc(to, ']');
}

/* --- patterns as tokens --- */

/* Length of a bracket expression at @g, by the rules of names_glob(); 0 if it does not close. */
static size_t bracket_len(const char *g, const char *end)
{
	const char *p = g + 1;

	if (p < end && (*p == '!' || *p == '^'))
		p++;
	for (int first = 1; p < end && (first || *p != ']'); first = 0) {
		p++;
		if (p + 1 < end && *p == '-' && p[1] != ']')
			p += 2;
	}
	return p < end ? (size_t)(p + 1 - g) : 0;
}

/* Which single bytes does this piece of a pattern match? Asked of the matcher itself. */
static struct bits bytes_of(const char *piece, size_t len, int fold)
{
	struct bits b = { { 0 } };

	for (int c = 1; c < 256; c++) {
		char byte = (char)c;

		if (c != '/' && names_glob(piece, len, &byte, 1, fold))
			bits_set(&b, (size_t)c);
	}
	return b;
}

static struct bits byte_of(unsigned char c, int fold)
{
	struct bits b = { { 0 } };

	bits_set(&b, c);
	if (fold && c >= 'A' && c <= 'Z')
		bits_set(&b, c + 32u);
	if (fold && c >= 'a' && c <= 'z')
		bits_set(&b, c - 32u);
	return b;
}

void glob_done(struct glob *g)
{
	free(g->t);
	*g = (struct glob){ 0 };
}

int glob_cut(struct glob *g, const struct name_part *part, int fold)
{
	const char *p = part->text, *end = p + part->len;
	int is_glob = part->kind == NAME_GLOB;

	*g = (struct glob){ .t = calloc(part->len + 1, sizeof(*g->t)) };
	if (!g->t)
		return -1;
	while (p < end) {
		struct token *t = &g->t[g->n];
		size_t used = 1;

		if (is_glob && *p == '*')
			t->is_star = 1;
		else if (is_glob && *p == '?')
			t->set = any_byte;
		else if (is_glob && *p == '[' && (used = bracket_len(p, end)))
			t->set = bytes_of(p, used, fold);
		else
			t->set = byte_of((unsigned char)*p, fold);
		p += used ? used : 1;
		if (!t->is_star || !g->n || !g->t[g->n - 1].is_star)
			g->n++;
	}
	return 0;
}

void regex_tokens(struct buf *to, const struct token *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (t[i].is_star)
			buf_adds(to, "[^/]*");
		else
			regex_set(to, &t[i].set);
	}
}

int regex_text(struct buf *to, const char *text, size_t len, int fold)
{
	for (size_t i = 0; i < len; i++) {
		struct bits b = byte_of((unsigned char)text[i], fold);

		if (text[i] == '/')
			buf_addc(to, '/');
		else
			regex_set(to, &b);
	}
	return to->failed ? -1 : 0;
}

int regex_part(struct buf *to, const struct name_part *part, int fold)
{
	__attribute__((cleanup(glob_done))) struct glob g = { 0 };

	if (glob_cut(&g, part, fold) < 0)
		return -1;
	if (g.n == 1 && g.t[0].is_star)	/* a name is never empty */
		return buf_adds(to, "[^/]+");
	regex_tokens(to, g.t, g.n);
	return to->failed ? -1 : 0;
}

int regex_parts(struct buf *to, const struct name_part *parts, size_t n, int fold)
{
	for (size_t i = 0; i < n; i++) {
		if (parts[i].kind == NAME_ANY_DEPTH) {
			buf_adds(to, "(/[^/]+)*");
			continue;
		}
		buf_addc(to, '/');
		if (regex_part(to, &parts[i], fold) < 0)
			return -1;
	}
	return to->failed ? -1 : 0;
}
