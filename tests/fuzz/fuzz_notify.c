/*
 * tests/fuzz/fuzz_notify.c - whatever a notification holds, answered as the broker does
 *
 * A child waits in a notified call, so that there is a caller with memory,
 * descriptors and a valid notification; the number, the architecture and the
 * arguments are the input's. What is allowed is done, in a tree that goes away.
 *
 *	byte 0		how many calls (1 to 8)
 *	14 bytes each	which call (or any number), architecture, then two bytes an argument
 *	the rest	the caller's memory: at its start, and once more right before its end
 *
 * No call that changes a file is ever let go on, nor one that is refused; a
 * refusal is an errno; no descriptor is lost.
 */
#include <stdint.h>
#include <dirent.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <linux/audit.h>
#include <linux/filter.h>

#include "sandbox/init/sys.h"
#include "tests/fuzz/world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define CALL_BYTES 14
#define MEMORY (3 * 4096u)

static unsigned char *memory;	/* shared with the child, at the same place; behind it nothing is mapped */
static int told[2];		/* the broker's socket and the supervisor's end */
static uint64_t id;		/* of the child's notification */

static const char *const texts[] = {
	"/w/f", "/w/new", "/w/dir", "/w/link", "w/f", "../w/f", "/r/f", "/r/new", "/w/dir/", ".", "/", "", "/w/.git/hooks/x",
	"/w/fifo", "/w/socket", "user.x", "nowhere/x", "/w/loop", "/w/dangling", "f",
	"/n/f", "/n/new.key", "/n", "/w/a.key",
};
#define TEXT_ROOM 24
#define TEXTS (sizeof(texts) / sizeof(texts[0]))

static const uint64_t numbers[] = {
	0, 1, 2, 3, 4, 5, 6, 7, (uint64_t)AT_FDCWD, (uint32_t)AT_FDCWD, UINT64_MAX, 1ull << 32, O_RDWR, O_WRONLY, O_CREAT | O_RDWR,
	O_CREAT | O_EXCL | O_WRONLY, O_TRUNC, O_TMPFILE | O_RDWR, O_PATH, O_NOFOLLOW | O_RDWR, O_DIRECTORY, O_APPEND | O_WRONLY,
	AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW, AT_REMOVEDIR, AT_SYMLINK_FOLLOW, 0700, 04755, S_IFIFO | 0600, S_IFCHR | 0600,
	16, 24, 110, 128, RENAME_EXCHANGE, RENAME_NOREPLACE, RENAME_WHITEOUT, PATH_MAX, 65536, 1ull << 40,
};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

/* --- the tree --- */

static void make_tree(void)
{
	MUST(mkdir("/w/dir", 0755));
	MUST(mkdir("/w/.git", 0755));
	MUST(mkdir("/w/.git/hooks", 0755));
	world_write("/w/f", "f");
	MUST(symlink("f", "/w/link"));
	MUST(symlink("loop", "/w/loop"));
	MUST(symlink("dir/new", "/w/dangling"));
	MUST(mkfifo("/w/fifo", 0600));
}

static void clear(int dir)
{
	DIR *d = fdopendir(dir);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (unlinkat(dirfd(d), e->d_name, 0) < 0 && unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR) < 0) {
			clear(openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
			unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
		}
	}
	if (d)
		closedir(d);
}

/* --- the caller --- */

static int notify_getppid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -1 :
	       (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
}

/* 3 to 6: a file, a directory, a pipe's end, the file for reading; nothing else is open. */
static void be_caller(int say)
{
	int fds[2], listener;

	MUST(dup2(say, 63));
	sys_close_range(0, 62, 0);
	sys_close_range(64, ~0u, 0);
	MUST(open("/", O_PATH));
	MUST(open("/", O_PATH));
	MUST(open("/", O_PATH));
	MUST(open("/w/f", O_RDWR));
	MUST(open("/w", O_RDONLY | O_DIRECTORY));
	MUST(pipe(fds));
	MUST(dup2(fds[0], 5));
	MUST(open("/w/f", O_RDONLY));
	MUST(prctl(PR_SET_PDEATHSIG, SIGKILL));
	listener = notify_getppid();
	if (write(63, &listener, sizeof(listener)) != sizeof(listener) || listener < 0)
		_exit(1);
	close(63);
	for (;;)
		syscall(SYS_getppid);
}

static pid_t caller;

