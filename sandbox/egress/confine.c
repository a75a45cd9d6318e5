#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "sandbox/egress/confine.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif

/* A thousand tunnels take 100 MB at their worst; a leak is to end this process, not the machine. */
#define HELPER_MEMORY ((rlim_t)1 << 30)
#define RESOLVER_MEMORY ((rlim_t)256 << 20)
#define RESOLVER_FILES 256

/* A terminal's Ctrl-C is for the command; the helper ends when its supervisor does. */
static const int ignored[] = { SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU };

/* --- system calls --- */

enum who { HELPER = 1, RESOLVER = 2, BOTH = 3, UNIX_HELPER = 4 /* with CONFINE_UNIX */ };

/* A condition on one argument: (argument & mask) == value. */
struct cond {
	unsigned int arg;
	uint64_t mask, value;
};

#define ALL ((uint64_t)0xffffffff)
#define IS(arg, value) { arg, ALL, (uint64_t)(value) }
#define CLEAR(arg, mask) { arg, mask, 0 }
#define CALL(name) SCMP_SYS(name)

/* No entry of the table may be a way to a file, a program or another process. */
struct row {
	int call;
	unsigned int who;
	struct cond cond;	/* mask 0: none */
	const char *why;
};

static const struct row allowed[] = {
	/* connections */
	{ CALL(socket), BOTH, IS(0, AF_INET), "hosts outside" },
	{ CALL(socket), BOTH, IS(0, AF_INET6), "hosts outside" },
	{ CALL(socket), RESOLVER, IS(0, AF_UNIX), "name services of the host" },
	{ CALL(socket), RESOLVER, IS(0, AF_NETLINK), "which families this host has" },
	{ CALL(socket), UNIX_HELPER, IS(0, AF_UNIX), "a proxy that listens on a path" },
	{ CALL(socketpair), HELPER, IS(1, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC), "streams of HTTP/2; it leads nowhere else" },
	{ CALL(connect), BOTH, { 0 }, "dial" },
	{ CALL(bind), BOTH, { 0 }, "published ports; the resolver's source ports" },
	{ CALL(listen), HELPER, { 0 }, "published ports" },
	{ CALL(accept4), HELPER, { 0 }, "clients" },
	{ CALL(getsockname), BOTH, { 0 }, "dial: is it an address of this host?" },
	{ CALL(getpeername), BOTH, { 0 }, "dial: met itself" },
	{ CALL(getsockopt), BOTH, { 0 }, "SO_ERROR" },
	{ CALL(setsockopt), BOTH, { 0 }, "TCP_NODELAY and kin" },
	{ CALL(shutdown), BOTH, { 0 }, "half-close" },
	{ CALL(recvfrom), BOTH, { 0 }, "bytes" },
	{ CALL(recvmsg), BOTH, { 0 }, "bytes; what comes with a message of the supervisor" },
	{ CALL(recvmmsg), BOTH, { 0 }, "bytes" },
	{ CALL(sendto), BOTH, { 0 }, "bytes" },
	{ CALL(sendmsg), BOTH, { 0 }, "bytes" },
	{ CALL(sendmmsg), BOTH, { 0 }, "bytes; two questions to a name server at once" },
	{ CALL(read), BOTH, { 0 }, "bytes" },
	{ CALL(readv), BOTH, { 0 }, "bytes" },
	{ CALL(write), BOTH, { 0 }, "bytes; words to stderr" },
	{ CALL(writev), BOTH, { 0 }, "bytes; words to stderr" },
	{ CALL(splice), HELPER, { 0 }, "tunnels" },
	{ CALL(pipe2), BOTH, { 0 }, "tunnels; the loop" },
	{ CALL(close), BOTH, { 0 }, "descriptors" },
	{ CALL(dup), BOTH, { 0 }, "descriptors" },
	{ CALL(fcntl), BOTH, { 0 }, "O_NONBLOCK, pipe sizes" },
	{ CALL(ioctl), BOTH, IS(1, FIONBIO), "the loop" },
	{ CALL(ioctl), BOTH, IS(1, FIONREAD), "how much waits" },
	{ CALL(ioctl), BOTH, IS(1, SIOCOUTQ), "has the client got every byte?" },
	/* waiting */
	{ CALL(epoll_create1), BOTH, { 0 }, "the loop" },
	{ CALL(epoll_ctl), BOTH, { 0 }, "the loop" },
	{ CALL(epoll_wait), BOTH, { 0 }, "the loop" },
	{ CALL(epoll_pwait), BOTH, { 0 }, "the loop" },
	{ CALL(eventfd2), BOTH, { 0 }, "the loop" },
	{ CALL(poll), BOTH, { 0 }, "waiting for the supervisor; for a name server" },
	{ CALL(ppoll), BOTH, { 0 }, "the same on other machines" },
	{ CALL(nanosleep), BOTH, { 0 }, "waiting" },
	{ CALL(clock_nanosleep), BOTH, { 0 }, "waiting" },
	{ CALL(restart_syscall), BOTH, { 0 }, "waiting, behind a stop" },
	{ CALL(futex), BOTH, { 0 }, "locks" },
	{ CALL(sched_yield), BOTH, { 0 }, "locks" },
	/* memory, never executable in the helper */
	{ CALL(mmap), HELPER, CLEAR(2, PROT_EXEC), "memory" },
	{ CALL(mprotect), HELPER, CLEAR(2, PROT_EXEC), "memory" },
	{ CALL(mmap), RESOLVER, { 0 }, "memory; libraries of name services" },
	{ CALL(mprotect), RESOLVER, { 0 }, "the same" },
	{ CALL(munmap), BOTH, { 0 }, "memory" },
	{ CALL(mremap), BOTH, { 0 }, "memory" },
	{ CALL(madvise), BOTH, { 0 }, "memory" },
	{ CALL(brk), BOTH, { 0 }, "memory" },
	{ CALL(mlock), HELPER, { 0 }, "secrets" },
	{ CALL(munlock), HELPER, { 0 }, "secrets" },
	/* the clock and the process itself */
	{ CALL(clock_gettime), BOTH, { 0 }, "time-outs, where the vdso has none" },
	{ CALL(clock_getres), BOTH, { 0 }, "the loop" },
	{ CALL(gettimeofday), BOTH, { 0 }, "certificates" },
	{ CALL(time), BOTH, { 0 }, "certificates" },
	{ CALL(getrandom), BOTH, { 0 }, "keys, hash seeds" },
	{ CALL(getpid), BOTH, { 0 }, "libraries" },
	{ CALL(gettid), BOTH, { 0 }, "libraries" },
	{ CALL(uname), RESOLVER, { 0 }, "libraries" },
	{ CALL(rt_sigaction), BOTH, { 0 }, "the loop" },
	{ CALL(rt_sigprocmask), BOTH, { 0 }, "the loop" },
	{ CALL(rt_sigreturn), BOTH, { 0 }, "the loop" },
	{ CALL(sigaltstack), BOTH, { 0 }, "libraries" },
	{ CALL(exit), BOTH, { 0 }, "the end" },
	{ CALL(exit_group), BOTH, { 0 }, "the end" },
	/* what look-ups need beyond that */
	{ CALL(openat), RESOLVER, CLEAR(2, O_ACCMODE | O_CREAT | O_TRUNC), "/etc/hosts and kin, to read" },
	{ CALL(open), RESOLVER, CLEAR(1, O_ACCMODE | O_CREAT | O_TRUNC), "the same" },
	{ CALL(fstat), RESOLVER, { 0 }, "has it changed?" },
	{ CALL(stat), RESOLVER, { 0 }, "has it changed?" },
	{ CALL(newfstatat), RESOLVER, { 0 }, "has it changed?" },
	{ CALL(statx), RESOLVER, { 0 }, "has it changed?" },
	{ CALL(access), RESOLVER, { 0 }, "the loader" },
	{ CALL(faccessat), RESOLVER, { 0 }, "the loader" },
	{ CALL(readlink), RESOLVER, { 0 }, "the loader" },
	{ CALL(readlinkat), RESOLVER, { 0 }, "the loader" },
	{ CALL(lseek), RESOLVER, { 0 }, "reading lines" },
	{ CALL(pread64), RESOLVER, { 0 }, "the loader" },
	{ CALL(clone), RESOLVER, { 0, CLONE_THREAD, CLONE_THREAD }, "threads" },
	{ CALL(set_robust_list), RESOLVER, { 0 }, "threads" },
	{ CALL(rseq), RESOLVER, { 0 }, "threads" },
	{ CALL(prctl), RESOLVER, IS(0, PR_SET_NAME), "threads" },
	{ CALL(sched_getaffinity), RESOLVER, { 0 }, "threads" },
	{ CALL(sched_getparam), RESOLVER, { 0 }, "threads" },
	{ CALL(sched_getscheduler), RESOLVER, { 0 }, "threads" },
	{ CALL(prlimit64), RESOLVER, CLEAR(2, UINT64_MAX), "the size of a thread's stack" },
};

