/*
 * Words: quotes and expansions, by bash's rules. A word becomes parts; a part
 * is either bytes known now or something only the running shell can know.
 */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "gates/shell_internal.h"

enum { IN_QUOTES = 1, IN_HEREDOC = 2 };	/* a here-document is quoted, but " is a plain byte in it */

struct builder {
	struct reader *r;
	struct word *w;
	struct part **tail;
	struct part *open;	/* the TEXT part bytes are being added to */
	struct bytes bytes;	/* of @open */
};

static void one_unit(struct builder *b, int c, int flags);

struct word *word_new(struct reader *r, size_t start)
{
	struct word *w = ARENA_NEW(r->arena, struct word);

	w->start = w->end = shell_at(r, start);
	return w;
}

static struct builder begin(struct reader *r)
{
	struct builder b = { .r = r, .w = word_new(r, r->pos) };

	b.tail = &b.w->parts;
	return b;
}

static void close_text(struct builder *b)
{
	if (!b->open)
		return;
	b->open->text = b->bytes.s ? b->bytes.s : "";
	b->open->len = b->bytes.len;
	b->open = NULL;
	b->bytes = (struct bytes){ 0 };
}

static struct part *add_part(struct builder *b, enum part_kind kind, bool is_quoted)
{
	struct part *p = ARENA_NEW(b->r->arena, struct part);

	close_text(b);
	p->kind = kind;
	p->quoted = is_quoted;
	p->text = p->op = "";
	*b->tail = p;
	b->tail = &p->next;
	return p;
}

static void open_text(struct builder *b, bool is_quoted)
{
	if (!b->open || b->open->quoted != is_quoted) {
		struct part *p = add_part(b, PART_TEXT, is_quoted);

		b->open = p;
	}
}

static void add_byte(struct builder *b, int c, bool is_quoted)
{
	open_text(b, is_quoted);
	bytes_addc(b->r->arena, &b->bytes, (char)c);
}

static struct word *finish(struct builder *b)
{
	close_text(b);
	b->w->end = shell_at(b->r, b->r->pos);
	return b->w;
}

/* --- quotes --- */

static void backslash(struct builder *b)
{
	struct reader *r = b->r;

	r->pos++;
	if (r->pos >= r->end) {
		add_byte(b, '\\', true);
		return;
	}
	add_byte(b, r->s[r->pos++], true);
}

static void single_quotes(struct builder *b)
{
	struct reader *r = b->r;
	size_t start = r->pos++;

	open_text(b, true);
	while (r->pos < r->end && r->s[r->pos] != '\'')
		add_byte(b, r->s[r->pos++], true);
	if (r->pos >= r->end)
		shell_refuse(r, start, "a quote without its end");
	r->pos++;
}

/* A backslash between double quotes, or in a here-document: quotes only what would be special. */
static void weak_backslash(struct builder *b, int flags)
{
	struct reader *r = b->r;
	int c = r->pos + 1 < r->end ? (unsigned char)r->s[r->pos + 1] : 0;

	if (c && (strchr("$`\\", c) || (c == '"' && !(flags & IN_HEREDOC)))) {
		add_byte(b, c, true);
		r->pos += 2;
	} else {
		add_byte(b, '\\', true);
		r->pos++;
	}
}

static void double_quotes(struct builder *b)
{
	struct reader *r = b->r;
	size_t start = r->pos++;
	int c;

	open_text(b, true);
	while ((c = shell_ch(r)) != '"') {
		if (c == SHELL_EOF)
			shell_refuse(r, start, "a quote without its end");
		one_unit(b, c, IN_QUOTES);
	}
	r->pos++;
}

/* --- $'...' --- */

