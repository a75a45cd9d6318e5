/*
 * sandbox/egress/egress_internal.h - what the parts of the helper share
 *
 * One struct egress, one loop, one thread. Each connection of the program
 * inside is a struct client on one list, with the time at which it is given
 * up; a ticker looks once in a while. An object frees itself when its work is
 * over, or when it is told to expire.
 */
#ifndef SANDBOX_EGRESS_INTERNAL_H
#define SANDBOX_EGRESS_INTERNAL_H

#include <stdint.h>

#include "sandbox/egress/config.h"
#include "sandbox/egress/dns_stub.h"
#include "sandbox/egress/flow.h"
#include "sandbox/egress/pool.h"
#include "sandbox/egress/publish.h"
#include "sandbox/egress/report.h"
#include "sandbox/egress/transparent.h"

struct loop;
struct watch;
struct buf;
struct err;
struct resolver;
struct tls_world;

struct client {
	struct client *next, **link;
	int64_t deadline_ms;
	void (*expire)(struct client *c);	/* must free it, client_remove() included */
};

struct listener;

/* Takes @fd, a connected non-blocking socket. */
typedef void accepted_fn(const struct listener *l, int fd, uint16_t peer_port);

struct listener {
	struct egress *eg;
	int fd;			/* borrowed */
	struct watch *watch;
	accepted_fn *accepted;
	const void *what;	/* for @accepted */
};

#define EGRESS_LISTENERS_MAX 32

struct egress {
	struct loop *loop;
	struct tls_world *tls;		/* NULL: no connection is looked into */
	struct resolver *resolver;
	int resolver_died;
	struct egress_config cfg;
	struct report report;
	struct pipes pipes;
	struct client *clients;
	int64_t n_clients;
	struct watch *ticker;		/* while there are clients */
	struct listener listeners[EGRESS_LISTENERS_MAX];
	size_t n_listeners;
	int paused;			/* not accepting: too many clients, or no descriptors */
	struct pool pool;
	struct dns_stub dns;
	struct transparent transparent;
	struct publish publish;
};

/**
 * listener_add() - Accept on a listening socket from now on
 * @fd:		borrowed until the helper stops
 * @what:	for @accepted; may be NULL
 *
 * Return: 0, or -1 with @err
 */
int listener_add(struct egress *eg, int fd, accepted_fn *accepted, const void *what, struct err *err);

/* client_add() - put @c on the list, to expire @ms from now */
void client_add(struct egress *eg, struct client *c, int64_t ms);
void client_touch(struct client *c, int64_t ms);
void client_remove(struct egress *eg, struct client *c);

/* --- what serves a client; each takes @fd, a connected non-blocking socket --- */
void http_proxy_start(struct egress *eg, int fd, uint16_t peer_port);
void socks_proxy_start(struct egress *eg, int fd, uint16_t peer_port);

/**
 * http_inspect_start() - Serve a connection that leads to one host and is looked into
 * @to:		copied; the policy allowed it, and tls_config_looks() said so
 * @early:	what the client has sent already; taken
 * @answer:	to be sent to it first; taken
 */
void http_inspect_start(struct egress *eg, int fd, uint16_t peer_port, const struct destination *to,
			struct buf *early, struct buf *answer);

/**
 * linger_start() - Send the last bytes and let the client read them
 * @out:	taken; may be empty
 *
 * Closing at once would reset a connection whose input was not all read, and
 * the client would lose the answer.
 */
void linger_start(struct egress *eg, int fd, struct buf *out);

/* linger_abort() - the same, but reset in the end: a cut answer must not look whole */
void linger_abort(struct egress *eg, int fd, struct buf *out);

/* For the record kept with --net-log. */
struct link_info {
	char *host;		/* NULL: nothing is recorded */
	uint16_t port;
	const char *protocol;
	int64_t start_ms;
	uint64_t bytes_in, bytes_out;	/* as seen from who connected */
	int from_outside;	/* and that was not the program inside */
	const char *error;	/* why it came to nothing; NULL: it did not. Until link_end() */
	uint16_t peer_port;	/* the client's, inside; 0: none */
};
void link_begin(struct egress *eg, const struct destination *d, struct link_info *ret);
/* link_record() - the same whether or not there is a record of connections */
void link_record(const struct destination *d, struct link_info *ret);
/* link_end() - report and forget; fine on a zeroed struct */
void link_end(struct egress *eg, struct link_info *l);

/**
 * tunnel_start() - Move bytes both ways until both sides have ended
 * @client_fd, @up_fd:	taken
 * @to_up, @to_client:	bytes to send first; taken
 * @link:		taken
 */
void tunnel_start(struct egress *eg, int client_fd, int up_fd, struct buf *to_up, struct buf *to_client,
		  struct link_info *link);

/**
 * tunnel_start_to() - The same for a connection of the program inside to @to
 * @to:		copied
 *
 * If its first bytes are TLS that asks for a host which may not be reached
 * like this, it is refused, and ends with an alert. Otherwise they pass as
 * they are; whatever the host outside says first is not held up.
 */
void tunnel_start_to(struct egress *eg, int client_fd, int up_fd, struct buf *to_up, struct buf *to_client,
		     struct link_info *link, const struct destination *to, uint16_t peer_port);

struct stream;
/* tls_tunnel_start() - the same for streams with TLS, which are emptied; all of it is taken */
void tls_tunnel_start(struct egress *eg, struct stream *down, struct stream *up, struct link_info *link);

/* socket_reset() - close so that the peer sees an abort, not an end */
void socket_reset(int fd);

#endif
