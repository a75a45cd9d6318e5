/*
 * sandbox/egress/dns_stub.h - the name server of the run's network namespace
 *
 * Never asks anybody. A name that an allow rule admits on some port is answered
 * with its addresses of the pool (pool.h), so that it can be connected to;
 * what it really resolves to is looked up when that happens. Everything else
 * is told as a violation, once for each name, and does not exist: REFUSED would be
 * the truth, but musl takes it for a broken server and waits on, and glibc calls it
 * a temporary failure, which programs try again. No SOA comes along, so that
 * nobody remembers the answer; why stands in the option of RFC 8914. Only the root,
 * below which everything is, is refused.
 */
#ifndef SANDBOX_EGRESS_DNS_STUB_H
#define SANDBOX_EGRESS_DNS_STUB_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/egress/dns.h"
#include "sandbox/egress/pool.h"

struct egress;
struct err;
struct watch;

struct dns_stub {
	int fd;			/* UDP, bound; borrowed */
	struct watch *watch;
	int has_v6;		/* IPv6 addresses of the pool lead to us as well */
	struct pool told;	/* refused names that were reported: a pool is a set as well */
};

/**
 * dns_stub_start() - Answer on a bound UDP socket
 * @fd:		borrowed until dns_stub_stop()
 * @has_v6:	0: names have IPv4 addresses only, since nobody would accept at the others
 *
 * Return: 0, or -1 with @err
 */
int dns_stub_start(struct egress *eg, int fd, int has_v6, struct err *err);

/* dns_stub_accept() - serve a TCP connection; takes @fd */
void dns_stub_accept(struct egress *eg, int fd, uint16_t peer_port);

/* dns_stub_stop() - fine if it never started */
void dns_stub_stop(struct egress *eg);

/**
 * dns_stub_answer() - What to say to one query
 * @peer_port:	the client's
 *
 * Return: bytes of @ret, or 0: say nothing, the query is malformed
 */
size_t dns_stub_answer(struct egress *eg, const void *query, size_t len, uint16_t peer_port,
		       uint8_t ret[DNS_ANSWER_MAX]);

#endif
