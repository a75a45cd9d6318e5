#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "worktree/beneath.h"
#include "worktree/libgit.h"
#include "worktree/repo.h"

#define MAX_POINTER 65536	/* bytes of a `.git` file; git's own bound is lower */

static const char *const head_names[] = { "none", "branch", "detached", "unborn" };
_Static_assert(ARRAY_LEN(head_names) == HEAD_NUM, "a name for each kind of HEAD");

const char *head_kind_name(enum head_kind kind)
{
	return kind < HEAD_NUM ? head_names[kind] : "unknown";
}

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* --- looking upwards --- */

/* A file "gitdir: PATH" at @dir/.git: the directory it names, resolved. */
static int follow_pointer(const char *dir, char **ret, struct err *err)
{
	OWN(fd) int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	OWN(buf) struct buf b = { 0 };
	OWN(mem) char *path = NULL;
	char *real;

	if (fd < 0)
		return err_set(err, ERR_SYS, errno, "cannot open '%s'", dir);
	if (beneath_read(fd, ".git", MAX_POINTER, &b, err) < 0)
		return err_wrap(err, "'%s'", dir);
	while (b.len && (b.data[b.len - 1] == '\n' || b.data[b.len - 1] == '\r'))
		b.data[--b.len] = '\0';
	if (b.len < 9 || strncmp(b.data, "gitdir: ", 8) || strlen(b.data) != b.len)
		return err_set(err, ERR_INPUT, 0,
			       "'%s/.git' is a file but does not say where the repository is", dir);
	path = b.data[8] == '/' ? strdup(b.data + 8) : NULL;
	if (!path && asprintf(&path, "%s/%s", dir, b.data + 8) < 0)
		path = NULL;
	if (!path)
		return no_memory(err);
	real = realpath(path, NULL);
	if (!real) {
		err_set(err, ERR_INPUT, errno, "'%s/.git' points to '%s'", dir, b.data + 8);
		return err_hint(err, "if the repository was moved, `git worktree repair` mends the pointer");
	}
	*ret = real;
	return 0;
}

static int has(const char *dir, const char *name)
{
	OWN(mem) char *p = path_join(dir, name);
	struct stat st;

	return p && !lstat(p, &st);
}

/*
 * Is there a repository at @dir? 1: yes, *ret_gitdir is its directory; 0: no;
 * -1: there should be, but cannot be used.
 */
static int look_at(const char *dir, char **ret_gitdir, int *ret_linked, struct err *err)
{
	OWN(mem) char *dot = path_join(dir, ".git");
	OWN(mem) char *real = NULL;
	struct stat st;

	if (!dot)
		return no_memory(err);
	if (stat(dot, &st) < 0)
		return 0;
	if (S_ISDIR(st.st_mode)) {
		real = realpath(dot, NULL);
		*ret_linked = 0;
	} else if (S_ISREG(st.st_mode)) {
		if (follow_pointer(dir, &real, err) < 0)
			return -1;
		*ret_linked = 1;
		if (!has(real, "HEAD"))
			return err_set(err, ERR_INPUT, 0, "'%s' points to '%s', which is no repository", dot,
				       real);
	}
	if (!real || !has(real, "HEAD"))
		return 0;	/* git skips such a directory too */
	*ret_gitdir = TAKE(real);
	return 1;
}

/* May the `.git` of @dir, a parent of where we started, decide for us? */
static int trusted_parent(const char *dir, const struct stat *start)
{
	OWN(mem) char *dot = path_join(dir, ".git");
	struct stat st;

	if (!dot || lstat(dot, &st) < 0)
		return 0;
	return !geteuid() || st.st_uid == geteuid() || st.st_uid == start->st_uid;
}

