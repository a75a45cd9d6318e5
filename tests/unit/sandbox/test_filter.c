/*
 * The compiled program is run here by a small interpreter of classic BPF, so
 * that any call with any arguments can be tried without making it; then it is
 * loaded once for real.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "sandbox/calls.h"
#include "sandbox/filter.h"

#define NOTIFY SECCOMP_RET_USER_NOTIF
#define ALLOW SECCOMP_RET_ALLOW
#define ERRNO(e) (SECCOMP_RET_ERRNO | (e))

/* --- the interpreter: the instructions seccomp(2) allows, and only those libseccomp uses --- */

static uint32_t load(const struct seccomp_data *data, uint32_t at)
{
	uint32_t v;

	assert_true(at <= sizeof(*data) - sizeof(v) && at % 4 == 0);
	memcpy(&v, (const char *)data + at, sizeof(v));
	return v;
}

static size_t jump(const struct sock_filter *f, uint32_t a)
{
	switch (BPF_OP(f->code)) {
	case BPF_JA:
		return f->k;
	case BPF_JEQ:
		return a == f->k ? f->jt : f->jf;
	case BPF_JGT:
		return a > f->k ? f->jt : f->jf;
	case BPF_JGE:
		return a >= f->k ? f->jt : f->jf;
	case BPF_JSET:
		return (a & f->k) ? f->jt : f->jf;
	}
	fail_msg("jump %#x", f->code);
	return 0;
}

/* Only forward jumps exist, so the length bounds the loop. */
static uint32_t run(const struct buf *bpf, const struct seccomp_data *data)
{
	const struct sock_filter *f = (const struct sock_filter *)(const void *)bpf->data;
	size_t n = bpf->len / sizeof(*f);
	uint32_t a = 0;

	for (size_t pc = 0; pc < n; pc++) {
		switch (BPF_CLASS(f[pc].code)) {
		case BPF_LD:
			assert_int_equal(f[pc].code, BPF_LD | BPF_W | BPF_ABS);
			a = load(data, f[pc].k);
			break;
		case BPF_ALU:
			assert_int_equal(f[pc].code, BPF_ALU | BPF_AND | BPF_K);
			a &= f[pc].k;
			break;
		case BPF_JMP:
			pc += jump(&f[pc], a);
			break;
		case BPF_RET:
			return f[pc].k;
		default:
			fail_msg("instruction %#x", f[pc].code);
		}
	}
	fail_msg("the program ends without an answer");
	return 0;
}

static uint32_t answer(const struct buf *bpf, uint32_t arch, int nr, const uint64_t args[6])
{
	struct seccomp_data data = { .nr = nr, .arch = arch };

	for (int i = 0; i < 6; i++)
		data.args[i] = args[i];
	return run(bpf, &data);
}

