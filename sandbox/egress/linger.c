#include <errno.h>
#include <stdlib.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/loop.h"
#include "sandbox/egress/egress_internal.h"

enum { DISCARD_MAX_BYTES = 64 << 20, LOOK_MS = 10 };

struct farewell {
	struct client client;
	struct egress *eg;
	int fd;
	struct watch *watch;	/* the socket, or the timer of an abort */
	struct buf out;
	size_t discarded;
	int shut;
	int abort;
};

static void linger_free(struct farewell *l)
{
	client_remove(l->eg, &l->client);
	watch_end(l->watch);
	if (l->abort)
		socket_reset(l->fd);
	else
		close(l->fd);
	buf_done(&l->out);
	free(l);
}

static void expire(struct client *c)
{
	linger_free((struct farewell *)c);
}

void socket_reset(int fd)
{
	const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(fd);
}

/* 0, or -1 when there is no use in going on. */
static int send_some(struct farewell *l)
{
	while (l->out.len) {
		ssize_t n = send(l->fd, l->out.data, l->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		buf_eat(&l->out, (size_t)n);
	}
	return 0;
}

static int send_rest(struct farewell *l)
{
	if (send_some(l) < 0)
		return -1;
	if (l->out.len || l->shut)
		return 0;
	l->shut = 1;
	return shutdown(l->fd, SHUT_WR);
}

static int discard(struct farewell *l)
{
	char scratch[16384];

	for (;;) {
		ssize_t n = recv(l->fd, scratch, sizeof(scratch), MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		l->discarded += (size_t)n;
		if (!n || l->discarded > DISCARD_MAX_BYTES)
			return -1;
	}
}

static void on_ready(void *cookie, int fd, unsigned int ready)
{
	struct farewell *l = cookie;

	(void)fd;
	(void)ready;
	/* An end from the client says that it has read all, unless there is more to send. */
	if (send_rest(l) < 0 || (discard(l) < 0 && !l->out.len))
		linger_free(l);
	else
		watch_events(l->watch, l->out.len ? LOOP_WRITE : LOOP_READ);
}

/* Has the client's side got every byte? No event tells, so this looks once in a while. */
static void look(void *cookie)
{
	struct farewell *l = cookie;
	int unsent = 0;

	if (send_some(l) < 0 || ioctl(l->fd, SIOCOUTQ, &unsent) < 0 || (!unsent && !l->out.len))
		linger_free(l);
}

static struct farewell *start(struct egress *eg, int fd, struct buf *out)
{
	struct farewell *l = calloc(1, sizeof(*l));

	if (!l) {
		close(fd);
		buf_done(out);
		return NULL;
	}
	l->eg = eg;
	l->fd = fd;
	l->out = *out;
	*out = (struct buf){ 0 };
	l->client.expire = expire;
	client_add(eg, &l->client, eg->cfg.limits.linger_ms);
	return l;
}

void linger_start(struct egress *eg, int fd, struct buf *out)
{
	struct farewell *l = start(eg, fd, out);

	if (!l)
		return;
	l->watch = loop_fd(eg->loop, fd, LOOP_READ, on_ready, l);
	if (l->watch)
		on_ready(l, fd, 0);
	else
		linger_free(l);
}

void linger_abort(struct egress *eg, int fd, struct buf *out)
{
	struct farewell *l = start(eg, fd, out);

	if (!l)
		return;
	l->abort = 1;
	l->watch = loop_timer(eg->loop, LOOK_MS, LOOK_MS, look, l);
	if (!l->watch)
		linger_free(l);
	else
		look(l);
}
