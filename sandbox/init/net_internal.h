/*
 * sandbox/init/net_internal.h - what net.c and net_bare.c share
 */
#ifndef SANDBOX_INIT_NET_INTERNAL_H
#define SANDBOX_INIT_NET_INTERNAL_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/init/broker.h"

/* An Internet address of either family, the mapped ones made plain. */
struct destination {
	int family;		/* of the address; the socket's may be AF_INET6 all the same */
	int socket_family;
	uint8_t ip[16];
	unsigned int port;
};

/* net_destination() - read a sockaddr; -1 if it is too short or of another family */
int net_destination(const void *addr, size_t len, struct destination *ret);
/* net_is_loopback() - loopback, and the unspecified address, which the kernel takes for it */
int net_is_loopback(const struct destination *d);
/* net_tell_caller() - bind, so that the local port is known, and tell whose it is; -1 when it cannot be */
int net_tell_caller(const struct request *r, int sock, const struct destination *d, int is_transparent);
/* net_host_port() - which of the plan's host_ports @port is, or -1 */
int net_host_port(const struct broker *b, unsigned int port);
/* net_is_ours() - without a network namespace: whoever listens on that port of loopback is the run's */
int net_is_ours(const struct broker *b, unsigned int port);
/* net_connect_to() - without blocking in the kernel; a blocking caller gets the result, not EINPROGRESS */
struct answer net_connect_to(const struct request *r, int sock, const struct sockaddr_in6 *to, socklen_t len);
/*
 * net_wait() - answer @r when @sock, which is on its way, has been connected or has failed; it gets
 * @flags back then (net_wait.c)
 */
struct answer net_wait(const struct request *r, int sock, int flags);
/* net_refuse() - EACCES, on record with the address as text */
struct answer net_refuse(const struct request *r, enum file_action action, const struct destination *d,
			 const char *rule);

/* net_connect_bare() - connect() where the network is the host's (net_bare.c) */
struct answer net_connect_bare(const struct request *r, const struct destination *d);

#endif
