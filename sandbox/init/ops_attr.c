/*
 * sandbox/init/ops_attr.c - length, mode, owner, times and extended attributes
 *
 * Landlock does not hold these (but truncate), so they are never continued: we
 * act on the very object that was judged, named "self/fd/N" below the host's
 * /proc, or on a copy of the caller's own descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "sandbox/init/broker.h"
#include "sandbox/init/later.h"
#include "sandbox/init/sys.h"

/* A judged object and the two ways to name it in a system call. */
struct object {
	struct request r;
	char text[PATH_MAX];
	struct place p;
	int fd;			/* O_PATH; not owned when it is p.object */
	int is_open;		/* fd is the caller's own, open for writing */
	int is_link;		/* a symbolic link itself, not what it points to */
	char link[32];		/* "self/fd/N" */
};

static void object_done(struct object *o)
{
	if (o->fd >= 0 && o->fd != o->p.object)
		close(o->fd);
	place_done(&o->p);
}

#define OBJECT(r_) __attribute__((cleanup(object_done))) struct object o = { \
	.r = *(r_), .fd = -1, .p = { .dir = -1, .object = -1 } }

static int judge_object(struct object *o, enum file_action action, struct answer *ret)
{
	const char *rule;
	struct stat st;
	int err;

	if (!target_alive(&o->r)) {
		*ret = answer_errno(EINTR);
		return 1;
	}
	if (o->p.object >= 0)
		o->fd = o->p.object;
	else
		o->fd = openat(o->p.dir, o->p.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (o->fd < 0 || fstat(o->fd, &st) < 0) {
		*ret = answer_errno(errno);
		return 1;
	}
	o->is_link = S_ISLNK(st.st_mode);
	snprintf(o->link, sizeof(o->link), "self/fd/%d", o->fd);
	/* Files the user handed over are not theirs to change; pipes, sockets and the like are, by us: let
	 * go on, the call could find another path in memory, or another file at the descriptor's number. */
	if (!o->p.zone) {
		*ret = answer_errno(EPERM);
		return o->p.path[0] == '/';
	}
	err = judge_attributes(&o->r, &o->p, &rule);
	if (!err)
		return 0;
	*ret = o->p.zone->quiet ? answer_errno(err) : refuse(&o->r, action, &o->p, rule, err);
	return 1;
}

/*
 * For nearly all: where no part is a link, the text is judged and then gone along.
 * 0 when it is not so plain, or is to be refused: the long way knows why.
 */
static int by_text(struct object *o, int at)
{
	int from = walk_text(&o->r, at, o->text, o->p.path);
	const char *rule;

	if (from < 0)
		return 0;
	o->p.zone = zone_of(o->r.b, o->p.path);
	if (judge_attributes(&o->r, &o->p, &rule) || !target_alive(&o->r))
		return 0;
	o->fd = sys_openat2(from, path_rest(o->text), O_PATH | O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS);
	if (o->fd < 0)
		return 0;
	snprintf(o->link, sizeof(o->link), "self/fd/%d", o->fd);
	return 1;
}

/* Find and judge by path. 0 to go on, 1 with the answer. */
static int by_path(struct object *o, int at, uint64_t path, unsigned int how, enum file_action action,
		   struct answer *ret)
{
	if (target_text(o->r.tid, path, o->text, sizeof(o->text)) < 0) {
		*ret = answer_errno(errno);
		return 1;
	}
	if (by_text(o, at))
		return 0;
	if ((o->r.given = o->text, walk(&o->r, at, o->text, how, 0, &o->p)) < 0) {
		*ret = answer_errno(errno);
		return 1;
	}
	return judge_object(o, action, ret);
}

/* It is in no tree, and the command's own: memfd_create(2). */
static int is_memory(const struct broker *b, int fd)
{
	char path[PATH_MAX];
	struct stat st;

	return fcntl(fd, F_GET_SEALS) >= 0 && !fstat(fd, &st) && !st.st_nlink && !fd_path(b, fd, path) &&
	       !strncmp(path, "/memfd:", strlen("/memfd:"));
}

/*
 * A file that is open for writing was judged when it was opened; its content can
 * be changed, and so may the rest, wherever it is now. Not without namespaces:
 * what the user handed over is on the same mounts there.
 */
static int is_writable(const struct broker *b, int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct statx st;

	return flags >= 0 && !(flags & O_PATH) && (flags & O_ACCMODE) != O_RDONLY && !b->bare &&
	       !statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MNT_ID, &st) &&
	       (st.stx_mask & STATX_MNT_ID) && S_ISREG(st.stx_mode) && is_ours(b, st.stx_mnt_id);
}

/* The short way, 1 when it was found: no place, no name. */
static int by_writable_fd(struct object *o, int fd)
{
	int own = target_take_own_fd(&o->r, fd);

	if (own < 0)
		return 0;
	if ((!is_writable(o->r.b, own) && !is_memory(o->r.b, own)) || !target_alive(&o->r)) {
		close(own);
		return 0;
	}
	o->fd = own;
	o->is_open = 1;
	return 1;
}

