#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "worktree/beneath.h"
#include "worktree/copy.h"
#include "worktree/gitdir.h"
#include "worktree/objects.h"
#include "worktree/remove.h"
#include "worktree/tree.h"
#include "worktree/workspace.h"
#include "worktree/workspace_file.h"

static const char *const strategy_names[] = {
	"auto", "copy", "reflink", "in-place", "snapshot", "overlay", "worktree",
};
_Static_assert(ARRAY_LEN(strategy_names) == WORKSPACE_NUM, "a name for each strategy");

const char *workspace_strategy_name(enum workspace_strategy s)
{
	return s < WORKSPACE_NUM ? strategy_names[s] : "unknown";
}

int workspace_strategy_parse(const char *word, enum workspace_strategy *ret)
{
	for (size_t i = 0; i < WORKSPACE_NUM; i++) {
		if (!strcmp(word, strategy_names[i])) {
			*ret = (enum workspace_strategy)i;
			return 0;
		}
	}
	return -1;
}

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* A workspace in the making; each step finds what the ones before it left. */
struct making {
	const struct workspace_params *p;
	struct repo repo;
	int src_fd, run_fd, ws_fd;
	struct copy_result copy;
	struct workspace ws;
};

static void own_making(struct making *m)
{
	repo_done(&m->repo);
	own_fd(&m->src_fd);
	own_fd(&m->run_fd);
	own_fd(&m->ws_fd);
	copy_result_done(&m->copy);
	workspace_done(&m->ws);
}

static int set(char **field, const char *value, struct err *err)
{
	*field = value ? strdup(value) : NULL;
	return value && !*field ? no_memory(err) : 0;
}

/* --- steps --- */

static int is_id(const char *s)
{
	return s && *s && s[0] != '.' && s[0] != '-' && strlen(s) <= 128 &&
	       s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")] == '\0';
}

static int check_params(struct making *m, struct err *err)
{
	enum workspace_strategy s = m->p->strategy;

	if (!is_id(m->p->run_id))
		return err_set(err, ERR_USAGE, 0, "'%s' cannot be a run's name",
			       m->p->run_id ? m->p->run_id : "");
	if (!path_is_clean(m->p->run_dir))
		return err_set(err, ERR_USAGE, 0, "'%s' is not an absolute path", m->p->run_dir);
	if (s == WORKSPACE_SNAPSHOT || s == WORKSPACE_OVERLAY || s == WORKSPACE_WORKTREE) {
		err_set(err, ERR_USAGE, 0, "workspaces by %s are not built yet", workspace_strategy_name(s));
		return err_hint(err, "use --workspace auto, copy or reflink");
	}
	return s < WORKSPACE_NUM ? 0 : err_set(err, ERR_USAGE, 0, "no such strategy");
}

static int open_all(struct making *m, struct err *err)
{
	if (m->p->repo && repo_copy(m->p->repo, &m->repo) < 0)
		return no_memory(err);
	if (!m->p->repo && repo_find(m->p->source, &m->repo, err) < 0)
		return -1;
	m->src_fd = open(m->repo.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->src_fd < 0)
		return err_set(err, ERR_SYS, errno, "cannot open '%s'", m->repo.root);
	m->run_fd = open(m->p->run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->run_fd < 0)
		return err_set(err, ERR_SYS, errno, "cannot open '%s'", m->p->run_dir);
	if (!faccessat(m->run_fd, "workspace.json", F_OK, AT_SYMLINK_NOFOLLOW))
		return err_set(err, ERR_BUSY, 0, "'%s' holds a workspace already", m->p->run_dir);
	return 0;
}

/* What is known before a file is touched. */
static int note_source(struct making *m, struct err *err)
{
	struct workspace *ws = &m->ws;

	ws->strategy = m->p->strategy;
	ws->head = m->repo.head;
	memcpy(ws->base, m->repo.base, sizeof(ws->base));
	if (set(&ws->run_id, m->p->run_id, err) < 0 || set(&ws->run_dir, m->p->run_dir, err) < 0 ||
	    set(&ws->original, m->repo.root, err) < 0 ||
	    set(&ws->source_gitdir, m->repo.gitdir, err) < 0 ||
	    set(&ws->source_common_dir, m->repo.common_dir, err) < 0)
		return -1;
	return set(&ws->source_branch, m->repo.branch, err);
}

