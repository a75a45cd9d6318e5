/*
 * What of the standard policy depends on this host: which directories are
 * there, which tools live below the home, what only root may read.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "sandbox/policy.h"

#define MAX_LINKS 4096		/* of one directory on PATH */
#define MAX_WALK 100000		/* entries below one system directory */
#define MAX_DEPTH 40

static const char *const system_dirs[] = {
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix",
	"/home/linuxbrew/.linuxbrew", NULL
};

int policy_system_binds(struct strv *ret)
{
	for (const char *const *d = system_dirs; *d; d++) {
		struct stat st;

		if (lstat(*d, &st) == 0 && (S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode)) && strv_add(ret, *d) < 0)
			return -1;
	}
	return 0;
}

/* --- tools below the home --- */

/*
 * A tool is known by where it puts itself on PATH, or by where a link on PATH
 * leads. @binds is as little as its programs run on: caches and settings that
 * it writes stay out, so that they are made anew in the private home.
 */
static const struct tool {
	const char *place;	/* below the home; covers what lies in it */
	const char *binds[3];	/* below the home; none: @place itself */
	const char *masks[2];	/* credentials inside the binds */
	int has_links;		/* a meeting place: look where its links lead */
} tools[] = {
	{ ".cargo/bin", { ".cargo/bin", ".rustup" }, { 0 }, 0 },	/* not .cargo: it has the tokens */
	{ ".rustup", { 0 }, { 0 }, 0 },
	{ "go/bin", { 0 }, { 0 }, 0 },
	{ "sdk", { 0 }, { 0 }, 0 },	/* golang.org/dl */
	{ ".goenv", { 0 }, { 0 }, 0 },
	{ ".pyenv", { 0 }, { 0 }, 0 },
	{ ".nvm", { 0 }, { ".nvm/.npmrc" }, 0 },
	{ ".nodenv", { 0 }, { 0 }, 0 },
	{ ".fnm", { 0 }, { 0 }, 0 },
	{ ".local/share/fnm", { 0 }, { 0 }, 0 },
	{ ".local/state/fnm_multishells", { ".local/state/fnm_multishells", ".local/share/fnm" }, { 0 }, 0 },
	{ ".volta", { 0 }, { 0 }, 0 },
	{ "n", { "n/bin", "n/lib", "n/n" }, { 0 }, 0 },
	{ ".npm-global", { 0 }, { ".npm-global/etc/npmrc" }, 0 },
	{ ".npm-packages", { 0 }, { ".npm-packages/etc/npmrc" }, 0 },
	{ ".yarn", { ".yarn/bin", ".yarn/releases" }, { 0 }, 0 },
	{ ".config/yarn/global", { 0 }, { 0 }, 0 },
	{ ".local/share/pnpm", { 0 }, { ".local/share/pnpm/rc" }, 0 },
	{ ".bun", { ".bun/bin", ".bun/install/global" }, { 0 }, 0 },
	{ ".deno/bin", { 0 }, { 0 }, 0 },
	{ ".local/share/pipx", { 0 }, { 0 }, 0 },
	{ ".local/pipx", { 0 }, { 0 }, 0 },
	{ ".local/share/uv", { ".local/share/uv/tools", ".local/share/uv/python" }, { 0 }, 0 },
	{ ".local/share/pypoetry", { 0 }, { 0 }, 0 },
	{ ".local/lib", { 0 }, { 0 }, 0 },
	{ ".local/bin", { ".local/bin", ".local/lib" }, { 0 }, 1 },	/* pip --user puts libraries there */
	{ "bin", { 0 }, { 0 }, 1 },
	{ ".local/share/mise", { ".local/share/mise/shims", ".local/share/mise/installs" }, { 0 }, 0 },
	{ ".asdf", { 0 }, { 0 }, 0 },
	{ ".sdkman/candidates", { 0 }, { 0 }, 0 },
	{ ".jenv", { 0 }, { 0 }, 0 },
	{ ".jbang", { ".jbang/bin" }, { 0 }, 0 },
	{ ".rbenv", { 0 }, { 0 }, 0 },
	{ ".rvm", { 0 }, { 0 }, 0 },
	{ ".ghcup", { 0 }, { 0 }, 0 },
	{ ".cabal/bin", { 0 }, { 0 }, 0 },
	{ ".opam", { 0 }, { 0 }, 0 },
	{ ".elan", { 0 }, { 0 }, 0 },
	{ ".juliaup", { ".juliaup", ".julia/juliaup" }, { 0 }, 0 },
	{ ".dotnet", { 0 }, { 0 }, 0 },
	{ ".pub-cache/bin", { ".pub-cache/bin", ".pub-cache/global_packages" }, { 0 }, 0 },
	{ "flutter", { 0 }, { 0 }, 0 },
	{ ".foundry/bin", { 0 }, { 0 }, 0 },
	{ ".wasmtime", { 0 }, { 0 }, 0 },
	{ ".wasmer/bin", { 0 }, { 0 }, 0 },
	{ ".krew", { 0 }, { 0 }, 0 },
	{ ".pulumi/bin", { 0 }, { 0 }, 0 },
	{ ".tfenv", { 0 }, { 0 }, 0 },
	{ ".nix-profile", { 0 }, { 0 }, 0 },
	{ ".linuxbrew", { 0 }, { 0 }, 0 },
	{ "miniconda3", { 0 }, { "miniconda3/.condarc" }, 0 },
	{ "anaconda3", { 0 }, { "anaconda3/.condarc" }, 0 },
	{ "miniforge3", { 0 }, { "miniforge3/.condarc" }, 0 },
	{ "mambaforge", { 0 }, { "mambaforge/.condarc" }, 0 },
	{ ".claude/local", { 0 }, { 0 }, 0 },
	{ ".opencode/bin", { 0 }, { 0 }, 0 },
};

