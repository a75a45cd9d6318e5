/*
 * A network namespace as the broker prepares one, with the test inside it and
 * the helper outside. What listens outside has to be opened before
 * inside_enter(), and threads may be started only behind it.
 */
#ifndef TEST_EGRESS_INSIDE_H
#define TEST_EGRESS_INSIDE_H

#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "sandbox/init/knock.h"
#include "test_egress_fixture.h"

/* As <linux/ipv6.h> has it, which <netinet/in.h> does not go with. */
struct in6_request {
	struct in6_addr addr;
	uint32_t prefix;
	int index;
};

struct sockaddr_any {
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	};
	socklen_t len;
};

static inline struct sockaddr_any address(const char *ip, uint16_t port)
{
	struct sockaddr_any a = { .len = sizeof(a.in) };

	a.in.sin_family = AF_INET;
	if (inet_pton(AF_INET, ip, &a.in.sin_addr) != 1) {
		a.len = sizeof(a.in6);
		a.in6.sin6_family = AF_INET6;
		assert_int_equal(inet_pton(AF_INET6, ip, &a.in6.sin6_addr), 1);
	}
	a.in.sin_port = htons(port);	/* at the same place in both */
	return a;
}

static inline void make_local(int sock, const char *name, const char *ip, const char *mask)
{
	struct ifreq r = { 0 };
	struct sockaddr_any a = address(ip, 0);

	strcpy(r.ifr_name, name);
	memcpy(&r.ifr_addr, &a.in, sizeof(a.in));
	assert_int_equal(ioctl(sock, SIOCSIFADDR, &r), 0);
	a = address(mask, 0);
	memcpy(&r.ifr_netmask, &a.in, sizeof(a.in));
	assert_int_equal(ioctl(sock, SIOCSIFNETMASK, &r), 0);
	r.ifr_flags = IFF_UP;
	assert_int_equal(ioctl(sock, SIOCSIFFLAGS, &r), 0);
}

/* 0, or -1 where this host has no namespaces for us. */
static inline int inside_enter(void)
{
	int v4, v6;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return -1;
	v4 = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	v6 = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	make_local(v4, "lo", "127.0.0.1", "255.0.0.0");
	make_local(v4, "lo:1", "198.18.0.1", "255.254.0.0");
	for (int i = 1; i < 16; i++) {
		struct in6_request r = { .prefix = 128, .index = 1 };
		char ip[32];

		snprintf(ip, sizeof(ip), "fd00:a6a7::%x", i);
		inet_pton(AF_INET6, ip, &r.addr);
		assert_int_equal(ioctl(v6, SIOCSIFADDR, &r), 0);
	}
	close(v4);
	close(v6);
	return 0;
}

static inline int inside_socket(int type, const char *ip, uint16_t port)
{
	struct sockaddr_any a = address(ip, port);
	int fd = socket(a.sa.sa_family, type | SOCK_CLOEXEC, 0), one = 1;

	assert_true(fd >= 0);
	set_timeouts(fd);
	if (a.sa.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	assert_int_equal(bind(fd, &a.sa, a.len), 0);
	return fd;
}

static inline int inside_listen(const char *ip, uint16_t port)
{
	int fd = inside_socket(SOCK_STREAM, ip, port);

	assert_int_equal(listen(fd, 1024), 0);
	return fd;
}

/* Open what the broker opens, behind the two proxies' sockets. */
static inline void inside_open(struct proxy *p, int fds[8])
{
	fds[0] = listen_any(&p->http);
	fds[1] = listen_any(&p->socks);
	fds[2] = inside_socket(SOCK_DGRAM, "127.0.0.1", 53);
	fds[3] = inside_listen("127.0.0.1", 53);
	fds[4] = inside_listen("0.0.0.0", TRANSPARENT_PORT);
	fds[5] = knock_open(AF_INET);
	fds[6] = inside_listen("::", TRANSPARENT_PORT);
	fds[7] = knock_open(AF_INET6);
	assert_true(fds[5] >= 0 && fds[7] >= 0);
	assert_int_equal(knock_guard(fds[4]) | knock_guard(fds[6]), 0);
}

/* --- what the broker does for a connect() --- */

static inline void tell(const struct proxy *p, uint16_t from, const char *ip, uint16_t port)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"type\":\"caller\",\"port\":%u,\"address\":\"%s\",\"destPort\":%u}", from, ip, port);
	assert_int_equal(send(p->control, text, strlen(text), 0), (ssize_t)strlen(text));
}