/* From r->root upwards; where a repository is found, r->root becomes its top. */
static int discover(struct repo *r, struct err *err)
{
	const char *start = r->root;
	OWN(mem) char *at = strdup(start);
	struct stat first, st;

	if (!at)
		return no_memory(err);
	if (stat(start, &first) < 0)
		return err_set(err, ERR_SYS, errno, "cannot look at '%s'", start);
	for (;;) {
		char *up;
		int found;

		if (!strcmp(at, start) || trusted_parent(at, &first)) {
			found = look_at(at, &r->gitdir, &r->is_linked, err);
			if (found < 0)
				return -1;
			if (found)
				break;
		}
		if (!at[1])
			return 0;
		up = path_parent(at);
		free(at);
		at = up;
		if (!at)
			return no_memory(err);
		if (stat(at, &st) < 0 || st.st_dev != first.st_dev)
			return 0;
	}
	free(r->root);
	r->root = TAKE(at);
	return 0;
}

/* --- what was found --- */

static int find_common(struct repo *r, struct err *err)
{
	OWN(fd) int fd = open(r->gitdir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	OWN(buf) struct buf b = { 0 };
	OWN(mem) char *path = NULL;
	struct err unused;

	if (fd < 0)
		return err_set(err, ERR_SYS, errno, "cannot open '%s'", r->gitdir);
	if (beneath_read(fd, "commondir", MAX_POINTER, &b, &unused) < 0) {
		r->common_dir = strdup(r->gitdir);
		return r->common_dir ? 0 : no_memory(err);
	}
	b.data[strcspn(b.data, "\n")] = '\0';
	path = b.data[0] == '/' ? strdup(b.data) : NULL;
	if (!path && asprintf(&path, "%s/%s", r->gitdir, b.data) < 0)
		path = NULL;
	r->common_dir = path ? realpath(path, NULL) : NULL;
	if (!r->common_dir)
		return err_set(err, ERR_INPUT, errno, "'%s/commondir' points to '%s'", r->gitdir, b.data);
	return 0;
}

/* gitrepository-layout(5), "extensions": what must be understood before anything is read. */
static int check_extension(const char *name, const char *value, struct err *err)
{
	static const char *const harmless[] = {
		"noop", "noop-v1", "preciousobjects", "partialclone", "worktreeconfig", "relativeworktrees",
	};

	if (!strcmp(name, "objectformat") && strcasecmp(value, "sha1"))
		return err_set(err, ERR_INPUT, 0,
			       "the repository uses %s object names, which are not supported yet", value);
	if (!strcmp(name, "refstorage") && strcasecmp(value, "files"))
		return err_set(err, ERR_INPUT, 0,
			       "the repository keeps its references as '%s', which is not supported yet", value);
	if (!strcmp(name, "objectformat") || !strcmp(name, "refstorage"))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
		if (!strcmp(name, harmless[i]))
			return 0;
	return err_set(err, ERR_INPUT, 0, "the repository uses the unknown extension '%s'", name);
}

/* libgit2 opens these and would wait at a FIFO for ever. */
static int check_files(const struct repo *r, struct err *err)
{
	const struct {
		const char *dir, *name;
	} files[] = {
		{ r->common_dir, "config" }, { r->gitdir, "config.worktree" },
		{ r->gitdir, "HEAD" }, { r->common_dir, "packed-refs" },
	};

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		OWN(mem) char *p = path_join(files[i].dir, files[i].name);
		struct stat st;

		if (!p)
			return no_memory(err);
		if (!stat(p, &st) && !S_ISREG(st.st_mode))
			return err_set(err, ERR_INPUT, 0, "'%s' is not a regular file", p);
	}
	return 0;
}

