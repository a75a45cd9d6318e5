/*
 * Commands: lists, pipelines, compound and simple commands.
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

/* --- reserved words --- */

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
		if (shell_keyword(r, *kw)) {
			r->pos = back;
			return true;
		}
	}
	return false;
}

static void expect_keyword(struct reader *r, size_t start, const char *kw)
{
	if (!shell_keyword(r, kw))
		shell_refuse(r, start, arena_printf(r->arena, "no '%s' where one is due", kw));
}

static void trailing_redirections(struct reader *r, struct node *n)
{
	struct redir **tail = &n->redirs, *d;

	while (*tail)
		tail = &(*tail)->next;
	for (shell_skip_blanks(r); (d = shell_redirection(r)); shell_skip_blanks(r)) {
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
	for (shell_skip_newlines(r); shell_ch(r) != ')'; shell_skip_newlines(r)) {
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
		/* To bash the word goes on, and the command is the one behind it. */
		if (!shell_is_meta(shell_ch(r)))
			shell_refuse(r, start, "an array with something at its end");
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
		shell_over_limit(r, "too many commands");
}

static struct node *simple(struct reader *r, bool is_timed)
{
	struct node *n = node_new(r, NODE_SIMPLE, r->pos);
	struct assign **assign_tail = &n->assigns, *a;
	struct redir **redir_tail = &n->redirs, *d;
	struct word **word_tail = &n->words;
	size_t start = r->pos;

	count_command(r);
	for (;; shell_skip_blanks(r)) {
		if ((d = shell_redirection(r))) {
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
			*word_tail = n->words ? shell_pattern(r) : shell_word(r);
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
		shell_skip_blanks(r);
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

	shell_skip_newlines(r);
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
	} while (shell_keyword(r, "elif"));
	if (shell_keyword(r, "else"))
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

	shell_skip_blanks(r);
	n->name = name = at_word(r) ? word_literal(r->arena, shell_word(r)) : NULL;
	if (!name || !shell_is_name(name, strlen(name)))
		shell_refuse(r, start, "a loop without a variable");
	shell_skip_newlines(r);
	n->has_list = shell_keyword(r, "in");
	for (shell_skip_blanks(r); n->has_list && at_word(r); shell_skip_blanks(r)) {
		*tail = shell_pattern(r);
		tail = &(*tail)->next;
	}
	if (shell_ch(r) == ';')
		r->pos++;
}

static struct node *read_for(struct reader *r, size_t start)
{
	struct node *n = node_new(r, NODE_FOR, start);

	shell_skip_blanks(r);
	if (shell_match(r, "((")) {
		n->kind = NODE_FOR_ARITH;
		n->words = r->is_posix ? NULL : shell_arith(r);
		if (!n->words)
			shell_refuse(r, start, "a loop that cannot be read");
		shell_skip_blanks(r);
		if (shell_ch(r) == ';')
			r->pos++;
	} else {
		for_header(r, n, start);
	}
	shell_skip_newlines(r);
	if (shell_keyword(r, "{")) {
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
		shell_skip_blanks(r);
		if (!at_word(r))
			shell_refuse(r, start, "a case without a pattern");
		**tail = shell_pattern(r);
		*tail = &(**tail)->next;
		shell_skip_blanks(r);
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

	shell_skip_blanks(r);
	if (!at_word(r))
		shell_refuse(r, start, "a case of nothing");
	*tail = shell_word(r);
	tail = &(*tail)->next;
	shell_skip_newlines(r);
	expect_keyword(r, start, "in");
	for (shell_skip_newlines(r); !shell_keyword(r, "esac"); shell_skip_newlines(r)) {
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

	shell_skip_blanks(r);
	n->name = at_word(r) ? word_literal(r->arena, shell_word(r)) : NULL;
	if (!n->name)
		shell_refuse(r, start, "a function without a plain name");
	shell_skip_blanks(r);
	if (shell_match(r, "(")) {
		shell_skip_blanks(r);
		if (!shell_match(r, ")"))
			shell_refuse(r, start, "a bracket out of place");
	}
	return function_body(r, n, start);
}

static struct node *function_body(struct reader *r, struct node *n, size_t start)
{
	shell_skip_newlines(r);
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
	for (shell_skip_newlines(r); !shell_keyword(r, "]]"); shell_skip_newlines(r)) {
		int c = shell_ch(r);
		size_t at = r->pos;

		if (c == SHELL_EOF || c == ';' || (c == '&' && !shell_match(r, "&&")))
			shell_refuse(r, start, "a [[ without its end");
		if (is_regex) {
			*tail = shell_regex(r);
			is_regex = false;
		} else if (at_word(r) && r->pos == at) {
			*tail = shell_pattern(r);
			is_regex = !strcmp(word_literal(r->arena, *tail) ? word_literal(r->arena, *tail) : "",
					   "=~");
		} else {
			/* ( ) < > && || */
			if (r->pos == at && !shell_match(r, "||"))
				r->pos++;
			*tail = shell_plain_word(r, at, r->pos);
		}
		if (r->pos == at)
			shell_refuse(r, start, "a test that cannot be read");
		tail = &(*tail)->next;
	}
	return n;
}

static bool is_name_byte(int c)
{
	return c == '_' || (c > 0 && c < 128 && isalnum(c));
}

/* Does a compound command begin here? */
static bool at_compound(struct reader *r)
{
	static const char *const openers[] = { "if", "while", "until", "for", "select", "case", "{", "[[" };
	size_t back = r->pos;

	if (shell_ch(r) == '(')
		return true;
	for (size_t i = 0; i < ARRAY_LEN(openers); i++) {
		if (shell_keyword(r, openers[i])) {
			r->pos = back;
			return true;
		}
	}
	return false;
}

static struct node *compound(struct reader *r);

/* The name in front of a compound command; unmoved where there is none. */
static bool coproc_name(struct reader *r)
{
	size_t back = r->pos, end;

	while (is_name_byte(shell_ch(r)))
		r->pos++;
	end = r->pos;
	shell_skip_blanks(r);
	if (!shell_is_name(r->s + back, end - back) || end == r->pos || !at_compound(r)) {
		r->pos = back;
		return false;
	}
	for (size_t p = back; p < end; p++)
		shell_hide_from_grammar(r, p, " ");
	return true;
}

/* A command in the background, with pipes to it. The grammar knows no such word. */
static struct node *read_coproc(struct reader *r, size_t start)
{
	struct node *n = node_new(r, NODE_SUBSHELL, start), *kid;

	shell_hide_from_grammar(r, start, "      ");
	shell_skip_blanks(r);
	coproc_name(r);
	if (at_closer(r))
		shell_refuse(r, start, "a command that is not there");
	kid = compound(r);
	if (kid && kid->kind == NODE_FUNCTION)
		shell_refuse(r, start, "a coprocess that is a function");
	if (kid)
		trailing_redirections(r, kid);
	add_kid(n, node_end(r, kid ? kid : simple(r, false)));
	return n;
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
		if (shell_keyword(r, compounds[i].word)) {
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

	for (;; shell_skip_blanks(r)) {
		size_t at = r->pos;

		if (!r->is_posix && shell_keyword(r, "time")) {
			if (!is_timed)
				starts_add(r, at);
			is_timed = true;
			shell_skip_blanks(r);
			shell_keyword(r, "-p");
		} else if (shell_keyword(r, "!")) {
			if (r->pos < r->end && r->s[r->pos] == '(')
				shell_refuse(r, at, "a bracket right behind '!', which can be read in two ways");
			shell_hide_from_grammar(r, at, " "); /* it knows "!" before some commands only */
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

	shell_skip_blanks(r);
	if (shell_ch(r) != '|' || (r->pos + 1 < r->end && r->s[r->pos + 1] == '|'))
		return first;
	n = node_new(r, NODE_PIPE, start);
	n->kids = last = first;
	while (shell_ch(r) == '|' && !(r->pos + 1 < r->end && r->s[r->pos + 1] == '|')) {
		bool is_both = shell_next(r) == '&';

		/* Over pipes of three and more the grammar takes ten times as long as over lists. */
		if (!r->heredocs)
			shell_hide_from_grammar(r, r->pos - 1, is_both ? "; " : ";");
		if (is_both && r->is_posix)
			shell_refuse(r, start, "not understood by every sh");
		r->pos += is_both;
		shell_skip_newlines(r);
		last->next = prefixed_command(r);
		last = last->next;
		shell_skip_blanks(r);
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
		shell_skip_newlines(r);
	return true;
}

struct node *shell_list(struct reader *r)
{
	struct node *list = node_new(r, NODE_LIST, r->pos), **tail = &list->kids;
	enum join join = JOIN_SEQ;

	shell_deeper(r);
	for (shell_skip_newlines(r); !at_closer(r); shell_skip_newlines(r)) {
		struct node *n = pipeline(r);

		n->join = join;
		*tail = n;
		tail = &n->next;
		shell_skip_blanks(r);
		if (!list_operator(r, n, &join))
			break;
	}
	if (join != JOIN_SEQ && at_closer(r) && (!list->kids || tail == &list->kids))
		shell_refuse(r, r->pos, "a command that is not there");
	shell_skip_newlines(r);
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
		.arena = arena,
		.s = text,
		.end = len,
		.len = len,
		.twin = &twin,
		.lim = lim,
		.starts = starts,
		.is_posix = is_posix,
		.problem = problem,
		.out = &out,
	};
	if (setjmp(out)) {
		lim->depth = depth;
		return -1;
	}
	read_all(r, ret);
	return 0;
}
