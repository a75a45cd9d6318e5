/*
 * What a command prints, where the line alone tells. "rm -rf $(echo /)" and
 * "git ls-files | xargs wc -l" are judged by it.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/path.h"
#include "gates/judge.h"

/* A command's words, as far as they are literal; the rest are NULL. */
struct words {
	const char *v[16];
	size_t n;
	bool all_known;
};

static struct words literals(struct judge *j, const struct node *n)
{
	struct words ret = { .all_known = true };

	for (const struct word *w = n->words; w; w = w->next) {
		const char *text = word_literal(j->arena, w);

		/* What the shell would still expand is not literal. */
		for (const struct part *p = w->parts; text && p; p = p->next)
			if (!p->quoted && strpbrk(p->text, "*?[{~"))
				text = NULL;
		ret.all_known &= text != NULL;
		if (ret.n < ARRAY_LEN(ret.v))
			ret.v[ret.n++] = text ? text : "";
		else
			ret.all_known = false;
	}
	return ret;
}

static bool has_word(const struct words *w, const char *s)
{
	for (size_t i = 1; i < w->n; i++)
		if (!strcmp(w->v[i], s))
			return true;
	return false;
}

static const char *joined(struct judge *j, const struct words *w, size_t first)
{
	struct bytes t = { 0 };

	for (size_t i = first; i < w->n; i++) {
		if (i > first)
			bytes_addc(j->arena, &t, ' ');
		bytes_add(j->arena, &t, w->v[i], strlen(w->v[i]));
	}
	return t.s ? t.s : "";
}

