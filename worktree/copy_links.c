#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "worktree/beneath.h"
#include "worktree/copy.h"
#include "worktree/copy_links.h"
#include "worktree/tree.h"

struct link_name {
	dev_t dev;
	ino_t ino;
	size_t order;		/* 0: the first name */
	struct node *node;	/* NULL: a name that is not to be made after all */
};

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* Where (dev, ino) is or belongs in the table, which always has a free slot. */
static size_t *slot_of(struct copy_links *l, dev_t dev, ino_t ino)
{
	uint64_t h = ((uint64_t)ino ^ ((uint64_t)dev << 40)) * 0x9e3779b97f4a7c15u;

	for (size_t i = (size_t)(h >> 20);; i++) {
		size_t *s = &l->slot[i & (l->n_slots - 1)];

		if (!*s || (l->v[*s - 1].dev == dev && l->v[*s - 1].ino == ino))
			return s;
	}
}

static int grow(struct copy_links *l)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 64;
		struct link_name *v = reallocarray(l->v, cap, sizeof(*v));

		if (!v)
			return -1;
		l->v = v;
		l->cap = cap;
	}
	if (l->n_used * 2 >= l->n_slots) {
		size_t want = l->n_slots ? l->n_slots * 2 : 128;
		size_t *slot = calloc(want, sizeof(*slot));

		if (!slot)
			return -1;
		free(l->slot);
		l->slot = slot;
		l->n_slots = want;
		for (size_t i = 0; i < l->n; i++)
			if (!l->v[i].order)
				*slot_of(l, l->v[i].dev, l->v[i].ino) = i + 1;
	}
	return 0;
}

int copy_links_see(struct copy_links *l, const struct stat *st, struct node *n)
{
	size_t *s;

	if (grow(l) < 0)
		return -1;
	s = slot_of(l, st->st_dev, st->st_ino);
	l->v[l->n] = (struct link_name){ st->st_dev, st->st_ino, *s ? l->n : 0, n };
	if (!*s) {
		*s = l->n + 1;
		l->n_used++;
		l->v[l->n++].order = 0;
		return 1;
	}
	l->n++;
	return 0;
}

void copy_links_forget(struct copy_links *l, const struct node *n)
{
	for (size_t i = l->n; i--; )
		if (l->v[i].node == n)
			l->v[i].node = NULL;
}

static int by_file(const void *a, const void *b)
{
	const struct link_name *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Two parents, opened, with what lies in them. */
struct pair {
	struct buf from, to;
	int from_fd, to_fd;
};

static void own_pair(struct pair *p)
{
	buf_done(&p->from);
	buf_done(&p->to);
	own_fd(&p->from_fd);
	own_fd(&p->to_fd);
}

/* A link made in @dir moved its time; put it back. */
static int restore_time(int dirfd, const struct node *dir)
{
	const struct timespec t[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = dir->orig.mtime_ns / 1000000000, .tv_nsec = dir->orig.mtime_ns % 1000000000 },
	};

	return utimensat(dirfd, "", t, AT_EMPTY_PATH);
}

static int make_link(int root, const struct node *first, struct node *n, struct err *err)
{
	OWN(pair) struct pair p = { .from_fd = -1, .to_fd = -1 };
	const char *from, *to;
	struct stat st;

	if (node_path(first, &p.from) < 0 || node_path(n, &p.to) < 0)
		return no_memory(err);
	p.from_fd = beneath_parent(root, p.from.data, &from);
	p.to_fd = beneath_parent(root, p.to.data, &to);
	if (p.from_fd < 0 || p.to_fd < 0 || linkat(p.from_fd, from, p.to_fd, to, 0) < 0 ||
	    fstatat(p.to_fd, to, &st, AT_SYMLINK_NOFOLLOW) < 0 || restore_time(p.to_fd, n->parent) < 0)
		return err_set(err, ERR_SYS, errno, "cannot link '%s' to '%s'", p.to.data, p.from.data);
	n->copy = stamp_of(&st);
	return 0;
}

static int make_group(struct link_name *v, size_t n, int root, struct copy_result *result,
		      struct err *err)
{
	const struct node *last = NULL;

	for (size_t i = 1; i < n; i++) {
		if (v[i].node && !v[0].node) {	/* the content was never had */
			node_remove(v[i].node);
			result->files--;
			result->notes_dropped++;
		} else if (v[i].node) {
			if (make_link(root, v[0].node, v[i].node, err) < 0)
				return -1;
			last = v[i].node;
		}
	}
	/* each link changed the one inode: the last look holds for all */
	for (size_t i = 0; last && i < n; i++)
		if (v[i].node)
			v[i].node->copy = last->copy;
	return 0;
}

int copy_links_make(struct copy_links *l, const struct copy_params *params,
		    struct copy_result *result, struct err *err)
{
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_file);
	for (size_t i = 0, n; i < l->n; i += n) {
		for (n = 1; i + n < l->n && l->v[i + n].order; n++)
			;
		if (make_group(l->v + i, n, params->dst_fd, result, err) < 0)
			return -1;
	}
	return 0;
}

void copy_links_done(struct copy_links *l)
{
	free(l->v);
	free(l->slot);
	*l = (struct copy_links){ 0 };
}
