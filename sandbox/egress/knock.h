/*
 * sandbox/egress/knock.h - connections that are asked for and not yet answered
 *
 * A program that connects is to learn whether the host outside takes it: a
 * connection that stands before that is known would have to break afterwards.
 * So the transparent listening sockets, in the run's network namespace, drop each
 * SYN (TCP's request to connect) that does not bear a mark only we can give. A
 * raw socket beside them gets a copy of it: that is the knock. When the host is
 * connected the same packet is sent again with the mark, and the kernel does the
 * rest; when it is not, the answer is what the host's would have been: a reset
 * (ECONNREFUSED), or that it cannot be reached (EHOSTUNREACH). While it is not
 * known the program's kernel goes on asking, as over any slow line.
 *
 * The broker opens the sockets (sandbox/init/net.c): making raw ones takes a
 * right which it has only then, and using them takes none. They reach nothing but
 * the namespace's own loopback.
 */
#ifndef SANDBOX_EGRESS_KNOCK_H
#define SANDBOX_EGRESS_KNOCK_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/egress/address.h"

#define KNOCK_TCP_MAX 60	/* of a TCP header with its options */
#define KNOCK_PACKET_MAX 160

struct knock {
	struct ip from, to;
	uint16_t port;		/* of the client */
	uint16_t to_port;	/* of the listening socket */
	uint32_t seq;		/* tells one attempt from the next */
	uint8_t tcp[KNOCK_TCP_MAX];
	size_t tcp_len;
};

/**
 * knock_read() - Take one from a raw socket
 * @family:	of the socket
 *
 * Return: 1 and @ret; 0: it was none; -1: there is none now
 */
int knock_read(int fd, int family, struct knock *ret);

/* What is sent back, or on; each 0, or -1 and errno. A lost packet is asked for again. */
int knock_let_in(int fd, const struct knock *k);
int knock_refuse(int fd, const struct knock *k);
int knock_unreachable(int fd, const struct knock *k);

/* --- as packets; pure --- */

enum knock_answer { KNOCK_LET_IN, KNOCK_REFUSE, KNOCK_UNREACHABLE };

/* knock_parse() - @tcp of @len bytes from @from to @to; 0, or -1: no SYN */
int knock_parse(const struct ip *from, const struct ip *to, const uint8_t *tcp, size_t len, struct knock *ret);

/* knock_packet() - a whole IP packet; how many bytes of @ret it takes */
size_t knock_packet(const struct knock *k, enum knock_answer answer, uint8_t ret[KNOCK_PACKET_MAX]);

#endif
