/*
 * Bytes, blanks, here-documents and redirections: what stands below commands.
 */
#include <ctype.h>
#include <string.h>

#include "base/own.h"
#include "gates/shell_internal.h"

/* --- bytes --- */

_Noreturn void shell_refuse(struct reader *r, size_t start, const char *why)
{
	size_t end = r->pos + 1 < r->end ? r->pos + 1 : r->end;

	*r->problem = (struct shell_problem){
		.why = why,
		.start = shell_at(r, start),
		.end = shell_at(r, end > start ? end : start),
	};
	longjmp(*r->out, 1);
}

size_t shell_at(const struct reader *r, size_t pos)
{
	return r->map ? r->map[pos] : pos;
}

_Noreturn void shell_over_limit(struct reader *r, const char *why)
{
	*r->problem = (struct shell_problem){ .why = why, .end = shell_at(r, r->pos), .is_limit = true };
	longjmp(*r->out, 1);
}

void shell_deeper(struct reader *r)
{
	if (++r->lim->depth > r->lim->max_depth)
		shell_over_limit(r, "nested too deeply");
}

void shell_shallower(struct reader *r)
{
	r->lim->depth--;
}

void starts_add(struct reader *r, size_t pos)
{
	struct starts *s = r->starts;

	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 32;
		uint32_t *grown = arena_alloc(r->arena, cap * sizeof(*grown));

		if (s->n)
			memcpy(grown, s->at, s->n * sizeof(*grown));
		s->at = grown;
		s->cap = cap;
	}
	s->at[s->n++] = (uint32_t)shell_at(r, pos);
}

int shell_ch(struct reader *r)
{
	while (r->pos + 1 < r->end && r->s[r->pos] == '\\' && r->s[r->pos + 1] == '\n')
		r->pos += 2;
	return r->pos < r->end ? (unsigned char)r->s[r->pos] : SHELL_EOF;
}

int shell_next(struct reader *r)
{
	r->pos++;
	return shell_ch(r);
}

bool shell_match(struct reader *r, const char *token)
{
	size_t back = r->pos;
	int c = shell_ch(r);

	for (; *token; token++, c = shell_next(r)) {
		if (c != (unsigned char)*token) {
			r->pos = back;
			return false;
		}
	}
	return true;
}

bool shell_is_meta(int c)
{
	return c == SHELL_EOF || c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|' ||
	       c == '(' || c == ')' || c == '<' || c == '>';
}

bool shell_is_name(const char *s, size_t len)
{
	if (!len || isdigit((unsigned char)*s))
		return false;
	for (; len; s++, len--)
		if (*s != '_' && !((unsigned char)*s < 128 && isalnum((unsigned char)*s)))
			return false;
	return true;
}

/* --- blanks, newlines and the here-documents that follow them --- */

void shell_skip_blanks(struct reader *r)
{
	int c = shell_ch(r);

	while (c == ' ' || c == '\t')
		c = shell_next(r);
	if (c == '#')
		while (r->pos < r->end && r->s[r->pos] != '\n')
			r->pos++;
}

static void hide(struct reader *r, size_t from, size_t to)
{
	for (; from < to; from++)
		if (r->s[from] != '\n')
			shell_hide_from_grammar(r, from, " ");
}

/* One line of a here-document, joined where a backslash ends it; its text in @ret. */
static void body_line(struct reader *r, const struct heredoc *h, struct bytes *ret)
{
	size_t p = r->pos;

	if (h->strips_tabs)
		while (p < r->end && r->s[p] == '\t')
			p++;
	while (p < r->end && r->s[p] != '\n') {
		if (!h->is_quoted && r->s[p] == '\\' && p + 1 < r->end) {
			if (r->s[p + 1] == '\n') {
				p += 2;
				continue;
			}
			bytes_addc(r->arena, ret, r->s[p++]);
		}
		bytes_addc(r->arena, ret, r->s[p++]);
	}
	r->pos = p < r->end ? p + 1 : p;
}

struct word *shell_plain_word(struct reader *r, size_t start, size_t end)
{
	struct word *w = word_new(r, start);
	struct part *p = ARENA_NEW(r->arena, struct part);

	p->quoted = true;
	p->op = "";
	p->text = arena_dup(r->arena, r->s + start, end - start);
	p->len = end - start;
	w->parts = p;
	w->end = shell_at(r, end);
	return w;
}

/* Blank to the grammar, up to where the reader stands. One that runs commands has to be seen by both. */
static void hide_body(struct reader *r, const struct heredoc *h, size_t start)
{
	for (const struct part *p = h->redir->target->parts; p; p = p->next)
		if (p->kind != PART_TEXT && p->kind != PART_PARAM)
			shell_refuse(r, start, "a second here-document of a line, with commands in it");
	hide(r, start, r->pos);
}

static void read_heredoc(struct reader *r, struct heredoc *h)
{
	size_t start = r->pos;

	for (;;) {
		struct bytes line = { 0 };
		size_t line_start = r->pos;

		if (r->pos >= r->end)
			shell_refuse(r, start ? start - 1 : 0, "a here-document without its end");
		body_line(r, h, &line);
		if (!strcmp(line.s ? line.s : "", h->delim)) {
			h->redir->target = h->is_quoted ? shell_plain_word(r, start, line_start)
							: shell_heredoc_body(r, start, line_start);
			if (h->is_hidden)
				hide_body(r, h, start);
			return;
		}
	}
}

