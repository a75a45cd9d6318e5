#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/path.h"
#include "worktree/beneath.h"
#include "worktree/copy_file.h"
#include "worktree/libgit.h"
#include "worktree/oidset.h"
#include "worktree/remove.h"
#include "worktree/results.h"
#include "worktree/workspace.h"

#define MAX_REF 4096			/* bytes of a loose reference */
#define MAX_PACKED ((size_t)256 << 20)	/* bytes of packed-refs */
#define MAX_OBJECTS 2000000u		/* loose ones brought in */
#define MAX_BYTES ((uint64_t)16 << 30)	/* of loose objects and packs */
#define MAX_COMMIT ((size_t)8 << 20)
#define SYMBOLIC_DEPTH 5

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* --- references, by our own reading --- */

static int is_oid(const char *s, size_t len)
{
	return len == 40 && strspn(s, "0123456789abcdef") >= 40;
}

/* A reference's name that stays below refs/ whatever it says. */
static int is_ref(const char *s)
{
	return !strncmp(s, "refs/", 5) && !strstr(s, "..") && !strstr(s, "//") && strlen(s) < 1024;
}

/* Of packed-refs: "<oid> <name>". "" when it is not there. */
static int find_packed(int git_fd, const char *name, char ret[REPO_OID_SIZE], struct err *err)
{
	OWN(buf) struct buf b = { .max = MAX_PACKED + 65536 };
	struct err e;
	char *save = NULL;

	ret[0] = '\0';
	if (beneath_read(git_fd, "packed-refs", MAX_PACKED, &b, &e) < 0)
		return e.code == ERR_NOTFOUND ? 0 : err_set(err, ERR_INPUT, 0, "%s", e.msg);
	for (char *l = b.len ? strtok_r(b.data, "\n", &save) : NULL; l; l = strtok_r(NULL, "\n", &save)) {
		if (strlen(l) > 41 && l[40] == ' ' && !strcmp(l + 41, name) && is_oid(l, 40)) {
			memcpy(ret, l, 40);
			ret[40] = '\0';
			return 0;
		}
	}
	return 0;
}

/* The text of a loose one without its newline: 1 there, 0 not, -1 err. */
static int read_loose(int git_fd, const char *name, struct buf *out, struct err *err)
{
	struct err e;

	if (beneath_read(git_fd, name, MAX_REF, out, &e) < 0)
		return e.code == ERR_NOTFOUND ? 0 : err_set(err, ERR_INPUT, 0, "%s", e.msg);
	while (out->len && isspace((unsigned char)out->data[out->len - 1]))
		out->data[--out->len] = '\0';
	return 1;
}

/*
 * @name resolved. @ret_oid "" when it is unborn; @ret_last, if wanted, the last
 * reference on the way, NULL when @name holds an object's name itself.
 */
static int resolve(int git_fd, const char *name, char ret_oid[REPO_OID_SIZE], char **ret_last,
		   struct err *err)
{
	OWN(mem) char *at = strdup(name);
	OWN(mem) char *last = NULL;

	ret_oid[0] = '\0';
	for (int i = 0; at && i < SYMBOLIC_DEPTH; i++) {
		OWN(buf) struct buf b = { 0 };
		int r = read_loose(git_fd, at, &b, err);

		if (r < 0 || (!r && find_packed(git_fd, at, ret_oid, err) < 0))
			return -1;
		if (r && is_oid(b.data, b.len))
			memcpy(ret_oid, b.data, b.len + 1);
		if (!r || ret_oid[0]) {
			if (ret_last)
				*ret_last = TAKE(last);
			return 0;
		}
		if (strncmp(b.data, "ref: ", 5) || !is_ref(b.data + 5))
			return err_set(err, ERR_INPUT, 0, "the run's '%s' is no reference", at);
		free(at);
		free(last);
		at = strdup(b.data + 5);
		last = at ? strdup(at) : NULL;
	}
	return at ? err_set(err, ERR_INPUT, 0, "the run's '%s' leads in circles", name) : no_memory(err);
}

