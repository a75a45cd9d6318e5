#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "sandbox/calls.h"

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#define X32_BIT 0x40000000
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#error "sandbox/calls.c: say here which AUDIT_ARCH_ this machine is, and check the argument numbers"
#endif

/* Calls newer than Debian 12's headers; these numbers are the same on every architecture. */
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#endif
#ifndef SYS_removexattrat
#define SYS_removexattrat 466
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif
#ifndef SYS_file_setattr
#define SYS_file_setattr 469
#endif

/*
 * The flags of open(2) that can change something. O_TMPFILE proper is the bit
 * beside O_DIRECTORY; access mode 3 has both mode bits.
 */
#define OPEN_CHANGES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))

/* CLONE_NEWTIME lies in the bits clone(2) uses for the exit signal, so only unshare(2) knows it. */
#define NEW_SPACES                                                                                 \
	((uint32_t)(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |  \
		    CLONE_NEWPID | CLONE_NEWNET))
#define NEW_TIME 0x80u

#define TCP_FASTOPEN_FLAG 0x20000000u	/* MSG_FASTOPEN */

/* Written out, since each belongs to a file system whose header may be missing. */
#define DO_STI 0x5412u			/* TIOCSTI */
#define DO_LINUX 0x541cu		/* TIOCLINUX */
#define DO_SETD 0x5423u			/* TIOCSETD */
#define BTRFS_SNAP_CREATE 0x50009401u
#define BTRFS_SUBVOL_CREATE 0x5000940eu
#define BTRFS_SNAP_DESTROY 0x5000940fu
#define BTRFS_SNAP_CREATE_V2 0x50009417u
#define BTRFS_SUBVOL_CREATE_V2 0x50009418u
#define BTRFS_SNAP_DESTROY_V2 0x5000943fu
#define BCACHEFS_SUBVOL_CREATE 0x4020bc10u
#define BCACHEFS_SUBVOL_DESTROY 0x4020bc11u
#define OCFS2_REFLINK 0x40186f04u
#define VERITY_ENABLE 0x40806685u	/* FS_IOC_ENABLE_VERITY */
#define CRYPT_POLICY 0x800c6613u	/* FS_IOC_SET_ENCRYPTION_POLICY */

static const uint32_t families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
static const uint32_t only_unix[] = { AF_UNIX };
static const uint32_t inet_types[] = { SOCK_STREAM, SOCK_DGRAM };
static const uint32_t only_stream[] = { SOCK_STREAM };
static const uint32_t unix_connected[] = { SOCK_STREAM, SOCK_SEQPACKET };
static const uint32_t protocols[] = { 0, IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMPV6,
				      262 /* MPTCP */ };
static const uint32_t tcp_protocols[] = { 0, IPPROTO_TCP };
static const uint32_t fast_open[] = { TCP_FASTOPEN_FLAG };
static const uint32_t only_zero[] = { 0 };	/* NETLINK_ROUTE */

/* Flags of an inode, changed through a descriptor that was opened for reading. */
#define INODE_FLAGS 0x40086602u		/* FS_IOC_SETFLAGS */
#define INODE_XFLAGS 0x401c5820u	/* FS_IOC_FSSETXATTR */
#define INODE_VERSION 0x40087602u	/* FS_IOC_SETVERSION */

/* PER_LINUX, PER_LINUX32, UNAME26 (setarch) and ADDR_NO_RANDOMIZE (gdb) lie below. */
#define PERSONALITY_HIGHEST 0x7ffffu
#define PERSONALITY_QUERY 0xffffffffu

#define SET(s) .set = (s), .n = sizeof(s) / sizeof((s)[0])
#define EQ(a, v) { .test = CALL_EQ, .arg = (a), .value = (v) }
#define HAS(a, bits) { .test = CALL_HAS_BIT, .arg = (a), .value = (uint32_t)(bits) }
#define NOT_IN(a, s) { .test = CALL_NOT_IN, .arg = (a), SET(s) }
#define ABOVE(a, v) { .test = CALL_ABOVE, .arg = (a), .value = (v) }
#define TYPE_NOT_IN(a, s) { .test = CALL_NOT_IN, .arg = (a), .mask = 0xf, SET(s) }

