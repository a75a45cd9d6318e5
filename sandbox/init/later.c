#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/init/later.h"
#include "sandbox/init/sys.h"

#define MAX_WAITING 128
#define LONGEST_PAUSE_MS 20

struct waiting {
	struct broker *b;
	uint64_t id;
	int object;
	int flags;
	int cloexec;
	int truncates;	/* to @len, and nothing is handed over */
	off_t len;
	int reading;	/* -1, or the FIFO's reading end, which is open and waits for a writer */
};

static atomic_int n_waiting;

static int add_fd(int notify, uint64_t id, int fd, int cloexec, uint32_t flags)
{
	struct seccomp_notif_addfd a = {
		.id = id,
		.flags = flags,
		.srcfd = (uint32_t)fd,
		.newfd_flags = cloexec ? O_CLOEXEC : 0,
	};

	return ioctl(notify, SECCOMP_IOCTL_NOTIF_ADDFD, &a);
}

int send_fd(int notify, uint64_t id, int fd, int cloexec)
{
	return add_fd(notify, id, fd, cloexec, SECCOMP_ADDFD_FLAG_SEND) < 0 ? -1 : 0;
}

int put_fd(int notify, uint64_t id, int fd, int cloexec)
{
	return add_fd(notify, id, fd, cloexec, 0);
}

void send_errno(int notify, uint64_t id, int err)
{
	struct seccomp_notif_resp resp = { .id = id, .error = -err };

	ioctl(notify, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

static int still_there(const struct broker *b, uint64_t id)
{
	return !ioctl(b->notify, SECCOMP_IOCTL_NOTIF_ID_VALID, &id);
}

static void finish(const struct waiting *w, int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0 ||
	    send_fd(w->b->notify, w->id, fd, w->cloexec) < 0)
		send_errno(w->b->notify, w->id, errno);
	close(fd);
}

static void finish_truncate(const struct waiting *w, int fd)
{
	int err = ftruncate(fd, w->len) < 0 ? errno : 0;

	close(fd);
	send_errno(w->b->notify, w->id, err);
}

/* One attempt; 1 when the call was answered. */
static int try_open(const struct waiting *w)
{
	char link[32];
	int fd;

	snprintf(link, sizeof(link), "self/fd/%d", w->object);
	fd = openat(w->b->proc, link, w->flags);
	if (fd >= 0 && w->truncates)
		finish_truncate(w, fd);
	else if (fd >= 0)
		finish(w, fd);
	else if (errno != ENXIO && errno != EWOULDBLOCK)
		send_errno(w->b->notify, w->id, errno);
	else
		return 0;
	return 1;
}

/* The kernel does not tell of a writer that has not written; its first byte, or its leaving, shows it. */
static int try_reading(struct waiting *w)
{
	struct pollfd p = { .fd = w->reading, .events = POLLIN };

	if (poll(&p, 1, 0) <= 0)
		return 0;
	finish(w, w->reading);
	w->reading = -1;
	return 1;
}

static void *wait_and_open(void *arg)
{
	struct waiting *w = arg;
	long pause_ms = 1;

	while (still_there(w->b, w->id)) {	/* bounded by the caller's own patience */
		struct timespec t = { .tv_nsec = pause_ms * 1000000L };

		if (w->reading >= 0 ? try_reading(w) : try_open(w))
			break;
		nanosleep(&t, NULL);
		if (pause_ms < LONGEST_PAUSE_MS)
			pause_ms *= 2;
	}
	if (w->object >= 0)
		close(w->object);
	if (w->reading >= 0)
		close(w->reading);
	free(w);
	atomic_fetch_sub(&n_waiting, 1);
	return NULL;
}

/* One more thread that waits, and says at its end that there is one less. 0 or -1 */
static int start(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	if (atomic_fetch_add(&n_waiting, 1) < MAX_WAITING && !pthread_create(&thread, NULL, fn, arg)) {
		pthread_detach(thread);
		return 0;
	}
	atomic_fetch_sub(&n_waiting, 1);
	return -1;
}

/* Start the thread for one like @like; takes its descriptors, also on failure. */
static struct answer start_waiting(const struct request *r, const struct waiting *like)
{
	struct waiting *w = malloc(sizeof(*w));

	if (w) {
		*w = *like;
		w->b = r->b;
		w->id = r->n->id;
	}
	if (w && !start(wait_and_open, w))
		return (struct answer){ .kind = ANSWER_LATER, .fd = -1 };
	free(w);
	if (like->object >= 0)
		close(like->object);
	if (like->reading >= 0)
		close(like->reading);
	return answer_errno(ENFILE);
}

struct answer open_later(const struct request *r, int object, int flags, int cloexec)
{
	int own = fcntl(object, F_DUPFD_CLOEXEC, 3);

	return own < 0 ? answer_errno(ENFILE) :
	       start_waiting(r, &(struct waiting){ .object = own, .reading = -1, .flags = flags, .cloexec = cloexec });
}

struct answer read_later(const struct request *r, int fd, int cloexec)
{
	return start_waiting(r, &(struct waiting){ .object = -1, .reading = fd, .cloexec = cloexec });
}

struct answer truncate_later(const struct request *r, int object, int flags, off_t len)
{
	int own = fcntl(object, F_DUPFD_CLOEXEC, 3);

	return own < 0 ? answer_errno(ENFILE) :
	       start_waiting(r, &(struct waiting){ .object = own, .reading = -1, .flags = flags, .truncates = 1, .len = len });
}

/* --- a server whose queue is full --- */

#define CONNECT_TRIES 400
#define CONNECT_PAUSE_NS 5000000

struct connecting {
	struct broker *b;
	uint64_t id;
	int sock, flags;
	int object;	/* O_PATH, or -1 */
	struct sockaddr_storage a;
	socklen_t len;
};

static void connecting_done(struct connecting *c)
{
	if (c->object >= 0)
		close(c->object);
	close(c->sock);
	free(c);
}

socklen_t object_address(int object, struct sockaddr_storage *ret)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int len = snprintf(a.sun_path, sizeof(a.sun_path), "self/fd/%d", object);

	memcpy(ret, &a, sizeof(a));
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)len + 1);
}

