/*
 * sandbox/egress/host.h - a destination as a program or a person wrote it, made plain
 *
 * There is one spelling of each host inside the helper: names in lower case
 * without the trailing dot, addresses as inet_ntop(3) writes them. What could
 * be read in two ways (2130706433, 0x7f.1, 127.1, 010.0.0.1) is no host at
 * all. Pure.
 */
#ifndef SANDBOX_EGRESS_HOST_H
#define SANDBOX_EGRESS_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/egress/address.h"

#define HOST_TEXT_SIZE 254	/* 253 bytes is the longest name: RFC 1035 */
#define HOST_SHOWN_SIZE (HOST_TEXT_SIZE + 10)	/* brackets, a port, the NUL */

struct host {
	int is_address;
	struct ip ip;			/* of an address */
	char text[HOST_TEXT_SIZE];	/* no brackets */
};

/**
 * host_parse() - Read a host that stands alone
 * @s:		@len bytes, any; a name, an IPv4 or IPv6 address, brackets allowed around the latter
 * @ret_why:	on failure a static line: what is wrong with it
 *
 * Names are made of letters, digits, '-' and '_'. Bytes beyond ASCII are
 * refused: programs send the xn-- form. Return: 0, or -1
 */
int host_parse(const char *s, size_t len, struct host *ret, const char **ret_why);

/**
 * host_port_parse() - Read "host:port"
 * @default_port:	for a host without one; 0: the port must be there
 *
 * An IPv6 address must stand in brackets. Return: 0, or -1 with @ret_why
 */
int host_port_parse(const char *s, size_t len, uint16_t default_port, struct host *ret,
		    uint16_t *ret_port, const char **ret_why);

/* host_from_ip() - the host an address is */
void host_from_ip(const struct ip *ip, struct host *ret);

/* host_show() - "name", "1.2.3.4:80", "[::1]:80"; @port 0: none */
void host_show(const struct host *h, uint16_t port, char ret[HOST_SHOWN_SIZE]);

/* port_parse() - 1 to 65535 in decimal digits; 0 or -1 */
int port_parse(const char *s, size_t len, uint16_t *ret);

#endif
