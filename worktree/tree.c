#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "worktree/beneath.h"
#include "worktree/tree.h"

#define MAX_NODES 20000000u	/* a command can make files faster than we can list them for ever */
#define MANIFEST_MAX ((size_t)8 << 30)
#define NS 1000000000LL

struct stamp stamp_of(const struct stat *st)
{
	return (struct stamp){
		.mtime_ns = st->st_mtim.tv_sec * NS + st->st_mtim.tv_nsec,
		.ctime_ns = st->st_ctim.tv_sec * NS + st->st_ctim.tv_nsec,
		.size = (uint64_t)st->st_size,
		.ino = st->st_ino,
		.dev = (uint32_t)st->st_dev,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.mode = st->st_mode,
	};
}

int stamp_same(const struct stamp *a, const struct stamp *b)
{
	return a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns && a->size == b->size &&
	       a->ino == b->ino && ((a->mode ^ b->mode) & S_IFMT) == 0;
}

struct node *node_new(struct node *parent, const char *name)
{
	size_t len = strlen(name);
	struct node *n = calloc(1, sizeof(*n) + len + 1);

	if (!n)
		return NULL;
	n->parent = parent;
	memcpy(n->name, name, len + 1);
	return n;
}

/* Children first; a freed child is taken off its parent's list, so no stack is needed. */
void tree_free(struct node *root)
{
	struct node *n = root;

	while (n) {
		struct node *up;

		if (n->n_child) {
			n = n->child[--n->n_child];
			continue;
		}
		up = n == root ? NULL : n->parent;
		free(n->child);
		free(n);
		n = up;
	}
}

static int tree_order(const void *a, const void *b)
{
	const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;

	return strcmp(x->name, y->name);
}

/* A directory changed while it is read may show a name twice; a list may not. */
void node_sort(struct node *dir, void (*drop)(void *cookie, struct node *n), void *cookie)
{
	size_t kept = 0;

	if (dir->n_child)
		qsort(dir->child, dir->n_child, sizeof(struct node *), tree_order);
	for (size_t i = 0; i < dir->n_child; i++) {
		if (!kept || strcmp(dir->child[kept - 1]->name, dir->child[i]->name))
			dir->child[kept++] = dir->child[i];
		else
			drop(cookie, dir->child[i]);
	}
	dir->n_child = kept;
}

int node_path(const struct node *n, struct buf *out)
{
	size_t len = 0;
	char *at;

	buf_clear(out);
	for (const struct node *p = n; p->parent; p = p->parent)
		len += strlen(p->name) + 1;
	if (!len)
		return buf_add(out, "", 0);
	if (!buf_room(out, len))
		return -1;
	buf_grew(out, len - 1);
	at = out->data + len - 1;
	for (const struct node *p = n; p->parent; p = p->parent) {
		size_t part = strlen(p->name);

		at -= part;
		memcpy(at, p->name, part);
		if (p->parent->parent)
			*--at = '/';
	}
	return 0;
}

/* Compare @name of @len bytes with a node's whole name. */
static int name_cmp(const char *name, size_t len, const struct node *n)
{
	int r = strncmp(name, n->name, len);

	return r ? r : n->name[len] ? -1 : 0;
}

