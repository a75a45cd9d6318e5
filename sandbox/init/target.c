/*
 * sandbox/init/target.c - looking at the caller of a notified call
 *
 * Its memory and its entries in the host's /proc. What is read may belong to a
 * stranger if the caller has died and its id was reused, so whoever acts on it
 * asks target_alive() after the last read. A caller that made itself
 * non-dumpable is readable all the same: we are in the parent of its user
 * namespace and of the same owner.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <time.h>

#include "sandbox/init/broker.h"
#include "sandbox/init/sys.h"

#define MAX_DEPTH 4096	/* generations of a run */

int target_read(pid_t tid, uint64_t addr, void *to, size_t len)
{
	struct iovec local = { .iov_base = to, .iov_len = len };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)addr, .iov_len = len };
	ssize_t n = process_vm_readv(tid, &local, 1, &remote, 1, 0);

	if (n == (ssize_t)len)
		return 0;
	if (n >= 0)
		errno = EFAULT;
	return -1;
}

ssize_t target_text(pid_t tid, uint64_t addr, char *to, size_t size)
{
	size_t have = 0;

	if (!addr) {
		errno = EFAULT;
		return -1;
	}
	while (have < size) {
		/* Up to the end of a page at a time: the next one may not be mapped. */
		size_t len = 4096 - (addr + have) % 4096;
		char *nul;

		/* Most paths are short: do not copy a page for them. */
		if (!have && len > 256)
			len = 256;
		if (len > size - have)
			len = size - have;
		if (target_read(tid, addr + have, to + have, len) < 0)
			return -1;
		nul = memchr(to + have, '\0', len);
		if (nul)
			return nul - to;
		have += len;
	}
	errno = ENAMETOOLONG;
	return -1;
}

int target_alive(const struct request *r)
{
	uint64_t id = r->n->id;

	return !ioctl(r->b->notify, SECCOMP_IOCTL_NOTIF_ID_VALID, &id);
}

