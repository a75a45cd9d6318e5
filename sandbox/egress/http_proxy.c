/*
 * One struct http_conn for each connection of a client, and at most one
 * connection upstream for it, kept while requests go to the same place. A turn
 * of the state machine moves whatever can be moved; then the loop is told what
 * each side waits for.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/own.h"
#include "sandbox/egress/credential.h"
#include "sandbox/egress/dial.h"
#include "sandbox/egress/forward.h"
#include "sandbox/egress/http_conn.h"

enum {
	OUT_MAX = 128 << 10,		/* more than this waiting: stop reading the other side */
	INTERIM_MAX = 32,		/* 1xx responses before the real one */
	SPLICE_MIN = 64 << 10,		/* a body with so much to come is moved by the kernel */
};

/* --- ends --- */

static void close_up(struct http_conn *c)
{
	if (c->up.fd >= 0) {
		c->link.bytes_in += c->up.bytes_in;
		c->link.bytes_out += c->up.bytes_out;
	}
	link_end(c->eg, &c->link);
	stream_close(&c->up);
}

static void drop_flow(struct http_conn *c)
{
	if (c->flow.from < 0)
		return;
	c->link.bytes_in += c->flow.moved;
	flow_done(&c->flow, &c->eg->pipes);
	c->flow.from = -1;
}

void http_conn_free(struct http_conn *c)
{
	client_remove(c->eg, &c->client);
	dial_cancel(c->dial);
	drop_flow(c);
	close_up(c);
	stream_close(&c->down);
	credential_wipe(&c->req.head);
	free(c);
}

/* Close the client's connection once it has read what it was sent. */
enum step http_say_goodbye(struct http_conn *c)
{
	struct buf out = stream_take_out(&c->down, 1);

	linger_start(c->eg, stream_take_fd(&c->down), &out);
	http_conn_free(c);
	return GONE;
}

/* The answer broke off: the client must not take it for whole. */
static enum step abort_client(struct http_conn *c)
{
	struct buf out = stream_take_out(&c->down, 0);

	drop_flow(c);
	linger_abort(c->eg, stream_take_fd(&c->down), &out);
	http_conn_free(c);
	return GONE;
}

static int is_broken(const struct stream *s)
{
	return s->in_broke || s->out_broke;
}

/* Nothing more will come from @s. */
static int is_over(const struct stream *s)
{
	return s->ended || s->in_broke;
}

/* --- answers of our own --- */

static void end_request(struct http_conn *c)
{
	credential_wipe(&c->req.head);
	c->req = (struct request){ 0 };
	c->res = (struct response){ 0 };
	c->scan = (struct http_scan){ 0 };
	c->got_blank_line = 0;
	c->state = READ_HEAD;
	client_touch(&c->client, c->eg->cfg.limits.keep_alive_ms);
}

/* Behind an answer of ours: go on only where it is plain where the next request starts. */
static enum step after_answer(struct http_conn *c, int close)
{
	if (close)
		return http_say_goodbye(c);
	end_request(c);
	return GO;
}

enum step http_answer_failure(struct http_conn *c, int status, const char *why, int close)
{
	failure_http(status, why, c->req.is_head, close, &c->down.out);
	return after_answer(c, close);
}

static int must_close(const struct http_conn *c)
{
	return c->req.is_connect || c->req.close || !c->req.minor || !c->req.body_done;
}

static enum step answer_denied(struct http_conn *c, const struct egress_verdict *v)
{
	int close = must_close(c);

	report_violation(&c->eg->report, &c->req.to, v, c->peer_port);
	refusal_http(&c->req.to, v, c->req.is_head, close, &c->down.out);
	return after_answer(c, close);
}

enum step http_answer_upstream_failure(struct http_conn *c, int status, const char *what)
{
	OWN(buf) struct buf why = { 0 };

	buf_addf(&why, "'%s' %s", c->req.to.text, what);
	close_up(c);	/* which may own @what */
	return http_answer_failure(c, status, why.data ? why.data : "out of memory", must_close(c));
}

/* A request that cannot be read, or that asks for what is no place. */
static enum step answer_problem(struct http_conn *c, const struct http_head *head, const struct http_problem *bad)
{
	struct egress_verdict v;
	int n = head ? (int)(head->target.len < 250 ? head->target.len : 250) : 0;

