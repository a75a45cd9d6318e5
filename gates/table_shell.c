/*
 * What bash does itself, without starting a program.
 */
#include <stdlib.h>
#include <string.h>

#include "gates/options.h"
#include "gates/shell_internal.h"

/* A variable's name given as a word. "a[$(cmd)]" as one runs cmd. */
static void check_var_name(struct judge *j, const char *who, const struct arg *a, bool is_set)
{
	if (!a->is_known || !shell_is_name(a->text, strlen(a->text))) {
		judge_unknown(j, who, a, "gets a variable's name with more to it, which can run commands");
		return;
	}
	if (is_set)
		var_fetched(j, a->text, a);
}

/* A whole line of names into one variable: what it begins with is known. */
static bool reads_name(const struct judge *j, const struct parsed *p)
{
	return !strcmp(p->who, "read") && j->sh.feed == FEED_PATHS && p->operands.n == 1 && p->operands.v[0].is_known &&
		shell_is_name(p->operands.v[0].text, strlen(p->operands.v[0].text)) && !opt_has(p, "a n N u i");
}

static void check_names(struct judge *j, struct parsed *p)
{
	const struct opt *array = opt_find(p, "a");

	if (reads_name(j, p)) {
		var_fetched(j, p->operands.v[0].text, &p->operands.v[0]);
		var_set(j, p->operands.v[0].text, VALUE_PATHS, j->sh.feed_text ? j->sh.feed_text : "");
		return;
	}
	if (array && array->has_value)
		check_var_name(j, p->who, &array->value, true);
	for (size_t i = 0; i < p->operands.n; i++)
		check_var_name(j, p->who, &p->operands.v[i], true);
}

static void check_getopts(struct judge *j, struct parsed *p)
{
	if (p->operands.n > 1)
		check_var_name(j, p->who, &p->operands.v[1], true);
}

static void check_unset(struct judge *j, struct parsed *p)
{
	for (size_t i = 0; i < p->operands.n; i++) {
		check_var_name(j, p->who, &p->operands.v[i], false);
		env_gone(j, &p->operands.v[i]);
		if (func_is_defined(j, p->operands.v[i].text))
			judge_unknown(j, p->who, &p->operands.v[i], "takes a function away, so that the name stands for something else");
		if (arg_is(&p->operands.v[i], "PATH"))
			judge_unknown(j, p->who, &p->operands.v[i],
				      "takes PATH away, so that names stand for files here");
		else if (p->operands.v[i].is_known)
			var_set(j, p->operands.v[i].text, VALUE_UNKNOWN, "");
	}
}

static void check_printf(struct judge *j, struct parsed *p)
{
	const struct opt *v = opt_find(p, "v");

	if (v && v->has_value)
		check_var_name(j, p->who, &v->value, true);
}

/* test -v reads a subscript; the rest only looks. Words that were fetched could be "-v a[$(cmd)]". */
static void check_test(struct judge *j, struct parsed *p)
{
	for (size_t i = 0; i < p->operands.n; i++) {
		const struct arg *a = &p->operands.v[i];

		if (arg_is(a, "-v") && i + 1 < p->operands.n)
			check_var_name(j, p->who, a + 1, false);
		else if (a->is_fetched && !a->is_number &&
			 (a->may_split || p->operands.n < 3 + !strcmp(p->who, "[")) &&
			 a->text[0] == PLACE_HOLE && i + 1 < p->operands.n && !arg_is(a + 1, "]"))
			judge_unknown(j, p->who, a,
				      "gets fetched words, and -v among them could run commands");
		else if (a->is_fetched && a->may_split && a->text[0] == PLACE_HOLE && !a->is_operand)
			judge_unknown(j, p->who, a,
				      "gets fetched words, and -v among them could run commands");
	}
}

