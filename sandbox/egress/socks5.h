/*
 * sandbox/egress/socks5.h - the server's half of RFC 1928, as far as it is served
 *
 * No authentication, or a name and a password (RFC 1929); CONNECT only, with names and both kinds of addresses.
 * Pure: it reads bytes and says what they mean.
 */
#ifndef SANDBOX_EGRESS_SOCKS5_H
#define SANDBOX_EGRESS_SOCKS5_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/egress/host.h"

#define SOCKS5_REPLY_SIZE 10
#define SOCKS5_RAW_SIZE 256

enum socks5_code {
	SOCKS5_OK = 0x00,
	SOCKS5_FAILED = 0x01,
	SOCKS5_NOT_ALLOWED = 0x02,
	SOCKS5_NET_UNREACHABLE = 0x03,
	SOCKS5_HOST_UNREACHABLE = 0x04,
	SOCKS5_REFUSED = 0x05,
	SOCKS5_NO_COMMAND = 0x07,
	SOCKS5_NO_ADDRESS_TYPE = 0x08
};

enum socks5_kind {
	SOCKS5_MORE,		/* nothing can be told from these bytes alone */
	SOCKS5_METHOD,		/* send .reply and go on */
	SOCKS5_CONNECT,		/* to .host and .port */
	SOCKS5_REFUSE,		/* send .reply and close; .why says it in words */
	SOCKS5_DENY		/* the same, and it asked for a place that is no host: .raw and .port */
};

struct socks5_piece {
	enum socks5_kind kind;
	size_t used;		/* bytes to drop before the next call */
	uint8_t reply[SOCKS5_REPLY_SIZE];
	size_t reply_len;
	struct host host;
	uint16_t port;
	char raw[SOCKS5_RAW_SIZE];	/* the name as it was sent, cut at a NUL */
	const char *why;	/* static */
};

/* One conversation; starts zeroed but for what has to be said. */
struct socks5 {
	const char *credential;	/* "NAME:PASSWORD", borrowed; NULL: none is wanted */
	int greeted;
	int known;		/* it was said */
};

/* socks5_next() - what the bytes sent so far mean */
void socks5_next(struct socks5 *s, const void *data, size_t len, struct socks5_piece *ret);

/* socks5_reply() - the answer to a request; the bound address is told as 0.0.0.0:0 */
size_t socks5_reply(enum socks5_code code, uint8_t ret[SOCKS5_REPLY_SIZE]);

#endif
