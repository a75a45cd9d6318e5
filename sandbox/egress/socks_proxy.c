#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/own.h"
#include "sandbox/egress/dial.h"
#include "sandbox/egress/egress_internal.h"
#include "sandbox/egress/socks5.h"
#include "sandbox/egress/stream.h"

enum { IN_MAX = 4096, SSH_PORT = 22 };

struct socks_conn {
	struct client client;
	struct egress *eg;
	uint16_t peer_port;
	struct stream down;
	struct socks5 socks;
	struct destination to;
	struct dial *dial;
};

static void conn_free(struct socks_conn *c)
{
	client_remove(c->eg, &c->client);
	dial_cancel(c->dial);
	stream_close(&c->down);
	free(c);
}

static void expire(struct client *client)
{
	conn_free((struct socks_conn *)client);
}

/* Hand out what waits to be written and close; frees @c. */
static void say_goodbye(struct socks_conn *c)
{
	struct buf out = c->down.out;

	c->down.out = (struct buf){ 0 };
	linger_start(c->eg, stream_take_fd(&c->down), &out);
	conn_free(c);
}

static void put_reply(struct socks_conn *c, enum socks5_code code)
{
	uint8_t reply[SOCKS5_REPLY_SIZE];

	buf_add(&c->down.out, reply, socks5_reply(code, reply));
}

/* An ssh client shows the reason if it comes as ssh; any other gets SOCKS5's word for it. */
static void refuse(struct socks_conn *c, const struct egress_verdict *v)
{
	report_violation(&c->eg->report, &c->to, v, c->peer_port);
	if (c->to.port == SSH_PORT) {
		put_reply(c, SOCKS5_OK);
		refusal_ssh(&c->to, v, &c->down.out);
	} else {
		put_reply(c, SOCKS5_NOT_ALLOWED);
	}
	say_goodbye(c);
}

static void on_dialled(void *cookie, const struct dial_result *r)
{
	static const enum socks5_code codes[DIAL_END_NUM] = {
		[DIAL_NO_NAME] = SOCKS5_HOST_UNREACHABLE,
		[DIAL_REFUSED] = SOCKS5_REFUSED,
		[DIAL_UNREACHABLE] = SOCKS5_NET_UNREACHABLE,
		[DIAL_TIMEOUT] = SOCKS5_HOST_UNREACHABLE,
		[DIAL_FAILED] = SOCKS5_FAILED,
		[DIAL_PROXY_DOWN] = SOCKS5_HOST_UNREACHABLE,
		[DIAL_PROXY_REFUSED] = SOCKS5_FAILED,
	};
	struct socks_conn *c = cookie;
	struct buf to_up, to_client;
	struct link_info link;

	c->dial = NULL;
	if (r->end == DIAL_DENIED) {
		refuse(c, r->verdict);
		return;
	}
	put_reply(c, codes[r->end]);
	if (r->end != DIAL_OK) {
		say_goodbye(c);
		return;
	}
	to_up = c->down.in;
	to_client = c->down.out;
	c->down.in = c->down.out = (struct buf){ 0 };
	link_begin(c->eg, &c->to, &link);
	link.peer_port = c->peer_port;
	tunnel_start_to(c->eg, stream_take_fd(&c->down), r->fd, &to_up, &to_client, &link, &c->to, c->peer_port);
	conn_free(c);
}

static void look_into(struct socks_conn *c)
{
	struct buf early = c->down.in, answer;

	put_reply(c, SOCKS5_OK);
	answer = c->down.out;
	c->down.in = c->down.out = (struct buf){ 0 };
	http_inspect_start(c->eg, stream_take_fd(&c->down), c->peer_port, &c->to, &early, &answer);
	conn_free(c);
}

static void dial_or_refuse(struct socks_conn *c, const struct socks5_piece *p)
{
	struct egress_verdict v;

	c->to = (struct destination){ .protocol = "socks5", .host = p->host, .port = p->port };
	transparent_name(c->eg, &c->to.host);
	host_show(&c->to.host, p->port, c->to.text);
	policy_judge(&c->eg->cfg.policy, &c->to.host, p->port, &v);
	if (!v.allowed) {
		refuse(c, &v);
		return;
	}
	if (tls_config_looks(&c->eg->cfg.tls, &c->to.host, p->port)) {
		look_into(c);
		return;
	}
	client_touch(&c->client, c->eg->cfg.limits.exchange_ms);
	c->dial = dial_start(c->eg, &c->to.host, p->port, on_dialled, c);
	if (c->dial) {
		stream_want(&c->down, 0);
		return;
	}
	put_reply(c, SOCKS5_FAILED);
	say_goodbye(c);
}

static void refuse_malformed(struct socks_conn *c, const struct socks5_piece *p)
{
	struct egress_verdict v;

	policy_malformed(p->why, &v);
	c->to = (struct destination){ .protocol = "socks5" };
	snprintf(c->to.text, sizeof(c->to.text), "%s:%u", p->raw[0] ? p->raw : p->host.text, p->port);
	report_violation(&c->eg->report, &c->to, &v, c->peer_port);
	buf_add(&c->down.out, p->reply, p->reply_len);
	say_goodbye(c);
}

/* What the next bytes mean. 1: look again; 0: wait; -1: @c is done with, or waits for its dial. */
static int step(struct socks_conn *c)
{
	struct socks5_piece p;

	socks5_next(&c->socks, c->down.in.data, c->down.in.len, &p);
	buf_eat(&c->down.in, p.used);
	switch (p.kind) {
	case SOCKS5_MORE:
		return 0;
	case SOCKS5_METHOD:
		buf_add(&c->down.out, p.reply, p.reply_len);
		stream_flush(&c->down);
		return 1;
	case SOCKS5_CONNECT:
		dial_or_refuse(c, &p);
		return -1;
	case SOCKS5_REFUSE:
		buf_add(&c->down.out, p.reply, p.reply_len);
		say_goodbye(c);
		return -1;
	case SOCKS5_DENY:
		refuse_malformed(c, &p);
		return -1;
	}
	return -1;
}

static void on_down(void *cookie, int fd, unsigned int ready)
{
	struct socks_conn *c = cookie;
	int s;

	(void)fd;
	stream_flush(&c->down);
	/* While it dials, what the client sends may wait in its socket. */
	if (c->dial) {
		stream_want(&c->down, 0);
		return;
	}
	if (ready & (LOOP_READ | LOOP_HUP))
		stream_fill(&c->down, IN_MAX);
	do
		s = step(c);
	while (s > 0);
	if (s < 0)
		return;
	if (c->down.ended || c->down.in_broke || c->down.out_broke || stream_want(&c->down, LOOP_READ) < 0)
		conn_free(c);
}

void socks_proxy_start(struct egress *eg, int fd, uint16_t peer_port)
{
	struct socks_conn *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return;
	}
	c->eg = eg;
	c->peer_port = peer_port;
	c->socks.credential = eg->cfg.proxy_credential;
	c->client.expire = expire;
	client_add(eg, &c->client, eg->cfg.limits.head_ms);
	if (stream_open(&c->down, eg->loop, fd, on_down, c) < 0) {
		conn_free(c);
		return;
	}
	on_down(c, fd, LOOP_READ);
}