/* Further rows for a protocol need to tell apart only what the first row lets pass. */
#define PROTOCOL_NOT_IN(a, s) { .test = CALL_NOT_IN, .arg = (a), .mask = 0x13f, SET(s) }

#define OPENS(c, ...) { .nr = SYS_##c, .name = #c, .kind = CALL_OPEN, .on = CALLS_FILES, .cond = { __VA_ARGS__ }, \
	.reason = "creates or opens for writing: judged by name, and Landlock grants no such right" }
#define OPENS_READ(c) { .nr = SYS_##c, .name = #c, .kind = CALL_OPEN, .on = CALLS_READS, \
	.reason = "reads are judged by name or recorded in this run" }
#define FILE_CALL(c, why) { .nr = SYS_##c, .name = #c, .kind = CALL_FILE, .on = CALLS_FILES, .reason = why }
#define BY_PATH_OR_FD(c) { .nr = SYS_##c, .name = #c, .kind = CALL_FILE, .on = CALLS_FILES, \
	.cond = { ABOVE(1, 0) }, .reason = CHANGES_ATTR }, BY_FD(c)
#define BY_FD(c) { .nr = SYS_##c, .name = #c, .kind = CALL_FILE, .on = CALLS_BY_FD, .reason = CHANGES_ATTR }
#define SOCKET_CALL(c, why) { .nr = SYS_##c, .name = #c, .kind = CALL_SOCKET, .on = CALLS_SOCKETS, .reason = why }
#define TOLD(c, e, why) { .nr = SYS_##c, .name = #c, .kind = CALL_TOLD, .err = e, .reason = why }
#define TOLD_IF(c, e, flags, why, ...) { .nr = SYS_##c, .name = #c, .kind = CALL_TOLD, .err = e, .on = flags, \
	.cond = { __VA_ARGS__ }, .reason = why }
#define QUIET(c, e, why) { .nr = SYS_##c, .name = #c, .kind = CALL_QUIET, .err = e, .reason = why }
#define QUIET_IF(c, e, why, ...) { .nr = SYS_##c, .name = #c, .kind = CALL_QUIET, .err = e, \
	.cond = { __VA_ARGS__ }, .reason = why }

#define PEER_CALL(c, ...) { .nr = SYS_##c, .name = #c, .kind = CALL_PEER, .on = CALLS_BARE, \
	.cond = { __VA_ARGS__ }, .reason = PEER }

#define MAKES_NAME "makes a name: judged by that name"
#define MOVES_NAME "moves or removes a name: both ends are judged"
#define CHANGES_ATTR "changes attributes, which Landlock does not cover"
#define MOUNTS "the view of files is the sandbox's boundary"
#define NAMESPACE "a new namespace brings rights and kernel code the sandbox takes away"
#define FOR_ROOT "administers the machine; refused so that the attempt is on record"
#define MODULES "loads code into the kernel"
#define INJECTS "puts input into a terminal, or changes how it reads it"
#define IOCTL_NAME "makes or removes a name behind Landlock's back"
#define RAW "raw and packet sockets bypass the port rules"
#define NO_NETNS "without a network namespace only TCP can be judged"
#define NO_IPCNS "without an IPC namespace it would reach what other programs share"
#define NO_MOUNT "changes a file opened for reading, and no read-only mount forbids it"
#define PEER "without a process namespace it may concern a process outside: judged by its number"
#define FASTOPEN "connects without connect(2), so past the broker; clients fall back to connecting"

