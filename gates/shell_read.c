/*
 * Commands: lists, pipelines, compound commands, redirections, here-documents.
 * Recursive descent over bytes; a line that cannot be read leaves by longjmp
 * to shell_parse(), so no function here has a failure to hand on.
 */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "gates/shell_internal.h"

static struct node *command(struct reader *r);

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

static _Noreturn void over_limit(struct reader *r, const char *why)
{
	*r->problem = (struct shell_problem){ .why = why, .end = shell_at(r, r->pos), .is_limit = true };
	longjmp(*r->out, 1);
}

void shell_deeper(struct reader *r)
{
	if (++r->lim->depth > r->lim->max_depth)
		over_limit(r, "nested too deeply");
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

/* Over blanks and a comment; true when it stands at a byte behind at least one blank or comment. */
static void skip_blanks(struct reader *r)
{
	int c = shell_ch(r);

	while (c == ' ' || c == '\t')
		c = shell_next(r);
	if (c == '#')
		while (r->pos < r->end && r->s[r->pos] != '\n')
			r->pos++;
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

static struct word *plain_word(struct reader *r, size_t start, size_t end)
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
			h->redir->target = h->is_quoted ? plain_word(r, start, line_start)
							: shell_heredoc_body(r, start, line_start);
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

static void skip_newlines(struct reader *r)
{
	for (skip_blanks(r); shell_ch(r) == '\n'; skip_blanks(r))
		newline(r);
}

/* --- reserved words --- */

/* True, and stepped over, when the unquoted word @kw is next. */
static bool keyword(struct reader *r, const char *kw)
{
	size_t back = r->pos;

	if (shell_match(r, kw) && shell_is_meta(shell_ch(r)))
		return true;
	r->pos = back;
	return false;
}

static const char *const closers[] = { "then", "do", "done", "fi", "elif", "else", "esac", "}", NULL };

static bool at_closer(struct reader *r)
{
	size_t back = r->pos;
	int c = shell_ch(r);

	if (c == SHELL_EOF || c == ')')
		return true;
	if (c == ';' && r->pos + 1 < r->end && (r->s[r->pos + 1] == ';' || r->s[r->pos + 1] == '&'))
		return true;
	for (const char *const *kw = closers; *kw; kw++) {
		if (keyword(r, *kw)) {
			r->pos = back;
			return true;
		}
	}
	return false;
}

static void expect_keyword(struct reader *r, size_t start, const char *kw)
{
	if (!keyword(r, kw))
		shell_refuse(r, start, arena_printf(r->arena, "no '%s' where one is due", kw));
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
}

/* Show the second reader @as instead of what stands at @pos and its grammar does not know. */
static void hide_from_grammar(struct reader *r, size_t pos, const char *as)
{
	if (r->map)
		return;
	if (!*r->twin)
		*r->twin = arena_dup(r->arena, r->s, r->len);
	memcpy(*r->twin + pos, as, strlen(as));
}

/* Reads one redirection if there is one; NULL otherwise, unmoved. */
static struct redir *redirection(struct reader *r)
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
		hide_from_grammar(r, r->pos, ">|");
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

static void trailing_redirections(struct reader *r, struct node *n)
{
	struct redir **tail = &n->redirs, *d;

	while (*tail)
		tail = &(*tail)->next;
	for (skip_blanks(r); (d = redirection(r)); skip_blanks(r)) {
		*tail = d;
		tail = &d->next;
	}
}

/* --- simple commands --- */

static struct node *node_new(struct reader *r, enum node_kind kind, size_t start)
{
	struct node *n = ARENA_NEW(r->arena, struct node);

	n->kind = kind;
	n->start = shell_at(r, start);
	n->name = "";
	return n;
}

static struct node *node_end(struct reader *r, struct node *n)
{
	n->end = shell_at(r, r->pos);
	return n;
}

/* Over name, [subscript] and = or +=; false and unmoved when that is not what stands here. */
static bool assign_head(struct reader *r, struct assign *a)
{
	size_t back = r->pos;
	struct bytes name = { 0 };
	int c = shell_ch(r);

	for (; c == '_' || (c > 0 && c < 128 && isalnum(c)); c = shell_next(r))
		bytes_addc(r->arena, &name, (char)c);
	if (!shell_is_name(name.s ? name.s : "", name.len) || !(c == '[' || c == '+' || c == '=')) {
		r->pos = back;
		return false;
	}
	a->name = name.s;
	if (c == '[') {
		/* Could also be a glob; the end of it shows. */
		if (!memchr(r->s + r->pos, ']', r->end - r->pos)) {
			r->pos = back;
			return false;
		}
		r->pos++;
		a->index = shell_subscript(r);
	}
	a->is_append = shell_match(r, "+=");
	if (!a->is_append && !shell_match(r, "=")) {
		if (a->index && ++r->lim->turns > 8)
			shell_refuse(r, back, "brackets that can be read in too many ways");
		r->pos = back;
		return false;
	}
	if (r->is_posix && (a->is_append || a->index))
		shell_refuse(r, back, "not understood by every sh");
	return true;
}

static struct word *array_items(struct reader *r, size_t start)
{
	struct word *first = NULL, **tail = &first;

	shell_deeper(r);
	r->pos++;
	for (skip_newlines(r); shell_ch(r) != ')'; skip_newlines(r)) {
		if (shell_is_meta(shell_ch(r)) && shell_ch(r) != '<' && shell_ch(r) != '>')
			shell_refuse(r, start, "an array without its end");
		*tail = shell_word(r);
		if (!(*tail)->parts)
			shell_refuse(r, start, "an array without its end");
		tail = &(*tail)->next;
	}
	r->pos++;
	shell_shallower(r);
	return first;
}

static struct assign *assignment(struct reader *r)
{
	struct assign *a = ARENA_NEW(r->arena, struct assign);
	size_t start = r->pos;

	a->start = shell_at(r, start);
	if (!assign_head(r, a))
		return NULL;
	if (shell_ch(r) == '(') {
		if (r->is_posix)
			shell_refuse(r, start, "not understood by every sh");
		a->is_array = true;
		a->items = array_items(r, start);
	} else {
		a->value = shell_word(r);
	}
	a->end = shell_at(r, r->pos);
	return a;
}

static const char *const declarers[] = { "declare", "typeset", "export", "readonly", "local", NULL };

static bool is_declarer(const struct word *w)
{
	const struct part *p = w ? w->parts : NULL;

	if (!p || p->next || p->kind != PART_TEXT)
		return false;
	for (const char *const *d = declarers; *d; d++)
		if (!strcmp(*d, p->text))
			return true;
	return false;
}

static bool at_word(struct reader *r)
{
	int c = shell_ch(r);

	if (c == '<' || c == '>')
		return r->pos + 1 < r->end && r->s[r->pos + 1] == '(';
	return !shell_is_meta(c);
}

static struct node *function_body(struct reader *r, struct node *n, size_t start);

static void count_command(struct reader *r)
{
	if (++r->lim->commands > r->lim->max_commands)
		over_limit(r, "too many commands");
}

static struct node *simple(struct reader *r, bool is_timed)
{
	struct node *n = node_new(r, NODE_SIMPLE, r->pos);
	struct assign **assign_tail = &n->assigns, *a;
	struct redir **redir_tail = &n->redirs, *d;
	struct word **word_tail = &n->words;
	size_t start = r->pos;

	count_command(r);
	for (;; skip_blanks(r)) {
		if ((d = redirection(r))) {
			*redir_tail = d;
			redir_tail = &d->next;
		} else if (!at_word(r)) {
			break;
		} else if ((!n->words || is_declarer(n->words)) && (a = assignment(r))) {
			*assign_tail = a;
			assign_tail = &a->next;
		} else {
			if (!n->words && !is_timed)
				starts_add(r, r->pos);
			*word_tail = shell_word(r);
			word_tail = &(*word_tail)->next;
		}
	}
	if (shell_ch(r) == '(') {
		/* name () { ...; } */
		if (!n->words || n->words->next || n->assigns || n->redirs || is_timed)
			shell_refuse(r, r->pos, "a bracket out of place");
		r->starts->n--;
		n->name = word_literal(r->arena, n->words);
		if (!n->name)
			shell_refuse(r, start, "a function without a plain name");
		n->kind = NODE_FUNCTION;
		n->words = NULL;
		shell_match(r, "(");
		skip_blanks(r);
		if (!shell_match(r, ")"))
			shell_refuse(r, start, "a bracket out of place");
		return function_body(r, n, start);
	}
	if (!n->words && !n->assigns && !n->redirs)
		shell_refuse(r, start, "a command that is not there");
	return node_end(r, n);
}

/* --- compound commands --- */

static struct node *body_list(struct reader *r, size_t start)
{
	struct node *list = shell_list(r);

	if (!list->kids)
		shell_refuse(r, start, "a command that is not there");
	return list;
}

static void add_kid(struct node *n, struct node *kid)
{
	struct node **tail = &n->kids;

	while (*tail)
		tail = &(*tail)->next;
	*tail = kid;
}

static struct node *do_group(struct reader *r, size_t start)
{
	struct node *body;

	skip_newlines(r);
	expect_keyword(r, start, "do");
	body = body_list(r, start);
	expect_keyword(r, start, "done");
	return body;
}

static struct node *read_if(struct reader *r, size_t start)
{
	struct node *n = node_new(r, NODE_IF, start);

	do {
		add_kid(n, body_list(r, start));
		expect_keyword(r, start, "then");
		add_kid(n, body_list(r, start));
	} while (keyword(r, "elif"));
	if (keyword(r, "else"))
		add_kid(n, body_list(r, start));
	expect_keyword(r, start, "fi");
	return n;
}

static struct node *read_while(struct reader *r, size_t start)
{
	struct node *n = node_new(r, NODE_WHILE, start);

	add_kid(n, body_list(r, start));
	add_kid(n, do_group(r, start));
	return n;
}

static void for_header(struct reader *r, struct node *n, size_t start)
{
	struct word **tail = &n->words;
	const char *name;

	skip_blanks(r);
	n->name = name = at_word(r) ? word_literal(r->arena, shell_word(r)) : NULL;
	if (!name || !shell_is_name(name, strlen(name)))
		shell_refuse(r, start, "a loop without a variable");
	skip_newlines(r);
	n->has_list = keyword(r, "in");
	for (skip_blanks(r); n->has_list && at_word(r); skip_blanks(r)) {
		*tail = shell_word(r);
		tail = &(*tail)->next;
	}
	if (shell_ch(r) == ';')
		r->pos++;
}

static struct node *read_for(struct reader *r, size_t start)
{
	struct node *n = node_new(r, NODE_FOR, start);

	skip_blanks(r);
	if (shell_match(r, "((")) {
		n->kind = NODE_FOR_ARITH;
		n->words = r->is_posix ? NULL : shell_arith(r);
		if (!n->words)
			shell_refuse(r, start, "a loop that cannot be read");
		skip_blanks(r);
		if (shell_ch(r) == ';')
			r->pos++;
	} else {
		for_header(r, n, start);
	}
	skip_newlines(r);
	if (keyword(r, "{")) {
		add_kid(n, body_list(r, start));
		expect_keyword(r, start, "}");
	} else {
		add_kid(n, do_group(r, start));
	}
	return n;
}

static void case_patterns(struct reader *r, struct word ***tail, size_t start)
{
	if (shell_ch(r) == '(')
		r->pos++;
	for (;;) {
		skip_blanks(r);
		if (!at_word(r))
			shell_refuse(r, start, "a case without a pattern");
		**tail = shell_word(r);
		*tail = &(**tail)->next;
		skip_blanks(r);
		if (shell_ch(r) != '|')
			break;
		r->pos++;
	}
	if (shell_ch(r) != ')')
		shell_refuse(r, start, "a case pattern without its end");
	r->pos++;
}

static struct node *read_case(struct reader *r, size_t start)
{
	struct node *n = node_new(r, NODE_CASE, start);
	struct word **tail = &n->words;

	skip_blanks(r);
	if (!at_word(r))
		shell_refuse(r, start, "a case of nothing");
	*tail = shell_word(r);
	tail = &(*tail)->next;
	skip_newlines(r);
	expect_keyword(r, start, "in");
	for (skip_newlines(r); !keyword(r, "esac"); skip_newlines(r)) {
		case_patterns(r, &tail, start);
		add_kid(n, shell_list(r));
		if (!shell_match(r, ";;&") && !shell_match(r, ";;") && !shell_match(r, ";&")) {
			expect_keyword(r, start, "esac");
			break;
		}
	}
	return n;
}

static struct node *read_group(struct reader *r, size_t start)
{
	struct node *n = node_new(r, NODE_GROUP, start);

	add_kid(n, body_list(r, start));
	expect_keyword(r, start, "}");
	return n;
}

static struct node *read_function(struct reader *r, size_t start)
{
	struct node *n = node_new(r, NODE_FUNCTION, start);

	skip_blanks(r);
	n->name = at_word(r) ? word_literal(r->arena, shell_word(r)) : NULL;
	if (!n->name)
		shell_refuse(r, start, "a function without a plain name");
	skip_blanks(r);
	if (shell_match(r, "(")) {
		skip_blanks(r);
		if (!shell_match(r, ")"))
			shell_refuse(r, start, "a bracket out of place");
	}
	return function_body(r, n, start);
}

static struct node *function_body(struct reader *r, struct node *n, size_t start)
{
	skip_newlines(r);
	n->kids = command(r);
	if (n->kids->kind == NODE_SIMPLE || n->kids->kind == NODE_FUNCTION)
		shell_refuse(r, start, "a function without a body");
	return node_end(r, n);
}

static struct node *read_cond(struct reader *r, size_t start)
{
	struct node *n = node_new(r, NODE_COND, start);
	struct word **tail = &n->words;
	bool is_regex = false;

	starts_add(r, start);
	count_command(r);
	for (skip_newlines(r); !keyword(r, "]]"); skip_newlines(r)) {
		int c = shell_ch(r);
		size_t at = r->pos;

		if (c == SHELL_EOF || c == ';' || (c == '&' && !shell_match(r, "&&")))
			shell_refuse(r, start, "a [[ without its end");
		if (is_regex) {
			*tail = shell_regex(r);
			is_regex = false;
		} else if (at_word(r) && r->pos == at) {
			*tail = shell_word(r);
			is_regex = !strcmp(word_literal(r->arena, *tail) ? word_literal(r->arena, *tail) : "", "=~");
		} else {
			/* ( ) < > && || */
			if (r->pos == at && !shell_match(r, "||"))
				r->pos++;
			*tail = plain_word(r, at, r->pos);
		}
		if (r->pos == at)
			shell_refuse(r, start, "a test that cannot be read");
		tail = &(*tail)->next;
	}
	return n;
}

static struct node *read_coproc(struct reader *r, size_t start)
{
	(void)start;
	shell_refuse(r, r->pos, "a coprocess");
}

static const struct {
	const char *word;
	struct node *(*read)(struct reader *r, size_t start);
	bool is_bash;
} compounds[] = {
	{ "if", read_if, false },     { "while", read_while, false }, { "until", read_while, false },
	{ "for", read_for, false },   { "select", read_for, true },   { "case", read_case, false },
	{ "{", read_group, false },   { "[[", read_cond, true },      { "function", read_function, true },
	{ "coproc", read_coproc, true },
};

static struct node *parens(struct reader *r)
{
	size_t start = r->pos++;
	struct node *n;

	if (shell_ch(r) == '(' && !r->is_posix) {
		size_t back = r->pos++;
		struct word *w = shell_arith(r);

		if (w) {
			starts_add(r, start);
			count_command(r);
			n = node_new(r, NODE_ARITH, start);
			n->words = w;
			return n;
		}
		r->pos = back;
	}
	n = node_new(r, NODE_SUBSHELL, start);
	add_kid(n, body_list(r, start));
	if (shell_ch(r) != ')')
		shell_refuse(r, start, "a bracket without its end");
	r->pos++;
	return n;
}

static struct node *compound(struct reader *r)
{
	size_t start = r->pos;

	if (shell_ch(r) == '(')
		return parens(r);
	for (size_t i = 0; i < ARRAY_LEN(compounds); i++) {
		if (keyword(r, compounds[i].word)) {
			if (compounds[i].is_bash && r->is_posix)
				shell_refuse(r, start, "not understood by every sh");
			return compounds[i].read(r, start);
		}
	}
	return NULL;
}

static struct node *command(struct reader *r)
{
	struct node *n;

	shell_deeper(r);
	if (at_closer(r))
		shell_refuse(r, r->pos, "a command that is not there");
	n = compound(r);
	if (!n)
		n = simple(r, false);
	else if (n->kind != NODE_FUNCTION)
		trailing_redirections(r, n);
	shell_shallower(r);
	return node_end(r, n);
}

/* --- pipelines and lists --- */

/* Over "time" and "!"; the second reader takes time for a command of that name. */
static struct node *prefixed_command(struct reader *r)
{
	bool is_timed = false;
	struct node *n;

	for (;; skip_blanks(r)) {
		size_t at = r->pos;

		if (!r->is_posix && keyword(r, "time")) {
			if (!is_timed)
				starts_add(r, at);
			is_timed = true;
			skip_blanks(r);
			keyword(r, "-p");
		} else if (keyword(r, "!")) {
			hide_from_grammar(r, at, " ");	/* it knows "!" before some commands only */
		} else {
			break;
		}
	}
	if (!is_timed)
		return command(r);
	if (at_closer(r) || shell_ch(r) == '\n' || shell_ch(r) == ';')
		shell_refuse(r, r->pos, "a command that is not there");
	n = compound(r);
	if (n && n->kind != NODE_FUNCTION)
		trailing_redirections(r, n);
	n = node_end(r, n ? n : simple(r, true));
	n->is_timed = true;
	return n;
}

static struct node *pipeline(struct reader *r)
{
	size_t start = r->pos;
	struct node *first = prefixed_command(r), *n, *last;

	skip_blanks(r);
	if (shell_ch(r) != '|' || (r->pos + 1 < r->end && r->s[r->pos + 1] == '|'))
		return first;
	n = node_new(r, NODE_PIPE, start);
	n->kids = last = first;
	while (shell_ch(r) == '|' && !(r->pos + 1 < r->end && r->s[r->pos + 1] == '|')) {
		bool is_both = shell_next(r) == '&';

		/* Over pipes of three and more the grammar takes ten times as long as over lists. */
		if (!r->heredocs)
			hide_from_grammar(r, r->pos - 1, is_both ? "; " : ";");
		if (is_both && r->is_posix)
			shell_refuse(r, start, "not understood by every sh");
		r->pos += is_both;
		skip_newlines(r);
		last->next = prefixed_command(r);
		last = last->next;
		skip_blanks(r);
	}
	return node_end(r, n);
}

/* What joins the next command to this one; false when the list ends here. */
static bool list_operator(struct reader *r, struct node *done, enum join *ret)
{
	*ret = JOIN_SEQ;
	if (shell_match(r, "&&")) {
		*ret = JOIN_AND;
	} else if (shell_match(r, "||")) {
		*ret = JOIN_OR;
	} else if (shell_ch(r) == '\n') {
		return true;
	} else if (shell_ch(r) == '&') {
		r->pos++;
		done->is_background = true;
	} else if (shell_ch(r) == ';' && !at_closer(r)) {
		r->pos++;
	} else {
		return false;
	}
	if (*ret != JOIN_SEQ)
		skip_newlines(r);
	return true;
}

struct node *shell_list(struct reader *r)
{
	struct node *list = node_new(r, NODE_LIST, r->pos), **tail = &list->kids;
	enum join join = JOIN_SEQ;

	shell_deeper(r);
	for (skip_newlines(r); !at_closer(r); skip_newlines(r)) {
		struct node *n = pipeline(r);

		n->join = join;
		*tail = n;
		tail = &n->next;
		skip_blanks(r);
		if (!list_operator(r, n, &join))
			break;
	}
	if (join != JOIN_SEQ && at_closer(r) && (!list->kids || tail == &list->kids))
		shell_refuse(r, r->pos, "a command that is not there");
	skip_newlines(r);
	shell_shallower(r);
	return node_end(r, list);
}

/* --- the whole --- */

const char *word_literal(struct arena *arena, const struct word *w)
{
	struct bytes t = { 0 };

	for (const struct part *p = w ? w->parts : NULL; p; p = p->next) {
		if (p->kind != PART_TEXT)
			return NULL;
		bytes_add(arena, &t, p->text, p->len);
	}
	return w ? (t.s ? t.s : "") : NULL;
}

static int compare_offsets(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Both readers must have seen commands begin at the same bytes. */
static void compare_readers(struct reader *r, size_t len)
{
	struct starts *ours = r->starts;
	const char *objection;
	size_t at;

	if (ours->n)
		qsort(ours->at, ours->n, sizeof(*ours->at), compare_offsets);
	objection = shell_tree_objection(*r->twin ? *r->twin : r->s, len, ours->at, ours->n, &at);
	if (objection) {
		r->pos = at < len ? at : 0;
		shell_refuse(r, r->pos, objection);
	}
}

/* Bytes no shell line needs, and that readers take differently. */
static void check_bytes(struct reader *r)
{
	for (size_t i = 0; i < r->end; i++) {
		unsigned char c = (unsigned char)r->s[i];

		if ((c < ' ' && c != '\t' && c != '\n') || c == 0x7f) {
			r->pos = i;
			shell_refuse(r, i, "a control byte");
		}
	}
}

static void read_all(struct reader *r, struct node **ret)
{
	size_t len = r->end;

	check_bytes(r);
	*ret = shell_list(r);
	if (r->pos < r->end)
		shell_refuse(r, r->pos, "a word out of place");
	if (r->heredocs)
		shell_refuse(r, 0, "a here-document without its end");
	if (len)
		compare_readers(r, len);
}

int shell_parse(struct arena *arena, const char *text, size_t len, bool is_posix,
		struct shell_limits *lim, struct node **ret, struct shell_problem *problem)
{
	struct starts *starts = ARENA_NEW(arena, struct starts);
	unsigned int depth = lim->depth;
	jmp_buf out;
	struct reader *r = ARENA_NEW(arena, struct reader);
	char *twin = NULL;

	*r = (struct reader){
		.arena = arena, .s = text, .end = len, .len = len, .twin = &twin, .lim = lim, .starts = starts,
		.is_posix = is_posix, .problem = problem, .out = &out,
	};
	if (setjmp(out)) {
		lim->depth = depth;
		return -1;
	}
	read_all(r, ret);
	return 0;
}