static const char escape_from[] = "abeEfnrtv\\'\"?";
static const char escape_to[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
static_assert(sizeof(escape_from) == sizeof(escape_to), "a byte for each letter");

static unsigned int read_digits(struct reader *r, int base, int max)
{
	unsigned int v = 0;

	for (; max && r->pos < r->end; max--, r->pos++) {
		int c = (unsigned char)r->s[r->pos];

		if (base == 8 ? c < '0' || c > '7' : !isxdigit(c))
			break;
		v = v * (unsigned int)base +
		    (unsigned int)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
	}
	return v;
}

static void add_utf8(struct builder *b, unsigned int v)
{
	if (v < 0x80) {
		add_byte(b, (int)v, true);
	} else if (v < 0x800) {
		add_byte(b, (int)(0xc0 | v >> 6), true);
		add_byte(b, (int)(0x80 | (v & 63)), true);
	} else if (v < 0x10000) {
		add_byte(b, (int)(0xe0 | v >> 12), true);
		add_byte(b, (int)(0x80 | (v >> 6 & 63)), true);
		add_byte(b, (int)(0x80 | (v & 63)), true);
	} else {
		add_byte(b, (int)(0xf0 | (v >> 18 & 7)), true);
		add_byte(b, (int)(0x80 | (v >> 12 & 63)), true);
		add_byte(b, (int)(0x80 | (v >> 6 & 63)), true);
		add_byte(b, (int)(0x80 | (v & 63)), true);
	}
}

static void ansi_escape(struct builder *b)
{
	struct reader *r = b->r;
	size_t start = r->pos++;
	int c = r->pos < r->end ? (unsigned char)r->s[r->pos] : 0;
	const char *known = c ? strchr(escape_from, c) : NULL;
	unsigned int v;

	if (known) {
		add_byte(b, escape_to[known - escape_from], true);
		r->pos++;
		return;
	}
	if (c >= '0' && c <= '7') {
		v = read_digits(r, 8, 3) & 0xff;
		add_byte(b, (int)v, true);
	} else if (c == 'x') {
		r->pos++;
		v = read_digits(r, 16, 2);
		add_byte(b, (int)v, true);
	} else if (c == 'u' || c == 'U') {
		r->pos++;
		v = read_digits(r, 16, c == 'u' ? 4 : 8);
		add_utf8(b, v);
	} else {
		shell_refuse(r, start, "an escape nobody uses");
	}
	if (!v)
		shell_refuse(r, start, "a NUL byte");	/* bash cuts the string there */
}

static void ansi_quotes(struct builder *b, size_t start)
{
	struct reader *r = b->r;

	if (r->is_posix)
		shell_refuse(r, start, "not understood by every sh");
	r->pos++;
	open_text(b, true);
	while (r->pos < r->end && r->s[r->pos] != '\'') {
		if (r->s[r->pos] == '\\')
			ansi_escape(b);
		else
			add_byte(b, r->s[r->pos++], true);
	}
	if (r->pos >= r->end)
		shell_refuse(r, start, "a quote without its end");
	r->pos++;
}

/* --- substitutions --- */

static void command_part(struct builder *b, enum part_kind kind, size_t start, bool is_quoted)
{
	struct reader *r = b->r;
	struct part *p = add_part(b, kind, is_quoted);
	struct heredoc *outer = r->heredocs;

	shell_deeper(r);
	r->heredocs = NULL;
	p->script = shell_list(r);
	if (shell_ch(r) != ')')
		shell_refuse(r, start, "a substitution without its end");
	if (r->heredocs)
		shell_refuse(r, start, "a here-document that outlives its substitution");
	r->heredocs = outer;
	r->pos++;
	shell_shallower(r);
}

static void process_part(struct builder *b, int c)
{
	struct reader *r = b->r;
	size_t start = r->pos;

	if (r->is_posix)
		shell_refuse(r, start, "not understood by every sh");
	shell_next(r);
	r->pos++;
	command_part(b, PART_PROCESS, start, true);
	for (struct part *p = b->w->parts; p; p = p->next)
		if (!p->next)
			p->is_output = c == '>';
}

/* What stands between backticks loses one level of backslashes before it is read. */
static void unescape_backticks(struct reader *r, size_t start, int flags, struct bytes *ret, uint32_t *map)
{
	for (r->pos++; r->pos < r->end && r->s[r->pos] != '`'; r->pos++) {
		if (r->s[r->pos] == '\\' && r->pos + 1 < r->end) {
			int c = (unsigned char)r->s[r->pos + 1];

			if (c && (strchr("$`\\", c) || (c == '"' && (flags & IN_QUOTES))))
				r->pos++;
		}
		map[ret->len] = (uint32_t)shell_at(r, r->pos);
		bytes_addc(r->arena, ret, r->s[r->pos]);
	}
	if (r->pos >= r->end)
		shell_refuse(r, start, "a backtick without its end");
	map[ret->len] = (uint32_t)shell_at(r, r->pos);
	r->pos++;
}

static void backtick_part(struct builder *b, int flags)
{
	struct reader *r = b->r;
	struct part *p = add_part(b, PART_COMMAND, flags != 0);
	size_t start = r->pos;
	size_t end = start + 1;
	struct reader inner = *r;
	struct bytes text = { 0 };
	uint32_t *map;

	while (end < r->end && r->s[end] != '`')
		end += r->s[end] == '\\' ? 2 : 1;
	if (end >= r->end)
		shell_refuse(r, start, "a backtick without its end");
	shell_deeper(r);
	map = arena_alloc(r->arena, (end - start + 1) * sizeof(*map));
	unescape_backticks(r, start, flags, &text, map);
	inner.s = text.s ? text.s : "";
	inner.pos = 0;
	inner.end = text.len;
	inner.map = map;
	inner.heredocs = NULL;
	p->script = shell_list(&inner);
	if (shell_ch(&inner) != SHELL_EOF || inner.heredocs)
		shell_refuse(&inner, inner.pos, "something between backticks that does not end there");
	shell_shallower(r);
}

/* --- parameters --- */

static const char special_params[] = "@*#?-$!";

static const char *read_name(struct reader *r)
{
	struct bytes name = { 0 };
	int c = shell_ch(r);

	if (isdigit(c)) {
		for (; isdigit(c); c = shell_next(r))
			bytes_addc(r->arena, &name, (char)c);
	} else if (c == '_' || (c < 128 && isalpha(c))) {
		for (; c == '_' || (c < 128 && c > 0 && isalnum(c)); c = shell_next(r))
			bytes_addc(r->arena, &name, (char)c);
	} else if (c > 0 && strchr(special_params, c)) {
		bytes_addc(r->arena, &name, (char)c);
		r->pos++;
	}
	return name.s ? name.s : "";
}

struct word *shell_subscript(struct reader *r)
{
	struct builder b = begin(r);
	size_t start = r->pos;
	int c, depth = 0;

	for (; (c = shell_ch(r)) != ']' || depth; ) {
		if (c == SHELL_EOF)
			shell_refuse(r, start, "a subscript without its end");
		depth += c == '[' ? 1 : c == ']' ? -1 : 0;
		one_unit(&b, c, 0);
	}
	finish(&b);
	r->pos++;
	return b.w;
}

/* The rest of ${name..., up to its brace, which is stepped over. */
static struct word *brace_operand(struct reader *r, size_t start, int flags, bool is_default)
{
	struct builder b = begin(r);
	int c;

	while ((c = shell_ch(r)) != '}') {
		if (c == SHELL_EOF)
			shell_refuse(r, start, "a ${ without its end");
		if (c == '\'' && flags) {
			/* Quotes in a pattern, bytes in a default: shells differ on the rest. */
			if (is_default)
				shell_refuse(r, start, "a quote that shells read differently");
			single_quotes(&b);
		} else if (c == '"') {
			double_quotes(&b);
		} else if (c == '\\') {
			backslash(&b);
		} else {
			one_unit(&b, c, flags);
		}
	}
	finish(&b);
	r->pos++;
	return b.w;
}

/* Longest first where one begins with another. */
static const char *const param_ops[] = {
	":-", ":=", ":?", ":+", "-", "=", "?", "+", "##", "#", "%%", "%", "//", "/#", "/%", "/",
	"^^", "^", ",,", ",", "@", ":", NULL,
};

static const char *read_param_op(struct reader *r)
{
	for (const char *const *op = param_ops; *op; op++)
		if (shell_match(r, *op))
			return *op;
	return NULL;
}

/* "#" and "!" in front: the length, or what the value names. Alone they are parameters themselves. */
static const char *read_param_prefix(struct reader *r)
{
	int c = shell_ch(r);
	size_t back = r->pos;

	if (c != '#' && c != '!')
		return "";
	c = shell_next(r);
	if (c == '_' || (c < 128 && c > 0 && isalnum(c)) || (c > 0 && strchr("@*", c)))
		return r->s[back] == '#' ? "len" : "!";
	if ((c == '#' || c == '?' || c == '-' || c == '$' || c == '!') && r->s[back] == '#') {
		/* ${##} is a length, ${#-x} an operator: only the first is worth reading. */
		if (r->pos + 1 < r->end && r->s[r->pos + 1] == '}')
			return "len";
	}
	r->pos = back;
	return "";
}

static void brace_part(struct builder *b, size_t start, int flags)
{
	struct reader *r = b->r;
	struct part *p = add_part(b, PART_PARAM, flags != 0);
	const char *prefix, *op;

	shell_deeper(r);
	r->pos++;
	prefix = read_param_prefix(r);
	p->text = read_name(r);
	p->len = strlen(p->text);
	if (!p->len)
		shell_refuse(r, start, "an expansion nobody knows");
	if (shell_match(r, "["))
		p->index = shell_subscript(r);
	p->op = prefix;
	if (!shell_match(r, "}")) {
		op = read_param_op(r);
		/* ${!prefix@} and ${!prefix*} list names. */
		if (!op && prefix[0] == '!' && shell_match(r, "*"))
			op = "@";
		if (!op || r->is_posix > (strchr("-=?+#%:", op[0]) != NULL && strcmp(op, ":")))
			shell_refuse(r, start, "an expansion nobody knows");
		p->op = arena_printf(r->arena, "%s%s", prefix, op);
		p->arg = brace_operand(r, start, flags, op[0] == ':' || strchr("-=?+", op[0]));
	}
	shell_shallower(r);
}

/* $[...], the old way to write $((...)). */
static void old_arith_part(struct builder *b, int flags)
{
	struct part *p = add_part(b, PART_ARITH, flags != 0);

	b->r->pos++;
	shell_deeper(b->r);
	p->arg = shell_subscript(b->r);
	shell_shallower(b->r);
}

static void paren_part(struct builder *b, size_t start, int flags)
{
	struct reader *r = b->r;

	r->pos++;
	if (shell_ch(r) == '(') {
		size_t back = r->pos++;
		struct word *w;

		shell_deeper(r);
		w = shell_arith(r);
		shell_shallower(r);
		if (w) {
			struct part *p = add_part(b, PART_ARITH, flags != 0);

			p->arg = w;
			return;
		}
		r->pos = back;
	}
	command_part(b, PART_COMMAND, start, flags != 0);
}

static void dollar(struct builder *b, int flags)
{
	struct reader *r = b->r;
	size_t start = r->pos;
	int c = shell_next(r);

	if (c == '(') {
		paren_part(b, start, flags);
	} else if (c == '{') {
		brace_part(b, start, flags);
	} else if (c == '[' && !r->is_posix) {
		old_arith_part(b, flags);
	} else if (c == '\'' && !flags) {
		ansi_quotes(b, start);
	} else if (c == '"' && !flags) {
		double_quotes(b);
	} else if (c == '_' || (c > 0 && c < 128 && (isalnum(c) || strchr(special_params, c)))) {
		struct part *p = add_part(b, PART_PARAM, flags != 0);

		if (isdigit(c)) {	/* $10 is $1 and a zero */
			p->text = arena_dup(r->arena, r->s + r->pos++, 1);
		} else {
			p->text = read_name(r);
		}
		p->len = strlen(p->text);
	} else {
		add_byte(b, '$', flags != 0);
	}
}

/* One step through a word: a quote, an expansion or a plain byte @c. */
static void one_unit(struct builder *b, int c, int flags)
{
	switch (c) {
	case '\\':
		if (flags)
			weak_backslash(b, flags);
		else
			backslash(b);
		break;
	case '`':
		backtick_part(b, flags);
		break;
	case '$':
		dollar(b, flags);
		break;
	case '\'':
	case '"':
		if (!flags) {
			c == '"' ? double_quotes(b) : single_quotes(b);
			break;
		}
		/* fall through */
	default:
		add_byte(b, c, flags != 0);
		b->r->pos++;
	}
}

/* --- what the command reader asks for --- */

/*
 * Behind one of ?*+@! the end of a bracket that holds nothing but a plain pattern, or 0. With extglob
 * it is part of the word, and without it bash takes the whole line for an error and runs none of it.
 */
static size_t pattern_end(const struct reader *r, size_t word_start)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,|*?+@!-[]";
	const char *s = r->s;
	size_t p = r->pos;
	unsigned int depth = 0;

	if (p == word_start || !strchr("?*+@!", s[p - 1]) || s[p] != '(' || (p >= word_start + 2 && s[p - 2] == '\\') ||
	    p + 1 >= r->end || s[p + 1] == ')')
		return 0;
	for (; p < r->end; p++) {
		depth += s[p] == '(';
		if (s[p] == ')' && !--depth)
			return p + 1;
		if (s[p] != '(' && s[p] != ')' && !strchr(plain, s[p]))
			return 0;
	}
	return 0;
}