/*
 * Left alone on purpose, each with its reason:
 * - ptrace, process_vm_readv, process_vm_writev, pidfd_getfd, kcmp, process_madvise:
 *   the pid namespace and Landlock's domain hold them to the run's own processes,
 *   and debuggers must work. A traced call is checked by seccomp after the tracer
 *   has had its say (Linux 4.8).
 * - name_to_handle_at: a handle is worth nothing while open_by_handle_at is refused.
 * - chdir, fchdir, execve, stat and readlink families: change no file, and trapping
 *   them costs every program.
 * - close, fork, vfork, wait4 and plain clone: nobody retries them on EINTR, so
 *   they must never wait for a notification to be read.
 * - ftruncate, fallocate, write, mmap: the descriptor was judged when it was opened.
 * - seccomp filters of the run's own: they can only take away. Of two filters that
 *   both notify, the newer wins, but one without a listener answers ENOSYS.
 * - landlock_*, prctl: likewise can only take away.
 */
/* clang-format off: one row a line reads better than one field a line */
static const struct call table[] = {
	/* --- files --- */
#ifdef SYS_open
	OPENS(open, HAS(1, OPEN_CHANGES)),
	OPENS_READ(open),
#endif
#ifdef SYS_creat
	OPENS(creat, { 0 }),
#endif
	OPENS(openat, HAS(2, OPEN_CHANGES)),
	OPENS_READ(openat),
	OPENS(openat2, { 0 }),	/* its flags are behind a pointer: always */
#ifdef SYS_mkdir
	FILE_CALL(mkdir, MAKES_NAME),
#endif
	FILE_CALL(mkdirat, MAKES_NAME),
#ifdef SYS_mknod
	FILE_CALL(mknod, MAKES_NAME),
#endif
	FILE_CALL(mknodat, MAKES_NAME),
#ifdef SYS_link
	FILE_CALL(link, MAKES_NAME),
#endif
	FILE_CALL(linkat, MAKES_NAME),
#ifdef SYS_symlink
	FILE_CALL(symlink, MAKES_NAME),
#endif
	FILE_CALL(symlinkat, MAKES_NAME),
#ifdef SYS_rename
	FILE_CALL(rename, MOVES_NAME),
#endif
#ifdef SYS_renameat
	FILE_CALL(renameat, MOVES_NAME),
#endif
	FILE_CALL(renameat2, MOVES_NAME),
#ifdef SYS_unlink
	FILE_CALL(unlink, MOVES_NAME),
#endif
	FILE_CALL(unlinkat, MOVES_NAME),
#ifdef SYS_rmdir
	FILE_CALL(rmdir, MOVES_NAME),
#endif
	FILE_CALL(truncate, "changes a file's content by name"),
#ifdef SYS_chmod
	FILE_CALL(chmod, CHANGES_ATTR),
#endif
	BY_FD(fchmod),
	{ .nr = SYS_fchmod, .name = "fchmod", .kind = CALL_FILE, .on = CALLS_FILES, .cond = { HAS(1, 0111) },
	  .reason = "makes a program, which nobody may have open for writing when it is executed: the broker waits for itself" },
	FILE_CALL(fchmodat, CHANGES_ATTR),
	FILE_CALL(fchmodat2, CHANGES_ATTR),
#ifdef SYS_chown
	FILE_CALL(chown, CHANGES_ATTR),
#endif
#ifdef SYS_lchown
	FILE_CALL(lchown, CHANGES_ATTR),
#endif
	BY_FD(fchown),
	FILE_CALL(fchownat, CHANGES_ATTR),
#ifdef SYS_utime
	FILE_CALL(utime, CHANGES_ATTR),
#endif
#ifdef SYS_utimes
	FILE_CALL(utimes, CHANGES_ATTR),
#endif
#ifdef SYS_futimesat
	BY_PATH_OR_FD(futimesat),
#endif
	BY_PATH_OR_FD(utimensat),	/* with a NULL path it is futimens(3) */
	FILE_CALL(setxattr, CHANGES_ATTR),
	FILE_CALL(lsetxattr, CHANGES_ATTR),
	BY_FD(fsetxattr),
	FILE_CALL(setxattrat, CHANGES_ATTR),
	FILE_CALL(removexattr, CHANGES_ATTR),
	FILE_CALL(lremovexattr, CHANGES_ATTR),
	BY_FD(fremovexattr),
	FILE_CALL(umask, "the broker makes files with the caller's umask and must hear when it changes"),
	FILE_CALL(removexattrat, CHANGES_ATTR),
	QUIET(file_setattr, ENOSYS, "changes attributes in a new way; tools fall back to the old one"),

	/* --- file systems that make names by ioctl on a directory opened for reading --- */
	TOLD_IF(ioctl, EPERM, 0, IOCTL_NAME, EQ(1, BTRFS_SNAP_CREATE)),
	TOLD_IF(ioctl, EPERM, 0, IOCTL_NAME, EQ(1, BTRFS_SNAP_CREATE_V2)),
	TOLD_IF(ioctl, EPERM, 0, IOCTL_NAME, EQ(1, BTRFS_SUBVOL_CREATE)),
	TOLD_IF(ioctl, EPERM, 0, IOCTL_NAME, EQ(1, BTRFS_SUBVOL_CREATE_V2)),
	TOLD_IF(ioctl, EPERM, 0, IOCTL_NAME, EQ(1, BTRFS_SNAP_DESTROY)),
	TOLD_IF(ioctl, EPERM, 0, IOCTL_NAME, EQ(1, BTRFS_SNAP_DESTROY_V2)),
	TOLD_IF(ioctl, EPERM, 0, IOCTL_NAME, EQ(1, BCACHEFS_SUBVOL_CREATE)),
	TOLD_IF(ioctl, EPERM, 0, IOCTL_NAME, EQ(1, BCACHEFS_SUBVOL_DESTROY)),
	TOLD_IF(ioctl, EPERM, 0, IOCTL_NAME, EQ(1, OCFS2_REFLINK)),
	TOLD_IF(ioctl, EPERM, 0, "freezes a file's content for good", EQ(1, VERITY_ENABLE)),
	TOLD_IF(ioctl, EPERM, 0, "encrypts a directory for good", EQ(1, CRYPT_POLICY)),
	TOLD_IF(ioctl, EPERM, CALLS_BARE, NO_MOUNT, EQ(1, INODE_FLAGS)),
	TOLD_IF(ioctl, EPERM, CALLS_BARE, NO_MOUNT, EQ(1, INODE_XFLAGS)),
	TOLD_IF(ioctl, EPERM, CALLS_BARE, NO_MOUNT, EQ(1, INODE_VERSION)),
	/* --- terminals; the kernel reads the command as 32 bits, and so do we --- */
	TOLD_IF(ioctl, EPERM, 0, INJECTS, EQ(1, DO_STI)),
	TOLD_IF(ioctl, EPERM, 0, INJECTS, EQ(1, DO_LINUX)),
	TOLD_IF(ioctl, EPERM, 0, INJECTS, EQ(1, DO_SETD)),

	/* --- sockets --- */
	SOCKET_CALL(bind, "may make a name, or take a port: judged by address"),
	SOCKET_CALL(connect, "reaches out: judged by address and done by the broker"),
	QUIET_IF(sendto, EOPNOTSUPP, FASTOPEN, HAS(3, TCP_FASTOPEN_FLAG)),
	{ .nr = SYS_sendto, .name = "sendto", .kind = CALL_SOCKET, .on = CALLS_SOCKETS,
	  .cond = { ABOVE(4, 0), { .test = CALL_NOT_IN, .arg = 3, .mask = TCP_FASTOPEN_FLAG, SET(fast_open) } },
	  .reason = "names its peer, so a datagram that leads nowhere is told with who sent it" },
	QUIET_IF(sendmsg, EOPNOTSUPP, FASTOPEN, HAS(2, TCP_FASTOPEN_FLAG)),
	QUIET_IF(sendmmsg, EOPNOTSUPP, FASTOPEN, HAS(3, TCP_FASTOPEN_FLAG)),
	TOLD_IF(socket, EAFNOSUPPORT, 0, "this socket family has no use in a run, and leads to the host or the kernel",
		NOT_IN(0, families)),
	TOLD_IF(socket, EPROTONOSUPPORT, 0, "rare protocols load kernel modules", NOT_IN(2, protocols)),
	TOLD_IF(socket, EPROTONOSUPPORT, 0, "only routing netlink is needed, to list addresses", EQ(0, AF_NETLINK),
		PROTOCOL_NOT_IN(2, only_zero)),
	TOLD_IF(socket, EPERM, 0, RAW, EQ(0, AF_INET), TYPE_NOT_IN(1, inet_types)),
	TOLD_IF(socket, EPERM, 0, RAW, EQ(0, AF_INET6), TYPE_NOT_IN(1, inet_types)),
	TOLD_IF(socket, EPERM, CALLS_TCP_ONLY, NO_NETNS, EQ(0, AF_INET), TYPE_NOT_IN(1, only_stream)),
	TOLD_IF(socket, EPERM, CALLS_TCP_ONLY, NO_NETNS, EQ(0, AF_INET6), TYPE_NOT_IN(1, only_stream)),
	TOLD_IF(socket, EPROTONOSUPPORT, CALLS_TCP_ONLY, NO_NETNS, EQ(0, AF_INET), PROTOCOL_NOT_IN(2, tcp_protocols)),
	TOLD_IF(socket, EPROTONOSUPPORT, CALLS_TCP_ONLY, NO_NETNS, EQ(0, AF_INET6), PROTOCOL_NOT_IN(2, tcp_protocols)),
	/* AF_UNIX turns SOCK_RAW into SOCK_DGRAM, so name the good ones. */
	TOLD_IF(socket, ESOCKTNOSUPPORT, CALLS_NO_UNIX_DGRAM, "a datagram names its peer where no filter can see it",
		EQ(0, AF_UNIX), TYPE_NOT_IN(1, unix_connected)),
	{ .nr = SYS_listen, .name = "listen", .kind = CALL_SOCKET, .on = CALLS_BARE,
	  .reason = "an unbound socket would listen on every address: done by the broker, on loopback" },
	TOLD_IF(socketpair, EAFNOSUPPORT, 0, "only Unix socket pairs have a use", NOT_IN(0, only_unix)),

	/* --- namespaces and mounts --- */
	QUIET(clone3, ENOSYS, "its flags are behind a pointer; libc falls back to clone, on every thread"),
	TOLD_IF(clone, EPERM, 0, NAMESPACE, HAS(0, NEW_SPACES)),
	TOLD_IF(unshare, EPERM, 0, NAMESPACE, HAS(0, NEW_SPACES | NEW_TIME)),
	TOLD(setns, EPERM, NAMESPACE),
	TOLD(mount, EPERM, MOUNTS),
	TOLD(umount2, EPERM, MOUNTS),
	TOLD(pivot_root, EPERM, MOUNTS),
	TOLD(chroot, EPERM, MOUNTS),
	TOLD(move_mount, EPERM, MOUNTS),
	TOLD(open_tree, EPERM, MOUNTS),
	TOLD(open_tree_attr, EPERM, MOUNTS),
	TOLD(fsopen, EPERM, MOUNTS),
	TOLD(fsconfig, EPERM, MOUNTS),
	TOLD(fsmount, EPERM, MOUNTS),
	TOLD(fspick, EPERM, MOUNTS),
	TOLD(mount_setattr, EPERM, MOUNTS),
	TOLD(open_by_handle_at, EPERM, "opens a file past every name"),
	TOLD(fanotify_init, EPERM, "watches whole file systems, other runs' included"),

	/* --- what process and IPC namespaces hold where there are any --- */
	TOLD_IF(shmget, EPERM, CALLS_BARE, NO_IPCNS, { 0 }),
	TOLD_IF(shmat, EPERM, CALLS_BARE, NO_IPCNS, { 0 }),
	TOLD_IF(shmctl, EPERM, CALLS_BARE, NO_IPCNS, { 0 }),
	TOLD_IF(semget, EPERM, CALLS_BARE, NO_IPCNS, { 0 }),
	TOLD_IF(semop, EPERM, CALLS_BARE, NO_IPCNS, { 0 }),
	TOLD_IF(semtimedop, EPERM, CALLS_BARE, NO_IPCNS, { 0 }),
	TOLD_IF(semctl, EPERM, CALLS_BARE, NO_IPCNS, { 0 }),
	TOLD_IF(msgget, EPERM, CALLS_BARE, NO_IPCNS, { 0 }),
	TOLD_IF(msgsnd, EPERM, CALLS_BARE, NO_IPCNS, { 0 }),
	TOLD_IF(msgrcv, EPERM, CALLS_BARE, NO_IPCNS, { 0 }),
	TOLD_IF(msgctl, EPERM, CALLS_BARE, NO_IPCNS, { 0 }),
	TOLD_IF(mq_open, EPERM, CALLS_BARE, NO_IPCNS, { 0 }),
	TOLD_IF(mq_unlink, EPERM, CALLS_BARE, NO_IPCNS, { 0 }),
	PEER_CALL(prlimit64, ABOVE(0, 0)),
	PEER_CALL(sched_setaffinity, ABOVE(0, 0)),
	PEER_CALL(sched_setscheduler, ABOVE(0, 0)),
	PEER_CALL(sched_setparam, ABOVE(0, 0)),
	PEER_CALL(sched_setattr, ABOVE(0, 0)),
	PEER_CALL(setpriority, ABOVE(0, 0)),	/* a group's or a user's */
	PEER_CALL(setpriority, ABOVE(1, 0)),
	PEER_CALL(ioprio_set, { 0 }),
	{ .nr = SYS_prctl, .name = "prctl", .kind = CALL_PEER, .on = CALLS_BARE,
	  .cond = { EQ(0, 4 /* PR_SET_DUMPABLE */), EQ(1, 0) },
	  .reason = "the broker could not look at the caller any more: answered as done, and not done" },

	/* --- kernel code a run has no business with --- */
	QUIET(io_uring_setup, ENOSYS, "its operations pass no filter; every Node start probes it, so no record"),
	QUIET(io_uring_enter, ENOSYS, "its operations pass no filter"),
	QUIET(io_uring_register, ENOSYS, "its operations pass no filter"),
	TOLD(bpf, EPERM, "runs code in the kernel"),
	TOLD(perf_event_open, EACCES, "a large kernel surface; the kernel's own refusal has this errno"),
	TOLD(userfaultfd, EPERM, "stops kernel threads where an attacker wants them"),
	TOLD(keyctl, EPERM, "key rings are not part of any namespace"),
	TOLD(add_key, EPERM, "key rings are not part of any namespace"),
	TOLD(request_key, EPERM, "key rings are not part of any namespace"),
	TOLD_IF(seccomp, EBUSY, 0, "a second listener would be asked before the broker; the kernel says busy too",
		EQ(0, SECCOMP_SET_MODE_FILTER), HAS(1, SECCOMP_FILTER_FLAG_NEW_LISTENER)),
	{ .nr = SYS_personality, .name = "personality", .kind = CALL_PASS, .cond = { EQ(0, PERSONALITY_QUERY) },
	  .reason = "only asks" },
	TOLD_IF(personality, EPERM, 0, "old execution domains weaken memory protection", ABOVE(0, PERSONALITY_HIGHEST)),
#ifdef SYS_modify_ldt
	TOLD(modify_ldt, ENOSYS, "16-bit segments, a source of kernel bugs"),
#endif
	TOLD(init_module, EPERM, MODULES),
	TOLD(finit_module, EPERM, MODULES),
	TOLD(delete_module, EPERM, MODULES),
	TOLD(kexec_load, EPERM, MODULES),
#ifdef SYS_kexec_file_load
	TOLD(kexec_file_load, EPERM, MODULES),
#endif
#ifdef SYS_iopl
	TOLD(iopl, EPERM, "reaches hardware"),
	TOLD(ioperm, EPERM, "reaches hardware"),
#endif

	/* --- the machine's own settings: refused by the kernel too, told by us --- */
	TOLD(reboot, EPERM, FOR_ROOT),
	TOLD(swapon, EPERM, FOR_ROOT),
	TOLD(swapoff, EPERM, FOR_ROOT),
	TOLD(acct, EPERM, FOR_ROOT),
	TOLD(quotactl, EPERM, FOR_ROOT),
	TOLD(quotactl_fd, EPERM, FOR_ROOT),
	TOLD(syslog, EPERM, "reads the kernel's log, with addresses in it"),
	TOLD(settimeofday, EPERM, FOR_ROOT),
	TOLD(clock_settime, EPERM, FOR_ROOT),
	TOLD(adjtimex, EPERM, FOR_ROOT),
	TOLD(clock_adjtime, EPERM, FOR_ROOT),
	TOLD(sethostname, EPERM, FOR_ROOT),
	TOLD(setdomainname, EPERM, FOR_ROOT),
	TOLD(vhangup, EPERM, FOR_ROOT),
#ifdef SYS_lookup_dcookie
	TOLD(lookup_dcookie, EPERM, FOR_ROOT),
#endif
#ifdef SYS_nfsservctl
	TOLD(nfsservctl, ENOSYS, "gone from the kernel"),
#endif
#ifdef SYS_uselib
	TOLD(uselib, ENOSYS, "maps code past execve(2); gone from most kernels"),
#endif
#ifdef SYS__sysctl
	TOLD(_sysctl, ENOSYS, "gone from the kernel"),
#endif
};
/* clang-format on */