struct search {
	const char *home;	/* as written, and as PATH may spell it when the home is a link */
	char *real_home;
	struct strv *roots, *masks;
};

/* Which spelling of the home is @path below? @ret_rel is the rest, without a slash in front. */
static const char *home_of(const struct search *s, const char *path, const char **ret_rel)
{
	const char *homes[] = { s->home, s->real_home };

	for (size_t i = 0; i < ARRAY_LEN(homes); i++) {
		if (homes[i] && strcmp(homes[i], "/") != 0 && path_under(path, homes[i]) &&
		    path[strlen(homes[i])] == '/') {
			*ret_rel = path + strlen(homes[i]) + 1;
			return homes[i];
		}
	}
	return NULL;
}

static int rel_under(const char *rel, const char *place)
{
	size_t n = strlen(place);

	return !strncmp(rel, place, n) && (rel[n] == '/' || rel[n] == '\0');
}

static const struct tool *find_tool(const char *rel)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (rel_under(rel, tools[i].place))
			return &tools[i];
	return NULL;
}

static int add_existing(const char *home, const char *rel, struct strv *to)
{
	OWN(mem) char *path = path_join(home, rel);

	if (!path)
		return -1;
	return access(path, F_OK) < 0 ? 0 : strv_add(to, path);
}

static int add_tool(const struct search *s, const char *home, const struct tool *t)
{
	if (!t->binds[0] && add_existing(home, t->place, s->roots) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(t->binds) && t->binds[i]; i++)
		if (add_existing(home, t->binds[i], s->roots) < 0)
			return -1;
	/* Whether it is there or not: it may come while the run goes on. */
	for (size_t i = 0; i < ARRAY_LEN(t->masks) && t->masks[i]; i++)
		if (strv_take(s->masks, path_join(home, t->masks[i])) < 0)
			return -1;
	return 0;
}

/* A link on PATH: the tool it leads to, or else just the one program. */
static int add_target(const struct search *s, const char *link)
{
	OWN(mem) char *target = realpath(link, NULL);
	const char *rel = NULL, *home = target ? home_of(s, target, &rel) : NULL;
	const struct tool *t = home ? find_tool(rel) : NULL;
	struct stat st;

	if (!home)
		return target || errno != ENOMEM ? 0 : -1;
	if (t)
		return add_tool(s, home, t);
	if (stat(target, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & 0111) || policy_is_secret(rel))
		return 0;
	return strv_add(s->roots, target);
}

