#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "gates/judge.h"
#include "gates/rule_words.h"

#define MAX_PATTERN 64u		/* words of a pattern */
#define MAX_WORDS 1024u		/* of a command; behind that, anything may stand */

/* --- reading patterns --- */

static const char signs[] = "*?[\\";

static int bad(const char *text, const char *why, struct err *err)
{
	return err_set(err, ERR_INPUT, 0, "command pattern '%s' %s", text, why);
}

/* One word from *at, in the form rule_glob.h wants; NULL, or what is wrong. */
static const char *read_word(const char **at, struct buf *b, bool *ret_is_plain)
{
	const char *s = *at;
	bool in_quotes = false;

	*ret_is_plain = true;
	buf_adds(b, "");
	for (; *s && (in_quotes || (*s != ' ' && *s != '\t')); s++) {
		if (iscntrl((unsigned char)*s))
			return "holds a control byte";
		if (*s == '\'') {
			in_quotes = !in_quotes;
			*ret_is_plain = false;
			continue;
		}
		if (*s == '"' && !in_quotes)
			return "has a double quote; use single ones";
		if (*s == '\\' && !in_quotes) {
			if (!*++s)
				return "ends in a backslash";
			buf_addf(b, "\\%c", *s);
			*ret_is_plain = false;
			continue;
		}
		if (in_quotes && strchr(signs, *s))
			buf_addc(b, '\\');
		buf_addc(b, *s);
	}
	*at = s;
	return in_quotes ? "has a quote that nothing closes" : NULL;
}

int words_parse(const char *text, struct rule_words *ret, struct err *err)
{
	struct rule_words w = { 0 };
	const char *at = text, *why = NULL;
	int failed = 0;

	while (!why && !failed && *(at += strspn(at, " \t"))) {
		OWN(buf) struct buf b = { 0 };
		bool is_plain;

		why = read_word(&at, &b, &is_plain);
		if (why)
			break;
		if (w.is_exact)
			why = "has words behind '$', which means the end";
		else if (w.words.n == MAX_PATTERN)
			why = "has too many words";
		else if (is_plain && !b.failed && !strcmp(b.data, "$"))
			w.is_exact = true;
		else
			failed = b.failed || strv_add(&w.words, b.data) < 0;
	}
	if (!why && !failed && !w.words.n)
		why = "is empty";
	if (!why && !failed) {
		*ret = w;
		return 0;
	}
	words_done(&w);
	return failed ? err_set(err, ERR_NOMEM, 0, "out of memory") : bad(text, why, err);
}

void words_done(struct rule_words *w)
{
	strv_done(&w->words);
	w->is_exact = false;
}

int words_quote(struct buf *b, const char *word)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@%+~^";

	if (*word && strspn(word, safe) == strlen(word))
		return buf_adds(b, word);
	buf_addc(b, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			buf_adds(b, "'\\''");
		else
			buf_addc(b, *word);
	}
	return buf_addc(b, '\'');
}

/* --- what a command could be --- */

static bool is_any_number(const char *word)
{
	return !strcmp(word, "**");
}

static bool is_known(const struct arg *a)
{
	return a->is_known && !a->is_glob;
}

static bool is_option(const struct arg *a)
{
	return a->text[0] == '-' && a->text[1];
}

/* Words of a pattern that may stand anywhere behind those before them. */
static bool is_loose(const char *word)
{
	return (word[0] == '-' && word[1]) || strchr(word, '=');
}

/* "-rf": letters that may as well be spread over several words, in any order. */
static bool is_cluster(const char *word)
{
	size_t n = strlen(word);

	if (n < 2 || word[0] != '-')
		return false;
	for (size_t i = 1; i < n; i++)
		if (!isalpha((unsigned char)word[i]))
			return false;
	return true;
}

static enum tri name_hit(const char *pattern, const struct arg *a)
{
	const char *text = strchr(pattern, '/') ? a->text : path_base(a->text);

	if (a->may_split)
		return TRI_MAYBE;
	return glob_text(pattern, text, is_known(a));
}

static enum tri word_hit(const char *pattern, const struct arg *a)
{
	return a->may_split ? TRI_MAYBE : glob_text(pattern, a->text, is_known(a));
}

/* Is @letter among the options that stand from word @from on? */
static enum tri letter_hit(char letter, const struct args *argv, size_t from)
{
	enum tri best = TRI_NO;

	for (size_t i = from; i < argv->n; i++) {
		const struct arg *a = &argv->v[i];

		if (is_known(a) && (!is_option(a) || a->text[1] == '-'))
			continue;
		if (strchr(a->text, letter))
			best = tri_or(best, is_known(a) ? TRI_YES : TRI_MAYBE);
		else if (!is_known(a) && !a->is_operand)
			best = tri_or(best, TRI_MAYBE);
	}
	return best;
}

static enum tri loose_hit(const char *pattern, const struct args *argv, size_t from)
{
	enum tri best = TRI_NO;