static void compile(unsigned int flags, struct buf *bpf)
{
	struct err err = { 0 };

	if (filter_compile(flags, bpf, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(bpf->len && bpf->len % sizeof(struct sock_filter) == 0);
	assert_true(bpf->len / sizeof(struct sock_filter) <= BPF_MAXINSNS);
}

/* --- what must come out --- */

#define USUAL (CALLS_FILES | CALLS_SOCKETS | CALLS_BY_FD)
#define HIGH 0x100000000ull

struct expectation {
	const char *what;
	unsigned int flags;
	int nr;
	uint64_t args[6];
	uint32_t action;
};

static const struct expectation expectations[] = {
#ifdef SYS_open
	{ "open for reading", USUAL, SYS_open, { 0, O_RDONLY | O_CLOEXEC | O_NOFOLLOW }, ALLOW },
	{ "open for writing", USUAL, SYS_open, { 0, O_WRONLY }, NOTIFY },
	{ "open with O_CREAT", USUAL, SYS_open, { 0, O_RDONLY | O_CREAT }, NOTIFY },
	{ "creat", USUAL, SYS_creat, { 0 }, NOTIFY },
	{ "mkdir", USUAL, SYS_mkdir, { 0 }, NOTIFY },
	{ "rename", USUAL, SYS_rename, { 0 }, NOTIFY },
	{ "utime", USUAL, SYS_utime, { 0 }, NOTIFY },
#endif
	{ "openat for reading", USUAL, SYS_openat, { 0, 0, O_RDONLY | O_DIRECTORY }, ALLOW },
	{ "openat of a handle", USUAL, SYS_openat, { 0, 0, O_PATH }, ALLOW },
	{ "openat for both", USUAL, SYS_openat, { 0, 0, O_RDWR | O_APPEND }, NOTIFY },
	{ "openat with access mode 3", USUAL, SYS_openat, { 0, 0, 3 }, NOTIFY },
	{ "openat truncating", USUAL, SYS_openat, { 0, 0, O_TRUNC }, NOTIFY },
	{ "openat of a nameless file", USUAL, SYS_openat, { 0, 0, O_TMPFILE }, NOTIFY },
	{ "openat, O_CREAT and high bits", USUAL, SYS_openat, { 0, 0, HIGH | O_CREAT }, NOTIFY },
	{ "openat for reading when reads are judged", USUAL | CALLS_READS, SYS_openat, { 0 }, NOTIFY },
	{ "openat for writing when files are not", CALLS_SOCKETS, SYS_openat, { 0, 0, O_WRONLY }, ALLOW },
	{ "openat2", USUAL, SYS_openat2, { 0 }, NOTIFY },
	{ "renameat2", USUAL, SYS_renameat2, { 0 }, NOTIFY },
	{ "linkat", USUAL, SYS_linkat, { 0 }, NOTIFY },
	{ "unlinkat", USUAL, SYS_unlinkat, { 0 }, NOTIFY },
	{ "truncate", USUAL, SYS_truncate, { 0 }, NOTIFY },
	{ "ftruncate", USUAL, SYS_ftruncate, { 0 }, ALLOW },
	{ "fchmod", USUAL, SYS_fchmod, { 0 }, NOTIFY },
	{ "fchmod where mounts hold", CALLS_FILES, SYS_fchmod, { 0 }, ALLOW },
	{ "futimens where mounts hold", CALLS_FILES, SYS_utimensat, { 3, 0 }, ALLOW },
	{ "utimensat by path", CALLS_FILES, SYS_utimensat, { 3, 0x1000 }, NOTIFY },
	{ "utimensat by a path whose low half is zero", CALLS_FILES, SYS_utimensat, { 3, 0x100000000 }, NOTIFY },
	{ "fchmodat2 by number", USUAL, 452, { 0 }, NOTIFY },
	{ "setxattrat by number", USUAL, 463, { 0 }, NOTIFY },
	{ "removexattrat by number", USUAL, 466, { 0 }, NOTIFY },
	{ "open_tree_attr by number", USUAL, 467, { 0 }, NOTIFY },
	{ "file_setattr by number", USUAL, 469, { 0 }, ERRNO(ENOSYS) },
	{ "a call of the future", USUAL, CALL_NEWEST + 1, { 0 }, ERRNO(ENOSYS) },
	{ "a call far in the future", USUAL, 5000, { 0 }, ERRNO(ENOSYS) },
	{ "a tracer's skipped call", USUAL, -1, { 0 }, ALLOW },
	{ "umask", USUAL, SYS_umask, { 0 }, NOTIFY },
	{ "newfstatat", USUAL, SYS_newfstatat, { 0 }, ALLOW },
	{ "execve", USUAL, SYS_execve, { 0 }, ALLOW },
	{ "close", USUAL, SYS_close, { 0 }, ALLOW },
	{ "ptrace", USUAL, SYS_ptrace, { 0 }, ALLOW },
	{ "landlock_restrict_self", USUAL, SYS_landlock_restrict_self, { 0 }, ALLOW },

	{ "clone of a thread", USUAL, SYS_clone, { 0x3d0f00 }, ALLOW },
	{ "clone as fork", USUAL, SYS_clone, { 0x1200011 }, ALLOW },
	{ "clone with exit signal bits", USUAL, SYS_clone, { 0x80 }, ALLOW },
	{ "clone with a user namespace", USUAL, SYS_clone, { CLONE_NEWUSER | SIGCHLD }, NOTIFY },
	{ "clone with a network namespace", USUAL, SYS_clone, { CLONE_NEWNET | SIGCHLD }, NOTIFY },
	{ "clone3", USUAL, SYS_clone3, { 0 }, ERRNO(ENOSYS) },
	{ "unshare of descriptors", USUAL, SYS_unshare, { CLONE_FILES }, ALLOW },
	{ "unshare of the user namespace", USUAL, SYS_unshare, { CLONE_NEWUSER }, NOTIFY },
	{ "unshare of time", USUAL, SYS_unshare, { 0x80 }, NOTIFY },
	{ "setns", USUAL, SYS_setns, { 0 }, NOTIFY },
	{ "mount", USUAL, SYS_mount, { 0 }, NOTIFY },

	{ "TIOCSTI", USUAL, SYS_ioctl, { 0, TIOCSTI }, NOTIFY },
	{ "TIOCSTI behind high bits", USUAL, SYS_ioctl, { 0, HIGH | TIOCSTI }, NOTIFY },
	{ "TIOCLINUX behind high bits", USUAL, SYS_ioctl, { 0, HIGH * 7 | TIOCLINUX }, NOTIFY },
	{ "TIOCSETD", USUAL, SYS_ioctl, { 0, TIOCSETD }, NOTIFY },
	{ "TIOCGWINSZ", USUAL, SYS_ioctl, { 0, TIOCGWINSZ }, ALLOW },
	{ "TCGETS", USUAL, SYS_ioctl, { 0, TCGETS }, ALLOW },
	{ "a btrfs snapshot", USUAL, SYS_ioctl, { 0, 0x50009401 }, NOTIFY },
	{ "a reflink", USUAL, SYS_ioctl, { 0, 0x40049409 }, ALLOW },

	{ "bind", USUAL, SYS_bind, { 0 }, NOTIFY },
	{ "connect", USUAL, SYS_connect, { 0 }, NOTIFY },
	{ "connect when sockets are not judged", CALLS_FILES, SYS_connect, { 0 }, ALLOW },
	{ "sendto", USUAL, SYS_sendto, { 0 }, ALLOW },
	{ "sendto with an address", USUAL, SYS_sendto, { 0, 0, 0, 0, 1 }, NOTIFY },
	{ "sendto with an address far up", USUAL, SYS_sendto, { 0, 0, 0, 0, HIGH }, NOTIFY },
	{ "sendto that connects", USUAL, SYS_sendto, { 0, 0, 0, 0x20000000 | MSG_NOSIGNAL }, ERRNO(EOPNOTSUPP) },
	{ "sendto that connects to an address", USUAL, SYS_sendto, { 0, 0, 0, 0x20000000, 1 }, ERRNO(EOPNOTSUPP) },
	{ "sendmsg that connects", USUAL, SYS_sendmsg, { 0, 0, 0x20000000 }, ERRNO(EOPNOTSUPP) },
	{ "a Unix socket", USUAL, SYS_socket, { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC }, ALLOW },
	{ "a Unix datagram socket", USUAL, SYS_socket, { AF_UNIX, SOCK_DGRAM }, ALLOW },
	{ "a Unix datagram socket beside host sockets", CALLS_ALL, SYS_socket, { AF_UNIX, SOCK_DGRAM }, NOTIFY },
	{ "a Unix raw socket beside host sockets", CALLS_ALL, SYS_socket, { AF_UNIX, SOCK_RAW }, NOTIFY },
	{ "a Unix stream beside host sockets", CALLS_ALL, SYS_socket, { AF_UNIX, SOCK_STREAM }, ALLOW },
	{ "TCP", USUAL, SYS_socket, { AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 6 }, ALLOW },
	{ "TCP by the second path", USUAL, SYS_socket, { AF_INET, SOCK_STREAM, 262 }, ALLOW },
	{ "UDP", USUAL, SYS_socket, { AF_INET6, SOCK_DGRAM, 17 }, ALLOW },
	{ "UDP without a namespace", CALLS_ALL, SYS_socket, { AF_INET6, SOCK_DGRAM, 17 }, NOTIFY },
	{ "TCP without a namespace", CALLS_ALL, SYS_socket, { AF_INET6, SOCK_STREAM, 6 }, ALLOW },
	{ "multipath TCP without a namespace", CALLS_ALL, SYS_socket, { AF_INET, SOCK_STREAM, 262 }, NOTIFY },
	{ "ping", USUAL, SYS_socket, { AF_INET, SOCK_DGRAM, 1 }, ALLOW },
	{ "a raw socket", USUAL, SYS_socket, { AF_INET, SOCK_RAW, 1 }, NOTIFY },
	{ "a raw socket with flags", USUAL, SYS_socket, { AF_INET6, SOCK_RAW | SOCK_CLOEXEC | HIGH, 58 }, NOTIFY },
	{ "SCTP", USUAL, SYS_socket, { AF_INET, SOCK_STREAM, 132 }, NOTIFY },
	{ "a protocol behind high bits", USUAL, SYS_socket, { AF_INET, SOCK_STREAM, HIGH | 6 }, NOTIFY },
	{ "routing netlink", USUAL, SYS_socket, { AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0 }, ALLOW },
	{ "audit netlink", USUAL, SYS_socket, { AF_NETLINK, SOCK_RAW, 9 }, NOTIFY },
	{ "diagnostic netlink", USUAL, SYS_socket, { AF_NETLINK, SOCK_RAW, 4 }, NOTIFY },
	{ "netlink of protocol 1", USUAL, SYS_socket, { AF_NETLINK, SOCK_RAW, 1 }, NOTIFY },
	{ "packets", USUAL, SYS_socket, { AF_PACKET, SOCK_RAW, 768 }, NOTIFY },
	{ "AF_VSOCK", USUAL, SYS_socket, { AF_VSOCK, SOCK_STREAM }, NOTIFY },
	{ "AF_VSOCK behind high bits", USUAL, SYS_socket, { HIGH | AF_VSOCK, SOCK_STREAM }, NOTIFY },
	{ "AF_ALG", USUAL, SYS_socket, { AF_ALG, SOCK_SEQPACKET }, NOTIFY },
	{ "family 0", USUAL, SYS_socket, { 0, SOCK_STREAM }, NOTIFY },
	{ "family -1", USUAL, SYS_socket, { (uint64_t)-1, SOCK_STREAM }, NOTIFY },
	{ "a Unix pair", USUAL, SYS_socketpair, { AF_UNIX, SOCK_SEQPACKET }, ALLOW },
	{ "another pair", USUAL, SYS_socketpair, { 30, SOCK_SEQPACKET }, NOTIFY },

	{ "io_uring", USUAL, SYS_io_uring_setup, { 0 }, ERRNO(ENOSYS) },
	{ "bpf", USUAL, SYS_bpf, { 0 }, NOTIFY },
	{ "keyctl", USUAL, SYS_keyctl, { 0 }, NOTIFY },
	{ "a filter", USUAL, SYS_seccomp, { SECCOMP_SET_MODE_FILTER, 0 }, ALLOW },
	{ "a filter with a listener", USUAL, SYS_seccomp, { SECCOMP_SET_MODE_FILTER, 8 }, NOTIFY },
	{ "a filter with a listener and more", USUAL, SYS_seccomp, { HIGH | SECCOMP_SET_MODE_FILTER, 9 }, NOTIFY },
	{ "the size question", USUAL, SYS_seccomp, { SECCOMP_GET_NOTIF_SIZES, 0 }, ALLOW },
	{ "personality none", USUAL, SYS_personality, { 0 }, ALLOW },
	{ "personality for gdb", USUAL, SYS_personality, { ADDR_NO_RANDOMIZE }, ALLOW },
	{ "personality for setarch", USUAL, SYS_personality, { PER_LINUX32 }, ALLOW },
	{ "personality READ_IMPLIES_EXEC", USUAL, SYS_personality, { READ_IMPLIES_EXEC }, NOTIFY },
	{ "modules", USUAL, SYS_finit_module, { 0 }, NOTIFY },
	{ "adjtimex", USUAL, SYS_adjtimex, { 0 }, NOTIFY },
};

static void each_call_gets_the_answer_the_policy_gives_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(expectations); i++) {
		const struct expectation *e = &expectations[i];
		OWN(buf) struct buf bpf = { 0 };
		uint32_t got;

		compile(e->flags, &bpf);
		got = answer(&bpf, call_arch(), e->nr, e->args);
		if (got != e->action)
			fail_msg("%s: %#x, not %#x", e->what, got, e->action);
	}
}

