/*
 * Two passes over the changes: the first looks at every path in the original
 * and decides, the second writes. Between them only the user could interfere.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "worktree/beneath.h"
#include "worktree/change.h"
#include "worktree/change_file.h"
#include "worktree/copy_file.h"
#include "worktree/dotgit.h"
#include "worktree/origin.h"
#include "worktree/owner.h"
#include "worktree/results.h"
#include "worktree/tree.h"
#include "worktree/workspace.h"

enum plan {
	PLAN_DO,
	PLAN_SAME,	/* the original is so already */
	PLAN_SKIP,
};

struct apply {
	const struct workspace *ws;
	const struct change_set *set;
	struct apply_result *result;
	struct origin origin;
	int ws_fd;
	struct node *manifest;
	enum plan *plan;	/* one for each change */
	struct copy_ways ways;
	struct err *err;
};

static void own_apply(struct apply *a)
{
	origin_done(&a->origin);
	own_fd(&a->ws_fd);
	tree_free(a->manifest);
	free(a->plan);
}

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

static int told(struct apply *a, struct strv *list, const char *path, const char *why)
{
	int r = why ? strv_addf(list, "%s: %s", path, why) : strv_add(list, path);

	return r < 0 ? no_memory(a->err) : 0;
}

/* --- first pass: links --- */

/*
 * Does a link at @path with @target stay in the tree? Read as text first, with
 * ".." only at its start, since text cannot know what a link in between does;
 * then as the kernel sees it in the workspace, never leaving it.
 */
static int link_stays(struct apply *a, const char *path, const char *target)
{
	OWN(mem) char *dir = path_parent(path);
	OWN(mem) char *from = NULL, *full = NULL;
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	const char *rest = target;
	OWN(fd) int fd = -1;

	if (!dir || asprintf(&from, "%s/%s", a->ws->original, strchr(path, '/') ? dir : "") < 0)
		return 0;
	while (!strncmp(rest, "../", 3) || !strcmp(rest, ".."))
		rest += rest[2] ? 3 : 2;
	if (strstr(rest, "/../") || (strlen(rest) > 2 && !strcmp(rest + strlen(rest) - 3, "/..")))
		return 0;
	full = path_join(from, target);
	if (!full || !path_under(full, a->ws->original) || dotgit_path(full + strlen(a->ws->original)))
		return 0;
	rest = full + strlen(a->ws->original);
	rest += *rest == '/';
	fd = (int)syscall(SYS_openat2, a->ws_fd, *rest ? rest : ".", &how, sizeof(how));
	return fd >= 0 || errno == ENOENT || errno == ENOTDIR;
}

static int check_link(struct apply *a, const struct change *c)
{
	OWN(buf) struct buf target = { 0 };

	if (beneath_link(a->ws_fd, c->path, &target) < 0)
		return told(a, &a->result->refused, c->path, "the link cannot be read any more");
	if (!link_stays(a, c->path, target.data))
		return told(a, &a->result->refused, c->path, "the link leads out of the tree");
	return 0;
}

/* --- first pass: conflicts --- */

/* Is what the original has at @c->path already what the run made of it? */
static int is_same_already(struct apply *a, const struct change *c, const struct stat *now)
{
	OWN(buf) struct buf x = { 0 }, y = { 0 };
	OWN(fd) int old = -1;
	OWN(fd) int new = -1;
	char p[65536], q[65536];
	ssize_t n, m;

	if ((now->st_mode & S_IFMT) != (c->new_mode & S_IFMT))
		return 0;
	if (!S_ISLNK(c->new_mode) && ((now->st_mode ^ c->new_mode) & 0777))
		return 0;
	if (S_ISDIR(c->new_mode))
		return 1;
	if (S_ISLNK(c->new_mode))
		return !beneath_link(a->ws_fd, c->path, &x) &&
		       !beneath_link(a->origin.root_fd, c->path, &y) &&
		       x.len == y.len && !memcmp(x.data, y.data, x.len);
	if (!S_ISREG(c->new_mode) || now->st_size != c->new_size)
		return 0;
	old = beneath_regular(a->origin.root_fd, c->path, NULL);
	new = beneath_regular(a->ws_fd, c->path, NULL);
	if (old < 0 || new < 0)
		return 0;
	do {
		n = read(old, p, sizeof(p));
		m = read(new, q, sizeof(q));
		if (n < 0 || n != m || memcmp(p, q, (size_t)n))
			return 0;
	} while (n);
	return 1;
}

