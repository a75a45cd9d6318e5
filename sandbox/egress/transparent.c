#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/own.h"
#include "sandbox/egress/dial.h"
#include "sandbox/egress/egress_internal.h"
#include "sandbox/egress/knock.h"
#include "sandbox/egress/transparent.h"

enum {
	CALLER_WAIT_MS = 5000,
	LET_IN_MS = 5000,	/* until it is connected: at once, unless its program went away */
	TURN_KNOCKS = 64,
	SSH_PORT = 22,
};

enum state { UNKNOWN, DIALLING, LET_IN, ACCEPTED };

struct trans_conn {
	struct client client;
	struct egress *eg;
	enum state state;
	struct knock knock;
	struct trans_conn *next, **link;	/* link NULL: accepted */
	struct destination to;
	struct dial *dial;
	int is_answered;	/* its program knows already how it ended */
	/* what becomes of it when it is connected: one of these */
	int up_fd;		/* the host outside, or -1 */
	int is_inspected;
	struct buf words;	/* for an ssh client that is refused */
};

static int raw_of(const struct trans_conn *c)
{
	return c->eg->transparent.raw[c->knock.to.family == AF_INET6];
}

/* --- ends --- */

static void leave_outside(struct trans_conn *c)
{
	if (!c->link)
		return;
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->link = NULL;
}

static void conn_free(struct trans_conn *c)
{
	client_remove(c->eg, &c->client);
	leave_outside(c);
	dial_cancel(c->dial);
	if (c->state < LET_IN && !c->is_answered)
		knock_refuse(raw_of(c), &c->knock);
	if (c->up_fd >= 0)
		close(c->up_fd);
	buf_done(&c->words);
	free(c);
}

/* The kernel connects it, and transparent_accept() goes on. */
static void let_in(struct trans_conn *c)
{
	c->state = LET_IN;
	client_touch(&c->client, LET_IN_MS);
	knock_let_in(raw_of(c), &c->knock);
}

/* An ssh client shows a reason that comes as ssh; everybody else is refused the connection. */
static void refuse(struct trans_conn *c, const struct egress_verdict *v)
{
	report_violation(&c->eg->report, &c->to, v, c->knock.port);
	if (c->to.port == SSH_PORT) {
		refusal_ssh(&c->to, v, &c->words);
		let_in(c);
	} else {
		conn_free(c);
	}
}

/* 0, or -1 with @ret_why if @ip is no place. */
static int host_of(struct egress *eg, const struct ip *ip, struct host *ret, const char **ret_why)
{
	const char *name = pool_name(&eg->pool, ip);

	*ret_why = "address of the pool that stands for no name";
	if (name)
		return host_parse(name, strlen(name), ret, ret_why);
	if (pool_has(ip))
		return -1;
	host_from_ip(ip, ret);
	return 0;
}

static void refuse_malformed(struct trans_conn *c, const struct ip *ip, uint16_t port, const char *why)
{
	struct egress_verdict v;
	const char *no_name;
	struct host h;

	if (host_of(c->eg, ip, &h, &no_name) < 0)
		host_from_ip(ip, &h);
	c->to = (struct destination){ .protocol = "transparent", .port = port };
	host_show(&h, port, c->to.text);
	policy_malformed(why, &v);
	refuse(c, &v);
}

static void expire(struct client *client)
{
	struct trans_conn *c = (struct trans_conn *)client;

	/* Before its time the helper is ending. */
	if (c->state == UNKNOWN && client->deadline_ms <= clock_mono_ms())
		refuse_malformed(c, &c->knock.to, 0, "nobody said where this connection was meant to go");
	else
		conn_free(c);
}

void transparent_name(const struct egress *eg, struct host *h)
{
	const char *name = h->is_address ? pool_name(&eg->pool, &h->ip) : NULL, *why;

	if (name)
		host_parse(name, strlen(name), h, &why);
}

/* --- the way out --- */

/* Its record has it in any case, since nobody else can say what came of it. */
static void give_up(struct trans_conn *c, enum dial_end end)
{
	struct link_info link;

	link_record(&c->to, &link);
	link.error = dial_end_words(end);
	link_end(c->eg, &link);
	if (end != DIAL_REFUSED) {
		knock_unreachable(raw_of(c), &c->knock);
		c->is_answered = 1;
	}
	conn_free(c);
}

static void on_dialled(void *cookie, const struct dial_result *r)
{
	struct trans_conn *c = cookie;

	c->dial = NULL;
	if (r->end == DIAL_DENIED) {
		refuse(c, r->verdict);
	} else if (r->end == DIAL_OK) {
		c->up_fd = r->fd;
		let_in(c);
	} else {
		give_up(c, r->end);
	}
}

