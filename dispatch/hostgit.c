#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/hostgit.h"
#include "worktree/workspace.h"

static int write_alternates(const struct workspace *ws, struct err *err)
{
	OWN(mem) char *path = path_join(ws->gitdir, "objects/info/alternates");
	OWN(buf) struct buf lines = { 0 };

	buf_adds(&lines, "");
	for (size_t i = 0; i < ws->objects.n; i++)
		buf_addf(&lines, "%s\n", ws->objects.v[i]);
	if (!path || lines.failed)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return io_replace_file(AT_FDCWD, path, lines.data, lines.len, 0644, err);
}

int hostgit_connect(const struct workspace *ws, struct err *err)
{
	OWN(mem) char *path = NULL;
	OWN(buf) struct buf line = { 0 };

	if (!ws->gitdir)
		return 0;
	path = path_join(ws->path, ".git");
	if (!path || buf_addf(&line, "gitdir: %s\n", ws->gitdir) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (write_alternates(ws, err) < 0)
		return -1;
	if (rmdir(path) < 0 && errno != ENOENT)
		return err_set(err, ERR_SYS, errno, "cannot connect the workspace with its git directory");
	return io_replace_file(AT_FDCWD, path, line.data, line.len, 0644, err);
}

void hostgit_disconnect(const struct workspace *ws)
{
	OWN(mem) char *path = ws->gitdir ? path_join(ws->path, ".git") : NULL;
	struct stat st;

	if (!path || lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || unlink(path) < 0)
		return;
	if (mkdir(path, 0700) < 0)
		return;	/* the change list tells of it */
}

int hostgit_move_in(const struct workspace *ws, struct err *err)
{
	OWN(mem) char *path = NULL;

	if (!ws->gitdir)
		return 0;
	path = path_join(ws->path, ".git");
	if (!path)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (write_alternates(ws, err) < 0)
		return -1;
	/* The empty directory that waits for a mount is replaced. */
	if (rename(ws->gitdir, path) < 0)
		return err_set(err, ERR_SYS, errno, "cannot put the git directory into the workspace");
	return 0;
}

int hostgit_move_out(const struct workspace *ws, struct err *err)
{
	OWN(mem) char *path = NULL;

	if (!ws->gitdir || !access(ws->gitdir, F_OK))
		return 0;
	path = path_join(ws->path, ".git");
	if (!path)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (rename(path, ws->gitdir) < 0 || mkdir(path, 0700) < 0)
		return err_set(err, ERR_SYS, errno, "cannot take the git directory out of the workspace");
	return 0;
}