static int check_source(struct making *m, struct err *err)
{
	if (m->p->strategy == WORKSPACE_IN_PLACE)
		return 0;
	if (!strcmp(m->repo.root, "/")) {
		err_set(err, ERR_USAGE, 0, "the root directory cannot be copied");
		return err_hint(err, "name a directory with --repo");
	}
	return m->repo.gitdir ? gitdir_check(&m->repo, err) : 0;
}

/* All that a creation makes; what else is in the run's directory is not ours. */
static int clear(int run_fd, struct err *err)
{
	static const char *const trees[] = { "ws.tmp", "git.tmp", "ws", "git" };
	static const char *const files[] = { "workspace.json", "manifest", "empty" };

	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (unlinkat(run_fd, files[i], 0) < 0 && errno != ENOENT)
			return err_set(err, ERR_SYS, errno, "cannot remove '%s'", files[i]);
	for (size_t i = 0; i < ARRAY_LEN(trees); i++)
		if (remove_tree(run_fd, trees[i], err) < 0)
			return -1;
	return 0;
}

/* Leftovers of one that died go first; then the empty directories. */
static int make_dirs(struct making *m, struct err *err)
{
	if (m->p->strategy == WORKSPACE_IN_PLACE)
		return 0;
	if (clear(m->run_fd, err) < 0)
		return -1;
	if (mkdirat(m->run_fd, "ws.tmp", 0700) < 0)
		return err_set(err, ERR_SYS, errno, "cannot make '%s/ws.tmp'", m->p->run_dir);
	m->ws_fd = beneath_dir(m->run_fd, "ws.tmp");
	if (m->ws_fd < 0)
		return err_set(err, ERR_SYS, errno, "cannot open '%s/ws.tmp'", m->p->run_dir);
	if (!m->repo.gitdir)
		return 0;
	/* the mount point for the private git directory */
	if (mkdirat(m->ws_fd, ".git", 0755) < 0 || mkdirat(m->run_fd, "git.tmp", 0700) < 0)
		return err_set(err, ERR_SYS, errno, "cannot make the git directory");
	return 0;
}

/* Our own directories, should they lie below the source: never part of a copy. */
struct own_dirs {
	struct file_id *v;
	size_t n;
};

static void own_own_dirs(struct own_dirs *o)
{
	free(o->v);
}

static int find_own(const struct making *m, struct own_dirs *o, struct err *err)
{
	size_t max = 1 + (m->p->exclude ? m->p->exclude->n : 0);
	struct stat st;

	o->v = calloc(max, sizeof(*o->v));
	if (!o->v || fstat(m->run_fd, &st) < 0)
		return no_memory(err);
	o->v[o->n++] = (struct file_id){ st.st_dev, st.st_ino };
	for (size_t i = 0; i + 1 < max; i++)
		if (!stat(m->p->exclude->v[i], &st))
			o->v[o->n++] = (struct file_id){ st.st_dev, st.st_ino };
	return 0;
}

static int copy_files(struct making *m, struct err *err)
{
	static const enum copy_sharing sharing[WORKSPACE_NUM] = {
		[WORKSPACE_AUTO] = COPY_MAY_SHARE,
		[WORKSPACE_COPY] = COPY_NO_SHARE,
		[WORKSPACE_REFLINK] = COPY_MUST_SHARE,
	};
	OWN(own_dirs) struct own_dirs own = { 0 };
	struct copy_params p = {
		.src_fd = m->src_fd, .dst_fd = m->ws_fd, .skip_git = m->repo.gitdir != NULL,
		.sharing = sharing[m->p->strategy],
	};

	if (find_own(m, &own, err) < 0)
		return -1;
	p.exclude = own.v;
	p.n_exclude = own.n;
	return copy_tree(&p, &m->copy, err);
}

/* In place: nothing is copied, but the caller wants to know of checkouts inside. */
static int list_nested(struct making *m, struct err *err)
{
	OWN(tree) struct node *root = NULL;
	OWN(buf) struct buf path = { 0 };

	if (tree_scan(m->src_fd, 1, &m->copy.notes, &root, err) < 0)
		return -1;
	for (const struct node *n = root; n; n = node_next(root, n)) {
		m->copy.files++;
		if (strcmp(n->name, ".git"))
			continue;
		if (node_path(n, &path) < 0 || strv_add(&m->copy.nested, path.data) < 0)
			return no_memory(err);
	}
	return 0;
}

