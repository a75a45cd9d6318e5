/*
 * sandbox/init/stage.c - inside the namespaces, just before the command
 *
 * bwrap has made the namespaces and mounts and dropped all capabilities. What
 * remains is a table of steps, each of which must hold before the command may
 * run; the first that fails is told to the supervisor and nothing runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>

#include "sandbox/init/closed.h"
#include "sandbox/init/init.h"
#include "sandbox/init/sys.h"
#include "sandbox/init/wire.h"

struct stage {
	int ctl;
	const struct blob_head *blob;
	char *const *argv;
	uint32_t filter;	/* which of the plan's two */
};

struct step {
	const char *name;	/* "cannot <name>: <errno>" */
	int (*run)(struct stage *s);
};

/* Should: come from our own supervisor, sealed. Mustn't: be read again later. */
static int read_plan(struct stage *s)
{
	struct msg_plain m;
	int fd;

	if (wire_recv(s->ctl, &m, sizeof(m), &fd, 1) != sizeof(m) || m.type != MSG_PLAN)
		return -1;
	s->blob = wire_blob(fd);
	return s->blob ? 0 : -1;
}

static int listen_on(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 1024) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * A directory of the host as standard input would be a door to all below it and,
 * by "..", above it.
 */
static int check_stdio(struct stage *s)
{
	struct stat st;

	(void)s;
	for (int fd = 0; fd <= 2; fd++) {
		if (!fstat(fd, &st) && S_ISDIR(st.st_mode)) {
			errno = EISDIR;
			return -1;
		}
	}
	return 0;
}

/* Should: belong to this network namespace. Mustn't: stay open here. */
static int open_listeners(struct stage *s)
{
	struct msg_plain m = { .type = MSG_LISTENERS };
	int fds[2];

	if (!s->blob->listen_proxies)
		return wire_send(s->ctl, &m, sizeof(m), NULL, 0);
	fds[0] = listen_on(PROXY_HTTP_PORT);
	fds[1] = listen_on(PROXY_SOCKS_PORT);
	if (fds[0] < 0 || fds[1] < 0 || wire_send(s->ctl, &m, sizeof(m), fds, 2) < 0)
		return -1;
	close(fds[0]);
	close(fds[1]);
	return 0;
}

/* Should: leave the user's session keyring behind. A kernel without keyrings has none to leave. */
static int new_keyring(struct stage *s)
{
	(void)s;
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS &&
	    errno != EDQUOT && errno != EPERM)
		return -1;
	return 0;
}

static int set_limit(int which, uint64_t value)
{
	struct rlimit old, r = { .rlim_cur = value, .rlim_max = value };

	if (!value)
		return 0;
	if (getrlimit(which, &old) < 0)
		return -1;
	/* Tighten only: an ordinary user cannot raise, and should not have to. */
	if (old.rlim_max != RLIM_INFINITY && old.rlim_max < r.rlim_max)
		r.rlim_cur = r.rlim_max = old.rlim_max;
	return setrlimit(which, &r);
}

static int limit_resources(struct stage *s)
{
	const struct blob_head *b = s->blob;

	return set_limit(RLIMIT_CPU, b->limit_cpu_s) || set_limit(RLIMIT_DATA, b->limit_memory) ||
	       set_limit(RLIMIT_FSIZE, b->limit_file) || set_limit(RLIMIT_NPROC, b->limit_pids) ||
	       set_limit(RLIMIT_NOFILE, b->limit_files) ? -1 : 0;
}

/* Should: hold for every later program of the tree. */
static int no_new_privs(struct stage *s)
{
	(void)s;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/*
 * Should: hold for root as well. bwrap has done it where there is one: a process
 * without capabilities gains nothing by being root but what root owns.
 */
static int drop_rights(struct stage *s)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	if (!s->blob->is_bare)
		return 0;
	for (int cap = 0; cap < 64; cap++)	/* who may not drop them has none to bound */
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			break;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return -1;
	return (int)syscall(SYS_capset, &head, none);
}

/*
 * Reading and executing are not Landlock's where mounts are: the mounts decide what is in
 * view, and a file the user handed over as standard input must stay readable
 * through /dev/stdin although it is on none of them. Only where a mount hides a file that
 * somebody on the host may replace, reading is held as well, see closed.h. Without mounts it
 * is the other way round.
 */
#define LL_READS (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

/* Which Landlock rights a zone gets natively; those that are not handled are everybody's anyway. */
static uint64_t zone_rights(uint32_t kind, uint64_t handled)
{
	switch (kind) {
	case ZONE_NATIVE:
		return handled;
	case ZONE_DEV:
		return handled & (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | LL_TRUNCATE | LL_IOCTL_DEV);
	case ZONE_PROC:
		return handled & (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR);
	case ZONE_HIDDEN:
		return 0;
	default:
		return handled & LL_READS;
	}
}

/* Rights that make sense on what is no directory; the kernel refuses others there. */
#define LL_OF_FILE (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | \
		    LL_TRUNCATE | LL_IOCTL_DEV)

static int grant(int ruleset, const char *path, uint64_t rights)
{
	int fd = open(path, O_PATH | O_CLOEXEC), r;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	r = sys_landlock_add(ruleset, S_ISDIR(st.st_mode) ? rights : rights & LL_OF_FILE, fd);
	close(fd);
	return r;
}

/*
 * All that this kernel knows. Without namespaces also reading, and TCP, of which
 * nothing is granted to anybody: the broker binds and connects.
 */
