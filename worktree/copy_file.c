#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/own.h"
#include "worktree/copy_file.h"

#define SMALL (64 * 1024)		/* below this read and write beat copy_file_range */
#define CHUNK ((size_t)1 << 20)
#define RANGE ((size_t)64 << 20)
#define XATTR_MAX 65536

static int pwrite_all(int fd, const char *data, size_t len, off_t at)
{
	while (len) {
		ssize_t n = pwrite(fd, data, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		data += n;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Bytes @at to @end through our own memory; a file that shrank ends early. */
static int pump(int src, int dst, off_t at, off_t end, char *room, size_t size)
{
	while (at < end) {
		size_t want = (size_t)(end - at) < size ? (size_t)(end - at) : size;
		ssize_t n = pread(src, room, want, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		if (pwrite_all(dst, room, (size_t)n, at) < 0)
			return -1;
		at += n;
	}
	return 0;
}

static int pump_small(int src, int dst, off_t end)
{
	char room[SMALL];

	return pump(src, dst, 0, end, room, sizeof(room));
}

static int pump_large(int src, int dst, off_t at, off_t end)
{
	OWN(mem) char *room = malloc(CHUNK);

	return room ? pump(src, dst, at, end, room, CHUNK) : -1;
}

/* The kernel says so when it cannot do a pair of files at all, before any byte. */
static int is_refusal(int e)
{
	return e == EXDEV || e == EINVAL || e == ENOSYS || e == EOPNOTSUPP || e == EPERM ||
	       e == ENOTTY || e == EBADF || e == ETXTBSY;
}

static int copy_extent(struct copy_ways *ways, int src, int dst, off_t at, off_t end)
{
	off_t in = at, out = at;

	if (atomic_load(&ways->no_range))
		return pump_large(src, dst, at, end);
	while (in < end) {
		size_t want = (size_t)(end - in) < RANGE ? (size_t)(end - in) : RANGE;
		ssize_t n = copy_file_range(src, &in, dst, &out, want, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && is_refusal(errno)) {
			atomic_store(&ways->no_range, 1);
			return pump_large(src, dst, in, end);
		}
		if (n < 0)
			return -1;
		/* 0: it shrank; or a file system that makes its bytes up on reading */
		if (!n)
			return pump_large(src, dst, in, end);
	}
	return 0;
}

/* Data by data; what lies between stays a hole. */
static int copy_sparse(struct copy_ways *ways, int src, int dst, off_t size)
{
	off_t at = 0;

	while (at < size) {
		off_t data = lseek(src, at, SEEK_DATA), hole;

		if (data < 0 && errno == ENXIO)
			break;
		if (data < 0)
			return copy_extent(ways, src, dst, at, size);
		if (data >= size)
			break;
		hole = lseek(src, data, SEEK_HOLE);
		if (hole < 0 || hole > size)
			hole = size;
		if (copy_extent(ways, src, dst, data, hole) < 0)
			return -1;
		at = hole;
	}
	return ftruncate(dst, size);
}

/* 1 done, 0 not possible here, -1 and errno */
static int try_clone(struct copy_ways *ways, int src, const struct stat *st, int dst)
{
	if (ways->sharing == COPY_NO_SHARE || atomic_load(&ways->no_clone))
		return 0;
	if (!ioctl(dst, FICLONE, src))
		return 1;
	if (!is_refusal(errno))
		return -1;
	if (ways->sharing == COPY_MUST_SHARE) {
		errno = ENOTSUP;
		return -1;
	}
	if (st->st_dev == ways->dev && errno != EINVAL && errno != ETXTBSY)
		atomic_store(&ways->no_clone, 1);
	return 0;
}

int copy_data(struct copy_ways *ways, int src, const struct stat *st, int dst, int *ret_cloned)
{
	int r;

	*ret_cloned = 0;
	if (!st->st_size)
		return 0;
	r = try_clone(ways, src, st, dst);
	if (r) {
		*ret_cloned = r > 0;
		return r > 0 ? 0 : -1;
	}
	if (st->st_blocks * 512 < st->st_size && st->st_size > SMALL)
		return copy_sparse(ways, src, dst, st->st_size);
	if (st->st_size <= SMALL)
		return pump_small(src, dst, st->st_size);
	return copy_extent(ways, src, dst, 0, st->st_size);
}

static void copy_one_xattr(int src, int dst, const char *name)
{
	OWN(mem) char *value = malloc(XATTR_MAX);
	ssize_t n;

	if (!value)
		return;
	n = fgetxattr(src, name, value, XATTR_MAX);
	if (n >= 0)
		fsetxattr(dst, name, value, (size_t)n, 0);
}

void copy_xattrs(struct copy_ways *ways, int src, int dst)
{
	char few[1024];
	OWN(mem) char *many = NULL;
	char *names = few;
	ssize_t n;

	if (atomic_load(&ways->no_xattr))
		return;
	n = flistxattr(src, few, sizeof(few));
	if (n < 0 && errno == ERANGE) {
		many = malloc(XATTR_MAX);
		names = many;
		n = many ? flistxattr(src, many, XATTR_MAX) : -1;
	}
	if (n < 0 && (errno == ENOTSUP || errno == ENOSYS))
		atomic_store(&ways->no_xattr, 1);
	for (char *p = names; n > 0 && p < names + n; p += strlen(p) + 1)
		if (!strncmp(p, "user.", 5))
			copy_one_xattr(src, dst, p);
}
