#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/own.h"
#include "sandbox/egress/stream.h"

enum { READ_BYTES = 32 << 10, CIPHER_BYTES = 64 << 10 };

int stream_open(struct stream *s, struct loop *loop, int fd,
		void (*fn)(void *cookie, int fd, unsigned int ready), void *cookie)
{
	*s = (struct stream){ .fd = fd };
	s->watch = loop_fd(loop, fd, 0, fn, cookie);
	if (s->watch)
		return 0;
	close(fd);
	s->fd = -1;
	return -1;
}

/* One recv(2) into @to: how many bytes, 0 at the end or when there are none, with the flags set. */
static size_t receive(struct stream *s, void *to, size_t len)
{
	ssize_t n = recv(s->fd, to, len, MSG_DONTWAIT);

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		s->in_broke = 1;
	if (!n)
		s->ended = 1;
	s->bytes_in += n > 0 ? (size_t)n : 0;
	return n > 0 ? (size_t)n : 0;
}

static void fill_plain(struct stream *s, size_t max)
{
	while (!s->ended && !s->in_broke && s->in.len < max) {
		char *to = buf_room(&s->in, READ_BYTES);
		size_t n;

		if (!to) {
			s->in_broke = 1;
			return;
		}
		n = receive(s, to, READ_BYTES);
		buf_grew(&s->in, n);
		/* A short read emptied the socket; what comes meanwhile wakes us again. */
		if (n < READ_BYTES)
			return;
	}
}

/* --- TLS --- */

/* Ciphertext from the socket. 1, or 0 when there is none; an end in the middle is a broken one. */
static int feed(struct stream *s)
{
	char data[READ_BYTES];
	size_t n = receive(s, data, sizeof(data));

	if (s->ended) {
		s->ended = 0;
		s->in_broke = 1;
	}
	if (n && tls_feed(s->tls, data, n) < 0)
		s->in_broke = 1;
	return n && !s->in_broke;
}

/*
 * Whatever TLS holds is taken out before this returns, even beyond @max: no
 * readiness of the socket would tell of it later.
 */
static void fill_tls(struct stream *s, size_t max)
{
	while (!s->ended && !s->in_broke) {
		char *to = buf_room(&s->in, READ_BYTES);
		ssize_t n = to ? tls_read(s->tls, to, READ_BYTES) : TLS_BROKEN;

		if (n > 0)
			buf_grew(&s->in, (size_t)n);
		else if (n == TLS_ENDED)
			s->ended = 1;
		else if (n == TLS_BROKEN)
			s->in_broke = 1;
		else if (s->in.len >= max || !feed(s))
			break;
	}
	stream_flush(s);	/* what TLS has to say of its own */
}

int stream_secure(struct stream *s, struct tls *tls)
{
	int r = tls_feed(tls, s->in.data ? s->in.data : "", s->in.len);

	s->tls = tls;
	buf_done(&s->in);
	return r;
}

enum tls_state stream_handshake(struct stream *s)
{
	enum tls_state state;

	do
		state = tls_handshake(s->tls);
	while (state == TLS_WANTS && !s->in_broke && feed(s));
	stream_flush(s);
	return state == TLS_WANTS && (s->in_broke || s->out_broke) ? TLS_FAILED : state;
}

void stream_fill(struct stream *s, size_t max)
{
	if (s->tls)
		fill_tls(s, max);
	else
		fill_plain(s, max);
}

/* --- writing --- */

static void flush_bytes(struct stream *s, struct buf *out)
{
	size_t done = 0;

	while (!s->out_broke && done < out->len) {
		ssize_t n = send(s->fd, out->data + done, out->len - done, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n < 0)
			s->out_broke = 1;
		else
			done += (size_t)n;
	}
	s->bytes_out += done;
	buf_eat(out, s->out_broke ? out->len : done);
}

/* Some of ->out becomes ciphertext; none while the handshake goes on. 1 if there is some to send. */
static int encrypt(struct stream *s)
{
	size_t n = s->out.len < CIPHER_BYTES ? s->out.len : CIPHER_BYTES;

	if (n && tls_is_open(s->tls)) {
		if (tls_write(s->tls, s->out.data, n) < 0)
			s->out_broke = 1;
		/* It may hold a credential: leave nothing behind. */
		explicit_bzero(s->out.data, n);
		buf_eat(&s->out, n);
	}
	if (tls_drain(s->tls, &s->cipher) < 0)
		s->out_broke = 1;
	return s->cipher.len > 0;
}

void stream_flush(struct stream *s)
{
	if (!s->tls) {
		flush_bytes(s, &s->out);
		return;
	}
	/* No more than one portion is ciphertext at a time: memory for a slow peer is counted in ->out. */
	while (!s->out_broke && (s->cipher.len || encrypt(s))) {
		flush_bytes(s, &s->cipher);
		if (s->cipher.len)
			return;
	}
	if (s->out_broke)
		buf_eat(&s->out, s->out.len);
}

struct buf stream_take_out(struct stream *s, int end)
{
	struct buf out = s->out;

	s->out = (struct buf){ 0 };
	if (!s->tls)
		return out;
	/* Nothing is sent half encrypted: if a part fails, the peer sees a broken end. */
	if (!out.len || tls_write(s->tls, out.data, out.len) == 0) {
		if (end)
			tls_end(s->tls);
	}
	buf_done(&out);
	tls_drain(s->tls, &s->cipher);
	out = s->cipher;
	s->cipher = (struct buf){ 0 };
	return out;
}

void stream_end(struct stream *s)
{
	if (s->tls) {
		tls_end(s->tls);
		stream_flush(s);
	}
	/* With ciphertext still waiting the peer has the end of TLS, which says the same. */
	if (!s->cipher.len)
		shutdown(s->fd, SHUT_WR);
}

void stream_move(struct stream *from, struct stream *to, struct loop *loop,
		 void (*fn)(void *cookie, int fd, unsigned int ready), void *cookie)
{
	int fd = stream_take_fd(from);

	*to = *from;
	*from = (struct stream){ .fd = -1 };
	to->fd = fd;
	to->watch = loop_fd(loop, fd, 0, fn, cookie);
	if (!to->watch)
		to->in_broke = 1;
}

int stream_want(struct stream *s, unsigned int events)
{
	size_t waiting = s->tls ? s->cipher.len : s->out.len;

	if (!s->watch)
		return 0;
	return watch_events(s->watch, events | (waiting ? LOOP_WRITE : 0));
}

void stream_slim(struct stream *s)
{
	if (!s->in.len)
		buf_done(&s->in);
	if (!s->out.len)
		buf_done(&s->out);
	if (!s->cipher.len)
		buf_done(&s->cipher);
}

int stream_take_fd(struct stream *s)
{
	watch_end(s->watch);
	s->watch = NULL;
	return fd_take(&s->fd);
}

void stream_close(struct stream *s)
{
	int fd = stream_take_fd(s);

	if (fd >= 0)
		close(fd);
	buf_done(&s->in);
	buf_done(&s->out);
	buf_done(&s->cipher);
	tls_free(s->tls);
	s->tls = NULL;
}
