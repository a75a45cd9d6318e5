/*
 * awk programs: system(), pipes, output to files, getline from them, @load.
 * Tokens are enough: in awk a ">" outside brackets in a print is an output
 * file, anywhere else it compares; a single "|" always runs a command.
 */
#include <ctype.h>
#include <string.h>

#include "gates/options.h"
#include "gates/shell_internal.h"

enum token_kind {
	TOKEN_END,
	TOKEN_NEWLINE,
	TOKEN_STRING,
	TOKEN_REGEX,
	TOKEN_NUMBER,
	TOKEN_NAME,
	TOKEN_PUNCT,
	TOKEN_BAD
};

struct token {
	enum token_kind kind;
	char text[64];		/* NAME, PUNCT; cut */
	const char *value;	/* STRING: its bytes */
};

struct awk {
	struct judge *j;
	const char *who;
	const struct arg *at;
	const char *s;
	struct token last;	/* before the current one */
	struct token before;	/* before that */
	int depth;		/* of round brackets */
	int print_depth;	/* depth at which a print statement began, or -1 */
	bool is_lost;
};

static void lost(struct awk *w, const char *why)
{
	judge_unknown(w->j, w->who, w->at, why);
	w->is_lost = true;
}

/* A "/" begins an expression where a value cannot have ended just before. */
static bool may_be_regex(const struct token *last)
{
	static const char *const words[] = { "print", "printf", "return", "in", "case", "else", "do", NULL };

	switch (last->kind) {
	case TOKEN_STRING:
	case TOKEN_REGEX:
	case TOKEN_NUMBER:
		return false;
	case TOKEN_NAME:
		for (const char *const *w = words; *w; w++)
			if (!strcmp(*w, last->text))
				return true;
		return false;
	case TOKEN_PUNCT:
		return !strchr(")]$", last->text[0]) && strcmp(last->text, "++") && strcmp(last->text, "--");
	default:
		return true;
	}
}

static void read_string(struct awk *w, struct token *t)
{
	struct bytes b = { 0 };

	t->kind = TOKEN_STRING;
	for (w->s++; *w->s && *w->s != '"' && *w->s != '\n'; w->s++) {
		if (*w->s == '\\' && w->s[1]) {
			w->s++;
			/* An escape that could spell anything is not worth decoding. */
			if (!strchr("\\\"/nt", *w->s))
				t->value = "\001";
			bytes_addc(w->j->arena, &b, *w->s == 'n' ? '\n' : *w->s == 't' ? '\t' : *w->s);
		} else {
			bytes_addc(w->j->arena, &b, *w->s);
		}
	}
	if (*w->s == '"')
		w->s++;
	else
		t->kind = TOKEN_BAD;
	if (!t->value)
		t->value = b.s ? b.s : "";
}

static void read_regex(struct awk *w, struct token *t)
{
	bool in_brackets = false;

	t->kind = TOKEN_REGEX;
	for (w->s++; *w->s && *w->s != '\n' && (*w->s != '/' || in_brackets); w->s++) {
		if (*w->s == '\\' && w->s[1])
			w->s++;
		else if (*w->s == '[' && !in_brackets) {
			in_brackets = true;
			w->s += w->s[1] == '^';
			w->s += w->s[1] == ']';
		} else if (*w->s == ']') {
			in_brackets = false;
		} else if (*w->s == '/' && in_brackets) {
			t->kind = TOKEN_BAD;	/* awks differ on it */
		}
	}
	if (*w->s == '/')
		w->s++;
	else
		t->kind = TOKEN_BAD;
}

static const char *const puncts[] = {
	"**=", ">>", "|&", "||", "&&", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "**", "==", "<=", ">=",
	"!=", "!~", NULL
};