static void newline(struct reader *r)
{
	r->pos++;
	while (r->heredocs) {
		struct heredoc *h = r->heredocs;

		r->heredocs = h->next;
		read_heredoc(r, h);
	}
}

void shell_skip_newlines(struct reader *r)
{
	for (shell_skip_blanks(r); shell_ch(r) == '\n'; shell_skip_blanks(r))
		newline(r);
}

/* --- reserved words --- */

/* True, and stepped over, when the unquoted word @kw is next. */
bool shell_keyword(struct reader *r, const char *kw)
{
	size_t back = r->pos;

	if (shell_match(r, kw) && shell_is_meta(shell_ch(r)))
		return true;
	r->pos = back;
	return false;
}

/* --- redirections --- */

static const struct {
	const char *op;
	enum redir_kind kind;
	bool is_bash;
} redir_ops[] = {
	/* longest first */
	{ "&>>", REDIR_BOTH_APPEND, true }, { "&>", REDIR_BOTH, true }, { "<<<", REDIR_HERESTRING, true },
	{ "<<", REDIR_HEREDOC, false },	    { "<&", REDIR_DUP_IN, false }, { "<>", REDIR_RDWR, false },
	{ "<", REDIR_IN, false },	    { ">>", REDIR_APPEND, false }, { ">&", REDIR_DUP_OUT, false },
	{ ">|", REDIR_CLOBBER, false },	    { ">", REDIR_OUT, false },
};

/* Over digits or {name} that stand right before < or >; -1 and unmoved when there are none. */
static bool redir_prefix(struct reader *r, int *ret_fd)
{
	size_t back = r->pos;
	int c = shell_ch(r), digits = 0;
	long fd = 0;

	*ret_fd = -1;
	if (c == '{') {
		for (c = shell_next(r); c == '_' || (c > 0 && c < 128 && isalnum(c)); c = shell_next(r))
			digits++;
		if (c == '}' && digits)
			c = shell_next(r);
		else
			c = SHELL_EOF;
	} else {
		for (; c > 0 && c < 128 && isdigit(c); c = shell_next(r), digits++)
			fd = fd < 100000 ? fd * 10 + (c - '0') : fd;
		if (digits)
			*ret_fd = (int)fd;
	}
	if ((c == '<' || c == '>') && !(r->pos + 1 < r->end && r->s[r->pos + 1] == '('))
		return true;
	r->pos = back;
	*ret_fd = -1;
	return shell_ch(r) == '&' && r->pos + 1 < r->end && r->s[r->pos + 1] == '>';
}

static void announce_heredoc(struct reader *r, struct redir *d, bool strips_tabs, size_t start)
{
	struct heredoc *h = ARENA_NEW(r->arena, struct heredoc), **tail = &r->heredocs;
	struct bytes delim = { 0 };
	unsigned int n = 1;

	for (const struct part *p = d->target->parts; p; p = p->next) {
		if (p->kind != PART_TEXT)
			shell_refuse(r, start, "an expansion as the end mark of a here-document");
		h->is_quoted |= p->quoted;
		bytes_add(r->arena, &delim, p->text, p->len);
	}
	h->delim = delim.s ? delim.s : "";
	h->redir = d;
	h->strips_tabs = strips_tabs;
	for (; *tail; tail = &(*tail)->next)
		n++;
	if (n > 8 || delim.len > 64 || strchr(h->delim, '\n'))
		shell_refuse(r, start, "too much of a here-document");
	*tail = h;
	h->is_hidden = n > 1;
	if (h->is_hidden)
		hide(r, start, r->pos);
}

/* Show the second reader @as instead of what stands at @pos and its grammar does not know. */
void shell_hide_from_grammar(struct reader *r, size_t pos, const char *as)
{
	if (r->map)
		return;
	if (!*r->twin)
		*r->twin = arena_dup(r->arena, r->s, r->len);
	memcpy(*r->twin + pos, as, strlen(as));
}

/* Reads one redirection if there is one; NULL otherwise, unmoved. */
struct redir *shell_redirection(struct reader *r)
{
	size_t start = r->pos;
	bool strips_tabs = false;
	struct redir *d;
	int fd;

	if (!redir_prefix(r, &fd))
		return NULL;
	d = ARENA_NEW(r->arena, struct redir);
	d->fd = fd;
	d->start = shell_at(r, start);
	if (r->pos + 1 < r->end && !memcmp(r->s + r->pos, "<>", 2))
		shell_hide_from_grammar(r, r->pos, ">|");
	for (size_t i = 0; i < ARRAY_LEN(redir_ops); i++) {
		if (shell_match(r, redir_ops[i].op)) {
			d->kind = redir_ops[i].kind;
			if (redir_ops[i].is_bash && r->is_posix)
				shell_refuse(r, start, "not understood by every sh");
			break;
		}
	}
	if (d->kind == REDIR_HEREDOC && shell_ch(r) == '-') {
		strips_tabs = true;
		r->pos++;
	}
	while (shell_ch(r) == ' ' || shell_ch(r) == '\t')
		r->pos++;
	if (shell_is_meta(shell_ch(r)) &&
	    !((shell_ch(r) == '<' || shell_ch(r) == '>') && r->pos + 1 < r->end && r->s[r->pos + 1] == '('))
		shell_refuse(r, start, "a redirection to nowhere");
	d->target = shell_word(r);
	d->end = shell_at(r, r->pos);
	if (d->kind == REDIR_HEREDOC)
		announce_heredoc(r, d, strips_tabs, start);
	return d;
}
