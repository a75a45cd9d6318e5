/*
 * sandbox/init/sys.h - kernel interfaces newer than the C library's headers
 *
 * Numbers and layouts from the kernel's own uapi headers; the kernel keeps them
 * for ever. Each wrapper returns as the system call does: -1 and errno.
 */
#ifndef SANDBOX_INIT_SYS_H
#define SANDBOX_INIT_SYS_H

#include <stdint.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1)
#endif

/* From kernel 6.6: the notifying and the answering side wake each other on one processor. */
#define NOTIF_SET_FLAGS _IOW('!', 4, uint64_t)
#define NOTIF_SYNC_WAKE_UP 1UL

/* Landlock rights by the ABI that brought them. */
#define LL_TRUNCATE (1ULL << 14)	/* 3 */
#define LL_IOCTL_DEV (1ULL << 15)	/* 5 */
#define LL_ABI1_ALL ((1ULL << 13) - 1)
#define LL_REFER (1ULL << 13)		/* 2 */
#define LL_BARE_ABI 6			/* without namespaces: TCP from 4, signals and abstract sockets from 6 */
#define LL_NET_BIND (1ULL << 0)		/* 4 */
#define LL_NET_CONNECT (1ULL << 1)	/* 4 */
#define LL_SCOPE_ABSTRACT (1ULL << 0)	/* 6 */
#define LL_SCOPE_SIGNAL (1ULL << 1)	/* 6 */

struct ll_ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;	/* from ABI 4 */
	uint64_t scoped;		/* from ABI 6 */
};

static inline int sys_landlock_create(const struct ll_ruleset_attr *attr, size_t size, uint32_t flags)
{
	return (int)syscall(444, attr, size, flags);
}

static inline int sys_landlock_add(int ruleset, uint64_t access, int parent_fd)
{
	struct landlock_path_beneath_attr a = { .allowed_access = access, .parent_fd = parent_fd };

	return (int)syscall(445, ruleset, LANDLOCK_RULE_PATH_BENEATH, &a, 0);
}

static inline int sys_landlock_restrict(int ruleset)
{
	return (int)syscall(446, ruleset, 0);
}

static inline int sys_openat2(int dirfd, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
	struct open_how how = { .flags = flags, .mode = mode, .resolve = resolve };

	return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
}

static inline int sys_pidfd_getfd(int pidfd, int fd)
{
	return (int)syscall(438, pidfd, fd, 0);
}

static inline int sys_fchmodat2(int dirfd, const char *path, mode_t mode, int flags)
{
	return (int)syscall(452, dirfd, path, mode, flags);
}

#define PIDFD_OF_THREAD O_EXCL	/* PIDFD_THREAD, from 6.9 */

static inline int sys_close_range(unsigned int first, unsigned int last, unsigned int flags)
{
	return (int)syscall(436, first, last, flags);
}

/* mount(2)'s newer family: work on a descriptor before anything is in place. */
#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#define OPEN_TREE_CLOEXEC O_CLOEXEC
#endif
#ifndef MOVE_MOUNT_F_EMPTY_PATH
#define MOVE_MOUNT_F_EMPTY_PATH 4
#endif
#ifndef MOUNT_ATTR_RDONLY
#define MOUNT_ATTR_RDONLY 1
#endif

struct mount_attr_ro {
	uint64_t attr_set, attr_clr, propagation, userns_fd;
};

static inline int sys_open_tree(int dir, const char *path, unsigned int flags)
{
	return (int)syscall(428, dir, path, flags);
}

static inline int sys_move_mount(int from, const char *from_path, int to, const char *to_path, unsigned int flags)
{
	return (int)syscall(429, from, from_path, to, to_path, flags);
}

static inline int sys_mount_setattr(int fd, const char *path, unsigned int flags, const struct mount_attr_ro *attr)
{
	return (int)syscall(442, fd, path, flags, attr, sizeof(*attr));
}

#endif
