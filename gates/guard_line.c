#include <string.h>

#include "base/own.h"
#include "base/path.h"
#include "gates/guard_line.h"
#include "gates/options.h"

#define MAX_COMMANDS 2000u	/* of .all */
#define MAX_WRAPS 64u		/* commands in commands */

struct taking {
	struct judge j;		/* a scratch one: expands words, its findings are not used */
	struct guard_line *line;
	unsigned int wraps;
	bool is_nested;		/* in a string some shell is given: not plainly there */
	size_t start, end;	/* of that string */
};

static void doubt(struct taking *t, const char *what)
{
	if (!t->line->doubt)
		t->line->doubt = what;
}

static void add_command(struct taking *t, struct guard_commands *to, const struct args *argv, bool has_more)
{
	struct guard_command *c;

	if (to->n == MAX_COMMANDS) {
		t->line->is_cut = true;
		return;
	}
	if (to->n == to->cap) {
		size_t cap = to->cap ? to->cap * 2 : 8;
		struct guard_command *grown = arena_alloc(t->j.arena, cap * sizeof(*grown));

		if (to->n)
			memcpy(grown, to->v, to->n * sizeof(*grown));
		to->v = grown;
		to->cap = cap;
	}
	c = &to->v[to->n++];
	*c = (struct guard_command){ .argv = *argv, .has_more = has_more };
	c->start = t->is_nested ? t->start : argv->v[0].start;
	c->end = t->is_nested ? t->end : argv->v[argv->n - 1].end;
}

/* A command nobody can tell. */
static void add_unknown(struct taking *t, const struct arg *at)
{
	struct arg a = { .text = "\001", .may_split = true, .start = at->start, .end = at->end };
	struct args argv = { 0 };

	args_add(&t->j, &argv, a);
	add_command(t, &t->line->all, &argv, true);
}

static void walk(struct taking *t, const struct node *n);
static void unwrap(struct taking *t, const struct args *argv, bool has_more);

/* --- strings that are run --- */

static void run_string(struct taking *t, const struct arg *a)
{
	bool was_nested = t->is_nested;
	size_t start = t->start, end = t->end;
	struct shell_problem problem = { 0 };
	struct node *script;

	if (!a->is_known || ++t->j.lim.depth > t->j.lim.max_depth ||
	    shell_parse(t->j.arena, a->text, strlen(a->text), false, &t->j.lim, &script, &problem)) {
		add_unknown(t, a);
		return;
	}
	if (!was_nested) {
		t->is_nested = true;
		t->start = a->start;
		t->end = a->end;
	}
	walk(t, script);
	t->is_nested = was_nested;
	t->start = start;
	t->end = end;
	t->j.lim.depth--;
}

/* Words that a shell gets joined. */
static void run_joined(struct taking *t, const struct args *words)
{
	struct bytes line = { 0 };
	struct arg a;

	if (!words->n)
		return;
	a = words->v[0];
	for (size_t i = 0; i < words->n; i++) {
		a.is_known &= words->v[i].is_known;
		bytes_add(t->j.arena, &line, words->v[i].text, strlen(words->v[i].text));
		bytes_addc(t->j.arena, &line, ' ');
	}
	a.text = line.s;
	run_string(t, &a);
}

/* --- wrappers --- */

static void run_words(struct taking *t, const struct args *words, size_t first, bool has_more)
{
	struct args rest = args_from(words, first);

	if (rest.n)
		unwrap(t, &rest, has_more);
}

static bool is_assignment(const struct arg *a)
{
	return a->text[0] != '=' && strchr(a->text, '=');
}

static void wrap_env(struct taking *t, const struct args *argv, struct parsed *p)
{
	const struct opt *split = opt_find(p, "S") ? opt_find(p, "S") : opt_find(p, "split-string");
	size_t i = 0;

	(void)argv;
	while (i < p->operands.n && is_assignment(&p->operands.v[i]))
		i++;
	if (split && split->has_value) {
		struct args joined = { 0 };

		args_add(&t->j, &joined, split->value);
		for (; i < p->operands.n; i++)
			args_add(&t->j, &joined, p->operands.v[i]);
		run_joined(t, &joined);
		return;
	}
	run_words(t, &p->operands, i, false);
}

