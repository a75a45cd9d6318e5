#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "worktree/beneath.h"
#include "worktree/change.h"
#include "worktree/change_file.h"
#include "worktree/libgit.h"
#include "worktree/origin.h"
#include "worktree/tree.h"
#include "worktree/workspace.h"

#define MAX_TEXT ((size_t)8 << 20)	/* bytes of a file that is compared line by line */

struct differ {
	const struct workspace *ws;
	struct origin origin;
	struct node *manifest;
	struct buf *out;
	struct err *err;
};

static void own_differ(struct differ *d)
{
	origin_done(&d->origin);
	tree_free(d->manifest);
}

/* One side of one file. */
struct side {
	mode_t mode;	/* stat(2); 0: not there */
	struct buf data;
	int is_known;	/* data is what it held */
	int is_large;
};

static void own_side(struct side *s)
{
	buf_done(&s->data);
}

/* What git would store: it knows two kinds of files and links. 0: nothing. */
static unsigned int git_mode(mode_t mode)
{
	if (S_ISLNK(mode))
		return 0120000;
	if (S_ISREG(mode))
		return mode & 0100 ? 0100755 : 0100644;
	return 0;
}

/* --- names, quoted as git quotes them: git-config(1), core.quotePath --- */

static int needs_quotes(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || (unsigned char)*s >= 0x7f || *s == '"' || *s == '\\')
			return 1;
	return 0;
}

static void add_name(struct buf *b, const char *prefix, const char *path)
{
	int quoted = needs_quotes(path);

	if (quoted)
		buf_addc(b, '"');
	buf_adds(b, prefix);
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if (c < 0x20 || c >= 0x7f)
			buf_addf(b, "\\%03o", c);
		else if (c == '"' || c == '\\')
			buf_addf(b, "\\%c", c);
		else
			buf_addc(b, *path);
	}
	if (quoted)
		buf_addc(b, '"');
}

/* "--- a/x": behind a name with a blank goes a tab, so that its end is clear */
static void add_file_line(struct buf *b, const char *mark, const char *prefix, const char *path, int is_there)
{
	buf_adds(b, mark);
	if (is_there)
		add_name(b, prefix, path);
	else
		buf_adds(b, "/dev/null");
	buf_adds(b, is_there && strchr(path, ' ') ? "\t\n" : "\n");
}

/* --- one file --- */

static void add_header(struct buf *b, const char *path, unsigned int old, unsigned int new)
{
	buf_adds(b, "diff --git ");
	add_name(b, "a/", path);
	buf_addc(b, ' ');
	add_name(b, "b/", path);
	buf_addc(b, '\n');
	if (!old)
		buf_addf(b, "new file mode %06o\n", new);
	else if (!new)
		buf_addf(b, "deleted file mode %06o\n", old);
	else if (old != new)
		buf_addf(b, "old mode %06o\nnew mode %06o\n", old, new);
}

static void add_ids(struct buf *b, const git_diff_delta *d, unsigned int old, unsigned int new)
{
	char from[8] = "0000000", to[8] = "0000000";

	if (old)
		git_oid_tostr(from, sizeof(from), &d->old_file.id);
	if (new)
		git_oid_tostr(to, sizeof(to), &d->new_file.id);
	buf_addf(b, "index %s..%s", from, to);
	if (old && old == new)
		buf_addf(b, " %06o", old);
	buf_addc(b, '\n');
}

static int add_line(const git_diff_delta *d, const git_diff_hunk *h, const git_diff_line *l, void *cookie)
{
	struct buf *b = cookie;

	(void)d;
	(void)h;
	if (l->origin == GIT_DIFF_LINE_FILE_HDR || l->origin == GIT_DIFF_LINE_BINARY)
		return 0;
	if (l->origin == GIT_DIFF_LINE_CONTEXT || l->origin == GIT_DIFF_LINE_ADDITION ||
	    l->origin == GIT_DIFF_LINE_DELETION)
		buf_addc(b, l->origin);
	return buf_add(b, l->content, l->content_len);
}