/* Now it is known where @c was meant to go. May free it. */
static void proceed(struct trans_conn *c, const struct ip *ip, uint16_t port)
{
	struct egress_verdict v;
	const char *why;
	struct host h;

	if (host_of(c->eg, ip, &h, &why) < 0) {
		refuse_malformed(c, ip, port, why);
		return;
	}
	c->to = (struct destination){ .protocol = "transparent", .host = h, .port = port, .peer_port = c->knock.port };
	host_show(&h, port, c->to.text);
	policy_judge(&c->eg->cfg.policy, &h, port, &v);
	if (!v.allowed) {
		refuse(c, &v);
		return;
	}
	if (tls_config_looks(&c->eg->cfg.tls, &h, port)) {
		c->is_inspected = 1;
		let_in(c);
		return;
	}
	c->state = DIALLING;
	client_touch(&c->client, c->eg->cfg.limits.exchange_ms);
	c->dial = dial_start(c->eg, &h, port, on_dialled, c);
	if (!c->dial)
		conn_free(c);
}

/* --- who meant to go where --- */

static int is_of(const struct caller *caller, const struct ip *at, uint16_t port)
{
	return caller->port == port && ip_equal(&caller->at, at);
}

/* Drop what is too old, and the oldest when there is no room. */
static void tidy(struct transparent *t, int64_t now)
{
	size_t old = 0;

	while (old < t->n_callers && (t->caller[old].until_ms <= now || t->n_callers - old >= CALLERS_KEPT))
		old++;
	t->n_callers -= old;
	if (old)
		memmove(t->caller, t->caller + old, t->n_callers * sizeof(*t->caller));
}

/* 1 and @ret, which is forgotten here. The newest counts: the one before never got through. */
static int take_caller(struct transparent *t, const struct ip *at, uint16_t port, struct caller *ret)
{
	tidy(t, clock_mono_ms());
	for (size_t i = t->n_callers; i-- > 0;) {
		if (!is_of(&t->caller[i], at, port))
			continue;
		*ret = t->caller[i];
		t->n_callers--;
		memmove(t->caller + i, t->caller + i + 1, (t->n_callers - i) * sizeof(*t->caller));
		return 1;
	}
	return 0;
}

static void keep_caller(struct transparent *t, const struct caller *caller)
{
	struct caller before;

	take_caller(t, &caller->at, caller->port, &before);
	if (!t->caller)
		t->caller = calloc(CALLERS_KEPT, sizeof(*t->caller));
	/* Without memory the connection is closed when its time is up. */
	if (t->caller)
		t->caller[t->n_callers++] = *caller;
}

static int read_port(const struct json *msg, const char *key, uint16_t *ret)
{
	int64_t v;

	/* A program may well ask for port 0, which no rule allows. */
	if (json_int(json_get(msg, key), &v) < 0 || v < 0 || v > 65535)
		return -1;
	*ret = (uint16_t)v;
	return 0;
}

/* Where a connection that was meant for @ip arrives. */
static struct ip arrival(const struct ip *ip)
{
	if (pool_has(ip))
		return *ip;
	return ip->family == AF_INET ? (struct ip){ .family = AF_INET, .b = { 127, 0, 0, 1 } } :
				       (struct ip){ .family = AF_INET6, .b = { [15] = 1 } };
}

static int read_caller(const struct json *msg, struct caller *ret)
{
	const char *address = json_str(json_get(msg, "address"));
	struct caller c = { .until_ms = clock_mono_ms() + CALLER_WAIT_MS };

	if (!address || ip_parse(address, &c.ip) < 0 || read_port(msg, "port", &c.port) < 0 ||
	    read_port(msg, "destPort", &c.to_port) < 0)
		return -1;
	c.at = arrival(&c.ip);
	*ret = c;
	return 0;
}

int transparent_heard(struct egress *eg, const struct json *msg, int *fd)
{
	struct caller caller;

	(void)fd;
	if (read_caller(msg, &caller) < 0)
		return -1;
	for (struct trans_conn *c = eg->transparent.outside; c; c = c->next) {
		if (c->state != UNKNOWN || !is_of(&caller, &c->knock.to, c->knock.port))
			continue;
		proceed(c, &caller.ip, caller.to_port);
		return 0;
	}
	keep_caller(&eg->transparent, &caller);
	return 0;
}

/* --- who knocks --- */

static struct trans_conn *find_outside(const struct egress *eg, const struct ip *to, const struct ip *from, uint16_t port)
{
	struct trans_conn *c = eg->transparent.outside;