static int add_links(const struct search *s, const char *dir)
{
	OWN(dir) DIR *d = opendir(dir);
	struct dirent *e;

	for (int n = 0; d && n < MAX_LINKS && (e = readdir(d)); n++) {
		OWN(mem) char *link = path_join(dir, e->d_name);
		struct stat st;

		if (!link)
			return -1;
		if (lstat(link, &st) == 0 && S_ISLNK(st.st_mode) && add_target(s, link) < 0)
			return -1;
	}
	return 0;
}

static int add_entry(const struct search *s, const char *entry)
{
	OWN(mem) char *clean = path_join("/", entry);
	const char *rel, *home = clean ? home_of(s, clean, &rel) : NULL;
	const struct tool *t = home ? find_tool(rel) : NULL;

	if (!clean)
		return -1;
	if (!t)
		return 0;
	if (add_tool(s, home, t) < 0)
		return -1;
	return t->has_links ? add_links(s, clean) : 0;
}

/* Sort, and drop what lies below another. "/a/b" sorts behind "/a" but "/a.b" may lie between. */
static void prune(struct strv *sv)
{
	size_t kept = 0;

	strv_sort_unique(sv);
	for (size_t i = 0; i < sv->n; i++) {
		size_t j = 0;

		while (j < kept && !path_under(sv->v[i], sv->v[j]))
			j++;
		if (j < kept)
			free(sv->v[i]);
		else
			sv->v[kept++] = sv->v[i];
	}
	sv->n = kept;
	if (sv->v)
		sv->v[kept] = NULL;
}

int policy_tool_roots(const char *home, const char *path, struct strv *ret_roots, struct strv *ret_masks)
{
	OWN(strv) struct strv roots = { 0 };
	OWN(strv) struct strv masks = { 0 };
	OWN(mem) char *real_home = path_resolve(home);
	OWN(mem) char *words = strdup(path ? path : "");
	const struct search s = { home, real_home, &roots, &masks };
	char *rest = words;

	if (!words)
		return -1;
	for (char *entry; (entry = strsep(&rest, ":"));)
		if (entry[0] == '/' && add_entry(&s, entry) < 0)
			return -1;
	prune(&roots);
	strv_sort_unique(&masks);
	return strv_copy(ret_roots, &roots) < 0 || strv_copy(ret_masks, &masks) < 0 ? -1 : 0;
}

/* --- what only root may read --- */

#define FIRST_USER_GROUP 1000	/* login.defs(5), GID_MIN */
#define USERS_GROUP 100		/* everybody's, where a distribution has it */
#define MAX_GROUPS 65536

int policy_reads_more(void)
{
	int n = getgroups(0, NULL), more;
	OWN(mem) gid_t *groups = NULL;

	if (geteuid() == 0 || getegid() < FIRST_USER_GROUP)
		return 1;
	groups = n >= 0 && n <= MAX_GROUPS ? calloc((size_t)n + 1, sizeof(*groups)) : NULL;
	more = !groups || getgroups(n, groups) != n;
	for (int i = 0; !more && i < n; i++)
		more = groups[i] < FIRST_USER_GROUP && groups[i] != USERS_GROUP;
	return more;
}

struct walk {
	struct strv *ret;
	struct err *err;
	char path[PATH_MAX];
	size_t len;
	unsigned int left;	/* entries we are willing to look at */
};

static int note(struct walk *w)
{
	return strv_add(w->ret, w->path) < 0 ? err_set(w->err, ERR_NOMEM, 0, "no memory for '%s'", w->path) : 0;
}

/* Others may not have it and we may: has to be hidden. */
static int is_ours_alone(int dirfd, const char *name, mode_t mode, int is_dir)
{
	mode_t others = is_dir ? 01 : 04;

	return !(mode & others) && faccessat(dirfd, name, is_dir ? X_OK : R_OK, AT_EACCESS) == 0;
}

static int walk_dir(struct walk *w, int fd, unsigned int depth);

/*
 * "/etc/shadow.lock" and "/etc/shadow.4711" hold a process number, and are there for
 * a moment, while an account is changed: what covered one would find nothing to cover.
 */
