#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/rtnetlink.h>

#include "sandbox/init/knock.h"
#include "sandbox/init/net.h"
#include "sandbox/init/net_internal.h"
#include "sandbox/init/wire.h"

#define INSIDE_MS 20		/* to the run's own server: an answer comes at once */
#define DNS_PORT 53
#define RULE_DATAGRAM "only DNS may use datagrams"
#define LOOPBACK_INDEX 1	/* the first interface of every network namespace */

/* --- preparing the namespace --- */

struct route_request {
	struct nlmsghdr head;
	struct rtmsg route;
	char attributes[64];
};

static void add_attribute(struct route_request *q, unsigned short type, const void *data, size_t len)
{
	struct rtattr *a = (void *)((char *)q + NLMSG_ALIGN(q->head.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(len);
	memcpy(RTA_DATA(a), data, len);
	q->head.nlmsg_len = (uint32_t)(NLMSG_ALIGN(q->head.nlmsg_len) + RTA_LENGTH(len));
}

/* "ip route add local NET dev lo": every address of the pool is this host's. */
static int add_local_route(int family, const void *net, size_t len, unsigned char bits)
{
	struct route_request q = {
		.head = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)), .nlmsg_type = RTM_NEWROUTE,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK },
		.route = { .rtm_family = (unsigned char)family, .rtm_dst_len = bits, .rtm_table = RT_TABLE_LOCAL,
			   .rtm_protocol = RTPROT_BOOT, .rtm_scope = RT_SCOPE_HOST, .rtm_type = RTN_LOCAL },
	};
	struct { struct nlmsghdr head; struct nlmsgerr err; char rest[256]; } answer;
	int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	uint32_t lo = LOOPBACK_INDEX;
	ssize_t n;

	if (sock < 0)
		return -1;
	add_attribute(&q, RTA_DST, net, len);
	add_attribute(&q, RTA_OIF, &lo, sizeof(lo));
	n = send(sock, &q, q.head.nlmsg_len, 0);
	if (n >= 0)
		n = recv(sock, &answer, sizeof(answer), 0);
	close(sock);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)) || answer.head.nlmsg_type != NLMSG_ERROR) {
		errno = EPROTO;
		return -1;
	}
	errno = -answer.err.error;
	return answer.err.error && answer.err.error != -EEXIST ? -1 : 0;
}

static int open_bound(int type, const void *addr, socklen_t len, int only_v6)
{
	int family = ((const struct sockaddr *)addr)->sa_family, on = 1;
	int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), saved;

	if (fd < 0)
		return -1;
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof(only_v6));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!bind(fd, addr, len) && (type != SOCK_STREAM || !listen(fd, 1024)))
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

/* One socket for both families, where there are both. Whatever address here it is asked at, it is the host's. */
static int open_host_port(unsigned int port)
{
	const struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	const struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	int fd = open_bound(SOCK_STREAM, &a6, sizeof(a6), 0);

	return fd >= 0 || errno != EAFNOSUPPORT ? fd : open_bound(SOCK_STREAM, &a4, sizeof(a4), 0);
}

static int open_host_ports(const struct broker *b, int *fds)
{
	for (uint32_t i = 0; i < b->blob->n_host_ports; i++) {
		fds[i] = open_host_port(b->blob->host_ports[i]);
		if (fds[i] < 0)
			return -1;
	}
	return 0;
}

