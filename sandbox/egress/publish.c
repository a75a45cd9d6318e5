#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "sandbox/egress/egress_internal.h"
#include "sandbox/egress/publish.h"

enum { BACKLOG = 128 };

/* --- the configuration --- */

static int read_port(const struct json *j, const char *key, int64_t least, uint16_t *ret, struct err *err)
{
	int64_t v;

	if (json_int(json_get(j, key), &v) < 0 || v < least || v > 65535)
		return err_set(err, ERR_INPUT, 0, "egress config: publish: '%s' must be a port", key);
	*ret = (uint16_t)v;
	return 0;
}

static int read_rule(const struct json *j, struct publish_rule *ret, struct err *err)
{
	static const char *const known[] = { "address", "port", "inside", NULL };
	const struct json *address = json_get(j, "address");
	const char *text = address ? json_str(address) : "127.0.0.1";
	struct publish_rule r;

	if (json_type(j) != JSON_OBJECT)
		return err_set(err, ERR_INPUT, 0, "egress config: publish: an object is wanted");
	if (json_only(j, known, "egress config: publish", err) < 0)
		return -1;
	if (!text || ip_parse(text, &r.ip) < 0)
		return err_set(err, ERR_INPUT, 0, "egress config: publish: '%s' is not an IP address",
			       text ? text : "");
	if (address_class(&r.ip) != ADDRESS_LOOPBACK) {
		err_set(err, ERR_POLICY, 0, "may not publish on '%s': it is not a loopback address", text);
		return err_hint(err, "use 127.0.0.1 or ::1");
	}
	if (read_port(j, "port", 0, &r.port, err) < 0 || read_port(j, "inside", 1, &r.inside, err) < 0)
		return -1;
	*ret = r;
	return 0;
}

int publish_parse(const struct json *list, struct publish_config *ret, struct err *err)
{
	struct publish_config c = { .n = 0 };

	if (list && json_type(list) != JSON_ARRAY)
		return err_set(err, ERR_INPUT, 0, "egress config: 'publish' must be a list");
	if (json_count(list) > PUBLISH_MAX)
		return err_set(err, ERR_LIMIT, 0, "egress config: at most %d ports can be published", PUBLISH_MAX);
	for (const struct json *j = json_first(list); j; j = json_next(j))
		if (read_rule(j, &c.rule[c.n++], err) < 0)
			return -1;
	*ret = c;
	return 0;
}

/* --- one connection from the host --- */

/* Until its other end is there. */
struct inbound {
	struct client client;
	struct egress *eg;
	int fd;
	int64_t id;
	struct inbound *next, **link;
	struct link_info record;
};

static void inbound_free(struct inbound *c, const char *error)
{
	client_remove(c->eg, &c->client);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->record.error = error;
	link_end(c->eg, &c->record);
	if (c->fd >= 0)
		socket_reset(c->fd);
	free(c);
}

static void expire(struct client *client)
{
	struct inbound *c = (struct inbound *)client;

	inbound_free(c, client->deadline_ms <= clock_mono_ms() ? "nobody connected it in time" : "the run ended");
}

static struct inbound *find(const struct egress *eg, int64_t id)
{
	struct inbound *c = eg->publish.waiting;

	while (c && c->id != id)
		c = c->next;
	return c;
}

int publish_heard(struct egress *eg, const struct json *msg, int *fd)
{
	struct buf to_up = { 0 }, to_client = { 0 };
	const char *error = json_str(json_get(msg, "error"));
	struct inbound *c;
	int64_t id;

	if (json_int(json_get(msg, "id"), &id) < 0 || (*fd < 0) != (error != NULL))
		return -1;
	c = find(eg, id);
	/* Its client went away, or its time was up. */
	if (!c)
		return 0;
	if (!error) {
		int one = 1;

		setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		tunnel_start(eg, fd_take(&c->fd), fd_take(fd), &to_up, &to_client, &c->record);
	}
	inbound_free(c, error);
	return 0;
}

/* The host a record names is where we listen. */
static void begin_record(const struct publish_rule *rule, struct link_info *ret)
{
	struct destination d = { .protocol = "publish", .port = rule->port };

	host_from_ip(&rule->ip, &d.host);
	link_record(&d, ret);
	ret->from_outside = 1;
}

static void accept_published(const struct listener *l, int fd, uint16_t peer_port)
{
	const struct publish_rule *rule = l->what;
	struct publish *p = &l->eg->publish;
	struct inbound *c = calloc(1, sizeof(*c));

	(void)peer_port;
	if (!c) {
		socket_reset(fd);
		return;
	}
	c->eg = l->eg;
	c->fd = fd;
	c->id = ++p->last_id;
	c->next = p->waiting;
	c->link = &p->waiting;
	if (c->next)
		c->next->link = &c->next;
	p->waiting = c;
	begin_record(rule, &c->record);
	c->client.expire = expire;
	client_add(l->eg, &c->client, l->eg->cfg.limits.connect_ms);
	report_connect_inside(&l->eg->report, c->id, rule->inside);
}

/* --- listening --- */

/* The port that was picked for port 0. */
static int learn_port(int fd, struct publish_rule *rule)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof(ss);

	if (getsockname(fd, (struct sockaddr *)&ss, &len) < 0)
		return -1;
	rule->port = sockaddr_port(&ss);
	return 0;
}

static int open_port(struct publish_rule *rule, int *ret, struct err *err)
{
	struct sockaddr_storage ss;
	socklen_t len = ip_to_sockaddr(&rule->ip, rule->port, &ss);
	OWN(fd) int fd = socket(rule->ip.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	char shown[HOST_SHOWN_SIZE];
	struct host h;
	int one = 1;

	host_from_ip(&rule->ip, &h);
	host_show(&h, rule->port, shown);
	if (fd < 0)
		return err_set(err, ERR_SYS, errno, "cannot publish on '%s'", shown);
	/* A port whose connections have just ended is free. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&ss, len) < 0 || listen(fd, BACKLOG) < 0 || learn_port(fd, rule) < 0)
		return err_set(err, ERR_SYS, errno, "cannot publish on '%s'", shown);
	*ret = fd_take(&fd);
	return 0;
}

int publish_start(struct egress *eg, struct err *err)
{
	struct publish *p = &eg->publish;

	for (size_t i = 0; i < eg->cfg.publish.n; i++) {
		struct publish_rule *rule = &eg->cfg.publish.rule[i];

		if (open_port(rule, &p->fd[i], err) < 0)
			return -1;
		p->n++;
		if (listener_add(eg, p->fd[i], accept_published, rule, err) < 0)
			return -1;
		report_published(&eg->report, rule);
	}
	return 0;
}

void publish_stop(struct egress *eg)
{
	for (size_t i = 0; i < eg->publish.n; i++)
		close(eg->publish.fd[i]);
	eg->publish.n = 0;
}