	if (!bad->is_denial)
		return http_answer_failure(c, bad->status, bad->why, 1);
	policy_malformed(bad->why, &v);
	if (bad->status == 421) {
		v.why = REFUSAL_OTHER_NAME;
		snprintf(v.rule, sizeof(v.rule), "%s", refusal_word(v.why));
	}
	c->req.to = (struct destination){ .protocol = c->req.is_connect ? "connect" : "http" };
	snprintf(c->req.to.text, sizeof(c->req.to.text), "%.*s", n, head->target.p);
	if (c->is_within)
		c->req.to = c->within;
	report_violation(&c->eg->report, &c->req.to, &v, c->peer_port);
	if (bad->status == 403)
		refusal_http(&c->req.to, &v, c->req.is_head, 1, &c->down.out);
	else
		failure_http(bad->status, bad->why, c->req.is_head, 1, &c->down.out);
	return http_say_goodbye(c);
}

/* --- the client's request --- */

static void on_dialled(void *cookie, const struct dial_result *r);

static enum step dial(struct http_conn *c)
{
	close_up(c);
	c->dial = (c->req.hop ? dial_start_hop : dial_start)(c->eg, &c->req.to.host, c->req.to.port, on_dialled, c);
	if (!c->dial)
		return http_answer_failure(c, 503, "out of resources", 1);
	c->state = DIALLING;
	client_touch(&c->client, c->eg->cfg.limits.exchange_ms);
	return WAIT;
}

static int leads_there(const struct http_conn *c)
{
	return c->up.fd >= 0 && !c->up.tls == !c->secure && c->up_port == c->req.to.port && c->up_hop == c->req.hop &&
	       !strcmp(c->up_host.text, c->req.to.host.text);
}

static void put_head(struct request *q, const struct http_head *head, const struct http_uri *uri)
{
	const struct forward_hop hop = { .authorization = q->hop ? q->hop->authorization : NULL };
	struct http_uri plain = *uri;

	plain.host = q->to.host;
	forward_request(head, &plain, q->hop ? &hop : NULL, &q->head);
}

static void remember(struct http_conn *c, const struct http_head *head, const struct http_uri *uri)
{
	struct request *q = &c->req;

	q->minor = head->minor;
	q->close = head->close;
	q->offers_upgrade = !q->is_connect && forward_offers_upgrade(head);
	q->to = (struct destination){ .protocol = q->is_connect ? "connect" : c->secure ? "https" : "http",
				      .host = uri->host, .port = uri->port };
	transparent_name(c->eg, &q->to.host);
	host_show(&q->to.host, uri->port, q->to.text);
	http_body_begin(&q->body, head);
	q->body_done = q->is_connect || q->body.state == HTTP_BODY_DONE;
	q->had_body = !q->body_done;
	/* Other protocols need a tunnel through it. */
	if (!q->is_connect && !q->offers_upgrade && !c->secure)
		q->hop = chain_route(&c->eg->cfg.chain, &q->to.host, uri->port);
}

enum step http_send_head(struct http_conn *c)
{
	c->state = EXCHANGE;
	client_touch(&c->client, c->eg->cfg.limits.exchange_ms);
	return buf_add(&c->up.out, c->req.head.data, c->req.head.len) < 0 ? END : GO;
}

/* The head to send, if it may be sent. */
static void judge(struct http_conn *c, struct http_head *head, struct http_uri *uri, struct egress_verdict *v)
{
	struct inspection in = { .path = { 0 } };

	policy_judge(&c->eg->cfg.policy, &c->req.to.host, uri->port, v);
	if (v->allowed && !c->req.is_connect)
		http_inspect(c, head, uri, &in, v);
	if (v->allowed && !c->req.is_connect)
		put_head(&c->req, head, uri);
	http_inspection_done(&in);
}

/* What follows is a connection of its own, to one host. */
static enum step look_into(struct http_conn *c)
{
	struct buf early = c->down.in, answer = c->down.out;

	c->down.in = c->down.out = (struct buf){ 0 };
	buf_adds(&answer, "HTTP/1.1 200 Connection Established\r\n\r\n");
	http_inspect_start(c->eg, stream_take_fd(&c->down), c->peer_port, &c->req.to, &early, &answer);
	http_conn_free(c);
	return GONE;
}

/* @head points into down.in, whose first @size bytes are dropped here. */
static enum step begin_request(struct http_conn *c, struct http_head *head, size_t size)
{
	const struct destination *w = &c->within;
	const char *wanted = c->is_within ? NULL : c->eg->cfg.proxy_credential;
	struct http_problem bad = { 0 };
	struct egress_verdict v;
	struct http_uri uri;

