/*
 * sandbox/init/base.c - where a walk starts, and where a worker stands
 *
 * Most calls name a path from the caller's working directory, and the next one
 * from the same. To look which directory that is costs one call into /proc; to
 * open it, ask whether it is ours and where it lies, four. So the last few stay
 * open, found again by what they are: while we hold one, its inode is no other's.
 * What is never remembered is where it lies: anybody outside may move it. Asking
 * for that is cheap for one's own working directory, which is why a worker walks
 * along with its callers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "sandbox/init/broker.h"
#include "sandbox/init/sys.h"

void worker_init(struct worker *w, struct broker *b)
{
	*w = (struct worker){ .b = b, .stands_in = -1, .mask = (mode_t)-1, .last = { .fd = -1 }, .pidfd = -1 };
	for (size_t i = 0; i < BASES; i++)
		w->bases[i].fd = -1;
}

void worker_done(struct worker *w)
{
	for (size_t i = 0; i < BASES; i++)
		if (w->bases[i].fd >= 0)
			close(w->bases[i].fd);
	if (w->pidfd >= 0)
		close(w->pidfd);
	worker_init(w, w->b);
}

int stand_in(const struct request *r, int fd)
{
	if (r->w->stands_in == fd)
		return 0;
	r->w->stands_in = -1;
	if (fchdir(fd) < 0)
		return -1;
	r->w->stands_in = fd;
	return 0;
}

int stand_briefly(const struct request *r, int fd)
{
	r->w->stands_in = -1;
	return fchdir(fd);
}

int take_umask(const struct request *r)
{
	mode_t mask;

	if (target_umask(r, &mask) < 0)
		return -1;
	if (mask != r->w->mask)
		umask(mask);
	r->w->mask = mask;
	return 0;
}

/*
 * Where inode numbers are the kernel's own and say which directory it is. What a
 * server or a user's program numbers (FUSE, NFS, 9p) may repeat itself.
 */
static int numbers_inodes(int fd)
{
	static const uint32_t kinds[] = { TMPFS_MAGIC, EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC,
					  F2FS_SUPER_MAGIC, 0x58465342 /* XFS */ };
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if ((uint32_t)fs.f_type == kinds[i])
			return 1;
	return 0;
}

#define BASE_FIELDS (STATX_INO | STATX_TYPE | STATX_MNT_ID)

static int is_same(const struct base *base, const struct statx *st)
{
	return base->fd >= 0 && base->ino == st->stx_ino && base->mount == st->stx_mnt_id &&
	       base->major == st->stx_dev_major && base->minor == st->stx_dev_minor;
}

static void forget(struct worker *w, struct base *base)
{
	if (base->fd < 0)
		return;
	if (w->stands_in == base->fd)
		w->stands_in = -1;
	w->last.fd = -1;
	close(base->fd);
	base->fd = -1;
}

/*
 * Keep @fd in place of the oldest, until a call with two paths is done at least.
 * One that could not be told from others is never found again.
 */
static int keep(struct worker *w, int fd, const struct statx *st)
{
	struct base *base = &w->bases[w->oldest];

	forget(w, base);
	*base = (struct base){ .fd = fd, .mount = numbers_inodes(fd) ? st->stx_mnt_id : 0, .ino = st->stx_ino,
			       .major = st->stx_dev_major, .minor = st->stx_dev_minor };
	w->oldest = (w->oldest + 1) % BASES;
	return fd;
}

/* Open what @link, below /proc, leads to. */
static int open_base(const struct request *r, const char *link)
{
	int fd = openat(r->b->proc, link, O_PATH | O_CLOEXEC);
	struct statx st;

	if (fd < 0)
		return -1;
	/* Not the one we looked at before: it may have changed. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, BASE_FIELDS, &st) < 0 || !(st.stx_mask & STATX_MNT_ID) ||
	    !is_ours(r->b, st.stx_mnt_id)) {
		close(fd);
		errno = EACCES;
		return -1;
	}
	if (!S_ISDIR(st.stx_mode)) {
		close(fd);
		errno = ENOTDIR;
		return -1;
	}
	return keep(r->w, fd, &st);
}

static int find(const struct request *r, const char *link)
{
	struct statx st;

	if (statx(r->b->proc, link, AT_STATX_DONT_SYNC, BASE_FIELDS, &st) < 0)
		return -1;
	for (size_t i = 0; i < BASES; i++)
		if (is_same(&r->w->bases[i], &st))
			return r->w->bases[i].fd;
	return open_base(r, link);
}

/* Where @fd is, as the command would see it, or "". */
static void say_where(const struct request *r, int fd, char *ret_path)
{
	if (stand_in(r, fd) < 0) {	/* it may not be entered any more */
		if (fd_path(r->b, fd, ret_path) < 0)
			ret_path[0] = '\0';
		return;
	}
	if (syscall(SYS_getcwd, ret_path, (size_t)PATH_MAX) < 0 || ret_path[0] != '/')
		ret_path[0] = '\0';
}

int base_find(const struct request *r, int at, char *ret_path)
{
	struct worker *w = r->w;
	char link[48];
	int fd;

	if (w->last.fd >= 0 && w->last.id == r->n->id && w->last.at == at) {
		strcpy(ret_path, w->last.path);
		return w->last.fd;
	}
	if (at == AT_FDCWD)
		snprintf(link, sizeof(link), "%d/cwd", (int)r->tid);
	else
		snprintf(link, sizeof(link), "%d/fd/%d", (int)r->tid, at);
	fd = find(r, link);
	if (fd < 0) {
		if (errno == ENOENT)
			errno = at == AT_FDCWD ? ENOENT : EBADF;
		return -1;
	}
	say_where(r, fd, ret_path);
	w->last.id = r->n->id;
	w->last.at = at;
	w->last.fd = fd;
	strcpy(w->last.path, ret_path);
	return fd;
}
