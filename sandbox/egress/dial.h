/*
 * sandbox/egress/dial.h - connect to an allowed host
 *
 * The name is looked up once, each address is judged, and only addresses that
 * passed are connected to: what was checked is what is dialled. Several are
 * tried with a short head start for the earlier one (RFC 8305). Where another
 * proxy leads to the host (chain.h), that one is connected to and asked for a
 * tunnel.
 */
#ifndef SANDBOX_EGRESS_DIAL_H
#define SANDBOX_EGRESS_DIAL_H

#include <stdint.h>

#include "sandbox/egress/policy.h"

struct dial;
struct egress;

enum dial_end {
	DIAL_OK,
	DIAL_DENIED,		/* every address it resolves to is denied */
	DIAL_NO_NAME,		/* it cannot be looked up */
	DIAL_REFUSED,
	DIAL_UNREACHABLE,
	DIAL_TIMEOUT,
	DIAL_FAILED,		/* of us: memory, descriptors */
	DIAL_PROXY_DOWN,	/* the other proxy it is reached through does not answer */
	DIAL_PROXY_REFUSED,	/* or has no tunnel for us */
	DIAL_END_NUM
};

struct dial_result {
	enum dial_end end;
	int fd;				/* of DIAL_OK: connected, non-blocking, the callback's; else -1 */
	const struct egress_verdict *verdict;	/* of DIAL_DENIED, borrowed */
};

/* dial_end_words() - "cannot be looked up": fits behind a host's name */
const char *dial_end_words(enum dial_end e);

/**
 * dial_start() - Begin to connect
 * @h:		policy_judge() allowed it
 * @fn:		called once, from the loop and not from within this call; the dial is gone then
 *
 * Return: NULL when out of memory; @fn is not called then
 */
struct dial *dial_start(struct egress *eg, const struct host *h, uint16_t port,
			void (*fn)(void *cookie, const struct dial_result *r), void *cookie);

/*
 * dial_start_hop() - the same where chain_route() names a proxy that takes whole
 * requests: it is connected to, and not asked for a tunnel
 */
struct dial *dial_start_hop(struct egress *eg, const struct host *h, uint16_t port,
			    void (*fn)(void *cookie, const struct dial_result *r), void *cookie);

/* dial_start_loopback() - the same to this host's own 127.0.0.1 or ::1: policy_judge_host_port() allowed it */
struct dial *dial_start_loopback(struct egress *eg, uint16_t port,
				 void (*fn)(void *cookie, const struct dial_result *r), void *cookie);

/* dial_cancel() - NULL is fine; @fn is not called any more */
void dial_cancel(struct dial *d);

#endif
