#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "worktree/beneath.h"
#include "worktree/objects.h"

#define MAX_DIRS 64
#define MAX_DEPTH 5		/* as git has it */
#define MAX_LIST (1 << 20)	/* bytes of an alternates file */

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* gitrepository-layout(5), and what git leaves lying about while it works */
static int belongs(const char *name)
{
	static const char *const prefixes[] = { "tmp_", "tmp-", "incoming-", ".tmp-", "maintenance.lock" };

	if (isxdigit((unsigned char)name[0]) && isxdigit((unsigned char)name[1]) && !name[2])
		return 1;
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return 1;
	return !strcmp(name, "pack") || !strcmp(name, "info") || !strcmp(name, ".") || !strcmp(name, "..");
}

static int check_store(const char *dir, struct err *err)
{
	OWN(dir) DIR *d = opendir(dir);

	if (!d)
		return err_set(err, ERR_INPUT, errno, "cannot read the object directory '%s'", dir);
	for (struct dirent *e; (e = readdir(d)); )
		if (!belongs(e->d_name))
			return err_set(err, ERR_INPUT, 0, "'%s' is no object directory: it holds '%s'", dir,
				       e->d_name);
	return 0;
}

/* The text of @dir/info/alternates; empty where there is none. */
static int read_list(const char *dir, struct buf *out, struct err *err)
{
	OWN(fd) int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct err e;

	if (fd < 0)
		return err_set(err, ERR_SYS, errno, "cannot open '%s'", dir);
	if (!beneath_read(fd, "info/alternates", MAX_LIST, out, &e))
		return 0;
	if (e.code != ERR_NOTFOUND)
		return err_set(err, e.code, 0, "'%s': %s", dir, e.msg);
	return buf_add(out, "", 0) < 0 ? no_memory(err) : 0;
}

/* Directories of this one repository, in the order found; depth[i] is how far from the first. */
struct found {
	struct strv dirs;
	unsigned int depth[MAX_DIRS];
};

static void own_found(struct found *f)
{
	strv_done(&f->dirs);
}

static int add(struct found *f, const char *path, unsigned int depth, struct err *err)
{
	OWN(mem) char *real = realpath(path, NULL);

	if (!real)
		return depth ? 0 : err_set(err, ERR_INPUT, errno, "cannot use the object directory '%s'",
					   path);
	if (strv_has(&f->dirs, real))
		return 0;
	if (f->dirs.n == MAX_DIRS || depth > MAX_DEPTH)
		return err_set(err, ERR_LIMIT, 0, "too many alternate object directories");
	if (check_store(real, err) < 0)
		return -1;
	f->depth[f->dirs.n] = depth;
	return strv_add(&f->dirs, real) < 0 ? no_memory(err) : 0;
}

static int add_list(struct found *f, const char *dir, unsigned int depth, struct err *err)
{
	OWN(buf) struct buf list = { 0 };
	char *save = NULL;

	if (read_list(dir, &list, err) < 0)
		return -1;
	for (char *line = strtok_r(list.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		OWN(mem) char *path = NULL;

		if (line[0] == '#')
			continue;
		if (asprintf(&path, "%s%s%s", line[0] == '/' ? "" : dir, line[0] == '/' ? "" : "/",
			     line) < 0) {
			path = NULL;
			return no_memory(err);
		}
		if (add(f, path, depth, err) < 0)
			return err_wrap(err, "alternates of '%s'", dir);
	}
	return 0;
}

/* @dir's place in @list, added if it is new. */
static int place(struct strv *list, const char *dir, size_t *ret)
{
	for (size_t i = 0; i < list->n; i++) {
		if (!strcmp(list->v[i], dir)) {
			*ret = i;
			return 0;
		}
	}
	*ret = list->n;
	return strv_add(list, dir);
}

int objects_find(const char *dir, struct strv *list, char **ret_lines, struct err *err)
{
	OWN(found) struct found f = { 0 };
	OWN(buf) struct buf lines = { 0 };
	size_t at;

	if (add(&f, dir, 0, err) < 0)
		return -1;
	for (size_t i = 0; i < f.dirs.n; i++) {
		/* strv may move, its strings do not */
		if (add_list(&f, f.dirs.v[i], f.depth[i] + 1, err) < 0)
			return -1;
		if (place(list, f.dirs.v[i], &at) < 0 ||
		    buf_addf(&lines, OBJECTS_GUEST "/%zu\n", at) < 0)
			return no_memory(err);
	}
	*ret_lines = buf_steal(&lines);
	return *ret_lines ? 0 : no_memory(err);
}

int objects_has_alternates(const char *dir)
{
	OWN(mem) char *p = path_join(dir, "info/alternates");
	struct stat st;

	return p && !lstat(p, &st);
}
