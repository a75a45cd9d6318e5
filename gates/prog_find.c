/*
 * find and fd: walks over trees that may run a command for what they meet.
 */
#include <string.h>

#include "gates/options.h"

/* --- find --- */

static const struct {
	const char *name;
	const char *roles;	/* a letter for each word that follows */
} predicates[] = {
	{ "-a", "" }, { "-and", "" }, { "-o", "" }, { "-or", "" }, { "-not", "" }, { "!", "" }, { "(", "" },
	    { ")", "" },
	{ ",", "" }, { "-daystart", "" }, { "-depth", "" }, { "-d", "" }, { "-follow", "" }, { "-mount",
	    "" },
	{ "-xdev", "" }, { "-noleaf", "" }, { "-nowarn", "" }, { "-warn", "" }, { "-ignore_readdir_race",
	    "" },
	{ "-noignore_readdir_race", "" }, { "-empty", "" }, { "-executable", "" }, { "-readable", "" },
	{ "-writable", "" }, { "-false", "" }, { "-true", "" }, { "-nogroup", "" }, { "-nouser", "" },
	    { "-print", "" },
	{ "-print0", "" }, { "-prune", "" }, { "-quit", "" }, { "-ls", "" }, { "-help", "" }, { "-version",
	    "" },
	{ "-maxdepth", "-" }, { "-mindepth", "-" }, { "-regextype", "-" }, { "-amin", "-" }, { "-anewer",
	    "L" },
	{ "-atime", "-" }, { "-cmin", "-" }, { "-cnewer", "L" }, { "-ctime", "-" }, { "-fstype", "-" },
	    { "-gid", "-" },
	{ "-group", "-" }, { "-ilname", "-" }, { "-iname", "-" }, { "-inum", "-" }, { "-ipath", "-" },
	    { "-iregex", "-" },
	{ "-iwholename", "-" }, { "-links", "-" }, { "-lname", "-" }, { "-mmin", "-" }, { "-mtime", "-" },
	    { "-name", "-" },
	{ "-newer", "L" }, { "-path", "-" }, { "-perm", "-" }, { "-regex", "-" }, { "-samefile", "L" },
	    { "-size", "-" },
	{ "-type", "-" }, { "-uid", "-" }, { "-used", "-" }, { "-user", "-" }, { "-wholename", "-" },
	    { "-xtype", "-" },
	{ "-context", "-" }, { "-printf", "-" }, { "-files0-from", "R" }, { "-fprint", "W" }, { "-fprint0",
	    "W" },
	{ "-fls", "W" }, { "-fprintf", "W-" }, { NULL, NULL },
};

struct find {
	struct judge *j;
	const char *who;
	const struct args *words;
	size_t i;
	size_t n_starts;	/* words before the expression */
	const struct arg *start;
	bool used_braces;
};

static const char *find_roles(const char *name)
{
	for (size_t i = 0; predicates[i].name; i++)
		if (!strcmp(predicates[i].name, name))
			return predicates[i].roles;
	return !strncmp(name, "-newer", 6) && strlen(name) == 8 ? "-" : NULL;
}

/* What {} stands for: something below the first start. */
static struct arg found_path(struct find *f, const struct arg *a)
{
	const char *hit = strstr(a->text, "{}");
	const char *base = f->start && f->start->is_known ? f->start->text : f->start ? "\001" : ".";
	struct arg ret = *a;

	if (!hit)
		return ret;
	f->used_braces = true;
	ret.text = arena_printf(f->j->arena, "%.*s%s/\001%s", (int)(hit - a->text), a->text, base, hit + 2);
	ret.is_known = false;
	ret.is_operand = ret.text[0] != '-';
	return ret;
}

static const struct arg braces = { .text = "{}", .is_known = true };

/* The words up to ";"; @appends: the path comes last where no {} stands. */
static void run_found(struct find *f, bool appends)
{
	struct args argv = { 0 };
	struct shell saved = f->j->sh;

	for (f->i++; f->i < f->words->n; f->i++) {
		const struct arg *a = &f->words->v[f->i];

		if (arg_is(a, ";") || (arg_is(a, "+") && f->i && arg_is(a - 1, "{}")))
			break;
		args_add(f->j, &argv, found_path(f, a));
	}
	if (appends && !f->used_braces)
		args_add(f->j, &argv, found_path(f, &braces));
	f->j->sh.feed = FEED_UNKNOWN;
	run_argv(f->j, &argv);
	f->j->sh = saved;
}