static void read_punct(struct awk *w, struct token *t)
{
	t->kind = TOKEN_PUNCT;
	for (const char *const *p = puncts; *p; p++) {
		size_t n = strlen(*p);

		if (!strncmp(w->s, *p, n)) {
			memcpy(t->text, *p, n + 1);
			w->s += n;
			return;
		}
	}
	t->text[0] = *w->s++;
	t->text[1] = '\0';
	if (!strchr("{}()[];,+-*/%^!<>|?:~$=@&", t->text[0]))
		t->kind = TOKEN_BAD;
}

static struct token next(struct awk *w)
{
	struct token t = { 0 };
	size_t n = 0;

	for (;;) {
		w->s += strspn(w->s, " \t\r");
		if (w->s[0] == '\\' && w->s[1] == '\n')
			w->s += 2;
		else if (*w->s == '#')
			w->s += strcspn(w->s, "\n");
		else
			break;
	}
	if (!*w->s)
		return t;
	if (*w->s == '\n') {
		w->s++;
		t.kind = TOKEN_NEWLINE;
	} else if (*w->s == '"') {
		read_string(w, &t);
	} else if (*w->s == '/' && may_be_regex(&w->last)) {
		read_regex(w, &t);
	} else if (*w->s == '_' || isalpha((unsigned char)*w->s)) {
		t.kind = TOKEN_NAME;
		for (; *w->s == '_' || isalnum((unsigned char)*w->s); w->s++)
			if (n + 1 < sizeof(t.text))
				t.text[n++] = *w->s;
	} else if (isdigit((unsigned char)*w->s) || (*w->s == '.' && isdigit((unsigned char)w->s[1]))) {
		t.kind = TOKEN_NUMBER;
		w->s += strspn(w->s, "0123456789.xXabcdefABCDEF");
		if ((w->s[-1] == 'e' || w->s[-1] == 'E') && (*w->s == '+' || *w->s == '-'))
			w->s += 1 + strspn(w->s + 1, "0123456789");
	} else {
		read_punct(w, &t);
	}
	return t;
}

static struct token peek(struct awk *w)
{
	struct awk copy = *w;

	return next(&copy);
}

static bool is_punct(const struct token *t, const char *s)
{
	return t->kind == TOKEN_PUNCT && !strcmp(t->text, s);
}

static bool ends_statement(const struct token *t)
{
	return t->kind == TOKEN_END || t->kind == TOKEN_NEWLINE || is_punct(t, ";") || is_punct(t, "}");
}

/* The next token if it is a plain string and nothing is joined to it; else NULL. */
static const char *lone_string(struct awk *w, const char *closer)
{
	struct token t = peek(w), after;
	struct awk copy = *w;

	if (t.kind != TOKEN_STRING || strchr(t.value, PLACE_HOLE))
		return NULL;
	copy.last = next(&copy);
	after = next(&copy);
	return (closer ? is_punct(&after, closer) : ends_statement(&after)) ? t.value : NULL;
}

static void run_string(struct awk *w, const char *line)
{
	if (line)
		walk_script(w->j, line, w->at, true);
	else
		lost(w, "runs a command it puts together");
}

/* Output to, or getline from, a file whose name follows. */
static void use_file(struct awk *w, enum place_use use)
{
	const char *name = lone_string(w, NULL);
	struct arg a = *w->at;

	if (!name && use == USE_READ)
		name = lone_string(w, ")");
	if (!name) {
		judge_unknown(w->j, w->who, w->at,
			      use == USE_READ ? "reads a file whose name it puts together"
					      : "writes a file whose name it puts together");
		return;
	}
	if (!strncmp(name, "/inet", 5)) {
		judge_note(w->j, w->at, EFFECT_NETWORK_EGRESS, PLACE_NONE, name, CHANGES, "network",
			   "'%s' opens a connection", w->who);
		return;
	}
	if (!strcmp(name, "-"))
		return;
	a.text = name;
	a.is_glob = false;
	judge_path(w->j, w->who, &a, use);
}

