/*
 * sandbox/egress/h2_head.h - a request of HTTP/2, written in HTTP/1.1
 *
 * The reader behind it is strict (http.h), but it reads text: nothing a field
 * holds may become a line, a second field or a length of its own. What HTTP/2
 * bans in a field is refused here once more, whatever the library lets pass.
 * Pure.
 */
#ifndef SANDBOX_EGRESS_H2_HEAD_H
#define SANDBOX_EGRESS_H2_HEAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* A zeroed struct is an empty one. */
struct h2_head {
	struct buf method, scheme, authority, path, cookie;
	struct buf fields, trailers;	/* lines of HTTP/1.1 */
	size_t bytes, n;
	int has_length;			/* there is a Content-Length */
	int is_grpc;			/* by its Content-Type: an answer in HTTP/1.1 would be none */
};

/* h2_head_is_banned() - 1 if a field of that name is not HTTP/2's to send: framing is ours to say */
int h2_head_is_banned(const void *name, size_t len);

/* h2_head_field() - one field of the head, or with @trailer behind the body; 0, or -1 if there may be no such */
int h2_head_field(struct h2_head *h, int trailer, const void *name, size_t name_len, const void *value,
		  size_t value_len);

/* h2_head_is_whole() - 1 if all that makes a request is there */
int h2_head_is_whole(const struct h2_head *h);

/* h2_head_write() - append the head, with its empty line; @chunked: the body comes in chunks. Check out->failed */
void h2_head_write(const struct h2_head *h, int chunked, struct buf *out);

/* h2_head_drop() - all but the trailers, which come later */
void h2_head_drop(struct h2_head *h);
void h2_head_done(struct h2_head *h);

#endif
