/*
 * sandbox/egress/forward.h - a message head as the proxy passes it on
 *
 * What concerns one connection only is left out (RFC 9110 7.6.1), framing and
 * Host are written anew from what was understood, everything else passes as
 * it came. Pure.
 */
#ifndef SANDBOX_EGRESS_FORWARD_H
#define SANDBOX_EGRESS_FORWARD_H

#include "sandbox/egress/http.h"

struct buf;

/* Another proxy that the request is sent to. */
struct forward_hop {
	const char *authorization;	/* its Proxy-Authorization, or NULL */
};

/**
 * forward_request() - Append the head to send upstream, as HTTP/1.1; check out->failed
 * @hop:	absolute form, for a proxy; NULL: origin form, for the host itself
 */
void forward_request(const struct http_head *head, const struct http_uri *uri, const struct forward_hop *hop,
		     struct buf *out);

/* How a response reaches the client. */
struct forward_mode {
	int minor;	/* the client's HTTP/1.minor */
	int close;	/* the connection ends behind it */
	int chunked;	/* the body goes out in chunks */
};

/* forward_response() - append the head to send to the client; check out->failed */
void forward_response(const struct http_head *head, const struct forward_mode *mode, struct buf *out);

/* forward_piece() - append one piece of a body: data, a trailer, or the end */
void forward_piece(const struct http_piece *piece, int chunked, struct buf *out);

/* forward_offers_upgrade() - 1 if @head asks to change to another protocol that may pass */
int forward_offers_upgrade(const struct http_head *head);

#endif