/* Nothing here makes these calls: who does is an attacker, and the run ends. */
static const int deadly[] = {
	CALL(execve), CALL(execveat), CALL(ptrace), CALL(process_vm_readv), CALL(process_vm_writev),
	CALL(pidfd_getfd), CALL(pidfd_open), CALL(kcmp), CALL(bpf), CALL(userfaultfd), CALL(perf_event_open),
	CALL(io_uring_setup), CALL(io_uring_enter), CALL(io_uring_register), CALL(keyctl), CALL(add_key),
	CALL(request_key), CALL(mount), CALL(umount2), CALL(pivot_root), CALL(chroot), CALL(unshare), CALL(setns),
	CALL(init_module), CALL(finit_module), CALL(kexec_load), CALL(personality), CALL(open_by_handle_at),
	CALL(vfork), CALL(fork), CALL(tkill), CALL(kill), CALL(setuid), CALL(setresuid), CALL(seccomp),
};

static void own_filter(scmp_filter_ctx *ctx)
{
	if (*ctx)
		seccomp_release(*ctx);
}

static int add_row(scmp_filter_ctx ctx, const struct row *r)
{
	const struct scmp_arg_cmp cmp = SCMP_CMP64(r->cond.arg, SCMP_CMP_MASKED_EQ, r->cond.mask, r->cond.value);

	return seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, r->call, r->cond.mask ? 1 : 0, &cmp);
}

