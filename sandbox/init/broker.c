/*
 * sandbox/init/broker.c - start, join, confine, then answer calls until told to stop
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/nsfs.h>

#include "sandbox/init/broker.h"
#include "sandbox/init/init.h"
#include "sandbox/init/later.h"
#include "sandbox/init/net.h"
#include "sandbox/init/opening.h"
#include "sandbox/init/sys.h"
#include "sandbox/init/wire.h"

struct answer answer_result(int r)
{
	return r < 0 ? answer_errno(errno) : (struct answer){ .kind = ANSWER_VALUE, .fd = -1 };
}

/* --- which call is what --- */

#define ARG(i) (r->n->data.args[i])
#define FD(i) ((int)r->n->data.args[i])
#define ACT(name, expr) static struct answer act_##name(const struct request *r) { return expr; }

#ifdef SYS_open
ACT(open, do_open(r, AT_FDCWD, ARG(0), ARG(1), ARG(2), 0))
ACT(creat, do_open(r, AT_FDCWD, ARG(0), O_CREAT | O_WRONLY | O_TRUNC, ARG(1), 0))
ACT(mkdir, do_mkdir(r, AT_FDCWD, ARG(0), ARG(1)))
ACT(mknod, do_mknod(r, AT_FDCWD, ARG(0), ARG(1), ARG(2)))
ACT(symlink, do_symlink(r, ARG(0), AT_FDCWD, ARG(1)))
ACT(link, do_link(r, AT_FDCWD, ARG(0), AT_FDCWD, ARG(1), 0))
ACT(rename, do_rename(r, AT_FDCWD, ARG(0), AT_FDCWD, ARG(1), 0))
ACT(unlink, do_unlink(r, AT_FDCWD, ARG(0), 0))
ACT(rmdir, do_unlink(r, AT_FDCWD, ARG(0), AT_REMOVEDIR))
ACT(chmod, do_chmod(r, AT_FDCWD, ARG(0), ARG(1), 0))
ACT(chown, do_chown(r, AT_FDCWD, ARG(0), ARG(1), ARG(2), 0))
ACT(lchown, do_chown(r, AT_FDCWD, ARG(0), ARG(1), ARG(2), AT_SYMLINK_NOFOLLOW))
ACT(utime, do_utimes(r, AT_FDCWD, ARG(0), ARG(1), TIMES_UTIMBUF, 0))
ACT(utimes, do_utimes(r, AT_FDCWD, ARG(0), ARG(1), TIMES_VAL, 0))
ACT(futimesat, do_utimes(r, FD(0), ARG(1), ARG(2), TIMES_VAL, 0))
#endif
ACT(openat, do_open(r, FD(0), ARG(1), ARG(2), ARG(3), 0))
ACT(mkdirat, do_mkdir(r, FD(0), ARG(1), ARG(2)))
ACT(mknodat, do_mknod(r, FD(0), ARG(1), ARG(2), ARG(3)))
ACT(symlinkat, do_symlink(r, ARG(0), FD(1), ARG(2)))
ACT(linkat, do_link(r, FD(0), ARG(1), FD(2), ARG(3), ARG(4)))
#ifdef SYS_renameat
ACT(renameat, do_rename(r, FD(0), ARG(1), FD(2), ARG(3), 0))
#endif
ACT(renameat2, do_rename(r, FD(0), ARG(1), FD(2), ARG(3), ARG(4)))
ACT(unlinkat, do_unlink(r, FD(0), ARG(1), ARG(2)))
ACT(truncate, do_truncate(r, ARG(0), ARG(1)))
ACT(fchmod, do_fchmod(r, FD(0), ARG(1)))
ACT(fchmodat, do_chmod(r, FD(0), ARG(1), ARG(2), 0))
ACT(fchmodat2, do_chmod(r, FD(0), ARG(1), ARG(2), ARG(3)))
ACT(fchown, do_fchown(r, FD(0), ARG(1), ARG(2)))
ACT(fchownat, do_chown(r, FD(0), ARG(1), ARG(2), ARG(3), ARG(4)))
ACT(utimensat, do_utimes(r, FD(0), ARG(1), ARG(2), TIMES_SPEC, ARG(3)))
ACT(setxattr, do_setxattr(r, ARG(0), WALK_FOLLOW))
ACT(lsetxattr, do_setxattr(r, ARG(0), 0))
ACT(fsetxattr, do_fsetxattr(r))
ACT(removexattr, do_removexattr(r, ARG(0), WALK_FOLLOW))
ACT(lremovexattr, do_removexattr(r, ARG(0), 0))
ACT(fremovexattr, do_fremovexattr(r))
ACT(bind, do_bind(r))
ACT(connect, do_connect(r))
ACT(listen, do_listen(r))
ACT(sendto, do_sendto(r))
ACT(prlimit64, do_peer(r, ARG(0)))
ACT(sched_setaffinity, do_peer(r, ARG(0)))
ACT(sched_setscheduler, do_peer(r, ARG(0)))
ACT(sched_setparam, do_peer(r, ARG(0)))
ACT(sched_setattr, do_peer(r, ARG(0)))
ACT(setpriority, do_peer_kind(r, ARG(0), PRIO_PROCESS, ARG(1)))
ACT(ioprio_set, do_peer_kind(r, ARG(0), 1 /* IOPRIO_WHO_PROCESS */, ARG(1)))
ACT(prctl, ((void)r, answer_result(0)))	/* only one is notified: see the table */