/* It stands for any name; to the grammar, which may not know it, too. */
static bool match_part(struct builder *b, size_t word_start)
{
	struct reader *r = b->r;
	size_t end = b->open && !b->open->quoted && b->bytes.len ? pattern_end(r, word_start) : 0;

	if (!end)
		return false;
	if (r->is_posix)
		shell_refuse(r, word_start, "not understood by every sh");
	b->bytes.s[b->bytes.len - 1] = '*';
	for (size_t p = r->pos - 1; p < end; p++)
		shell_hide_from_grammar(r, p, "*");
	r->pos = end;
	return true;
}

static struct word *read_word(struct reader *r, bool may_match)
{
	struct builder b = begin(r);
	size_t start = r->pos;

	for (;;) {
		int c = shell_ch(r);

		if ((c == '<' || c == '>') && r->pos + 1 < r->end && r->s[r->pos + 1] == '(')
			process_part(&b, c);
		else if (c == '(' && may_match && match_part(&b, start))
			continue;
		else if (shell_is_meta(c))
			break;
		else
			one_unit(&b, c, 0);
	}
	return finish(&b);
}

struct word *shell_word(struct reader *r)
{
	return read_word(r, false);
}

struct word *shell_pattern(struct reader *r)
{
	return read_word(r, true);
}

