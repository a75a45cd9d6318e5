/*
 * A connection that is looked into leads to one host. Its first byte tells TLS
 * from HTTP; TLS ends here and begins anew towards the host. Each request in it
 * is then treated as a proxy's, with the host it was made for in the place of
 * the one it names.
 */
#include <string.h>

#include "base/loop.h"
#include "base/own.h"
#include "sandbox/egress/credential.h"
#include "sandbox/egress/h2.h"
#include "sandbox/egress/http_conn.h"
#include "sandbox/egress/http_inspect.h"

enum { TLS_HANDSHAKE = 0x16 };

/* --- the beginning --- */

static enum step refuse(struct http_conn *c, enum refusal why, const char *reason)
{
	struct egress_verdict v = { .why = why };

	snprintf(v.rule, sizeof(v.rule), "%s", refusal_word(why));
	snprintf(v.reason, sizeof(v.reason), "%s", reason);
	report_violation(&c->eg->report, &c->within, &v, c->peer_port);
	return http_say_goodbye(c);
}

static enum step begin_tls(struct http_conn *c)
{
	struct tls *tls = tls_server(c->eg->tls, &c->within.host);

	if (!tls || stream_secure(&c->down, tls) < 0)
		return END;
	c->secure = 1;
	c->within.protocol = "https";
	c->state = SHAKE_DOWN;
	return GO;
}

enum step http_sniff(struct http_conn *c)
{
	unsigned char first;

	stream_flush(&c->down);
	if (!c->down.in.len)
		return c->down.ended || c->down.in_broke ? END : WAIT;
	first = (unsigned char)c->down.in.data[0];
	if (first == TLS_HANDSHAKE)
		return begin_tls(c);
	if (first < 'A' || first > 'Z')
		return refuse(c, REFUSAL_NOT_HTTP, "neither TLS nor HTTP, to a host whose requests are looked at");
	c->within.protocol = "http";
	c->state = READ_HEAD;
	return GO;
}

enum step http_shake_down(struct http_conn *c)
{
	char reason[256];

	switch (stream_handshake(&c->down)) {
	case TLS_WANTS:
		return WAIT;
	case TLS_OPEN:
		break;
	default:
		if (!tls_other_name(c->down.tls))
			return http_say_goodbye(c);
		snprintf(reason, sizeof(reason), "TLS asks for '%.128s' on a connection to another host",
			 tls_other_name(c->down.tls));
		return refuse(c, REFUSAL_OTHER_NAME, reason);
	}
	if (tls_speaks_h2(c->down.tls)) {
		h2_start(c->eg, &c->down, c->peer_port, &c->within);
		http_conn_free(c);
		return GONE;
	}
	c->state = READ_HEAD;
	client_touch(&c->client, c->eg->cfg.limits.head_ms);
	/* The request often comes along with the end of the handshake. */
	stream_fill(&c->down, HTTP_IN_MAX);
	return GO;
}

void http_inspect_start(struct egress *eg, int fd, uint16_t peer_port, const struct destination *to,
			struct buf *early, struct buf *answer)
{
	struct http_conn *c = http_conn_new(eg, fd, peer_port);

	if (!c) {
		buf_done(early);
		buf_done(answer);
		return;
	}
	c->is_within = 1;
	c->within = *to;
	c->state = SNIFF;
	c->down.in = *early;
	c->down.out = *answer;
	*early = *answer = (struct buf){ 0 };
	if (!c->down.in.len)
		stream_fill(&c->down, HTTP_IN_MAX);
	http_run(c);
}

void http_inspect_stream_start(struct egress *eg, int fd, uint16_t peer_port, const struct destination *to)
{
	struct http_conn *c = http_conn_new(eg, fd, peer_port);

	if (!c)
		return;
	c->is_within = 1;
	c->is_stream = 1;
	c->within = *to;
	c->within.protocol = "https";
	c->secure = 1;
	http_run(c);
}

/* --- towards the host --- */

enum step http_shake_up_start(struct http_conn *c)
{
	struct tls *tls = tls_client(c->eg->tls, &c->within.host);

	if (!tls || stream_secure(&c->up, tls) < 0)
		return http_answer_failure(c, 503, "out of resources", 1);
	c->state = SHAKE_UP;
	client_touch(&c->client, c->eg->cfg.limits.head_ms);
	return GO;
}

enum step http_shake_up(struct http_conn *c)
{
	enum tls_state s = stream_handshake(&c->up);

	if (s == TLS_WANTS)
		return WAIT;
	if (s == TLS_FAILED)
		return http_answer_upstream_failure(c, 502, tls_why(c->up.tls));
	return http_send_head(c);
}

/* --- requests --- */

/* @v: allowed on entry. */
static void judge_route(const struct http_conn *c, const struct http_head *head, struct http_uri *uri,
			struct buf *sent, struct egress_verdict *v)
{
	const struct destination *to = &c->req.to;
	OWN(buf) struct buf path = { 0 };
	const char *why;

	if (!route_applies(&c->eg->cfg.tls.routes, &to->host, to->port))
		return;
	if (route_path(uri->path, sent, &path, &why) < 0) {
		*v = (struct egress_verdict){ .why = REFUSAL_ROUTE };
		snprintf(v->rule, sizeof(v->rule), "route");
		snprintf(v->reason, sizeof(v->reason), "%s, which cannot be held against the request rules", why);
		return;
	}
	route_judge(&c->eg->cfg.tls.routes, &to->host, to->port, head->method, path.data, v);
	uri->path = (struct span){ sent->data, sent->len };
}

void http_inspect(const struct http_conn *c, struct http_head *head, struct http_uri *uri, struct inspection *in,
		  struct egress_verdict *v)
{
	judge_route(c, head, uri, &in->path, v);
	if (v->allowed)
		credential_put(&c->eg->cfg.tls.credentials, &c->req.to.host, c->req.to.port, c->secure, head,
			       &in->secrets, v);
}

void http_inspection_done(struct inspection *in)
{
	buf_done(&in->path);
	credential_wipe(&in->secrets);
}
