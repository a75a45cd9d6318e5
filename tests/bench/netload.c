/*
 * tests/bench/netload.c - both ends of a connection, to load what lies between
 *
 *	netload serve				a server on loopback; prints its port, ends with standard input
 *	netload bulk VIA HOST PORT BYTES	MB/s of one answer
 *	netload requests VIA HOST PORT N	requests/s one after the other on one connection, and each one's time in us: median, p99
 *	netload connections VIA HOST PORT N	the same with a connection for each
 *	netload idle VIA HOST PORT N		N connections that stand until standard input ends; prints "ready"
 *	netload dns HOST N			answers/s of the name server on 127.0.0.1, 16 questions under way
 *
 * VIA is "direct" (also what looks so), or "http", "connect" or "socks" by the
 * proxies of $HTTP_PROXY and $ALL_PROXY. Libc only: it runs inside as well.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 256 * 1024, HEAD_MAX = 4096, FILES_MAX = 65536, SMALL = 100, UNDER_WAY = 16, PATIENCE_S = 30 };

static char chunk[CHUNK];

static void die(const char *what)
{
	fprintf(stderr, "netload: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void many_files(void)
{
	struct rlimit r;

	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

/* --- the server --- */

static struct conn {
	char head[HEAD_MAX];
	size_t head_len, head_sent;
	long long left;		/* of the body it is sending; -1: it reads a request */
	int answering;
} *conns[FILES_MAX];

static void drop(int fd)
{
	free(conns[fd]);
	conns[fd] = NULL;
	close(fd);
}

/* 0, or -1 when the connection is over; EAGAIN is no end. */
static int send_answer(int fd, struct conn *c)
{
	while (c->answering) {
		const char *from = c->head_sent < c->head_len ? c->head + c->head_sent : chunk;
		size_t n = c->head_sent < c->head_len ? c->head_len - c->head_sent : CHUNK;
		ssize_t done;

		if (from == chunk && (long long)n > c->left)
			n = (size_t)c->left;
		if (!n) {
			c->answering = 0;
			c->head_len = c->head_sent = 0;
			return 0;
		}
		done = send(fd, from, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (done < 0)
			return errno == EAGAIN ? 0 : -1;
		if (from == chunk)
			c->left -= done;
		else
			c->head_sent += (size_t)done;
	}
	return 0;
}

/* "GET /BYTES ..." or "GET http://host:port/BYTES ..." */
static int read_request(int fd, struct conn *c)
{
	ssize_t n = recv(fd, c->head + c->head_len, HEAD_MAX - 1 - c->head_len, MSG_DONTWAIT);
	const char *path;

	if (n <= 0)
		return n < 0 && errno == EAGAIN ? 0 : -1;
	c->head_len += (size_t)n;
	c->head[c->head_len] = '\0';
	if (!strstr(c->head, "\r\n\r\n"))
		return c->head_len < HEAD_MAX - 1 ? 0 : -1;
	path = strchr(c->head, ' ');
	if (path && !strncmp(path, " http://", 8))
		path = strchr(path + 8, '/');
	else if (path)
		path++;
	if (!path)
		return -1;
	c->left = atoll(path + 1);
	c->head_len = (size_t)snprintf(c->head, HEAD_MAX, "HTTP/1.1 200 OK\r\nContent-Length: %lld\r\n\r\n", c->left);
	c->head_sent = 0;
	c->answering = 1;
	return send_answer(fd, c);
}

static void accept_all(int listener, int events)
{
	for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
		struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };
		int one = 1;

		if (fd >= FILES_MAX || !(conns[fd] = calloc(1, sizeof(**conns)))) {
			close(fd);
			continue;
		}
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		epoll_ctl(events, EPOLL_CTL_ADD, fd, &e);
	}
}

static void serve(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event e = { .events = EPOLLIN }, got[64];
	socklen_t len = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), events = epoll_create1(0);

	many_files();
	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(listener, 4096) < 0 ||
	    getsockname(listener, (struct sockaddr *)&a, &len) < 0)
		die("listen");
	e.data.fd = listener;
	epoll_ctl(events, EPOLL_CTL_ADD, listener, &e);
	e.data.fd = STDIN_FILENO;
	epoll_ctl(events, EPOLL_CTL_ADD, STDIN_FILENO, &e);
	printf("%u\n", ntohs(a.sin_port));
	fflush(stdout);
	for (;;) {
		int n = epoll_wait(events, got, 64, -1);

		for (int i = 0; i < n; i++) {
			int fd = got[i].data.fd;
			struct conn *c = fd < FILES_MAX ? conns[fd] : NULL;

			if (fd == STDIN_FILENO) {
				if (read(fd, chunk, 1) <= 0)
					return;
			} else if (fd == listener) {
				accept_all(listener, events);
			} else if ((c->answering ? send_answer : read_request)(fd, c) < 0) {
				drop(fd);
			} else {
				e = (struct epoll_event){ .events = c->answering ? EPOLLOUT : EPOLLIN, .data.fd = fd };
				epoll_ctl(events, EPOLL_CTL_MOD, fd, &e);
			}
		}
	}
}

