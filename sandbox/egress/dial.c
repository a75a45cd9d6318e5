#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/own.h"
#include "sandbox/egress/dial.h"
#include "sandbox/egress/egress_internal.h"
#include "sandbox/egress/resolver.h"

enum { MAX_ADDRESSES = 8, HEAD_START_MS = 250 };

struct attempt {
	struct dial *dial;
	int fd;			/* -1: over */
	struct watch *watch;
};

struct dial {
	struct egress *eg;
	struct host host;
	uint16_t port;
	void (*fn)(void *cookie, const struct dial_result *r);
	void *cookie;
	struct look_up *look_up;
	struct watch *known;		/* instead of a look-up, where nothing must be asked */
	struct watch *deadline;
	struct watch *next_one;		/* the head start of the attempt before */
	struct ip ip[MAX_ADDRESSES];
	size_t n_ip;
	struct attempt attempt[MAX_ADDRESSES];
	size_t n_tried, n_open;
	enum dial_end failure;		/* of the attempt that failed last */
	const struct chain_proxy *via;	/* connected to in the host's place, or NULL */
	int is_hop;			/* and not asked for a tunnel */
	int trusted;			/* addresses that come now are the other proxy's */
	struct chain_shake *shake;
	int shaken_fd;			/* while it asks; else -1 */
	int asked;			/* for the tunnel: from now on failures are the host's */
	struct egress_verdict denied;
};

static const char *const words[] = {
	[DIAL_OK] = "is connected",
	[DIAL_DENIED] = "is denied",
	[DIAL_NO_NAME] = "cannot be looked up",
	[DIAL_REFUSED] = "refused the connection",
	[DIAL_UNREACHABLE] = "cannot be reached",
	[DIAL_TIMEOUT] = "did not answer in time",
	[DIAL_FAILED] = "cannot be connected to: out of resources",
	[DIAL_PROXY_DOWN] = "is reached through another proxy, which does not answer",
	[DIAL_PROXY_REFUSED] = "is reached through another proxy, which refused",
};
static_assert(ARRAY_LEN(words) == DIAL_END_NUM, "words for each end");

const char *dial_end_words(enum dial_end e)
{
	assert(e < DIAL_END_NUM);
	return words[e];
}

/* --- ends --- */

static void drop_attempt(struct attempt *a)
{
	if (a->fd < 0)
		return;
	watch_end(a->watch);
	close(a->fd);
	a->watch = NULL;
	a->fd = -1;
	a->dial->n_open--;
}

void dial_cancel(struct dial *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n_tried; i++)
		drop_attempt(&d->attempt[i]);
	chain_shake_cancel(d->shake);
	if (d->shaken_fd >= 0)
		close(d->shaken_fd);
	look_up_cancel(d->look_up);
	watch_end(d->known);
	watch_end(d->deadline);
	watch_end(d->next_one);
	free(d);
}

static void finish(struct dial *d, enum dial_end end, int fd)
{
	void (*fn)(void *cookie, const struct dial_result *r) = d->fn;
	struct egress_verdict verdict = d->denied;
	int is_proxys = d->via && !d->asked && end != DIAL_OK && end != DIAL_DENIED && end != DIAL_FAILED;
	const struct dial_result r = { .end = is_proxys ? DIAL_PROXY_DOWN : end, .fd = fd, .verdict = &verdict };
	void *cookie = d->cookie;

	dial_cancel(d);
	fn(cookie, &r);
}

static void on_deadline(void *cookie)
{
	struct dial *d = cookie;

	d->deadline = NULL;
	finish(d, d->look_up ? DIAL_NO_NAME : DIAL_TIMEOUT, -1);
}

static enum dial_end end_of(int error)
{
	switch (error) {
	case ECONNREFUSED:
	case ECONNRESET:
		return DIAL_REFUSED;
	case ETIMEDOUT:
		return DIAL_TIMEOUT;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ENOBUFS:
		return DIAL_FAILED;
	default:
		return DIAL_UNREACHABLE;
	}
}

/* --- attempts --- */

static void try_next(struct dial *d);
static void arm(struct dial *d);

/* A connection to oneself: the kernel picked the port that was dialled, and nobody listens there. */
static int met_itself(int fd)
{
	struct sockaddr_storage a = { 0 }, b = { 0 };
	socklen_t a_len = sizeof(a), b_len = sizeof(b);
	struct ip ip_a, ip_b;

	return getsockname(fd, (struct sockaddr *)&a, &a_len) == 0 &&
	       getpeername(fd, (struct sockaddr *)&b, &b_len) == 0 &&
	       ip_from_sockaddr((struct sockaddr *)&a, &ip_a) == 0 &&
	       ip_from_sockaddr((struct sockaddr *)&b, &ip_b) == 0 && ip_equal(&ip_a, &ip_b) &&
	       ((struct sockaddr_in *)&a)->sin_port == ((struct sockaddr_in *)&b)->sin_port;
}

