#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "sandbox/egress/dns_stub.h"
#include "sandbox/egress/egress_internal.h"
#include "sandbox/egress/stream.h"

enum {
	TTL_S = 5,		/* a name keeps its address; what is refused may be asked for again at once */
	TURN_QUERIES = 64,
	TOLD_MAX = 4096,	/* then all is forgotten, and told again */
	TCP_OUT_MAX = 64 << 10,
	LENGTH_BYTES = 2,	/* in front of each message over TCP */
};

/* --- what to answer --- */

/* RFC 6761: it never leaves the machine. */
static int is_localhost(const char *name)
{
	const char *dot = strrchr(name, '.');

	return !strcmp(dot ? dot + 1 : name, "localhost");
}

static int wants(const struct dns_query *q, enum dns_type type)
{
	return q->class == DNS_IN && (q->type == type || q->type == DNS_ANY);
}

static void add_address(const struct dns_query *q, const struct ip *ip, struct dns_reply *r)
{
	if (wants(q, ip->family == AF_INET ? DNS_A : DNS_AAAA))
		r->ip[r->n_ip++] = *ip;
}

static void answer_localhost(const struct dns_query *q, struct dns_reply *r)
{
	const struct ip v4 = { .family = AF_INET, .b = { 127, 0, 0, 1 } };
	const struct ip v6 = { .family = AF_INET6, .b = { [15] = 1 } };

	add_address(q, &v4, r);
	add_address(q, &v6, r);
}

static void answer_pool(const struct egress *eg, const struct dns_query *q, uint32_t number, struct dns_reply *r)
{
	static const int families[] = { AF_INET, AF_INET6 };

	for (size_t i = 0; i < (eg->dns.has_v6 ? 2 : 1); i++) {
		struct ip ip;

		pool_address(number, families[i], &ip);
		add_address(q, &ip, r);
	}
}

/* 1 if this name was not told of yet. */
static int is_news(struct pool *told, const char *name)
{
	uint32_t number;

	if (pool_find(told, name, &number) == 0)
		return 0;
	if (told->n >= TOLD_MAX)
		pool_done(told);
	pool_add(told, name, &number);	/* without memory it is told twice */
	return 1;
}

/* @h: NULL if the name is none that a host can have. @line: the reason for the client. */
static void refuse(struct egress *eg, const struct dns_query *q, const struct host *h,
		   const struct egress_verdict *v, uint16_t peer_port, struct buf *line, struct dns_reply *r)
{
	struct destination to = { .protocol = "dns", .action = "network-dns" };

	if (h)
		to.host = *h;
	snprintf(to.text, sizeof(to.text), "%.*s", (int)sizeof(to.text) - 1, q->name[0] ? q->name : ".");
	if (is_news(&eg->dns.told, q->name))
		report_violation(&eg->report, &to, v, peer_port);
	refusal_line(&to, v, line);
	r->rcode = q->name[0] ? DNS_NXDOMAIN : DNS_REFUSED;
	r->why = line->data;
}

/* A name that may be looked up. */
static void admit(struct egress *eg, const struct dns_query *q, const struct host *h, uint16_t peer_port,
		  struct buf *line, struct dns_reply *r)
{
	struct egress_verdict v;
	uint32_t number;

	if (pool_add(&eg->pool, h->text, &number) == 0) {
		answer_pool(eg, q, number, r);
		return;
	}
	v = (struct egress_verdict){ .why = REFUSAL_NO_RULE, .rule = "dns-names" };
	snprintf(v.reason, sizeof(v.reason), "this run has asked for too many names (%d)", POOL_MAX_NAMES);
	refuse(eg, q, h, &v, peer_port, line, r);
	r->rcode = DNS_SERVFAIL;
}

/* "Who is 198.18.0.7?" Of other addresses nothing is known, and who may be connected to may be asked for. */
static void answer_reverse(struct egress *eg, const struct dns_query *q, const struct ip *ip,
			   uint16_t peer_port, struct buf *line, struct dns_reply *r)
{
	struct egress_verdict v;
	struct host h;

	host_from_ip(ip, &h);
	r->ptr = wants(q, DNS_PTR) ? pool_name(&eg->pool, ip) : NULL;
	if (!r->ptr && wants(q, DNS_PTR) && (!strcmp(h.text, "127.0.0.1") || !strcmp(h.text, "::1")))
		r->ptr = "localhost";
	if (r->ptr)
		return;
	if (pool_has(ip) || address_class(ip) == ADDRESS_LOOPBACK) {
		r->rcode = DNS_NXDOMAIN;
		return;
	}
	policy_judge_name(&eg->cfg.policy, &h, &v);
	if (v.allowed)
		r->rcode = DNS_NXDOMAIN;
	else
		refuse(eg, q, &h, &v, peer_port, line, r);
}

static void answer(struct egress *eg, const struct dns_query *q, uint16_t peer_port, struct buf *line,
		   struct dns_reply *r)
{
	struct egress_verdict v;
	uint32_t number;
	const char *why;
	struct host h;
	struct ip ip;

	/* Rules do not change while a run lives. */
	if (pool_find(&eg->pool, q->name, &number) == 0) {
		answer_pool(eg, q, number, r);
		return;
	}

