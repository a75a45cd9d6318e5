/*
 * Words become arguments, as bash would make them, as far as that can be known
 * without running anything. Substitutions met on the way are walked: expanding
 * a word is also running what stands in it.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "gates/judge.h"
#include "gates/shell_internal.h"

/* --- variables --- */

const struct var *var_find(const struct judge *j, const char *name)
{
	for (const struct var *v = j->sh.vars; v; v = v->next)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

/* The shell sets these itself, whatever a line puts in them. */
bool var_is_shells_own(const char *name)
{
	static const char *const names[] = {
		"_", "PWD", "OLDPWD", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "FUNCNAME", "DIRSTACK",
		"GROUPS", "PIPESTATUS",
		"OPTARG", "OPTIND", "REPLY", "MAPFILE", "COPROC", NULL
	};

	for (const char *const *n = names; *n; n++)
		if (!strcmp(*n, name))
			return true;
	return !strncmp(name, "BASH_", 5);
}

static struct var *var_push(struct judge *j, const char *name, enum value_kind kind)
{
	struct var *v = ARENA_NEW(j->arena, struct var);
	const struct var *old = var_find(j, name);

	v->name = name;
	v->kind = kind;
	v->is_readonly = old && old->is_readonly;
	if ((v->is_readonly || var_is_shells_own(name)) && kind != VALUE_NUMBER)
		v->kind = VALUE_UNKNOWN;
	v->value = "";
	v->next = (struct var *)j->sh.vars;
	j->sh.vars = v;
	return v;
}

void var_set(struct judge *j, const char *name, enum value_kind kind, const char *value)
{
	var_push(j, name, kind)->value = value;
}

void var_set_list(struct judge *j, const char *name, const struct args *items)
{
	var_push(j, name, VALUE_LIST)->items = items;
}

void var_fetched(struct judge *j, const char *name, const struct arg *at)
{
	struct arg value = { .text = "\001", .start = at->start, .end = at->end };

	var_push(j, name, VALUE_UNKNOWN);
	env_assign(j, name, &value);
}

void var_readonly(struct judge *j, const char *name)
{
	const struct var *old = var_find(j, name);
	struct var *v = var_push(j, name, old ? old->kind : VALUE_UNKNOWN);

	v->value = old ? old->value : "";
	v->items = old ? old->items : NULL;
	v->is_readonly = true;
}

static enum value_kind kind_of_arg(const struct arg *a)
{
	if (a->is_network)
		return VALUE_NETWORK;
	return a->is_number ? VALUE_NUMBER : a->is_operand ? VALUE_PATHS : VALUE_UNKNOWN;
}

void var_set_arg(struct judge *j, const char *name, const struct arg *a)
{
	if (a->is_known)
		var_set(j, name, VALUE_KNOWN, a->text);
	else
		var_set(j, name, kind_of_arg(a), kind_of_arg(a) == VALUE_PATHS ? arg_dir(j, a) : "");
}

/* Parameters that are digits whatever happens. */
static const char *const number_names[] = {
	"#", "?", "$", "!", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "BASHPID",
	"COLUMNS",
	"LINES", "EPOCHSECONDS", "OPTIND", "SHLVL", "HISTCMD", "BASH_SUBSHELL", NULL
};

static bool is_number_name(const char *name)
{
	for (const char *const *n = number_names; *n; n++)
		if (!strcmp(*n, name))
			return true;
	return false;
}

/* --- a word being put together --- */

struct field {
	struct judge *j;
	struct args *out;
	struct bytes text;
	struct arg arg;		/* flags so far */
	bool has_any;		/* something, if only quotes, is there */
	bool all_number, lacks_numbers;
	bool has_bracket;	/* an unquoted "[" so far */
	bool splits;		/* fields may be ended by blanks in values */
};

static void field_start(struct field *f, const struct word *w)
{
	f->text = (struct bytes){ 0 };
	f->arg = (struct arg){ .is_known = true, .start = w->start, .end = w->end };
	f->has_any = f->has_bracket = false;
	f->all_number = f->lacks_numbers = true;
}

static void field_end(struct field *f)
{
	struct arg *a = &f->arg;

	if (!f->has_any)
		return;
	a->text = f->text.s ? f->text.s : "";
	if (!a->is_known) {
		a->is_number = f->all_number;
		a->lacks_numbers = f->lacks_numbers;
		if (a->text[0] != PLACE_HOLE)
			a->is_operand = a->text[0] != '-';
		a->is_operand |= a->is_number;
	}
	args_add(f->j, f->out, *a);
	f->has_any = false;
}

static void field_next(struct field *f)
{
	struct word w = { .start = f->arg.start, .end = f->arg.end };

	field_end(f);
	field_start(f, &w);
}

static void add_text(struct field *f, const char *s, size_t len, bool may_glob)
{
	bytes_add(f->j->arena, &f->text, s, len);
	f->has_any = true;
	for (size_t i = 0; i < len; i++) {
		f->all_number &= isdigit((unsigned char)s[i]) != 0;
		if (!may_glob)
			continue;
		if (s[i] == '*' || s[i] == '?' || (s[i] == ']' && f->has_bracket))
			f->arg.is_glob = true;
		f->has_bracket |= s[i] == '[';
	}
}

static void add_unknown(struct field *f, enum value_kind kind, bool is_quoted)
{
	if (!f->text.len)
		f->arg.is_operand = kind == VALUE_PATHS || kind == VALUE_NUMBER;
	bytes_addc(f->j->arena, &f->text, PLACE_HOLE);
	f->has_any = true;
	f->arg.is_known = false;
	f->arg.is_fetched |= kind == VALUE_UNKNOWN || kind == VALUE_NETWORK;
	f->arg.is_network |= kind == VALUE_NETWORK;
	f->all_number &= kind == VALUE_NUMBER;
	f->lacks_numbers &= kind == VALUE_NUMBER;
	if (!is_quoted && kind != VALUE_NUMBER)
		f->arg.may_split = true;
}

/* Names that lie in a directory out of the workspace, at the beginning of a word. */
static void add_below(struct field *f, enum value_kind kind, const char *dir, bool is_quoted)
{
	if (dir && *dir && !f->text.len) {
		bytes_add(f->j->arena, &f->text, dir, strlen(dir));
		bytes_addc(f->j->arena, &f->text, '/');
		f->has_any = true;
	}
	add_unknown(f, kind, is_quoted);
}

/* The value of a variable that no part of the line has set. */
static void add_environment(struct field *f, bool is_quoted)
{
	bool was_fetched = f->arg.is_fetched;

	add_unknown(f, VALUE_UNKNOWN, is_quoted);
	f->arg.is_fetched = was_fetched;
}

/* A known value; unquoted it is cut at blanks and may hold a pattern. */
static void add_value(struct field *f, const char *value, bool is_quoted)
{
	/* With another IFS it is cut elsewhere. */
	if (!is_quoted && f->splits && var_find(f->j, "IFS") &&
	    strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./") !=
		    strlen(value)) {
		add_unknown(f, VALUE_UNKNOWN, false);
		return;
	}
	if (is_quoted || !f->splits) {
		add_text(f, value, strlen(value), !is_quoted);
		f->has_any |= is_quoted;
		return;
	}
	while (*value) {
		size_t n = strcspn(value, " \t\n");

		if (n)
			add_text(f, value, n, true);
		value += n;
		if (*value) {
			field_next(f);
			value += strspn(value, " \t\n");
		}
	}
}

static void add_arg(struct field *f, const struct arg *a, bool is_quoted)
{
	if (a->is_known && !a->is_glob)
		add_value(f, a->text, is_quoted);
	else if (a->is_known)
		add_text(f, a->text, strlen(a->text), !is_quoted);
	else
		add_unknown(f, kind_of_arg(a), is_quoted && !a->may_split);
}

static void add_list(struct field *f, const struct args *items, size_t first, bool is_quoted)
{
	for (size_t i = first; i < items->n; i++) {
		if (i > first)
			field_next(f);
		add_arg(f, &items->v[i], is_quoted);
	}
}

/* --- substitutions --- */

/* Walk a script that a subshell runs; what it sets stays in it. */
static void walk_apart(struct judge *j, const struct node *script)
{
	struct shell saved = j->sh;

	walk_node(j, script);
	j->sh = saved;
}

/* <(...) is a name the shell makes up. */
static void process_part(struct field *f, const struct part *p)
{
	const char *text = "";

	walk_apart(f->j, p->script);
	add_text(f, "/dev/fd/63", 10, false);
	f->arg.is_network |= output_after(f->j, p->script, VALUE_UNKNOWN, &text) == VALUE_NETWORK;
}

static void command_part(struct field *f, const struct part *p)
{
	const char *text = "";
	enum value_kind kind = output_after(f->j, p->script, VALUE_UNKNOWN, &text);

	walk_apart(f->j, p->script);
	if (kind == VALUE_KNOWN)
		add_value(f, text, p->quoted);
	else
		add_below(f, kind, kind == VALUE_PATHS ? text : "", p->quoted);
}

/* Lines come from anywhere: the environment's values are not known, but agate chose them. */
static void plain_param(struct field *f, const struct part *p)
{
	struct judge *j = f->j;
	const struct var *v = var_find(j, p->text);
	const char *name = p->text;

	if (v && v->kind == VALUE_KNOWN)
		add_value(f, v->value, p->quoted);
	else if (v && v->kind == VALUE_LIST)
		v->items->n ? add_arg(f, &v->items->v[0], p->quoted) : (void)0;
	else if (v)
		add_below(f, v->kind, v->kind == VALUE_PATHS ? v->value : "", p->quoted);
	else if (isdigit((unsigned char)name[0]) && j->sh.params)
		(size_t) atoi(name) < j->sh.params->n ? add_arg(f, &j->sh.params->v[atoi(name)], p->quoted)
						      : (void)0;
	else if ((!strcmp(name, "@") || !strcmp(name, "*")) && j->sh.params)
		add_list(f, j->sh.params, 1, p->quoted);
	else if (!strcmp(name, "HOME") && j->req->home)
		add_value(f, j->req->home, p->quoted);
	else if (!strcmp(name, "PWD") && j->sh.cwd)
		add_value(f, j->sh.cwd, p->quoted);
	else if (is_number_name(name))
		add_unknown(f, VALUE_NUMBER, p->quoted);
	else if (strchr("@*0123456789_", name[0]) || var_is_shells_own(name))
		add_unknown(f, VALUE_UNKNOWN, p->quoted && strcmp(name, "@") != 0);
	else
		add_environment(f, p->quoted);
}

static void note_secret_name(struct judge *j, const struct part *p, const struct arg *at)
{
	if (!var_find(j, p->text) && place_is_secret_name(p->text))
		judge_note(j, at, EFFECT_SECRET_ACCESS, PLACE_SECRET, p->text, CHANGES, "secret",
			   "'$%s' is a credential by its name", p->text);
}

/* ${a[i]}: all items, or what a subscript picks, which is arithmetic. */
static void indexed_param(struct field *f, const struct part *p)
{
	const struct var *v = var_find(f->j, p->text);
	const char *index = word_literal(f->j->arena, p->index);
	bool is_all = index && (!strcmp(index, "@") || !strcmp(index, "*"));

	if (!is_all && !(v && v->kind == VALUE_ASSOC))
		expand_arith(f->j, p->index);
	else if (!is_all)
		expand_one(f->j, p->index);
	if (is_all && v && v->kind == VALUE_LIST && !*p->op)
		add_list(f, v->items, 0, p->quoted);
	else if (!strncmp(p->op, "len", 3))
		add_unknown(f, VALUE_NUMBER, true);
	else if (p->op[0] == '!')	/* ${!a[@]}: the subscripts */
		add_unknown(f, v && v->kind == VALUE_ASSOC ? VALUE_UNKNOWN : VALUE_NUMBER,
			    p->quoted && !is_all);
	else
		add_unknown(f, v && v->kind == VALUE_PATHS ? VALUE_PATHS : VALUE_UNKNOWN,
			    p->quoted && !is_all);
}

/* ${x:-word} and kin: the value if there is one, else the word. */
static void default_param(struct field *f, const struct part *p)
{
	const struct var *v = var_find(f->j, p->text);
	const char *op = p->op[0] == ':' ? p->op + 1 : p->op;
	struct arg word = expand_one(f->j, p->arg);

	if (*op == '=')
		var_fetched(f->j, p->text, &word);
	if (v && v->kind == VALUE_KNOWN && (*v->value || p->op[0] != ':')) {
		*op == '+' ? add_arg(f, &word, p->quoted) : add_value(f, v->value, p->quoted);
	} else if (v && v->kind == VALUE_KNOWN) {
		*op == '+' ? (void)0 : add_arg(f, &word, p->quoted);
	} else {
		add_unknown(f, VALUE_UNKNOWN, p->quoted);
	}
}

/* ${!x} reads the value of x as a name, subscript and all. */
static void check_indirect(struct field *f, const struct part *p)
{
	const struct var *v = var_find(f->j, p->text);

	if (p->op[0] != '!' || p->op[1] == '@' || p->index || !v || v->kind == VALUE_NUMBER)
		return;
	if (v->kind != VALUE_KNOWN || strpbrk(v->value, "[$`"))
		judge_unknown(f->j, p->text, &f->arg,
			      "holds a name that is followed, and a subscript in it can run commands");
}

static void param_part(struct field *f, const struct part *p)
{
	const char *op = p->op;

	note_secret_name(f->j, p, &f->arg);
	check_indirect(f, p);
	if (op[0] == '!' || !strncmp(op, "len", 3) || p->index) {
		if (p->arg)
			expand_one(f->j, p->arg);
		if (p->index)
			indexed_param(f, p);
		else
			add_unknown(f, op[0] == '!' ? VALUE_UNKNOWN : VALUE_NUMBER, p->quoted);
	} else if (!*op) {
		plain_param(f, p);
	} else if (!strcmp(op, ":")) {
		expand_arith(f->j, p->arg);
		add_unknown(f, VALUE_UNKNOWN, p->quoted);
	} else if (strchr(":-=?+", op[0])) {
		default_param(f, p);
	} else {
		struct arg word = expand_one(f->j, p->arg);

		/* ${x@P} expands the value once more, as a prompt. */
		if (!strcmp(op, "@") && !(word.is_known && !strpbrk(word.text, "P")))
			judge_unknown(f->j, p->text, &f->arg,
				      "is expanded a second time, which can run commands");
		add_unknown(f, VALUE_UNKNOWN, p->quoted);
	}
}

/* --- tilde --- */

/* Adds what "~", "~/x" or "~user" at the start of @s stands for; how many bytes of @s that took. */
static size_t add_tilde(struct field *f, const char *s, size_t len, bool is_whole)
{
	struct judge *j = f->j;
	size_t n = 0;

	while (n < len && s[n] != '/')
		n++;
	if (n == len && !is_whole)
		return 0;
	if (n == 1 && j->req->home) {
		add_text(f, j->req->home, strlen(j->req->home), false);
	} else if (n == 2 && s[1] == '+' && j->sh.cwd) {
		add_text(f, j->sh.cwd, strlen(j->sh.cwd), false);
	} else if (n > 1 && shell_is_name(s + 1, n - 1)) {
		const char *dir =
			arena_printf(j->arena, n == 5 && !strncmp(s + 1, "root", 4) ? "/%.*s" : "/home/%.*s",
				     (int)(n - 1), s + 1);

		add_text(f, dir, strlen(dir), false);
	} else {
		add_unknown(f, VALUE_PATHS, true);
	}
	return n;
}

static void text_part(struct field *f, const struct part *p, bool is_first)
{
	const char *s = p->text;
	size_t len = p->len, n;

	if (is_first && !p->quoted && len && s[0] == '~') {
		n = add_tilde(f, s, len, !p->next);
		s += n;
		len -= n;
	}
	add_text(f, s, len, !p->quoted);
	f->has_any |= p->quoted || len;
}

static void add_parts(struct field *f, const struct part *parts)
{
	for (const struct part *p = parts; p; p = p->next) {
		switch (p->kind) {
		case PART_TEXT:
			text_part(f, p, p == parts);
			break;
		case PART_PARAM:
			param_part(f, p);
			break;
		case PART_COMMAND:
			command_part(f, p);
			break;
		case PART_PROCESS:
			process_part(f, p);
			break;
		case PART_ARITH:
			expand_arith(f->j, p->arg);
			add_unknown(f, VALUE_NUMBER, true);
			break;
		}
	}
}

/* --- whole words --- */

static void expand_parts(struct judge *j, const struct word *w, const struct part *parts, struct args *ret)
{
	struct field f = { .j = j, .out = ret, .splits = true };

	field_start(&f, w);
	add_parts(&f, parts);
	field_end(&f);
}

void expand_words(struct judge *j, const struct word *list, struct args *ret)
{
	for (const struct word *w = list; w; w = w->next) {
		if (brace_may(w)) {
			struct part **v = arena_alloc(j->arena, BRACE_MAX * sizeof(*v));
			size_t n = brace_expand(j, w, v);

			for (size_t i = 0; i < n; i++)
				expand_parts(j, w, v[i], ret);
			if (n >= BRACE_MAX)
				args_add(j, ret, (struct arg){ .text = "\001", .may_split = true,
							       .start = w->start, .end = w->end });
		} else {
			expand_parts(j, w, w->parts, ret);
		}
	}
}

struct arg expand_one(struct judge *j, const struct word *w)
{
	struct args out = { 0 };
	struct field f = { .j = j, .out = &out };

	if (!w)
		return (struct arg){ .text = "", .is_known = true };
	field_start(&f, w);
	add_parts(&f, w->parts);
	f.has_any = true;
	field_end(&f);
	if (out.n == 1)
		return out.v[0];
	/* "$@" and arrays: joined somehow. */
	return (struct arg){ .text = "\001", .start = w->start, .end = w->end };
}
