/*
 * Bringing a run's commits into the original: every object is looked at before
 * the first is written, and hashed anew as it is written.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/path.h"
#include "worktree/beneath.h"
#include "worktree/dotgit.h"
#include "worktree/libgit.h"
#include "worktree/oidset.h"
#include "worktree/owner.h"
#include "worktree/results.h"
#include "worktree/workspace.h"

#define MAX_WANTED 2000000u
#define MAX_OBJECT ((size_t)1 << 30)
#define MAX_REFUSED 20

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* --- looking --- */

/* r->wanted grows as objects are found and is worked off from its start. */
struct walk {
	struct results *r;
	git_repository *repo;
	struct oidset seen;
	size_t cap;
	struct strv *refused;
	int tolerates_missing;	/* a partial clone lacks objects by design */
};

static void own_walk(struct walk *w)
{
	git_repository_free(w->repo);
	oidset_done(&w->seen);
}

static int add(struct walk *w, const git_oid *oid, struct err *err)
{
	struct results *r = w->r;
	int is_new = oidset_add(&w->seen, oid->id);

	if (is_new < 0)
		return no_memory(err);
	if (!is_new || git_odb_exists(r->source, oid))
		return 0;
	if (r->n_wanted == MAX_WANTED)
		return err_set(err, ERR_LIMIT, 0, "the run made more than %u objects", MAX_WANTED);
	if (r->n_wanted == w->cap) {
		size_t cap = w->cap ? w->cap * 2 : 256;
		void *v = reallocarray(r->wanted, cap, sizeof(*r->wanted));

		if (!v)
			return no_memory(err);
		r->wanted = v;
		w->cap = cap;
	}
	memcpy(r->wanted[r->n_wanted++], oid->id, 20);
	return 0;
}

static int refuse(struct walk *w, const git_oid *tree, const char *name, struct err *err)
{
	if (w->refused->n < MAX_REFUSED &&
	    strv_addf(w->refused, "%s: a name no repository may hold (in tree %s)", name,
		      git_oid_tostr_s(tree)) < 0)
		return no_memory(err);
	return 0;
}

static int is_bad(const char *name)
{
	return !*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, "..") ||
	       dotgit_name(name, strlen(name));
}

static int look_at_tree(struct walk *w, const git_oid *oid, struct err *err)
{
	OWN(git_tree) git_tree *t = NULL;

	if (git_tree_lookup(&t, w->repo, oid) < 0)
		return libgit_fail(err, ERR_INPUT, "cannot read the run's tree %s", git_oid_tostr_s(oid));
	for (size_t i = 0; i < git_tree_entrycount(t); i++) {
		const git_tree_entry *e = git_tree_entry_byindex(t, i);

		if (is_bad(git_tree_entry_name(e)) && refuse(w, oid, git_tree_entry_name(e), err) < 0)
			return -1;
		if (git_tree_entry_filemode(e) != GIT_FILEMODE_COMMIT &&
		    add(w, git_tree_entry_id(e), err) < 0)
			return -1;
	}
	return 0;
}

static int look_at_commit(struct walk *w, const git_oid *oid, struct err *err)
{
	OWN(git_commit) git_commit *c = NULL;

	if (git_commit_lookup(&c, w->repo, oid) < 0)
		return libgit_fail(err, ERR_INPUT, "cannot read the run's commit %s", git_oid_tostr_s(oid));
	if (add(w, git_commit_tree_id(c), err) < 0)
		return -1;
	for (unsigned int i = 0; i < git_commit_parentcount(c); i++)
		if (add(w, git_commit_parent_id(c, i), err) < 0)
			return -1;
	return 0;
}

/* 1: keep it among the wanted; 0: it is missing, and may be. */
static int look_at(struct walk *w, const git_oid *oid, struct err *err)
{
	size_t size;
	git_object_t type;
	int r = 0;

	if (git_odb_read_header(&size, &type, w->r->all, oid) < 0) {
		if (w->tolerates_missing)
			return 0;
		return libgit_fail(err, ERR_INPUT, "the run's object %s is not there", git_oid_tostr_s(oid));
	}
	if (size > MAX_OBJECT)
		return err_set(err, ERR_LIMIT, 0, "the run's object %s is larger than %zu bytes",
			       git_oid_tostr_s(oid), MAX_OBJECT);
	if (type == GIT_OBJECT_COMMIT)
		r = look_at_commit(w, oid, err);
	else if (type == GIT_OBJECT_TREE)
		r = look_at_tree(w, oid, err);
	return r < 0 ? -1 : 1;
}

static int is_partial(const struct workspace *ws)
{
	struct repo repo = { .root = ws->original, .gitdir = ws->source_gitdir,
			     .common_dir = ws->source_common_dir };
	OWN(git_config) git_config *c = NULL;
	OWN(git_buf) git_buf b = { 0 };
	struct err unused;

	return !libgit_config(&repo, NULL, CONFIG_REPO, &c, &unused) &&
	       !git_config_get_string_buf(&b, c, "extensions.partialclone");
}