static const struct call foreign = {
	.nr = -1, .name = "foreign-abi", .kind = CALL_TOLD, .err = ENOSYS,
	.reason = "system calls of another architecture have other numbers, so no rule would fit them",
};

const struct call *calls_table(size_t *ret_n)
{
	*ret_n = sizeof(table) / sizeof(table[0]);
	return table;
}

uint32_t call_arch(void)
{
	return OUR_ARCH;
}

static int is_in(const struct call_cond *cond, uint64_t v)
{
	for (size_t i = 0; i < cond->n; i++)
		if (v == cond->set[i])
			return 1;
	return 0;
}

int call_holds(const struct call_cond *cond, const uint64_t args[6])
{
	uint64_t whole = args[cond->arg];
	uint32_t v = (uint32_t)whole & (cond->mask ? cond->mask : UINT32_MAX);

	switch (cond->test) {
	case CALL_EQ:
		return v == cond->value;
	case CALL_HAS_BIT:
		return (v & cond->value) != 0;
	case CALL_NOT_IN:
		return !is_in(cond, cond->mask ? v : whole);
	case CALL_ABOVE:
		return whole > cond->value;
	case CALL_ANY_ARG:
		break;
	}
	return 1;
}

const struct call *call_find(unsigned int flags, uint32_t arch, int nr, const uint64_t args[6])
{
	if (arch != OUR_ARCH)
		return &foreign;
#ifdef X32_BIT
	if (nr >= X32_BIT)
		return &foreign;
#endif
	for (const struct call *c = table; c < table + sizeof(table) / sizeof(table[0]); c++) {
		if (c->nr != nr || (c->on && !(c->on & flags)))
			continue;
		if (call_holds(&c->cond[0], args) && call_holds(&c->cond[1], args))
			return c;
	}
	return NULL;
}
