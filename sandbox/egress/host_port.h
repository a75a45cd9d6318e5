/*
 * sandbox/egress/host_port.h - one port of the host's loopback, reachable from inside as localhost
 *
 * The listening socket stands in the sandbox's network namespace and comes
 * with the configuration; what connects to it is connected to the same port of
 * this host's 127.0.0.1 or ::1. Somebody asked for just that, so no allow rule
 * is needed; a deny rule that names localhost or either address still holds,
 * and so does a network that is off. Each connection is told as
 * {"type":"connection",...,"protocol":"host-port"}, whether or not connections
 * are otherwise.
 */
#ifndef SANDBOX_EGRESS_HOST_PORT_H
#define SANDBOX_EGRESS_HOST_PORT_H

#include <stddef.h>
#include <stdint.h>

#define HOST_PORTS_MAX 8

struct egress;
struct err;
struct json;

struct host_ports {
	uint16_t port[HOST_PORTS_MAX];
	size_t n;
};

/* host_port_read() - read "hostPorts": [PORT...]; NULL: none. 0, or -1 with @err (ERR_INPUT, ERR_LIMIT) */
int host_port_read(const struct json *list, struct host_ports *ret, struct err *err);

/* host_port_accept() - takes @fd, a connection from inside for @port of the host */
void host_port_accept(struct egress *eg, int fd, uint16_t peer_port, uint16_t port);

#endif
