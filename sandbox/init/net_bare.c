/*
 * sandbox/init/net_bare.c - the network where it is the host's own
 *
 * Landlock grants the command no TCP at all, and the filter no other Internet
 * socket, so what is not done here is not done. We connect to two places: the
 * egress helper's sockets, and servers that the run itself started on loopback.
 * We bind on loopback only: nobody outside this machine gets in.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/init/net.h"
#include "sandbox/init/net_internal.h"

/*
 * Sockets that were bound here, by inode. The kernel's table of listening
 * sockets tells which of them listens on a port, and so whose server that is.
 */
#define BOUND_SOCKETS 1024

static ino_t bound[BOUND_SOCKETS];
static size_t n_bound;
static pthread_mutex_t bound_lock = PTHREAD_MUTEX_INITIALIZER;

static void remember(int sock)
{
	struct stat st;

	if (fstat(sock, &st) < 0)
		return;
	pthread_mutex_lock(&bound_lock);
	bound[n_bound++ % BOUND_SOCKETS] = st.st_ino;
	pthread_mutex_unlock(&bound_lock);
}

static int was_bound_here(ino_t ino)
{
	int found = 0;

	pthread_mutex_lock(&bound_lock);
	for (size_t i = 0; i < BOUND_SOCKETS && !found; i++)
		found = ino && bound[i] == ino;
	pthread_mutex_unlock(&bound_lock);
	return found;
}

/* Who listens on a port of loopback? */
enum listener { NOBODY, OURS, THE_HOSTS };

#define TCP_LISTENING 10	/* TCP_LISTEN, as /proc/net/tcp has it in hexadecimal */

/* One table; every listener on the port has to be ours, whatever its address. */
static enum listener look_up(const struct broker *b, const char *table, unsigned int port)
{
	enum listener found = NOBODY;
	char line[512];
	int fd = openat(b->proc, table, O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f)
		return fd < 0 && errno == ENOENT ? NOBODY : THE_HOSTS;	/* without IPv6 there is no second one */
	while (fgets(line, sizeof(line), f)) {
		unsigned int at, state;
		unsigned long ino;

		if (sscanf(line, " %*u: %*[0-9A-F]:%X %*[0-9A-F]:%*X %X %*s %*s %*s %*u %*u %lu", &at, &state, &ino) != 3 ||
		    at != port || state != TCP_LISTENING)
			continue;
		found = was_bound_here((ino_t)ino) && found != THE_HOSTS ? OURS : THE_HOSTS;
	}
	fclose(f);
	return found;
}

static enum listener who_listens(const struct broker *b, unsigned int port)
{
	enum listener v4 = look_up(b, "self/net/tcp", port), v6 = look_up(b, "self/net/tcp6", port);

	return v4 > v6 ? v4 : v6;
}

int net_is_ours(const struct broker *b, unsigned int port)
{
	return who_listens(b, port) != THE_HOSTS;
}

/* --- addresses --- */

static socklen_t make_address(const struct destination *d, struct sockaddr_in6 *ret)
{
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)d->port) };

	*ret = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)d->port) };
	if (d->family == AF_INET6) {
		memcpy(&ret->sin6_addr, d->ip, 16);
		return sizeof(*ret);
	}
	if (d->socket_family == AF_INET6) {
		memset(ret->sin6_addr.s6_addr + 10, 0xff, 2);
		memcpy(ret->sin6_addr.s6_addr + 12, d->ip, 4);
		return sizeof(*ret);
	}
	memcpy(&a4.sin_addr, d->ip, 4);
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, &a4, sizeof(a4));
	return sizeof(a4);
}

static int is_unspecified(const struct destination *d)
{
	static const uint8_t zero[16];

	return !memcmp(d->ip, zero, d->family == AF_INET ? 4 : 16);
}

/* Every address becomes loopback: of IPv4 for a socket that serves both families, since most clients try that. */
static void make_loopback(int sock, struct destination *d)
{
	static const uint8_t v4[4] = { 127, 0, 0, 1 }, v6[16] = { [15] = 1 };
	int only6 = 0;
	socklen_t len = sizeof(only6);

	if (d->family == AF_INET6 && !getsockopt(sock, IPPROTO_IPV6, IPV6_V6ONLY, &only6, &len) && !only6)
		d->family = AF_INET;
	memset(d->ip, 0, sizeof(d->ip));
	if (d->family == AF_INET)
		memcpy(d->ip, v4, sizeof(v4));
	else
		memcpy(d->ip, v6, sizeof(v6));
}

/* --- bind and listen --- */

