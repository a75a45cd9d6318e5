#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "worktree/beneath.h"
#include "worktree/libgit.h"
#include "worktree/origin.h"
#include "worktree/tree.h"
#include "worktree/workspace.h"

#define CHUNK 65536
#define MAX_LINK 4096

int origin_open(const struct workspace *ws, struct origin *ret, struct err *err)
{
	int fd = open(ws->original, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, ERR_SYS, errno, "cannot open '%s'", ws->original);
	*ret = (struct origin){ .ws = ws, .root_fd = fd };
	return 0;
}

void origin_done(struct origin *o)
{
	own_fd(&o->root_fd);
	git_odb_free(o->odb);
	*o = (struct origin){ .root_fd = -1 };
}

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* The object directories as they were bound for the run: the host's own, not what it may have listed. */
static int need_odb(struct origin *o, struct err *err)
{
	OWN(git_odb) git_odb *odb = NULL;

	if (o->odb)
		return 0;
	if (libgit_ready(err) < 0)
		return -1;
	if (git_odb_new(&odb) < 0)
		return libgit_fail(err, ERR_NOMEM, "cannot read objects");
	for (size_t i = 0; i < o->ws->objects.n; i++)
		if (git_odb_add_disk_alternate(odb, o->ws->objects.v[i]) < 0)
			return libgit_fail(err, ERR_INPUT, "cannot read objects in '%s'",
					   o->ws->objects.v[i]);
	o->odb = TAKE(odb);
	return 0;
}

static int looks_same(const struct stat *st, const struct node *n)
{
	struct stamp now = stamp_of(st);

	now.ctime_ns = n->orig.ctime_ns;
	return stamp_same(&now, &n->orig);
}

int origin_unmoved(const struct origin *o, const struct node *n, const char *path)
{
	struct stat st;

	if (beneath_stat(o->root_fd, path, &st) < 0)
		return 0;
	if (S_ISDIR(n->orig.mode) || S_ISDIR(st.st_mode))
		return S_ISDIR(n->orig.mode) && S_ISDIR(st.st_mode);
	return looks_same(&st, n);
}

/* The original's file, if it is still the one. */
static int open_same(const struct origin *o, const struct node *n, const char *path)
{
	struct stat st;
	OWN(fd) int fd = beneath_regular(o->root_fd, path, &st);

	return fd >= 0 && looks_same(&st, n) ? fd_take(&fd) : -1;
}

static ssize_t read_full(int fd, char *to, size_t len)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(fd, to + got, len - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (!n)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

static int same_bytes(int a, int b)
{
	char x[CHUNK], y[CHUNK];

	for (;;) {
		ssize_t n = read_full(a, x, sizeof(x)), m = read_full(b, y, sizeof(y));

		if (n < 0 || n != m || memcmp(x, y, (size_t)n))
			return 0;
		if (!n)
			return 1;
	}
}

static int same_oid(const struct node *n, const git_oid *oid)
{
	return !memcmp(n->oid, oid->id, sizeof(n->oid));
}

static int same_file(struct origin *o, const struct node *n, const char *path, int dirfd,
		     const char *name, struct err *err)
{
	struct stat st;
	OWN(fd) int new = beneath_regular(dirfd, name, &st);
	OWN(fd) int old = -1;
	char self[32];
	git_oid oid;

	if (new < 0 || (uint64_t)st.st_size != n->orig.size)
		return 0;
	old = open_same(o, n, path);
	if (old >= 0)
		return same_bytes(old, new);
	if (!(n->flags & NODE_HAS_OID))
		return 0;
	if (libgit_ready(err) < 0)
		return -1;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", new);
	return !git_odb_hashfile(&oid, self, GIT_OBJECT_BLOB) && same_oid(n, &oid);
}

static int same_link(struct origin *o, const struct node *n, const char *path, int dirfd,
		     const char *name, struct err *err)
{
	OWN(buf) struct buf old = { 0 }, new = { 0 };
	git_oid oid;

	if (beneath_link(dirfd, name, &new) < 0)
		return errno == ENOMEM ? no_memory(err) : 0;
	if (origin_unmoved(o, n, path) && !beneath_link(o->root_fd, path, &old))
		return old.len == new.len && !memcmp(old.data, new.data, new.len);
	if (!(n->flags & NODE_HAS_OID))
		return 0;
	if (libgit_ready(err) < 0)
		return -1;
	return !git_odb_hash(&oid, new.data, new.len, GIT_OBJECT_BLOB) && same_oid(n, &oid);
}

int origin_same(struct origin *o, const struct node *n, const char *path, int dirfd,
		const char *name, struct err *err)
{
	if (S_ISLNK(n->orig.mode))
		return same_link(o, n, path, dirfd, name, err);
	return same_file(o, n, path, dirfd, name, err);
}

static int read_blob(struct origin *o, const struct node *n, size_t max, struct buf *out, struct err *err)
{
	OWN(git_odb_object) git_odb_object *obj = NULL;
	git_oid oid;

	if (!(n->flags & NODE_HAS_OID))
		return 0;
	if (need_odb(o, err) < 0)
		return -1;
	memcpy(oid.id, n->oid, sizeof(n->oid));
	/* a filter (line ends, LFS) stood between blob and file: not the old content then */
	if (git_odb_read(&obj, o->odb, &oid) < 0 || git_odb_object_type(obj) != GIT_OBJECT_BLOB ||
	    git_odb_object_size(obj) != n->orig.size)
		return 0;
	if (git_odb_object_size(obj) > max)
		return err_set(err, ERR_LIMIT, 0, "more than %zu bytes", max);
	return buf_add(out, git_odb_object_data(obj), git_odb_object_size(obj)) < 0 ? no_memory(err) : 1;
}

int origin_read(struct origin *o, const struct node *n, const char *path, size_t max,
		struct buf *out, struct err *err)
{
	OWN(fd) int fd = -1;

	if (n->orig.size > max)
		return err_set(err, ERR_LIMIT, 0, "'%s': more than %zu bytes", path, max);
	if (S_ISLNK(n->orig.mode)) {
		if (origin_unmoved(o, n, path) && !beneath_link(o->root_fd, path, out))
			return 1;
		return read_blob(o, n, MAX_LINK, out, err);
	}
	fd = open_same(o, n, path);
	if (fd < 0)
		return read_blob(o, n, max, out, err);
	if (!buf_room(out, (size_t)n->orig.size))
		return no_memory(err);
	if (read_full(fd, out->data + out->len, (size_t)n->orig.size) != (ssize_t)n->orig.size)
		return 0;
	buf_grew(out, (size_t)n->orig.size);
	return 1;
}
