/*
 * sandbox/egress/address.h - what kind of place an IP address is
 *
 * A name that is allowed may still resolve to a place no outside host should
 * lead to: this machine, its neighbours, the cloud's metadata service. The
 * class of an address says so, and is what a person is told; the address
 * itself is not. Pure: tables only.
 */
#ifndef SANDBOX_EGRESS_ADDRESS_H
#define SANDBOX_EGRESS_ADDRESS_H

#include <stdint.h>
#include <sys/socket.h>

/* v4 addresses use the first four bytes. */
struct ip {
	int family;		/* AF_INET or AF_INET6 */
	uint8_t b[16];
};

enum address_class {
	ADDRESS_PUBLIC,
	ADDRESS_LOOPBACK,
	ADDRESS_LINK_LOCAL,
	ADDRESS_PRIVATE,	/* RFC 1918, fc00::/7 */
	ADDRESS_SHARED,		/* 100.64.0.0/10: carrier networks, overlay VPNs */
	ADDRESS_RESERVED,	/* documentation, benchmarks, tunnels nobody should use */
	ADDRESS_OWN,		/* an address of this host; no table knows those */
	ADDRESS_UNSPECIFIED,
	ADDRESS_MULTICAST,
	ADDRESS_BROADCAST,
	ADDRESS_METADATA,	/* hands out the machine's own credentials */
	ADDRESS_LISTED,		/* a range the configuration names; no table knows those */
	ADDRESS_CLASS_NUM
};

/* address_class_words() - "a loopback address": fits behind "resolves to" */
const char *address_class_words(enum address_class c);

/*
 * address_may_consent() - 1 if somebody may ask for this class by writing the
 * address itself or by mapping a name to it. Nobody may ask for metadata.
 */
int address_may_consent(enum address_class c);

/**
 * address_class() - The class of @ip
 *
 * An IPv4 address carried inside an IPv6 one (mapped, NAT64, 6to4, ISATAP) is
 * looked at as well, and the stricter of the two classes is the answer. Never
 * ADDRESS_OWN or ADDRESS_LISTED.
 */
enum address_class address_class(const struct ip *ip);

/* address_inner() - 1 and @ret if @ip is an IPv6 address that carries an IPv4 one */
int address_inner(const struct ip *ip, struct ip *ret);

int ip_equal(const struct ip *a, const struct ip *b);

/* ip_from_sockaddr() - 0, or -1 if it is neither IPv4 nor IPv6; a mapped IPv4 becomes plain */
int ip_from_sockaddr(const struct sockaddr *sa, struct ip *ret);

/* sockaddr_port() - in host byte order; 0 if it is neither IPv4 nor IPv6 */
uint16_t sockaddr_port(const struct sockaddr_storage *ss);

/* ip_to_sockaddr() - fills @ret and says how long it is */
socklen_t ip_to_sockaddr(const struct ip *ip, uint16_t port, struct sockaddr_storage *ret);

/* ip_parse() - strict text: four decimal numbers without leading zeros, or IPv6 without a zone; 0 or -1 */
int ip_parse(const char *text, struct ip *ret);

/* A range of addresses. */
struct cidr {
	struct ip base;
	unsigned int bits;
};

/* cidr_parse() - "10.0.0.0/8", "fd00::/8", or one address; bits behind the prefix must be zero; 0 or -1 */
int cidr_parse(const char *text, struct cidr *ret);

/* cidr_has() - 1 if @ip, or the IPv4 address it carries, lies in @c */
int cidr_has(const struct cidr *c, const struct ip *ip);

#endif
