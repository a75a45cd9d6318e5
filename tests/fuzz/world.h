/*
 * tests/fuzz/world.h - a thread that stands in a tree of its own, as a broker does
 *
 * The broker's files walk and change real trees. Here they get one: an empty
 * memory file system as the root of a mount namespace that only this thread is
 * in, without devices, gone with the process. The fuzzer's own thread keeps its
 * files. Where no namespace can be had, inputs are passed over. An input that
 * breaks something is in the log alone, in base 64: the thread that breaks cannot
 * reach the directory for such inputs.
 */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/init/broker.h"

static struct broker broker = { .ctl = -1, .notify = -1, .proc = -1, .root = -1 };

#define MUST(what) \
	do { \
		if ((what) < 0) { \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what, strerror(errno)); \
			abort(); \
		} \
	} while (0)

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	void (*todo)(void *arg);	/* NULL: nothing */
	void *arg;
	int stands;			/* 1; -1: cannot be */
	int has_proc;
} world = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void world_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	MUST(fd);
	MUST(write(fd, text, strlen(text)));
	close(fd);
}

/* mounts_load() looks at "self", which is the fuzzer's own thread: give it what this one has. */
static void world_load_mounts(void)
{
	char text[1 << 16];
	int real = broker.proc, fd = openat(real, "thread-self/mountinfo", O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	ssize_t n;

	MUST(fd);
	while ((n = read(fd, text + have, sizeof(text) - 1 - have)) > 0)
		have += (size_t)n;
	text[have] = '\0';
	close(fd);
	MUST(mkdir("/self", 0755));
	world_write("/self/mountinfo", text);
	broker.proc = broker.root;
	MUST(mounts_load(&broker));
	broker.proc = real;
	MUST(unlink("/self/mountinfo"));
	MUST(rmdir("/self"));
}

static int world_make(void)
{
	if (unshare(CLONE_FS | CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("world", "/tmp", "tmpfs", MS_NODEV | MS_NOSUID, "size=64m") < 0)
		return -1;
	if (world.has_proc && (mkdir("/tmp/proc", 0755) < 0 || mount("/proc", "/tmp/proc", NULL, MS_BIND, NULL) < 0))
		return -1;
	if (chdir("/tmp") < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return -1;
	broker.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return broker.root < 0 ? -1 : 0;
}

static void *world_thread(void *unused)
{
	int made = world_make();

	(void)unused;
	if (made < 0)
		fprintf(stderr, "no tree of its own can be had, so nothing is tried: %s\n", strerror(errno));
	else
		world_load_mounts();
	pthread_mutex_lock(&world.lock);
	world.stands = made < 0 ? -1 : 1;
	pthread_cond_broadcast(&world.changed);
	for (;;) {
		while (!world.todo)
			pthread_cond_wait(&world.changed, &world.lock);
		world.todo(world.arg);
		world.todo = NULL;
		pthread_cond_broadcast(&world.changed);
	}
	return NULL;
}

/* world_do() - run @fn there, and wait for it */
static void world_do(void (*fn)(void *arg), void *arg)
{
	pthread_mutex_lock(&world.lock);
	world.arg = arg;
	world.todo = fn;
	pthread_cond_broadcast(&world.changed);
	while (world.todo)
		pthread_cond_wait(&world.changed, &world.lock);
	pthread_mutex_unlock(&world.lock);
}

/* As an ordinary user: be root of a user namespace first. */
static void world_become_root(void)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (!uid || unshare(CLONE_NEWUSER) < 0)
		return;
	world_write("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	world_write("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	world_write("/proc/self/gid_map", map);
}

/* world_start() - 0 when it stands, with /proc in it if @has_proc; -1 and a line on stderr if it cannot be */
static int world_start(int has_proc)
{
	pthread_t thread;

	world_become_root();
	world.has_proc = has_proc;
	broker.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	MUST(broker.proc);
	pthread_rwlock_init(&broker.tree, NULL);
	pthread_mutex_init(&broker.ctl_lock, NULL);
	if (pthread_create(&thread, NULL, world_thread, NULL))
		abort();
	pthread_mutex_lock(&world.lock);
	while (!world.stands)
		pthread_cond_wait(&world.changed, &world.lock);
	pthread_mutex_unlock(&world.lock);
	return world.stands < 0 ? -1 : 0;
}

#endif