static int check_format(const struct repo *r, struct err *err)
{
	static const char prefix[] = "extensions.";
	OWN(mem) char *file = path_join(r->common_dir, "config");
	OWN(git_config) git_config *c = NULL;
	OWN(git_config_iterator) git_config_iterator *it = NULL;
	git_config_entry *e;
	int32_t version = 0;

	if (!file)
		return no_memory(err);
	if (check_files(r, err) < 0)
		return -1;
	if (!has(r->common_dir, "config"))
		return 0;
	if (git_config_open_ondisk(&c, file) < 0 || git_config_iterator_new(&it, c) < 0)
		return libgit_fail(err, ERR_INPUT, "cannot read '%s'", file);
	git_config_get_int32(&version, c, "core.repositoryformatversion");
	if (version > 1)
		return err_set(err, ERR_INPUT, 0, "the repository's format, version %d, is not supported",
			       (int)version);
	while (version == 1 && !git_config_next(&e, it))
		if (!strncmp(e->name, prefix, strlen(prefix)) &&
		    check_extension(e->name + strlen(prefix), e->value ? e->value : "", err) < 0)
			return -1;
	return 0;
}

/* The working tree must be where the `.git` is, or a configuration could name any directory. */
static int check_place(const struct repo *r, git_repository *lg, struct err *err)
{
	const char *wd = git_repository_workdir(lg);
	OWN(mem) char *real = wd ? realpath(wd, NULL) : NULL;
	OWN(mem) char *parent = path_parent(r->gitdir);

	if (git_repository_is_bare(lg) || !wd) {
		err_set(err, ERR_INPUT, 0, "the repository at '%s' has no working tree", r->root);
		return err_hint(err, "name one of its worktrees with --repo");
	}
	if (!parent)
		return no_memory(err);
	if (!real || strcmp(real, r->root))
		return err_set(err, ERR_INPUT, 0, "the repository at '%s' says its working tree is '%s'",
			       r->root, wd);
	/* A plain pointer or link into somebody else's checkout, without that knowing of it. */
	if (!strcmp(r->gitdir, r->common_dir) && !strcmp(path_base(r->gitdir), ".git") &&
	    strcmp(parent, r->root))
		return err_set(err, ERR_INPUT, 0, "'%s/.git' points to the repository of '%s'", r->root,
			       parent);
	return 0;
}

/* The other half of a linked worktree: its directory in the repository names it back. */
static int check_back_pointer(const struct repo *r, struct err *err)
{
	OWN(fd) int fd = open(r->gitdir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	OWN(buf) struct buf b = { 0 };
	OWN(mem) char *dot = path_join(r->root, ".git");
	OWN(mem) char *path = NULL, *real = NULL;
	struct err unused;

	if (!strcmp(r->gitdir, r->common_dir))
		return 0;
	if (!dot)
		return no_memory(err);
	if (fd >= 0 && !beneath_read(fd, "gitdir", MAX_POINTER, &b, &unused) && b.len) {
		b.data[strcspn(b.data, "\n")] = '\0';
		if (b.data[0] == '/')
			path = strdup(b.data);
		else if (asprintf(&path, "%s/%s", r->gitdir, b.data) < 0)
			path = NULL;
		real = path ? realpath(path, NULL) : NULL;
	}
	if (real && !strcmp(real, dot))
		return 0;
	err_set(err, ERR_INPUT, 0, "'%s' points to '%s', which belongs to another worktree", dot, r->gitdir);
	return err_hint(err, "if the worktree was moved, `git worktree repair` in the repository mends it");
}

static int read_head(struct repo *r, git_repository *lg, struct err *err)
{
	static const char heads[] = "refs/heads/";
	OWN(git_reference) git_reference *ref = NULL;
	OWN(git_commit) git_commit *commit = NULL;
	git_oid oid;
	int rc;

	if (git_reference_lookup(&ref, lg, "HEAD") < 0)
		return libgit_fail(err, ERR_INPUT, "cannot read HEAD of '%s'", r->root);
	r->head = HEAD_DETACHED;
	if (git_reference_type(ref) == GIT_REFERENCE_SYMBOLIC) {
		const char *name = git_reference_symbolic_target(ref);

		r->head = HEAD_BRANCH;
		r->branch = strdup(strncmp(name, heads, strlen(heads)) ? name : name + strlen(heads));
		if (!r->branch)
			return no_memory(err);
	}
	rc = git_reference_name_to_id(&oid, lg, "HEAD");
	if (rc == GIT_ENOTFOUND && r->head == HEAD_BRANCH) {
		r->head = HEAD_UNBORN;
		return 0;
	}
	if (rc < 0)
		return libgit_fail(err, ERR_INPUT, "cannot read HEAD of '%s'", r->root);
	git_oid_tostr(r->base, sizeof(r->base), &oid);
	if (git_commit_lookup(&commit, lg, &oid) < 0)
		return libgit_fail(err, ERR_INPUT, "cannot read the commit at HEAD of '%s'", r->root);
	return 0;
}

static int read_facts(struct repo *r, struct err *err)
{
	if (libgit_ready(err) < 0 || find_common(r, err) < 0 || check_format(r, err) < 0 ||
	    libgit_open(r, &r->opened, err) < 0 || check_place(r, r->opened, err) < 0 ||
	    check_back_pointer(r, err) < 0)
		return -1;
	return read_head(r, r->opened, err);
}

int repo_find(const char *dir, struct repo *ret, struct err *err)
{
	OWN(repo) struct repo r = { 0 };
	struct stat st;

	r.root = realpath(dir, NULL);
	if (!r.root || stat(r.root, &st) < 0)
		return err_set(err, ERR_NOTFOUND, errno, "cannot use '%s'", dir);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_NOTFOUND, ENOTDIR, "cannot use '%s'", dir);
	if (discover(&r, err) < 0 || (r.gitdir && read_facts(&r, err) < 0))
		return -1;
	*ret = r;
	r = (struct repo){ 0 };
	return 0;
}