	if (is_localhost(q->name)) {
		answer_localhost(q, r);
		return;
	}
	if (dns_reverse(q->name, &ip) == 0) {
		answer_reverse(eg, q, &ip, peer_port, line, r);
		return;
	}
	if (host_parse(q->name, strlen(q->name), &h, &why) < 0 || h.is_address) {
		policy_malformed(q->name[0] ? "no host can have this name" : "the root is no host", &v);
		refuse(eg, q, NULL, &v, peer_port, line, r);
		return;
	}
	policy_judge_name(&eg->cfg.policy, &h, &v);
	if (v.allowed)
		admit(eg, q, &h, peer_port, line, r);
	else
		refuse(eg, q, &h, &v, peer_port, line, r);
}

size_t dns_stub_answer(struct egress *eg, const void *query, size_t len, uint16_t peer_port,
		       uint8_t ret[DNS_ANSWER_MAX])
{
	OWN(buf) struct buf line = { 0 };
	struct dns_reply r = { .ttl_s = TTL_S };
	struct dns_query q;

	if (dns_parse(query, len, &q) < 0)
		return 0;
	if (q.edns_version)
		r.rcode = DNS_BADVERS;
	else
		answer(eg, &q, peer_port, &line, &r);
	return dns_write(&q, &r, ret);
}

/* --- UDP --- */

static void on_datagram(void *cookie, int fd, unsigned int ready)
{
	struct egress *eg = cookie;

	(void)ready;
	for (int i = 0; i < TURN_QUERIES; i++) {
		uint8_t query[DNS_QUERY_MAX], reply[DNS_ANSWER_MAX];
		struct sockaddr_storage from = { 0 };
		socklen_t from_len = sizeof(from);
		ssize_t n = recvfrom(fd, query, sizeof(query), MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)&from,
				     &from_len);
		size_t len;

		if (n < 0)
			return;
		len = n <= DNS_QUERY_MAX ? dns_stub_answer(eg, query, (size_t)n, sockaddr_port(&from), reply) : 0;
		/* Who does not take the answer will ask again. */
		if (len)
			sendto(fd, reply, len, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&from, from_len);
	}
}

int dns_stub_start(struct egress *eg, int fd, int has_v6, struct err *err)
{
	int flags = fcntl(fd, F_GETFL), type = 0;
	socklen_t len = sizeof(type);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != SOCK_DGRAM || flags < 0)
		return err_set(err, ERR_INPUT, 0, "egress: the descriptor for DNS is no datagram socket");
	eg->dns = (struct dns_stub){ .fd = fd, .has_v6 = has_v6 };
	if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0)
		eg->dns.watch = loop_fd(eg->loop, fd, LOOP_READ, on_datagram, eg);
	return eg->dns.watch ? 0 : err_set(err, ERR_SYS, errno, "egress: cannot watch the socket for DNS");
}

void dns_stub_stop(struct egress *eg)
{
	watch_end(eg->dns.watch);
	pool_done(&eg->dns.told);
	eg->dns = (struct dns_stub){ .fd = -1 };
}

/* --- TCP: the same messages, each with its length in front --- */

struct dns_conn {
	struct client client;
	struct egress *eg;
	uint16_t peer_port;
	struct stream down;
};

static void conn_free(struct dns_conn *c)
{
	client_remove(c->eg, &c->client);
	stream_close(&c->down);
	free(c);
}

static void expire(struct client *client)
{
	conn_free((struct dns_conn *)client);
}

/* Answer the next whole query. 1: it did; 0: there is none; -1: this is no DNS. */
static int step(struct dns_conn *c)
{
	const struct buf *in = &c->down.in;
	uint8_t reply[LENGTH_BYTES + DNS_ANSWER_MAX];
	size_t len, n;

	if (in->len < LENGTH_BYTES || c->down.out.len >= TCP_OUT_MAX)
		return 0;
	len = (size_t)((uint8_t)in->data[0] << 8 | (uint8_t)in->data[1]);
	if (len > DNS_QUERY_MAX)
		return -1;
	if (in->len < LENGTH_BYTES + len)
		return 0;
	n = dns_stub_answer(c->eg, in->data + LENGTH_BYTES, len, c->peer_port, reply + LENGTH_BYTES);
	if (!n)
		return -1;
	reply[0] = (uint8_t)(n >> 8);
	reply[1] = (uint8_t)n;
	buf_eat(&c->down.in, LENGTH_BYTES + len);
	return buf_add(&c->down.out, reply, LENGTH_BYTES + n) < 0 ? -1 : 1;
}

static void on_down(void *cookie, int fd, unsigned int ready)
{
	struct dns_conn *c = cookie;
	int s;

	(void)fd;
	if (ready & (LOOP_READ | LOOP_HUP))
		stream_fill(&c->down, 2 * (LENGTH_BYTES + DNS_QUERY_MAX));
	do {
		s = step(c);
		if (s > 0)
			client_touch(&c->client, c->eg->cfg.limits.head_ms);
	} while (s > 0);
	stream_flush(&c->down);
	if (s < 0 || c->down.in_broke || c->down.out_broke || (c->down.ended && !c->down.out.len) ||
	    stream_want(&c->down, c->down.ended || c->down.out.len >= TCP_OUT_MAX ? 0 : LOOP_READ) < 0)
		conn_free(c);
}

void dns_stub_accept(struct egress *eg, int fd, uint16_t peer_port)
{
	struct dns_conn *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return;
	}
	c->eg = eg;
	c->peer_port = peer_port;
	c->client.expire = expire;
	client_add(eg, &c->client, eg->cfg.limits.head_ms);
	if (stream_open(&c->down, eg->loop, fd, on_down, c) < 0) {
		conn_free(c);
		return;
	}
	on_down(c, fd, LOOP_READ);
}
