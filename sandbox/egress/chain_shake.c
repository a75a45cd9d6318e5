#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/loop.h"
#include "sandbox/egress/chain.h"
#include "sandbox/egress/http.h"

enum { LOOK_BYTES = 2048, INTERIM_MAX = 8 };

struct chain_shake {
	int fd;
	struct watch *watch;
	struct buf out, in;
	struct http_scan scan;
	int interim;		/* 1xx answers so far */
	void (*fn)(void *cookie, enum chain_end end);
	void *cookie;
};

/* What a turn says: an end, or that there is more to wait for. */
enum { WAIT = -1 };

void chain_shake_cancel(struct chain_shake *s)
{
	if (!s)
		return;
	watch_end(s->watch);
	/* It may hold a password. */
	if (s->out.data)
		explicit_bzero(s->out.data, s->out.cap);
	buf_done(&s->out);
	buf_done(&s->in);
	free(s);
}

static int send_request(struct chain_shake *s)
{
	while (s->out.len) {
		ssize_t n = send(s->fd, s->out.data, s->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? WAIT : CHAIN_BROKE;
		buf_eat(&s->out, (size_t)n);
	}
	return watch_events(s->watch, LOOP_READ) < 0 ? CHAIN_BROKE : WAIT;
}

/* The whole head of an answer is in s->in. */
static int judge_answer(struct chain_shake *s, size_t size)
{
	struct http_problem bad = { 0 };
	struct http_head head;

	/* Like HEAD's, its answer has no body, whatever the fields say: RFC 9110 9.3.6. */
	if (http_parse_response(s->in.data, size, 1, &head, &bad) < 0)
		return CHAIN_BROKE;
	if (head.status >= 200)
		return head.status < 300 ? CHAIN_OK : CHAIN_REFUSED;
	if (head.status == 101 || ++s->interim > INTERIM_MAX)
		return CHAIN_BROKE;
	buf_clear(&s->in);
	s->scan = (struct http_scan){ 0 };
	return WAIT;
}

/*
 * Look at what came and take only what belongs to the answer: the bytes behind
 * it are the host's, and are spliced by whoever asked. What ends no answer is
 * taken whole, so each look sees new bytes. WAIT with @ret_again: look again.
 */
static int read_answer(struct chain_shake *s, int *ret_again)
{
	char seen[LOOK_BYTES];
	struct http_problem bad = { 0 };
	ssize_t n = recv(s->fd, seen, sizeof(seen), MSG_PEEK | MSG_DONTWAIT);
	size_t before = s->in.len, take;
	long size;

	*ret_again = 0;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? WAIT : CHAIN_BROKE;
	if (!n || buf_add(&s->in, seen, (size_t)n) < 0)
		return CHAIN_BROKE;
	size = http_scan(&s->scan, s->in.data, s->in.len, &bad);
	if (size < 0)
		return CHAIN_BROKE;
	take = size ? (size_t)size - before : (size_t)n;
	if (recv(s->fd, seen, take, MSG_DONTWAIT) != (ssize_t)take)
		return CHAIN_BROKE;
	*ret_again = 1;
	return size ? judge_answer(s, (size_t)size) : WAIT;
}

static void on_ready(void *cookie, int fd, unsigned int ready)
{
	struct chain_shake *s = cookie;
	void (*fn)(void *, enum chain_end) = s->fn;
	void *its_cookie = s->cookie;
	int r = WAIT, again = 1;

	(void)fd;
	(void)ready;
	if (s->out.len)
		r = send_request(s);
	/* A head has a bound, and so have heads in front of it. */
	while (r == WAIT && !s->out.len && again)
		r = read_answer(s, &again);
	if (r == WAIT)
		return;
	chain_shake_cancel(s);
	fn(its_cookie, (enum chain_end)r);
}

static int write_request(const struct chain_proxy *p, const struct host *h, uint16_t port, struct buf *out)
{
	char to[HOST_SHOWN_SIZE];

	host_show(h, port, to);
	/* Enough at once, so that no copy of a password is left behind by growing. */
	if (!buf_room(out, 256 + 2 * sizeof(to) + (p->authorization ? strlen(p->authorization) : 0)))
		return -1;
	buf_addf(out, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", to, to);
	if (p->authorization) {
		buf_adds(out, "Proxy-Authorization: ");
		buf_adds(out, p->authorization);
		buf_adds(out, "\r\n");
	}
	return buf_adds(out, "\r\n");
}

struct chain_shake *chain_shake_start(struct loop *loop, int fd, const struct chain_proxy *p, const struct host *h,
				      uint16_t port, void (*fn)(void *cookie, enum chain_end end), void *cookie)
{
	struct chain_shake *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->fd = fd;
	s->fn = fn;
	s->cookie = cookie;
	if (write_request(p, h, port, &s->out) == 0)
		s->watch = loop_fd(loop, fd, LOOP_WRITE, on_ready, s);
	if (s->watch)
		return s;
	chain_shake_cancel(s);
	return NULL;
}