/* "cmd" | getline and print | "cmd" */
static void use_pipe(struct awk *w)
{
	struct token t = peek(w);
	const char *line = NULL;

	if (t.kind == TOKEN_NAME && !strcmp(t.text, "getline")) {
		bool starts = w->before.kind == TOKEN_END || w->before.kind == TOKEN_NEWLINE ||
			      (w->before.kind == TOKEN_PUNCT && strchr("{};(", w->before.text[0]));

		if (w->last.kind == TOKEN_STRING && starts && !strchr(w->last.value, PLACE_HOLE))
			line = w->last.value;
	} else {
		line = lone_string(w, NULL);
	}
	run_string(w, line);
}

static void use_name(struct awk *w, const struct token *t)
{
	if (!strcmp(t->text, "print") || !strcmp(t->text, "printf")) {
		w->print_depth = w->depth;
	} else if (!strcmp(t->text, "system")) {
		struct token open = peek(w);
		struct awk inner = *w;

		inner.last = next(&inner);
		run_string(w, is_punct(&open, "(") ? lone_string(&inner, ")") : NULL);
	} else if (!strcmp(t->text, "ENVIRON")) {
		judge_note(w->j, w->at, EFFECT_SECRET_ACCESS, PLACE_SECRET, w->who, CHANGES, "secret",
			   "'%s' reads the variables, credentials among them", w->who);
	}
}

static void use_punct(struct awk *w, const struct token *t)
{
	bool in_print = w->print_depth >= 0 && w->depth == w->print_depth;

	w->depth += is_punct(t, "(") ? 1 : is_punct(t, ")") ? -1 : 0;
	if (is_punct(t, "@"))
		lost(w, "loads or calls something by name");
	else if (is_punct(t, "|") || is_punct(t, "|&"))
		use_pipe(w);
	else if (in_print && (is_punct(t, ">") || is_punct(t, ">>")))
		use_file(w, USE_WRITE);
	else if (is_punct(t, "<") && w->last.kind == TOKEN_NAME && !strcmp(w->last.text, "getline"))
		use_file(w, USE_READ);
	else if (is_punct(t, "<") && w->before.kind == TOKEN_NAME && !strcmp(w->before.text, "getline"))
		use_file(w, USE_READ);
}

static void read_awk(struct judge *j, const char *who, const struct arg *given)
{
	const struct arg filled = arg_filled(j, given), *program = &filled;
	struct awk w = { .j = j, .who = who, .at = program, .s = program->text, .print_depth = -1 };

	if (!program->is_known || strchr(program->text, PLACE_HOLE)) {
		judge_unknown(j, who, program, "gets a program only the running shell knows");
		return;
	}
	while (!w.is_lost) {
		struct token t = next(&w);

		if (t.kind == TOKEN_END)
			return;
		if (t.kind == TOKEN_BAD)
			lost(&w, "has a program that cannot be read");
		else if (t.kind == TOKEN_NAME)
			use_name(&w, &t);
		else if (t.kind == TOKEN_PUNCT)
			use_punct(&w, &t);
		if (ends_statement(&t))
			w.print_depth = -1;
		w.before = w.last;
		w.last = t;
	}
}

void check_awk(struct judge *j, struct parsed *p)
{
	const struct opt *source = opt_find(p, "e") ? opt_find(p, "e") : opt_find(p, "source");
	bool has_program = source || opt_has(p, "f file E exec");

	for (size_t i = 0; i < p->n_opts; i++) {
		const struct opt *o = &p->opts[i];

		if (o->has_value &&
		    ((o->len == 1 && *o->name == 'e') || (o->len == 6 && !strncmp(o->name, "source", 6))))
			read_awk(j, p->who, &o->value);
	}
	for (size_t i = 0; i < p->operands.n; i++) {
		const struct arg *a = &p->operands.v[i];
		const char *eq = strchr(a->text, '=');

		if (!i && !has_program)
			read_awk(j, p->who, a);
		else if (!arg_is(a, "-") && !(eq && shell_is_name(a->text, (size_t)(eq - a->text))))
			judge_path(j, p->who, a, USE_READ);
	}
}
