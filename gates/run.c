/*
 * An argument vector: what its first word stands for, and what that makes of
 * the rest.
 */
#include <ctype.h>
#include <string.h>

#include "base/path.h"
#include "gates/options.h"

static const char *const program_dirs[] = {
	"/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/", NULL
};

/* The name behind a system directory, or NULL for a program that lies elsewhere. */
static const char *system_name(const char *path)
{
	if (!strchr(path, '/'))
		return path;
	for (const char *const *dir = program_dirs; *dir; dir++) {
		size_t n = strlen(*dir);

		if (!strncmp(path, *dir, n) && !strchr(path + n, '/'))
			return path + n;
	}
	return NULL;
}

static void note_program_path(struct judge *j, const struct arg *a)
{
	const char *path = place_resolve(j->arena, j->sh.cwd, a->text);

	judge_note(j, a, EFFECT_PROCESS_SPAWN, place_of(j->req, path, USE_LOOK), path, CHANGES,
		   "unknown program", "'%s' is a program that is not looked into", a->text);
}

static const char *const rule_of[] = {
	[HARMLESS] = "", [CHANGES] = "effect", [ASKS] = "ask list", [REFUSED] = "deny list",
};

static void note_row(struct judge *j, const struct program *row, const struct parsed *p)
{
	if (row->weight == HARMLESS && row->class == EFFECT_FILE_READ)
		return;
	judge_note(j, p->name, row->class, PLACE_NONE, p->who, row->weight, rule_of[row->weight], "'%s' %s",
		   p->who, row->why ? row->why : "has effects");
}

/* Most programs answer these before anything else. */
static bool only_asks_version(const struct program *row, const struct args *argv)
{
	static const char *const words[] = { "--version", "--help", "-version", NULL };

	if (argv->n != 2 || row->weight == REFUSED)
		return false;
	for (const char *const *w = words; *w; w++)
		if (arg_is(&argv->v[1], *w))
			return true;
	return false;
}

static void run_row(struct judge *j, const struct program *row, const char *who, const struct args *argv);

/* The subcommand's row takes over; false when there is none and the row stands for itself. */
static bool run_sub(struct judge *j, const char *who, const struct args *argv, struct parsed *p)
{
	const struct arg *sub = p->operands.n ? &p->operands.v[0] : NULL;
	const struct program *row;
	struct args rest;

	if (!sub)
		return false;
	if (!sub->is_known || sub->is_glob) {
		judge_unknown(j, who, sub, "gets a subcommand only the running shell knows");
		return true;
	}
	who = arena_printf(j->arena, "%s %s", who, sub->text);
	row = program_find(who);
	if (!row)
		return false;
	rest = args_from(argv, p->first_operand);
	run_row(j, row, who, &rest);
	return true;
}

static void run_row(struct judge *j, const struct program *row, const char *who, const struct args *argv)
{
	struct parsed p = { .who = who, .name = &argv->v[0] };
	bool has_sub = row->operands && !strcmp(row->operands, OPERANDS_SUB);
	const char *cwd = j->sh.cwd;

	if (only_asks_version(row, argv))
		return;
	if (!row->opts) {
		p.operands = args_from(argv, 1);
		note_row(j, row, &p);
		if (row->check)
			row->check(j, &p);
		return;
	}
	options_read(j, row->opts, argv, &p);
	if (p.is_help)
		return;
	if (row->check && has_sub)
		row->check(j, &p);
	if (has_sub) {
		struct program bare = { .operands = "-*" };
		bool is_sub;

		options_apply(j, &bare, &p);
		is_sub = run_sub(j, who, argv, &p);
		j->sh.cwd = cwd;
		if (is_sub)
			return;
		if (p.operands.n && row->weight == HARMLESS)
			judge_note(j, &p.operands.v[0], EFFECT_PROCESS_SPAWN, PLACE_NONE, who, CHANGES,
				   "unknown program", "'%s %s' has an effect that is not known", who,
				   p.operands.v[0].text);
		note_row(j, row, &p);
		return;
	}
	note_row(j, row, &p);
	options_apply(j, row, &p);
	if (row->check)
		row->check(j, &p);
}

static const struct func *find_function(const struct func *f, const char *name)
{
	for (; f; f = f->next)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

/* All of that name: which one it is may depend on a branch. NULL when there is none. */
static const struct func *walk_functions(struct judge *j, const struct args *argv)
{
	const struct func *first = find_function(j->sh.funcs, argv->v[0].text);

	for (const struct func *f = first; f; f = find_function(f->next, f->name))
		walk_function(j, f, argv);
	return first;
}

static void run_named(struct judge *j, const struct args *argv)
{
	const struct arg *name = &argv->v[0];
	const struct program *row;
	const struct func *f;
	const char *base;

	if (!name->is_known || name->is_glob) {
		judge_unknown(j, name->text, name, "is a command only the running shell knows");
		return;
	}
	f = walk_functions(j, argv);
	base = system_name(name->text);
	if (!base) {
		note_program_path(j, name);
		return;
	}
	if (!strncmp(base, "mkfs.", 5))
		base = "mkfs";
	row = program_find(base);
	if (row && !strchr(base, ' '))
		run_row(j, row, base, argv);
	else if (!f)
		judge_note(j, name, EFFECT_PROCESS_SPAWN, PLACE_NONE, base, CHANGES, "unknown program",
			   "'%s' is a program whose effects are not known", base);
}

void run_argv(struct judge *j, const struct args *argv)
{
	if (!argv->n || !judge_step(j))
		return;
	if (++j->wraps > COMMAND_MAX_DEPTH)
		judge_note(j, &argv->v[0], EFFECT_PROCESS_SPAWN, PLACE_NONE, NULL, REFUSED, "limit",
			   "too many programs run one another");
	else
		run_named(j, argv);
	j->wraps--;
}
