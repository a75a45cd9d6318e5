/*
 * Submodules: their checkouts hold a `.git` file that points into the git
 * directory around. The private one gets the same construction at the same
 * place, and the pointers in the copy are made relative, so they hit it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/path.h"
#include "worktree/beneath.h"
#include "worktree/gitdir.h"
#include "worktree/tree.h"

#define MAX_POINTER 65536

struct module {
	struct repo repo;	/* of the checkout in the source */
	char *checkout;		/* relative to the root: "vendor/x" */
	const char *place;	/* relative to the git directory: "modules/x"; points into repo.gitdir */
};

static void own_module(struct module *m)
{
	repo_done(&m->repo);
	free(m->checkout);
}

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

static void up(struct buf *out, const char *path)
{
	buf_adds(out, "../");
	for (; *path; path++)
		if (*path == '/')
			buf_adds(out, "../");
}

/* 1 and @m filled: @dot ("x/.git") is the pointer of a checkout we carry; 0: leave it alone */
static int is_module(const struct gitdir_params *p, const char *dot, struct module *m, struct err *err)
{
	OWN(mem) char *path = path_join(p->repo->root, dot);
	OWN(mem) char *dir = path ? path_parent(path) : NULL;
	OWN(mem) char *modules = path_join(p->repo->gitdir, "modules");
	struct stat st;
	struct err e;

	if (!dir || !modules)
		return no_memory(err);
	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (repo_find(dir, &m->repo, &e) < 0) {
		if (e.code == ERR_NOMEM || strv_addf(p->notes, "'%s' leads nowhere inside: %s", dot,
						     e.msg) < 0)
			return no_memory(err);
		return 0;
	}
	if (strcmp(m->repo.root, dir) || !path_under(m->repo.gitdir, modules)) {
		if (strv_addf(p->notes, "'%s' leads nowhere inside: it belongs to a repository elsewhere",
			      dot) < 0)
			return no_memory(err);
		return 0;
	}
	m->place = m->repo.gitdir + strlen(p->repo->gitdir) + 1;
	m->checkout = strndup(dot, strlen(dot) - strlen("/.git"));
	return m->checkout ? 1 : no_memory(err);
}

/* The pointer of the copy, unless it says so already. */
static int set_pointer(const struct gitdir_params *p, int ws_fd, const char *dot, const struct module *m,
		       struct err *err)
{
	OWN(buf) struct buf want = { 0 }, have = { 0 };
	struct node *n = tree_find(p->tree, dot, strlen(dot));
	const char *name;
	OWN(fd) int dir = -1;
	struct stat st;

	buf_adds(&want, "gitdir: ");
	up(&want, m->checkout);
	if (buf_addf(&want, ".git/%s\n", m->place) < 0)
		return no_memory(err);
	if (beneath_read(ws_fd, dot, MAX_POINTER, &have, err) < 0)
		return -1;
	if (have.len == want.len && !memcmp(have.data, want.data, want.len))
		return 0;
	dir = beneath_parent(ws_fd, dot, &name);
	if (dir < 0)
		return err_set(err, ERR_SYS, errno, "cannot open '%s'", m->checkout);
	if (io_replace_file(dir, name, want.data, want.len, 0644, err) < 0)
		return -1;
	if (n && !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		n->copy = stamp_of(&st);
	return 0;
}

static int make_module(const struct gitdir_params *p, const struct module *m, struct err *err)
{
	OWN(buf) struct buf worktree = { 0 };
	OWN(fd) int fd = -1;
	struct gitdir_params inner = *p;

	/* from .git/modules/x: up over "modules/x" and ".git" */
	up(&worktree, m->place);
	buf_adds(&worktree, "../");
	if (buf_adds(&worktree, m->checkout) < 0)
		return no_memory(err);
	if (beneath_mkdirs(p->out_fd, m->place, err) < 0)
		return -1;
	fd = beneath_dir(p->out_fd, m->place);
	if (fd < 0)
		return err_set(err, ERR_SYS, errno, "cannot open '%s'", m->place);
	inner.repo = &m->repo;
	inner.out_fd = fd;
	inner.run_id = NULL;
	inner.worktree = worktree.data;
	inner.tree = tree_find(p->tree, m->checkout, strlen(m->checkout));
	return gitdir_make(&inner, NULL, err);
}

int gitdir_modules(const struct gitdir_params *params, int ws_fd, const struct strv *nested,
		   struct err *err)
{
	for (size_t i = 0; i < nested->n; i++) {
		OWN(module) struct module m = { 0 };
		int r = is_module(params, nested->v[i], &m, err);

		if (r > 0 && (gitdir_check(&m.repo, err) < 0 || make_module(params, &m, err) < 0 ||
			      set_pointer(params, ws_fd, nested->v[i], &m, err) < 0))
			return err_wrap(err, "submodule '%s'", m.checkout);
		if (r < 0)
			return -1;
	}
	return 0;
}