/* The run's branch; or HEAD, where only that went on. */
static int find_tip(struct results *r, struct err *err)
{
	char branch[REPO_OID_SIZE], head[REPO_OID_SIZE];
	OWN(mem) char *name = NULL;

	if (asprintf(&name, "refs/heads/%s", r->ws->branch) < 0) {
		name = NULL;
		return no_memory(err);
	}
	if (resolve(r->git_fd, name, branch, NULL, err) < 0 ||
	    resolve(r->git_fd, "HEAD", head, &r->head_ref, err) < 0)
		return -1;
	if (head[0] && strcmp(head, r->ws->base) && (!branch[0] || !strcmp(branch, r->ws->base)))
		memcpy(r->tip, head, sizeof(head));
	else
		memcpy(r->tip, branch, sizeof(branch));
	return 0;
}

/* --- objects, into a directory of ours --- */

struct intake {
	struct results *r;
	int from, to;		/* objects directories */
	struct copy_ways ways;
	size_t n;
	uint64_t bytes;
};

static int count(struct intake *in, const struct stat *st, struct err *err)
{
	in->bytes += (uint64_t)st->st_size;
	if (++in->n > MAX_OBJECTS || in->bytes > MAX_BYTES)
		return err_set(err, ERR_LIMIT, 0, "the run made too many objects to look at");
	return 0;
}

static int take_loose(struct intake *in, int from, int to, const char *name, struct err *err)
{
	struct stat st;
	OWN(fd) int src = beneath_regular(from, name, &st);
	OWN(fd) int dst = -1;
	int cloned;

	if (src < 0)
		return errno == ENOENT ? 0 : err_set(err, ERR_INPUT, errno, "cannot read the object '%s'",
						     name);
	if (count(in, &st, err) < 0)
		return -1;
	dst = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	if (dst < 0 || copy_data(&in->ways, src, &st, dst, &cloned) < 0)
		return err_set(err, ERR_SYS, errno, "cannot copy the object '%s'", name);
	return 0;
}

static int is_hex(const char *s, size_t len)
{
	return strlen(s) == len && strspn(s, "0123456789abcdef") == len;
}

static int take_fan(struct intake *in, const char *fan, struct err *err)
{
	OWN(dir) DIR *d = NULL;
	OWN(fd) int to = -1;
	int from = beneath_dir(in->from, fan);

	d = from < 0 ? NULL : fdopendir(from);
	if (!d)
		return err_set(err, ERR_INPUT, errno, "cannot read the objects of the run");
	if (mkdirat(in->to, fan, 0700) < 0 || (to = beneath_dir(in->to, fan)) < 0)
		return err_set(err, ERR_SYS, errno, "cannot make '%s'", fan);
	for (struct dirent *e; (e = readdir(d)); )
		if (is_hex(e->d_name, 38) && take_loose(in, from, to, e->d_name, err) < 0)
			return -1;
	return 0;
}

/* A pack is read through and indexed anew: its own index could say anything. */
static int take_pack(struct intake *in, int from, const char *name, struct err *err)
{
	OWN(git_indexer) git_indexer *idx = NULL;
	OWN(mem) char *room = malloc(1 << 20);
	OWN(mem) char *dir = path_join(in->r->quarantine, "pack");
	git_indexer_progress progress = { 0 };
	struct stat st;
	OWN(fd) int fd = beneath_regular(from, name, &st);
	ssize_t n;

	if (!room || !dir)
		return no_memory(err);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_set(err, ERR_INPUT, errno, "cannot read the pack '%s'",
						     name);
	if (count(in, &st, err) < 0)
		return -1;
	if (git_indexer_new(&idx, dir, 0400, in->r->source, NULL) < 0)
		return libgit_fail(err, ERR_SYS, "cannot index '%s'", name);
	while ((n = read(fd, room, 1 << 20)) > 0 || (n < 0 && errno == EINTR))
		if (n > 0 && git_indexer_append(idx, room, (size_t)n, &progress) < 0)
			return libgit_fail(err, ERR_INPUT, "the run's '%s' is damaged", name);
	if (n < 0)
		return err_set(err, ERR_SYS, errno, "cannot read '%s'", name);
	if (git_indexer_commit(idx, &progress) < 0)
		return libgit_fail(err, ERR_INPUT, "the run's '%s' is damaged", name);
	return 0;
}