/* A directory that goes away must hold nothing the run did not know of. */
static int holds_strangers(struct apply *a, const char *path, const struct node *n)
{
	int fd = beneath_dir(a->origin.root_fd, path), r = 0;
	OWN(dir) DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d)
		return errno != ENOENT;
	for (struct dirent *e; !r && (e = readdir(d)); )
		r = strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    !node_child(n, e->d_name, strlen(e->d_name));
	return r;
}

/* The original still has what the run started from. -1 err */
static int is_untouched(struct apply *a, const struct change *c, const struct node *n, const struct stat *now)
{
	const char *name;
	OWN(fd) int dir = -1;

	if (c->kind == CHANGE_MODE && ((now->st_mode ^ n->orig.mode) & 0777))
		return 0;
	if (origin_unmoved(&a->origin, n, c->path))
		return !S_ISDIR(now->st_mode) || c->new_mode || !holds_strangers(a, c->path, n);
	/* other times, but perhaps the same bytes: a checkout there and back */
	if (((now->st_mode ^ n->orig.mode) & (S_IFMT | 0777)) || S_ISDIR(now->st_mode))
		return 0;
	dir = beneath_parent(a->origin.root_fd, c->path, &name);
	return dir < 0 ? 0 : origin_same(&a->origin, n, c->path, dir, name, a->err);
}

/* May the entry's directory be written? Its owner decides; root may always. */
static int parent_writable(struct apply *a, const struct change *c)
{
	const char *name;
	OWN(fd) int dir = beneath_parent(a->origin.root_fd, c->path, &name);

	return dir < 0 ? errno == ENOENT || errno == ENOTDIR : !faccessat(dir, ".", W_OK | X_OK, AT_EACCESS);
}

static int by_path(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* The directory must be there, or be one the run added. */
static int parent_is_there(struct apply *a, size_t i)
{
	const struct change *c = &a->set->v[i];
	const char *slash = strrchr(c->path, '/');
	size_t len = slash ? (size_t)(slash - c->path) : 0;
	OWN(mem) char *dir = strndup(c->path, len);
	const struct change *above;
	struct stat st;

	if (!len || !dir)
		return !len;
	above = bsearch(&(struct change){ .path = dir }, a->set->v, i, sizeof(*above), by_path);
	if (above && S_ISDIR(above->new_mode) && !S_ISDIR(above->old_mode))
		return 1;
	return !beneath_stat(a->origin.root_fd, dir, &st) && S_ISDIR(st.st_mode);
}

static int check_place(struct apply *a, size_t i, const struct stat *now)
{
	const struct change *c = &a->set->v[i];
	const struct node *n = tree_find(a->manifest, c->path, strlen(c->path));
	int ok;

	if (c->kind == CHANGE_ADDED || !n)
		ok = !now && c->new_mode && parent_is_there(a, i);
	else
		ok = now ? is_untouched(a, c, n, now) : 0;
	if (ok < 0)
		return -1;
	if (!ok)
		return told(a, &a->result->conflicts, c->path, NULL);
	if (parent_writable(a, c))
		return 0;
	return told(a, &a->result->refused, c->path, "its directory in the original cannot be written");
}

static int check_one(struct apply *a, size_t i)
{
	const struct change *c = &a->set->v[i];
	struct stat st;
	int is_there;

	if (dotgit_path(c->path))
		return told(a, &a->result->refused, c->path, "git metadata");
	if (c->new_mode && !S_ISREG(c->new_mode) && !S_ISDIR(c->new_mode) && !S_ISLNK(c->new_mode)) {
		a->plan[i] = PLAN_SKIP;
		return told(a, &a->result->skipped, c->path, "neither file, directory nor link");
	}
	is_there = !beneath_stat(a->origin.root_fd, c->path, &st);
	if (!is_there && errno != ENOENT && errno != ENOTDIR)
		return told(a, &a->result->conflicts, c->path, NULL);
	if (is_there ? c->new_mode && is_same_already(a, c, &st) : !c->new_mode) {
		a->plan[i] = PLAN_SAME;
		a->result->n_same++;
		return 0;
	}
	if (S_ISLNK(c->new_mode) && c->kind != CHANGE_MODE && check_link(a, c) < 0)
		return -1;
	return check_place(a, i, is_there ? &st : NULL);
}

static int check_commits(struct apply *a, struct results *r)
{
	if (!a->ws->gitdir)
		return 0;
	if (a->set->commits_problem)
		return told(a, &a->result->refused, "commits", a->set->commits_problem);
	if (results_open(a->ws, r, a->err) < 0)
		return -1;
	return results_check(r, &a->result->refused, a->err);
}

/* --- second pass --- */

/* The name a new file has until it is whole; nobody else makes such names. */
static void temp_name(char ret[64])
{
	static unsigned int n;

	snprintf(ret, 64, ".agate-%d-%u.tmp", (int)getpid(), n++);
}

/* As root, what is replaced keeps its owner and what is new gets its directory's. */
static void like_what(int dir, const char *name, struct stat *ret)
{
	if (fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) < 0 && fstatat(dir, ".", ret, 0) < 0)
		*ret = (struct stat){ 0 };
}