static int is_lock(const char *name, const struct stat *st)
{
	static const char *const files[] = { "passwd", "shadow", "group", "gshadow", "subuid", "subgid" };

	for (size_t i = 0; S_ISREG(st->st_mode) && st->st_size <= 12 && i < ARRAY_LEN(files); i++) {
		size_t n = strlen(files[i]);
		const char *end = name + n + 1;

		if (!strncmp(name, files[i], n) && name[n] == '.' && *end &&
		    (!strcmp(end, "lock") || !end[strspn(end, "0123456789")]))
			return 1;
	}
	return 0;
}

static int walk_entry(struct walk *w, int dirfd, const char *name, unsigned int depth)
{
	size_t old = w->len, n = strlen(name);
	struct stat st;
	int fd, r = 0;

	if (!w->left-- || old + n + 2 > sizeof(w->path))
		return err_set(w->err, ERR_LIMIT, 0, "'%s' holds too much to look through", w->path);
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISLNK(st.st_mode))
		return 0;
	w->path[old] = '/';
	memcpy(w->path + old + 1, name, n + 1);
	w->len = old + 1 + n;
	if (!depth && is_lock(name, &st)) {
		r = 0;
	} else if (is_ours_alone(dirfd, name, st.st_mode, S_ISDIR(st.st_mode))) {
		r = note(w);
	} else if (S_ISDIR(st.st_mode)) {
		/* What we cannot open, a run of ours cannot either. */
		fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		r = fd < 0 ? 0 : walk_dir(w, fd, depth + 1);
	}
	w->len = old;
	w->path[old] = '\0';
	return r;
}

/* Takes @fd. */
static int walk_dir(struct walk *w, int fd, unsigned int depth)
{
	OWN(dir) DIR *d = fdopendir(fd);
	struct dirent *e;

	if (!d) {
		close(fd);
		return err_set(w->err, ERR_SYS, errno, "cannot read '%s'", w->path);
	}
	if (depth > MAX_DEPTH)
		return err_set(w->err, ERR_LIMIT, 0, "'%s' is too deep to look through", w->path);
	while (errno = 0, (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || e->d_type == DT_LNK)
			continue;	/* a link is as readable as what it leads to */
		if (walk_entry(w, dirfd(d), e->d_name, depth) < 0)
			return -1;
	}
	return errno ? err_set(w->err, ERR_SYS, errno, "cannot read '%s'", w->path) : 0;
}

static mode_t mode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : st.st_mode;
}

int policy_root_only_files(const char *root, struct strv *ret, struct err *err)
{
	OWN(strv) struct strv found = { 0 };
	struct walk w = { .ret = &found, .err = err, .left = MAX_WALK };
	int fd;

	w.len = strlen(root);
	if (w.len >= sizeof(w.path))
		return err_set(err, ERR_LIMIT, 0, "'%s' is longer than a path can be", root);
	memcpy(w.path, root, w.len + 1);
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES
			? 0 : err_set(err, ERR_SYS, errno, "cannot read '%s'", root);
	if (is_ours_alone(AT_FDCWD, root, mode_of(fd), 1)) {
		close(fd);
		return note(&w) < 0 || strv_copy(ret, &found) < 0 ? -1 : 0;
	}
	if (walk_dir(&w, fd, 0) < 0)
		return -1;
	return strv_copy(ret, &found) < 0 ? err_set(err, ERR_NOMEM, 0, "no memory for '%s'", root) : 0;
}

/* --- names without case --- */

int policy_may_fold(const char *path)
{
	/* FAT, exFAT, NTFS (both drivers), CIFS, SMB2, HFS, HFS+, APFS through FUSE and whatever else a FUSE server is. */
	static const uint32_t kinds[] = { 0x4d44, 0x2011bab0, 0x5346544e, 0x7366746e, 0xff534d42, 0xfe534d42, 0x4244,
					  0x482b, 0x65735546 };
	OWN(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct statfs fs;
	int flags = 0;

	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return 1;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if ((uint32_t)fs.f_type == kinds[i])
			return 1;
	return !ioctl(fd, FS_IOC_GETFLAGS, &flags) && (flags & FS_CASEFOLD_FL);
}