/* The same for an open descriptor of the caller. */
static int by_fd(struct object *o, int fd, enum file_action action, struct answer *ret)
{
	if (by_writable_fd(o, fd))
		return 0;
	if (target_fd_flags(&o->r, fd) < 0) {	/* none, or with O_PATH */
		*ret = answer_errno(EBADF);
		return 1;
	}
	if (walk_fd(&o->r, fd, &o->p) < 0) {
		*ret = answer_errno(errno);
		return 1;
	}
	o->r.given = o->p.path;
	return judge_object(o, action, ret);
}

/* 1 and the answer for flags the kernel would not know. */
static int bad_flags(uint64_t flags, struct answer *ret)
{
	*ret = answer_errno(EINVAL);
	return (flags & ~(uint64_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0;
}

static unsigned int how_of(uint64_t flags)
{
	return (flags & AT_SYMLINK_NOFOLLOW ? 0 : WALK_FOLLOW) | (flags & AT_EMPTY_PATH ? WALK_EMPTY : 0);
}

/* truncate(2) would wait for whoever holds a lease on the file; an open can be told not to. */
static struct answer truncate_object(const struct object *o, off_t len)
{
	const int flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	struct answer a;
	struct stat st;
	int fd;

	if (fstat(o->fd, &st) < 0)
		return answer_errno(errno);
	if (!S_ISREG(st.st_mode))
		return answer_errno(S_ISDIR(st.st_mode) ? EISDIR : EINVAL);
	fd = openat(o->r.b->proc, o->link, flags);
	if (fd < 0)
		return errno == EWOULDBLOCK ? truncate_later(&o->r, o->fd, flags, len) : answer_errno(errno);
	a = answer_result(ftruncate(fd, len));
	close(fd);
	return a;
}

struct answer do_truncate(const struct request *r, uint64_t path, uint64_t len)
{
	struct answer a;
	OBJECT(r);

	if ((off_t)len < 0)
		return answer_errno(EINVAL);
	return by_path(&o, AT_FDCWD, path, WALK_FOLLOW, ACT_WRITE_DATA, &a) ? a : truncate_object(&o, (off_t)len);
}

/* --- mode and owner --- */

static struct answer chmod_object(const struct object *o, uint64_t mode)
{
	int r;

	if (o->is_link)
		return answer_errno(EOPNOTSUPP);
	if (mode & 0111)
		workers_settle(&o->r);
	if (o->is_open)
		return answer_result(fchmod(o->fd, (mode_t)mode & 07777));
	r = sys_fchmodat2(o->fd, "", (mode_t)mode & 07777, AT_EMPTY_PATH);
	if (r < 0 && (errno == ENOSYS || errno == EINVAL))	/* before kernel 6.6 */
		r = fchmodat(o->r.b->proc, o->link, (mode_t)mode & 07777, 0);
	return answer_result(r);
}

struct answer do_chmod(const struct request *r, int at, uint64_t path, uint64_t mode, uint64_t flags)
{
	struct answer a;
	OBJECT(r);

	if (bad_flags(flags, &a) || by_path(&o, at, path, how_of(flags), ACT_WRITE_MODE, &a))
		return a;
	return chmod_object(&o, mode);
}

struct answer do_fchmod(const struct request *r, int fd, uint64_t mode)
{
	struct answer a;
	OBJECT(r);

	return by_fd(&o, fd, ACT_WRITE_MODE, &a) ? a : chmod_object(&o, mode);
}

/* An O_PATH descriptor of a link names the link itself here: AT_EMPTY_PATH never follows. */
static struct answer chown_object(const struct object *o, uint64_t uid, uint64_t gid)
{
	uint32_t our_uid, our_gid;

	if (target_id(&o->r, TARGET_USERS, (uint32_t)uid, &our_uid) < 0 ||
	    target_id(&o->r, TARGET_GROUPS, (uint32_t)gid, &our_gid) < 0)
		return answer_errno(errno);
	return answer_result(fchownat(o->fd, "", our_uid, our_gid, AT_EMPTY_PATH));
}

struct answer do_chown(const struct request *r, int at, uint64_t path, uint64_t uid, uint64_t gid, uint64_t flags)
{
	struct answer a;
	OBJECT(r);

	if (bad_flags(flags, &a) || by_path(&o, at, path, how_of(flags), ACT_WRITE_MODE, &a))
		return a;
	return chown_object(&o, uid, gid);
}

struct answer do_fchown(const struct request *r, int fd, uint64_t uid, uint64_t gid)
{
	struct answer a;
	OBJECT(r);

	return by_fd(&o, fd, ACT_WRITE_MODE, &a) ? a : chown_object(&o, uid, gid);
}

/* --- times --- */

static int read_times(pid_t tid, uint64_t addr, enum times_kind kind, struct timespec ts[2])
{
	struct timeval tv[2];
	struct utimbuf ub;

	switch (kind) {
	case TIMES_SPEC:
		return target_read(tid, addr, ts, sizeof(*ts) * 2);
	case TIMES_VAL:
		if (target_read(tid, addr, tv, sizeof(tv)) < 0)
			return -1;
		for (int i = 0; i < 2; i++) {
			if (tv[i].tv_usec < 0 || tv[i].tv_usec >= 1000000) {
				errno = EINVAL;
				return -1;
			}
			ts[i] = (struct timespec){ .tv_sec = tv[i].tv_sec, .tv_nsec = tv[i].tv_usec * 1000 };
		}
		return 0;
	case TIMES_UTIMBUF:
		if (target_read(tid, addr, &ub, sizeof(ub)) < 0)
			return -1;
		ts[0] = (struct timespec){ .tv_sec = ub.actime };
		ts[1] = (struct timespec){ .tv_sec = ub.modtime };
		return 0;
	}
	errno = EINVAL;
	return -1;
}

static int touch_object(const struct object *o, const struct timespec *ts)
{
	int r;

	if (o->is_open)
		return futimens(o->fd, ts);
	if (o->is_link && o->p.name[0])
		return utimensat(o->p.dir, o->p.name, ts, AT_SYMLINK_NOFOLLOW);
	r = utimensat(o->fd, "", ts, AT_EMPTY_PATH);
	if (r < 0 && errno == EINVAL)	/* older kernels */
		r = utimensat(o->r.b->proc, o->link, ts, 0);
	return r;
}

struct answer do_utimes(const struct request *r, int at, uint64_t path, uint64_t times, enum times_kind kind,
			uint64_t flags)
{
	struct timespec ts[2];
	struct answer a;
	OBJECT(r);

	if (bad_flags(flags, &a))
		return a;
	if (!path && at == AT_FDCWD)
		return answer_errno(EFAULT);
	if (times && read_times(r->tid, times, kind, ts) < 0)
		return answer_errno(errno);
	/* Without a path it is the descriptor's own file: futimens(3). */
	if (path ? by_path(&o, at, path, how_of(flags), ACT_WRITE_MODE, &a) :
		   by_fd(&o, at, ACT_WRITE_MODE, &a))
		return a;
	return answer_result(touch_object(&o, times ? ts : NULL));
}

/* --- extended attributes: (path or fd, name, value, size, flags) --- */

static void free_value(char **value)
{
	free(*value);
}

static struct answer set_xattr(const struct object *o)
{
	const __u64 *arg = o->r.n->data.args;
	char name[XATTR_NAME_MAX + 1];
	__attribute__((cleanup(free_value))) char *value = NULL;

	if (target_text(o->r.tid, arg[1], name, sizeof(name)) < 0)
		return answer_errno(errno == ENAMETOOLONG ? ERANGE : errno);
	if (arg[3] > XATTR_SIZE_MAX)
		return answer_errno(E2BIG);
	value = malloc(arg[3] + 1);
	if (!value)
		return answer_errno(ENOMEM);
	if (arg[3] && target_read(o->r.tid, arg[2], value, arg[3]) < 0)
		return answer_errno(errno);
	if (o->is_link)	/* user attributes are not for links, the others not for us */
		return answer_errno(EPERM);
	if (o->is_open)
		return answer_result(fsetxattr(o->fd, name, value, arg[3], (int)arg[4]));
	if (stand_in(&o->r, o->r.b->proc) < 0)
		return answer_errno(errno);
	return answer_result(setxattr(o->link, name, value, arg[3], (int)arg[4]));
}

static struct answer remove_xattr(const struct object *o)
{
	char name[XATTR_NAME_MAX + 1];

	if (target_text(o->r.tid, o->r.n->data.args[1], name, sizeof(name)) < 0)
		return answer_errno(errno == ENAMETOOLONG ? ERANGE : errno);
	if (o->is_open)
		return answer_result(fremovexattr(o->fd, name));
	if (o->is_link)
		return answer_errno(EPERM);
	return answer_result(stand_in(&o->r, o->r.b->proc) < 0 ? -1 : removexattr(o->link, name));
}

struct answer do_setxattr(const struct request *r, uint64_t path, unsigned int how)
{
	struct answer a;
	OBJECT(r);

	return by_path(&o, AT_FDCWD, path, how, ACT_WRITE_MODE, &a) ? a : set_xattr(&o);
}

struct answer do_removexattr(const struct request *r, uint64_t path, unsigned int how)
{
	struct answer a;
	OBJECT(r);

	return by_path(&o, AT_FDCWD, path, how, ACT_WRITE_MODE, &a) ? a : remove_xattr(&o);
}

struct answer do_fsetxattr(const struct request *r)
{
	struct answer a;
	OBJECT(r);

	return by_fd(&o, (int)r->n->data.args[0], ACT_WRITE_MODE, &a) ? a : set_xattr(&o);
}

struct answer do_fremovexattr(const struct request *r)
{
	struct answer a;
	OBJECT(r);

	return by_fd(&o, (int)r->n->data.args[0], ACT_WRITE_MODE, &a) ? a : remove_xattr(&o);
}