static void wrap_words(struct taking *t, const struct args *argv, struct parsed *p)
{
	(void)argv;
	run_words(t, &p->operands, 0, false);
}

static void wrap_fed(struct taking *t, const struct args *argv, struct parsed *p)
{
	(void)argv;
	run_words(t, &p->operands, 0, true);
}

static void wrap_joined(struct taking *t, const struct args *argv, struct parsed *p)
{
	(void)argv;
	run_joined(t, &p->operands);
}

static void wrap_first_string(struct taking *t, const struct args *argv, struct parsed *p)
{
	(void)argv;
	if (p->operands.n)
		run_string(t, &p->operands.v[0]);
}

/* sh -c STRING; a word with "c" among its letters, then the first that is no option. */
static void wrap_shell(struct taking *t, const struct args *argv, struct parsed *p)
{
	bool has_string = false;

	(void)p;
	for (size_t i = 1; i < argv->n; i++) {
		const struct arg *a = &argv->v[i];

		if (a->text[0] != '-' && a->text[0] != '+') {
			if (has_string)
				run_string(t, a);
			return;
		}
		has_string |= a->text[0] == '-' && a->text[1] != '-' && strchr(a->text, 'c');
		if (a->text[1] != '-' && strchr("oO", a->text[strlen(a->text) - 1]))
			i++;
	}
}

/* Runs of words behind -exec and kin, up to ";" or "+". */
static void wrap_found(struct taking *t, const struct args *argv, struct parsed *p)
{
	static const char *const starts[] = { "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch", NULL };

	(void)p;
	for (size_t i = 1; i < argv->n; i++) {
		struct args words = { 0 };
		bool begins = false;

		for (const char *const *s = starts; *s; s++)
			begins |= arg_is(&argv->v[i], *s);
		if (!begins)
			continue;
		for (i++; i < argv->n && !arg_is(&argv->v[i], ";") && !arg_is(&argv->v[i], "+"); i++)
			args_add(&t->j, &words, argv->v[i]);
		run_words(t, &words, 0, true);
	}
}

/* sudo and kin: their options vary, so every word that could be the command is taken for one. */
static void wrap_as_other(struct taking *t, const struct args *argv, struct parsed *p)
{
	static const char with_value[] = "ugpChTrtUDR";
	size_t i = 1;

	(void)p;
	for (; i < argv->n; i++) {
		const struct arg *a = &argv->v[i];

		if (arg_is(a, "-c") || arg_is(a, "--command")) {
			if (i + 1 < argv->n)
				run_string(t, &argv->v[i + 1]);
			return;
		}
		if (arg_is(a, "--")) {
			i++;
			break;
		}
		if (a->text[0] == '-' && a->text[1] && !a->text[2] && strchr(with_value, a->text[1]))
			i++;
		else if (a->text[0] != '-' && !is_assignment(a))
			break;
	}
	run_words(t, argv, i, false);
}

/* ssh [OPTIONS] HOST COMMAND...: run elsewhere, but run. */
static void wrap_ssh(struct taking *t, const struct args *argv, struct parsed *p)
{
	static const char with_value[] = "BbcDEeFIiJLlmOopQRSWw";
	size_t i = 1;

	(void)p;
	for (; i < argv->n && argv->v[i].text[0] == '-'; i++)
		if (argv->v[i].text[1] && !argv->v[i].text[2] && strchr(with_value, argv->v[i].text[1]))
			i++;
	if (i + 1 < argv->n) {
		struct args rest = args_from(argv, i + 1);

		run_joined(t, &rest);
	}
}

