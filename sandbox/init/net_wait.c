/*
 * sandbox/init/net_wait.c - connections that take their time
 *
 * A worker must never wait for a host outside: while it does, somebody's open()
 * stands still. One thread waits for all of them and answers each call when its
 * connection stands or has failed, when the caller's own time is up, or when a
 * signal of the caller's wants to be handled, which the kernel holds back as long as we
 * have the call.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/init/later.h"
#include "sandbox/init/net_internal.h"

#define MAX_CONNECTING 1024
#define LOOK_MS 200		/* how often callers are looked after */
#define TURN 64

struct connecting {
	struct broker *b;
	uint64_t id;
	pid_t tid;
	int sock;		/* ours; 0: this place is free */
	int flags;		/* its own, which it gets back */
	int64_t until_ms;	/* SO_SNDTIMEO; 0: for as long as it takes */
};

static struct connecting all[MAX_CONNECTING];
static size_t n_connecting, n_used;	/* n_used: places that were ever taken */
static int events = -1, bell = -1;	/* the thread sleeps for good while there is nobody */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Under the lock, as all that follows. */
static void leave(struct connecting *c)
{
	fcntl(c->sock, F_SETFL, c->flags);
	close(c->sock);		/* a copy: the caller's goes on */
	c->sock = 0;
	n_connecting--;
}

static void finish(struct connecting *c, int err)
{
	int notify = c->b->notify;
	uint64_t id = c->id;

	epoll_ctl(events, EPOLL_CTL_DEL, c->sock, NULL);
	leave(c);
	send_errno(notify, id, err);
}

static void on_event(struct connecting *c)
{
	int err = 0;
	socklen_t len = sizeof(err);

	if (!c->sock)
		return;
	if (getsockopt(c->sock, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	finish(c, err);
}

/* Does a signal wait for which the caller has a handler? One that kills it does so by itself. */
static int is_called(const struct connecting *c)
{
	uint64_t pending = 0, blocked = 0, handled = 0, v;
	char path[64], line[256];
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), "%d/status", (int)c->tid);
	fd = openat(c->b->proc, path, O_RDONLY | O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "SigPnd: %" SCNx64, &v) == 1 || sscanf(line, "ShdPnd: %" SCNx64, &v) == 1)
			pending |= v;
		sscanf(line, "SigBlk: %" SCNx64, &blocked);
		sscanf(line, "SigCgt: %" SCNx64, &handled);
	}
	fclose(f);
	return (pending & ~blocked & handled) != 0;
}

static void look_after(struct connecting *c, int64_t now)
{
	if (!c->sock)
		return;
	if (ioctl(c->b->notify, SECCOMP_IOCTL_NOTIF_ID_VALID, &c->id) < 0) {
		epoll_ctl(events, EPOLL_CTL_DEL, c->sock, NULL);
		leave(c);
	} else if (c->until_ms && c->until_ms <= now) {
		finish(c, EINPROGRESS);		/* as connect(2) has it: it goes on, unattended */
	} else if (is_called(c)) {
		finish(c, EINTR);
	}
}

static void *wait_for_all(void *unused)
{
	struct epoll_event got[TURN];
	int64_t looked = 0;
	eventfd_t rings;

	(void)unused;
	for (;;) {
		int n = epoll_wait(events, got, TURN, n_connecting ? LOOK_MS : -1);
		int64_t now = now_ms();

		pthread_mutex_lock(&lock);
		for (int i = 0; i < n; i++) {
			if (got[i].data.u32 < MAX_CONNECTING)
				on_event(&all[got[i].data.u32]);
			else
				eventfd_read(bell, &rings);
		}
		for (size_t i = 0; now - looked >= LOOK_MS && i < n_used; i++)
			look_after(&all[i], now);
		if (now - looked >= LOOK_MS)
			looked = now;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static int open_bell(void)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = MAX_CONNECTING };

	events = epoll_create1(EPOLL_CLOEXEC);
	bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return events < 0 || bell < 0 ? -1 : epoll_ctl(events, EPOLL_CTL_ADD, bell, &e);
}

static int start(void)
{
	static int is_started;
	pthread_attr_t attr;
	pthread_t t;
	int r;

	if (is_started)
		return 0;
	if (events < 0 && open_bell() < 0)
		return -1;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 * 1024);
	r = pthread_create(&t, &attr, wait_for_all, NULL);
	pthread_attr_destroy(&attr);
	is_started = !r;
	errno = r;
	return r ? -1 : 0;
}

/* Where its caller has said how long it may take. */
static int64_t deadline(int sock)
{
	struct timeval t = { 0 };
	socklen_t len = sizeof(t);

	if (getsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &t, &len) < 0 || (!t.tv_sec && !t.tv_usec))
		return 0;
	return now_ms() + (int64_t)t.tv_sec * 1000 + t.tv_usec / 1000;
}

static struct connecting *free_place(void)
{
	for (size_t i = 0; i < MAX_CONNECTING; i++) {
		if (all[i].sock)
			continue;
		if (i >= n_used)
			n_used = i + 1;
		return &all[i];
	}
	return NULL;
}

static int add(const struct request *r, int sock, int flags)
{
	struct connecting *c = free_place();
	struct epoll_event e = { .events = EPOLLOUT | EPOLLONESHOT };

	if (!c || start() < 0)
		return c ? -1 : (errno = EAGAIN, -1);
	e.data.u32 = (uint32_t)(c - all);
	*c = (struct connecting){ .b = r->b, .id = r->n->id, .tid = r->tid, .flags = flags, .until_ms = deadline(sock),
				  .sock = fcntl(sock, F_DUPFD_CLOEXEC, 3) };
	if (c->sock < 0 || epoll_ctl(events, EPOLL_CTL_ADD, c->sock, &e) < 0) {
		if (c->sock > 0)
			close(c->sock);
		c->sock = 0;
		return -1;
	}
	if (!n_connecting++)
		eventfd_write(bell, 1);
	return 0;
}

struct answer net_wait(const struct request *r, int sock, int flags)
{
	int result, saved;

	pthread_mutex_lock(&lock);
	result = add(r, sock, flags);
	saved = errno;
	pthread_mutex_unlock(&lock);
	if (result == 0)
		return (struct answer){ .kind = ANSWER_LATER, .fd = -1 };
	fcntl(sock, F_SETFL, flags);
	return answer_errno(saved);
}