	for (size_t i = from; i < argv->n; i++)
		best = tri_or(best, word_hit(pattern, &argv->v[i]));
	if (best != TRI_YES && is_cluster(pattern)) {
		enum tri all = TRI_YES;

		for (const char *c = pattern + 1; *c; c++)
			all = tri_and(all, letter_hit(*c, argv, from));
		best = tri_or(best, all);
	}
	return best;
}

struct matching {
	const struct rule_words *p;
	const struct args *argv;
	bool has_loose;
	signed char memo[MAX_PATTERN + 1][MAX_WORDS + 3];	/* -1: not looked at */
};

static enum tri hit_from(struct matching *m, size_t i, size_t j);

/* The ordinary word @i of the pattern, at the command's word @j. */
static enum tri hit_word(struct matching *m, size_t i, size_t j)
{
	const struct arg *a;
	enum tri best;

	if (j >= m->argv->n)
		return TRI_NO;
	a = &m->argv->v[j];
	if (a->may_split)
		return TRI_MAYBE;	/* the words behind it, too */
	if (!i)
		return tri_and(name_hit(m->p->words.v[0], a), hit_from(m, 1, j + 1));
	best = tri_and(word_hit(m->p->words.v[i], a), hit_from(m, i + 1, j + 1));
	if (best == TRI_YES || !is_option(a))
		return best;
	/* An option in between, perhaps with a value behind it. */
	best = tri_or(best, hit_from(m, i, j + 1));
	if (best != TRI_YES && j + 1 < m->argv->n && !is_option(&m->argv->v[j + 1]))
		best = tri_or(best, hit_from(m, i, j + 2));
	return best;
}

/* Options that loose words have taken may still stand here. */
static enum tri at_end(const struct matching *m, size_t j)
{
	enum tri r = TRI_YES;

	for (; m->p->is_exact && j < m->argv->n; j++) {
		const struct arg *a = &m->argv->v[j];

		if (a->may_split)
			r = tri_and(r, TRI_MAYBE);
		else if (!m->has_loose || !is_loose(a->text))
			return TRI_NO;
	}
	return r;
}

static enum tri hit_any_number(struct matching *m, size_t i, size_t j)
{
	enum tri best = TRI_NO;

	for (; j <= m->argv->n && best != TRI_YES; j++)
		best = tri_or(best, hit_from(m, i + 1, j));
	return best;
}

static enum tri hit_from(struct matching *m, size_t i, size_t j)
{
	const char *word = i < m->p->words.n ? m->p->words.v[i] : NULL;
	enum tri r;

	if (j > m->argv->n)
		return TRI_NO;
	if (m->memo[i][j] >= 0)
		return (enum tri)m->memo[i][j];
	if (!word)
		r = at_end(m, j);
	else if (is_any_number(word))
		r = hit_any_number(m, i, j);
	else if (i && is_loose(word))
		r = tri_and(loose_hit(word, m->argv, j), hit_from(m, i + 1, j));
	else
		r = hit_word(m, i, j);
	m->memo[i][j] = (signed char)r;
	return r;
}

enum tri words_hit(const struct rule_words *p, const struct args *argv)
{
	OWN(mem) struct matching *m = NULL;

	if (!argv->n)
		return TRI_NO;
	/* Most commands differ in their very name. */
	if (!is_any_number(p->words.v[0]) && name_hit(p->words.v[0], &argv->v[0]) == TRI_NO)
		return TRI_NO;
	if (argv->n > MAX_WORDS)
		return TRI_MAYBE;
	m = malloc(sizeof(*m));
	if (!m)
		return TRI_MAYBE;
	m->p = p;
	m->argv = argv;
	m->has_loose = false;
	for (size_t i = 1; i < p->words.n; i++)
		m->has_loose |= is_loose(p->words.v[i]);
	memset(m->memo, -1, sizeof(m->memo));
	return hit_from(m, 0, 0);
}

/* --- what a command is beyond doubt --- */

struct covering {
	const struct rule_words *p;
	const struct args *argv;
	const char *line;
	size_t len;
	bool has_more;
	unsigned int steps;
};

static bool is_plain_word(const struct covering *c, const struct arg *a)
{
	if (!is_known(a) || a->may_split)
		return false;
	if (!c->line)
		return true;
	return a->start <= a->end && a->end <= c->len && !memchr(c->line + a->start, '\'', a->end - a->start);
}

static bool cover_from(struct covering *c, size_t i, size_t j)
{
	if (++c->steps > 4096)
		return false;
	if (i == c->p->words.n)
		return !c->p->is_exact || (j == c->argv->n && !c->has_more);
	if (is_any_number(c->p->words.v[i])) {
		for (; j <= c->argv->n; j++)
			if (cover_from(c, i + 1, j))
				return true;
		return false;
	}
	if (j >= c->argv->n || !is_plain_word(c, &c->argv->v[j]) ||
	    glob_text(c->p->words.v[i], c->argv->v[j].text, true) != TRI_YES)
		return false;
	return cover_from(c, i + 1, j + 1);
}

bool words_cover(const struct rule_words *p, const struct args *argv, const char *line, size_t len, bool has_more)
{
	struct covering c = { .p = p, .argv = argv, .line = line, .len = len, .has_more = has_more };

	return argv->n && cover_from(&c, 0, 0);
}