/* git -c alias.NAME=VALUE NAME */
static void wrap_git(struct taking *t, const struct args *argv, struct parsed *p)
{
	const struct arg *sub = p->operands.n ? &p->operands.v[0] : NULL;

	(void)argv;
	for (size_t i = 0; sub && i < p->n_opts; i++) {
		const struct opt *o = &p->opts[i];
		struct args words = { 0 };
		const char *eq;

		if (!o->has_value || o->len != 1 || *o->name != 'c' || strncasecmp(o->value.text, "alias.", 6) != 0)
			continue;
		eq = strchr(o->value.text, '=');
		if (!eq || strncmp(o->value.text + 6, sub->text, strlen(sub->text)) != 0)
			continue;
		if (eq[1] != '!')
			args_add(&t->j, &words, arg_of("git", &o->value));
		args_add(&t->j, &words, (struct arg){ .text = eq + 1 + (eq[1] == '!'), .is_known = o->value.is_known,
						     .start = o->value.start, .end = o->value.end });
		for (size_t k = 1; k < p->operands.n; k++)
			args_add(&t->j, &words, p->operands.v[k]);
		run_joined(t, &words);
	}
}

typedef void wrapper(struct taking *t, const struct args *argv, struct parsed *p);

/* Those whose rows do not say by letters where the command begins. */
static const struct {
	const char *names;
	wrapper *fn;
} wrappers[] = {
	{ " env ", wrap_env },
	{ " exec command builtin coproc ", wrap_words },
	{ " xargs parallel sem ", wrap_fed },
	{ " eval watch ", wrap_joined },
	{ " trap ", wrap_first_string },
	{ " sh bash dash ash rbash zsh ksh mksh fish yash ", wrap_shell },
	{ " find fd fdfind ", wrap_found },
	{ " sudo doas su runuser pkexec gosu su-exec run0 setpriv chroot unshare nsenter fakeroot strace ltrace ", wrap_as_other },
	{ " ssh ", wrap_ssh },
	{ " git ", wrap_git },
};

static wrapper *find_wrapper(struct arena *a, const char *name)
{
	const char *want = arena_printf(a, " %s ", name);

	for (size_t i = 0; i < ARRAY_LEN(wrappers); i++)
		if (strstr(wrappers[i].names, want))
			return wrappers[i].fn;
	return NULL;
}

static void read_row(struct taking *t, const struct program *row, const struct args *argv, struct parsed *p)
{
	if (row && row->opts)
		options_read(&t->j, row->opts, argv, p);
	else
		p->operands = args_from(argv, 1);
}

/* What the letters of a row say is run: X a command, S a string. */
static void follow_row(struct taking *t, const struct program *row, const struct parsed *p)
{
	const char *x = row->operands ? strchr(row->operands, 'X') : NULL;

	for (size_t i = 0; i < p->n_opts; i++)
		if (p->opts[i].has_value && p->opts[i].roles[0] == 'S')
			run_string(t, &p->opts[i].value);
	if (x)
		run_words(t, &p->operands, (size_t)(x - row->operands), false);
}

/* --- git push --- */

static bool is_ref_text(const struct arg *a)
{
	return a->is_known && !a->is_glob && *a->text && strcmp(a->text, "HEAD") && strcmp(a->text, "@");
}

/* The name on the remote's side of "[+]SRC[:DST]". */
static void add_ref(struct taking *t, const struct arg *spec)
{
	struct arg a = *spec;
	const char *colon = strrchr(a.text, ':');

	a.text += a.text[0] == '+';
	if (colon)
		a.text = colon + 1;
	if (!is_ref_text(&a))
		a.is_known = false;
	args_add(&t->j, &t->line->refs, a);
}