static int fill_tree(struct making *m, struct err *err)
{
	return m->p->strategy == WORKSPACE_IN_PLACE ? list_nested(m, err) : copy_files(m, err);
}

static int fill_gitdir(struct making *m, struct err *err)
{
	OWN(fd) int fd = -1;
	struct gitdir_params p = {
		.repo = &m->repo, .run_id = m->p->run_id, .tree = m->copy.root,
		.objects = &m->ws.objects, .notes = &m->copy.notes,
	};

	if (!m->repo.gitdir || m->p->strategy == WORKSPACE_IN_PLACE)
		return 0;
	fd = beneath_dir(m->run_fd, "git.tmp");
	if (fd < 0)
		return err_set(err, ERR_SYS, errno, "cannot open '%s/git.tmp'", m->p->run_dir);
	p.out_fd = fd;
	if (gitdir_make(&p, &m->ws.branch, err) < 0)
		return -1;
	return gitdir_modules(&p, m->ws_fd, &m->copy.nested, err);
}

/* The user may commit while we copy; then the copy is of two moments, and says so. */
static int look_again(struct making *m, struct err *err)
{
	char now[REPO_OID_SIZE];
	struct err e;

	if (!m->repo.gitdir || m->p->strategy == WORKSPACE_IN_PLACE)
		return 0;
	if (!repo_base(&m->repo, now, &e) && !strcmp(now, m->repo.base))
		return 0;
	if (strv_add(&m->copy.notes, "the repository's HEAD moved while it was copied") < 0)
		return no_memory(err);
	return 0;
}

static int add_bind(struct workspace *ws, char *host, char *guest)
{
	struct workspace_bind *v = NULL;

	if (host && guest)
		v = reallocarray(ws->binds, ws->n_binds + 1, sizeof(*v));
	if (!v) {
		free(host);
		free(guest);
		return -1;
	}
	ws->binds = v;
	v[ws->n_binds++] = (struct workspace_bind){ host, guest };
	return 0;
}

static char *guest_objects(size_t i, const char *rest)
{
	char *s;

	return asprintf(&s, OBJECTS_GUEST "/%zu%s", i, rest) < 0 ? NULL : s;
}

/*
 * The store's own list of alternates names host paths: inside, git would
 * complain about each. An empty file covers it.
 */
static int list_binds(struct making *m, struct err *err)
{
	struct workspace *ws = &m->ws;
	OWN(fd) int fd = -1;

	for (size_t i = 0; i < ws->objects.n; i++) {
		if (add_bind(ws, strdup(ws->objects.v[i]), guest_objects(i, "")) < 0)
			return no_memory(err);
		if (!objects_has_alternates(ws->objects.v[i]))
			continue;
		fd = fd < 0 ? openat(m->run_fd, "empty", O_WRONLY | O_CREAT | O_CLOEXEC, 0444) : fd;
		if (fd < 0)
			return err_set(err, ERR_SYS, errno, "cannot make '%s/empty'", m->p->run_dir);
		if (add_bind(ws, path_join(m->p->run_dir, "empty"), guest_objects(i, "/info/alternates")) < 0)
			return no_memory(err);
	}
	return 0;
}

static int set_paths(struct making *m, struct err *err)
{
	struct workspace *ws = &m->ws;

	if (m->p->strategy == WORKSPACE_IN_PLACE)
		return set(&ws->path, m->repo.root, err);
	ws->path = path_join(m->p->run_dir, "ws");
	if (!ws->path)
		return no_memory(err);
	if (!m->repo.gitdir)
		return 0;
	ws->gitdir = path_join(m->p->run_dir, "git");
	ws->guest_gitdir = path_join(m->repo.root, ".git");
	return ws->gitdir && ws->guest_gitdir ? 0 : no_memory(err);
}

static const char *why(const struct making *m)
{
	if (m->p->strategy == WORKSPACE_IN_PLACE)
		return "asked for: the directory itself, nothing is kept apart";
	if (m->p->strategy != WORKSPACE_AUTO)
		return "asked for";
	if (!m->copy.cloned)
		return "the file system cannot share blocks with the run's directory";
	return "the file system shares blocks until they are written";
}