/* --- the client --- */

struct target {
	const char *via, *host, *port;
	char proxy_host[256], proxy_port[16], user[256], password[256];
};

static int dial(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	int fd = -1, one = 1;

	if (getaddrinfo(host, port, &hints, &list))
		die("look up");
	for (const struct addrinfo *ai = list; ai && fd < 0; ai = ai->ai_next) {
		fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, ai->ai_addr, ai->ai_addrlen) < 0) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(list);
	if (fd < 0)
		die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

static void put(int fd, const void *data, size_t len)
{
	if (send(fd, data, len, MSG_NOSIGNAL) != (ssize_t)len)
		die("send");
}

static void need(int fd, void *data, size_t len)
{
	if (recv(fd, data, len, MSG_WAITALL) != (ssize_t)len)
		die("receive");
}

/* "scheme://[user:password@]host:port[/]" */
static void read_proxy(struct target *t, const char *variable)
{
	const char *url = getenv(variable), *at, *end;

	if (!url || !(url = strstr(url, "://")))
		die(variable);
	url += 3;
	at = strchr(url, '@');
	if (at && sscanf(url, "%255[^:@]:%255[^@]", t->user, t->password) < 1)
		die(variable);
	url = at ? at + 1 : url;
	end = strrchr(url, ':');
	if (!end)
		die(variable);
	snprintf(t->proxy_host, sizeof(t->proxy_host), "%.*s", (int)(end - url), url);
	snprintf(t->proxy_port, sizeof(t->proxy_port), "%.*s", (int)strspn(end + 1, "0123456789"), end + 1);
}

static void add_basic(const struct target *t, char *to, size_t size)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char plain[514], *at = to;
	size_t n = (size_t)snprintf(plain, sizeof(plain), "%s:%s", t->user, t->password);

	*to = '\0';
	if (!*t->user)
		return;
	at += snprintf(to, size, "Proxy-Authorization: Basic ");
	for (size_t i = 0; i < n; i += 3) {
		unsigned int v = (unsigned int)(unsigned char)plain[i] << 16;

		v |= i + 1 < n ? (unsigned int)(unsigned char)plain[i + 1] << 8 : 0;
		v |= i + 2 < n ? (unsigned int)(unsigned char)plain[i + 2] : 0;
		for (int k = 0; k < 4; k++)
			*at++ = i + (size_t)k <= n ? digits[v >> (18 - 6 * k) & 63] : '=';
	}
	memcpy(at, "\r\n", 3);
}

/* Read up to the empty line; what of the body came with it, in @ret_body. */
static size_t read_head(int fd, char *head, size_t size, const char **ret_body)
{
	size_t len = 0;

	for (;;) {
		ssize_t n = recv(fd, head + len, size - 1 - len, 0);
		const char *end;

		if (n <= 0)
			die("answer");
		len += (size_t)n;
		head[len] = '\0';
		end = strstr(head, "\r\n\r\n");
		if (end) {
			*ret_body = end + 4;
			return len;
		}
	}
}

static void ask_for_tunnel(int fd, const struct target *t)
{
	char text[2048], basic[1024];
	const char *body;

	add_basic(t, basic, sizeof(basic));
	put(fd, text, (size_t)snprintf(text, sizeof(text), "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n%s\r\n", t->host, t->port,
				       t->host, t->port, basic));
	read_head(fd, text, sizeof(text), &body);
	if (!strstr(text, " 200"))
		die(text);
}

static void socks(int fd, const struct target *t)
{
	unsigned char b[600] = { 5, 1, *t->user ? 2 : 0 };
	size_t n = strlen(t->host), u = strlen(t->user), p = strlen(t->password);
	unsigned int port = (unsigned int)atoi(t->port);

	put(fd, b, 3);
	need(fd, b, 2);
	if (b[1] == 2) {
		b[0] = 1;
		b[1] = (unsigned char)u;
		memcpy(b + 2, t->user, u);
		b[2 + u] = (unsigned char)p;
		memcpy(b + 3 + u, t->password, p);
		put(fd, b, 3 + u + p);
		need(fd, b, 2);
	}
	memcpy(b, "\5\1\0\3", 4);
	b[4] = (unsigned char)n;
	memcpy(b + 5, t->host, n);
	b[5 + n] = (unsigned char)(port >> 8);
	b[6 + n] = (unsigned char)port;
	put(fd, b, 7 + n);
	need(fd, b, 5);
	if (b[1])
		die("socks");
	need(fd, b + 5, (b[3] == 1 ? 4u : b[3] == 4 ? 16u : b[4] + 1u) + 1);
}