int repo_copy(const struct repo *repo, struct repo *ret)
{
	OWN(repo) struct repo r = { .head = repo->head, .is_linked = repo->is_linked };
	const char *const from[] = { repo->root, repo->gitdir, repo->common_dir, repo->branch };
	char **const to[] = { &r.root, &r.gitdir, &r.common_dir, &r.branch };

	memcpy(r.base, repo->base, sizeof(r.base));
	for (size_t i = 0; i < ARRAY_LEN(from); i++)
		if (from[i] && !(*to[i] = strdup(from[i])))
			return -1;
	*ret = r;
	r = (struct repo){ 0 };
	return 0;
}

int repo_base(const struct repo *repo, char ret[REPO_OID_SIZE], struct err *err)
{
	OWN(git_repository) git_repository *lg = NULL;
	git_oid oid;
	int rc;

	if (libgit_open(repo, &lg, err) < 0)
		return -1;
	rc = git_reference_name_to_id(&oid, lg, "HEAD");
	if (rc < 0 && rc != GIT_ENOTFOUND)
		return libgit_fail(err, ERR_INPUT, "cannot read HEAD of '%s'", repo->root);
	if (rc)
		ret[0] = '\0';
	else
		git_oid_tostr(ret, REPO_OID_SIZE, &oid);
	return 0;
}

/* @key as a new string, NULL where nothing says. */
static char *get_string(git_config *c, const char *key)
{
	OWN(git_buf) git_buf b = { 0 };

	return git_config_get_string_buf(&b, c, key) < 0 ? NULL : strdup(b.ptr);
}

int repo_identity(const struct repo *repo, char **ret_name, char **ret_email, struct err *err)
{
	OWN(git_config) git_config *c = NULL;
	OWN(git_repository) git_repository *lg = NULL;
	struct err unused;

	*ret_name = *ret_email = NULL;
	if (repo->gitdir && !repo->opened && libgit_open(repo, &lg, &unused) < 0)
		return 0;
	if (libgit_config(repo, lg ? lg : repo->opened, CONFIG_ALL, &c, &unused) < 0)
		return unused.code == ERR_NOMEM ? no_memory(err) : 0;
	*ret_name = get_string(c, "user.name");
	*ret_email = get_string(c, "user.email");
	return 0;
}

void repo_done(struct repo *repo)
{
	git_repository_free(repo->opened);
	free(repo->root);
	free(repo->gitdir);
	free(repo->common_dir);
	free(repo->branch);
	*repo = (struct repo){ 0 };
}