static void note_push(struct taking *t, const struct args *argv)
{
	const struct program *row = program_find("git push");
	struct parsed p = { .who = "git push", .name = &argv->v[0] };
	struct arg any = { .text = "\001", .start = argv->v[0].start, .end = argv->v[0].end };

	read_row(t, row, argv, &p);
	t->line->has_push = true;
	args_add(&t->j, &t->line->remotes, p.operands.n ? p.operands.v[0] : any);
	if (p.operands.n < 2 || opt_has(&p, "all branches mirror tags follow-tags prune repo"))
		args_add(&t->j, &t->line->refs, any);
	for (size_t i = 1; i < p.operands.n; i++) {
		bool is_tag = arg_is(&p.operands.v[i], "tag") && i + 1 < p.operands.n;
		struct arg a = p.operands.v[i + is_tag];

		if (is_tag) {
			a.text = arena_printf(t->j.arena, "refs/tags/%s", a.text);
			i++;
		}
		if (a.may_split)
			a.is_known = false;
		add_ref(t, &a);
	}
}

static void look_for_push(struct taking *t, const struct parsed *git)
{
	struct args rest;

	if (!git->operands.n || (git->operands.v[0].is_known && !arg_is(&git->operands.v[0], "push")))
		return;
	rest = args_from(&git->operands, 0);
	note_push(t, &rest);
}

/* --- everything that could run --- */

static void unwrap(struct taking *t, const struct args *argv, bool has_more)
{
	const struct arg *name = &argv->v[0];
	struct parsed p = { .name = name };
	const struct program *row;
	wrapper *fn;

	add_command(t, &t->line->all, argv, has_more);
	if (!name->is_known || name->is_glob || name->may_split)
		return;
	if (++t->wraps > MAX_WRAPS) {
		add_unknown(t, name);
		t->wraps--;
		return;
	}
	p.who = path_base(name->text);
	row = program_find(p.who);
	fn = find_wrapper(t->j.arena, p.who);
	if (fn || (row && row->opts)) {
		read_row(t, row, argv, &p);
		if (!strcmp(p.who, "git"))
			look_for_push(t, &p);
	}
	if (fn)
		fn(t, argv, &p);
	else if (row && row->opts)
		follow_row(t, row, &p);
	t->wraps--;
}

/* --- what plainly runs --- */

/* Wrappers that change when or how fast a command runs, and nothing else. */
static bool unwrap_plain(struct taking *t, struct args *argv, bool *has_more)
{
	static const char names[] = " timeout nice nohup stdbuf command xargs ";
	const struct arg *name = &argv->v[0];
	struct parsed p = { .name = name, .who = name->text };
	const struct program *row;
	bool is_xargs = arg_is(name, "xargs"), is_command = arg_is(name, "command");
	size_t first;

	if (!name->is_known || name->is_glob || strchr(name->text, ' ') ||
	    !strstr(names, arena_printf(t->j.arena, " %s ", name->text)))
		return false;
	row = program_find(name->text);
	read_row(t, row, argv, &p);
	if ((is_xargs || is_command) && p.n_opts)
		return false;
	first = arg_is(name, "timeout");
	for (size_t i = 0; i < first && i < p.operands.n; i++)
		if (!p.operands.v[i].is_known)
			return false;
	if (p.operands.n <= first)
		return false;
	*argv = args_from(&p.operands, first);
	*has_more |= is_xargs;
	return true;
}

static void add_plain(struct taking *t, struct args argv)
{
	bool has_more = false;

	for (int i = 0; i < 8 && unwrap_plain(t, &argv, &has_more); i++)
		;
	add_command(t, &t->line->plain, &argv, has_more);
}

/* --- the line --- */

static void scan_words(struct taking *t, const struct word *w);

static void scan_parts(struct taking *t, const struct part *p)
{
	for (; p; p = p->next) {
		scan_words(t, p->index);
		scan_words(t, p->arg);
		if (p->script) {
			doubt(t, "a substitution");
			walk(t, p->script);
		}
	}
}

/* Scripts inside words run, too. */
static void scan_words(struct taking *t, const struct word *w)
{
	for (; w; w = w->next)
		scan_parts(t, w->parts);
}

static bool is_kept_plain(struct taking *t, const struct redir *d)
{
	const char *target = d->target ? word_literal(t->j.arena, d->target) : NULL;

	if (d->kind == REDIR_HERESTRING || d->kind == REDIR_HEREDOC)
		return true;
	if (!target)
		return false;
	if (d->kind == REDIR_DUP_OUT || d->kind == REDIR_DUP_IN)
		return *target && strspn(target, "0123456789-") == strlen(target);
	return d->kind != REDIR_IN && d->kind != REDIR_RDWR && !strcmp(target, "/dev/null");
}