static int open_helpers(int fds[NET_NUM], size_t *ret_n)
{
	const uint32_t pool4 = htonl(POOL4_NET);
	const struct in6_addr pool6 = { .s6_addr = POOL6_PREFIX };
	const struct sockaddr_in dns = { .sin_family = AF_INET, .sin_port = htons(DNS_PORT),
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct sockaddr_in t4 = { .sin_family = AF_INET, .sin_port = htons(TRANSPARENT_PORT) };
	const struct sockaddr_in6 t6 = { .sin6_family = AF_INET6, .sin6_port = htons(TRANSPARENT_PORT) };

	if (add_local_route(AF_INET, &pool4, sizeof(pool4), POOL4_BITS) < 0)
		return -1;
	fds[NET_DNS_UDP] = open_bound(SOCK_DGRAM, &dns, sizeof(dns), 1);
	fds[NET_DNS_TCP] = open_bound(SOCK_STREAM, &dns, sizeof(dns), 1);
	fds[NET_TRANSPARENT4] = open_bound(SOCK_STREAM, &t4, sizeof(t4), 1);
	if (fds[NET_DNS_UDP] < 0 || fds[NET_DNS_TCP] < 0 || fds[NET_TRANSPARENT4] < 0)
		return -1;
	fds[NET_KNOCK4] = knock_open(AF_INET);
	if (fds[NET_KNOCK4] < 0 || knock_guard(fds[NET_TRANSPARENT4]) < 0)
		return -1;
	*ret_n = NET_TRANSPARENT6;
	if (add_local_route(AF_INET6, &pool6, sizeof(pool6), POOL6_BITS) < 0)
		return 0;
	fds[NET_TRANSPARENT6] = open_bound(SOCK_STREAM, &t6, sizeof(t6), 1);
	if (fds[NET_TRANSPARENT6] < 0)
		return 0;
	fds[NET_KNOCK6] = knock_open(AF_INET6);
	if (fds[NET_KNOCK6] < 0 || knock_guard(fds[NET_TRANSPARENT6]) < 0)
		return -1;
	*ret_n = NET_NUM;
	return 0;
}

int net_prepare(const struct broker *b, int fds[NET_FDS_MAX], size_t *ret_n)
{
	size_t n;

	if (open_helpers(fds, &n) < 0 || open_host_ports(b, fds + n) < 0)
		return -1;
	*ret_n = n + b->blob->n_host_ports;
	return 0;
}

/* --- connect() --- */

int net_destination(const void *addr, size_t len, struct destination *ret)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct sockaddr_in6 a6;
	struct sockaddr_in a4;
	sa_family_t family;

	memset(ret, 0, sizeof(*ret));
	memcpy(&family, addr, sizeof(family));
	ret->family = ret->socket_family = family;
	if (family == AF_INET && len >= sizeof(a4)) {
		memcpy(&a4, addr, sizeof(a4));
		memcpy(ret->ip, &a4.sin_addr, 4);
		ret->port = ntohs(a4.sin_port);
		return 0;
	}
	if (family != AF_INET6 || len < sizeof(a6) - sizeof(a6.sin6_scope_id))
		return -1;
	memcpy(&a6, addr, len < sizeof(a6) ? len : sizeof(a6));
	ret->port = ntohs(a6.sin6_port);
	if (!memcmp(&a6.sin6_addr, mapped, sizeof(mapped))) {
		ret->family = AF_INET;
		memcpy(ret->ip, a6.sin6_addr.s6_addr + 12, 4);
	} else {
		memcpy(ret->ip, &a6.sin6_addr, 16);
	}
	return 0;
}

/* Loopback, and the unspecified address, which the kernel takes for it. */
int net_is_loopback(const struct destination *d)
{
	static const uint8_t zero[16], one[16] = { [15] = 1 };

	if (d->family == AF_INET)
		return d->ip[0] == 127 || !memcmp(d->ip, zero, 4);
	return !memcmp(d->ip, one, 16) || !memcmp(d->ip, zero, 16);
}

static int is_pool(const struct destination *d)
{
	static const uint8_t pool6[] = POOL6_PREFIX;
	uint32_t v4;

	if (d->family == AF_INET6)
		return !memcmp(d->ip, pool6, sizeof(pool6));
	memcpy(&v4, d->ip, 4);
	return (ntohl(v4) ^ POOL4_NET) >> (32 - POOL4_BITS) == 0;
}

static int is_allowed_literal(const struct broker *b, const char *ip)
{
	const uint32_t *at = (const void *)((const char *)b->blob + b->blob->literals_off);

	for (uint32_t i = 0; i < b->blob->n_literals; i++)
		if (!strcmp(wire_text(b->blob, at[i]), ip))
			return 1;
	return 0;
}

/* Bind, so that the local port is known, and tell whose it is. -1 when it cannot be. */
int net_tell_caller(const struct request *r, int sock, const struct destination *d, int is_transparent)
{
	struct sockaddr_in any4 = { .sin_family = AF_INET };
	struct sockaddr_in6 any6 = { .sin6_family = AF_INET6 }, got;
	struct msg_caller m = { .type = MSG_CALLER };
	int is6 = d->socket_family == AF_INET6;
	socklen_t len = sizeof(got);

	/* EINVAL: it is bound already, by the command itself. */
	if (bind(sock, is6 ? (void *)&any6 : (void *)&any4, is6 ? sizeof(any6) : sizeof(any4)) < 0 && errno != EINVAL)
		return -1;
	if (getsockname(sock, (struct sockaddr *)&got, &len) < 0 || !got.sin6_port)
		return -1;
	m.port = ntohs(got.sin6_port);	/* at the same place in both families */
	if (is_transparent) {
		m.family = (uint32_t)d->family;
		m.to_port = d->port;
		memcpy(m.to, d->ip, sizeof(m.to));
	}
	report_caller(r, &m);
	return 0;
}