static void calls_of_another_architecture_are_told_never_run(void **state)
{
	static const int nrs[] = { 0, 1, 2, 5, 11, 59, 257, 400, 5000 };
	static const uint64_t none[6];
	OWN(buf) struct buf bpf = { 0 };

	(void)state;
	compile(USUAL, &bpf);
	for (size_t i = 0; i < ARRAY_LEN(nrs); i++) {
		assert_int_equal(answer(&bpf, AUDIT_ARCH_I386, nrs[i], none), NOTIFY);
		assert_int_equal(answer(&bpf, AUDIT_ARCH_ARM, nrs[i], none), NOTIFY);
		assert_string_equal(call_find(USUAL, AUDIT_ARCH_I386, nrs[i], none)->name, "foreign-abi");
	}
#ifdef __x86_64__
	for (size_t i = 0; i < ARRAY_LEN(nrs); i++) {
		assert_int_equal(answer(&bpf, call_arch(), 0x40000000 | nrs[i], none), NOTIFY);
		assert_string_equal(call_find(USUAL, call_arch(), 0x40000000 | nrs[i], none)->name, "foreign-abi");
	}
#endif
}

/* What the broker will find for a call must be what the filter did with it. */
static uint32_t by_table(unsigned int flags, int nr, const uint64_t args[6])
{
	const struct call *c = call_find(flags, call_arch(), nr, args);

	if (!c)
		return ALLOW;
	return c->kind == CALL_QUIET ? ERRNO((uint32_t)c->err) : NOTIFY;
}

