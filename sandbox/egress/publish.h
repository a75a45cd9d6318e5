/*
 * sandbox/egress/publish.h - a server inside, reachable from the host's loopback
 *
 * For development servers and for sign-ins that call back. This process
 * listens on a loopback address of the host; it cannot connect into the
 * sandbox's network namespace, so for each connection it asks the supervisor
 * for a connected socket:
 *
 *	from it:	{"type":"published","address":IP,"port":P,"inside":P2}, once for each at start
 *			{"type":"connect-inside","id":N,"port":P2}
 *	to it:		{"type":"connected-inside","id":N} with the socket, or with "error": why not
 *
 * Each connection is told as {"type":"connection",...,"protocol":"publish"},
 * whether or not connections are otherwise; its host and port are where this
 * process listens.
 */
#ifndef SANDBOX_EGRESS_PUBLISH_H
#define SANDBOX_EGRESS_PUBLISH_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/egress/address.h"

#define PUBLISH_MAX 16

struct egress;
struct err;
struct inbound;
struct json;

struct publish_rule {
	struct ip ip;		/* loopback; where to listen on the host */
	uint16_t port;		/* 0: any free one, until it listens */
	uint16_t inside;	/* the server's port on 127.0.0.1 in the sandbox */
};

/* A zeroed struct publishes nothing. */
struct publish_config {
	struct publish_rule rule[PUBLISH_MAX];
	size_t n;
};

/**
 * publish_parse() - Read "publish": [{"address": IP, "port": P, "inside": P2}...]
 * @list:	NULL: nothing is published; "address" is 127.0.0.1 if left out
 *
 * Return: 0, or -1 with @err (ERR_INPUT, ERR_POLICY for an address that is not loopback)
 */
int publish_parse(const struct json *list, struct publish_config *ret, struct err *err);

struct publish {
	int fd[PUBLISH_MAX];	/* listening */
	size_t n;
	struct inbound *waiting;	/* for their socket inside */
	int64_t last_id;
};

/**
 * publish_start() - Listen on all ports of the configuration and tell which
 *
 * Return: 0, or -1 with @err: a port is taken, most likely
 */
int publish_start(struct egress *eg, struct err *err);

/* publish_heard() - a "connected-inside"; takes *@fd. 0, or -1 if it is malformed */
int publish_heard(struct egress *eg, const struct json *msg, int *fd);

/* publish_stop() - close the listening sockets; their watches have ended */
void publish_stop(struct egress *eg);

#endif
