/*
 * sandbox/egress/stream.h - a non-blocking socket with bytes waiting on both sides
 *
 * For what has to be read and written in user space: heads, chunked bodies,
 * greetings. A zeroed struct with fd -1 is a closed stream. With TLS, ->in and
 * ->out are what is inside it.
 */
#ifndef SANDBOX_EGRESS_STREAM_H
#define SANDBOX_EGRESS_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sandbox/egress/tls.h"

struct loop;
struct watch;

struct stream {
	int fd;
	struct watch *watch;
	struct buf in;		/* read, not yet understood */
	struct buf out;		/* to be written */
	int ended;		/* the peer will send no more */
	int in_broke;		/* reading failed: what came before is in ->in */
	int out_broke;		/* writing failed: nothing arrives any more */
	uint64_t bytes_in, bytes_out;	/* on the wire */
	struct tls *tls;	/* NULL: none */
	struct buf cipher;	/* to be written */
};

/* stream_open() - watch @fd, taken, for nothing yet; 0, or -1 with @fd closed */
int stream_open(struct stream *s, struct loop *loop, int fd,
		void (*fn)(void *cookie, int fd, unsigned int ready), void *cookie);

/* stream_secure() - from now on there is TLS, taken; what was read and not understood is its first bytes. 0 or -1 */
int stream_secure(struct stream *s, struct tls *tls);

/* stream_handshake() - read and write what the handshake wants; TLS_FAILED also when the peer went away */
enum tls_state stream_handshake(struct stream *s);

/*
 * stream_fill() - read what is there until ->in holds @max bytes; sets ->ended and ->in_broke.
 * With TLS it may become a record more, and an end that was not announced is a broken one.
 */
void stream_fill(struct stream *s, size_t max);

/* stream_flush() - write what goes without waiting; sets ->out_broke, and then drops ->out */
void stream_flush(struct stream *s);

/* stream_want() - wait for this much; writing is waited for by itself while ->out holds something. 0 or -1 */
int stream_want(struct stream *s, unsigned int events);

/* stream_slim() - give back the memory of empty buffers */
void stream_slim(struct stream *s);

/* stream_end() - nothing more will be written: says so in TLS, then to the socket */
void stream_end(struct stream *s);

/* stream_move() - hand @from with all it holds to @to, which is watched by another; without a watch it is broken */
void stream_move(struct stream *from, struct stream *to, struct loop *loop,
		 void (*fn)(void *cookie, int fd, unsigned int ready), void *cookie);

/* stream_waiting() - bytes that are still to be written */
static inline size_t stream_waiting(const struct stream *s)
{
	return s->out.len + s->cipher.len;
}

/* stream_take_out() - everything still to be written, as it goes over the wire; @end: with the end of TLS */
struct buf stream_take_out(struct stream *s, int end);

/* stream_take_fd() - stop watching and hand the socket out; buffers stay */
int stream_take_fd(struct stream *s);

/* stream_close() - fine on a closed one; the counts stay */
void stream_close(struct stream *s);

#endif