	c->req.is_connect = head->method.len == 7 && !memcmp(head->method.p, "CONNECT", 7);
	c->req.is_head = head->method.len == 4 && !memcmp(head->method.p, "HEAD", 4);
	if (wanted && !credential_is_basic(http_find(head, "Proxy-Authorization"), wanted))
		return http_answer_failure(c, 407, "this proxy is another's: say the run's name and password", 1);
	if (c->is_within ? http_parse_origin(head, &w->host, w->port, c->secure, &uri, &bad) < 0 :
			   http_parse_target(head, &uri, &bad) < 0)
		return answer_problem(c, head, &bad);
	remember(c, head, &uri);
	judge(c, head, &uri, &v);
	buf_eat(&c->down.in, size);
	if (c->req.head.failed)
		return http_answer_failure(c, 503, "out of resources", 1);
	if (!v.allowed)
		return answer_denied(c, &v);
	if (c->req.is_connect && tls_config_looks(&c->eg->cfg.tls, &c->req.to.host, c->req.to.port))
		return look_into(c);
	return leads_there(c) ? http_send_head(c) : dial(c);
}

static enum step read_head(struct http_conn *c)
{
	struct http_problem bad = { 0 };
	struct http_head head;
	long size;

	/* The answer before has to be on its way: requests must not pile up answers. */
	if (stream_waiting(&c->down))
		return WAIT;
	if (c->down.in.len >= 2 && !c->got_blank_line && !memcmp(c->down.in.data, "\r\n", 2)) {
		buf_eat(&c->down.in, 2);
		c->got_blank_line = 1;
		c->scan = (struct http_scan){ 0 };
	}
	if (!c->down.in.len)
		return is_over(&c->down) ? END : WAIT;
	if (!c->scan.at)
		client_touch(&c->client, c->eg->cfg.limits.head_ms);
	size = http_scan(&c->scan, c->down.in.data, c->down.in.len, &bad);
	if (!size)
		return is_over(&c->down) ? END : WAIT;
	if (size < 0 || http_parse_request(c->down.in.data, (size_t)size, &head, &bad) < 0)
		return answer_problem(c, NULL, &bad);
	return begin_request(c, &head, (size_t)size);
}

/* --- connected --- */

static void on_down(void *cookie, int fd, unsigned int ready);
static void on_up(void *cookie, int fd, unsigned int ready);
static const struct {
	int status;
} dial_answers[DIAL_END_NUM] = {
	[DIAL_NO_NAME] = { 502 },
	[DIAL_REFUSED] = { 502 },
	[DIAL_UNREACHABLE] = { 502 },
	[DIAL_TIMEOUT] = { 504 },
	[DIAL_FAILED] = { 503 },
	[DIAL_PROXY_DOWN] = { 502 },
	[DIAL_PROXY_REFUSED] = { 502 },
};

/* From here on bytes pass unread, both ways; what was read too early goes first. */
static enum step become_tunnel(struct http_conn *c, int up_fd)
{
	struct buf to_up = c->down.in, to_client = c->down.out;

	c->down.in = c->down.out = (struct buf){ 0 };
	if (c->req.is_connect)
		tunnel_start_to(c->eg, stream_take_fd(&c->down), up_fd, &to_up, &to_client, &c->link, &c->req.to,
				c->peer_port);
	else
		tunnel_start(c->eg, stream_take_fd(&c->down), up_fd, &to_up, &to_client, &c->link);
	http_conn_free(c);
	return GONE;
}

static enum step connected(struct http_conn *c, int fd)
{
	link_begin(c->eg, &c->req.to, &c->link);
	c->link.peer_port = c->peer_port;
	if (c->req.is_connect) {
		buf_adds(&c->down.out, "HTTP/1.1 200 Connection Established\r\n\r\n");
		return become_tunnel(c, fd);
	}
	if (stream_open(&c->up, c->eg->loop, fd, on_up, c) < 0)
		return http_answer_failure(c, 503, "out of resources", 1);
	c->up_host = c->req.to.host;
	c->up_port = c->req.to.port;
	c->up_hop = c->req.hop;
	c->up_used = 0;
	return c->secure ? http_shake_up_start(c) : http_send_head(c);
}