/* What the kernel would refuse, also where the walk needs no call that it would refuse. */
static int bad_resolve(uint64_t resolve)
{
	const uint64_t known = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH | RESOLVE_IN_ROOT |
			       0x20 /* RESOLVE_CACHED */;

	return (resolve & ~known) || (resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT)) == (RESOLVE_BENEATH | RESOLVE_IN_ROOT);
}

/* The kernel takes no mode where nothing is made, and no flag that it does not know: openat(2) forgives both. */
static int bad_how(const struct open_how *how)
{
	const uint64_t tmpfile = O_TMPFILE & ~O_DIRECTORY;
	const uint64_t known = OPEN_KNOWN | O_PATH;
	const uint64_t with_path = O_DIRECTORY | O_NOFOLLOW | O_PATH | O_CLOEXEC;

	return (how->flags & ~known) || how->mode & ~(uint64_t)(how->flags & (O_CREAT | tmpfile) ? 07777 : 0) ||
	       ((how->flags & O_PATH) && (how->flags & ~with_path)) || bad_resolve(how->resolve);
}

/* What a newer program says behind what we know has to be nothing. */
static int says_more(const struct request *r)
{
	char more[4096];
	size_t n = ARG(3) - sizeof(struct open_how);

	if (target_read(r->tid, ARG(2) + sizeof(struct open_how), more, n) < 0)
		return EFAULT;
	for (size_t i = 0; i < n; i++)
		if (more[i])
			return E2BIG;
	return 0;
}

/* The flags lie in memory: what is not to change anything goes on, under Landlock's eyes. */
static struct answer act_openat2(const struct request *r)
{
	struct open_how how = { 0 };
	int more;

	if (ARG(3) < sizeof(how) || ARG(3) > 4096)
		return answer_errno(ARG(3) > 4096 ? E2BIG : EINVAL);
	if (target_read(r->tid, ARG(2), &how, sizeof(how)) < 0)
		return answer_errno(EFAULT);
	more = ARG(3) > sizeof(how) ? says_more(r) : 0;
	if (more || bad_how(&how))
		return answer_errno(more ? more : EINVAL);
	if ((how.resolve & RESOLVE_CACHED) && (how.flags & (O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))))
		return answer_errno(EAGAIN);
	return do_open(r, FD(0), ARG(1), how.flags, how.mode, how.resolve);
}

/* Told so that a remembered umask is forgotten; the kernel does it. */
static struct answer act_umask(const struct request *r)
{
	target_umask_changes(r);
	return answer_continue();
}

struct act {
	int nr;
	struct answer (*fn)(const struct request *r);
	int alone;	/* may move directories: no other call is judged meanwhile */
	int may_wait;	/* takes no part in the lock, since it may wait on the command */
};

#define ROW(name) { SYS_##name, act_##name, 0, 0 }