/* Where the caller's socket really goes: the helper's listener, at the pool address if it has one. */
static socklen_t redirected(const struct destination *d, struct sockaddr_in6 *ret)
{
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = htons(TRANSPARENT_PORT),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	*ret = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(TRANSPARENT_PORT),
				      .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	if (d->family == AF_INET6) {
		if (is_pool(d))
			memcpy(&ret->sin6_addr, d->ip, 16);
		return sizeof(*ret);
	}
	if (is_pool(d))
		memcpy(&a4.sin_addr, d->ip, 4);
	if (d->socket_family == AF_INET6) {	/* a mapped address on a dual socket */
		memset(&ret->sin6_addr, 0, 10);
		memset(ret->sin6_addr.s6_addr + 10, 0xff, 2);
		memcpy(ret->sin6_addr.s6_addr + 12, &a4.sin_addr, 4);
		return sizeof(*ret);
	}
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, &a4, sizeof(a4));
	return sizeof(a4);
}

/* Connect @sock without blocking in the kernel; a blocking caller gets the result, not EINPROGRESS. */
struct answer net_connect_to(const struct request *r, int sock, const struct sockaddr_in6 *to, socklen_t len)
{
	int flags = fcntl(sock, F_GETFL), err;
	struct pollfd p = { .fd = sock, .events = POLLOUT };
	socklen_t err_len = sizeof(err);

	if (flags < 0)
		return answer_errno(EBADF);
	if (!(flags & O_NONBLOCK))
		fcntl(sock, F_SETFL, flags | O_NONBLOCK);
	err = connect(sock, (const struct sockaddr *)to, len) < 0 ? errno : 0;
	/* EALREADY: the same call again, after a signal. Who is on loopback has answered by now. */
	if (!(flags & O_NONBLOCK) && (err == EINPROGRESS || err == EALREADY)) {
		if (poll(&p, 1, 0) <= 0)
			return net_wait(r, sock, flags);
		getsockopt(sock, SOL_SOCKET, SO_ERROR, &err, &err_len);
	}
	if (!(flags & O_NONBLOCK))
		fcntl(sock, F_SETFL, flags);
	return err ? answer_errno(err) : (struct answer){ .kind = ANSWER_VALUE, .fd = -1 };
}

struct answer net_refuse(const struct request *r, enum file_action action, const struct destination *d,
			 const char *rule)
{
	struct request told = *r;
	char ip[INET6_ADDRSTRLEN], target[INET6_ADDRSTRLEN + 16];

	inet_ntop(d->family, d->ip, ip, sizeof(ip));
	snprintf(target, sizeof(target), d->family == AF_INET6 ? "[%s]:%u" : "%s:%u", ip, d->port);
	told.given = target;
	return refuse(&told, action, NULL, rule, EACCES);
}

static struct answer connect_stream(const struct request *r, int sock, const struct destination *d)
{
	struct sockaddr_in6 to;
	char ip[INET6_ADDRSTRLEN];
	socklen_t len;

	inet_ntop(d->family, d->ip, ip, sizeof(ip));
	if (!is_pool(d) && !is_allowed_literal(r->b, ip))
		return net_refuse(r, ACT_NETWORK, d, "egress-allowlist");
	if (net_tell_caller(r, sock, d, 1) < 0)
		return answer_errno(EADDRNOTAVAIL);
	len = redirected(d, &to);
	return net_connect_to(r, sock, &to, len);
}

/* Whoever asks another name server gets ours; other datagrams have no way out. */
static struct answer connect_datagram(const struct request *r, int sock, const struct destination *d)
{
	struct sockaddr_in6 to;
	socklen_t len;

	if (is_pool(d))		/* getaddrinfo(3) connects to see whether there is a route */
		return answer_continue();
	if (d->port != DNS_PORT)
		return net_refuse(r, ACT_NETWORK, d, RULE_DATAGRAM);
	net_tell_caller(r, sock, d, 0);
	len = redirected(&(struct destination){ .family = AF_INET, .socket_family = d->socket_family,
						.ip = { 127, 0, 0, 1 } }, &to);
	if (d->socket_family == AF_INET6)
		to.sin6_port = htons(DNS_PORT);
	else
		((struct sockaddr_in *)(void *)&to)->sin_port = htons(DNS_PORT);
	return net_connect_to(r, sock, &to, len);
}

int net_host_port(const struct broker *b, unsigned int port)
{
	for (uint32_t i = 0; i < b->blob->n_host_ports; i++)
		if (b->blob->host_ports[i] == port)
			return (int)i;
	return -1;
}

/* Does the egress helper serve this port of the run's own loopback? */
static int is_helpers(const struct broker *b, unsigned int port)
{
	return port == PROXY_HTTP_PORT || port == PROXY_SOCKS_PORT || port == DNS_PORT || port == TRANSPARENT_PORT ||
	       net_host_port(b, port) >= 0;
}