static void on_dialled(void *cookie, const struct dial_result *r)
{
	struct http_conn *c = cookie;
	enum step s;

	c->dial = NULL;
	if (r->end == DIAL_OK)
		s = connected(c, r->fd);
	else if (r->end == DIAL_DENIED)
		s = answer_denied(c, r->verdict);
	else
		s = http_answer_upstream_failure(c, dial_answers[r->end].status, dial_end_words(r->end));
	if (s == END)
		http_conn_free(c);
	else if (s != GONE)
		http_run(c);
}

/* --- the exchange: request body up, response down --- */

/* Pieces of a body from @from to @to while there is room. GO if anything moved, END if the framing broke. */
static enum step pump(struct http_body *body, struct buf *from, int chunked, struct buf *to, int *ret_done)
{
	enum step s = WAIT;
	size_t used = 0;

	while (to->len < OUT_MAX) {
		struct http_piece piece;

		http_body_next(body, from->len ? from->data + used : "", from->len - used, &piece);
		used += piece.used;
		if (piece.used)
			s = GO;
		if (piece.kind == HTTP_BAD)
			return END;
		if (piece.kind == HTTP_MORE)
			break;
		forward_piece(&piece, chunked, to);
		if (piece.kind == HTTP_END) {
			*ret_done = 1;
			s = GO;
			break;
		}
	}
	buf_eat(from, used);
	return to->failed ? END : s;
}

static enum step send_body(struct http_conn *c)
{
	struct request *q = &c->req;
	enum step s;

	if (q->body_done || c->up.out_broke || c->up.out.len >= OUT_MAX)
		return WAIT;
	s = pump(&q->body, &c->down.in, q->body.framing == HTTP_CHUNKED, &c->up.out, &q->body_done);
	if (s == END && !c->res.head_done) {
		close_up(c);
		return http_answer_failure(c, 400, "malformed body", 1);
	}
	return s == WAIT && is_over(&c->down) ? END : s;
}

/* Upstream ended before it answered. */
static enum step no_answer(struct http_conn *c)
{
	/* It closed a kept connection while the request was on its way: that is no answer to this request. */
	if (c->up_used && !c->res.started && !c->req.had_body)
		return dial(c);
	return http_answer_upstream_failure(c, 502, "closed the connection without a full answer");
}

/* 1xx: passed on, but to HTTP/1.0, which knows none; 101 ends HTTP here. */
static enum step interim(struct http_conn *c, const struct http_head *head)
{
	const struct forward_mode mode = { .minor = c->req.minor };

	if (head->status == 101 && (!c->req.offers_upgrade || !head->upgrade || !c->req.body_done))
		return http_answer_upstream_failure(c, 502, "changed the protocol without being asked");
	if (c->req.minor)
		forward_response(head, &mode, &c->down.out);
	if (head->status == 101)
		return END;
	if (++c->res.interim > INTERIM_MAX)
		return http_answer_upstream_failure(c, 502, "sent too many interim answers");
	c->res.scan = (struct http_scan){ 0 };
	return GO;
}

static enum step upgrade(struct http_conn *c)
{
	struct buf early = c->up.in;

	/* Behind the 101 head, which waits in down.out. */
	buf_add(&c->down.out, early.data ? early.data : "", early.len);
	buf_done(&early);
	c->up.in = (struct buf){ 0 };
	c->link.bytes_in += c->up.bytes_in;
	c->link.bytes_out += c->up.bytes_out;
	c->up.bytes_in = c->up.bytes_out = 0;
	if (!c->secure)
		return become_tunnel(c, stream_take_fd(&c->up));
	tls_tunnel_start(c->eg, &c->down, &c->up, &c->link);
	http_conn_free(c);
	return GONE;
}

static void final(struct http_conn *c, const struct http_head *head)
{
	struct response *r = &c->res;
	struct forward_mode mode = { .minor = c->req.minor };

	r->head_done = 1;
	/* Behind TLS an end without a length is known to be none that was cut; in chunks the client knows it too. */
	mode.chunked = r->chunked = c->req.minor && (head->framing == HTTP_CHUNKED ||
						     (head->framing == HTTP_UNTIL_CLOSE && c->secure));
	r->close_up = head->close;
	r->close_down = c->req.close || !c->req.body_done || (head->framing == HTTP_UNTIL_CLOSE && !r->chunked) ||
			(head->framing == HTTP_CHUNKED && !r->chunked);
	mode.close = r->close_down;
	http_body_begin(&r->body, head);
	forward_response(head, &mode, &c->down.out);
}