struct word *shell_regex(struct reader *r)
{
	struct builder b = begin(r);
	size_t start = r->pos;
	int depth = 0;

	for (;;) {
		int c = shell_ch(r);

		if (c == SHELL_EOF && depth)
			shell_refuse(r, start, "an expression without its end");
		if (!depth && (c == ')' || (c != '(' && c != '|' && shell_is_meta(c))))
			break;
		depth += c == '(' ? 1 : c == ')' ? -1 : 0;
		one_unit(&b, c, 0);
	}
	return finish(&b);
}

struct word *shell_heredoc_body(struct reader *r, size_t start, size_t end)
{
	struct reader body = *r;
	struct builder b;
	int c;

	body.pos = start;
	body.end = end;
	body.heredocs = NULL;
	b = begin(&body);
	while ((c = shell_ch(&body)) != SHELL_EOF)
		one_unit(&b, c, IN_QUOTES | IN_HEREDOC);
	return finish(&b);
}

/* Step over @c of an arithmetic expression; false when it shows there is none. */
static bool arith_unit(struct builder *b, int c, int *depth)
{
	if (c == SHELL_EOF)
		return false;
	if (c == ')' && !*depth)
		return false;
	*depth += c == '(' ? 1 : c == ')' ? -1 : 0;
	if (*depth > (int)b->r->lim->max_depth)
		shell_over_limit(b->r, "nested too deeply");
	one_unit(b, c, 0);
	return true;
}

struct word *shell_arith(struct reader *r)
{
	struct builder b = begin(r);
	size_t back = r->pos, starts = r->starts->n;
	unsigned int commands = r->lim->commands;
	int depth = 0;

	while (depth || !shell_match(r, "))")) {
		if (!arith_unit(&b, shell_ch(r), &depth)) {
			/* Not arithmetic after all. Each such turn reads twice, so they are few. */
			if (++r->lim->turns > 8)
				shell_refuse(r, back, "brackets that can be read in too many ways");
			r->pos = back;
			r->starts->n = starts;
			r->lim->commands = commands;
			return NULL;
		}
	}
	finish(&b);
	b.w->end -= 2;
	return b.w;
}
