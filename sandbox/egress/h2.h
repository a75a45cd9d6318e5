/*
 * sandbox/egress/h2.h - HTTP/2 with a program whose TLS ends here
 *
 * The host outside is spoken to in HTTP/1.1 whatever the program speaks. Each
 * stream becomes a request of HTTP/1.1, written to one end of a socket pair;
 * at the other end sits the same code that serves a program that speaks
 * HTTP/1.1 itself (http_inspect.h), with the same strict reading, rules,
 * credentials and limits. A pair is kept and used again, and with it the
 * connection outside. So what is decided is decided in one place.
 *
 * Bounded: streams, header lists, waiting bytes each way (a stream's window
 * opens as the host takes what was sent), streams that the program resets, and
 * frames that get nothing done. Nothing is pushed.
 */
#ifndef SANDBOX_EGRESS_H2_H
#define SANDBOX_EGRESS_H2_H

#include <stdint.h>

struct destination;
struct egress;
struct stream;

/**
 * h2_start() - Serve a program that agreed on HTTP/2
 * @down:	its TLS is open; emptied and taken
 * @within:	where it leads; copied
 *
 * h2_lib_load() came before.
 */
void h2_start(struct egress *eg, struct stream *down, uint16_t peer_port, const struct destination *within);

#endif
