/*
 * sandbox/egress/h2_internal.h - one HTTP/2 connection, for its two files alone
 *
 *	h2.c		frames: the session with the program, and what it may ask of us
 *	h2_exchange.c	streams: requests written in HTTP/1.1 (h2_head.h) to a worker, its answers read
 */
#ifndef SANDBOX_EGRESS_H2_INTERNAL_H
#define SANDBOX_EGRESS_H2_INTERNAL_H

#include "sandbox/egress/egress_internal.h"
#include "sandbox/egress/h2_head.h"
#include "sandbox/egress/h2_lib.h"
#include "sandbox/egress/http.h"
#include "sandbox/egress/stream.h"

#define H2_STREAMS_MAX 100
#define H2_WINDOW (256 << 10)		/* bytes of a body that may wait for the host */

struct h2_worker;

struct h2_conn {
	struct client client;
	struct egress *eg;
	uint16_t peer_port;
	struct destination within;
	struct stream down;
	nghttp2_session *session;
	struct h2_stream *streams;
	struct h2_worker *workers;
	unsigned int n_streams;
	unsigned int n_idle;		/* of the workers */
	unsigned int resets;		/* by the program, not made up for by streams that ended well */
	unsigned int vain;		/* frames since something was got done */
};

struct h2_stream {
	struct h2_conn *c;
	struct h2_stream *next, **link;
	int32_t id;
	struct h2_worker *worker;	/* NULL: the request is not complete, or cannot be served */
	struct h2_head head;
	int ended;			/* all of it is there */
	size_t unread;			/* bytes of its body that the host has not taken */
	/* the answer */
	int answered;			/* its head was sent on */
	int over;			/* all of it was read */
	int told;			/* all of it was sent */
	size_t vain;			/* bytes of the request that came behind that */
	struct buf body;		/* read, not yet sent */
	struct buf answer_trailers;
	int is_waiting;			/* the session waits for more of ->body */
};

/* One connection of HTTP/1.1 to the same host, by way of this helper itself. */
struct h2_worker {
	struct h2_conn *c;
	struct h2_worker *next, **link;
	struct stream io;
	struct h2_stream *s;		/* NULL: idle */
	int chunked;			/* the request's body */
	int is_head;
	struct http_scan scan;
	struct http_body body;		/* of the answer */
	int close;			/* not to be used again */
};

/* --- h2.c --- */
/* h2_run() - move whatever can be moved; may free @c */
void h2_run(struct h2_conn *c);

/* --- h2_exchange.c --- */
struct h2_stream *h2_stream_new(struct h2_conn *c, int32_t id);
/* h2_stream_free() - its worker goes on to the next if it can */
void h2_stream_free(struct h2_stream *s);

/* h2_stream_begin() - the head is complete, and with @ended the whole request. Error code of a refusal, or 0 */
uint32_t h2_stream_begin(struct h2_stream *s, int ended);
/* h2_stream_data() - a part of the body */
void h2_stream_data(struct h2_stream *s, const uint8_t *data, size_t len);
void h2_stream_end(struct h2_stream *s);

void h2_worker_free(struct h2_worker *w);

#endif
