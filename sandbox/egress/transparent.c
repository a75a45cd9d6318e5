#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "sandbox/egress/dial.h"
#include "sandbox/egress/egress_internal.h"
#include "sandbox/egress/transparent.h"

enum { CALLER_WAIT_MS = 5000, SSH_PORT = 22 };

struct trans_conn {
	struct client client;
	struct egress *eg;
	int fd;
	struct ip at;			/* our end's address */
	uint16_t peer_port;
	struct trans_conn *next, **link;	/* while it waits; link NULL: it does not */
	struct destination to;
	struct dial *dial;
};

/* --- ends --- */

static void stop_waiting(struct trans_conn *c)
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
	stop_waiting(c);
	dial_cancel(c->dial);
	if (c->fd >= 0)
		socket_reset(c->fd);
	free(c);
}

/* An ssh client shows a reason that comes as ssh; everybody else sees a reset. */
static void refuse(struct trans_conn *c, const struct egress_verdict *v)
{
	struct buf out = { 0 };

	report_violation(&c->eg->report, &c->to, v, c->peer_port);
	if (c->to.port == SSH_PORT) {
		refusal_ssh(&c->to, v, &out);
		linger_start(c->eg, fd_take(&c->fd), &out);
	}
	conn_free(c);
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
	if (c->link && client->deadline_ms <= clock_mono_ms())
		refuse_malformed(c, &c->at, 0, "nobody said where this connection was meant to go");
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

static void on_dialled(void *cookie, const struct dial_result *r)
{
	struct trans_conn *c = cookie;
	struct buf to_up = { 0 }, to_client = { 0 };
	struct link_info link;

	c->dial = NULL;
	if (r->end == DIAL_DENIED) {
		refuse(c, r->verdict);
		return;
	}
	if (r->end == DIAL_OK) {
		link_begin(c->eg, &c->to, &link);
		tunnel_start(c->eg, fd_take(&c->fd), r->fd, &to_up, &to_client, &link);
	} else {	/* there is no protocol to say it in, so at least the record has it */
		link_record(&c->to, &link);
		link.error = dial_end_words(r->end);
		link_end(c->eg, &link);
	}
	conn_free(c);
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
	c->to = (struct destination){ .protocol = "transparent", .host = h, .port = port,
				    .peer_port = c->peer_port };
	host_show(&h, port, c->to.text);
	policy_judge(&c->eg->cfg.policy, &h, port, &v);
	if (!v.allowed) {
		refuse(c, &v);
		return;
	}
	if (tls_config_looks(&c->eg->cfg.tls, &h, port)) {
		struct buf nothing[2] = { { 0 }, { 0 } };

		http_inspect_start(c->eg, fd_take(&c->fd), c->peer_port, &c->to, &nothing[0], &nothing[1]);
		conn_free(c);
		return;
	}
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
	for (struct trans_conn *c = eg->transparent.waiting; c; c = c->next) {
		if (!is_of(&caller, &c->at, c->peer_port))
			continue;
		stop_waiting(c);
		proceed(c, &caller.ip, caller.to_port);
		return 0;
	}
	keep_caller(&eg->transparent, &caller);
	return 0;
}

/* --- accepting --- */

static void wait_for_caller(struct trans_conn *c)
{
	c->next = c->eg->transparent.waiting;
	c->link = &c->eg->transparent.waiting;
	if (c->next)
		c->next->link = &c->next;
	*c->link = c;
}

void transparent_accept(struct egress *eg, int fd, uint16_t peer_port)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof(ss);
	struct trans_conn *c = calloc(1, sizeof(*c));
	struct caller caller;

	if (!c || getsockname(fd, (struct sockaddr *)&ss, &len) < 0 ||
	    ip_from_sockaddr((struct sockaddr *)&ss, &c->at) < 0) {
		socket_reset(fd);
		free(c);
		return;
	}
	c->eg = eg;
	c->fd = fd;
	c->peer_port = peer_port;
	c->client.expire = expire;
	client_add(eg, &c->client, CALLER_WAIT_MS);
	if (take_caller(&eg->transparent, &c->at, peer_port, &caller))
		proceed(c, &caller.ip, caller.to_port);
	else
		wait_for_caller(c);
}

void transparent_done(struct egress *eg)
{
	free(eg->transparent.caller);
	eg->transparent = (struct transparent){ 0 };
}