/*
 * What the manifest says becomes what was just done, so that it is no change
 * any more. @copy is how the workspace's entry looked before it was read:
 * should the run have changed it since, it is a change again.
 */
static int remember(struct apply *a, const struct change *c, const struct stat *copy)
{
	struct node *n = tree_find(a->manifest, c->path, strlen(c->path));
	const char *slash = strrchr(c->path, '/');
	struct node *dir = tree_find(a->manifest, c->path, slash ? (size_t)(slash - c->path) : 0);
	struct stat orig;

	if (!c->new_mode) {
		if (n)
			node_remove(n);
		return 0;
	}
	if (beneath_stat(a->origin.root_fd, c->path, &orig) < 0)
		return 0;	/* gone again: stays a change */
	if (n && S_ISDIR(n->copy.mode) && !S_ISDIR(copy->st_mode)) {
		node_remove(n);
		n = NULL;
	}
	if (!n && dir) {
		n = node_new(dir, slash ? slash + 1 : c->path);
		if (!n || node_insert(dir, n) < 0) {
			free(n);
			return no_memory(a->err);
		}
	}
	if (!n)
		return 0;
	n->copy = stamp_of(copy);
	n->orig = stamp_of(&orig);
	n->flags = 0;
	return 0;
}

/* The same for what was not read, as it looks now. */
static int remember_now(struct apply *a, const struct change *c)
{
	struct stat copy;

	if (c->new_mode && beneath_stat(a->ws_fd, c->path, &copy) < 0)
		return 0;
	return remember(a, c, &copy);
}

static int write_file(struct apply *a, const struct change *c, int dir, const char *name)
{
	struct stat st, like;
	OWN(fd) int src = beneath_regular(a->ws_fd, c->path, &st);
	OWN(fd) int dst = -1;
	char tmp[64];
	int cloned, r;

	if (src < 0)
		return -1;
	like_what(dir, name, &like);
	temp_name(tmp);
	owner_begin(&like);
	dst = openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	owner_end();
	if (dst < 0)
		return -1;
	r = copy_data(&a->ways, src, &st, dst, &cloned);
	if (!r)
		copy_xattrs(&a->ways, src, dst);
	if (!r && !fchmod(dst, c->new_mode & 0777) && !renameat(dir, tmp, dir, name))
		return remember(a, c, &st);
	r = errno;
	unlinkat(dir, tmp, 0);
	errno = r;
	return -1;
}

static int write_link(struct apply *a, const struct change *c, int dir, const char *name)
{
	OWN(buf) struct buf target = { 0 };
	struct stat like;
	char tmp[64];
	int r;

	if (beneath_link(a->ws_fd, c->path, &target) < 0)
		return -1;
	/* looked at again: the run may still be going on */
	if (!link_stays(a, c->path, target.data)) {
		errno = EXDEV;
		return -1;
	}
	like_what(dir, name, &like);
	temp_name(tmp);
	owner_begin(&like);
	r = symlinkat(target.data, dir, tmp);
	owner_end();
	if (r < 0)
		return -1;
	if (!renameat(dir, tmp, dir, name))
		return 0;
	r = errno;
	unlinkat(dir, tmp, 0);
	errno = r;
	return -1;
}

/* Its own mode comes last: it may not let us in. */
static int write_dir(int dir, const char *name)
{
	struct stat like;
	int r;

	like_what(dir, name, &like);
	owner_begin(&like);
	r = mkdirat(dir, name, 0700);
	owner_end();
	return r;
}

static int set_mode(int dir, const char *name, mode_t mode)
{
	OWN(fd) int fd = beneath_open(dir, name, O_PATH | O_NOFOLLOW, 0);
	char self[32];

	if (fd < 0)
		return -1;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return chmod(self, mode & 0777);
}

static int is_gone_first(const struct change *c)
{
	return !c->new_mode || c->kind == CHANGE_TYPE;
}

/* Deepest first: the list has parents before children. */
static int remove_old(struct apply *a)
{
	for (size_t i = a->set->n; i--; ) {
		const struct change *c = &a->set->v[i];
		const char *name;
		OWN(fd) int dir = -1;

		if (a->plan[i] != PLAN_DO || !is_gone_first(c))
			continue;
		dir = beneath_parent(a->origin.root_fd, c->path, &name);
		if (dir < 0 || unlinkat(dir, name, S_ISDIR(c->old_mode) ? AT_REMOVEDIR : 0) < 0)
			return err_set(a->err, ERR_SYS, errno, "cannot remove '%s'", c->path);
		if (c->new_mode)
			continue;
		a->result->n_applied++;
		if (remember_now(a, c) < 0)
			return -1;
	}
	return 0;
}

