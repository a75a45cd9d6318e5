/*
 * Which commands print names or numbers alone. "sort $(git ls-files)" is harmless
 * because no name it prints is an option, and only for that: whatever lets a
 * command print text of somebody's choice (-printf, --format, --label, +FORMAT)
 * is in no row, and a word that could be an option counts as one.
 */
#include <ctype.h>
#include <string.h>

#include "base/own.h"
#include "gates/output.h"

bool in_list(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; n && (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return true;
	return false;
}

/* --- words --- */

static bool is_plain_text(const char *s, size_t n)
{
	return n && s[0] != '-' && s[0] != '{' && !memchr(s, '{', n);
}

static bool is_operand_value(const struct judge *j, const struct part *p)
{
	const struct var *v;

	if (*p->op && strcmp(p->op, "%") && strcmp(p->op, "%%"))
		return false;
	if (in_list("PWD HOME", p->text))
		return true;
	v = p->index ? NULL : var_find(j, p->text);
	if (!v)
		return false;
	if (v->kind == VALUE_KNOWN)
		return *v->value && *v->value != '-' && !strstr(v->value, " -");
	return v->kind == VALUE_PATHS || v->kind == VALUE_NUMBER;
}

static bool is_operand_output(struct judge *j, const struct part *p)
{
	const char *text = "";
	enum value_kind kind = output_after(j, p->script, VALUE_UNKNOWN, &text);

	return kind == VALUE_PATHS || kind == VALUE_NUMBER ||
		(kind == VALUE_KNOWN && *text && *text != '-' && !strstr(text, " -"));
}

/* Cannot begin with '-', whatever the shell makes of it. */
static bool is_operand(struct judge *j, const struct word *w)
{
	const struct part *p = w->parts;

	while (p && p->kind == PART_TEXT && !p->len)
		p = p->next;
	if (!p)
		return true;
	switch (p->kind) {
	case PART_TEXT:
		return p->quoted ? p->len && p->text[0] != '-' : is_plain_text(p->text, p->len);
	case PART_PARAM:
		return is_operand_value(j, p);
	case PART_COMMAND:
		return is_operand_output(j, p);
	case PART_PROCESS:
		return true;
	case PART_ARITH:
		break;
	}
	return false;
}

/* What the shell would still expand is not literal, but for the home directory. */
static const char *literal(struct judge *j, const struct word *w)
{
	const char *text = word_literal(j->arena, w), *home = j->req->home;
	const struct part *only = w->parts && !w->parts->next ? w->parts : NULL;

	if (only && only->kind == PART_TEXT && !only->quoted && home && text[0] == '~' && (!text[1] || text[1] == '/') &&
	    !strpbrk(text + 1, "*?[{~"))
		return arena_printf(j->arena, "%s%s", home, text + 1);
	if (only && only->kind == PART_PARAM && !*only->op && home && !strcmp(only->text, "HOME") && !var_find(j, "HOME"))
		return home;

	for (const struct part *p = w->parts; text && p; p = p->next)
		if (!p->quoted && strpbrk(p->text, "*?[{~"))
			text = NULL;
	return text;
}

static bool can_be_many(const struct word *w)
{
	for (const struct part *p = w->parts; p; p = p->next)
		if (!p->quoted || (p->kind == PART_PARAM && strchr("@*", p->text[0])) || p->index)
			return true;
	return false;
}

/* "~/src/x*" lies in the home's src. */
static const char *dir_of(struct judge *j, const struct word *w)
{
	const struct part *p = w->parts;
	const char *text = p && p->kind == PART_TEXT && !p->quoted ? p->text : "", *home = "", *slash;
	size_t n = strcspn(text, "*?[{");

	if (text[0] == '~' && text[1] == '/' && j->req->home) {
		home = j->req->home;
		text++;
		n--;
	}
	slash = memrchr(text, '/', n);
	return slash ? arena_printf(j->arena, "%s%.*s", home, (int)(slash - text + (slash == text && !*home)), text) : "";
}

struct printed printed_words(struct judge *j, const struct node *n)
{
	struct printed ret = { .all_known = true, .is_whole = true };

	for (const struct word *w = n->words; w; w = w->next) {
		const char *text = literal(j, w);

		ret.all_known &= text != NULL;
		if (ret.n == ARRAY_LEN(ret.v)) {
			ret.all_known = ret.is_whole = false;
			break;
		}
		ret.is_known[ret.n] = text != NULL;
		ret.dir[ret.n] = text ? "" : dir_of(j, w);
		ret.is_many[ret.n] = !text && can_be_many(w);
		ret.is_operand[ret.n] = text ? *text != '-' : is_operand(j, w);
		ret.v[ret.n++] = text ? text : "";
	}
	return ret;
}

/* --- rows --- */

/* How many operands a row's form has at most. */
#define ANY 99

struct teller {
	const char *name;	/* "ls", "git ls-files"; several between "|" */
	enum value_kind kind;	/* UNKNOWN: what it reads, as a filter */
	const char *flags;	/* short options that keep it so, in clusters too */
	const char *values;	/* short ones with a value, glued or not */
	const char *longs;	/* long ones, with "=" or without; one dash for find */
	const char *wants;	/* at least one of these has to be there; NULL: none */
	unsigned int operands;
};

#define GREP_FLAGS "EFGPabchiIlLnoqrRsvwxyzZH"
#define GREP_LONGS "--include --exclude --exclude-dir --color --no-messages --recursive --ignore-case --fixed-strings " \
	"--extended-regexp --perl-regexp --word-regexp --invert-match --files-with-matches --files-without-match --binary-files"
#define RG_LONGS "--files-with-matches --files-without-match --files --glob --iglob --type --type-not --hidden --no-ignore " \
	"--ignore-case --smart-case --case-sensitive --fixed-strings --word-regexp --invert-match --color --sort --sortr " \
	"--max-depth --no-messages --follow --max-count --regexp --multiline --no-config --no-ignore-vcs --count"
#define LOG_LONGS "--all --branches --tags --remotes --reverse --no-merges --merges --first-parent --max-count --skip --since " \
	"--until --after --before --author --committer --grep --no-patch --follow --diff-filter --no-walk --topo-order " \
	"--date-order --name-only --format --pretty --abbrev-commit --abbrev --not --invert-grep --relative --no-renames"
#define DIFF_LONGS "--name-only --diff-filter --cached --staged --merge-base --no-renames --find-renames --ignore-submodules " \
	"--relative --no-commit-id --root"

static const struct teller tellers[] = {
	{ "find", VALUE_PATHS, "", "", "-name -iname -path -ipath -wholename -regex -iregex -type -maxdepth -mindepth -not "
	  "-and -or -a -o -prune -print -print0 -newer -newermt -size -mtime -mmin -ctime -cmin -atime -amin -empty -perm -user -group "
	  "-readable -writable -executable -xdev -mount -depth -follow -L -H -P -true -false -quit -links -samefile -regextype "
	  "-lname -daystart -xtype -inum -anewer -cnewer -iname -ilname -noleaf", NULL, ANY },
	{ "fd|fdfind", VALUE_PATHS, "HIuspgFaL01qi", "etdEjS", "--extension --type --max-depth --min-depth --exact-depth --exclude "
	  "--hidden --no-ignore --glob --fixed-strings --absolute-path --full-path --case-sensitive --ignore-case --follow "
	  "--print0 --size --changed-within --changed-before --color --no-ignore-vcs --unrestricted", NULL, ANY },
	{ "ls", VALUE_PATHS, "aA1tSrRdUXvBpFHLcuk", "I", "--all --almost-all --directory --recursive --reverse --sort --color "
	  "--ignore --hide --group-directories-first --time", NULL, ANY },
	{ "which", VALUE_PATHS, "a", "", "", NULL, ANY },
	{ "type", VALUE_PATHS, "pP", "", "", "-p -P", ANY },
	{ "command", VALUE_PATHS, "v", "", "", "-v", ANY },
	{ "realpath", VALUE_PATHS, "emqsLPz", "", "--canonicalize-existing --canonicalize-missing --quiet --no-symlinks", NULL, ANY },
	{ "readlink", VALUE_PATHS, "fem", "", "--canonicalize --canonicalize-existing --canonicalize-missing", "-f -e -m "
	  "--canonicalize --canonicalize-existing --canonicalize-missing", ANY },
	{ "mktemp", VALUE_PATHS, "duqt", "p", "--directory --tmpdir --dry-run", NULL, 1 },
	{ "uname", VALUE_PATHS, "amnrspio", "", "", NULL, 0 },
	{ "arch|whoami|hostname", VALUE_PATHS, "sf", "", "", NULL, 0 },
	{ "basename", VALUE_PATHS, "az", "s", "--multiple --suffix", NULL, ANY },
	{ "dirname", VALUE_PATHS, "z", "", "", NULL, ANY },
	{ "id", VALUE_NUMBER, "ugr", "", "--user --group", "-u -g --user --group", 1 },
	{ "id", VALUE_PATHS, "ugnr", "", "--user --group --name", "-un -gn", 1 },
	{ "nproc", VALUE_NUMBER, "", "", "--all --ignore", NULL, 0 },
	{ "tput", VALUE_NUMBER, "", "", "", "cols lines", 1 },
	{ "getconf", VALUE_NUMBER, "", "", "", "_NPROCESSORS_ONLN _NPROCESSORS_CONF PAGESIZE PAGE_SIZE ARG_MAX NAME_MAX OPEN_MAX "
	  "LONG_BIT CLK_TCK", 1 },
	{ "wc", VALUE_NUMBER, "lwcmL", "", "--lines --words --bytes --chars", NULL, 0 },

	{ "git ls-files", VALUE_PATHS, "codmsuz", "x", "--others --exclude-standard --cached --deleted --modified --exclude "
	  "--full-name --error-unmatch --unmerged --directory --deduplicate --recurse-submodules", NULL, ANY },
	{ "git merge-base", VALUE_PATHS, "a", "", "--all --octopus --fork-point", NULL, ANY },
	{ "git hash-object", VALUE_PATHS, "w", "t", "--stdin", NULL, ANY },
	{ "git rev-list", VALUE_NUMBER, "", "n", LOG_LONGS " --count", "--count", ANY },
	{ "git rev-list", VALUE_PATHS, "0123456789", "n", LOG_LONGS, NULL, ANY },
	{ "git rev-parse", VALUE_PATHS, "q", "", "--short --verify --abbrev-ref --git-dir --show-toplevel --show-prefix --show-cdup "
	  "--is-inside-work-tree --git-common-dir --absolute-git-dir --quiet", NULL, ANY },
	{ "git diff|git diff-index|git diff-files|git diff-tree", VALUE_PATHS, "rzM", "", DIFF_LONGS, "--name-only", ANY },
	{ "git log", VALUE_PATHS, "0123456789sz", "n", LOG_LONGS, "--format=%H --format=%h --pretty=%H --pretty=%h "
	  "--pretty=format:%H --pretty=format:%h --pretty=tformat:%H --pretty=tformat:%h --format= --pretty=format: "
	  "--pretty=tformat:", ANY },
	{ "git show", VALUE_PATHS, "sz", "", LOG_LONGS, "-s --no-patch --name-only", ANY },
	{ "git branch", VALUE_PATHS, "", "", "--show-current", "--show-current", 0 },
	{ "git ls-tree", VALUE_PATHS, "rdtz", "", "--name-only --full-name --full-tree", "--name-only", ANY },

	{ "grep|egrep|fgrep", VALUE_NUMBER, "EFGPaciqsvwxh", "e", "--count --ignore-case --fixed-strings --extended-regexp",
	  "-c --count", 2 },
	{ "grep|egrep|fgrep", VALUE_PATHS, GREP_FLAGS, "efmABC", GREP_LONGS, "-l -L --files-with-matches --files-without-match", ANY },
	{ "rg", VALUE_NUMBER, "FPaciSsUvwx", "e", "--count --ignore-case --fixed-strings", "-c --count", 2 },
	{ "rg", VALUE_PATHS, "FHIiLlnPSsUuvwx.0", "egtTjmd", RG_LONGS, "-l --files --files-with-matches --files-without-match", ANY },

	/* filters: whole lines of what they read, and of nothing else */
	{ "head|tail", VALUE_UNKNOWN, "0123456789qz", "n", "--lines", NULL, 0 },
	{ "sort", VALUE_UNKNOWN, "bdfghiMnRrsuVz", "ktS", "--reverse --unique --numeric-sort --key --field-separator "
	  "--version-sort", NULL, 0 },
	{ "uniq", VALUE_UNKNOWN, "cduiz", "", "--count --repeated --unique", NULL, 0 },
	{ "tac|cat", VALUE_UNKNOWN, "", "", "", NULL, 0 },
	{ "grep|egrep|fgrep|rg", VALUE_UNKNOWN, "EFGPaiSsvwxnN", "em", "--invert-match --ignore-case --fixed-strings "
	  "--extended-regexp --perl-regexp --word-regexp --color --line-buffered", NULL, 1 },
};

/* --- does a command have a row's form? --- */

static bool is_named(const struct teller *t, const char *name, size_t len)
{
	for (const char *s = t->name; *s; s += strspn(s, "|")) {
		size_t n = strcspn(s, "|");

		if (n == len && !strncmp(s, name, len))
			return true;
		s += n;
	}
	return false;
}

/* Is one of @wants there, a short one perhaps in a cluster? */
static void look_for_wanted(const struct teller *t, const char *word, bool *found)
{
	if (!t->wants || in_list(t->wants, word))
		*found = true;
	if (word[0] != '-' || word[1] == '-')
		return;
	for (const char *c = word + 1; *c && !strchr(t->values, *c); c++) {
		char option[] = { '-', *c, '\0' };

		if (t->wants && in_list(t->wants, option))
			*found = true;
	}
}

static bool is_long(const struct teller *t, const char *word)
{
	char name[64];
	size_t n = strcspn(word, "=");

	if (n >= sizeof(name))
		return false;
	memcpy(name, word, n);
	name[n] = '\0';
	return in_list(t->longs, name);
}

/* A cluster; *ret_value when its last option takes the next word. */
static bool is_short(const struct teller *t, const char *word, bool *ret_value)
{
	for (const char *c = word + 1; *c; c++) {
		if (strchr(t->values, *c)) {
			*ret_value = !c[1];
			return true;
		}
		if (!strchr(t->flags, *c))
			return false;
	}
	return true;
}

/* --format and --pretty may say what is printed: a hash alone, or nothing. */
static bool is_free_text(const struct teller *t, const char *word)
{
	return (!strncmp(word, "--format", 8) || !strncmp(word, "--pretty", 8)) && !(t->wants && in_list(t->wants, word)) &&
		!in_list("--format=%H --format=%h --pretty=%H --pretty=%h --format= --pretty=", word);
}

/* A pattern behind -e is no operand. */
static unsigned int operands_of(const struct teller *t, const struct printed *w, size_t first)
{
	for (size_t i = first; i < w->n; i++)
		if (strchr(t->values, 'e') && !strncmp(w->v[i], "-e", 2))
			return t->operands ? t->operands - 1 : 0;
	return t->operands;
}

/* Echoed in part it could be two words; and "git show" shows a file or a blob whole. */
static bool is_good_operand(const struct teller *t, const char *word)
{
	if (strstr(word, " -") || strstr(word, "\t-") || strstr(word, "\n-"))
		return false;
	return strcmp(t->name, "git show") != 0 || (!strncmp(word, "HEAD", 4) && strspn(word + 4, "~^0123456789") == strlen(word + 4));
}

static bool has_form(const struct teller *t, const struct printed *w, size_t first)
{
	unsigned int operands = 0;
	bool found = !t->wants, ended = false;

	for (size_t i = first; i < w->n; i++) {
		const char *word = w->v[i];
		bool takes_next = false;

		if (!w->is_operand[i] && !(w->is_known[i] && word[0] == '-'))
			return false;
		if (ended || w->is_operand[i] || !word[1]) {
			look_for_wanted(t, word, &found);
			if (!is_good_operand(t, word) || (ended && !w->is_operand[i]))
				return false;
			operands += w->is_many[i] ? 2 : 1;
			continue;
		}
		look_for_wanted(t, word, &found);
		if (!strcmp(word, "--")) {
			ended = true;
			continue;
		}
		if (is_free_text(t, word))
			return false;
		if (is_long(t, word))
			continue;
		if (word[1] == '-' || !is_short(t, word, &takes_next))
			return false;
		i += takes_next;
	}
	return found && operands <= operands_of(t, w, first);
}

/* --- what no row says --- */

/* "seq 1 $n" prints digits, whatever n is, unless it is told what to put between. */
static bool is_plain_seq(const struct printed *w)
{
	for (size_t i = 1; i < w->n; i++)
		if (w->v[i][0] == '-' && strcmp(w->v[i], "-w") && !isdigit((unsigned char)w->v[i][1]))
			return false;
	return w->all_known;
}

/* One format and files: `stat -c %s x`. */
static bool is_plain_stat(const struct printed *w)
{
	size_t first = 3;

	if (w->n > 1 && in_list("--format=%s --printf=%s --format=%Y --format=%a", w->v[1]))
		first = 2;
	else if (w->n < 3 || strcmp(w->v[1], "-c") || !in_list("%s %Y %a %u %g %h %i", w->v[2]))
		return false;
	for (size_t i = first; i < w->n; i++)
		if (!w->is_operand[i])
			return false;
	return w->is_whole;
}

/* Letters, digits and marks around conversions; no word of it begins with '-'. */
static enum value_kind date_output(const struct printed *w)
{
	const char *format = "+%a";

	for (size_t i = 1; i < w->n; i++)
		if (w->v[i][0] == '+')
			format = w->v[i];
	if (!w->all_known || format[1] != '%' || strstr(format, "%n") || strstr(format, "%t") || strstr(format, " -") ||
	    strpbrk(format, "\t\n"))
		return VALUE_UNKNOWN;
	return strchr("sYmdHMSjuw", format[2]) && format[2] && !format[3] ? VALUE_NUMBER : VALUE_PATHS;
}

const char *printed_root(struct judge *j, const struct printed *w)
{
	/* Their first operand is what is looked for. */
	size_t skip = w->n && in_list("fd fdfind rg grep egrep fgrep", w->v[0]);

	for (size_t i = 1; w->n && in_list("find ls fd fdfind rg grep egrep fgrep", w->v[0]) && i < w->n; i++) {
		const char *path;
		enum effect_place place;

		if (w->v[i][0] == '-' || (!w->is_known[i] && !*w->dir[i]) || skip) {
			skip -= skip && w->v[i][0] != '-';
			continue;
		}
		path = place_resolve(j->arena, j->sh.cwd, w->is_known[i] ? w->v[i] : w->dir[i]);
		place = place_of(j->req, path, USE_READ);
		if (place == PLACE_OUTSIDE || place == PLACE_HOME || place == PLACE_SECRET)
			return path;
	}
	return "";
}

enum value_kind printed_kind(struct judge *j, const struct printed *w, enum value_kind input)
{
	const char *name = w->n ? w->v[0] : "";
	size_t first = 1;

	if (in_list("curl wget aria2c http https xh nc ncat ssh fetch", name))
		return VALUE_NETWORK;
	if (!strcmp(name, "seq") && is_plain_seq(w))
		return VALUE_NUMBER;
	if (!strcmp(name, "stat") && is_plain_stat(w))
		return VALUE_NUMBER;
	if (!strcmp(name, "date"))
		return date_output(w);
	if (!strcmp(name, "git") && w->n > 1) {
		name = arena_printf(j->arena, "git %s", w->v[1]);
		first = 2;
	}
	for (size_t i = 0; w->is_whole && i < ARRAY_LEN(tellers); i++) {
		const struct teller *t = &tellers[i];

		if (!is_named(t, name, strlen(name)) || !has_form(t, w, first))
			continue;
		if (t->kind != VALUE_UNKNOWN)
			return t->kind;
		/* A known text is not known any more. */
		return input == VALUE_KNOWN && strcmp(name, "cat") ? VALUE_UNKNOWN : input;
	}
	return input == VALUE_NETWORK ? input : VALUE_UNKNOWN;
}
