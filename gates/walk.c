/*
 * Commands in the order they could run. Where the line branches, both ways are
 * walked and what they set is no longer known for sure.
 */
#include <ctype.h>
#include <string.h>

#include "gates/options.h"

#define MAX_CALLS 12u
#define MAX_TURNS 8u		/* known items of a loop that are walked one by one */

/* --- what is known after a branch --- */

static enum value_kind merged(enum value_kind a, enum value_kind b)
{
	if (a == b && (a == VALUE_NUMBER || a == VALUE_PATHS || a == VALUE_ASSOC))
		return a;
	return VALUE_UNKNOWN;
}

static bool all_digits(const char *s)
{
	return *s && strspn(s, "0123456789") == strlen(s);
}

static enum value_kind kind_of(const struct var *v)
{
	if (!v || (v->kind == VALUE_KNOWN && all_digits(v->value)))
		return VALUE_NUMBER;
	if (v->kind == VALUE_KNOWN)
		return *v->value && *v->value != '-' ? VALUE_PATHS : VALUE_UNKNOWN;
	return v->kind;
}

static const struct var *find_from(const struct var *v, const char *name)
{
	for (; v; v = v->next)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

/* Everything set since @before may or may not have been. */
static void vars_maybe(struct judge *j, const struct var *before)
{
	const struct var *now = j->sh.vars;

	for (const struct var *v = now; v && v != before; v = v->next) {
		const struct var *old = find_from(before, v->name);

		if (find_from(now, v->name) == v)
			var_set(j, v->name, merged(kind_of(v), kind_of(old)), "");
	}
}

static void walk_maybe(struct judge *j, const struct node *n)
{
	const struct var *before = j->sh.vars;

	walk_node(j, n);
	vars_maybe(j, before);
}

/* --- loops: what the body sets is not known at its start --- */

static bool is_arith_word(const struct word *w)
{
	if (!w || !w->parts)
		return false;
	for (const struct part *p = w->parts; p; p = p->next)
		if (p->kind != PART_ARITH && !(p->kind == PART_TEXT && all_digits(p->text)))
			return false;
	return true;
}

static void forget(struct judge *j, const char *name, bool is_number)
{
	const struct var *v = var_find(j, name);

	var_set(j, name, is_number && kind_of(v) == VALUE_NUMBER ? VALUE_NUMBER : VALUE_UNKNOWN, "");
}

/* Built-ins that set the variables they are given. */
static bool sets_words(const char *name)
{
	static const char *const setters[] = {
		"read", "mapfile", "readarray", "printf", "getopts", "unset", NULL
	};

	for (const char *const *s = setters; *s; s++)
		if (!strcmp(*s, name))
			return true;
	return false;
}

static void forget_assigned(struct judge *j, const struct node *n)
{
	for (; n; n = n->next) {
		const char *name = n->words ? word_literal(j->arena, n->words) : NULL;

		for (const struct assign *a = n->assigns; a; a = a->next)
			forget(j, a->name, !a->is_array && !a->index && is_arith_word(a->value));
		if (n->kind == NODE_SIMPLE && name && sets_words(name)) {
			for (const struct word *w = n->words->next; w; w = w->next) {
				const char *text = word_literal(j->arena, w);

				if (text && *text && *text != '-')
					forget(j, text, false);
			}
		}
		if (n->kind == NODE_FOR && *n->name)
			forget(j, n->name, false);
		forget_assigned(j, n->kids);
	}
}

static void walk_loop(struct judge *j, const struct node *body)
{
	forget_assigned(j, body);
	walk_maybe(j, body);
}

/* --- redirections --- */

static void set_feed(struct judge *j, enum value_kind kind, const char *text)
{
	j->sh.feed_text = text;
	if (kind == VALUE_KNOWN)
		j->sh.feed = FEED_TEXT;
	else if (kind == VALUE_NETWORK)
		j->sh.feed = FEED_NETWORK;
	else
		j->sh.feed = kind == VALUE_PATHS || kind == VALUE_NUMBER ? FEED_PATHS : FEED_UNKNOWN;
}

/* "< <(cmd)": what cmd prints. */
static void feed_from(struct judge *j, const struct redir *d)
{
	const struct part *p = d->target->parts;
	const char *text = "";

	j->sh.feed = FEED_UNKNOWN;
	if ((d->fd == -1 || !d->fd) && p && !p->next && p->kind == PART_PROCESS && !p->is_output && p->script) {
		enum value_kind kind = output_after(j, p->script, VALUE_UNKNOWN, &text);

		set_feed(j, kind, text);
	}
}

static void redirect_path(struct judge *j, const struct redir *d, const struct arg *target)
{
	bool is_read = d->kind == REDIR_IN;

	if (!strncmp(target->text, "/dev/tcp/", 9) || !strncmp(target->text, "/dev/udp/", 9)) {
		judge_note(j, target, EFFECT_NETWORK_EGRESS, PLACE_NONE, target->text + 9, CHANGES, "network",
			   "'%s' opens a connection", target->text);
		return;
	}
	judge_path(j, is_read ? "<" : ">", target, is_read ? USE_READ : USE_WRITE);
	if (is_read)
		feed_from(j, d);
}

/* ">&1" copies a descriptor, ">&-" closes one, ">&file" writes. */
static void redirect_dup(struct judge *j, const struct redir *d, const struct arg *target)
{
	size_t n = strlen(target->text);

	if (target->is_number || (target->is_known && n && strspn(target->text, "0123456789-") == n))
		return;
	if (d->kind == REDIR_DUP_OUT)
		judge_path(j, ">", target, USE_WRITE);
}

static void redirect(struct judge *j, const struct redir *d)
{
	struct arg target = expand_one(j, d->target);

	target.start = d->start;
	target.end = d->end;
	switch (d->kind) {
	case REDIR_DUP_IN:
	case REDIR_DUP_OUT:
		redirect_dup(j, d, &target);
		break;
	case REDIR_HEREDOC:
	case REDIR_HERESTRING:
		j->sh.feed = target.is_known ? FEED_TEXT : FEED_UNKNOWN;
		j->sh.feed_text = target.is_known ? target.text : NULL;
		break;
	default:
		redirect_path(j, d, &target);
	}
}

/* --- simple commands --- */

static void assign_one(struct judge *j, const struct assign *a)
{
	struct args *items;
	struct arg value;

	if (a->index && !(var_find(j, a->name) && var_find(j, a->name)->kind == VALUE_ASSOC))
		expand_arith(j, a->index);
	else if (a->index)
		expand_one(j, a->index);
	if (a->is_array) {
		items = ARENA_NEW(j->arena, struct args);
		expand_words(j, a->items, items);
		if (a->is_append || (var_find(j, a->name) && var_find(j, a->name)->kind == VALUE_ASSOC))
			var_set(j, a->name,
				kind_of(var_find(j, a->name)) == VALUE_ASSOC ? VALUE_ASSOC : VALUE_UNKNOWN,
				"");
		else
			var_set_list(j, a->name, items);
		value = (struct arg){ .text = "\001", .start = a->start, .end = a->end };
	} else {
		value = expand_one(j, a->value);
		value.start = a->start;
		value.end = a->end;
		if (a->is_append || a->index)
			var_set(j, a->name,
				kind_of(var_find(j, a->name)) == VALUE_ASSOC ? VALUE_ASSOC : VALUE_UNKNOWN,
				"");
		else
			var_set_arg(j, a->name, &value);
	}
	env_assign(j, a->name, &value);
}

static void walk_simple(struct judge *j, const struct node *n)
{
	struct args argv = { 0 };
	const struct var *before;
	enum feed feed = j->sh.feed;
	const char *feed_text = j->sh.feed_text;

	for (const struct redir *d = n->redirs; d; d = d->next)
		redirect(j, d);
	expand_words(j, n->words, &argv);
	before = j->sh.vars;
	for (const struct assign *a = n->assigns; a; a = a->next)
		assign_one(j, a);
	j->assigns = n->assigns;
	if (argv.n) {
		const struct var *prefixed = j->sh.vars;

		run_argv(j, &argv);
		/* What stands in front of a command is gone after it; what export declares stays. */
		if (n->assigns && n->assigns->start < n->words->start && j->sh.vars == prefixed)
			j->sh.vars = before;
	} else if (n->words) {
		judge_unknown(j, "$...", &(struct arg){ .start = n->start, .end = n->end },
			      "is a command only the running shell knows");
	}
	j->assigns = NULL;
	j->sh.feed = feed;
	j->sh.feed_text = feed_text;
}

/* --- compound commands --- */

static void walk_kids(struct judge *j, const struct node *n)
{
	for (const struct node *kid = n->kids; kid; kid = kid->next)
		walk_node(j, kid);
}

static void walk_list(struct judge *j, const struct node *n)
{
	const struct var *chain = j->sh.vars;
	bool is_chain = false;

	for (const struct node *kid = n->kids; kid; kid = kid->next) {
		if (kid->join == JOIN_SEQ && is_chain) {
			vars_maybe(j, chain);
			is_chain = false;
		}
		if (kid->join == JOIN_SEQ)
			chain = j->sh.vars;
		if (kid->join == JOIN_OR)
			vars_maybe(j, chain);
		is_chain |= kid->join != JOIN_SEQ;
		if (kid->is_background) {
			struct shell saved = j->sh;

			j->apart++;
			walk_node(j, kid);
			j->apart--;
			j->sh = saved;
		} else {
			walk_node(j, kid);
		}
	}
	if (is_chain)
		vars_maybe(j, chain);
}

static void walk_pipe(struct judge *j, const struct node *n)
{
	struct shell saved = j->sh;
	enum value_kind kind = VALUE_UNKNOWN;
	const char *text = "";

	j->apart++;
	for (const struct node *kid = n->kids; kid; kid = kid->next) {
		j->sh = saved;
		if (kid != n->kids)
			set_feed(j, kind, text);
		walk_node(j, kid);
		kind = output_after(j, kid, kind, &text);
	}
	j->apart--;
	j->sh = saved;
}

static void walk_if(struct judge *j, const struct node *n)
{
	const struct var *before;

	walk_node(j, n->kids);
	before = j->sh.vars;
	for (const struct node *kid = n->kids->next; kid; kid = kid->next)
		walk_maybe(j, kid);
	vars_maybe(j, before);
}

static void walk_while(struct judge *j, const struct node *n)
{
	forget_assigned(j, n->kids);
	walk_node(j, n->kids);
	walk_loop(j, n->kids->next);
}

/* The kind of value a loop's variable has when it is not known. */
static enum value_kind common_kind(const struct args *items)
{
	bool is_number = true, is_operand = true;

	for (size_t i = 0; i < items->n; i++) {
		const struct arg *a = &items->v[i];
		bool digits = a->is_number || (a->is_known && !a->is_glob && all_digits(a->text));

		is_number &= digits;
		is_operand &= a->is_known ? a->text[0] != '-' : a->is_operand;
	}
	return is_number ? VALUE_NUMBER : is_operand ? VALUE_PATHS : VALUE_UNKNOWN;
}

/* One item that lies out there is enough. */
static const char *common_dir(struct judge *j, const struct args *items)
{
	for (size_t i = 0; i < items->n; i++)
		if (*arg_dir(j, &items->v[i]))
			return arg_dir(j, &items->v[i]);
	return "";
}

static bool all_known(const struct args *items)
{
	for (size_t i = 0; i < items->n; i++)
		if (!items->v[i].is_known || items->v[i].is_glob)
			return false;
	return true;
}

static void walk_for(struct judge *j, const struct node *n)
{
	const struct var *before = j->sh.vars;
	struct args items = { 0 };

	if (n->has_list)
		expand_words(j, n->words, &items);
	else
		args_add(j, &items, (struct arg){ .text = "\001" });
	var_fetched(j, n->name, &(struct arg){ .start = n->start, .end = n->end });
	forget_assigned(j, n->kids);
	if (all_known(&items) && items.n <= MAX_TURNS && j->calls < 3) {
		j->calls++;
		for (size_t i = 0; i < items.n; i++) {
			var_set(j, n->name, VALUE_KNOWN, items.v[i].text);
			walk_node(j, n->kids);
		}
		j->calls--;
	} else {
		var_set(j, n->name, common_kind(&items), common_dir(j, &items));
		walk_node(j, n->kids);
	}
	vars_maybe(j, before);
}

static void walk_case(struct judge *j, const struct node *n)
{
	const struct var *before = j->sh.vars;

	for (const struct word *w = n->words; w; w = w->next)
		expand_one(j, w);
	for (const struct node *kid = n->kids; kid; kid = kid->next)
		walk_maybe(j, kid);
	vars_maybe(j, before);
}

bool func_is_defined(const struct judge *j, const char *name)
{
	for (const struct func *f = j->sh.funcs; f; f = f->next)
		if (!strcmp(f->name, name))
			return true;
	return false;
}

/*
 * A call whose words are known tells more than the body does alone. Where unknown commands are refused,
 * what is called by this name before it stands for the function is refused, too; not so a program's name.
 */
static bool is_walked_when_called(const struct judge *j, const char *name)
{
	return mode_is_readonly(j->req->mode) && !program_find(name) && strncmp(name, "command_not_found", 17);
}

static void walk_function_definition(struct judge *j, const struct node *n)
{
	struct func *f = ARENA_NEW(j->arena, struct func);
	struct shell saved = j->sh;

	if (!is_walked_when_called(j, n->name) || func_is_defined(j, n->name)) {
		/* Whoever calls it, and with whatever. */
		j->sh.params = NULL;
		forget_assigned(j, n->kids);
		walk_node(j, n->kids);
		j->sh = saved;
	}
	f->name = n->name;
	f->body = n->kids;
	f->next = (struct func *)j->sh.funcs;
	j->sh.funcs = f;
}

void walk_function(struct judge *j, const struct func *f, const struct args *argv)
{
	const struct args *params = j->sh.params;
	const struct var *before = j->sh.vars;

	for (size_t i = 0; i < j->n_running; i++) {
		if (j->running[i] == f && j->apart) {
			judge_note(j, &argv->v[0], EFFECT_PROCESS_SPAWN, PLACE_NONE, f->name, REFUSED,
				   "deny list", "'%s' starts itself again and again", f->name);
			return;
		}
	}
	if (j->calls >= MAX_CALLS || j->n_running >= sizeof(j->running) / sizeof(j->running[0])) {
		if (is_walked_when_called(j, f->name))
			judge_unknown(j, f->name, &argv->v[0], "calls more than is looked into");
		return;		/* or it was walked on the way here */
	}
	j->calls++;
	j->running[j->n_running++] = f;
	j->sh.params = argv;
	walk_node(j, f->body);
	j->n_running--;
	vars_maybe(j, before);
	j->sh.params = params;
	j->calls--;
}

/* [[ a -eq b ]] reads both sides as arithmetic, [[ -v a ]] its subscript. */
static void walk_cond(struct judge *j, const struct node *n)
{
	static const char numeric[] = " -eq -ne -lt -le -gt -ge -v ";
	bool was_numeric = false;

	for (const struct word *w = n->words; w; w = w->next) {
		const char *next = w->next ? word_literal(j->arena, w->next) : NULL;
		const char *self = word_literal(j->arena, w);

		if (was_numeric || (next && strstr(numeric, next) && strlen(next) == 3))
			expand_arith(j, w);
		else
			expand_one(j, w);
		was_numeric = self && *self == '-' && strstr(numeric, self);
	}
}

typedef void walker(struct judge *j, const struct node *n);

static void walk_subshell(struct judge *j, const struct node *n)
{
	struct shell saved = j->sh;

	walk_kids(j, n);
	j->sh = saved;
}

static void walk_arith(struct judge *j, const struct node *n)
{
	expand_arith(j, n->words);
}

static void walk_for_arith(struct judge *j, const struct node *n)
{
	const struct var *before = j->sh.vars;

	expand_arith(j, n->words);
	walk_loop(j, n->kids);
	vars_maybe(j, before);
}

static walker *const walkers[] = {
	[NODE_SIMPLE] = walk_simple,
	[NODE_LIST] = walk_list,
	[NODE_PIPE] = walk_pipe,
	[NODE_SUBSHELL] = walk_subshell,
	[NODE_GROUP] = walk_kids,
	[NODE_IF] = walk_if,
	[NODE_WHILE] = walk_while,
	[NODE_FOR] = walk_for,
	[NODE_FOR_ARITH] = walk_for_arith,
	[NODE_CASE] = walk_case,
	[NODE_FUNCTION] = walk_function_definition,
	[NODE_ARITH] = walk_arith,
	[NODE_COND] = walk_cond,
};

void walk_node(struct judge *j, const struct node *n)
{
	enum feed feed = j->sh.feed;
	const char *feed_text = j->sh.feed_text;

	if (!judge_step(j))
		return;
	if (n->kind != NODE_SIMPLE)
		for (const struct redir *d = n->redirs; d; d = d->next)
			redirect(j, d);
	walkers[n->kind](j, n);
	j->sh.feed = feed;
	j->sh.feed_text = feed_text;
}

/* What is no plain sh is still looked into, as bash, for what chat refuses. */
static int read_nested(struct judge *j, const char *text, const struct arg *at, bool is_posix,
		       struct node **ret, struct shell_problem *problem)
{
	if (!shell_parse(j->arena, text, strlen(text), is_posix, &j->lim, ret, problem))
		return 0;
	if (!is_posix || problem->is_limit ||
	    shell_parse(j->arena, text, strlen(text), false, &j->lim, ret, problem))
		return -1;
	judge_unknown(j, "sh", at, "is given a line that not every sh reads in one way");
	return 0;
}

void walk_script(struct judge *j, const char *text, const struct arg *at, bool is_posix)
{
	struct shell_problem problem = { 0 };
	bool had_span = j->has_span;
	size_t start = j->span_start, end = j->span_end;
	struct node *script;

	if (++j->lim.depth > j->lim.max_depth) {
		judge_note(j, at, EFFECT_PROCESS_SPAWN, PLACE_NONE, NULL, REFUSED, "limit",
			   "shells are nested too deeply");
	} else if (read_nested(j, text, at, is_posix, &script, &problem)) {
		judge_note(j, at, EFFECT_PROCESS_SPAWN, PLACE_NONE, NULL, problem.is_limit ? REFUSED : ASKS,
			   problem.is_limit ? "limit" : "unreadable", "a nested line cannot be read: %s",
			   problem.why);
	} else {
		if (!had_span) {
			j->has_span = true;
			j->span_start = at->start;
			j->span_end = at->end;
		}
		walk_node(j, script);
		j->has_span = had_span;
		j->span_start = start;
		j->span_end = end;
	}
	j->lim.depth--;
}
