#include <stdlib.h>
#include <string.h>

#include "base/loop.h"
#include "base/own.h"
#include "sandbox/egress/h2.h"
#include "sandbox/egress/h2_internal.h"

#define L h2_lib

enum {
	IN_MAX = 64 << 10,
	OUT_MAX = 128 << 10,		/* more than this waiting: stop reading, and taking from streams */
	CONNECTION_WINDOW = 1 << 20,
	RESETS_MAX = 500,
	VAIN_MAX = 10000,
	VAIN_BODY = 256 << 10,		/* of a request that was answered before it was whole */
	ACKS_MAX = 200,			/* answers to pings and settings that wait to be sent */
};

/* --- ends --- */

static void conn_free(struct h2_conn *c)
{
	client_remove(c->eg, &c->client);
	while (c->streams)
		h2_stream_free(c->streams);
	while (c->workers)
		h2_worker_free(c->workers);
	if (c->session)
		L.nghttp2_session_del(c->session);
	stream_close(&c->down);
	free(c);
}

static void say_goodbye(struct h2_conn *c)
{
	struct buf out = stream_take_out(&c->down, 1);

	linger_start(c->eg, stream_take_fd(&c->down), &out);
	conn_free(c);
}

static void expire(struct client *client)
{
	struct h2_conn *c = (struct h2_conn *)client;

	L.nghttp2_session_terminate_session(c->session, NGHTTP2_NO_ERROR);
	if (c->n_streams) {
		conn_free(c);
		return;
	}
	for (;;) {
		const uint8_t *data;
		ssize_t n = L.nghttp2_session_mem_send(c->session, &data);

		if (n <= 0 || buf_add(&c->down.out, data, (size_t)n) < 0)
			break;
	}
	say_goodbye(c);
}

/* --- what the session tells; 0, or NGHTTP2_ERR_CALLBACK_FAILURE to end the connection --- */

static struct h2_stream *find(struct h2_conn *c, int32_t id)
{
	return L.nghttp2_session_get_stream_user_data(c->session, id);
}

static void reset(struct h2_conn *c, int32_t id, uint32_t code)
{
	L.nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, id, code);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *f, void *cookie)
{
	struct h2_conn *c = cookie;
	struct h2_stream *s;

	if (f->hd.type != NGHTTP2_HEADERS || f->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	s = h2_stream_new(c, f->hd.stream_id);
	if (!s)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	return L.nghttp2_session_set_stream_user_data(session, f->hd.stream_id, s);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *f, const uint8_t *name, size_t name_len,
		     const uint8_t *value, size_t value_len, uint8_t flags, void *cookie)
{
	struct h2_stream *s = find(cookie, f->hd.stream_id);

	(void)session;
	(void)flags;
	if (!s || f->hd.type != NGHTTP2_HEADERS)
		return 0;
	return h2_head_field(&s->head, f->headers.cat != NGHTTP2_HCAT_REQUEST, name, name_len, value, value_len) < 0 ?
		       NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : 0;
}

/* A program that asks and takes back, over and over, makes work for nobody's use. */
static int count_reset(struct h2_conn *c)
{
	return ++c->resets > RESETS_MAX ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_headers(struct h2_conn *c, struct h2_stream *s, const nghttp2_frame *f)
{
	int ended = (f->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
	uint32_t code;

	if (f->headers.cat != NGHTTP2_HCAT_REQUEST) {
		if (ended)
			h2_stream_end(s);
		return 0;
	}
	code = h2_stream_begin(s, ended);
	if (!code)
		return 0;
	reset(c, s->id, code);
	return count_reset(c);
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *f, void *cookie)
{
	struct h2_conn *c = cookie;
	struct h2_stream *s = f->hd.stream_id ? find(c, f->hd.stream_id) : NULL;

	(void)session;
	if (++c->vain > VAIN_MAX)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	if (f->hd.type == NGHTTP2_RST_STREAM)
		return count_reset(c);
	if (f->hd.type == NGHTTP2_HEADERS && s)
		return on_headers(c, s, f);
	if (f->hd.type == NGHTTP2_DATA && s && f->hd.flags & NGHTTP2_FLAG_END_STREAM)
		h2_stream_end(s);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len, void *cookie)
{
	struct h2_conn *c = cookie;
	struct h2_stream *s = find(c, id);

	(void)flags;
	if (len)
		c->vain = 0;
	if (s && s->worker && !s->told) {
		h2_stream_data(s, data, len);
		return 0;
	}
	L.nghttp2_session_consume(session, id, len);
	/* A client may finish what it was saying; one that does not stop is stopped. */
	if (s && s->told && (s->vain += len) > VAIN_BODY)
		reset(c, id, NGHTTP2_NO_ERROR);
	return 0;
}

static int on_frame_send(nghttp2_session *session, const nghttp2_frame *f, void *cookie)
{
	struct h2_conn *c = cookie;
	struct h2_stream *s = f->hd.stream_id ? find(c, f->hd.stream_id) : NULL;

	if (f->hd.type != NGHTTP2_DATA && f->hd.type != NGHTTP2_HEADERS)
		return 0;
	c->vain = 0;
	if (!s || !(f->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	s->told = 1;
	if (s->unread)
		L.nghttp2_session_consume(session, s->id, s->unread);
	s->unread = 0;
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *cookie)
{
	struct h2_conn *c = cookie;
	struct h2_stream *s = find(c, id);

	(void)session;
	if (!s)
		return 0;
	if (code == NGHTTP2_NO_ERROR && c->resets)
		c->resets--;
	/* What of its body nobody takes any more must not narrow the window of the others. */
	if (s->unread)
		L.nghttp2_session_consume_connection(c->session, s->unread);
	h2_stream_free(s);
	return 0;
}

/* --- the session --- */

static void set_callbacks(nghttp2_session_callbacks *cb)
{
	L.nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
	L.nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	L.nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame_recv);
	L.nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_send);
	L.nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	L.nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
}

static int open_session(struct h2_conn *c)
{
	static const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, H2_STREAMS_MAX },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP_HEAD_MAX },
	};
	nghttp2_session_callbacks *cb = NULL;
	nghttp2_option *option = NULL;
	int r = -1;

	if (L.nghttp2_session_callbacks_new(&cb) == 0 && L.nghttp2_option_new(&option) == 0) {
		set_callbacks(cb);
		L.nghttp2_option_set_no_auto_window_update(option, 1);
		L.nghttp2_option_set_no_closed_streams(option, 1);
		L.nghttp2_option_set_max_outbound_ack(option, ACKS_MAX);
		/* An answer's head may be as long as HTTP/1.1's. */
		L.nghttp2_option_set_max_send_header_block_length(option, 2 * HTTP_HEAD_MAX);
		r = L.nghttp2_session_server_new2(&c->session, cb, c, option);
	}
	L.nghttp2_option_del(option);
	L.nghttp2_session_callbacks_del(cb);
	if (r || L.nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings)))
		return -1;
	return L.nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW);
}

