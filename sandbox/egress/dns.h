/*
 * sandbox/egress/dns.h - the wire form of DNS, as far as a stub that never asks anybody needs it
 *
 * Queries are read strictly: one question, no compression in it, every byte
 * accounted for. What does not read so is dropped. Answers fit 512 bytes,
 * whatever the client could take. Pure.
 */
#ifndef SANDBOX_EGRESS_DNS_H
#define SANDBOX_EGRESS_DNS_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/egress/address.h"

#define DNS_QUERY_MAX 4096
#define DNS_ANSWER_MAX 512
#define DNS_TEXT_SIZE 1024	/* 255 bytes, each escaped as \ddd, and the NUL */

enum dns_type { DNS_A = 1, DNS_PTR = 12, DNS_AAAA = 28, DNS_OPT = 41, DNS_ANY = 255 };
enum dns_class { DNS_IN = 1 };
enum dns_rcode { DNS_NOERROR = 0, DNS_SERVFAIL = 2, DNS_NXDOMAIN = 3, DNS_REFUSED = 5, DNS_BADVERS = 16 };

struct dns_query {
	uint16_t id, flags;
	uint16_t type, class;
	char name[DNS_TEXT_SIZE];	/* lower case, no trailing dot; the root is ""; odd bytes as \ddd */
	const uint8_t *question;	/* as it was sent, in the caller's bytes */
	size_t question_len;
	int has_edns;
	unsigned int edns_version;
};

/* dns_parse() - a query of @len bytes; 0, or -1: malformed, or no query at all */
int dns_parse(const void *msg, size_t len, struct dns_query *ret);

/* dns_reverse() - the address that "4.3.2.1.in-addr.arpa" or an ip6.arpa name stands for; 0 or -1 */
int dns_reverse(const char *name, struct ip *ret);

/* What to say. */
struct dns_reply {
	enum dns_rcode rcode;
	struct ip ip[2];
	size_t n_ip;
	const char *ptr;	/* a plain name; may be NULL */
	uint32_t ttl_s;
	const char *why;	/* of a refusal, for clients that can show it (RFC 8914); may be NULL */
};

/**
 * dns_write() - The answer to @q
 *
 * Return: bytes of @ret that are used; never 0
 */
size_t dns_write(const struct dns_query *q, const struct dns_reply *r, uint8_t ret[DNS_ANSWER_MAX]);

#endif
