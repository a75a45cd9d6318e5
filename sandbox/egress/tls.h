/*
 * sandbox/egress/tls.h - TLS ended here: a server to the program inside, a client to the host outside
 *
 * Towards the program: a certificate of the run's own authority (mint.h) for
 * the host it asked to be connected to, and no other: a server name that
 * differs ends the handshake; HTTP/2 if it likes (h2.h) and HTTP/1.1. Towards
 * the host: the host's roots and what the configuration adds, name checked,
 * TLS 1.2 at least, HTTP/1.1. No session is resumed.
 *
 * A struct tls does no I/O: ciphertext goes in by tls_feed() and comes out by
 * tls_drain().
 */
#ifndef SANDBOX_EGRESS_TLS_H
#define SANDBOX_EGRESS_TLS_H

#include <stddef.h>
#include <sys/types.h>

#include "sandbox/egress/host.h"

struct buf;
struct err;
struct tls;
struct tls_world;

/**
 * tls_world_new() - Load the library, make the run's authority (reads no files but the library's)
 * @run:	named in certificates
 *
 * Return: the caller's to tls_world_free(), or NULL with @err
 */
struct tls_world *tls_world_new(const char *run, struct err *err);

/* tls_world_ca() - append the authority's certificate as PEM; 0 or -1 */
int tls_world_ca(const struct tls_world *w, struct buf *out);

/* tls_world_trust() - believe these PEM certificates of hosts outside; 0, or -1 with @err */
int tls_world_trust(struct tls_world *w, const char *pem, size_t len, struct err *err);

void tls_world_free(struct tls_world *w);

/* tls_server() - for a program that asked for @h; NULL when out of memory. It must end before the world */
struct tls *tls_server(struct tls_world *w, const struct host *h);

/* tls_client() - for a connection to @h; the same */
struct tls *tls_client(struct tls_world *w, const struct host *h);

enum tls_state {
	TLS_OPEN,	/* the handshake is done */
	TLS_WANTS,	/* feed more */
	TLS_FAILED,	/* drain what is left to say; tls_why() */
};

/* tls_handshake() - go on as far as the bytes fed allow */
enum tls_state tls_handshake(struct tls *t);

/* tls_is_open() - 1 once the handshake is done, until something breaks */
int tls_is_open(const struct tls *t);

/* tls_speaks_h2() - 1 if the handshake agreed on HTTP/2 */
int tls_speaks_h2(const struct tls *t);

/* tls_feed() - ciphertext that came; 0, or -1 when out of memory */
int tls_feed(struct tls *t, const void *data, size_t len);

#define TLS_MORE 0		/* feed more */
#define TLS_ENDED (-1)		/* the peer said that it has said all */
#define TLS_BROKEN (-2)

/* tls_read() - plain bytes: how many, or one of the above */
ssize_t tls_read(struct tls *t, void *to, size_t len);

/* tls_write() - all of @len bytes, the handshake being done; 0 or -1 */
int tls_write(struct tls *t, const void *data, size_t len);

/* tls_drain() - append the ciphertext to send; 0 or -1 */
int tls_drain(struct tls *t, struct buf *out);

/* tls_end() - say that nothing more will come */
void tls_end(struct tls *t);

/* tls_other_name() - the server name the program asked for instead of the host's; NULL: it did not */
const char *tls_other_name(const struct tls *t);

/* tls_why() - why the handshake failed, one line that fits behind a host's name */
const char *tls_why(const struct tls *t);

void tls_free(struct tls *t);	/* NULL is fine */

#endif
