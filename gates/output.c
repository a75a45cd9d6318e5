/*
 * What a command prints, where the line alone tells. "rm -rf $(echo /)" and
 * "git ls-files | xargs wc -l" are judged by it.
 */
#include <string.h>

#include "base/own.h"
#include "gates/output.h"

static const char *joined(struct judge *j, const struct printed *w, size_t first)
{
	struct bytes t = { 0 };

	for (size_t i = first; i < w->n; i++) {
		if (i > first)
			bytes_addc(j->arena, &t, ' ');
		bytes_add(j->arena, &t, w->v[i], strlen(w->v[i]));
	}
	return t.s ? t.s : "";
}

static enum value_kind echo_output(struct judge *j, const struct printed *w, const char **ret_text)
{
	size_t first = 1;

	while (first < w->n && in_list("-n -e -E", w->v[first]))
		first++;
	if (!w->all_known || strpbrk(joined(j, w, first), "\\"))
		return VALUE_UNKNOWN;
	*ret_text = joined(j, w, first);
	return VALUE_KNOWN;
}

static enum value_kind printf_output(const struct printed *w, const char **ret_text)
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

static enum value_kind path_part_output(struct judge *j, const struct printed *w, const char **ret_text)
{
	const char *slash;

	if (!w->all_known || w->n != 2)
		return printed_kind(j, w, VALUE_UNKNOWN);
	slash = strrchr(w->v[1], '/');
	if (!strcmp(w->v[0], "basename"))
		*ret_text = slash ? slash + 1 : w->v[1];
	else
		*ret_text = slash ? arena_dup(j->arena, w->v[1], (size_t)(slash - w->v[1])) : ".";
	return VALUE_KNOWN;
}

static enum value_kind simple_output(struct judge *j, const struct node *n, enum value_kind input,
				     const char **ret_text)
{
	struct printed w = printed_words(j, n);
	const char *name = w.n ? w.v[0] : "";
	enum value_kind kind;

	if (!strcmp(name, "echo"))
		return echo_output(j, &w, ret_text);
	if (!strcmp(name, "printf"))
		return printf_output(&w, ret_text);
	if (!strcmp(name, "pwd") && w.n == 1 && j->sh.cwd) {
		*ret_text = j->sh.cwd;
		return VALUE_KNOWN;
	}
	if (!strcmp(name, "git") && w.n == 3 && w.all_known && !strcmp(w.v[1], "rev-parse") &&
	    !strcmp(w.v[2], "--show-toplevel") && j->req->workspace) {
		*ret_text = j->req->workspace;
		return VALUE_KNOWN;
	}
	if (!strcmp(name, "basename") || !strcmp(name, "dirname"))
		return path_part_output(j, &w, ret_text);
	kind = printed_kind(j, &w, input);
	if (kind == VALUE_PATHS && input != VALUE_PATHS)
		*ret_text = printed_root(j, &w);
	return kind;
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
