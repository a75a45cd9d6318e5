/*
 * What of the standard policy depends on this host: which directories are
 * there, which tools live below the home. What only root may read: root_only.c.
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