static int open_connection(const struct target *t)
{
	int fd;

	if (!strcmp(t->via, "direct"))
		return dial(t->host, t->port);
	fd = dial(t->proxy_host, t->proxy_port);
	if (!strcmp(t->via, "connect"))
		ask_for_tunnel(fd, t);
	else if (!strcmp(t->via, "socks"))
		socks(fd, t);
	return fd;
}

/* One request and all of its answer. */
static void fetch(int fd, const struct target *t, long long bytes)
{
	char text[HEAD_MAX], basic[1024] = "", place[512] = "";
	const char *body;
	long long left;
	size_t len;

	if (!strcmp(t->via, "http")) {
		add_basic(t, basic, sizeof(basic));
		snprintf(place, sizeof(place), "http://%s:%s", t->host, t->port);
	}
	put(fd, text, (size_t)snprintf(text, sizeof(text), "GET %s/%lld HTTP/1.1\r\nHost: %s:%s\r\n%s\r\n", place, bytes, t->host,
				       t->port, basic));
	len = read_head(fd, text, sizeof(text), &body);
	if (!strstr(text, " 200"))
		die(text);
	left = bytes - (long long)(len - (size_t)(body - text));
	while (left > 0) {
		ssize_t n = recv(fd, chunk, (size_t)(left < CHUNK ? left : CHUNK), 0);

		if (n <= 0)
			die("body");
		left -= n;
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void each(const struct target *t, long n, int anew)
{
	double *took = calloc((size_t)n, sizeof(*took)), start = now_us(), all;
	int fd = anew ? -1 : open_connection(t);

	for (long i = 0; i < n; i++) {
		double begin = now_us();

		if (anew)
			fd = open_connection(t);
		fetch(fd, t, SMALL);
		if (anew)
			close(fd);
		took[i] = now_us() - begin;
	}
	all = now_us() - start;
	qsort(took, (size_t)n, sizeof(*took), by_value);
	printf("%.0f %.0f %.0f\n", (double)n / all * 1e6, took[n / 2], took[n * 99 / 100]);
	free(took);
}

static void bulk(const struct target *t, long long bytes)
{
	int fd = open_connection(t);
	double start = now_us();

	fetch(fd, t, bytes);
	printf("%.0f\n", (double)bytes / (now_us() - start));
}

static void idle(const struct target *t, long n)
{
	many_files();
	for (long i = 0; i < n; i++)
		fetch(open_connection(t), t, SMALL);
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, chunk, CHUNK) > 0)
		;
}

static void dns(const char *host, long n)
{
	const struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned char q[300] = "\x12\x34\1\0\0\1\0\0\0\0\0";
	size_t at = 12;
	long sent = 0;
	double start;

	for (const char *p = host; *p; p += *p == '.') {
		size_t len = strcspn(p, ".");

		q[at++] = (unsigned char)len;
		memcpy(q + at, p, len);
		at += len;
		p += len;
	}
	memcpy(q + at, "\0\0\1\0\1", 5);
	at += 5;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		die("name server");
	start = now_us();
	for (long got = 0; got < n; got++) {
		while (sent < n && sent - got < UNDER_WAY) {
			put(fd, q, at);
			sent++;
		}
		if (recv(fd, chunk, CHUNK, 0) < 12 || (chunk[3] & 15) || !chunk[7])
			die("answer of the name server");
	}
	printf("%.0f\n", (double)n / (now_us() - start) * 1e6);
}

int main(int argc, char *argv[])
{
	struct target t = { .via = "direct" };

	if (argc == 2 && !strcmp(argv[1], "serve")) {
		serve();
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "dns")) {
		dns(argv[2], atol(argv[3]));
		return 0;
	}
	if (argc != 6) {
		fprintf(stderr, "netload: see the head of its source\n");
		return 2;
	}
	t.via = argv[2];
	t.host = argv[3];
	t.port = argv[4];
	if (strcmp(t.via, "direct"))
		read_proxy(&t, !strcmp(t.via, "socks") ? "ALL_PROXY" : "HTTP_PROXY");
	if (!strcmp(argv[1], "bulk"))
		bulk(&t, atoll(argv[5]));
	else if (!strcmp(argv[1], "idle"))
		idle(&t, atol(argv[5]));
	else
		each(&t, atol(argv[5]), !strcmp(argv[1], "connections"));
	return 0;
}