static const struct act acts[] = {
#ifdef SYS_open
	ROW(open), ROW(creat), ROW(mkdir), ROW(mknod), ROW(symlink), ROW(link),
	{ SYS_rename, act_rename, 1, 0 },
	ROW(unlink), ROW(rmdir), ROW(chmod), ROW(chown), ROW(lchown), ROW(utime), ROW(utimes), ROW(futimesat),
#endif
	ROW(openat), ROW(openat2), ROW(mkdirat), ROW(mknodat), ROW(symlinkat), ROW(linkat),
#ifdef SYS_renameat
	{ SYS_renameat, act_renameat, 1, 0 },
#endif
	{ SYS_renameat2, act_renameat2, 1, 0 },
	ROW(unlinkat), ROW(truncate), ROW(fchmod), ROW(fchmodat), ROW(fchown), ROW(fchownat), ROW(utimensat),
	{ 452, act_fchmodat2, 0, 0 },
	ROW(setxattr), ROW(lsetxattr), ROW(fsetxattr), ROW(removexattr), ROW(lremovexattr), ROW(fremovexattr),
	ROW(umask), ROW(bind), { SYS_connect, act_connect, 0, 1 }, ROW(listen),
	{ SYS_sendto, act_sendto, 0, 1 },
	ROW(prlimit64), ROW(sched_setaffinity), ROW(sched_setscheduler), ROW(sched_setparam), ROW(sched_setattr),
	ROW(setpriority), ROW(ioprio_set), ROW(prctl),
};

/* By number, so that the common path looks nothing up. */
static const struct act *by_nr[CALL_NEWEST + 1];

void index_acts(void)
{
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		by_nr[acts[i].nr] = &acts[i];
}

/* No act of ours: what the table says, or as if the kernel did not know the call. */
static struct answer by_table(const struct request *r)
{
	const struct call *call = call_find(CALLS_ALL, r->n->data.arch, r->n->data.nr,
					    (const uint64_t *)r->n->data.args);

	if (call && call->kind == CALL_PASS)
		return answer_continue();
	if (call && call->kind == CALL_TOLD) {
		struct request told = *r;

		told.given = call->name;
		return refuse(&told, ACT_SYSCALL, NULL, call->reason, call->err);
	}
	return answer_errno(call && call->err ? call->err : ENOSYS);
}

struct answer do_call(const struct request *r)
{
	int nr = r->n->data.nr;
	const struct act *act = NULL;
	struct answer a;

	/* A number means another call on another architecture. */
	if (r->n->data.arch == call_arch() && nr >= 0 && nr <= CALL_NEWEST)
		act = by_nr[nr];
	if (!act)
		return by_table(r);
	if (act->may_wait)
		return act->fn(r);
	if (act->alone)
		pthread_rwlock_wrlock(&r->b->tree);
	else
		pthread_rwlock_rdlock(&r->b->tree);
	a = act->fn(r);
	pthread_rwlock_unlock(&r->b->tree);
	return a;
}

/* --- steps before the first call --- */

/* Should: look at the command's tree only. The owner of the network namespace is the outer user namespace. */
static int join(int netns, int mntns)
{
	int userns = ioctl(netns, NS_GET_USERNS);

	if (userns < 0 || setns(userns, CLONE_NEWUSER) < 0 || setns(netns, CLONE_NEWNET) < 0 ||
	    setns(mntns, CLONE_NEWNS) < 0)
		return -1;
	close(userns);
	return 0;
}

/* Should: end with the supervisor, hold no capability, be of no use to a debugger. */
static int confine(struct broker *b)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };
	struct rlimit no_core = { 0 }, file = { .rlim_cur = b->blob->limit_file, .rlim_max = b->blob->limit_file };

	signal(SIGXFSZ, SIG_IGN);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || setrlimit(RLIMIT_CORE, &no_core) < 0 ||
	    (b->blob->limit_file && setrlimit(RLIMIT_FSIZE, &file) < 0) ||
	    syscall(SYS_capset, &head, none) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -1;
	umask(0);
	return 0;
}