static int start_caller(void)
{
	int say[2], number, pidfd;

	MUST(pipe2(say, O_CLOEXEC));
	caller = fork();
	MUST(caller);
	if (!caller)
		be_caller(say[1]);
	close(say[1]);
	if (read(say[0], &number, sizeof(number)) != sizeof(number) || number < 0)
		return -1;
	close(say[0]);
	MUST(pidfd = (int)syscall(SYS_pidfd_open, caller, 0));
	broker.notify = sys_pidfd_getfd(pidfd, number);
	close(pidfd);
	return broker.notify < 0 ? -1 : 0;
}

/* A call that had to wait may have been answered: then the next one is there. */
static void have_notification(void)
{
	struct seccomp_notif n;

	while (!id || ioctl(broker.notify, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) < 0) {
		memset(&n, 0, sizeof(n));
		if (ioctl(broker.notify, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0 && errno != EINTR && errno != ENOENT)
			MUST(-1);
		id = n.id;
	}
}

static void build(void *ret)
{
	static struct blob_head blob = { .magic = BLOB_MAGIC, .total = sizeof(blob) };
	static struct zone zones[] = {
		{ .kind = ZONE_READ, .path = "/", .len = 0, .rule = "read" },
		{ .kind = ZONE_WRITE, .path = "/w", .len = 2, .rule = "write", .from_host = 1 },
		{ .kind = ZONE_NATIVE, .path = "/n", .len = 2, .rule = "private" },
	};

	MUST(mkdir("/r", 0755));
	world_write("/r/f", "r");
	MUST(mkdir("/w", 0755));
	MUST(mkdir("/n", 0755));
	make_tree();
	memory = mmap(NULL, MEMORY + 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		abort();
	MUST(mprotect(memory + MEMORY, 4096, PROT_NONE));
	for (size_t i = 0; i < TEXTS; i++)
		strcpy((char *)memory + 4096 + i * TEXT_ROOM, texts[i]);
	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, told));
	broker.ctl = told[0];
	broker.blob = &blob;
	broker.zones = zones;
	broker.n_zones = sizeof(zones) / sizeof(zones[0]);
	if (names_add(&broker.names, "**/.git/hooks/*") < 0 || names_add(&broker.reads, "**/*.key") < 0)
		abort();
	broker.reads_by_pattern = 1;
	index_acts();
	*(int *)ret = start_caller();
}

/* --- the calls --- */

static uint64_t argument(const uint8_t *at)
{
	switch (at[0] & 7) {
	case 0:
	case 1:
		return numbers[at[1] % NUMBERS];
	case 2:
		return (uint64_t)(uintptr_t)memory + at[1] * 8u;
	case 3:
		return (uint64_t)(uintptr_t)memory + MEMORY - 1 - at[1];
	case 4:
	case 5:
		return (uint64_t)(uintptr_t)memory + 4096 + at[1] % TEXTS * TEXT_ROOM;
	case 6:
		return (uint64_t)at[1] << (at[0] >> 3);
	default:
		return at[1];
	}
}

/* Every row of the table, and any number beside. */
static int number(const uint8_t *at)
{
	const struct call *all;
	size_t n;

	all = calls_table(&n);
	if (at[0] == 255)
		return (int)(int8_t)at[1] * 4;
	if (at[0] == 254)
		return 0x40000000 | at[1];
	return all[(at[0] | at[1] << 8) % n].nr;
}

/*
 * May the kernel go on with it, and read the path once more? With a pattern that only we hold no open
 * that can read, and none with its flags in memory; and nothing that changes what Landlock does not hold.
 */
static int may_go_on(const struct seccomp_data *d, const struct call *call)
{
	const uint64_t *arg = (const uint64_t *)d->args;
	uint64_t flags = 0;

	if (!call)
		return 1;	/* the filter lets it pass */
	switch (call->kind) {
	case CALL_OPEN:
#ifdef SYS_open
		if (d->nr == SYS_open)
			flags = arg[1];
		if (d->nr == SYS_creat)
			flags = O_WRONLY;
#endif
		if (d->nr == SYS_openat)
			flags = arg[2];
		return (flags & O_PATH) || (flags & O_ACCMODE) != O_RDONLY;
	case CALL_FILE:
		/* Names are made, and links and directories removed, by Landlock's leave alone in private places. */
		return strncmp(call->reason, "changes attributes", 10) || d->nr == SYS_umask;
	case CALL_SOCKET:
		return d->nr != SYS_connect;
	case CALL_PEER:
	case CALL_PASS:
		return 1;
	default:
		return 0;
	}
}