/* Values around those the table names, now and then with high bits or a single bit. */
static uint64_t value_near(const struct call_cond *c)
{
	uint64_t v = 0;

	switch (random() % 4) {
	case 0:
		v = (uint64_t)random() % 512;
		break;
	case 1:
		v = 1ull << (random() % 64);
		break;
	case 2:
		v = c->n ? c->set[(size_t)random() % c->n] : c->value;
		break;
	case 3:
		v = (uint64_t)random() << 32 ^ (uint64_t)random();
		break;
	}
	return random() % 8 ? v : v ^ (1ull << (random() % 64));
}

static void filter_and_table_agree_on_any_arguments(void **state)
{
	size_t n;
	const struct call *table = calls_table(&n);

	(void)state;
	srandom(1);
	for (unsigned int flags = 0; flags <= CALLS_ALL; flags++) {
		OWN(buf) struct buf bpf = { 0 };

		compile(flags, &bpf);
		for (size_t i = 0; i < n; i++) {
			for (int round = 0; round < 150; round++) {
				uint64_t args[6];
				uint32_t got, want;

				for (unsigned int a = 0; a < 6; a++)
					args[a] = value_near(&table[i].cond[a == table[i].cond[1].arg]);
				got = answer(&bpf, call_arch(), table[i].nr, args);
				want = by_table(flags, table[i].nr, args);
				if (got != want)
					fail_msg("%s(%#lx, %#lx, %#lx, %#lx) under %u: %#x, table says %#x",
						 table[i].name, (long)args[0], (long)args[1], (long)args[2],
						 (long)args[3], flags, got, want);
			}
		}
	}
}