static void on_shaken(void *cookie, enum chain_end end)
{
	static const enum dial_end ends[] = {
		[CHAIN_OK] = DIAL_OK, [CHAIN_REFUSED] = DIAL_PROXY_REFUSED, [CHAIN_BROKE] = DIAL_PROXY_DOWN,
	};
	struct dial *d = cookie;

	d->shake = NULL;
	finish(d, ends[end], end == CHAIN_OK ? fd_take(&d->shaken_fd) : -1);
}

/* The other proxy is connected: ask it for a tunnel. */
static void ask_for_tunnel(struct dial *d, int fd)
{
	for (size_t i = 0; i < d->n_tried; i++)
		drop_attempt(&d->attempt[i]);
	watch_end(d->next_one);
	d->next_one = NULL;
	d->shaken_fd = fd;
	d->asked = 1;
	arm(d);
	d->shake = chain_shake_start(d->eg->loop, fd, d->via, &d->host, d->port, on_shaken, d);
	if (!d->shake || !d->deadline)
		finish(d, DIAL_FAILED, -1);
}

static void on_connected(void *cookie, int fd, unsigned int ready)
{
	struct attempt *a = cookie;
	struct dial *d = a->dial;
	socklen_t len = sizeof(int);
	int error = 0;

	(void)ready;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (!error && met_itself(fd))
		error = ECONNREFUSED;
	if (error) {
		d->failure = end_of(error);
		drop_attempt(a);
		try_next(d);
		return;
	}
	watch_end(a->watch);
	a->fd = -1;
	d->n_open--;
	if (d->via && !d->is_hop)
		ask_for_tunnel(d, fd);
	else
		finish(d, DIAL_OK, fd);
}

/* Where attempt @i leads. */
static socklen_t target(const struct dial *d, size_t i, struct sockaddr_storage *ret)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	if (!d->via || !d->via->path)
		return ip_to_sockaddr(&d->ip[i], d->via ? d->via->port : d->port, ret);
	strncpy(un.sun_path, d->via->path, sizeof(un.sun_path) - 1);
	memcpy(ret, &un, sizeof(un));
	return sizeof(un);
}

/* 0 when @a is under way, else the reason why not. */
static int start_attempt(struct dial *d, struct attempt *a)
{
	struct sockaddr_storage ss;
	socklen_t len = target(d, (size_t)(a - d->attempt), &ss);
	int one = 1;
	OWN(fd) int fd = socket(ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	if (ss.ss_family != AF_UNIX) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	}
	if (connect(fd, (struct sockaddr *)&ss, len) < 0 && errno != EINPROGRESS)
		return errno;
	/* Also when it is connected already: the callback comes from the loop. */
	a->watch = loop_fd(d->eg->loop, fd, LOOP_WRITE, on_connected, a);
	if (!a->watch)
		return ENOMEM;
	a->fd = fd_take(&fd);
	d->n_open++;
	return 0;
}

static void on_head_start_over(void *cookie)
{
	struct dial *d = cookie;

	d->next_one = NULL;
	try_next(d);
}

/* Begin with the next address that can be begun with. Ends the dial when none is left or under way. */
static void try_next(struct dial *d)
{
	watch_end(d->next_one);
	d->next_one = NULL;
	while (d->n_tried < d->n_ip) {
		struct attempt *a = &d->attempt[d->n_tried];
		int error;

		*a = (struct attempt){ .dial = d, .fd = -1 };
		error = start_attempt(d, a);
		d->n_tried++;
		if (!error)
			break;
		d->failure = end_of(error);
	}
	if (!d->n_open) {
		finish(d, d->failure, -1);
		return;
	}
	if (d->n_tried < d->n_ip)
		d->next_one = loop_timer(d->eg->loop, HEAD_START_MS, 0, on_head_start_over, d);
}

/* --- addresses --- */

/*
 * Is @ip an address of this host? The kernel knows, and always the newest
 * state: what it would send from to reach one of its own is that address.
 * Nothing is sent.
 */