static int add_text(struct differ *d, const char *path, const struct side *old, const struct side *new)
{
	OWN(git_patch) git_patch *patch = NULL;
	const char *before, *after;
	git_diff_options opts;
	const git_diff_delta *delta;
	struct buf *b = d->out;

	git_diff_options_init(&opts, GIT_DIFF_OPTIONS_VERSION);
	/* NULL means "no file", so an empty one must not be */
	before = old->mode ? (old->data.data ? old->data.data : "") : NULL;
	after = new->mode ? (new->data.data ? new->data.data : "") : NULL;
	if (git_patch_from_buffers(&patch, before, old->data.len, path, after, new->data.len, path,
				   &opts) < 0)
		return libgit_fail(d->err, ERR_NOMEM, "cannot compare '%s'", path);
	delta = git_patch_get_delta(patch);
	if (old->mode && new->mode && git_oid_equal(&delta->old_file.id, &delta->new_file.id) &&
	    !git_patch_num_hunks(patch))
		return 0;
	add_ids(b, delta, git_mode(old->mode), git_mode(new->mode));
	if (delta->flags & GIT_DIFF_FLAG_BINARY) {
		buf_adds(b, "Binary files ");
		add_name(b, old->mode ? "a/" : "", old->mode ? path : "/dev/null");
		buf_adds(b, " and ");
		add_name(b, new->mode ? "b/" : "", new->mode ? path : "/dev/null");
		buf_adds(b, " differ\n");
		return 0;
	}
	if (!git_patch_num_hunks(patch))
		return 0;	/* an empty file came or went */
	add_file_line(b, "--- ", "a/", path, old->mode != 0);
	add_file_line(b, "+++ ", "b/", path, new->mode != 0);
	if (git_patch_print(patch, add_line, b) < 0 && !b->failed)
		return libgit_fail(d->err, ERR_NOMEM, "cannot compare '%s'", path);
	return 0;
}

static int add_pair(struct differ *d, const struct change *c, const struct side *old, const struct side *new)
{
	struct buf *b = d->out;

	add_header(b, c->path, git_mode(old->mode), git_mode(new->mode));
	if (old->is_large || new->is_large)
		buf_addf(b, "Large file, %lld bytes before and %lld after, not compared\n",
			 (long long)c->old_size, (long long)c->new_size);
	else if (!old->is_known)
		buf_adds(b, "The old content is no longer known: the original has changed since\n");
	else if (!new->is_known)
		buf_adds(b, "The new content cannot be read\n");
	else if (add_text(d, c->path, old, new) < 0)
		return -1;
	return b->failed ? err_set(d->err, ERR_LIMIT, 0, "the diff is larger than its bound") : 0;
}

static int read_old(struct differ *d, const struct change *c, struct side *s)
{
	const struct node *n = tree_find(d->manifest, c->path, strlen(c->path));
	struct err e;
	int r;

	s->data.max = MAX_TEXT;
	s->mode = c->old_mode;
	if (!n)
		return 0;
	r = origin_read(&d->origin, n, c->path, MAX_TEXT, &s->data, &e);
	if (r < 0 && e.code == ERR_LIMIT) {
		s->is_large = 1;
		return 0;
	}
	s->is_known = r > 0;
	return r < 0 ? err_set(d->err, e.code, 0, "%s", e.msg) : 0;
}

static int read_new(struct differ *d, const struct change *c, struct side *s)
{
	struct err e;

	s->data.max = MAX_TEXT + 65536;
	s->mode = c->new_mode;
	s->is_known = !change_read(d->ws, c->path, MAX_TEXT, &s->data, &e);
	s->is_large = !s->is_known && e.code == ERR_LIMIT;
	return !s->is_known && e.code == ERR_NOMEM ? err_set(d->err, e.code, 0, "%s", e.msg) : 0;
}

/* Nothing, as one side of what was added or deleted. */
static const struct side nothing = { .is_known = 1 };

static int diff_one(struct differ *d, const struct change *c)
{
	OWN(side) struct side old = { .is_known = 1 }, new = { .is_known = 1 };
	unsigned int from = git_mode(c->old_mode), to = git_mode(c->new_mode);

	if (!from && !to)
		return 0;	/* directories, FIFOs */
	if (c->kind == CHANGE_MODE && from == to)
		return 0;	/* bits git does not keep */
	if (c->kind == CHANGE_MODE) {
		add_header(d->out, c->path, from, to);
		return 0;
	}
	if ((from && read_old(d, c, &old) < 0) || (to && read_new(d, c, &new) < 0))
		return -1;
	/* a file that became a link, or the like: git shows two changes */
	if (c->kind == CHANGE_TYPE && from && to)
		return add_pair(d, c, &old, &nothing) < 0 ? -1 : add_pair(d, c, &nothing, &new);
	return add_pair(d, c, &old, &new);
}

int change_diff(const struct workspace *ws, const struct change_set *set, struct buf *out, struct err *err)
{
	OWN(differ) struct differ d = { .ws = ws, .origin.root_fd = -1, .out = out, .err = err };

	if (change_may_compare(ws, err) < 0 || libgit_ready(err) < 0 ||
	    change_manifest_load(ws, &d.manifest, err) < 0 || origin_open(ws, &d.origin, err) < 0)
		return -1;
	for (size_t i = 0; i < set->n; i++)
		if (diff_one(&d, &set->v[i]) < 0)
			return -1;
	return buf_add(out, "", 0) < 0 ? err_set(err, ERR_LIMIT, 0, "the diff is larger than its bound") : 0;
}
