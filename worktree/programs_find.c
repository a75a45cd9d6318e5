/*
 * The files git reads for a checkout: its own, those of worktrees and submodules
 * that lie in the same directory, and includes. More of them than git would look
 * at: a file too many costs a key, one too few runs a program.
 */
#include <dirent.h>
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
#include "worktree/programs.h"

#define MAX_BYTES (1u << 20)	/* of one file */
#define MAX_INCLUDES 10		/* deep, as git has it */
#define MAX_DEPTH 16		/* of directories below modules/ */
#define MAX_FILES 2000

struct search {
	struct programs *p;
	struct strv seen;	/* files */
	struct err *err;
};

static int no_memory(struct search *s)
{
	return err_set(s->err, ERR_NOMEM, 0, "out of memory");
}

/* The bytes of a regular file; 0 and nothing for one that cannot be read. Links are followed, as git does. */
static int read_whole(struct search *s, const char *path, struct buf *ret)
{
	OWN(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct err why = { 0 };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (!io_read_fd(fd, MAX_BYTES, ret, &why))
		return 0;
	buf_clear(ret);
	if (why.code == ERR_LIMIT)
		return err_set(s->err, ERR_LIMIT, 0, "cannot tell which programs '%s' names: it is larger than %u bytes",
			       path, MAX_BYTES);
	return why.code == ERR_NOMEM ? no_memory(s) : 0;
}

static int read_config(struct search *s, const char *path, int depth)
{
	OWN(buf) struct buf text = { .max = MAX_BYTES + 1 };
	OWN(strv) struct strv includes = { 0 };
	OWN(mem) char *dir = path_parent(path);

	if (!dir)
		return no_memory(s);
	if (depth > MAX_INCLUDES || strv_has(&s->seen, path))
		return 0;
	if (s->seen.n >= MAX_FILES)
		return err_set(s->err, ERR_LIMIT, 0, "cannot tell which programs '%s' names: too many files", path);
	if (strv_add(&s->seen, path) < 0)
		return no_memory(s);
	if (read_whole(s, path, &text) < 0 || (text.len && programs_scan(s->p, text.data, text.len, &includes, s->err) < 0))
		return -1;
	for (size_t i = 0; i < includes.n; i++) {
		/* The home directory of a run that only looks has no configuration. */
		OWN(mem) char *next = includes.v[i][0] == '~' ? NULL : path_join(dir, includes.v[i]);

		if (next && read_config(s, next, depth + 1) < 0)
			return -1;
	}
	return 0;
}

static int read_pair(struct search *s, const char *dir)
{
	static const char *const names[] = { "config", "config.worktree" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		OWN(mem) char *path = path_join(dir, names[i]);

		if (!path)
			return no_memory(s);
		if (read_config(s, path, 0) < 0)
			return -1;
	}
	return 0;
}

/* Directories of the names git gives: objects and refs hold no configuration. */
static int is_bulk(const char *name)
{
	static const char *const bulk[] = { ".", "..", "objects", "refs", "logs", "hooks", "info", "lfs" };

	for (size_t i = 0; i < ARRAY_LEN(bulk); i++)
		if (!strcmp(bulk[i], name))
			return 1;
	return 0;
}

/* @dir and the directories below it: a submodule's name can have slashes, and submodules have submodules. */
static int read_below(struct search *s, const char *dir, int depth)
{
	OWN(dir) DIR *d = opendir(dir);
	const struct dirent *e;

	if (read_pair(s, dir) < 0)
		return -1;
	while (d && depth < MAX_DEPTH && (e = readdir(d))) {
		OWN(mem) char *path = is_bulk(e->d_name) ? NULL : path_join(dir, e->d_name);
		struct stat st;

		if (path && !lstat(path, &st) && S_ISDIR(st.st_mode) && read_below(s, path, depth + 1) < 0)
			return -1;
	}
	return 0;
}

static int read_gitdir(struct search *s, const char *dir)
{
	static const char *const below[] = { "modules", "worktrees" };

	if (read_pair(s, dir) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(below); i++) {
		OWN(mem) char *path = path_join(dir, below[i]);

		if (!path)
			return no_memory(s);
		if (read_below(s, path, 0) < 0)
			return -1;
	}
	return 0;
}

/* What a one-line file points to, behind @prefix; NULL when it does not. */
static char *pointed_to(const char *file, const char *prefix)
{
	OWN(buf) struct buf text = { .max = 65536 };
	OWN(fd) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	OWN(mem) char *dir = path_parent(file);
	struct err err = { 0 };
	struct stat st;
	char *at;

	if (!dir || fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || io_read_fd(fd, 65535, &text, &err) < 0 ||
	    !text.len || strncmp(text.data, prefix, strlen(prefix)))
		return NULL;
	at = text.data + strlen(prefix);
	at[strcspn(at, "\r\n")] = '\0';
	return path_join(dir, at);
}

int programs_find(struct programs *p, const char *dot, struct err *err)
{
	struct search s = { .p = p, .err = err };
	OWN(mem) char *target = pointed_to(dot, "gitdir: ");
	const char *dir = target ? target : dot;
	OWN(mem) char *pointer = path_join(dir, "commondir");
	OWN(mem) char *common = pointer ? pointed_to(pointer, "") : NULL;
	int r = read_gitdir(&s, dir);

	if (!r && common)
		r = read_gitdir(&s, common);
	strv_done(&s.seen);
	return r;
}
