/*
 * sandbox/egress/report.h - what the helper tells the supervisor
 *
 * One JSON message a datagram, at most REPORT_MAX bytes, in the order things
 * happened. A refusal is told before the program inside hears of it, and none
 * is dropped: when the supervisor is slow the queue grows to a bound, then the
 * helper waits, and when waiting does not help it ends, and the run with it.
 * End of file on its socket stops the loop, and so does a message of the
 * supervisor that is not understood.
 */
#ifndef SANDBOX_EGRESS_REPORT_H
#define SANDBOX_EGRESS_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/egress/refusal.h"

#define REPORT_MAX 8192

struct json;
struct loop;
struct watch;
struct report_item;

struct report {
	struct loop *loop;
	int fd;			/* the control socket; borrowed */
	struct watch *watch;
	struct report_item *first, **last;
	size_t queued_bytes;
	int failed;		/* something could not be told; the loop was stopped */
	int (*heard)(void *cookie, const struct json *msg, int *fd);
	void *cookie;
};

/* report_init() - 0, or -1 when out of memory; @fd is watched from now on */
int report_init(struct report *r, struct loop *loop, int fd);

/**
 * report_hear() - Call @heard for each message of the supervisor
 * @heard:	@fd is the descriptor that came with it, or -1; -1 is left in its place by
 *		who takes it. -1: not understood
 */
void report_hear(struct report *r, int (*heard)(void *cookie, const struct json *msg, int *fd), void *cookie);

/* report_done() - tries once more to send what waits */
void report_done(struct report *r);

/* report_ready() - {"type":"ready"} */
void report_ready(struct report *r);

/* report_ca() - {"type":"ca","pem":...}: whom the programs inside are to believe; before "ready" */
void report_ca(struct report *r, const char *pem);

/* report_error() - {"type":"error","reason":...}: the helper could not start */
void report_error(struct report *r, const char *reason);

/* report_violation() - {"type":"violation","action":...}; @peer_port: the client's, inside */
void report_violation(struct report *r, const struct destination *d, const struct egress_verdict *v,
		      uint16_t peer_port);

/* A connection that ended; bytes as seen from the program inside. */
struct connection_record {
	const char *host;
	uint16_t port;
	const char *protocol;
	uint64_t bytes_in, bytes_out;
	int64_t ms;
	const char *error;	/* why it came to nothing; may be NULL */
	uint16_t peer_port;	/* the client's, inside; 0: none */
};

/* report_connection() - {"type":"connection",...} */
void report_connection(struct report *r, const struct connection_record *c);

/* report_connect_inside(), report_published() - see publish.h */
void report_connect_inside(struct report *r, int64_t id, uint16_t port);
struct publish_rule;
void report_published(struct report *r, const struct publish_rule *rule);

#endif