struct answer net_connect(const struct request *r, const void *addr, size_t len)
{
	struct destination d;
	struct answer a;
	int sock, type = 0;
	socklen_t type_len = sizeof(type);

	if (net_destination(addr, len, &d) < 0)
		return r->b->bare ? answer_errno(EINVAL) : answer_continue();	/* too short: the kernel says so */
	if (r->b->bare)
		return net_connect_bare(r, &d);
	sock = target_take_fd(r, (int)r->n->data.args[0]);
	if (sock < 0)
		return answer_errno(errno);
	if (getsockopt(sock, SOL_SOCKET, SO_TYPE, &type, &type_len) < 0) {
		a = answer_errno(errno);
	} else if (net_is_loopback(&d)) {	/* the run's own, or the helper, which is to know the caller */
		if (is_helpers(r->b, d.port) && (type == SOCK_STREAM || d.port == DNS_PORT))
			net_tell_caller(r, sock, &d, 0);
		a = net_connect_to(r, sock, addr, (socklen_t)len);
	} else {
		a = type == SOCK_STREAM ? connect_stream(r, sock, &d) : connect_datagram(r, sock, &d);
	}
	close(sock);
	return a;
}

/* --- datagrams --- */

static int is_datagram(int sock)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return getsockopt(sock, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_DGRAM;
}

struct answer net_sendto(const struct request *r, const void *addr, size_t len)
{
	struct answer a = answer_continue();
	struct destination d;
	int sock;

	if (net_destination(addr, len, &d) < 0 || (net_is_loopback(&d) && d.port != DNS_PORT))
		return a;
	sock = target_take_fd(r, (int)r->n->data.args[0]);
	if (sock < 0)
		return answer_errno(errno);
	if (is_datagram(sock) && net_is_loopback(&d))
		net_tell_caller(r, sock, &d, 0);
	else if (is_datagram(sock))
		a = net_refuse(r, ACT_NETWORK, &d, RULE_DATAGRAM);
	close(sock);
	return a;
}

/* The number of that name in the line pair "Ip: Name..." and "Ip: 12..." of /proc/net/snmp, else 0. */
static unsigned long counted4(FILE *f)
{
	char names[1024], values[1024], *name, *value, *save_name, *save_value;

	while (fgets(names, sizeof(names), f) && fgets(values, sizeof(values), f)) {
		name = strtok_r(names, " \n", &save_name);
		value = strtok_r(values, " \n", &save_value);
		while (name && value && strcmp(name, "OutNoRoutes") != 0) {
			name = strtok_r(NULL, " \n", &save_name);
			value = strtok_r(NULL, " \n", &save_value);
		}
		if (name && value)
			return strtoul(value, NULL, 10);
	}
	return 0;
}

/* "Ip6OutNoRoutes   3", a line each. */
static unsigned long counted6(FILE *f)
{
	unsigned long n;
	char line[256];

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Ip6OutNoRoutes %lu", &n) == 1)
			return n;
	return 0;
}

static unsigned long count(const struct broker *b, const char *table, unsigned long (*counted)(FILE *f))
{
	int fd = openat(b->proc, table, O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	unsigned long n;

	if (!f)
		return 0;
	n = counted(f);
	fclose(f);
	return n;
}

/* Only datagrams can come so far: connect() is ours, and what sendto() refused never reached the kernel. */
void net_lost(struct broker *b)
{
	static unsigned long told;
	unsigned long n = b->bare ? 0 : count(b, "self/net/snmp", counted4) + count(b, "self/net/snmp6", counted6);

	if (n > told)
		report_lost(b, n - told, RULE_DATAGRAM);
	told = n;
}

/* --- connections from the host --- */

/* A server whose backlog is full takes its time, and whoever gets the socket will see. */
static int start_connecting(const void *addr, socklen_t len)
{
	int fd = socket(((const struct sockaddr *)addr)->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t err_len = sizeof(err);

	if (fd < 0)
		return -1;
	err = connect(fd, addr, len) < 0 ? errno : 0;
	if (err == EINPROGRESS) {
		err = 0;
		if (poll(&p, 1, INSIDE_MS) > 0)
			getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &err_len);
	}
	if (!err)
		return fd;
	close(fd);
	errno = err;
	return -1;
}

/* Servers that say "localhost" may listen on either address. */
int net_inside(const struct broker *b, unsigned int port)
{
	const struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port),
					 .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd;

	if (b->bare && !net_is_ours(b, port)) {
		errno = EPERM;
		return -1;
	}
	fd = start_connecting(&a4, sizeof(a4));
	if (fd >= 0)
		return fd;
	fd = start_connecting(&a6, sizeof(a6));
	if (fd < 0)
		errno = ECONNREFUSED;
	return fd;
}