static void scan_redirs(struct taking *t, const struct redir *d)
{
	for (; d; d = d->next) {
		scan_words(t, d->target);
		if (!is_kept_plain(t, d))
			doubt(t, "a redirection");
	}
}

static void scan_assigns(struct taking *t, const struct node *n)
{
	for (const struct assign *a = n->assigns; a; a = a->next) {
		bool is_plain = n->words && !a->is_array && !a->index && !a->is_append && a->value &&
			!strcmp(a->name, "NODE_ENV") && word_literal(t->j.arena, a->value);

		scan_words(t, a->index);
		scan_words(t, a->value);
		scan_words(t, a->items);
		if (!is_plain)
			doubt(t, "a variable that is set");
	}
}

static void walk_simple(struct taking *t, const struct node *n)
{
	struct args argv = { 0 };

	scan_assigns(t, n);
	scan_words(t, n->words);
	expand_words(&t->j, n->words, &argv);
	if (!argv.n) {
		if (n->words)
			add_unknown(t, &(struct arg){ .start = n->start, .end = n->end });
		doubt(t, "a command that may be empty");
		return;
	}
	unwrap(t, &argv, false);
	if (!t->is_nested)
		add_plain(t, argv);
}

/* Nodes that are no more than the commands in them; for the others, what they are. */
static const char *const node_doubts[] = {
	[NODE_SIMPLE] = NULL,		  [NODE_LIST] = NULL,		    [NODE_PIPE] = NULL,
	[NODE_IF] = NULL,		  [NODE_FOR] = NULL,		    [NODE_SUBSHELL] = "a subshell",
	[NODE_GROUP] = "a group",	  [NODE_WHILE] = "a loop",	    [NODE_FOR_ARITH] = "a loop",
	[NODE_CASE] = "a case",		  [NODE_FUNCTION] = "a function",   [NODE_ARITH] = "arithmetic",
	[NODE_COND] = "a condition",
};

static void walk(struct taking *t, const struct node *n)
{
	for (; n; n = n->next) {
		if (node_doubts[n->kind])
			doubt(t, node_doubts[n->kind]);
		if (n->is_background)
			doubt(t, "a job in the background");
		scan_redirs(t, n->redirs);
		if (n->kind == NODE_SIMPLE) {
			walk_simple(t, n);
		} else {
			scan_words(t, n->words);
			walk(t, n->kids);
		}
	}
}

static void take_words(struct taking *t, const char *const argv[])
{
	struct args args = { 0 };
	size_t at = 0;

	for (; *argv; argv++) {
		size_t n = strlen(*argv);

		args_add(&t->j, &args, (struct arg){ .text = *argv, .is_known = true, .start = at, .end = at + n });
		at += n + 1;
	}
	unwrap(t, &args, false);
	add_plain(t, args);
}

struct guard_line *guard_line_read(struct arena *a, const struct command_request *req, const char *const argv[])
{
	struct guard_line *line = ARENA_NEW(a, struct guard_line);
	struct taking *t = ARENA_NEW(a, struct taking);
	struct shell_problem problem = { 0 };
	struct node *script;

	t->line = line;
	t->j.arena = a;
	t->j.req = req;
	t->j.lim.max_depth = COMMAND_MAX_DEPTH;
	t->j.lim.max_commands = COMMAND_MAX_COMMANDS;
	t->j.sh.cwd = req->cwd ? req->cwd : req->workspace;
	if (argv) {
		take_words(t, argv);
	} else if (req->len > COMMAND_MAX_BYTES) {
		line->unreadable = "the line is too long";
	} else if (shell_parse(a, req->line, req->len, false, &t->j.lim, &script, &problem)) {
		line->unreadable = problem.why;
	} else {
		walk(t, script);
	}
	return line;
}