static int take_packs(struct intake *in, struct err *err)
{
	OWN(dir) DIR *d = NULL;
	int from = beneath_dir(in->from, "pack");

	if (from < 0)
		return errno == ENOENT ? 0 : err_set(err, ERR_INPUT, errno,
						     "cannot read the packs of the run");
	d = fdopendir(from);
	if (!d)
		return no_memory(err);
	for (struct dirent *e; (e = readdir(d)); ) {
		size_t len = strlen(e->d_name);

		if (len > 10 && !strncmp(e->d_name, "pack-", 5) && !strcmp(e->d_name + len - 5, ".pack") &&
		    take_pack(in, from, e->d_name, err) < 0)
			return -1;
	}
	return 0;
}

static int take_all(struct intake *in, struct err *err)
{
	OWN(dir) DIR *d = fdopendir(fcntl(in->from, F_DUPFD_CLOEXEC, 3));

	if (!d)
		return no_memory(err);
	for (struct dirent *e; (e = readdir(d)); )
		if (is_hex(e->d_name, 2) && take_fan(in, e->d_name, err) < 0)
			return -1;
	return take_packs(in, err);
}

static int make_quarantine(struct results *r, struct err *err)
{
	if (asprintf(&r->quarantine, "%s/quarantine-XXXXXX", r->ws->run_dir) < 0) {
		r->quarantine = NULL;
		return no_memory(err);
	}
	if (!mkdtemp(r->quarantine)) {
		err_set(err, ERR_SYS, errno, "cannot make '%s'", r->quarantine);
		free(TAKE(r->quarantine));
		return -1;
	}
	return 0;
}

static int add_backends(git_odb *odb, const char *dir)
{
	git_odb_backend *loose = NULL, *pack = NULL;

	if (git_odb_backend_loose(&loose, dir, -1, 0, 0, 0) < 0 || git_odb_add_backend(odb, loose, 1) < 0 ||
	    git_odb_backend_pack(&pack, dir) < 0)
		return -1;
	return git_odb_add_backend(odb, pack, 2);
}

