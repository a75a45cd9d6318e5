/*
 * sandbox/egress/http.h - HTTP/1 as a proxy must read it: strictly
 *
 * Two programs that read the same bytes differently can be played against
 * each other, so whatever RFC 9112 leaves to a reader's mercy is refused:
 * bare CR or LF, folded lines, blanks before a colon, two lengths, unknown
 * codings, sloppy chunks. Everything is bounded. Pure: no I/O, no memory of
 * its own; spans point into the caller's bytes.
 */
#ifndef SANDBOX_EGRESS_HTTP_H
#define SANDBOX_EGRESS_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/egress/host.h"

#define HTTP_HEAD_MAX (64u * 1024)	/* bytes of start line and fields together */
#define HTTP_FIELDS_MAX 100
#define HTTP_CHUNK_LINE_MAX 1024	/* size and extensions of one chunk */
#define HTTP_TRAILERS_MAX (16u * 1024)

struct span {
	const char *p;
	size_t len;
};

/* Case-blind comparison of a span with a word, as field names and codings want it. */
int span_is(struct span s, const char *word);

struct http_field {
	struct span name, value;	/* the value without blanks around it */
};

enum http_framing { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED, HTTP_UNTIL_CLOSE };

struct http_head {
	struct span method, target;	/* of a request */
	struct span phrase;		/* of a response; may be empty */
	int status;
	int minor;			/* HTTP/1.minor: 0 or 1 */
	struct http_field field[HTTP_FIELDS_MAX];
	size_t n_fields;
	enum http_framing framing;
	uint64_t length;		/* of HTTP_LENGTH */
	int close;			/* the sender ends the connection behind this message */
	int upgrade;			/* "Connection: upgrade" with an Upgrade field */
};

/* Why a message is refused. */
struct http_problem {
	int status;		/* what to answer a client: 400, 403, 431, 501, 505 */
	int is_denial;		/* it asks for a place it may not have: a violation, not a slip */
	const char *why;	/* static */
};

/* --- heads --- */

/* How far a head was looked at; starts zeroed for each message. */
struct http_scan {
	size_t at;
};

/**
 * http_scan() - Is the whole head there?
 * @data:	all @len bytes that came so far; those before scan->at are not looked at again
 *
 * Return: the head's size with its empty line; 0: more is needed; -1 with
 * @bad set as soon as the bytes cannot become a head any more
 */
long http_scan(struct http_scan *scan, const char *data, size_t len, struct http_problem *bad);

/* http_parse_request() - a head of @size bytes as http_scan() said; 0, or -1 with @bad */
int http_parse_request(const char *data, size_t size, struct http_head *ret, struct http_problem *bad);

/**
 * http_parse_response() - The same for the other direction
 * @to_head:	it answers a HEAD request and so has no body, whatever it says
 */
int http_parse_response(const char *data, size_t size, int to_head, struct http_head *ret,
			struct http_problem *bad);

/* http_find() - the first field of that name, or NULL */
const struct http_field *http_find(const struct http_head *head, const char *name);

/* http_lists() - 1 if @word is an element of a comma-separated field of that name */
int http_lists(const struct http_head *head, const char *name, const char *word);

/* Where a request in absolute form wants to go. */
struct http_uri {
	struct host host;
	uint16_t port;
	struct span path;	/* with the query; may be empty or start with '?' */
	int secure;		/* https: the usual port is 443 */
};

/**
 * http_parse_target() - Read the target of a request to a proxy
 *
 * CONNECT takes "host:port", everything else "http://host[:port]/path". A Host
 * field must be there (but in HTTP/1.0) and name the same host; a port in it
 * must be the same one. Return: 0, or -1 with @bad
 */
int http_parse_target(const struct http_head *head, struct http_uri *ret, struct http_problem *bad);

/**
 * http_parse_origin() - The target of a request within a connection that leads to one host
 * @host, @port, @secure:	where to
 *
 * "/path", or "*" with OPTIONS. The Host field must be there and name that
 * host and port: 421, a denial. Methods that send the request back (TRACE)
 * or ask for another connection are refused. Return: 0, or -1 with @bad
 */
int http_parse_origin(const struct http_head *head, const struct host *host, uint16_t port, int secure,
		      struct http_uri *ret, struct http_problem *bad);

/* --- bodies --- */

enum http_body_state {
	HTTP_BODY_DATA, HTTP_BODY_CHUNK_SIZE, HTTP_BODY_CHUNK_DATA, HTTP_BODY_CHUNK_END,
	HTTP_BODY_TRAILER, HTTP_BODY_DONE
};

struct http_body {
	enum http_framing framing;
	enum http_body_state state;
	uint64_t left;		/* bytes of this body or this chunk still to come */
	size_t trailer_bytes;
};

enum http_piece_kind {
	HTTP_MORE,	/* nothing can be told from these bytes alone */
	HTTP_DATA,
	HTTP_LAST_CHUNK,	/* the empty chunk; trailers may follow */
	HTTP_TRAILER,	/* one field behind the last chunk */
	HTTP_END,	/* the body is complete; the bytes behind belong to the next message */
	HTTP_BAD	/* the framing is broken; the connection has to end */
};

struct http_piece {
	enum http_piece_kind kind;
	struct span data;		/* of HTTP_DATA, never empty */
	struct http_field trailer;
	size_t used;			/* bytes to drop before the next call */
	const char *why;		/* of HTTP_BAD; static */
};

void http_body_begin(struct http_body *body, const struct http_head *head);

/* http_body_next() - the next piece of @body in @data; bodies until close never end by themselves */
void http_body_next(struct http_body *body, const char *data, size_t len, struct http_piece *ret);

#endif