static int new_ruleset(const struct stage *s, uint64_t *ret_handled)
{
	struct ll_ruleset_attr attr = { .handled_access_fs = LL_ABI1_ALL };
	int abi = sys_landlock_create(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	size_t size = sizeof(attr.handled_access_fs);

	if (abi < 1)
		return -1;
	if (s->blob->is_bare && abi < LL_BARE_ABI) {
		errno = ENOSYS;
		return -1;
	}
	attr.handled_access_fs |= (abi >= 2 ? LL_REFER : 0) | (abi >= 3 ? LL_TRUNCATE : 0) |
				  (abi >= 5 ? LL_IOCTL_DEV : 0);
	if (s->blob->is_bare)
		attr.handled_access_net = LL_NET_BIND | LL_NET_CONNECT;
	else
		attr.handled_access_fs &= ~(uint64_t)LL_READS | (closed_is_wanted(s->blob) ? LANDLOCK_ACCESS_FS_READ_FILE : 0);
	if (abi >= 6) {
		attr.scoped = LL_SCOPE_ABSTRACT | LL_SCOPE_SIGNAL;
		size = sizeof(attr);
	}
	*ret_handled = attr.handled_access_fs;
	return sys_landlock_create(&attr, size, 0);
}

/*
 * Should: handle every right to change, and grant it only where nothing comes
 * back to the host. Mustn't: grant changes on a WRITE zone; the broker acts there.
 */
static int restrict_paths(struct stage *s)
{
	const struct blob_zone *z = (const void *)((const char *)s->blob + s->blob->zones_off);
	uint64_t handled = 0;
	int ruleset = new_ruleset(s, &handled);

	if (ruleset < 0)
		return -1;
	for (uint32_t i = 0; i < s->blob->n_zones; i++) {
		uint64_t rights = zone_rights(z[i].kind, s->blob->is_bare ? handled : handled & ~(uint64_t)LL_READS);

		if (rights && grant(ruleset, wire_text(s->blob, z[i].path_off), rights) < 0)
			return -1;
	}
	if (closed_is_wanted(s->blob) && closed_grant(s->blob, ruleset) < 0)
		return -1;
	if (sys_landlock_restrict(ruleset) < 0)
		return -1;
	close(ruleset);
	return 0;
}

/*
 * Should: come last, and hand the listener out: it does not trap sendmsg, so
 * this thread cannot wait for itself. Mustn't: leave the listener open here.
 */
static int filter_calls(struct stage *s)
{
	struct sock_fprog prog = {
		.len = (unsigned short)s->blob->n_filter[s->filter],
		.filter = (void *)(size_t)((const char *)s->blob + s->blob->filter_off[s->filter]),
	};
	struct msg_plain m = { .type = MSG_NOTIFY };
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
	int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);

	if (fd < 0 && errno == EINVAL)	/* kernels before 5.19 do not know WAIT_KILLABLE_RECV */
		fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				  SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
	if (fd < 0 || wire_send(s->ctl, &m, sizeof(m), &fd, 1) < 0)
		return -1;
	close(fd);
	return 0;
}

/* Should: come once the broker has looked at the tree. */
static int hear_which_filter(struct stage *s)
{
	struct msg_filter m;

	if (wire_recv(s->ctl, &m, sizeof(m), NULL, 0) != sizeof(m) || m.type != MSG_FILTER || m.which > FILTER_SPARED) {
		errno = EPROTO;
		return -1;
	}
	s->filter = m.which;
	return 0;
}

/* Should: answer the signals as it would have without us; those typed at a terminal came ignored. */
static int restore_signals(struct stage *s)
{
	for (int sig = 1; sig < 32; sig++) {
		int ignored = s->blob->ignored_signals >> sig & 1;

		if (sig == SIGINT || sig == SIGQUIT || ignored)
			signal(sig, ignored ? SIG_IGN : SIG_DFL);
	}
	return 0;
}

static int wait_for_go(struct stage *s)
{
	struct msg_plain m;

	return wire_recv(s->ctl, &m, sizeof(m), NULL, 0) == sizeof(m) && m.type == MSG_GO ? 0 : -1;
}

/* Should: leave the command descriptors 0 to 2 and no other. The control socket goes by close-on-exec. */
static int close_others(struct stage *s)
{
	if (fcntl(s->ctl, F_SETFD, FD_CLOEXEC) < 0)
		return -1;
	if (s->ctl > 3 && sys_close_range(3, (unsigned int)s->ctl - 1, 0) < 0)
		return -1;
	return sys_close_range((unsigned int)s->ctl + 1, ~0u, 0);
}

static const struct step steps[] = {
	{ "read the sandbox plan", read_plan },
	{ "take over standard input and output", check_stdio },
	{ "open the proxies' listening sockets", open_listeners },
	{ "make a session keyring", new_keyring },
	{ "limit resources", limit_resources },
	{ "drop capabilities", drop_rights },
	{ "set no_new_privs", no_new_privs },
	{ "close descriptors", close_others },
	{ "restrict paths with Landlock", restrict_paths },
	{ "hear from the supervisor", hear_which_filter },
	{ "filter system calls", filter_calls },
	{ "hear from the supervisor again", wait_for_go },
	{ "restore signals", restore_signals },
};

int stage_main(int ctl, char *const argv[])
{
	struct stage s = { .ctl = ctl, .argv = argv };
	char what[256];

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (steps[i].run(&s) < 0)
			wire_fail(ctl, errno, 0, steps[i].name);
	execvp(argv[0], argv);
	snprintf(what, sizeof(what), "run '%.200s'", argv[0]);
	wire_fail(ctl, errno, 1, what);
}