static int bind_loopback(const struct broker *b, int sock, struct destination *d)
{
	struct sockaddr_in6 to;
	socklen_t len;

	if (is_unspecified(d))
		make_loopback(sock, d);
	/* Sockets that share a port would share its visitors. */
	if (d->port && who_listens(b, d->port) == THE_HOSTS) {
		errno = EADDRINUSE;
		return -1;
	}
	len = make_address(d, &to);
	if (bind(sock, (struct sockaddr *)&to, len) < 0)
		return -1;
	remember(sock);
	return 0;
}

struct answer net_bind(const struct request *r, const void *addr, size_t len)
{
	struct destination d;
	struct answer a;
	int sock;

	if (net_destination(addr, len, &d) < 0)
		return answer_errno(EINVAL);
	if (!net_is_loopback(&d))
		return net_refuse(r, ACT_NETWORK_BIND, &d, "only loopback is bound without a network namespace");
	sock = target_take_fd(r, (int)r->n->data.args[0]);
	if (sock < 0)
		return answer_errno(errno);
	a = answer_result(bind_loopback(r->b, sock, &d));
	close(sock);
	return a;
}

/* The address the socket is bound to; -1 if it is no Internet socket. */
static int bound_to(int sock, struct destination *ret)
{
	struct sockaddr_in6 a = { 0 };
	socklen_t len = sizeof(a);

	return getsockname(sock, (struct sockaddr *)&a, &len) < 0 ? -1 : net_destination(&a, len, ret);
}

/* On the socket itself, not its number, so that it cannot become another in between. */
struct answer net_listen(const struct request *r)
{
	int sock = target_take_fd(r, (int)r->n->data.args[0]);
	struct destination d;
	struct answer a;

	if (sock < 0)
		return answer_errno(errno);
	if (bound_to(sock, &d) < 0) {
		a = answer_result(listen(sock, (int)r->n->data.args[1]));
	} else if (!d.port && bind_loopback(r->b, sock, &d) < 0) {
		a = answer_errno(errno);
	} else if (d.port && (!net_is_loopback(&d) || is_unspecified(&d))) {
		a = net_refuse(r, ACT_NETWORK_BIND, &d, "only loopback is bound without a network namespace");
	} else {
		remember(sock);
		a = answer_result(listen(sock, (int)r->n->data.args[1]));
	}
	close(sock);
	return a;
}

/* --- connect --- */

static int is_proxy(const struct broker *b, unsigned int port)
{
	return port && (port == b->blob->proxy_ports[0] || port == b->blob->proxy_ports[1]);
}

/* It listens on 127.0.0.1 alone; a socket for IPv6 alone cannot go there, and its program tries the other. */
static void turn_to_helper(struct destination *d, unsigned int port)
{
	static const uint8_t v4[4] = { 127, 0, 0, 1 };

	d->family = AF_INET;
	d->port = port;
	memset(d->ip, 0, sizeof(d->ip));
	memcpy(d->ip, v4, sizeof(v4));
}

static struct answer connect_loopback(const struct request *r, int sock, struct destination *d)
{
	struct sockaddr_in6 to;
	socklen_t len;
	int i;

	if (is_unspecified(d))
		make_loopback(sock, d);
	i = net_host_port(r->b, d->port);
	if (i >= 0)
		turn_to_helper(d, r->b->blob->host_port_at[i]);
	if (i >= 0 || is_proxy(r->b, d->port)) {
		if (net_tell_caller(r, sock, d, 0) < 0)
			return answer_errno(EADDRNOTAVAIL);
	} else if (who_listens(r->b, d->port) == THE_HOSTS) {
		return net_refuse(r, ACT_NETWORK, d, PROTO_RULE_HOSTS_SERVICE);
	}
	len = make_address(d, &to);
	return net_connect_to(r, sock, &to, len);
}

struct answer net_connect_bare(const struct request *r, const struct destination *d)
{
	struct destination to = *d;
	struct answer a;
	int sock, type = 0;
	socklen_t len = sizeof(type);

	if (!net_is_loopback(d))
		return net_refuse(r, ACT_NETWORK, d, "egress-allowlist");
	sock = target_take_fd(r, (int)r->n->data.args[0]);
	if (sock < 0)
		return answer_errno(errno);
	if (getsockopt(sock, SOL_SOCKET, SO_TYPE, &type, &len) < 0)
		a = answer_errno(errno);
	else if (type != SOCK_STREAM)
		a = net_refuse(r, ACT_NETWORK, d, "only TCP without a network namespace");
	else
		a = connect_loopback(r, sock, &to);
	close(sock);
	return a;
}
