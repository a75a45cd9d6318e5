/*
 * The network past the proxy: a listener on the host's loopback, other kinds of
 * sockets, raw ones.
 */
#include <arpa/inet.h>
#include <sys/socket.h>

#include "tests/escape/attack.h"

static long reach(int type)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(told("ATTACK_PORT"))) };
	int fd = socket(AF_INET, type, 0);

	inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
	if (fd < 0)
		return -1;
	return connect(fd, (struct sockaddr *)&at, sizeof(at));
}

int main(void)
{
	static const struct { const char *name; int family, type, protocol; } others[] = {
		{ "packet", AF_PACKET, SOCK_RAW, 0 }, { "raw", AF_INET, SOCK_RAW, IPPROTO_ICMP },
		{ "raw v6", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6 }, { "vsock", AF_VSOCK, SOCK_STREAM, 0 },
		{ "alg", AF_ALG, SOCK_SEQPACKET, 0 }, { "bluetooth", AF_BLUETOOTH, SOCK_RAW, 1 },
		{ "key", AF_KEY, SOCK_RAW, 2 },
	};

	attack_begin();
	refused(reach(SOCK_STREAM), "reach a listener of the host");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		refused(socket(others[i].family, others[i].type, others[i].protocol), "open a socket: %s", others[i].name);
	return attack_end();
}
