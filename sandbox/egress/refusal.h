/*
 * sandbox/egress/refusal.h - a refusal in words for whoever ran into it
 *
 * The program inside sees a failed connection; the person, or the model,
 * reading its output should see what was refused, by which rule, and what
 * would allow it. Pure.
 */
#ifndef SANDBOX_EGRESS_REFUSAL_H
#define SANDBOX_EGRESS_REFUSAL_H

#include "sandbox/egress/policy.h"

struct buf;

/* What a program asked for. */
struct destination {
	char text[HOST_SHOWN_SIZE + 64];	/* "host:port", as it was named */
	const char *protocol;			/* "connect", "http", "socks5" */
	const char *action;			/* what a refusal is recorded as; NULL: "network-outbound" */
	struct host host;			/* empty text if what was named is no host */
	uint16_t port;
	uint16_t peer_port;			/* the client's, inside; 0: none, or not known */
};

/* refusal_line() - "agate: blocked 'host:443': no rule allows it"; one line, printable ASCII only */
void refusal_line(const struct destination *d, const struct egress_verdict *v, struct buf *out);

/* refusal_http() - append a whole HTTP response; @no_body: it answers HEAD; @close: the connection ends */
void refusal_http(const struct destination *d, const struct egress_verdict *v, int no_body, int close,
		  struct buf *out);

/* failure_http() - the same for what is no denial: a malformed request, a host that does not answer */
void failure_http(int status, const char *why, int no_body, int close, struct buf *out);

/*
 * refusal_ssh() - append a server's greeting and SSH_MSG_DISCONNECT with the
 * reason: an ssh client shows it, where a failed proxy says "closed by UNKNOWN"
 */
void refusal_ssh(const struct destination *d, const struct egress_verdict *v, struct buf *out);

#endif