static int is_own(const struct ip *ip)
{
	struct sockaddr_storage ss;
	socklen_t len = ip_to_sockaddr(ip, 53, &ss);
	OWN(fd) int fd = socket(ip->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ip from;

	if (fd < 0 || connect(fd, (struct sockaddr *)&ss, len) < 0)
		return 0;
	len = sizeof(ss);
	return getsockname(fd, (struct sockaddr *)&ss, &len) == 0 &&
	       ip_from_sockaddr((struct sockaddr *)&ss, &from) == 0 && ip_equal(&from, ip);
}

static void consider(struct dial *d, const struct ip *ip)
{
	struct egress_verdict v;

	for (size_t i = 0; i < d->n_ip; i++)
		if (ip_equal(&d->ip[i], ip))
			return;
	if (d->trusted)
		v = (struct egress_verdict){ .allowed = 1 };
	else
		policy_judge_address(&d->eg->cfg.policy, &d->host, ip, d->port, is_own(ip), &v);
	if (!v.allowed)
		d->denied = v;
	else if (d->n_ip < MAX_ADDRESSES)
		d->ip[d->n_ip++] = *ip;
}

/* Let the families take turns, so that one that leads nowhere costs a head start only. */
static void interleave(struct dial *d)
{
	for (size_t i = 1; i < d->n_ip; i++) {
		size_t j = i;

		while (j < d->n_ip && d->ip[j].family == d->ip[i - 1].family)
			j++;
		if (j == d->n_ip)
			return;
		for (; j > i; j--) {
			struct ip swap = d->ip[j];

			d->ip[j] = d->ip[j - 1];
			d->ip[j - 1] = swap;
		}
	}
}

static void arm(struct dial *d)
{
	watch_end(d->deadline);
	d->deadline = loop_timer(d->eg->loop, (uint64_t)d->eg->cfg.limits.connect_ms, 0, on_deadline, d);
}

/* All addresses are known: connect, or say why not. */
static void connect_all(struct dial *d)
{
	if (!d->n_ip) {
		finish(d, d->denied.why ? DIAL_DENIED : DIAL_NO_NAME, -1);
		return;
	}
	interleave(d);
	arm(d);
	try_next(d);
}

static void on_looked_up(void *cookie, const struct ip *list, size_t n)
{
	struct dial *d = cookie;

	d->look_up = NULL;
	for (size_t i = 0; i < n; i++)
		consider(d, &list[i]);
	connect_all(d);
}

static void on_known(void *cookie)
{
	struct dial *d = cookie;

	d->known = NULL;
	connect_all(d);
}

/* Consider what is known of @h without asking. 0 if nothing is. */
static int consider_known(struct dial *d, const struct host *h)
{
	const struct host_entry *mapped = policy_mapped(&d->eg->cfg.policy, h);

	if (h->is_address)
		consider(d, &h->ip);
	for (size_t i = 0; mapped && i < mapped->n; i++)
		consider(d, &mapped->ip[i]);
	return mapped || h->is_address;
}

/*
 * From here on it is the other proxy that is looked for. Whoever wrote the
 * configuration put it there, so no rule is asked about its address.
 */
static int turn_to_proxy(struct dial *d)
{
	/* Of a host whose addresses are all denied the other proxy is not even asked. */
	if (consider_known(d, &d->host) && !d->n_ip)
		return 1;
	d->n_ip = 0;
	d->trusted = 1;
	if (!d->via->path)
		return consider_known(d, &d->via->host);
	d->n_ip = 1;	/* target() knows */
	return 1;
}

/* The addresses come from the loop, at once where nothing must be asked. 0, or -1 when out of memory. */
static int look_up(struct dial *d)
{
	int is_known = d->via ? turn_to_proxy(d) : consider_known(d, &d->host);
	const struct host *h = d->trusted ? &d->via->host : &d->host;

	if (is_known)
		d->known = loop_timer(d->eg->loop, 0, 0, on_known, d);
	else
		d->look_up = resolver_ask(d->eg->resolver, h->text, on_looked_up, d);
	return d->known || d->look_up ? 0 : -1;
}

static struct dial *new_dial(struct egress *eg, uint16_t port,
			     void (*fn)(void *cookie, const struct dial_result *r), void *cookie)
{
	struct dial *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->eg = eg;
	d->port = port;
	d->fn = fn;
	d->cookie = cookie;
	d->failure = DIAL_UNREACHABLE;
	d->shaken_fd = -1;
	arm(d);
	return d;
}

static struct dial *start_dial(struct egress *eg, const struct host *h, uint16_t port, int is_hop,
			       void (*fn)(void *cookie, const struct dial_result *r), void *cookie)
{
	struct dial *d = new_dial(eg, port, fn, cookie);

	if (!d)
		return NULL;
	d->host = *h;
	d->via = chain_route(&eg->cfg.chain, h, port);
	d->is_hop = is_hop;
	if (!d->deadline || look_up(d) < 0) {
		dial_cancel(d);
		return NULL;
	}
	return d;
}

struct dial *dial_start(struct egress *eg, const struct host *h, uint16_t port,
			void (*fn)(void *cookie, const struct dial_result *r), void *cookie)
{
	return start_dial(eg, h, port, 0, fn, cookie);
}

struct dial *dial_start_hop(struct egress *eg, const struct host *h, uint16_t port,
			    void (*fn)(void *cookie, const struct dial_result *r), void *cookie)
{
	return start_dial(eg, h, port, 1, fn, cookie);
}

struct dial *dial_start_loopback(struct egress *eg, uint16_t port,
				 void (*fn)(void *cookie, const struct dial_result *r), void *cookie)
{
	static const struct ip loopback[] = { { AF_INET, { 127, 0, 0, 1 } }, { AF_INET6, { [15] = 1 } } };
	struct dial *d = new_dial(eg, port, fn, cookie);

	if (!d)
		return NULL;
	memcpy(d->ip, loopback, sizeof(loopback));
	d->n_ip = ARRAY_LEN(loopback);
	d->known = loop_timer(eg->loop, 0, 0, on_known, d);
	if (!d->deadline || !d->known) {
		dial_cancel(d);
		return NULL;
	}
	return d;
}
