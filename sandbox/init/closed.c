/*
 * sandbox/init/closed.c - reading granted around what is to stay closed
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/init/closed.h"
#include "sandbox/init/sys.h"
#include "sandbox/init/wire.h"

struct granting {
	const struct blob_head *b;
	int ruleset;
	char path[PATH_MAX];	/* of what is looked at, as seen inside */
	size_t len;
};

int closed_is_wanted(const struct blob_head *b)
{
	return b->n_root_only || b->n_closed;
}

/* Is clean @path @dir itself or below it? "/" has all below it. */
static int is_under(const char *path, const char *dir)
{
	size_t n = strcmp(dir, "/") ? strlen(dir) : 0;

	return !strncmp(path, dir, n) && (path[n] == '/' || !path[n]);
}

static const char *text_at(const struct blob_head *b, uint32_t list, uint32_t i)
{
	const uint32_t *at = (const void *)((const char *)b + list);

	return wire_text(b, at[i]);
}

/* Is one of the list below @path? */
static int holds_one(const struct blob_head *b, uint32_t list, uint32_t n, const char *path)
{
	for (uint32_t i = 0; i < n; i++)
		if (is_under(text_at(b, list, i), path) && strcmp(text_at(b, list, i), path) != 0)
			return 1;
	return 0;
}

/* Is @path one of the list, or below one? */
static int is_in_one(const struct blob_head *b, uint32_t list, uint32_t n, const char *path)
{
	for (uint32_t i = 0; i < n; i++)
		if (is_under(path, text_at(b, list, i)))
			return 1;
	return 0;
}

static int holds_closed(const struct blob_head *b, const char *path)
{
	return holds_one(b, b->root_only_off, b->n_root_only, path) || holds_one(b, b->closed_off, b->n_closed, path);
}

static int is_closed(const struct blob_head *b, const char *path)
{
	return is_in_one(b, b->root_only_off, b->n_root_only, path) || is_in_one(b, b->closed_off, b->n_closed, path);
}

/*
 * Beside what only root may read, nothing is granted that others may not: it can have
 * come since the supervisor looked.
 */
static int is_for_others(const struct granting *g, size_t dir_len, mode_t mode)
{
	char dir[PATH_MAX];

	if (!dir_len)	/* "/" holds our own places */
		return 1;
	memcpy(dir, g->path, dir_len);
	dir[dir_len] = '\0';
	return mode & (S_ISDIR(mode) ? S_IXOTH : S_IROTH) || !holds_one(g->b, g->b->root_only_off, g->b->n_root_only, dir);
}

static int grant_tree(struct granting *g, int fd);

/* The entry @name of the directory g->path; a link is as readable as what it leads to. */
static int grant_entry(struct granting *g, int dir, const char *name)
{
	size_t old = g->len, n = strlen(name);
	struct stat st;
	int fd, r = 0;

	if (old + n + 2 > sizeof(g->path))
		return 0;
	g->path[old] = '/';
	memcpy(g->path + old + 1, name, n + 1);
	g->len = old + 1 + n;
	fd = is_closed(g->b, g->path) ? -1 : openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &st) && !S_ISLNK(st.st_mode) && is_for_others(g, old, st.st_mode))
		r = grant_tree(g, fd);
	if (fd >= 0)
		close(fd);
	g->len = old;
	g->path[old] = '\0';
	return r;
}

/* The depth is that of a path in the plan. */
static int grant_entries(struct granting *g, int fd)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *d = own < 0 ? NULL : fdopendir(own);
	const struct dirent *e;

	if (!d) {
		if (own >= 0)
			close(own);
		return own < 0 ? 0 : -1;
	}
	while (!r && (e = readdir(d)))
		if (e->d_type != DT_LNK && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = grant_entry(g, own, e->d_name);
	closedir(d);
	return r;
}

static int grant_tree(struct granting *g, int fd)
{
	if (holds_closed(g->b, g->len ? g->path : "/"))
		return grant_entries(g, fd);
	return sys_landlock_add(g->ruleset, LANDLOCK_ACCESS_FS_READ_FILE, fd);
}

/* @path as the plan has it: what it says is not there, or is out of reach, needs no grant. */
static int grant_path(struct granting *g, const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC), r;

	g->len = strcmp(path, "/") ? strlen(path) : 0;
	if (fd < 0 || g->len >= sizeof(g->path)) {
		if (fd >= 0)
			close(fd);
		return fd < 0 && errno != EMFILE && errno != ENOMEM ? 0 : -1;
	}
	memcpy(g->path, path, g->len + 1);
	g->path[g->len] = '\0';
	r = grant_tree(g, fd);
	close(fd);
	return r;
}

/*
 * What the user handed over may be opened again through /dev/stdin, for reading if it
 * was opened for that. Pipes and sockets have no place in a tree and are nobody's to refuse.
 */
static int grant_handed(const struct granting *g)
{
	for (int fd = 0; fd <= 2; fd++) {
		int flags = fcntl(fd, F_GETFL);

		if (flags >= 0 && (flags & O_ACCMODE) != O_WRONLY &&
		    sys_landlock_add(g->ruleset, LANDLOCK_ACCESS_FS_READ_FILE, fd) < 0 && errno != EBADFD)
			return -1;
	}
	return 0;
}

int closed_grant(const struct blob_head *b, int ruleset)
{
	const struct blob_zone *z = (const void *)((const char *)b + b->zones_off);
	struct granting g = { .b = b, .ruleset = ruleset };

	if (grant_path(&g, "/") < 0)
		return -1;
	/* Those below a directory that goes by entries, whatever their own modes are. */
	for (uint32_t i = 0; i < b->n_zones; i++) {
		const char *path = wire_text(b, z[i].path_off);

		if (strcmp(path, "/") != 0 && !is_closed(b, path) && grant_path(&g, path) < 0)
			return -1;
	}
	for (uint32_t i = 0; i < b->n_shown; i++)
		if (grant_path(&g, text_at(b, b->shown_off, i)) < 0)
			return -1;
	return grant_handed(&g);
}