/* A bound socket of @ip's family, whose port is @ret_port. */
static inline int bound(const char *ip, uint16_t *ret_port)
{
	int is_v6 = strchr(ip, ':') != NULL, fd = inside_socket(SOCK_STREAM, is_v6 ? "::" : "0.0.0.0", 0);
	struct sockaddr_any a = { .len = sizeof(a.in6) };

	assert_int_equal(getsockname(fd, &a.sa, &a.len), 0);
	*ret_port = ntohs(a.in.sin_port);
	return fd;
}

/* Set out to where a destination of @ip leads: itself for the pool, loopback for others. */
static inline void set_out(int fd, const char *ip)
{
	int is_v6 = strchr(ip, ':') != NULL, is_pool = !strncmp(ip, is_v6 ? "fd00:a6a7" : "198.1", 5);
	struct sockaddr_any a = address(is_pool ? ip : is_v6 ? "::1" : "127.0.0.1", TRANSPARENT_PORT);

	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(connect(fd, &a.sa, a.len), -1);
	assert_int_equal(errno, EINPROGRESS);
}

/* 0 when it is connected, or why it is not. */
static inline int arrive(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int err = 0;

	assert_int_equal(poll(&p, 1, 15000), 1);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len), 0);
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
	return err;
}

static inline int transparent(const struct proxy *p, const char *ip, uint16_t port)
{
	uint16_t from;
	int fd = bound(ip, &from);

	tell(p, from, ip, port);
	set_out(fd, ip);
	assert_int_equal(arrive(fd), 0);
	return fd;
}

static inline void expect_not_connected(const struct proxy *p, const char *ip, uint16_t port, int why)
{
	uint16_t from;
	int fd = bound(ip, &from);

	tell(p, from, ip, port);
	set_out(fd, ip);
	assert_int_equal(arrive(fd), why);
	close(fd);
}

/* --- look-ups --- */

static inline size_t make_query(const char *name, unsigned int type, uint8_t ret[512])
{
	uint8_t *at = ret + 12;

	memcpy(ret, "\x77\x88\1\0\0\1\0\0\0\0\0", 12);
	while (*name) {
		size_t n = strcspn(name, ".");

		*at++ = (uint8_t)n;
		memcpy(at, name, n);
		at += n;
		name += n + (name[n] == '.');
	}
	*at++ = 0;
	*at++ = (uint8_t)(type >> 8);
	*at++ = (uint8_t)type;
	*at++ = 0;
	*at++ = 1;
	return (size_t)(at - ret);
}

/* Ask over UDP; what came, at most 512 bytes. */
static inline size_t ask(const char *server, const char *name, unsigned int type, uint8_t ret[512])
{
	struct sockaddr_any a = address(server, 53);
	uint8_t query[512];
	size_t len = make_query(name, type, query);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ssize_t n;

	set_timeouts(fd);
	assert_int_equal(sendto(fd, query, len, 0, &a.sa, a.len), (ssize_t)len);
	n = recv(fd, ret, 512, 0);
	assert_true(n >= 12);
	close(fd);
	return (size_t)n;
}

/* The rcode, and the one address of an answer as text ("" if there is none). */
static inline int look_up(const char *name, unsigned int type, char ret[INET6_ADDRSTRLEN])
{
	uint8_t answer[512];
	size_t n = ask("127.0.0.1", name, type, answer);

	ret[0] = '\0';
	assert_int_equal(answer[0] << 8 | answer[1], 0x7788);
	if (answer[7] == 1 && type == 1)
		inet_ntop(AF_INET, answer + n - 4, ret, INET6_ADDRSTRLEN);
	if (answer[7] == 1 && type == 28)
		inet_ntop(AF_INET6, answer + n - 16, ret, INET6_ADDRSTRLEN);
	return answer[3] & 15;
}

#endif
