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
#include "worktree/gitconfig.h"
#include "worktree/gitdir.h"
#include "worktree/gitindex.h"
#include "worktree/libgit.h"
#include "worktree/objects.h"
#include "worktree/tree.h"

#define MAX_INDEX ((size_t)2 << 30)
#define MAX_SMALL ((size_t)16 << 20)	/* bytes of a file carried as it is */
#define MAX_EXCLUDES (1 << 20)

/* One private git directory in the making. */
struct making {
	const struct gitdir_params *p;
	git_repository *lg;
	int own_fd, common_fd;		/* the source's two directories */
	struct strv refs;		/* "name oid" */
	char *branch;			/* short; NULL without a run */
	int64_t index_ns;		/* when the source's index was written */
};

static void own_making(struct making *m)
{
	git_repository_free(m->lg);
	own_fd(&m->own_fd);
	own_fd(&m->common_fd);
	strv_done(&m->refs);
	free(m->branch);
}

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* --- states in the middle of something --- */

static const struct {
	const char *name, *what;
} refused[] = {
	{ "rebase-merge", "a rebase" },
	{ "rebase-apply", "a rebase or `git am`" },
	{ "sequencer", "a sequence of cherry-picks or reverts" },
	{ "BISECT_LOG", "a bisect" },
};

/* Of the working tree: small files that make up a merge, pick or revert, and hints for people. */
static const char *const carried_own[] = {
	"MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "AUTO_MERGE",
	"SQUASH_MSG", "ORIG_HEAD", "info/sparse-checkout",
};

/* Of the repository. */
static const char *const carried_common[] = {
	"info/attributes", "shallow", "logs/refs/stash",
};

int gitdir_check(const struct repo *repo, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		OWN(mem) char *p = path_join(repo->gitdir, refused[i].name);
		struct stat st;

		if (!p)
			return no_memory(err);
		if (!lstat(p, &st)) {
			err_set(err, ERR_INPUT, 0, "the repository '%s' is in the middle of %s", repo->root,
				refused[i].what);
			return err_hint(err, "finish or abort it first; `git status` says how");
		}
	}
	return 0;
}

/* --- steps --- */

static int carry(struct making *m, int from, const char *name, struct err *err)
{
	OWN(buf) struct buf b = { 0 };
	struct err e;

	if (beneath_read(from, name, MAX_SMALL, &b, &e) < 0) {
		if (e.code != ERR_NOTFOUND && strv_addf(m->p->notes, "git's '%s' was left out: %s", name,
							e.msg) < 0)
			return no_memory(err);
		return 0;
	}
	return beneath_put(m->p->out_fd, name, b.data, b.len, err);
}

static int make_dirs(struct making *m, struct err *err)
{
	static const char *const dirs[] = {
		"hooks", "info", "logs", "objects/info", "objects/pack", "refs/heads", "refs/tags",
	};

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		if (beneath_mkdirs(m->p->out_fd, dirs[i], err) < 0)
			return -1;
	return 0;
}

/*
 * The user's own list of ignored files, which a private home does not have.
 * Only where the user's configuration or git's default has it: a repository's
 * could name any file of the host.
 */
static int read_user_excludes(const struct making *m, struct buf *out, struct err *err)
{
	const char *home = getenv("HOME"), *xdg = getenv("XDG_CONFIG_HOME");
	OWN(git_config) git_config *c = NULL;
	OWN(git_buf) git_buf b = { 0 };
	OWN(mem) char *path = NULL;
	struct err unused;

	if (!home || home[0] != '/')
		return 0;
	if (libgit_config(m->p->repo, m->lg, CONFIG_USER, &c, err) < 0)
		return -1;
	if (!git_config_get_string_buf(&b, c, "core.excludesfile"))
		path = path_expand(b.ptr, home, "/");
	else if (xdg && xdg[0] == '/')
		path = path_join(xdg, "git/ignore");
	else
		path = path_join(home, ".config/git/ignore");
	if (!path)
		return no_memory(err);
	if (io_read_file(AT_FDCWD, path, MAX_EXCLUDES, out, &unused) < 0)
		buf_clear(out);
	return 0;
}

static int write_excludes(struct making *m, struct err *err)
{
	OWN(buf) struct buf list = { 0 }, own = { 0 };
	struct err e;

	if (read_user_excludes(m, &list, err) < 0)
		return -1;
	if (list.len && list.data[list.len - 1] != '\n')
		buf_addc(&list, '\n');
	if (beneath_read(m->common_fd, "info/exclude", MAX_SMALL, &own, &e) < 0) {
		buf_clear(&own);
		if (e.code != ERR_NOTFOUND && strv_addf(m->p->notes, "git's 'info/exclude' was left out: %s",
							e.msg) < 0)
			return no_memory(err);
	}
	/* the repository's come last: they decide */
	if (buf_add(&list, own.data ? own.data : "", own.len) < 0)
		return no_memory(err);
	return beneath_put(m->p->out_fd, "info/exclude", list.data, list.len, err);
}