static int write_one(struct apply *a, const struct change *c)
{
	const char *name;
	OWN(fd) int dir = beneath_parent(a->origin.root_fd, c->path, &name);
	int r;

	if (dir < 0)
		return err_set(a->err, ERR_SYS, errno, "cannot open the directory of '%s'", c->path);
	if (c->kind == CHANGE_MODE)
		r = S_ISDIR(c->new_mode) ? 0 : set_mode(dir, name, c->new_mode);
	else if (S_ISDIR(c->new_mode))
		r = write_dir(dir, name);
	else if (S_ISLNK(c->new_mode))
		r = write_link(a, c, dir, name);
	else
		r = write_file(a, c, dir, name);
	if (r < 0)
		return err_set(a->err, ERR_SYS, errno, "cannot write '%s'", c->path);
	a->result->n_applied++;
	return S_ISREG(c->new_mode) && c->kind != CHANGE_MODE ? 0 : remember_now(a, c);
}

/* Parents first; directories get their modes at the end, deepest first. */
static int write_new(struct apply *a)
{
	for (size_t i = 0; i < a->set->n; i++)
		if (a->plan[i] == PLAN_DO && a->set->v[i].new_mode && write_one(a, &a->set->v[i]) < 0)
			return -1;
	for (size_t i = a->set->n; i--; ) {
		const struct change *c = &a->set->v[i];
		const char *name;
		OWN(fd) int dir = -1;

		if (a->plan[i] != PLAN_DO || !S_ISDIR(c->new_mode))
			continue;
		dir = beneath_parent(a->origin.root_fd, c->path, &name);
		if (dir < 0 || set_mode(dir, name, c->new_mode) < 0)
			return err_set(a->err, ERR_SYS, errno, "cannot set the mode of '%s'", c->path);
	}
	return 0;
}

/* Those the original had already are no change any more either. */
static int remember_same(struct apply *a)
{
	for (size_t i = 0; i < a->set->n; i++)
		if (a->plan[i] == PLAN_SAME && remember_now(a, &a->set->v[i]) < 0)
			return -1;
	return 0;
}

static int save(struct apply *a, struct err *err)
{
	OWN(fd) int run = open(a->ws->run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (run < 0)
		return err_set(err, ERR_SYS, errno, "cannot open '%s'", a->ws->run_dir);
	return manifest_save(a->manifest, run, "manifest", 1, err);
}

static int write_all(struct apply *a)
{
	struct err unsaved;
	int r = remember_same(a);

	if (!r)
		r = remove_old(a);
	if (!r)
		r = write_new(a);
	/* also after a failure: what was done is done */
	if (save(a, &unsaved) < 0 && !r) {
		*a->err = unsaved;
		r = -1;
	}
	return r;
}

int change_apply(const struct workspace *ws, const struct change_set *set, struct apply_result *ret,
		 struct err *err)
{
	OWN(apply) struct apply a = {
		.ws = ws, .set = set, .result = ret, .origin.root_fd = -1, .ws_fd = -1, .err = err,
	};
	OWN(results) struct results commits = { .git_fd = -1 };

	*ret = (struct apply_result){ 0 };
	a.plan = calloc(set->n + 1, sizeof(*a.plan));
	if (!a.plan)
		return no_memory(err);
	if (change_may_compare(ws, err) < 0 || change_manifest_load(ws, &a.manifest, err) < 0 ||
	    origin_open(ws, &a.origin, err) < 0 || (a.ws_fd = change_open_tree(ws, err)) < 0)
		return -1;
	for (size_t i = 0; i < set->n; i++)
		if (check_one(&a, i) < 0)
			return -1;
	if (check_commits(&a, &commits) < 0)
		return -1;
	if (ret->conflicts.n || ret->refused.n)
		return 0;
	if (ws->gitdir && results_import(&commits, &ret->ref, err) < 0)
		return -1;
	ret->n_objects = ret->ref ? commits.n_wanted : 0;
	if (write_all(&a) < 0)
		return -1;
	ret->is_applied = 1;
	return 0;
}

void apply_result_done(struct apply_result *r)
{
	strv_done(&r->conflicts);
	strv_done(&r->refused);
	strv_done(&r->skipped);
	free(r->ref);
	*r = (struct apply_result){ 0 };
}
