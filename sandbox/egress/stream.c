#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/own.h"
#include "sandbox/egress/stream.h"

enum { READ_BYTES = 32 << 10 };

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

void stream_fill(struct stream *s, size_t max)
{
	while (!s->ended && !s->in_broke && s->in.len < max) {
		char *to = buf_room(&s->in, READ_BYTES);
		ssize_t n;

		if (!to) {
			s->in_broke = 1;
			return;
		}
		n = recv(s->fd, to, READ_BYTES, MSG_DONTWAIT);
		buf_grew(&s->in, n > 0 ? (size_t)n : 0);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			s->in_broke = 1;
		if (!n)
			s->ended = 1;
		if (n <= 0)
			return;
		s->bytes_in += (uint64_t)n;
		/* A short read emptied the socket; what comes meanwhile wakes us again. */
		if (n < READ_BYTES)
			return;
	}
}

void stream_flush(struct stream *s)
{
	size_t done = 0;

	while (!s->out_broke && done < s->out.len) {
		ssize_t n = send(s->fd, s->out.data + done, s->out.len - done, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n < 0)
			s->out_broke = 1;
		else
			done += (size_t)n;
	}
	s->bytes_out += done;
	buf_eat(&s->out, s->out_broke ? s->out.len : done);
}

int stream_want(struct stream *s, unsigned int events)
{
	if (!s->watch)
		return 0;
	return watch_events(s->watch, events | (s->out.len ? LOOP_WRITE : 0));
}

void stream_slim(struct stream *s)
{
	if (!s->in.len)
		buf_done(&s->in);
	if (!s->out.len)
		buf_done(&s->out);
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
}