static int load_zones(struct broker *b)
{
	const struct blob_zone *z = (const void *)((const char *)b->blob + b->blob->zones_off);

	b->zones = calloc(b->blob->n_zones + 1, sizeof(*b->zones));
	if (!b->zones)
		return -1;
	for (uint32_t i = 0; i < b->blob->n_zones; i++) {
		const char *path = wire_text(b->blob, z[i].path_off);

		b->zones[i] = (struct zone){ .kind = z[i].kind, .path = path,
					     .len = strcmp(path, "/") ? strlen(path) : 0,
					     .rule = wire_text(b->blob, z[i].rule_off),
					     .from_host = z[i].from_host != 0, .quiet = z[i].quiet != 0 };
	}
	b->n_zones = b->blob->n_zones;
	return 0;
}

static int load_rules(const struct blob_head *blob, uint32_t off, uint32_t n, struct names *ret)
{
	const uint32_t *at = (const void *)((const char *)blob + off);

	for (uint32_t i = 0; i < n; i++)
		if (names_add(ret, wire_text(blob, at[i])) < 0)
			return -1;
	return 0;
}

static int has_pattern(const struct names *n)
{
	for (size_t i = 0; i < n->n; i++)
		for (size_t j = 0; j < n->rules[i].n_parts; j++)
			if (!n->rules[i].is_exception && n->rules[i].parts[j].kind != NAME_LITERAL)
				return 1;
	return 0;
}

static int raise_open_files(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0)
		return -1;
	r.rlim_cur = r.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &r);
}

/* A stream of opens must not keep a rename waiting for ever. */
static void init_locks(struct broker *b)
{
	pthread_rwlockattr_t fair;

	pthread_rwlockattr_init(&fair);
	pthread_rwlockattr_setkind_np(&fair, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&b->tree, &fair);
	pthread_mutex_init(&b->ctl_lock, NULL);
}

/* The namespaces, and what can only be done in them with the rights that joining gave. */
static uint32_t enter(struct broker *b, const int fds[JOIN_NUM], int net[NET_FDS_MAX], size_t *ret_n)
{
	int is_sealed;

	if (join(fds[JOIN_NETNS], fds[JOIN_MNTNS]) < 0)
		wire_fail(b->ctl, errno, 0, "join the sandbox's namespaces");
	close(fds[JOIN_NETNS]);
	close(fds[JOIN_MNTNS]);
	if (net_prepare(b, net, ret_n) < 0)
		wire_fail(b->ctl, errno, 0, "prepare the sandbox's network");
	/* Both, whichever fails: what can be held is. */
	is_sealed = !seal_devices(b);
	return b->blob->may_seal && !seal_denied(b) && is_sealed ? FILTER_SPARED : FILTER_ALL;
}

/* From the plan and the namespaces, if there are any, to a confined process that knows both. */
static void prepare(struct broker *b)
{
	struct msg_filter joined = { .type = MSG_JOINED, .which = FILTER_ALL };
	struct msg_plain m;
	int fds[JOIN_NUM], net[NET_FDS_MAX];
	size_t n_net = 0;

	/* With nothing to join, only the last of the descriptors comes. */
	if (wire_recv(b->ctl, &m, sizeof(m), b->bare ? fds + JOIN_BLOB : fds, b->bare ? 1 : JOIN_NUM) != sizeof(m) ||
	    m.type != MSG_JOIN)
		_exit(125);	/* the supervisor is gone, or the run ended before it began */
	b->blob = wire_blob(fds[JOIN_BLOB]);
	if (!b->blob || !b->blob->is_bare != !b->bare || load_zones(b) < 0 ||
	    load_rules(b->blob, b->blob->rules_off, b->blob->n_rules, &b->names) < 0 ||
	    load_rules(b->blob, b->blob->reads_off, b->blob->n_reads, &b->reads) < 0 || raise_open_files() < 0)
		wire_fail(b->ctl, errno, 0, "read the sandbox plan in the broker");
	b->names.fold_case = b->reads.fold_case = b->blob->fold_case != 0;
	b->reads_by_pattern = b->blob->reads_are_ours || (!b->bare && has_pattern(&b->reads));
	b->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (b->proc < 0)
		wire_fail(b->ctl, errno, 0, "open /proc");
	if (!b->bare)
		joined.which = enter(b, fds, net, &n_net);
	b->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (b->root < 0 || mounts_load(b) < 0)
		wire_fail(b->ctl, errno, 0, "list the sandbox's mounts");
	if (confine(b) < 0)
		wire_fail(b->ctl, errno, 0, "confine the broker");
	if (wire_send(b->ctl, &joined, sizeof(joined), net, n_net) < 0)
		_exit(125);
	for (size_t i = 0; i < n_net; i++)
		close(net[i]);
}

