#include <stdlib.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "sandbox/egress/dial.h"
#include "sandbox/egress/egress_internal.h"
#include "sandbox/egress/host_port.h"

int host_port_read(const struct json *list, struct host_ports *ret, struct err *err)
{
	struct host_ports p = { .n = 0 };

	if (list && json_type(list) != JSON_ARRAY)
		return err_set(err, ERR_INPUT, 0, "egress config: 'hostPorts' must be a list of ports");
	if (json_count(list) > HOST_PORTS_MAX)
		return err_set(err, ERR_LIMIT, 0, "egress config: at most %d ports of the host can be reached",
			       HOST_PORTS_MAX);
	for (const struct json *j = json_first(list); j; j = json_next(j)) {
		int64_t v;

		if (json_int(j, &v) < 0 || v < 1 || v > 65535)
			return err_set(err, ERR_INPUT, 0, "egress config: 'hostPorts' must be a list of ports");
		p.port[p.n++] = (uint16_t)v;
	}
	*ret = p;
	return 0;
}

struct outbound {
	struct client client;
	struct egress *eg;
	int fd;
	struct dial *dial;
	struct link_info record;
};

static void outbound_free(struct outbound *c, const char *error)
{
	client_remove(c->eg, &c->client);
	dial_cancel(c->dial);
	c->record.error = error;
	link_end(c->eg, &c->record);
	if (c->fd >= 0)
		socket_reset(c->fd);
	free(c);
}

static void expire(struct client *client)
{
	/* A dial has time-outs of its own, and shorter ones. */
	outbound_free((struct outbound *)client, "the run ended");
}

static void on_dialled(void *cookie, const struct dial_result *r)
{
	struct buf to_up = { 0 }, to_client = { 0 };
	struct outbound *c = cookie;

	c->dial = NULL;
	if (r->end == DIAL_OK)
		tunnel_start(c->eg, fd_take(&c->fd), r->fd, &to_up, &to_client, &c->record);
	outbound_free(c, r->end == DIAL_OK ? NULL : dial_end_words(r->end));
}

void host_port_accept(struct egress *eg, int fd, uint16_t peer_port, uint16_t port)
{
	struct destination to = { .protocol = "host-port", .host = { .text = "localhost" }, .port = port,
				  .peer_port = peer_port };
	struct egress_verdict v;
	struct outbound *c;

	host_show(&to.host, port, to.text);
	policy_judge_host_port(&eg->cfg.policy, port, &v);
	if (!v.allowed) {
		report_violation(&eg->report, &to, &v, peer_port);
		socket_reset(fd);
		return;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		socket_reset(fd);
		return;
	}
	c->eg = eg;
	c->fd = fd;
	c->client.expire = expire;
	client_add(eg, &c->client, eg->cfg.limits.exchange_ms);
	link_record(&to, &c->record);
	c->dial = dial_start_loopback(eg, port, on_dialled, c);
	if (!c->dial)
		outbound_free(c, dial_end_words(DIAL_FAILED));
}