static void wrong(const struct seccomp_data *d, const struct answer *a, const char *what)
{
	fprintf(stderr, "%s: call %d of %x: kind %d errno %d, arguments", what, d->nr, d->arch, (int)a->kind, a->err);
	for (int i = 0; i < 6; i++)
		fprintf(stderr, " %llx", (unsigned long long)d->args[i]);
	fprintf(stderr, "\n");
	abort();
}

static void check(const struct seccomp_data *d, const struct answer *a)
{
	const struct call *call = call_find(CALLS_ALL, d->arch, d->nr, (const uint64_t *)d->args);

	if (a->kind == ANSWER_CONTINUE && !may_go_on(d, call))
		wrong(d, a, "let go on");
	if (a->kind == ANSWER_ERRNO && (a->err <= 0 || a->err > 4095))
		wrong(d, a, "no errno");
	if ((a->kind == ANSWER_FD) != (a->fd >= 0))
		wrong(d, a, "no descriptor, or one too many");
	if (d->arch != call_arch() && (a->kind != ANSWER_ERRNO))
		wrong(d, a, "a foreign call was done");
}

static int count_fds(void)
{
	DIR *d = opendir("/");	/* the lowest free number tells, since none are left open in between */
	int fd = d ? dirfd(d) : -1;

	MUST(fd);
	closedir(d);
	return fd;
}

/* A call that waits has a thread and descriptors until its caller is gone, or was answered. */
static void end_waiting(int before)
{
	struct seccomp_notif_resp resp = { .id = id, .error = -EINTR };

	ioctl(broker.notify, SECCOMP_IOCTL_NOTIF_SEND, &resp);
	for (int i = 0; i < 5000 && count_fds() != before; i++)
		usleep(1000);
	have_notification();
}

static int changed_something;

static void do_one(const uint8_t *at)
{
	struct seccomp_notif n = { .id = id, .pid = (uint32_t)caller };
	struct worker w;
	const struct request r = { .b = &broker, .w = &w, .n = &n, .tid = caller };
	int before = count_fds();
	struct answer a;

	n.data.nr = number(at);
	n.data.arch = (at[13] & 63) == 63 ? AUDIT_ARCH_I386 : call_arch();
	for (int i = 0; i < 6; i++)
		n.data.args[i] = argument(at + 1 + 2 * i);
	worker_init(&w, &broker);
	a = do_call(&r);
	worker_done(&w);
	check(&n.data, &a);
	changed_something |= a.kind == ANSWER_VALUE || a.kind == ANSWER_FD;
	if (a.kind == ANSWER_FD)
		close(a.fd);
	if (a.kind == ANSWER_LATER)
		end_waiting(before);
	if (count_fds() != before)
		wrong(&n.data, &a, "a descriptor is left open");
}

static void hear(void)
{
	char msg[MSG_MAX];

	while (recv(told[1], msg, sizeof(msg), MSG_DONTWAIT) > 0)
		;
}

struct input {
	const uint8_t *data;
	size_t len;
};

static void try(void *arg)
{
	const struct input *in = arg;
	size_t calls = in->data[0] % 8 + 1u, used = 1 + calls * CALL_BYTES, left;

	if (in->len < used)
		return;
	left = in->len - used < 4096 ? in->len - used : 4096;
	memset(memory, 0, 4096);
	memcpy(memory, in->data + used, left);
	memset(memory + MEMORY - 4096, 'x', 4096);
	memcpy(memory + MEMORY - left, in->data + used, left);
	MUST(fchdir(broker.proc));
	for (size_t i = 0; i < calls; i++) {
		have_notification();
		do_one(in->data + 1 + i * CALL_BYTES);
		hear();
	}
	MUST(chdir("/"));
	umask(0);
	if (changed_something) {
		clear(open("/w", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
		make_tree();
		changed_something = 0;
	}
}

static int is_ready;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	int failed = -1;

	(void)argc;
	(void)argv;
	if (world_start(0) == 0)
		world_do(build, &failed);
	is_ready = !failed;
	if (world.stands == 1 && failed)
		fprintf(stderr, "no call can be notified here, so nothing is tried\n");
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = { data, len };

	if (is_ready && len)
		world_do(try, &in);
	return 0;
}
