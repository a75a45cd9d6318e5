/*
 * sandbox/egress/stream.h - a non-blocking socket with bytes waiting on both sides
 *
 * For what has to be read and written in user space: heads, chunked bodies,
 * greetings. A zeroed struct with fd -1 is a closed stream.
 */
#ifndef SANDBOX_EGRESS_STREAM_H
#define SANDBOX_EGRESS_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

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
	uint64_t bytes_in, bytes_out;
};

/* stream_open() - watch @fd, taken, for nothing yet; 0, or -1 with @fd closed */
int stream_open(struct stream *s, struct loop *loop, int fd,
		void (*fn)(void *cookie, int fd, unsigned int ready), void *cookie);

/* stream_fill() - read what is there until ->in holds @max bytes; sets ->ended and ->in_broke */
void stream_fill(struct stream *s, size_t max);

/* stream_flush() - write what goes without waiting; sets ->out_broke, and then drops ->out */
void stream_flush(struct stream *s);

/* stream_want() - wait for this much; writing is waited for by itself while ->out holds something. 0 or -1 */
int stream_want(struct stream *s, unsigned int events);

/* stream_slim() - give back the memory of empty buffers */
void stream_slim(struct stream *s);

/* stream_take_fd() - stop watching and hand the socket out; buffers stay */
int stream_take_fd(struct stream *s);

/* stream_close() - fine on a closed one; the counts stay */
void stream_close(struct stream *s);

#endif