/* 0, or an errno below zero as libseccomp has it. */
static int build(scmp_filter_ctx ctx, unsigned int who)
{
	int r = 0;

	for (size_t i = 0; !r && i < ARRAY_LEN(allowed); i++)
		if (allowed[i].who & who)
			r = add_row(ctx, &allowed[i]);
	for (size_t i = 0; !r && i < ARRAY_LEN(deadly); i++)
		r = seccomp_rule_add_array(ctx, SCMP_ACT_KILL_PROCESS, deadly[i], 0, NULL);
	/* The C library then makes a thread with clone(2), whose flags can be seen. */
	if (!r)
		r = seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO(ENOSYS), CALL(clone3), 0, NULL);
	return r;
}

static int filter_calls(unsigned int who, struct err *err)
{
	OWN(filter) scmp_filter_ctx ctx = HAS_SANITIZER ? NULL : seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r;

	if (HAS_SANITIZER)
		return 0;
	if (!ctx)
		return err_set(err, ERR_NOMEM, 0, "egress: out of memory for the system call filter");
	/* Another ABI of this machine would be another table. */
	r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (!r)
		r = build(ctx, who);
	if (!r)
		r = seccomp_load(ctx);
	return r ? err_set(err, ERR_SYS, -r, "egress: cannot filter system calls") : 0;
}

/* --- files --- */

#define READS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

/* Where name services keep their settings, their libraries and their answers. */
static const char *const resolver_reads[] = {
	"/etc", "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/misc", "/nix/store", "/gnu/store",
	"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/nscd", "/var/run/nscd",
	"/var/lib/sss", "/dev/urandom", "/proc/sys/net",
};