static void check_cd(struct judge *j, struct parsed *p)
{
	struct arg home = { .text = j->req->home ? j->req->home : "\001", .is_known = j->req->home != NULL };
	const struct arg *to = p->operands.n ? &p->operands.v[0] : &home;

	if (!to->is_known || to->is_glob || arg_is(to, "-")) {
		j->sh.cwd = NULL;
		return;
	}
	judge_path(j, p->who, to, USE_LOOK);
	j->sh.cwd = to->text[0] == '/' || j->sh.cwd ? place_resolve(j->arena, j->sh.cwd, to->text) : NULL;
}

static void check_popd(struct judge *j, struct parsed *p)
{
	(void)p;
	j->sh.cwd = NULL;
}

static void dumps_variables(struct judge *j, const struct parsed *p)
{
	judge_note(j, p->name, EFFECT_SECRET_ACCESS, PLACE_SECRET, p->who, CHANGES, "secret",
		   "'%s' shows all variables, credentials among them", p->who);
}

/* name=value as one word, where the reader saw no assignment. */
static void declare_word(struct judge *j, const char *who, const struct arg *a, bool is_integer)
{
	const char *eq = strchr(a->text, '=');
	size_t n = eq ? (size_t)(eq - a->text) : strlen(a->text);
	struct arg value = *a;

	if (!a->is_known || !shell_is_name(a->text, n)) {
		judge_unknown(j, who, a, "gets a variable's name with more to it, which can run commands");
		return;
	}
	if (!eq)
		return;
	value.text = eq + 1;
	/* An array written in quotes is expanded after all. */
	if (value.text[0] == '(')
		judge_unknown(j, who, a, "expands an array written in quotes");
	if (is_integer)
		expand_arith_text(j, value.text, a);
	var_set_arg(j, arena_dup(j->arena, a->text, n), &value);
	env_assign(j, arena_dup(j->arena, a->text, n), &value);
}

static bool is_digits(const struct word *w)
{
	const struct part *p = w ? w->parts : NULL;

	return p && !p->next && p->kind == PART_TEXT && strspn(p->text, "0123456789") == p->len;
}

/* What the reader took for assignments, in the light of the options. */
static void check_assigned(struct judge *j, const struct parsed *p)
{
	bool is_readonly = opt_has(p, "r") || !strcmp(p->who, "readonly");

	for (const struct assign *a = j->assigns; a; a = a->next) {
		if (opt_has(p, "i") && !is_digits(a->value))
			judge_unknown(j, p->who, p->name, "reads values as arithmetic");
		if (opt_has(p, "l u c"))
			var_set(j, a->name, VALUE_UNKNOWN, "");
		if (is_readonly)
			var_readonly(j, a->name);
	}
}

static void check_declare(struct judge *j, struct parsed *p)
{
	bool is_integer = opt_has(p, "i");

	if (opt_has(p, "f F"))
		return;
	if (opt_has(p, "n"))
		judge_unknown(j, p->who, p->name, "makes a name stand for another");
	/* The reader took the assignments out, so "export A=1" has no operand either. */
	if (!p->operands.n && !j->assigns && (opt_has(p, "p x") || !p->n_opts))
		dumps_variables(j, p);
	check_assigned(j, p);
	for (size_t i = 0; i < p->operands.n; i++) {
		const struct arg *a = &p->operands.v[i];

		if (opt_has(p, "p") && place_is_secret_name(a->text))
			dumps_variables(j, p);
		if (opt_has(p, "A") && a->is_known && shell_is_name(a->text, strlen(a->text)))
			var_set(j, a->text, VALUE_ASSOC, "");
		else
			declare_word(j, p->who, a, is_integer);
	}
}

/* set alone lists variables; with words it sets $1 and on. */
static void check_set(struct judge *j, struct parsed *p)
{
	if (!p->operands.n) {
		dumps_variables(j, p);
		return;
	}
	for (size_t i = 0; i < p->operands.n; i++) {
		const struct arg *a = &p->operands.v[i];
		struct args *params;

		if (a->is_known && (a->text[0] == '-' || a->text[0] == '+') && strcmp(a->text, "--")) {
			if (strchr(a->text, 'k'))
				judge_unknown(j, p->who, a, "has arguments change the environment");
			continue;
		}
		if (arg_is(a, "keyword"))
			judge_unknown(j, p->who, a, "has arguments change the environment");
		/* $0 stays; the word before stands in for it. */
		params = ARENA_NEW(j->arena, struct args);
		args_add(j, params, *p->name);
		for (i += arg_is(a, "--"); i < p->operands.n; i++)
			args_add(j, params, p->operands.v[i]);
		j->sh.params = params;
	}
}