/* Hand what came to the session. 0, or -1 when it is not to go on. */
static int take_in(struct h2_conn *c)
{
	ssize_t n;

	if (!c->down.in.len)
		return 0;
	n = L.nghttp2_session_mem_recv(c->session, (const uint8_t *)c->down.in.data, c->down.in.len);
	if (n < 0)
		L.nghttp2_session_terminate_session(c->session, NGHTTP2_ENHANCE_YOUR_CALM);
	buf_eat(&c->down.in, n < 0 ? c->down.in.len : (size_t)n);
	return n < 0 ? -1 : 0;
}

/* Send what the session has to say while there is room for it. 0 or -1 */
static int put_out(struct h2_conn *c)
{
	for (;;) {
		const uint8_t *data;
		ssize_t n = 1;

		while (c->down.out.len < OUT_MAX && n > 0) {
			n = L.nghttp2_session_mem_send(c->session, &data);
			if (n < 0 || (n > 0 && buf_add(&c->down.out, data, (size_t)n) < 0))
				return -1;
		}
		stream_flush(&c->down);
		if (c->down.out_broke)
			return -1;
		if (!n || c->down.out.len >= OUT_MAX)
			return 0;
	}
}

void h2_run(struct h2_conn *c)
{
	const struct egress_limits *limits = &c->eg->cfg.limits;
	int is_over = take_in(c) < 0;

	if (put_out(c) < 0 || c->down.in_broke) {
		conn_free(c);
		return;
	}
	if (is_over || c->down.ended ||
	    (!L.nghttp2_session_want_read(c->session) && !L.nghttp2_session_want_write(c->session))) {
		say_goodbye(c);
		return;
	}
	client_touch(&c->client, c->n_streams ? limits->exchange_ms : limits->keep_alive_ms);
	if (stream_want(&c->down, c->down.out.len < OUT_MAX ? LOOP_READ : 0) < 0)
		conn_free(c);
}

static void on_down(void *cookie, int fd, unsigned int ready)
{
	struct h2_conn *c = cookie;

	(void)fd;
	if (ready & (LOOP_READ | LOOP_HUP))
		stream_fill(&c->down, IN_MAX);
	if (ready & LOOP_WRITE)
		stream_flush(&c->down);
	h2_run(c);
}

void h2_start(struct egress *eg, struct stream *down, uint16_t peer_port, const struct destination *within)
{
	struct h2_conn *c = calloc(1, sizeof(*c));

	if (!c) {
		stream_close(down);
		return;
	}
	c->eg = eg;
	c->peer_port = peer_port;
	c->within = *within;
	c->client.expire = expire;
	client_add(eg, &c->client, eg->cfg.limits.head_ms);
	stream_move(down, &c->down, eg->loop, on_down, c);
	if (open_session(c) < 0)
		conn_free(c);
	else
		h2_run(c);
}