/* Read /proc/TID/@file whole into @buf as text; 0 or -1. */
static int read_proc(const struct request *r, const char *file, char *buf, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%d/%s", (int)r->tid, file);
	fd = openat(r->b->proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return -1;
	buf[n] = '\0';
	return 0;
}

/* The text behind "\n<key>:\t" in a status file, or NULL. */
static const char *status_line(const char *status, const char *key)
{
	const char *at = strstr(status, key);

	return at ? at + strlen(key) : NULL;
}

/*
 * Reading a umask from /proc costs as much as the rest of a call, so it is
 * remembered for a moment by thread id. A call of umask(2) is notified and ends
 * all that is remembered; until its caller's next call shows that it has run
 * (or a second has passed), nothing new is remembered. One word a slot, so that
 * workers need no lock: thread id, generation, time and the mask itself.
 */
#define UMASK_SLOTS 256
#define UMASK_KEEP_MS 1000
#define UMASK_CHANGES 16	/* under way at once; what is more may be forgotten */

static _Atomic uint64_t umasks[UMASK_SLOTS];
static _Atomic uint32_t umask_generation = 1;
static _Atomic uint64_t umask_changes[UMASK_CHANGES];	/* thread id << 32 | time, of a call; 0: it has run */

static uint32_t coarse_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint32_t)(t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

/* The slot's word for what holds now, without the mask (its low 9 bits). */
static uint64_t umask_word(pid_t tid, uint32_t now)
{
	return (uint64_t)(uint32_t)tid << 42 | (uint64_t)(umask_generation & 0x3fff) << 28 |
	       (uint64_t)(now / UMASK_KEEP_MS & 0x7ffff) << 9;
}

void target_umask_changes(const struct request *r)
{
	uint32_t now = coarse_ms();
	uint64_t change = (uint64_t)(uint32_t)r->tid << 32 | now;

	umask_generation++;
	for (size_t i = 0; i < UMASK_CHANGES; i++) {
		uint64_t was = umask_changes[i];

		if ((!was || (pid_t)(was >> 32) == r->tid || now - (uint32_t)was >= UMASK_KEEP_MS) &&
		    atomic_compare_exchange_strong(&umask_changes[i], &was, change))
			return;
	}
	umask_changes[(uint32_t)r->tid % UMASK_CHANGES] = change;
}

/* 1 while a umask(2) may be told of but not yet done. */
static int umask_is_changing(pid_t tid, uint32_t now)
{
	int changing = 0;

	for (size_t i = 0; i < UMASK_CHANGES; i++) {
		uint64_t change = umask_changes[i];

		if (!change)
			continue;
		if ((pid_t)(change >> 32) != tid && now - (uint32_t)change < UMASK_KEEP_MS) {
			changing = 1;
			continue;
		}
		/* Its thread is back with another call, or had its time. */
		umask_generation++;
		atomic_compare_exchange_strong(&umask_changes[i], &change, 0);
	}
	return changing;
}

static int read_umask(const struct request *r, mode_t *ret)
{
	char status[4096];
	const char *at;

	if (read_proc(r, "status", status, sizeof(status)) < 0)
		return -1;
	at = status_line(status, "\nUmask:\t");
	if (!at) {
		errno = ENODATA;
		return -1;
	}
	*ret = (mode_t)strtoul(at, NULL, 8) & 0777;
	return 0;
}

int target_umask(const struct request *r, mode_t *ret)
{
	_Atomic uint64_t *slot = &umasks[(uint32_t)r->tid % UMASK_SLOTS];
	uint32_t now = coarse_ms();
	int changing = umask_is_changing(r->tid, now);
	uint64_t word = umask_word(r->tid, now), have = *slot;

	if (!changing && (have & ~(uint64_t)0777) == word) {
		*ret = (mode_t)(have & 0777);
		return 0;
	}
	if (read_umask(r, ret) < 0)
		return -1;
	if (!changing)
		*slot = word | *ret;
	return 0;
}

/* The last number on the line at @at: the id in the innermost pid namespace. */
static pid_t last_number(const char *at)
{
	const char *end = at + strcspn(at, "\n"), *p = end;

	while (p > at && p[-1] >= '0' && p[-1] <= '9')
		p--;
	return (pid_t)strtol(p, NULL, 10);
}

int target_ids(const struct request *r, pid_t *ret_tgid, pid_t *ret_inner_tgid, pid_t *ret_inner_tid)
{
	char status[4096];
	const char *tgid, *inner_tgid, *inner_tid;

	if (read_proc(r, "status", status, sizeof(status)) < 0)
		return -1;
	tgid = status_line(status, "\nTgid:\t");
	inner_tgid = status_line(status, "\nNStgid:\t");
	inner_tid = status_line(status, "\nNSpid:\t");
	if (!tgid || !inner_tgid || !inner_tid) {
		errno = ENODATA;
		return -1;
	}
	*ret_tgid = (pid_t)strtol(tgid, NULL, 10);
	*ret_inner_tgid = last_number(inner_tgid);
	*ret_inner_tid = last_number(inner_tid);
	return 0;
}

/* A map is written once, and no process of a run has another: user namespaces are refused. */
static const char *read_map(const struct request *r, enum target_map which)
{
	static const char *const files[] = { [TARGET_USERS] = "uid_map", [TARGET_GROUPS] = "gid_map" };
	static _Atomic(const char *) maps[2];
	const char *have = maps[which], *none = NULL;
	char text[4096], *copy;

	if (have)
		return have;
	copy = read_proc(r, files[which], text, sizeof(text)) < 0 ? NULL : strdup(text);
	if (!copy || atomic_compare_exchange_strong(&maps[which], &none, copy))
		return copy;
	free(copy);	/* another thread was faster */
	return maps[which];
}

int target_id(const struct request *r, enum target_map which, uint32_t id, uint32_t *ret)
{
	unsigned long first, ours, n;
	const char *text;

	*ret = id;
	if (id == (uint32_t)-1)
		return 0;
	text = read_map(r, which);
	if (!text)
		return -1;
	/* The second column is told as we count, who open the file. */
	for (const char *line = text; line && sscanf(line, "%lu %lu %lu", &first, &ours, &n) == 3;) {
		if (id >= first && id - first < n) {
			*ret = (uint32_t)(ours + (id - first));
			return 0;
		}
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	errno = EPERM;
	return -1;
}

/* The parent of @pid, or -1. */
static pid_t parent_of(const struct broker *b, pid_t pid)
{
	char path[32], status[4096];
	const char *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%d/status", (int)pid);
	fd = openat(b->proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, status, sizeof(status) - 1);
	close(fd);
	status[n > 0 ? n : 0] = '\0';
	at = status_line(status, "\nPPid:\t");
	return at ? (pid_t)strtol(at, NULL, 10) : -1;
}

int target_is_ours(const struct broker *b, pid_t pid)
{
	for (int depth = 0; b->bare && pid > 1 && depth < MAX_DEPTH; depth++) {
		pid = parent_of(b, pid);
		if (pid == b->bare)
			return 1;
	}
	return 0;
}

int target_fd_flags(const struct request *r, int fd)
{
	char file[32], info[512];
	const char *at;
	int flags;

	snprintf(file, sizeof(file), "fdinfo/%d", fd);
	if (read_proc(r, file, info, sizeof(info)) < 0)
		return -1;
	at = strstr(info, "flags:\t");
	flags = at ? (int)strtoul(at + 7, NULL, 8) : -1;
	return flags & O_PATH ? -1 : flags;
}

pid_t target_tgid(const struct request *r)
{
	pid_t tgid, inner_tgid, inner_tid;

	/* Most threads are their group's first, and this says so without a line of /proc. */
	if (!syscall(SYS_tgkill, r->tid, r->tid, 0) || errno == EPERM)
		return r->tid;
	return target_ids(r, &tgid, &inner_tgid, &inner_tid) < 0 ? -1 : tgid;
}

/* From kernel 6.9 a descriptor may stand for any thread; before, only for the first of a process. */
static int open_pidfd(pid_t tid)
{
	int fd = (int)syscall(SYS_pidfd_open, tid, PIDFD_OF_THREAD);

	return fd < 0 && errno == EINVAL ? (int)syscall(SYS_pidfd_open, tid, 0) : fd;
}

int target_take_own_fd(const struct request *r, int fd)
{
	struct worker *w = r->w;
	int got;

	if (w->pidfd_of == r->tid) {
		got = sys_pidfd_getfd(w->pidfd, fd);
		if (got >= 0 || errno != ESRCH)
			return got;
	}
	/* Another caller, or another that was given the number of one that ended. */
	if (w->pidfd >= 0)
		close(w->pidfd);
	w->pidfd = open_pidfd(r->tid);
	w->pidfd_of = w->pidfd < 0 ? 0 : r->tid;
	return w->pidfd < 0 ? -1 : sys_pidfd_getfd(w->pidfd, fd);
}

int target_take_first_fd(const struct request *r, int fd)
{
	pid_t tgid = target_tgid(r);
	int pidfd, got, saved;

	if (tgid < 0)
		return -1;
	pidfd = (int)syscall(SYS_pidfd_open, tgid, 0);
	if (pidfd < 0)
		return -1;
	got = sys_pidfd_getfd(pidfd, fd);
	saved = errno;
	close(pidfd);
	errno = saved;
	return got;
}

int target_take_fd(const struct request *r, int fd)
{
	int got = target_take_own_fd(r, fd);

	/* Nearly all threads have one table: where only its group's first can be asked, that is it. */
	return got < 0 && r->w->pidfd < 0 ? target_take_first_fd(r, fd) : got;
}