static enum step receive_head(struct http_conn *c)
{
	struct http_problem bad = { 0 };
	struct http_head head;
	enum step s = GO;
	long size;

	if (!c->up.in.len)
		return is_over(&c->up) ? no_answer(c) : WAIT;
	c->res.started = 1;
	size = http_scan(&c->res.scan, c->up.in.data, c->up.in.len, &bad);
	if (!size)
		return is_over(&c->up) ? no_answer(c) : WAIT;
	if (size < 0 || http_parse_response(c->up.in.data, (size_t)size, c->req.is_head, &head, &bad) < 0)
		return http_answer_upstream_failure(c, 502, "sent an answer that cannot be read safely");
	/* Its password is ours to know, not the program's. */
	if (head.status == 407 && c->up_hop)
		return http_answer_upstream_failure(c, 502, dial_end_words(DIAL_PROXY_REFUSED));
	if (head.status >= 200)
		final(c, &head);
	else
		s = interim(c, &head);
	if (s != GO && s != END)
		return s;
	buf_eat(&c->up.in, (size_t)size);
	if (c->down.out.failed)
		return END;
	return s == END ? upgrade(c) : GO;
}

/* Let the kernel move a long body that needs no looking at. */
static int may_splice(const struct http_conn *c)
{
	const struct http_body *b = &c->res.body;

	return c->flow.from < 0 && !c->secure && !c->res.chunked && b->framing != HTTP_CHUNKED && c->req.body_done &&
	       !c->up.in.len && !c->down.out.len && !is_over(&c->up) &&
	       b->state == HTTP_BODY_DATA && (b->framing == HTTP_UNTIL_CLOSE || b->left >= SPLICE_MIN);
}

static enum step move_flow(struct http_conn *c)
{
	c->flow_state = flow_move(&c->flow, &c->eg->pipes);
	switch (c->flow_state) {
	case FLOW_TO_BROKE:
		return END;
	case FLOW_FROM_BROKE:
		return abort_client(c);
	case FLOW_DONE:
		if (c->flow.ended && c->flow.left != FLOW_TO_THE_END)
			return abort_client(c);
		c->up.ended |= c->flow.ended;
		c->res.done = 1;
		drop_flow(c);
		return GO;
	default:
		return WAIT;
	}
}

static enum step receive_body(struct http_conn *c)
{
	struct response *r = &c->res;
	enum step s;

	if (c->flow.from >= 0)
		return move_flow(c);
	if (may_splice(c)) {
		flow_init(&c->flow, c->up.fd, c->down.fd,
			  r->body.framing == HTTP_LENGTH ? r->body.left : FLOW_TO_THE_END);
		return move_flow(c);
	}
	if (c->down.out.len >= OUT_MAX)
		return WAIT;
	s = pump(&r->body, &c->up.in, r->chunked, &c->down.out, &r->done);
	if (s == END)
		return abort_client(c);
	if (s == GO || !is_over(&c->up))
		return s;
	if (r->body.framing != HTTP_UNTIL_CLOSE || is_broken(&c->up))
		return abort_client(c);
	if (r->chunked)
		buf_adds(&c->down.out, "0\r\n\r\n");
	r->done = 1;
	return GO;
}

/* The response is complete: what of the two connections can be kept? */
static enum step end_exchange(struct http_conn *c)
{
	if (c->res.close_up || c->up.ended || is_broken(&c->up) || c->up.in.len || !c->req.body_done)
		close_up(c);
	c->up_used = 1;
	if (c->res.close_down || !c->req.body_done)
		return http_say_goodbye(c);
	end_request(c);
	return GO;
}

static enum step exchange(struct http_conn *c)
{
	int had_head = c->res.head_done;
	enum step up = send_body(c), down;

	if (up == END || up == GONE || c->state != EXCHANGE)
		return up;
	stream_flush(&c->up);
	/* A host that takes no more may have answered already. */
	if (c->up.out_broke)
		stream_fill(&c->up, HTTP_IN_MAX);
	down = had_head ? receive_body(c) : receive_head(c);
	/* A short body goes out with its head. */
	if (down == GO && c->state == EXCHANGE && !had_head && c->res.head_done)
		down = receive_body(c);
	if (down == END || down == GONE || c->state != EXCHANGE)
		return down;
	if (c->res.done)
		return end_exchange(c);
	stream_flush(&c->down);
	if (is_broken(&c->down))
		return END;
	return up == GO || down == GO ? GO : WAIT;
}

/* --- the machine --- */

