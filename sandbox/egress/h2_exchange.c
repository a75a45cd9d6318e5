#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/own.h"
#include "sandbox/egress/forward.h"
#include "sandbox/egress/h2_internal.h"
#include "sandbox/egress/http_inspect.h"

#define L h2_lib

enum {
	IDLE_MAX = 8,			/* workers kept for the next request */
	IN_MAX = HTTP_HEAD_MAX + 4096,	/* a head has to fit */
	BODY_MAX = 32 << 10,		/* of an answer, waiting for the program */
	FIELD_MAX = HTTP_FIELDS_MAX + 1,
};

/* --- workers --- */

static void on_worker(void *cookie, int fd, unsigned int ready);

static void unlink_worker(struct h2_worker *w)
{
	*w->link = w->next;
	if (w->next)
		w->next->link = w->link;
}

void h2_worker_free(struct h2_worker *w)
{
	unlink_worker(w);
	if (w->s)
		w->s->worker = NULL;
	else
		w->c->n_idle--;
	stream_close(&w->io);
	free(w);
}

/* One with its other end served; NULL when there is no room. */
static struct h2_worker *worker_new(struct h2_conn *c)
{
	struct h2_worker *w;
	int pair[2];

	if (c->eg->n_clients >= c->eg->cfg.limits.max_clients ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
		return NULL;
	http_inspect_stream_start(c->eg, pair[1], c->peer_port, &c->within);
	w = calloc(1, sizeof(*w));
	if (!w || stream_open(&w->io, c->eg->loop, pair[0], on_worker, w) < 0) {
		if (!w)
			close(pair[0]);
		free(w);
		return NULL;
	}
	w->c = c;
	w->next = c->workers;
	w->link = &c->workers;
	if (w->next)
		w->next->link = &w->next;
	c->workers = w;
	c->n_idle++;
	return w;
}

/* Has it been left alone since its last request? */
static int is_fresh(const struct h2_worker *w)
{
	char byte;

	return recv(w->io.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
}

static struct h2_worker *worker_for(struct h2_conn *c)
{
	struct h2_worker *w, *next;

	for (w = c->workers; w; w = next) {
		next = w->next;
		if (w->s)
			continue;
		if (is_fresh(w))
			return w;
		h2_worker_free(w);
	}
	return worker_new(c);
}

/* Its stream is gone. */
static void release(struct h2_worker *w, int is_well)
{
	struct h2_conn *c = w->c;

	w->s->worker = NULL;
	w->s = NULL;
	c->n_idle++;
	if (!is_well || w->close || c->n_idle > IDLE_MAX || w->io.in.len || w->io.out.len) {
		h2_worker_free(w);
		return;
	}
	w->scan = (struct http_scan){ 0 };
	if (stream_want(&w->io, LOOP_READ) < 0)
		h2_worker_free(w);
	else
		stream_slim(&w->io);
}

/* --- streams --- */

struct h2_stream *h2_stream_new(struct h2_conn *c, int32_t id)
{
	struct h2_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->c = c;
	s->id = id;
	s->next = c->streams;
	s->link = &c->streams;
	if (s->next)
		s->next->link = &s->next;
	c->streams = s;
	c->n_streams++;
	return s;
}

void h2_stream_free(struct h2_stream *s)
{
	if (s->worker)
		release(s->worker, s->over && s->ended);
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	s->c->n_streams--;
	h2_head_done(&s->head);
	buf_done(&s->body);
	buf_done(&s->answer_trailers);
	free(s);
}

/* --- the request --- */

/* Write what goes; what the host has taken makes room for more. */
static void flush(struct h2_worker *w)
{
	struct h2_stream *s = w->s;

	stream_flush(&w->io);
	if (s && s->unread && (!w->io.out.len || w->io.out_broke)) {
		L.nghttp2_session_consume(s->c->session, s->id, s->unread);
		s->unread = 0;
	}
}

static void want(struct h2_worker *w)
{
	int room = !w->s || (w->s->body.len < BODY_MAX && !w->s->over);

	stream_want(&w->io, room && !w->io.ended && !w->io.in_broke ? LOOP_READ : 0);
}

/* The host would be asked in HTTP/1.1, where there is no gRPC: say so in its own words. */
static uint32_t answer_grpc(struct h2_stream *s)
{
	static const struct { const char *name, *value; } fields[] = {
		{ ":status", "200" }, { "content-type", "application/grpc" }, { "grpc-status", "12" },
		{ "grpc-message", "agate looks into TLS to this host and speaks HTTP/1.1 to it: no gRPC; "
				  "excludeDomains in the configuration leaves it alone" },
	};
	nghttp2_nv nv[ARRAY_LEN(fields)];

	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		nv[i] = (nghttp2_nv){ (uint8_t *)(uintptr_t)fields[i].name, (uint8_t *)(uintptr_t)fields[i].value,
				      strlen(fields[i].name), strlen(fields[i].value), NGHTTP2_NV_FLAG_NONE };
	return L.nghttp2_submit_response(s->c->session, s->id, nv, ARRAY_LEN(nv), NULL) ? NGHTTP2_INTERNAL_ERROR : 0;
}

uint32_t h2_stream_begin(struct h2_stream *s, int ended)
{
	struct h2_worker *w;

	s->ended = ended;
	if (!h2_head_is_whole(&s->head))
		return NGHTTP2_PROTOCOL_ERROR;
	if (s->head.is_grpc)
		return answer_grpc(s);
	w = worker_for(s->c);
	if (!w)
		return NGHTTP2_REFUSED_STREAM;
	s->c->n_idle--;
	w->s = s;
	s->worker = w;
	w->is_head = !strcmp(s->head.method.data, "HEAD");
	w->chunked = !ended && !s->head.has_length;
	h2_head_write(&s->head, w->chunked, &w->io.out);
	h2_head_drop(&s->head);
	if (w->io.out.failed)
		return NGHTTP2_INTERNAL_ERROR;
	flush(w);
	want(w);
	return 0;
}

void h2_stream_data(struct h2_stream *s, const uint8_t *data, size_t len)
{
	const struct http_piece piece = { .kind = HTTP_DATA, .data = { (const char *)data, len } };
	struct h2_worker *w = s->worker;

	s->unread += len;
	if (!w->io.out_broke && len)
		forward_piece(&piece, w->chunked, &w->io.out);
	flush(w);
	want(w);
}

void h2_stream_end(struct h2_stream *s)
{
	struct h2_worker *w = s->worker;

	s->ended = 1;
	if (!w || !w->chunked)
		return;
	buf_adds(&w->io.out, "0\r\n");
	buf_add(&w->io.out, s->head.trailers.data ? s->head.trailers.data : "", s->head.trailers.len);
	buf_adds(&w->io.out, "\r\n");
	flush(w);
	want(w);
}

/* --- the answer, from HTTP/1.1 --- */

static void give_up(struct h2_stream *s, uint32_t code)
{
	s->over = 1;
	s->worker->close = 1;
	L.nghttp2_submit_rst_stream(s->c->session, NGHTTP2_FLAG_NONE, s->id, code);
}

static nghttp2_nv pair_of(struct span name, struct span value)
{
	/* HTTP/2 has names in lower case; these bytes are ours to change. */
	for (size_t i = 0; i < name.len; i++)
		if (name.p[i] >= 'A' && name.p[i] <= 'Z')
			((char *)(uintptr_t)name.p)[i] |= 0x20;
	return (nghttp2_nv){ (uint8_t *)(uintptr_t)name.p, (uint8_t *)(uintptr_t)value.p, name.len, value.len,
			     NGHTTP2_NV_FLAG_NONE };
}

/* ":status" and the fields but for those of the connection; how many. @status lives as long as @ret */
static size_t list_fields(const struct http_head *head, char status[16], nghttp2_nv *ret)
{
	size_t n = 1;

	snprintf(status, 16, "%d", head->status);	/* three digits, or it would have been refused */
	ret[0] = (nghttp2_nv){ (uint8_t *)(uintptr_t)":status", (uint8_t *)status, 7, 3, NGHTTP2_NV_FLAG_NONE };
	for (size_t i = 0; i < head->n_fields; i++)
		if (!h2_head_is_banned(head->field[i].name.p, head->field[i].name.len))
			ret[n++] = pair_of(head->field[i].name, head->field[i].value);
	return n;
}

static void put_trailers(struct h2_stream *s)
{
	nghttp2_nv nv[FIELD_MAX];
	struct http_head head = { .n_fields = 0 };
	struct http_problem bad;
	size_t n = 0;
	OWN(buf) struct buf text = { 0 };

	/* Read as a head once more: it was a list of checked lines. */
	buf_adds(&text, "HTTP/1.1 200 \r\n");
	buf_add(&text, s->answer_trailers.data, s->answer_trailers.len);
	buf_adds(&text, "\r\n");
	if (text.failed || http_parse_response(text.data, text.len, 1, &head, &bad) < 0)
		return;
	for (size_t i = 0; i < head.n_fields; i++)
		nv[n++] = pair_of(head.field[i].name, head.field[i].value);
	L.nghttp2_submit_trailer(s->c->session, s->id, nv, n);
}

/* Move pieces of the answer's body to where the session takes them from. */
static void pump(struct h2_stream *s)
{
	struct h2_worker *w = s->worker;
	size_t used = 0;

	while (s->answered && !s->over && s->body.len < BODY_MAX) {
		struct http_piece p;

		http_body_next(&w->body, w->io.in.len ? w->io.in.data + used : "", w->io.in.len - used, &p);
		used += p.used;
		if (p.kind == HTTP_DATA)
			buf_add(&s->body, p.data.p, p.data.len);
		else if (p.kind == HTTP_TRAILER)
			buf_addf(&s->answer_trailers, "%.*s: %.*s\r\n", (int)p.trailer.name.len, p.trailer.name.p,
				 (int)p.trailer.value.len, p.trailer.value.p);
		else if (p.kind == HTTP_END)
			s->over = 1;
		else if (p.kind == HTTP_BAD || (p.kind == HTTP_MORE && (w->io.ended || w->io.in_broke)))
			give_up(s, NGHTTP2_INTERNAL_ERROR);
		if (p.kind == HTTP_MORE)
			break;
	}
	buf_eat(&w->io.in, used);
	if (s->body.failed && !s->over)
		give_up(s, NGHTTP2_INTERNAL_ERROR);
}

/* The session takes bytes of the body; what waits behind them moves up. */
static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *to, size_t len, uint32_t *flags,
			 nghttp2_data_source *source, void *cookie)
{
	struct h2_stream *s = source->ptr;
	size_t n = s->body.len < len ? s->body.len : len;

	(void)session;
	(void)id;
	(void)cookie;
	if (!n && !s->over) {
		s->is_waiting = 1;
		return NGHTTP2_ERR_DEFERRED;
	}
	if (n) {
		memcpy(to, s->body.data, n);
		buf_eat(&s->body, n);
	}
	if (s->worker && !s->over) {
		pump(s);
		want(s->worker);
	}
	if (s->over && !s->body.len) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (s->answer_trailers.len) {
			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
			put_trailers(s);
		}
	}
	return (ssize_t)n;
}

