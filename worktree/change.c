#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "worktree/beneath.h"
#include "worktree/change.h"
#include "worktree/change_file.h"
#include "worktree/dotgit.h"
#include "worktree/origin.h"
#include "worktree/results.h"
#include "worktree/tree.h"
#include "worktree/workspace.h"

static const char *const kind_names[] = { "added", "modified", "deleted", "mode", "type" };
_Static_assert(ARRAY_LEN(kind_names) == CHANGE_NUM, "a name for each kind of change");

const char *change_kind_name(enum change_kind kind)
{
	return kind < CHANGE_NUM ? kind_names[kind] : "unknown";
}

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* --- comparing two trees: old as the manifest has it, new as it is on the disk --- */

/* A directory on both sides, still to compare. */
struct pair {
	const struct node *old, *new;
	const char *git;	/* below this `.git`; NULL: not below any */
};

struct compare {
	struct origin origin;
	int ws_fd;
	struct change_set *set;
	size_t cap;
	struct strv git_seen;	/* every `.git` met: pairs point at its strings */
	struct pair *todo;
	size_t n_todo, cap_todo;
	struct buf path;
	struct err *err;
};

static void own_compare(struct compare *c)
{
	origin_done(&c->origin);
	own_fd(&c->ws_fd);
	strv_done(&c->git_seen);
	free(c->todo);
	buf_done(&c->path);
}

static int push(struct compare *c, const struct node *old, const struct node *new, const char *git)
{
	if (c->n_todo == c->cap_todo) {
		size_t cap = c->cap_todo ? c->cap_todo * 2 : 64;
		struct pair *v = reallocarray(c->todo, cap, sizeof(*v));

		if (!v)
			return no_memory(c->err);
		c->todo = v;
		c->cap_todo = cap;
	}
	c->todo[c->n_todo++] = (struct pair){ old, new, git };
	return 0;
}

static int64_t size_of(const struct node *n)
{
	return n && (S_ISREG(n->copy.mode) || S_ISLNK(n->copy.mode)) ? (int64_t)n->copy.size : 0;
}

static int emit(struct compare *c, enum change_kind kind, const struct node *old, const struct node *new,
		const char *git)
{
	struct change_set *s = c->set;

	if (git) {
		if (s->git_metadata.n && !strcmp(s->git_metadata.v[s->git_metadata.n - 1], git))
			return 0;
		return strv_add(&s->git_metadata, git) < 0 ? no_memory(c->err) : 0;
	}
	if (s->n == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 64;
		struct change *v = reallocarray(s->v, cap, sizeof(*v));

		if (!v)
			return no_memory(c->err);
		s->v = v;
		c->cap = cap;
	}
	if (node_path(new ? new : old, &c->path) < 0)
		return no_memory(c->err);
	s->v[s->n] = (struct change){
		.kind = kind, .path = strdup(c->path.data),
		.old_mode = old ? old->copy.mode : 0, .new_mode = new ? new->copy.mode : 0,
		.old_size = size_of(old), .new_size = size_of(new),
	};
	return s->v[s->n].path ? (s->n++, 0) : no_memory(c->err);
}

/* If @n is a `.git`, the string that stands for all below it; else *@git as it is. */
static int below_git(struct compare *c, const struct node *n, const char **git)
{
	if (*git || !dotgit_name(n->name, strlen(n->name)))
		return 0;
	if (node_path(n, &c->path) < 0 || strv_add(&c->git_seen, c->path.data) < 0)
		return no_memory(c->err);
	*git = c->git_seen.v[c->git_seen.n - 1];
	return 0;
}

static int emit_one(struct compare *c, const struct node *n, int is_new, const char *git)
{
	return is_new ? emit(c, CHANGE_ADDED, NULL, n, git) : emit(c, CHANGE_DELETED, n, NULL, git);
}

/* Everything of a tree that is there on one side only. A `.git` stands for all below it. */
static int emit_all(struct compare *c, const struct node *top, int is_new, const char *git)
{
	const struct node *n = top;

	if (git)
		return emit_one(c, top, is_new, git);
	while (n) {
		const char *at = NULL;

		if (below_git(c, n, &at) < 0 || emit_one(c, n, is_new, at) < 0)
			return -1;
		n = at ? node_skip(top, n) : node_next(top, n);
	}
	return 0;
}

/* The content of a file or link whose stamps differ. 1 the same after all. */
static int same_content(struct compare *c, const struct node *old, const struct node *new)
{
	const char *name;
	OWN(fd) int dir = -1;

	if (old->copy.size != new->copy.size && S_ISREG(old->copy.mode))
		return 0;
	if (node_path(new, &c->path) < 0)
		return no_memory(c->err);
	dir = beneath_parent(c->ws_fd, c->path.data, &name);
	if (dir < 0)
		return 0;
	return origin_same(&c->origin, old, c->path.data, dir, name, c->err);
}

static int compare_node(struct compare *c, const struct node *old, const struct node *new, const char *git)
{
	mode_t type = old->copy.mode & S_IFMT;
	int same = 1;

	if (type != (new->copy.mode & S_IFMT)) {
		if (emit(c, CHANGE_TYPE, old, new, git) < 0)
			return -1;
		for (size_t i = 0; i < old->n_child; i++)
			if (emit_all(c, old->child[i], 0, git) < 0)
				return -1;
		for (size_t i = 0; i < new->n_child; i++)
			if (emit_all(c, new->child[i], 1, git) < 0)
				return -1;
		return 0;
	}
	if ((type == S_IFREG || type == S_IFLNK) && !stamp_same(&old->copy, &new->copy))
		same = same_content(c, old, new);
	if (same < 0)
		return -1;
	if (!same)
		return emit(c, CHANGE_MODIFIED, old, new, git);
	if (type != S_IFLNK && ((old->copy.mode ^ new->copy.mode) & 07777) &&
	    emit(c, CHANGE_MODE, old, new, git) < 0)
		return -1;
	return type == S_IFDIR && !(new->flags & NODE_UNREAD) ? push(c, old, new, git) : 0;
}