static int carry_files(struct making *m, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(carried_own); i++)
		if (carry(m, m->own_fd, carried_own[i], err) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_LEN(carried_common); i++)
		if (carry(m, m->common_fd, carried_common[i], err) < 0)
			return -1;
	return 0;
}

static int write_config(struct making *m, struct err *err)
{
	OWN(buf) struct buf b = { 0 };

	if (gitconfig_build(m->p->repo, m->lg, m->p->worktree, &b, err) < 0)
		return -1;
	return beneath_put(m->p->out_fd, "config", b.data, b.len, err);
}

static int write_alternates(struct making *m, struct err *err)
{
	OWN(mem) char *dir = path_join(m->p->repo->common_dir, "objects");
	OWN(mem) char *lines = NULL;

	if (!dir)
		return no_memory(err);
	if (objects_find(dir, m->p->objects, &lines, err) < 0)
		return -1;
	return beneath_put(m->p->out_fd, "objects/info/alternates", lines, strlen(lines), err);
}

/* --- references --- */

/* Belonging to one worktree and its unfinished business: git-worktree(1), REFS. */
static int is_private_ref(const char *name)
{
	return !strncmp(name, "refs/bisect/", 12) || !strncmp(name, "refs/worktree/", 14) ||
	       !strncmp(name, "refs/rewritten/", 15);
}

static int take_ref(struct making *m, git_reference *ref, struct err *err)
{
	const char *name = git_reference_name(ref);
	OWN(buf) struct buf b = { 0 };
	const git_oid *oid;

	if (strncmp(name, "refs/", 5) || is_private_ref(name))
		return 0;
	if (git_reference_type(ref) == GIT_REFERENCE_SYMBOLIC) {
		if (buf_addf(&b, "ref: %s\n", git_reference_symbolic_target(ref)) < 0)
			return no_memory(err);
		return beneath_put(m->p->out_fd, name, b.data, b.len, err);
	}
	oid = git_reference_target(ref);
	return oid && strv_addf(&m->refs, "%s %s", name, git_oid_tostr_s(oid)) < 0 ? no_memory(err) : 0;
}

static int read_refs(struct making *m, struct err *err)
{
	OWN(git_reference_iterator) git_reference_iterator *it = NULL;
	int rc = 0;

	if (git_reference_iterator_new(&it, m->lg) < 0)
		return libgit_fail(err, ERR_INPUT, "cannot list the references of '%s'", m->p->repo->root);
	while (rc != GIT_ITEROVER) {
		OWN(git_reference) git_reference *ref = NULL;

		rc = git_reference_next(&ref, it);
		if (!rc && take_ref(m, ref, err) < 0)
			return -1;
		if (rc < 0 && rc != GIT_ITEROVER)
			return libgit_fail(err, ERR_INPUT, "cannot read a reference of '%s'",
					   m->p->repo->root);
	}
	strv_sort_unique(&m->refs);
	return 0;
}

/* A reference that is a directory of the other's name: git cannot have both. */
static int stands_in_the_way(const struct making *m, const char *branch)
{
	size_t len = strlen(branch);

	for (size_t i = 0; i < m->refs.n; i++) {
		const char *name = m->refs.v[i] + strlen("refs/heads/");
		size_t n;

		if (strncmp(m->refs.v[i], "refs/heads/", strlen("refs/heads/")))
			continue;
		n = strcspn(name, " ");
		if ((n < len && !strncmp(name, branch, n) && branch[n] == '/') ||
		    (n > len && !strncmp(name, branch, len) && name[len] == '/'))
			return 1;
	}
	return 0;
}

static int name_branch(struct making *m, struct err *err)
{
	OWN(mem) char *full = NULL;
	int valid = 0;

	for (const char *sep = "/"; sep; sep = *sep == '/' ? "-" : NULL) {
		free(m->branch);
		if (asprintf(&m->branch, "agate%s%s", sep, m->p->run_id) < 0) {
			m->branch = NULL;
			return no_memory(err);
		}
		if (!stands_in_the_way(m, m->branch))
			break;
	}
	if (asprintf(&full, "refs/heads/%s", m->branch) < 0) {
		full = NULL;
		return no_memory(err);
	}
	if (git_reference_name_is_valid(&valid, full) < 0 || !valid || stands_in_the_way(m, m->branch))
		return err_set(err, ERR_USAGE, 0, "'%s' cannot be a branch's name", m->branch);
	return 0;
}

static int write_packed_refs(struct making *m, struct err *err)
{
	OWN(buf) struct buf b = { .max = (size_t)1 << 30 };

	buf_adds(&b, "# pack-refs with: sorted \n");
	for (size_t i = 0; i < m->refs.n; i++) {
		const char *name = m->refs.v[i];
		size_t n = strcspn(name, " ");

		/* the branch of a run of the same name, applied once: this one starts anew */
		if (m->branch && n == strlen(m->branch) + 11 && !strncmp(name + 11, m->branch, n - 11) &&
		    !strncmp(name, "refs/heads/", 11))
			continue;
		buf_addf(&b, "%s %.*s\n", name + n + 1, (int)n, name);
	}
	return b.failed ? no_memory(err) : beneath_put(m->p->out_fd, "packed-refs", b.data, b.len, err);
}