static int bring_in(struct results *r, struct err *err)
{
	struct intake in = { .r = r, .from = -1, .to = -1 };
	OWN(fd) int from = -1;
	OWN(fd) int to = -1;
	OWN(mem) char *dir = path_join(r->ws->source_common_dir, "objects");

	from = in.from = beneath_dir(r->git_fd, "objects");
	if (from < 0)
		return err_set(err, ERR_INPUT, errno, "cannot read the objects of the run");
	if (!dir)
		return no_memory(err);
	if (make_quarantine(r, err) < 0)
		return -1;
	to = in.to = open(r->quarantine, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (to < 0 || mkdirat(to, "pack", 0700) < 0)
		return err_set(err, ERR_SYS, errno, "cannot use '%s'", r->quarantine);
	if (take_all(&in, err) < 0)
		return -1;
	if (git_odb_new(&r->all) < 0 || add_backends(r->all, r->quarantine) < 0 ||
	    git_odb_add_disk_alternate(r->all, dir) < 0)
		return libgit_fail(err, ERR_INPUT, "cannot read the objects of the run");
	return 0;
}

static int has_tip(git_odb *odb, const char *tip)
{
	git_oid oid;

	return !git_oid_fromstr(&oid, tip) && git_odb_exists(odb, &oid);
}

int results_open(const struct workspace *ws, struct results *ret, struct err *err)
{
	OWN(results) struct results r = { .ws = ws, .git_fd = -1 };
	OWN(mem) char *objects = path_join(ws->source_common_dir, "objects");

	if (!objects)
		return no_memory(err);
	if (libgit_ready(err) < 0)
		return -1;
	r.git_fd = open(ws->gitdir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r.git_fd < 0)
		return err_set(err, ERR_SYS, errno, "cannot open '%s'", ws->gitdir);
	if (find_tip(&r, err) < 0)
		return -1;
	if (git_odb_open(&r.source, objects) < 0)
		return libgit_fail(err, ERR_INPUT, "cannot read '%s'", objects);
	if (r.tip[0] && strcmp(r.tip, ws->base) && !has_tip(r.source, r.tip) && bring_in(&r, err) < 0)
		return -1;
	*ret = r;
	r = (struct results){ .git_fd = -1 };
	return 0;
}

void results_done(struct results *r)
{
	OWN(mem) char *parent = NULL;
	struct err unused;
	int fd;

	git_odb_free(r->all);
	git_odb_free(r->source);
	if (r->quarantine) {
		parent = path_parent(r->quarantine);
		fd = parent ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
		if (fd >= 0)
			remove_tree(fd, path_base(r->quarantine), &unused);
		own_fd(&fd);
	}
	free(r->quarantine);
	free(r->wanted);
	free(r->head_ref);
	own_fd(&r->git_fd);
	*r = (struct results){ .git_fd = -1 };
}

/* --- the commits --- */

static int text(char **ret, const char *s)
{
	*ret = strdup(s ? s : "");
	return *ret ? 0 : -1;
}

static int describe(git_commit *c, struct change_commit *ret)
{
	const git_signature *who = git_commit_author(c);

	git_oid_tostr(ret->oid, sizeof(ret->oid), git_commit_id(c));
	ret->time_s = who->when.time;
	ret->parents = git_commit_parentcount(c);
	if (asprintf(&ret->author, "%s <%s>", who->name, who->email) < 0) {
		ret->author = NULL;
		return -1;
	}
	return text(&ret->subject, git_commit_summary(c));
}

/* Commits still to list, newest first taken. */
struct pending {
	git_commit *v[256];
	size_t n;
	struct oidset seen;
};

static void own_pending(struct pending *p)
{
	for (size_t i = 0; i < p->n; i++)
		git_commit_free(p->v[i]);
	oidset_done(&p->seen);
}

static git_commit *newest(struct pending *p)
{
	size_t best = 0;
	git_commit *c;

	for (size_t i = 1; i < p->n; i++)
		if (git_commit_time(p->v[i]) > git_commit_time(p->v[best]))
			best = i;
	c = p->v[best];
	p->v[best] = p->v[--p->n];
	return c;
}

/* Add @oid unless the original has it or it was added before. */
static int want(struct results *r, git_repository *repo, struct pending *p, const git_oid *oid,
		struct err *err)
{
	size_t size;
	git_object_t type;
	int is_new = oidset_add(&p->seen, oid->id);

	if (is_new < 0)
		return no_memory(err);
	if (!is_new || git_odb_exists(r->source, oid))
		return 0;
	if (p->n == ARRAY_LEN(p->v))
		return err_set(err, ERR_LIMIT, 0, "the run's history has too many branches at once");
	if (git_odb_read_header(&size, &type, r->all, oid) < 0)
		return libgit_fail(err, ERR_INPUT, "the run's commit %s is not there", git_oid_tostr_s(oid));
	if (type != GIT_OBJECT_COMMIT || size > MAX_COMMIT)
		return err_set(err, ERR_INPUT, 0, "%s is no commit", git_oid_tostr_s(oid));
	if (git_commit_lookup(&p->v[p->n], repo, oid) < 0)
		return libgit_fail(err, ERR_INPUT, "cannot read the run's commit %s", git_oid_tostr_s(oid));
	p->n++;
	return 0;
}

static int list(struct results *r, git_repository *repo, struct change_set *set, struct err *err)
{
	OWN(pending) struct pending p = { .n = 0 };
	git_oid tip;

	if (git_oid_fromstr(&tip, r->tip) < 0 || want(r, repo, &p, &tip, err) < 0)
		return -1;
	while (p.n) {
		OWN(git_commit) git_commit *c = newest(&p);
		struct change_commit *v;

		if (set->n_commits == CHANGE_MAX_COMMITS) {
			set->commits_cut = 1;
			return 0;
		}
		v = reallocarray(set->commits, set->n_commits + 1, sizeof(*v));
		if (!v)
			return no_memory(err);
		set->commits = v;
		v[set->n_commits] = (struct change_commit){ 0 };
		if (describe(c, &v[set->n_commits++]) < 0)
			return no_memory(err);
		for (unsigned int i = 0; i < git_commit_parentcount(c); i++)
			if (want(r, repo, &p, git_commit_parent_id(c, i), err) < 0)
				return -1;
	}
	return 0;
}

int results_commits(struct results *r, struct change_set *set, struct err *err)
{
	OWN(git_repository) git_repository *repo = NULL;

	if (!r->all)
		return 0;
	if (git_repository_wrap_odb(&repo, r->all) < 0)
		return libgit_fail(err, ERR_NOMEM, "cannot read commits");
	return list(r, repo, set, err);
}