	while (c && (c->knock.port != port || !ip_equal(&c->knock.to, to) || !ip_equal(&c->knock.from, from)))
		c = c->next;
	return c;
}

static void greet(struct egress *eg, const struct knock *k)
{
	struct trans_conn *c = calloc(1, sizeof(*c));
	struct caller caller;

	if (!c)		/* it will knock again */
		return;
	c->eg = eg;
	c->knock = *k;
	c->up_fd = -1;
	c->client.expire = expire;
	client_add(eg, &c->client, CALLER_WAIT_MS);
	c->next = eg->transparent.outside;
	c->link = &eg->transparent.outside;
	if (c->next)
		c->next->link = &c->next;
	*c->link = c;
	if (take_caller(&eg->transparent, &k->to, k->port, &caller))
		proceed(c, &caller.ip, caller.to_port);
}

/* The first time, or again: a kernel that has no answer asks every second. */
static void on_knock(struct egress *eg, const struct knock *k)
{
	struct trans_conn *c = find_outside(eg, &k->to, &k->from, k->port);

	if (c && c->knock.seq != k->seq) {	/* another connection from the same port: the one before was given up */
		c->is_answered = 1;
		conn_free(c);
		c = NULL;
	}
	if (c && c->state == LET_IN)
		knock_let_in(raw_of(c), &c->knock);
	else if (!c && eg->n_clients < eg->cfg.limits.max_clients)
		greet(eg, k);
}

static void hear(struct egress *eg, int family)
{
	int raw = eg->transparent.raw[family == AF_INET6], r = 0;
	struct knock k;

	for (int i = 0; r >= 0 && i < TURN_KNOCKS; i++) {
		r = knock_read(raw, family, &k);
		if (r > 0)
			on_knock(eg, &k);
	}
}

static void on_raw4(void *cookie, int fd, unsigned int ready)
{
	(void)fd;
	(void)ready;
	hear(cookie, AF_INET);
}

static void on_raw6(void *cookie, int fd, unsigned int ready)
{
	(void)fd;
	(void)ready;
	hear(cookie, AF_INET6);
}

int transparent_start(struct egress *eg, int raw, int family)
{
	int i = family == AF_INET6, type = 0;
	socklen_t len = sizeof(type);

	if (getsockopt(raw, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != SOCK_RAW)
		return -1;
	eg->transparent.raw[i] = raw;
	eg->transparent.watch[i] = loop_fd(eg->loop, raw, LOOP_READ, i ? on_raw6 : on_raw4, eg);
	return eg->transparent.watch[i] ? 0 : -1;
}

void transparent_stop(struct egress *eg)
{
	for (int i = 0; i < 2; i++) {
		watch_end(eg->transparent.watch[i]);
		eg->transparent.watch[i] = NULL;
	}
}

/* --- who was let in --- */

/* Takes @fd and @c. */
static void serve(struct trans_conn *c, int fd)
{
	struct buf nothing[2] = { { 0 }, { 0 } };
	struct link_info link;

	leave_outside(c);
	c->state = ACCEPTED;
	if (c->words.len) {
		linger_start(c->eg, fd, &c->words);
	} else if (c->is_inspected) {
		http_inspect_start(c->eg, fd, c->knock.port, &c->to, &nothing[0], &nothing[1]);
	} else {
		link_begin(c->eg, &c->to, &link);
		tunnel_start_to(c->eg, fd, fd_take(&c->up_fd), &nothing[0], &nothing[1], &link, &c->to, c->knock.port);
	}
	conn_free(c);
}

void transparent_accept(struct egress *eg, int fd, uint16_t peer_port)
{
	struct sockaddr_storage here = { 0 }, there = { 0 };
	socklen_t here_len = sizeof(here), there_len = sizeof(there);
	struct trans_conn *c = NULL;
	struct ip to, from;
	int unused = 0;

	if (getsockname(fd, (struct sockaddr *)&here, &here_len) == 0 && ip_from_sockaddr((struct sockaddr *)&here, &to) == 0 &&
	    getpeername(fd, (struct sockaddr *)&there, &there_len) == 0 && ip_from_sockaddr((struct sockaddr *)&there, &from) == 0)
		c = find_outside(eg, &to, &from, peer_port);
	if (!c || c->state != LET_IN) {
		socket_reset(fd);
		return;
	}
	/* The listening socket's filter came along, and has nothing to do here. */
	setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused));
	serve(c, fd);
}

void transparent_done(struct egress *eg)
{
	free(eg->transparent.caller);
	eg->transparent = (struct transparent){ 0 };
}