/* Where @name is among @dir's children, or would be inserted. */
static size_t position(const struct node *dir, const char *name, size_t len, int *ret_found)
{
	size_t lo = 0, hi = dir->n_child;

	*ret_found = 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int r = name_cmp(name, len, dir->child[mid]);

		if (!r) {
			*ret_found = 1;
			return mid;
		}
		if (r < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

struct node *node_child(const struct node *dir, const char *name, size_t len)
{
	int found;
	size_t i = position(dir, name, len, &found);

	return found ? dir->child[i] : NULL;
}

struct node *tree_find(struct node *root, const char *path, size_t len)
{
	const char *end = path + len;

	while (root && path < end) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		const char *stop = slash ? slash : end;

		root = node_child(root, path, (size_t)(stop - path));
		path = slash ? slash + 1 : end;
	}
	return root;
}

/* Behind all others; the room doubles whenever the count is a power of two. */
int node_append(struct node *dir, struct node *child)
{
	if (!(dir->n_child & (dir->n_child - 1))) {
		size_t cap = dir->n_child ? dir->n_child * 2 : 1;
		struct node **v = reallocarray(dir->child, cap, sizeof(struct node *));

		if (!v)
			return -1;
		dir->child = v;
	}
	dir->child[dir->n_child++] = child;
	child->parent = dir;
	return 0;
}

int node_insert(struct node *dir, struct node *child)
{
	int found;
	size_t i = position(dir, child->name, strlen(child->name), &found);

	if (node_append(dir, child) < 0)
		return -1;
	memmove(dir->child + i + 1, dir->child + i, (dir->n_child - 1 - i) * sizeof(struct node *));
	dir->child[i] = child;
	return 0;
}

void node_remove(struct node *n)
{
	struct node *dir = n->parent;
	int found;
	size_t i = position(dir, n->name, strlen(n->name), &found);

	if (found) {
		dir->n_child--;
		memmove(dir->child + i, dir->child + i + 1, (dir->n_child - i) * sizeof(struct node *));
	}
	tree_free(n);
}

struct node *node_skip(const struct node *top, const struct node *n)
{
	while (n != top) {
		const struct node *dir = n->parent;
		int found;
		size_t i = position(dir, n->name, strlen(n->name), &found) + 1;

		if (i < dir->n_child)
			return dir->child[i];
		n = dir;
	}
	return NULL;
}

struct node *node_next(const struct node *top, const struct node *n)
{
	return n->n_child ? n->child[0] : node_skip(top, n);
}

/* --- from the disk --- */

struct scan {
	int root_fd;
	int skip_git;
	size_t n_nodes;
	struct buf path;
	struct strv *notes;
	const struct node *at;	/* the directory last read, still open as entries */
	DIR *entries;
	struct node **todo;	/* directories still to read */
	size_t n_todo, cap_todo;
};

static void own_scan(struct scan *s)
{
	buf_done(&s->path);
	own_dir(&s->entries);
	free(s->todo);
}

static int push(struct scan *s, struct node *n)
{
	if (s->n_todo == s->cap_todo) {
		size_t cap = s->cap_todo ? s->cap_todo * 2 : 64;
		struct node **v = reallocarray(s->todo, cap, sizeof(struct node *));

		if (!v)
			return -1;
		s->todo = v;
		s->cap_todo = cap;
	}
	s->todo[s->n_todo++] = n;
	return 0;
}

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

static int scan_entry(struct scan *s, struct node *dir, int fd, const char *name, struct err *err)
{
	struct stat st;
	struct node *n;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;	/* gone again */
	if (++s->n_nodes > MAX_NODES)
		return err_set(err, ERR_LIMIT, 0, "more than %u files", MAX_NODES);
	n = node_new(dir, name);
	if (!n || node_append(dir, n) < 0) {
		free(n);
		return no_memory(err);
	}
	n->copy = stamp_of(&st);
	return S_ISDIR(st.st_mode) && push(s, n) < 0 ? no_memory(err) : 0;
}

static int is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

/* From its parent, if that was read last, so that a chain of directories is walked once only. */
static int scan_open(struct scan *s, const struct node *dir)
{
	int near = s->entries && s->at == dir->parent;
	int fd = near ? beneath_dir(dirfd(s->entries), dir->name) : beneath_dir(s->root_fd, s->path.data);

	if (fd < 0)
		return -1;
	own_dir(&s->entries);
	s->at = dir;
	s->entries = fdopendir(fd);
	if (!s->entries)
		close(fd);
	return s->entries ? 0 : -1;
}

/* It may be on the list of directories to read. */
static void drop_twin(void *cookie, struct node *n)
{
	struct scan *s = cookie;
	size_t kept = 0;

	for (size_t i = 0; i < s->n_todo; i++)
		if (s->todo[i] != n)
			s->todo[kept++] = s->todo[i];
	s->n_todo = kept;
	tree_free(n);
}

static int scan_dir(struct scan *s, struct node *dir, struct err *err)
{
	if (node_path(dir, &s->path) < 0)
		return no_memory(err);
	if (scan_open(s, dir) < 0) {
		dir->flags |= NODE_UNREAD;
		if (s->notes && s->notes->n < 1000)
			strv_addf(s->notes, "'%s' cannot be read: %s", s->path.data, strerror(errno));
		return 0;
	}
	for (struct dirent *e; (e = readdir(s->entries)); ) {
		if (is_dots(e->d_name) ||
		    (s->skip_git && !dir->parent && !strcmp(e->d_name, ".git")))
			continue;
		if (scan_entry(s, dir, dirfd(s->entries), e->d_name, err) < 0)
			return -1;
	}
	node_sort(dir, drop_twin, s);
	return 0;
}

int tree_scan(int dirfd, int skip_git, struct strv *notes, struct node **ret, struct err *err)
{
	OWN(scan) struct scan s = { .root_fd = dirfd, .skip_git = skip_git, .notes = notes };
	OWN(tree) struct node *root = node_new(NULL, "");
	struct stat st;

	if (!root || push(&s, root) < 0)
		return no_memory(err);
	if (fstat(dirfd, &st) < 0)
		return err_set(err, ERR_SYS, errno, "cannot look at the workspace");
	root->copy = stamp_of(&st);
	while (s.n_todo)
		if (scan_dir(&s, s.todo[--s.n_todo], err) < 0)
			return -1;
	*ret = TAKE(root);
	return 0;
}

/* --- the manifest: records in preorder, each naming its parent and followed by its own name --- */

struct header {
	char magic[16];
	uint64_t n_nodes;
};
static const char magic[16] = "agate-manifest1";

struct record {
	struct stamp copy, orig;
	uint32_t parent;	/* a record before this one */
	uint32_t flags;
	uint32_t name_len;
	uint8_t oid[20];
};

static int add_record(struct buf *b, const struct node *n)
{
	struct record r;

	memset(&r, 0, sizeof(r));
	r.copy = n->copy;
	r.orig = n->orig;
	r.parent = n->parent ? n->parent->index : 0;
	r.flags = n->flags;
	r.name_len = (uint32_t)strlen(n->name);
	memcpy(r.oid, n->oid, sizeof(r.oid));
	buf_add(b, &r, sizeof(r));
	return buf_add(b, n->name, r.name_len);
}

int manifest_save(struct node *root, int dirfd, const char *name, int replace, struct err *err)
{
	OWN(buf) struct buf b = { .max = MANIFEST_MAX };
	struct header h = { .n_nodes = 0 };

	memcpy(h.magic, magic, sizeof(h.magic));
	for (struct node *n = root; n; n = node_next(root, n))
		n->index = (uint32_t)h.n_nodes++;
	buf_add(&b, &h, sizeof(h));
	for (struct node *n = root; n; n = node_next(root, n))
		if (add_record(&b, n) < 0)
			return no_memory(err);
	if (!replace)
		return beneath_put(dirfd, name, b.data, b.len, err);
	return io_replace_file(dirfd, name, b.data, b.len, 0600, err);
}

/* The record at *@at as a node of its parent, which is among the @count of @v; NULL when damaged. */
static struct node *take_record(const struct buf *b, size_t *at, struct node **v, size_t count)
{
	char name[256];
	struct record r;
	struct node *n;

	if (b->len - *at < sizeof(r))
		return NULL;
	memcpy(&r, b->data + *at, sizeof(r));
	*at += sizeof(r);
	if (r.name_len >= sizeof(name) || b->len - *at < r.name_len ||
	    (count ? r.parent >= count || !r.name_len : r.name_len))
		return NULL;
	memcpy(name, b->data + *at, r.name_len);
	name[r.name_len] = '\0';
	*at += r.name_len;
	if (strlen(name) != r.name_len || strchr(name, '/') || is_dots(name))
		return NULL;
	/* out of order or twice the same name: walking such a list would not end */
	if (count && v[r.parent]->n_child &&
	    strcmp(v[r.parent]->child[v[r.parent]->n_child - 1]->name, name) >= 0)
		return NULL;
	n = node_new(NULL, name);
	if (!n)
		return NULL;
	n->copy = r.copy;
	n->orig = r.orig;
	n->flags = r.flags;
	memcpy(n->oid, r.oid, sizeof(n->oid));
	if (count && node_append(v[r.parent], n) < 0) {
		free(n);
		return NULL;
	}
	return n;
}

int manifest_load(int dirfd, const char *name, struct node **ret, struct err *err)
{
	OWN(buf) struct buf b = { .max = MANIFEST_MAX };
	OWN(tree) struct node *root = NULL;
	OWN(mem) struct node **v = NULL;
	struct header h = { .n_nodes = 0 };
	size_t at = sizeof(h);

	if (io_read_file(dirfd, name, b.max, &b, err) < 0)
		return -1;
	if (b.len >= sizeof(h))
		memcpy(&h, b.data, sizeof(h));
	if (memcmp(h.magic, magic, sizeof(magic)) || !h.n_nodes ||
	    h.n_nodes > b.len / sizeof(struct record))
		return err_set(err, ERR_INPUT, 0, "'%s' is damaged", name);
	v = calloc(h.n_nodes, sizeof(struct node *));
	if (!v)
		return no_memory(err);
	for (size_t i = 0; i < h.n_nodes; i++) {
		v[i] = take_record(&b, &at, v, i);
		if (!v[i])
			return err_set(err, ERR_INPUT, 0, "'%s' is damaged", name);
		root = v[0];
	}
	*ret = TAKE(root);
	return 0;
}