static void delete_found(struct find *f)
{
	static const struct arg here = { .text = ".", .is_known = true };

	for (size_t i = 0; i < f->n_starts || !i; i++) {
		const struct arg *a = f->n_starts ? &f->words->v[i] : &here;
		struct arg below = *a;
		const char *path = place_resolve(f->j->arena, f->j->sh.cwd, a->text);

		below.start = f->words->v[f->i].start;
		below.end = f->words->v[f->i].end;
		judge_path(f->j, f->who, &below, USE_DELETE);
		/* In the workspace only without a test: then it is all of it. */
		if (place_is_root(f->j->req, path) &&
		    (f->words->n == f->n_starts + 1 || !f->j->req->workspace ||
		     strcmp(path, f->j->req->workspace)))
			judge_emptied(f->j, f->who, a);
	}
}

static void one_predicate(struct find *f)
{
	const struct arg *a = &f->words->v[f->i];
	const char *roles;

	if (!a->is_known) {
		judge_unknown(f->j, f->who, a, "gets a word that could be any of its actions");
		return;
	}
	if (!strcmp(a->text, "-exec") || !strcmp(a->text, "-execdir") || !strcmp(a->text, "-ok") ||
	    !strcmp(a->text, "-okdir")) {
		run_found(f, false);
		return;
	}
	if (!strcmp(a->text, "-delete")) {
		delete_found(f);
		return;
	}
	roles = find_roles(a->text);
	if (!roles) {
		judge_unknown(f->j, f->who, a, "has a word whose effect is not known");
		return;
	}
	for (; *roles && f->i + 1 < f->words->n; roles++)
		apply_role(f->j, f->who, *roles, f->words, ++f->i);
}

static bool begins_expression(const struct arg *a)
{
	return a->text[0] == '-' || arg_is(a, "(") || arg_is(a, "!") || arg_is(a, ")") || arg_is(a, ",");
}

void check_find(struct judge *j, struct parsed *p)
{
	struct args words = p->operands;
	struct find f = { .j = j, .who = p->who, .words = &words };
	size_t first = 0;

	while (first < words.n && (arg_is(&words.v[first], "-H") || arg_is(&words.v[first], "-L") ||
				   arg_is(&words.v[first], "-P") || !strncmp(words.v[first].text, "-O", 2)))
		first++;
	words = args_from(&words, first);
	for (; f.i < words.n && !begins_expression(&words.v[f.i]); f.i++) {
		const struct arg *a = &words.v[f.i];

		if (!a->is_known && a->text[0] == PLACE_HOLE && !a->is_operand)
			judge_unknown(j, p->who, a, "gets a word that could be any of its actions");
		judge_path(j, p->who, a, USE_LOOK);
		f.n_starts++;
		f.start = f.start ? f.start : a;
	}
	for (; f.i < words.n; f.i++)
		one_predicate(&f);
}

/* --- fd --- */

static const char fd_options[] =
	"-HIuUsigalpLF01q -d:- -e:- -E:- -t:- -S:- -c:- -j:- -o:- --hidden --no-ignore --no-ignore-vcs "
		"--no-ignore-parent --unrestricted --case-sensitive --ignore-case --glob --regex "
		"--fixed-strings --absolute-path --list-details --follow --full-path --print0 "
		"--max-depth:- --min-depth:- --exact-depth:- --prune --type:- --extension:- --size:- "
		"--changed-within:- --changed-before:- --owner:- --format:- --batch-size:- --exclude:- "
		"--ignore-file:R --color:- --hyperlink? --threads:- --max-results:- --quiet --show-errors "
		"--base-directory:L --path-separator:- --search-path:L --strip-cwd-prefix? "
		"--one-file-system --no-follow --and:- --relative-path --no-global-ignore-file";

static const struct program fd_row = { .name = "fd", .opts = fd_options, .operands = "-L*" };

static bool runs_command(const struct arg *a)
{
	return arg_is(a, "-x") || arg_is(a, "-X") || arg_is(a, "--exec") || arg_is(a, "--exec-batch");
}

/* fd OPTIONS [PATTERN [PATH...]] [-x COMMAND... [;]] */
void check_fd(struct judge *j, struct parsed *p)
{
	struct args own = { 0 };
	struct parsed inner = { .who = p->who, .name = p->name };
	struct find f = { .j = j, .who = p->who, .words = &p->operands };

	args_add(j, &own, *p->name);
	for (; f.i < p->operands.n; f.i++) {
		if (runs_command(&p->operands.v[f.i]))
			run_found(&f, true);
		else
			args_add(j, &own, p->operands.v[f.i]);
	}
	options_read(j, fd_options, &own, &inner);
	options_apply(j, &fd_row, &inner);
}