static int note_result(struct making *m, struct err *err)
{
	struct workspace *ws = &m->ws;

	if (ws->strategy != WORKSPACE_IN_PLACE)
		ws->strategy = m->copy.cloned ? WORKSPACE_REFLINK : WORKSPACE_COPY;
	ws->files = m->copy.files;
	ws->bytes = m->copy.bytes;
	ws->cloned = m->copy.cloned;
	ws->nested = m->copy.nested;
	ws->notes = m->copy.notes;
	ws->notes_dropped = m->copy.notes_dropped;
	m->copy.nested = m->copy.notes = (struct strv){ 0 };
	return set(&ws->reason, why(m), err);
}

static int save_manifest(struct making *m, struct err *err)
{
	return m->copy.root ? manifest_save(m->copy.root, m->run_fd, "manifest", 0, err) : 0;
}

/* From here on a reader finds whole trees; workspace.json makes it official. */
static int rename_all(struct making *m, struct err *err)
{
	if (m->p->strategy == WORKSPACE_IN_PLACE)
		return 0;
	if (renameat(m->run_fd, "ws.tmp", m->run_fd, "ws") < 0 ||
	    (m->repo.gitdir && renameat(m->run_fd, "git.tmp", m->run_fd, "git") < 0))
		return err_set(err, ERR_SYS, errno, "cannot finish the workspace in '%s'", m->p->run_dir);
	return 0;
}

static void undo(struct making *m)
{
	struct err unused;

	if (m->run_fd >= 0)
		clear(m->run_fd, &unused);
}

int workspace_create(const struct workspace_params *params, struct workspace *ret, struct err *err)
{
	static const struct {
		int (*run)(struct making *m, struct err *err);
		int writes;
	} steps[] = {
		{ check_params, 0 }, { open_all, 0 }, { note_source, 0 }, { check_source, 0 },
		{ make_dirs, 1 }, { fill_tree, 1 }, { fill_gitdir, 1 }, { look_again, 1 },
		{ list_binds, 1 }, { set_paths, 1 }, { note_result, 1 }, { save_manifest, 1 },
		{ rename_all, 1 },
	};
	OWN(making) struct making m = { .p = params, .src_fd = -1, .run_fd = -1, .ws_fd = -1 };
	int64_t start = clock_mono_ms();
	int r = 0;
	size_t i;

	for (i = 0; !r && i < ARRAY_LEN(steps); i++)
		r = steps[i].run(&m, err);
	m.ws.ms = clock_mono_ms() - start;
	if (!r)
		r = workspace_save(&m.ws, m.run_fd, err);
	if (r < 0) {
		if (steps[i - 1].writes)
			undo(&m);
		return err_wrap(err, "cannot make a workspace of '%s'", params->source);
	}
	*ret = m.ws;
	m.ws = (struct workspace){ 0 };
	return 0;
}

/* Renamed aside, so that whoever looks finds all of it or none; the trash is ours alone to name. */
int workspace_discard(const char *run_dir, struct err *err)
{
	OWN(mem) char *parent = path_parent(run_dir);
	OWN(mem) char *trash = NULL;
	OWN(fd) int fd = -1;

	if (!parent)
		return no_memory(err);
	if (!path_is_clean(run_dir) || !run_dir[1])
		return err_set(err, ERR_USAGE, 0, "'%s' is not a run's directory", run_dir);
	fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_set(err, ERR_SYS, errno, "cannot open '%s'", parent);
	if (asprintf(&trash, ".trash-%s", path_base(run_dir)) < 0) {
		trash = NULL;
		return no_memory(err);
	}
	/* an earlier discard that died half way */
	if (remove_tree(fd, trash, err) < 0)
		return -1;
	if (renameat(fd, path_base(run_dir), fd, trash) < 0)
		return errno == ENOENT ? 0 : err_set(err, ERR_SYS, errno, "cannot discard '%s'", run_dir);
	return remove_tree(fd, trash, err);
}

void workspace_done(struct workspace *ws)
{
	char **const strings[] = {
		&ws->run_id, &ws->run_dir, &ws->path, &ws->original, &ws->source_gitdir,
		&ws->source_common_dir, &ws->gitdir, &ws->guest_gitdir, &ws->reason,
		&ws->source_branch, &ws->branch,
	};

	for (size_t i = 0; i < ARRAY_LEN(strings); i++)
		free(*strings[i]);
	for (size_t i = 0; i < ws->n_binds; i++) {
		free(ws->binds[i].host);
		free(ws->binds[i].guest);
	}
	free(ws->binds);
	strv_done(&ws->objects);
	strv_done(&ws->nested);
	strv_done(&ws->notes);
	*ws = (struct workspace){ 0 };
}