/* Words in @list between blanks. */
static bool in_list(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; n && (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return true;
	return false;
}

/* "git rev-parse" echoes what it does not know, so only these words are trusted. */
static enum value_kind git_output(struct judge *j, const struct words *w, const char **ret_text)
{
	const char *sub = w->n > 1 ? w->v[1] : "";

	if (!strcmp(sub, "rev-parse")) {
		if (w->n == 3 && !strcmp(w->v[2], "--show-toplevel") && j->req->workspace) {
			*ret_text = j->req->workspace;
			return VALUE_KNOWN;
		}
		for (size_t i = 2; i < w->n; i++)
			if (w->v[i][0] == '-' &&
			    !in_list("--short --verify --abbrev-ref --git-dir --show-toplevel "
				     "--show-prefix --show-cdup --is-inside-work-tree -q",
				     w->v[i]))
				return VALUE_UNKNOWN;
		return w->all_known ? VALUE_PATHS : VALUE_UNKNOWN;
	}
	if (in_list("rev-list", sub) && has_word(w, "--count"))
		return VALUE_NUMBER;
	if (in_list("ls-files merge-base hash-object rev-list", sub))
		return VALUE_PATHS;
	if (in_list("diff diff-tree diff-index diff-files show log", sub) &&
	    (has_word(w, "--name-only") || has_word(w, "--format=%H") || has_word(w, "--pretty=%H")))
		return VALUE_PATHS;
	if (!strcmp(sub, "branch") && has_word(w, "--show-current"))
		return VALUE_PATHS;
	return VALUE_UNKNOWN;
}

static enum value_kind echo_output(struct judge *j, const struct words *w, const char **ret_text)
{
	size_t first = 1;

	while (first < w->n && in_list("-n -e -E", w->v[first]))
		first++;
	if (!w->all_known || strpbrk(joined(j, w, first), "\\"))
		return VALUE_UNKNOWN;
	*ret_text = joined(j, w, first);
	return VALUE_KNOWN;
}

static enum value_kind printf_output(const struct words *w, const char **ret_text)
{
	if (!w->all_known || w->n < 2)
		return VALUE_UNKNOWN;
	if (w->n == 3 && in_list("%s %s\\n", w->v[1])) {
		*ret_text = w->v[2];
		return VALUE_KNOWN;
	}
	if (w->n != 2 || strpbrk(w->v[1], "%\\"))
		return VALUE_UNKNOWN;
	*ret_text = w->v[1];
	return VALUE_KNOWN;
}

static enum value_kind path_part_output(struct judge *j, const struct words *w, const char **ret_text)
{
	const char *slash;

	if (!w->all_known || w->n != 2)
		return VALUE_PATHS;
	slash = strrchr(w->v[1], '/');
	if (!strcmp(w->v[0], "basename"))
		*ret_text = slash ? slash + 1 : w->v[1];
	else
		*ret_text = slash ? arena_dup(j->arena, w->v[1], (size_t)(slash - w->v[1])) : ".";
	return VALUE_KNOWN;
}

/* "seq 1 $n" prints digits, whatever n is, unless it is told what to put between. */
static bool is_plain_seq(const struct words *w)
{
	for (size_t i = 1; i < w->n; i++)
		if (w->v[i][0] == '-' && strcmp(w->v[i], "-w") && !isdigit((unsigned char)w->v[i][1]))
			return false;
	return w->all_known;
}

static bool prints_number(const struct words *w)
{
	const char *name = w->n ? w->v[0] : "", *last = w->n ? w->v[w->n - 1] : "";

	if (!strcmp(name, "seq"))
		return is_plain_seq(w);
	if (!strcmp(name, "id"))
		return has_word(w, "-u") || has_word(w, "-g");
	if (!strcmp(name, "date"))
		return last[0] == '+' && last[1] == '%' && strchr("sYmdHMSjuw", last[2]) && !last[3];
	if (!strcmp(name, "stat"))
		return has_word(w, "%s") || has_word(w, "--format=%s") || has_word(w, "%Y");
	if (!strcmp(name, "tput"))
		return has_word(w, "cols") || has_word(w, "lines");
	if (in_list("grep rg egrep fgrep", name))
		return has_word(w, "-c") || has_word(w, "--count");
	return in_list("nproc getconf", name);
}

static enum value_kind simple_output(struct judge *j, const struct node *n, enum value_kind input,
				     const char **ret_text)
{
	struct words w = literals(j, n);
	const char *name = w.n ? w.v[0] : "";

	if (!strcmp(name, "echo"))
		return echo_output(j, &w, ret_text);
	if (!strcmp(name, "printf"))
		return printf_output(&w, ret_text);
	if (!strcmp(name, "pwd") && j->sh.cwd) {
		*ret_text = j->sh.cwd;
		return VALUE_KNOWN;
	}
	if (!strcmp(name, "git"))
		return git_output(j, &w, ret_text);
	if (in_list("basename dirname", name))
		return path_part_output(j, &w, ret_text);
	if (prints_number(&w))
		return VALUE_NUMBER;
	if (!strcmp(name, "wc") && w.n <= 2)
		return VALUE_NUMBER;
	if (in_list("find ls fd fdfind which realpath readlink mktemp date uname arch whoami hostname",
		    name) ||
	    (in_list("rg grep egrep fgrep", name) &&
	     (has_word(&w, "-l") || has_word(&w, "--files") || has_word(&w, "-rl") || has_word(&w, "-lr") ||
	      has_word(&w, "-rln") || has_word(&w, "--files-with-matches"))) ||
	    (!strcmp(name, "command") && has_word(&w, "-v")))
		return VALUE_PATHS;
	if (in_list("curl wget aria2c http https xh nc ncat ssh fetch", name))
		return VALUE_NETWORK;
	if (input == VALUE_NETWORK)
		return input;
	if (in_list("head tail sort uniq grep egrep fgrep rg tac", name) && input != VALUE_KNOWN)
		return input;
	if (!strcmp(name, "cat") && w.n == 1)
		return input;
	return VALUE_UNKNOWN;
}

/* Does a redirection send standard output somewhere else, or mix others in? */
static bool sends_elsewhere(const struct redir *d)
{
	for (; d; d = d->next) {
		bool is_input = d->kind == REDIR_IN || d->kind == REDIR_HEREDOC ||
				d->kind == REDIR_HERESTRING || d->kind == REDIR_DUP_IN;

		if (!is_input && d->fd != 2)
			return true;
		if (d->kind == REDIR_DUP_OUT && d->fd == 2)
			return true;
	}
	return false;
}

enum value_kind output_after(struct judge *j, const struct node *n, enum value_kind input,
			     const char **ret_text)
{
	enum value_kind kind = input;

	while ((n->kind == NODE_LIST || n->kind == NODE_GROUP) && n->kids && !n->kids->next && !n->redirs)
		n = n->kids;
	if (sends_elsewhere(n->redirs))
		return VALUE_UNKNOWN;
	if (n->kind == NODE_SIMPLE && n->words)
		return simple_output(j, n, input, ret_text);
	if (n->kind != NODE_PIPE)
		return VALUE_UNKNOWN;
	for (const struct node *kid = n->kids; kid; kid = kid->next)
		kind = output_after(j, kid, kind, ret_text);
	return kind;
}