static void check_eval(struct judge *j, struct parsed *p)
{
	struct bytes line = { 0 };

	for (size_t i = 0; i < p->operands.n; i++) {
		const struct arg *a = &p->operands.v[i];

		if (!a->is_known || a->is_glob) {
			judge_code(j, p->who, p->name, a, "runs words only the running shell knows");
			return;
		}
		bytes_add(j->arena, &line, a->text, strlen(a->text));
		bytes_addc(j->arena, &line, ' ');
	}
	if (line.s)
		walk_script(j, line.s, p->name, false);
}

static void check_source(struct judge *j, struct parsed *p)
{
	if (p->operands.n)
		judge_code(j, p->who, p->name, &p->operands.v[0], "runs a script that is not looked into");
}

static void check_let(struct judge *j, struct parsed *p)
{
	for (size_t i = 0; i < p->operands.n; i++) {
		const struct arg *a = &p->operands.v[i];

		if (a->is_known)
			expand_arith_text(j, a->text, a);
		else if (!a->is_number)
			judge_unknown(j, p->who, a, "reads words only the running shell knows as arithmetic");
	}
}

/* An alias takes effect on the lines after it. */
static void check_alias(struct judge *j, struct parsed *p)
{
	for (size_t i = 0; i < p->operands.n; i++) {
		const struct arg *a = &p->operands.v[i];
		const char *eq = strchr(a->text, '=');

		if (a->is_known && !eq)
			continue;
		judge_unknown(j, p->who, a, "changes what a name stands for");
		if (a->is_known)
			walk_script(j, eq + 1, a, false);
	}
}

static void check_trap(struct judge *j, struct parsed *p)
{
	if (p->operands.n < 2 || arg_is(&p->operands.v[0], "-"))
		return;
	apply_role(j, p->who, 'S', &p->operands, 0);
}

static void check_command(struct judge *j, struct parsed *p)
{
	if (!opt_has(p, "v V") && p->operands.n)
		apply_role(j, p->who, 'X', &p->operands, 0);
}

static void check_exec(struct judge *j, struct parsed *p)
{
	if (opt_has(p, "c"))
		j->sh.is_stripped = true;
	if (p->operands.n)
		apply_role(j, p->who, 'X', &p->operands, 0);
}

static void check_mapfile(struct judge *j, struct parsed *p)
{
	static const struct arg name = { .text = "MAPFILE", .is_known = true };

	check_var_name(j, p->who, p->operands.n ? &p->operands.v[0] : &name, true);
}

/* Most options of the shell change how it reads lines; these do not matter to what we read. */
static void check_shopt(struct judge *j, struct parsed *p)
{
	static const char harmless[] = " globstar nullglob dotglob nocaseglob nocasematch failglob "
		"globasciiranges checkwinsize cmdhist histappend inherit_errexit extglob expand_aliases "
		"promptvars ";

	for (size_t i = 0; i < p->operands.n; i++) {
		const struct arg *a = &p->operands.v[i];
		const char *hit = a->is_known ? strstr(harmless, a->text) : NULL;

		if (opt_has(p, "s u") && !(hit && *a->text && hit[-1] == ' ' && hit[strlen(a->text)] == ' '))
			judge_unknown(j, p->who, a, "changes how the shell works");
	}
}

/* shift: $2 becomes $1. */
static void check_shift(struct judge *j, struct parsed *p)
{
	const struct arg *by = p->operands.n ? &p->operands.v[0] : NULL;
	size_t n = by && by->is_known && strspn(by->text, "0123456789") == strlen(by->text)
			   ? strtoul(by->text, NULL, 10)
			   : !by;
	struct args *left = ARENA_NEW(j->arena, struct args);

	if (!j->sh.params)
		return;
	if (!n || n >= j->sh.params->n) {
		j->sh.params = NULL;
		return;
	}
	args_add(j, left, j->sh.params->v[0]);
	for (size_t i = n + 1; i < j->sh.params->n; i++)
		args_add(j, left, j->sh.params->v[i]);
	j->sh.params = left;
}