static int write_head(struct making *m, struct err *err)
{
	const struct repo *r = m->p->repo;
	OWN(buf) struct buf head = { 0 }, tip = { 0 }, ref = { 0 };

	if (m->branch)
		buf_addf(&head, "ref: refs/heads/%s\n", m->branch);
	else if (r->branch)
		buf_addf(&head, "ref: refs/heads/%s\n", r->branch);
	else
		buf_addf(&head, "%s\n", r->base);
	if (beneath_put(m->p->out_fd, "HEAD", head.data, head.len, err) < 0)
		return -1;
	if (!m->branch || !r->base[0])
		return 0;
	buf_addf(&tip, "%s\n", r->base);
	buf_addf(&ref, "refs/heads/%s", m->branch);
	return beneath_put(m->p->out_fd, ref.data, tip.data, tip.len, err);
}

static int write_refs(struct making *m, struct err *err)
{
	if (read_refs(m, err) < 0 || (m->p->run_id && name_branch(m, err) < 0) ||
	    write_packed_refs(m, err) < 0)
		return -1;
	return write_head(m, err);
}

/* --- the index --- */

static void fix_entry(void *cookie, const struct gitindex_entry *e)
{
	struct making *m = cookie;
	struct node *n;

	if (!e->is_plain)
		return;
	n = tree_find(m->p->tree, e->path, e->path_len);
	if (!n || !(S_ISREG(n->orig.mode) || S_ISLNK(n->orig.mode)) ||
	    !gitindex_is_clean(e->stat, &n->orig, m->index_ns))
		return;
	memcpy(n->oid, e->oid, sizeof(n->oid));
	n->flags |= NODE_HAS_OID;
	gitindex_set(e->stat, &n->copy);
}

/* A split index: the file it shares must come along under its own name. */
static int carry_shared(struct making *m, const struct buf *index, struct err *err)
{
	const uint8_t *end = (const uint8_t *)index->data + index->len;
	OWN(buf) struct buf name = { 0 };
	const uint8_t *p = memmem(index->data, index->len, "link", 4);

	for (; p && end - p >= 28; p = memmem(p + 1, (size_t)(end - p - 1), "link", 4)) {
		buf_clear(&name);
		buf_adds(&name, "sharedindex.");
		for (int i = 0; i < 20; i++)
			buf_addf(&name, "%02x", p[8 + i]);
		if (carry(m, m->own_fd, name.data, err) < 0)
			return -1;
	}
	return 0;
}

static int write_index(struct making *m, struct err *err)
{
	OWN(buf) struct buf old = { .max = MAX_INDEX }, new = { .max = MAX_INDEX };
	enum gitindex_result result = GITINDEX_UNKNOWN;
	OWN(fd) int fd = -1;
	struct stat st;

	fd = beneath_regular(m->own_fd, "index", &st);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_set(err, ERR_INPUT, errno, "cannot read the index of '%s'", m->p->repo->root);
	if (beneath_read(m->own_fd, "index", MAX_INDEX, &old, err) < 0)
		return -1;
	m->index_ns = stamp_of(&st).mtime_ns;
	if (m->p->tree)
		result = gitindex_rewrite((uint8_t *)old.data, old.len, fix_entry, m, &new);
	switch (result) {
	case GITINDEX_OK:
		return beneath_put(m->p->out_fd, "index", new.data, new.len, err);
	case GITINDEX_NOMEM:
		return no_memory(err);
	case GITINDEX_DAMAGED:
		return err_set(err, ERR_INPUT, 0, "the index of '%s' is damaged", m->p->repo->root);
	case GITINDEX_UNKNOWN:
		break;
	}
	/* some entries may be rewritten by now, and the checksum no longer fits: read it again */
	buf_clear(&old);
	if (beneath_read(m->own_fd, "index", MAX_INDEX, &old, err) < 0 || carry_shared(m, &old, err) < 0)
		return -1;
	return beneath_put(m->p->out_fd, "index", old.data, old.len, err);
}

int gitdir_make(const struct gitdir_params *params, char **ret_branch, struct err *err)
{
	static int (*const steps[])(struct making *m, struct err *err) = {
		make_dirs, write_config, write_alternates, write_refs, carry_files,
		write_excludes, write_index,
	};
	OWN(making) struct making m = { .p = params, .own_fd = -1, .common_fd = -1 };

	if (libgit_open(params->repo, &m.lg, err) < 0)
		return -1;
	m.own_fd = open(params->repo->gitdir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	m.common_fd = open(params->repo->common_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (m.own_fd < 0 || m.common_fd < 0)
		return err_set(err, ERR_SYS, errno, "cannot open '%s'", params->repo->gitdir);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		if (steps[i](&m, err) < 0)
			return -1;
	if (ret_branch)
		*ret_branch = TAKE(m.branch);
	return 0;
}