/* Two sorted lists of children, side by side. */
static int compare_dirs(struct compare *c, const struct pair *p)
{
	size_t i = 0, j = 0;

	while (i < p->old->n_child || j < p->new->n_child) {
		const struct node *old = i < p->old->n_child ? p->old->child[i] : NULL;
		const struct node *new = j < p->new->n_child ? p->new->child[j] : NULL;
		int order = !old ? 1 : !new ? -1 : strcmp(old->name, new->name);
		const char *git = p->git;

		if (order < 0 ? emit_all(c, old, 0, git) < 0 : order > 0 ? emit_all(c, new, 1, git) < 0 :
		    below_git(c, old, &git) < 0 || compare_node(c, old, new, git) < 0)
			return -1;
		i += order <= 0;
		j += order >= 0;
	}
	return 0;
}

static int by_path(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int compare_all(struct compare *c, const struct node *old, const struct node *new)
{
	struct change_set *s = c->set;

	if (push(c, old, new, NULL) < 0)
		return -1;
	while (c->n_todo) {
		struct pair p = c->todo[--c->n_todo];

		if (compare_dirs(c, &p) < 0)
			return -1;
	}
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_path);
	strv_sort_unique(&s->git_metadata);
	return 0;
}

/* --- the whole --- */

static int collect_files(const struct workspace *ws, struct change_set *set, struct err *err)
{
	OWN(compare) struct compare c = { .ws_fd = -1, .origin.root_fd = -1, .set = set, .err = err };
	OWN(tree) struct node *old = NULL, *new = NULL;

	if (change_manifest_load(ws, &old, err) < 0 || origin_open(ws, &c.origin, err) < 0)
		return -1;
	c.ws_fd = change_open_tree(ws, err);
	if (c.ws_fd < 0 || tree_scan(c.ws_fd, ws->gitdir != NULL, &set->notes, &new, err) < 0)
		return -1;
	return compare_all(&c, old, new);
}

/* A git directory nobody can read must not hide what happened to the files. */
static int collect_commits(const struct workspace *ws, struct change_set *set, struct err *err)
{
	OWN(results) struct results r = { .git_fd = -1 };
	struct err e;

	if (!ws->gitdir)
		return 0;
	if (results_open(ws, &r, &e) < 0 || results_commits(&r, set, &e) < 0) {
		set->commits_problem = strdup(e.msg);
		return e.code == ERR_NOMEM || !set->commits_problem ? no_memory(err) : 0;
	}
	memcpy(set->tip, r.tip, sizeof(set->tip));
	set->head_ref = TAKE(r.head_ref);
	return 0;
}

int change_collect(const struct workspace *ws, struct change_set *ret, struct err *err)
{
	OWN(change_set) struct change_set set = { 0 };

	if (change_may_compare(ws, err) < 0 || collect_files(ws, &set, err) < 0 ||
	    collect_commits(ws, &set, err) < 0)
		return -1;
	*ret = set;
	set = (struct change_set){ 0 };
	return 0;
}

int change_read(const struct workspace *ws, const char *path, size_t max, struct buf *out, struct err *err)
{
	OWN(fd) int root = change_open_tree(ws, err);
	struct stat st;

	if (root < 0)
		return -1;
	if (path[0] == '/' || beneath_stat(root, path, &st) < 0)
		return err_set(err, ERR_NOTFOUND, path[0] == '/' ? EINVAL : errno, "cannot read '%s'", path);
	if (!S_ISLNK(st.st_mode))
		return beneath_read(root, path, max, out, err);
	if ((uint64_t)st.st_size > max)
		return err_set(err, ERR_LIMIT, 0, "'%s': more than %zu bytes", path, max);
	return beneath_link(root, path, out) < 0 ? err_set(err, ERR_SYS, errno, "cannot read '%s'", path) : 0;
}

void change_set_done(struct change_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		free(set->v[i].path);
	for (size_t i = 0; i < set->n_commits; i++) {
		free(set->commits[i].author);
		free(set->commits[i].subject);
	}
	free(set->v);
	free(set->commits);
	free(set->head_ref);
	free(set->commits_problem);
	strv_done(&set->git_metadata);
	strv_done(&set->notes);
	*set = (struct change_set){ 0 };
}

/* --- what the three of this family share: worktree/change_file.h --- */

int change_may_compare(const struct workspace *ws, struct err *err)
{
	if (ws->strategy != WORKSPACE_IN_PLACE)
		return 0;
	return err_set(err, ERR_USAGE, 0, "the run worked in '%s' itself: there is nothing to compare it with",
		       ws->original);
}

int change_manifest_load(const struct workspace *ws, struct node **ret, struct err *err)
{
	OWN(fd) int run = open(ws->run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (run < 0)
		return err_set(err, ERR_SYS, errno, "cannot open '%s'", ws->run_dir);
	return manifest_load(run, "manifest", ret, err);
}

int change_open_tree(const struct workspace *ws, struct err *err)
{
	int fd = open(ws->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		err_set(err, ERR_SYS, errno, "cannot open '%s'", ws->path);
	return fd;
}
