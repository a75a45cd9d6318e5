/*
 * sandbox/init/net.h - the run's network namespace, and connections that know no proxy
 */
#ifndef SANDBOX_INIT_NET_H
#define SANDBOX_INIT_NET_H

#include "sandbox/init/broker.h"

/**
 * net_prepare() - Make the pool addresses local and open the egress helper's sockets
 * @fds:	@ret_n of them are open, the caller's
 *
 * Needs the capabilities that joining gave: a port below 1024 and a route.
 * Return: 0, or -1 and errno; without IPv6 the last two of enum net_fd are left out
 */
int net_prepare(const struct broker *b, int fds[NET_FDS_MAX], size_t *ret_n);

/* net_inside() - a socket on its way to the run's own server on @port; -1 and errno */
int net_inside(const struct broker *b, unsigned int port);

/*
 * net_bind(), net_listen() - without a network namespace: on loopback alone, done by us; bind() to
 * every address is one to loopback
 */
struct answer net_bind(const struct request *r, const void *addr, size_t len);
struct answer net_listen(const struct request *r);

/* net_connect() - connect() to an Internet address: @addr of @len bytes was read from the caller */
struct answer net_connect(const struct request *r, const void *addr, size_t len);

/*
 * net_sendto() - sendto() to an Internet address, read likewise. "Continue" is harmless: there is no
 * way out for a datagram, and what is refused here is so that it is on record
 */
struct answer net_sendto(const struct request *r, const void *addr, size_t len);

/* net_lost() - tell of datagrams that had no way to go and that nobody saw: sendmsg() is not trapped */
void net_lost(struct broker *b);

#endif