static void every_row_has_a_name_a_reason_and_an_errno_exactly_when_it_refuses(void **state)
{
	size_t n;
	const struct call *table = calls_table(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		int refuses = table[i].kind == CALL_TOLD || table[i].kind == CALL_QUIET;

		assert_non_null(table[i].name);
		assert_true(table[i].reason && table[i].reason[0]);
		assert_int_equal(table[i].err != 0, refuses);
		assert_true(table[i].nr >= 0 && table[i].nr <= CALL_NEWEST);
		/* rows of one call are neighbours */
		for (size_t j = i + 2; j < n; j++)
			if (table[j].nr == table[i].nr)
				assert_int_equal(table[j - 1].nr, table[i].nr);
	}
}

/* --- once for real --- */

static int install(const struct buf *bpf)
{
	struct sock_fprog prog = {
		.len = (unsigned short)(bpf->len / sizeof(struct sock_filter)),
		.filter = (struct sock_filter *)(void *)bpf->data,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
}

/* In the child: nobody listens once the listener is closed, and then the kernel says ENOSYS. */
static int refused_everywhere(const struct buf *bpf)
{
	int listener = install(bpf);

	if (listener < 0)
		return 77;
	close(listener);
	if (mkdir("/tmp/agate-test-filter", 0700) == 0 || errno != ENOSYS)
		return 1;
	if (syscall(SYS_io_uring_setup, 1, NULL) >= 0 || errno != ENOSYS)
		return 2;
	if (socket(AF_INET, SOCK_STREAM, 0) < 0)
		return 3;
	if (open("/", O_RDONLY | O_DIRECTORY) < 0)
		return 4;
	if (syscall(SYS_sendto, -1, NULL, 0, 0x20000000, NULL, 0) >= 0 || errno != EOPNOTSUPP)
		return 5;
	return 0;
}

static void the_kernel_takes_the_program(void **state)
{
	OWN(buf) struct buf bpf = { 0 };
	int status;
	pid_t pid;

	(void)state;
	compile(USUAL, &bpf);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(refused_everywhere(&bpf));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_gets_the_answer_the_policy_gives_it),
		cmocka_unit_test(calls_of_another_architecture_are_told_never_run),
		cmocka_unit_test(filter_and_table_agree_on_any_arguments),
		cmocka_unit_test(every_row_has_a_name_a_reason_and_an_errno_exactly_when_it_refuses),
		cmocka_unit_test(the_kernel_takes_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