/* The errno, or 0. A working directory of its own, since an object's address is a name in /proc. */
static int connect_patiently(const struct connecting *c)
{
	const struct timespec pause = { .tv_nsec = CONNECT_PAUSE_NS };
	int r = -1;

	if (c->object >= 0 && (unshare(CLONE_FS) < 0 || fchdir(c->b->proc) < 0))
		return errno;
	errno = EAGAIN;
	for (int i = 0; i < CONNECT_TRIES && r < 0 && errno == EAGAIN && still_there(c->b, c->id); i++) {
		nanosleep(&pause, NULL);
		r = connect(c->sock, (const struct sockaddr *)&c->a, c->len);
	}
	return r < 0 ? errno : 0;
}

static void *wait_and_connect(void *arg)
{
	struct connecting *c = arg;
	int err = connect_patiently(c);

	fcntl(c->sock, F_SETFL, c->flags);
	send_errno(c->b->notify, c->id, err);
	connecting_done(c);
	atomic_fetch_sub(&n_waiting, 1);
	return NULL;
}

struct answer connect_later(const struct request *r, int sock, int flags, int object, const struct sockaddr *a,
			    socklen_t len)
{
	struct connecting *c = calloc(1, sizeof(*c));

	if (!c) {
		close(sock);
		return answer_errno(ENOMEM);
	}
	*c = (struct connecting){ .b = r->b, .id = r->n->id, .sock = sock, .flags = flags, .len = len,
				  .object = object < 0 ? -1 : fcntl(object, F_DUPFD_CLOEXEC, 3) };
	if (c->object >= 0)
		c->len = object_address(c->object, &c->a);
	else
		memcpy(&c->a, a, len);
	if ((object < 0 || c->object >= 0) && !start(wait_and_connect, c))
		return (struct answer){ .kind = ANSWER_LATER, .fd = -1 };
	fcntl(sock, F_SETFL, flags);
	connecting_done(c);
	return answer_errno(EAGAIN);
}