/* jobs -x runs what follows. */
static void check_jobs(struct judge *j, struct parsed *p)
{
	if (opt_has(p, "x") && p->operands.n)
		apply_role(j, p->who, 'X', &p->operands, 0);
}

/* kill -0 and -l only ask. */
static void check_kill(struct judge *j, struct parsed *p)
{
	if (p->operands.n && (arg_is(&p->operands.v[0], "-0") || arg_is(&p->operands.v[0], "-l") ||
			      arg_is(&p->operands.v[0], "-L")))
		return;
	for (size_t i = 0; i < p->operands.n; i++) {
		const struct arg *a = &p->operands.v[i];

		/* The first word with a dash is the signal. */
		if (arg_is(a, "1") || (i && (arg_is(a, "-1") || arg_is(a, "0"))))
			judge_note(j, a, EFFECT_PROCESS_SPAWN, PLACE_OUTSIDE, p->who, ASKS, "ask list",
				   "'%s' signals more than what the line started", p->who);
	}
	judge_note(j, p->name, EFFECT_PROCESS_SPAWN, PLACE_NONE, p->who, CHANGES, "effect",
		"'%s' signals processes",
		   p->who);
}

const struct program table_shell[] = {
	{ .name = ":|true|false|echo|pwd|return|break|continue|exit|times|umask|ulimit|help|caller|type|"
		"logout|disown|unalias|dirs|bg|fg|suspend" },
	{ .name = "shift", .check = check_shift },
	ROW("jobs", "+ -lnprsx", "-*", .check = check_jobs),
	ROW("printf", "+ -v:-", "-*", .check = check_printf),
	{ .name = "test|[", .check = check_test },
	ROW("cd", "+ -LPe@", "-*", .check = check_cd),
	ROW("pushd", "+ -n", "-*", .check = check_cd),
	{ .name = "popd", .check = check_popd },
	ROW("export|declare|typeset|local|readonly", "+ -aAfFgiIlnprtuxc", "-*", .check = check_declare),
	ROW("unset|unsetenv", "+ -fvn", "-*", .check = check_unset),
	{ .name = "set", .check = check_set },
	ROW("read", "+ -ers -a:- -d:- -i:- -n:- -N:- -p:- -t:- -u:-", "-*", .check = check_names),
	ROW("mapfile|readarray", "+ -t -d:- -n:- -O:- -s:- -u:- -C:C -c:-", "-*", .check = check_mapfile),
	ROW("getopts", "+", "-*", .check = check_getopts),
	{ .name = "eval", .check = check_eval },
	ROW("source|.", "+ -p:C", "-*", .check = check_source),
	ROW("exec", "+ -cl -a:-", "-*", .check = check_exec),
	ROW("command", "+ -pvV", "-*", .check = check_command),
	ROW("builtin", "+", "X"),
	{ .name = "let", .check = check_let },
	ROW("alias", "+ -p", "-*", .check = check_alias),
	ROW("trap", "+ -lp", "-*", .check = check_trap),
	ROW("wait", "+ -fn -p:U", "-*"),
	ROW("hash", "+ -rldt -p:U", "-*"),
	ROW("shopt", "+ -pqsuo", "-*", .check = check_shopt),
	{ .name = "kill", .check = check_kill },
	ROW("enable", "+ -aps -f:U -d!U -n!U", "U*"),
	ROW("history", "+ -c!U -d:U -a?U -n?U -r?U -w?U -p -s:U", "-"),
	{ .name = "fc|bind|complete|compgen|compopt", .class = EFFECT_PROCESS_SPAWN, .weight = CHANGES,
	  .why = "can run commands or write files" },
	{ 0 }
};