int results_check(struct results *r, struct strv *refused, struct err *err)
{
	OWN(walk) struct walk w = { .r = r, .refused = refused };
	size_t kept = 0;
	git_oid oid;

	if (!r->all)
		return 0;
	if (git_repository_wrap_odb(&w.repo, r->all) < 0 || git_oid_fromstr(&oid, r->tip) < 0)
		return libgit_fail(err, ERR_NOMEM, "cannot read the run's objects");
	w.tolerates_missing = is_partial(r->ws);
	if (add(&w, &oid, err) < 0)
		return -1;
	for (size_t i = 0; i < r->n_wanted; i++) {
		int there;

		memcpy(oid.id, r->wanted[i], 20);
		there = look_at(&w, &oid, err);
		if (there < 0)
			return -1;
		if (there)
			memmove(r->wanted[kept++], r->wanted[i], 20);
	}
	r->n_wanted = kept;
	return 0;
}

/* --- writing --- */

/* Does some worktree of the original have @ref checked out? Moving it would pull its files from under it. */
static int holds(int fd, const char *head, const char *ref)
{
	OWN(buf) struct buf b = { 0 };
	struct err unused;

	if (beneath_read(fd, head, 4096, &b, &unused) < 0 || strncmp(b.data, "ref: ", 5))
		return 0;
	b.data[strcspn(b.data, "\n")] = '\0';
	return !strcmp(b.data + 5, ref);
}

static int is_checked_out(const char *common, const char *ref)
{
	OWN(fd) int fd = open(common, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	OWN(dir) DIR *d = NULL;
	int inner;

	if (fd < 0 || holds(fd, "HEAD", ref))
		return 1;
	inner = beneath_dir(fd, "worktrees");
	if (inner < 0)
		return 0;
	d = fdopendir(inner);
	for (struct dirent *e; d && (e = readdir(d)); ) {
		OWN(mem) char *head = e->d_name[0] == '.' ? NULL : path_join(e->d_name, "HEAD");

		if (head && holds(inner, head + 1, ref))
			return 1;
	}
	return 0;
}

static int write_one(struct results *r, const git_oid *oid, const struct stat *owner, struct err *err)
{
	OWN(git_odb_object) git_odb_object *obj = NULL;
	git_oid made;
	int rc;

	if (git_odb_read(&obj, r->all, oid) < 0)
		return libgit_fail(err, ERR_INPUT, "cannot read the run's object %s", git_oid_tostr_s(oid));
	owner_begin(owner);
	rc = git_odb_write(&made, r->source, git_odb_object_data(obj), git_odb_object_size(obj),
			   git_odb_object_type(obj));
	owner_end();
	if (rc < 0)
		return libgit_fail(err, ERR_SYS, "cannot write object %s into the original",
				   git_oid_tostr_s(oid));
	if (!git_oid_equal(&made, oid))
		return err_set(err, ERR_INPUT, 0, "the run's object %s is not what its name says",
			       git_oid_tostr_s(oid));
	return 0;
}

static int write_objects(struct results *r, struct stat *ret_owner, struct err *err)
{
	OWN(mem) char *dir = path_join(r->ws->source_common_dir, "objects");
	OWN(fd) int fd = -1;
	git_oid oid;

	if (!dir)
		return no_memory(err);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, ret_owner) < 0)
		return err_set(err, ERR_SYS, errno, "cannot open '%s'", dir);
	/* what is needed comes before what needs it: a crash leaves no dangling commit */
	for (size_t i = r->n_wanted; i--; ) {
		memcpy(oid.id, r->wanted[i], 20);
		if (write_one(r, &oid, ret_owner, err) < 0)
			return -1;
	}
	return r->n_wanted && syncfs(fd) < 0 ? err_set(err, ERR_SYS, errno, "cannot write to '%s'", dir) : 0;
}

static int move_branch(git_repository *repo, const char *name, const git_oid *tip, const struct stat *owner,
		       struct err *err)
{
	OWN(git_reference) git_reference *ref = NULL;
	git_oid old;
	int rc = git_reference_name_to_id(&old, repo, name);

	if (!rc && git_oid_equal(&old, tip))
		return 0;
	if (!rc && git_graph_descendant_of(repo, tip, &old) != 1) {
		err_set(err, ERR_BUSY, 0, "the branch '%s' holds commits the run does not have", name);
		return err_hint(err, "rename or delete it first");
	}
	owner_begin(owner);
	rc = git_reference_create(&ref, repo, name, tip, 1, "agate: apply");
	owner_end();
	return rc < 0 ? libgit_fail(err, ERR_SYS, "cannot set the branch '%s'", name) : 0;
}

int results_import(struct results *r, char **ret_ref, struct err *err)
{
	struct repo where = { .root = r->ws->original };
	OWN(git_repository) git_repository *repo = NULL;
	OWN(mem) char *name = NULL;
	struct stat owner;
	git_oid tip;

	if (!r->tip[0] || !strcmp(r->tip, r->ws->base))
		return 0;
	if (asprintf(&name, "refs/heads/%s", r->ws->branch) < 0) {
		name = NULL;
		return no_memory(err);
	}
	if (is_checked_out(r->ws->source_common_dir, name)) {
		err_set(err, ERR_BUSY, 0, "the branch '%s' is checked out", name);
		return err_hint(err, "check out another branch in the original first");
	}
	if (git_oid_fromstr(&tip, r->tip) < 0 || libgit_open(&where, &repo, err) < 0 ||
	    write_objects(r, &owner, err) < 0 || move_branch(repo, name, &tip, &owner, err) < 0)
		return -1;
	*ret_ref = TAKE(name);
	return 0;
}