static int submit_head(struct h2_stream *s, const struct http_head *head)
{
	nghttp2_data_provider from = { .source.ptr = s, .read_callback = read_body };
	struct h2_worker *w = s->worker;
	nghttp2_nv nv[FIELD_MAX];
	char status[16];
	size_t n = list_fields(head, status, nv);

	if (head->status < 200)
		return L.nghttp2_submit_headers(s->c->session, NGHTTP2_FLAG_NONE, s->id, NULL, nv, n, NULL);
	/* Where its end cannot be told from a break it is no answer; http_proxy.c gives each one an end. */
	if (head->framing == HTTP_UNTIL_CLOSE)
		return -1;
	http_body_begin(&w->body, head);
	w->close |= head->close;
	s->answered = 1;
	s->over = w->body.state == HTTP_BODY_DONE;
	return L.nghttp2_submit_response(s->c->session, s->id, nv, n, s->over ? NULL : &from);
}

/* Heads as long as there are some. */
static void receive_heads(struct h2_stream *s)
{
	struct h2_worker *w = s->worker;

	while (!s->answered && !s->over) {
		struct http_problem bad;
		struct http_head head;
		long size = w->io.in.len ? http_scan(&w->scan, w->io.in.data, w->io.in.len, &bad) : 0;

		if (!size && !w->io.ended && !w->io.in_broke)
			return;
		if (!size) {
			/* Closed between two requests: nothing of this one was looked at. */
			give_up(s, w->io.in.len ? NGHTTP2_INTERNAL_ERROR : NGHTTP2_REFUSED_STREAM);
			return;
		}
		if (size < 0 || http_parse_response(w->io.in.data, (size_t)size, w->is_head, &head, &bad) < 0 ||
		    submit_head(s, &head) != 0) {
			give_up(s, NGHTTP2_INTERNAL_ERROR);
			return;
		}
		w->scan = (struct http_scan){ 0 };
		buf_eat(&w->io.in, (size_t)size);
	}
}

static void on_worker(void *cookie, int fd, unsigned int ready)
{
	struct h2_worker *w = cookie;
	struct h2_conn *c = w->c;
	struct h2_stream *s = w->s;

	(void)fd;
	if (!s) {
		/* Idle: it ended, or says what nobody asked for. */
		h2_worker_free(w);
		return;
	}
	if (ready & (LOOP_READ | LOOP_HUP))
		stream_fill(&w->io, s->answered ? BODY_MAX : IN_MAX);
	flush(w);
	receive_heads(s);
	pump(s);
	want(w);
	if (s->is_waiting && (s->body.len || s->over)) {
		s->is_waiting = 0;
		L.nghttp2_session_resume_data(c->session, s->id);
	}
	h2_run(c);
}