static unsigned int wanted_down(const struct http_conn *c)
{
	unsigned int want = 0;

	if (c->state != DIALLING && !c->down.ended && c->down.in.len < HTTP_IN_MAX &&
	    !(c->state == READ_HEAD && stream_waiting(&c->down)))
		want |= LOOP_READ;
	/* A request body stops being read while upstream is slow. */
	if (c->state == EXCHANGE && !c->req.body_done && c->up.out.len >= OUT_MAX)
		want = 0;
	if (c->flow.from >= 0 && c->flow_state == FLOW_WANTS_WRITE)
		want |= LOOP_WRITE;
	return want;
}

static unsigned int wanted_up(const struct http_conn *c)
{
	if (is_over(&c->up))
		return 0;
	if (c->flow.from >= 0)
		return c->flow_state == FLOW_WANTS_WRITE ? 0 : LOOP_READ;
	return c->up.in.len < HTTP_IN_MAX && c->down.out.len < OUT_MAX ? LOOP_READ : 0;
}

void http_run(struct http_conn *c)
{
	static enum step (*const steps[])(struct http_conn *) = {
		[SNIFF] = http_sniff,
		[SHAKE_DOWN] = http_shake_down,
		[READ_HEAD] = read_head,
		[SHAKE_UP] = http_shake_up,
		[EXCHANGE] = exchange,
	};
	enum step s = c->state == DIALLING ? WAIT : GO;

	while (s == GO && c->state != DIALLING) {
		s = steps[c->state](c);
		if (s == GO && c->state == READ_HEAD)
			stream_flush(&c->down);
	}
	if (s == GONE)
		return;
	if (s == END || is_broken(&c->down) || (c->is_stream && c->down.ended) ||
	    stream_want(&c->down, wanted_down(c)) < 0 ||
	    stream_want(&c->up, wanted_up(c)) < 0) {
		http_conn_free(c);
		return;
	}
	if (c->state == READ_HEAD) {
		stream_slim(&c->down);
		stream_slim(&c->up);
	}
}

static void touch(struct http_conn *c)
{
	const struct egress_limits *limits = &c->eg->cfg.limits;

	if (c->state == EXCHANGE)
		client_touch(&c->client, c->down.ended ? limits->half_closed_ms : limits->exchange_ms);
}

static void on_down(void *cookie, int fd, unsigned int ready)
{
	struct http_conn *c = cookie;

	(void)fd;
	/* A handshake reads for itself. */
	if (ready & (LOOP_READ | LOOP_HUP) && c->state != SHAKE_DOWN)
		stream_fill(&c->down, HTTP_IN_MAX);
	if (ready & LOOP_WRITE)
		stream_flush(&c->down);
	touch(c);
	http_run(c);
}

static void on_up(void *cookie, int fd, unsigned int ready)
{
	struct http_conn *c = cookie;

	(void)fd;
	if (c->state == SHAKE_UP) {
		http_run(c);
		return;
	}
	if (c->state != EXCHANGE) {
		/* Between requests: it ended, or it says what nobody asked. */
		close_up(c);
		return;
	}
	if (ready & (LOOP_READ | LOOP_HUP) && c->flow.from < 0)
		stream_fill(&c->up, HTTP_IN_MAX);
	touch(c);
	http_run(c);
}

static void expire(struct client *client)
{
	struct http_conn *c = (struct http_conn *)client;

	if (c->state != EXCHANGE && c->state != SHAKE_UP) {
		http_conn_free(c);
	} else if (c->res.head_done) {
		abort_client(c);
	} else {
		c->req.close = 1;
		http_answer_upstream_failure(c, 504, "did not answer in time");
	}
}

struct http_conn *http_conn_new(struct egress *eg, int fd, uint16_t peer_port)
{
	struct http_conn *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return NULL;
	}
	c->eg = eg;
	c->peer_port = peer_port;
	c->state = READ_HEAD;
	c->up.fd = -1;
	c->flow.from = -1;
	c->client.expire = expire;
	client_add(eg, &c->client, eg->cfg.limits.head_ms);
	if (stream_open(&c->down, eg->loop, fd, on_down, c) == 0)
		return c;
	http_conn_free(c);
	return NULL;
}

void http_proxy_start(struct egress *eg, int fd, uint16_t peer_port)
{
	struct http_conn *c = http_conn_new(eg, fd, peer_port);

	/* Most clients have sent their request by now. */
	if (c)
		on_down(c, fd, LOOP_READ);
}
