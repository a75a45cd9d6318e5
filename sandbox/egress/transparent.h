/*
 * sandbox/egress/transparent.h - connections of programs that know no proxy
 *
 * The broker turns a program's connect() into a connection to the helper: to
 * the same address of the pool (pool.h), whose name is known, or to loopback
 * for an address a rule allows as such. Which port was meant, and which such
 * address, the supervisor tells in a message of its own, named by the local
 * port; it may come a little after the connection was asked for. Then the
 * destination is judged, looked up and dialled as for a proxy's client, and only
 * when it is there the program is connected (knock.h); bytes pass unread.
 *
 * So a program hears what it would hear from the host: that it is refused, or
 * cannot be reached. That a rule refuses it is a refused connection too, as there
 * is no protocol to say it in; an ssh client gets the reason. Where TLS is
 * looked into the program is connected first, since it has to speak first.
 */
#ifndef SANDBOX_EGRESS_TRANSPARENT_H
#define SANDBOX_EGRESS_TRANSPARENT_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/egress/host.h"

struct egress;
struct json;
struct knock;
struct trans_conn;
struct watch;

#define CALLERS_KEPT 2048

/* What the supervisor said of a connection that was not accepted yet. */
struct caller {
	struct ip at;		/* the address it arrives at */
	uint16_t port;		/* its local port, inside */
	struct ip ip;		/* where the program meant to go */
	uint16_t to_port;
	int64_t until_ms;	/* then the connection was never made */
};

struct transparent {
	struct caller *caller;	/* CALLERS_KEPT, NULL until the first */
	size_t n_callers;
	struct trans_conn *outside;	/* who knocked and was not accepted yet */
	int raw[2];			/* where they knock, IPv4 and IPv6; borrowed. No watch: none */
	struct watch *watch[2];
};

/*
 * transparent_name() - put the name in the place of a pool address that stands for
 * one: a program may look names up by itself and then ask a proxy for the address
 */
void transparent_name(const struct egress *eg, struct host *h);

/* transparent_start() - hear who knocks at @raw, of that family: borrowed until transparent_stop(); 0 or -1 */
int transparent_start(struct egress *eg, int raw, int family);
void transparent_stop(struct egress *eg);

/* transparent_accept() - takes @fd, of somebody who was let in; @peer_port names it */
void transparent_accept(struct egress *eg, int fd, uint16_t peer_port);

/**
 * transparent_heard() - {"type":"caller","port":L,"address":IP,"destPort":P}
 *
 * Return: 0, or -1 if it is malformed
 */
int transparent_heard(struct egress *eg, const struct json *msg, int *fd);

/* transparent_done() - after all connections have ended */
void transparent_done(struct egress *eg);

#endif