static void serve(struct broker *b)
{
	struct msg_plain m;

	if (wire_recv(b->ctl, &m, sizeof(m), &b->notify, 1) != sizeof(m) || m.type != MSG_SERVE)
		_exit(125);
	/* Wake the caller on our own processor and sleep: halves a round trip. From kernel 6.6; else as before. */
	ioctl(b->notify, NOTIF_SET_FLAGS, NOTIF_SYNC_WAKE_UP);
	index_acts();
	if (workers_start(b) < 0 || start_thread(report_thread, b) < 0)
		wire_fail(b->ctl, errno, 0, "start the broker's threads");
	m.type = MSG_READY;
	if (wire_send(b->ctl, &m, sizeof(m), NULL, 0) < 0)
		_exit(125);
}

/* --- what the supervisor asks for while calls are answered --- */

static int send_inside(struct broker *b, int64_t id, unsigned int port)
{
	struct msg_inside m = { .type = MSG_INSIDE, .id = id, .port = port };
	int fd = net_inside(b, port), r;

	m.sys = fd < 0 ? errno : 0;
	pthread_mutex_lock(&b->ctl_lock);
	r = wire_send(b->ctl, &m, sizeof(m), &fd, fd >= 0);
	pthread_mutex_unlock(&b->ctl_lock);
	if (fd >= 0)
		close(fd);
	return r;
}

/* Until it hangs up, or says what is not understood. */
static void heed_supervisor(struct broker *b)
{
	union { struct msg_plain plain; struct msg_inside inside; } m;

	while (wire_recv(b->ctl, &m, sizeof(m), NULL, 0) == sizeof(m.inside) && m.plain.type == MSG_INSIDE)
		if (send_inside(b, m.inside.id, m.inside.port) < 0)
			return;
}

/* --- the end, where it is ours to bring about --- */

static pthread_mutex_t end_lock = PTHREAD_MUTEX_INITIALIZER;

/* One thread ends the run; another that comes too waits for it. */
static void end_bare(struct broker *b, int status)
{
	pthread_mutex_lock(&end_lock);
	reap_tree(b);
	report_flush(b);
	_exit(status);
}

/* The command's end is the run's. Whatever else ends is an orphan that came to us. */
static void *wait_for_command(void *arg)
{
	struct broker *b = arg;
	int status = 0;

	for (;;) {
		pid_t pid = waitpid(-1, &status, 0);

		if (pid == b->command || (pid < 0 && errno != EINTR))
			break;
	}
	end_bare(b, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	return NULL;
}

void broker_bare(int ctl, pid_t child)
{
	struct broker b = { .ctl = ctl, .notify = -1, .proc = -1, .root = -1, .bare = getpid(), .command = child };

	init_locks(&b);
	prepare(&b);
	if (start_thread(wait_for_command, &b) < 0)
		wire_fail(ctl, errno, 0, "start the broker's threads");
	serve(&b);
	heed_supervisor(&b);
	/* Nobody is left to hear of refusals, so there must be none. */
	end_bare(&b, 125);
	_exit(125);
}

int broker_main(int ctl)
{
	struct broker b = { .ctl = ctl, .notify = -1, .proc = -1, .root = -1 };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		wire_fail(ctl, errno, 0, "tie the broker to its supervisor");
	init_locks(&b);
	prepare(&b);
	serve(&b);
	/* The supervisor shuts its side down when the command is gone; what was counted still goes out. */
	heed_supervisor(&b);
	net_lost(&b);
	report_flush(&b);
	_exit(0);
}
