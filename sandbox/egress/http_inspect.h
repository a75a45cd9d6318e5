/*
 * sandbox/egress/http_inspect.h - requests that a connection of HTTP/2 has turned into HTTP/1.1
 */
#ifndef SANDBOX_EGRESS_HTTP_INSPECT_H
#define SANDBOX_EGRESS_HTTP_INSPECT_H

#include <stdint.h>

struct destination;
struct egress;

/**
 * http_inspect_stream_start() - Serve requests of a client whose TLS has ended elsewhere in this process
 * @fd:		one end of a pair, taken; who closes the other has given up
 * @to:		copied; the policy allowed it
 */
void http_inspect_stream_start(struct egress *eg, int fd, uint16_t peer_port, const struct destination *to);

#endif