static void let_read(int ruleset, const char *path)
{
	OWN(fd) int fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = { .allowed_access = READS, .parent_fd = fd };

	if (fd < 0)
		return;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 && errno == EINVAL) {
		rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE;	/* it is no directory */
		syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	}
}

/* The file a link leads to may lie anywhere, and is written anew beside itself when networks change. */
static void let_read_resolv_conf(int ruleset)
{
	OWN(mem) char *file = path_resolve("/etc/resolv.conf");
	OWN(mem) char *dir = file ? path_parent(file) : NULL;

	if (dir && strcmp(dir, "/"))
		let_read(ruleset, dir);
}

/* All file rights this kernel knows; none is granted but to read @paths. */
static int restrict_files(const char *const *paths, size_t n, struct err *err)
{
	static const unsigned int rights[] = { 0, 13, 14, 15, 15, 16 };	/* landlock(7): how many in each ABI */
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_ruleset_attr attr = { 0 };
	OWN(fd) int ruleset = -1;

	if (abi <= 0)	/* the filter stands alone */
		return 0;
	attr.handled_access_fs = (1ull << rights[abi < 5 ? abi : 5]) - 1;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr.handled_access_fs), 0);
	if (ruleset < 0)
		return err_set(err, ERR_SYS, errno, "egress: cannot restrict files");
	for (size_t i = 0; i < n; i++)
		let_read(ruleset, paths[i]);
	if (n)
		let_read_resolv_conf(ruleset);
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return err_set(err, ERR_SYS, errno, "egress: cannot restrict files");
	return 0;
}

/* --- the process --- */

static int close_others(int keep_fd)
{
	if (keep_fd > 3 && close_range(3, (unsigned int)keep_fd - 1, 0) < 0)
		return -1;
	return close_range((unsigned int)(keep_fd < 3 ? 3 : keep_fd + 1), ~0U, 0);
}

static int limit(int resource, rlim_t most)
{
	struct rlimit l;

	if (getrlimit((__rlimit_resource_t)resource, &l) < 0)
		return -1;
	if (l.rlim_max > most)
		l.rlim_max = most;
	l.rlim_cur = l.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &l);
}

static int die_with_parent(void)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int confine_start(int keep_fd, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		signal(ignored[i], SIG_IGN);
	if (close_others(keep_fd) < 0)
		return err_set(err, ERR_SYS, errno, "egress: cannot close inherited descriptors");
	if (limit(RLIMIT_NOFILE, RLIM_INFINITY) < 0 || limit(RLIMIT_CORE, 0) < 0)
		return err_set(err, ERR_SYS, errno, "egress: cannot set limits");
	if (die_with_parent() < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(err, ERR_SYS, errno, "egress: cannot confine this process");
	if (chdir("/") < 0)
		return err_set(err, ERR_SYS, errno, "egress: cannot leave the current directory");
	return 0;
}

int confine_serve(unsigned int needs, struct err *err)
{
	if (!HAS_SANITIZER && limit(RLIMIT_DATA, HELPER_MEMORY) < 0)
		return err_set(err, ERR_SYS, errno, "egress: cannot limit memory");
	if (restrict_files(NULL, 0, err) < 0)
		return -1;
	return filter_calls(HELPER | (needs & CONFINE_UNIX ? UNIX_HELPER : 0), err);
}

int confine_resolver(int keep_fd, struct err *err)
{
	/* A fork forgets whom it dies with. */
	if (die_with_parent() < 0 || close_others(keep_fd) < 0)
		return err_set(err, ERR_SYS, errno, "egress: cannot confine the resolver");
	if (limit(RLIMIT_NOFILE, RESOLVER_FILES) < 0 || (!HAS_SANITIZER && limit(RLIMIT_DATA, RESOLVER_MEMORY) < 0))
		return err_set(err, ERR_SYS, errno, "egress: cannot limit the resolver");
	if (restrict_files(resolver_reads, ARRAY_LEN(resolver_reads), err) < 0)
		return -1;
	return filter_calls(RESOLVER, err);
}
