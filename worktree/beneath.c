#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "worktree/beneath.h"

static int openat2_once(int dirfd, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC),
		.mode = flags & (O_CREAT | O_TMPFILE) ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	/* EAGAIN: somebody renamed on the way; the kernel asks to try again. */
	for (int tries = 0; tries < 16; tries++) {
		fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return (int)fd;
}

/*
 * Go down @path from @dirfd until what is left fits one call. @ret_rest gets
 * the rest. Return: a descriptor the caller closes unless it is @dirfd itself.
 */
static int walk_far(int dirfd, const char *path, const char **ret_rest)
{
	int at = dirfd;

	while (strlen(path) >= PATH_MAX) {
		char piece[PATH_MAX];
		size_t n = PATH_MAX - 1;
		int next;

		while (n && path[n] != '/')
			n--;
		if (!n) {
			errno = ENAMETOOLONG;
			next = -1;
		} else {
			memcpy(piece, path, n);
			piece[n] = '\0';
			next = openat2_once(at, piece, O_PATH | O_DIRECTORY, 0);
		}
		if (at != dirfd) {
			int saved = errno;

			close(at);
			errno = saved;
		}
		if (next < 0)
			return -1;
		at = next;
		path += n + 1;
	}
	*ret_rest = path;
	return at;
}

int beneath_open(int dirfd, const char *path, int flags, mode_t mode)
{
	const char *rest;
	int at = walk_far(dirfd, path, &rest), fd, saved;

	if (at < 0)
		return -1;
	fd = openat2_once(at, *rest ? rest : ".", flags, mode);
	saved = errno;
	if (at != dirfd)
		close(at);
	errno = saved;
	return fd;
}

int beneath_dir(int dirfd, const char *path)
{
	return beneath_open(dirfd, path, O_RDONLY | O_DIRECTORY, 0);
}

int beneath_parent(int dirfd, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	OWN(mem) char *dir = strndup(path, slash ? (size_t)(slash - path) : 0);
	int fd;

	if (!dir) {
		errno = ENOMEM;
		return -1;
	}
	fd = beneath_open(dirfd, dir, O_PATH | O_DIRECTORY, 0);
	*ret_name = slash ? slash + 1 : path;
	return fd;
}

int beneath_stat(int dirfd, const char *path, struct stat *ret)
{
	const char *name;
	OWN(fd) int fd = beneath_parent(dirfd, path, &name);

	if (fd < 0)
		return -1;
	return fstatat(fd, name, ret, AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH));
}

int beneath_regular(int dirfd, const char *path, struct stat *ret_st)
{
	OWN(fd) int fd = beneath_open(dirfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	if (ret_st)
		*ret_st = st;
	return fd_take(&fd);
}

int beneath_read(int dirfd, const char *path, size_t max, struct buf *out, struct err *err)
{
	OWN(fd) int fd = beneath_regular(dirfd, path, NULL);

	if (fd < 0 && errno == EINVAL)
		return err_set(err, ERR_INPUT, 0, "'%s' is not a regular file", path);
	if (fd < 0 && errno == ELOOP)
		return err_set(err, ERR_INPUT, 0, "'%s' is reached through a link", path);
	if (fd < 0)
		return err_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOTFOUND : ERR_SYS,
			       errno, "cannot open '%s'", path);
	if (io_read_fd(fd, max, out, err) < 0)
		return err_wrap(err, "'%s'", path);
	return 0;
}

int beneath_link(int dirfd, const char *path, struct buf *out)
{
	const char *name;
	OWN(fd) int fd = beneath_parent(dirfd, path, &name);
	char target[PATH_MAX];
	ssize_t n;

	if (fd < 0)
		return -1;
	n = readlinkat(fd, name, target, sizeof(target));
	if (n < 0)
		return -1;
	if (buf_add(out, target, (size_t)n) < 0) {
		errno = ENOMEM;
		return -1;
	}
	return 0;
}

int beneath_mkdirs(int dirfd, const char *path, struct err *err)
{
	OWN(mem) char *p = strdup(path);

	if (!p)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	for (char *s = p;; s++) {
		char c = *s;

		if ((c && c != '/') || s == p)
			continue;
		*s = '\0';
		if (mkdirat(dirfd, p, 0755) < 0 && errno != EEXIST)
			return err_set(err, ERR_SYS, errno, "cannot make directory '%s'", p);
		*s = c;
		if (!c)
			return 0;
	}
}

int beneath_put(int dirfd, const char *path, const void *data, size_t len, struct err *err)
{
	const char *slash = strrchr(path, '/');
	OWN(fd) int fd = -1;

	if (slash) {
		OWN(mem) char *dir = strndup(path, (size_t)(slash - path));

		if (!dir)
			return err_set(err, ERR_NOMEM, 0, "out of memory");
		if (beneath_mkdirs(dirfd, dir, err) < 0)
			return -1;
	}
	fd = beneath_open(dirfd, path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (fd < 0 || io_write_all(fd, data, len) < 0)
		return err_set(err, ERR_SYS, errno, "cannot write '%s'", path);
	return 0;
}
