#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/io.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/own.h"
#include "sandbox/egress/publish.h"
#include "sandbox/egress/report.h"

enum {
	QUEUE_MAX_BYTES = 1 << 20,
	PATIENCE_MS = 30 * 1000,	/* for a supervisor that reads nothing at all */
	TURN_MESSAGES = 64,
};

struct report_item {
	struct report_item *next;
	size_t len;
	char text[];
};

static void fail(struct report *r)
{
	r->failed = 1;
	loop_stop(r->loop);
}

/* 1: sent; 0: it would block; -1: the supervisor is gone. */
static int try_send(const struct report *r, const char *text, size_t len)
{
	ssize_t n;

	do
		n = send(r->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return 1;
	return errno == EAGAIN || errno == ENOBUFS ? 0 : -1;
}

/* Send what waits, as far as it goes. */
static int flush(struct report *r)
{
	while (r->first) {
		struct report_item *item = r->first;
		int sent = try_send(r, item->text, item->len);

		if (sent <= 0)
			return sent;
		r->first = item->next;
		if (!r->first)
			r->last = &r->first;
		r->queued_bytes -= item->len;
		free(item);
	}
	return 0;
}

/* One message of the supervisor: 1; 0: there is none; -1: its end, or none that can be understood. */
static int hear_one(struct report *r)
{
	OWN(json) struct json *msg = NULL;
	OWN(fd) int fd = -1;
	char text[REPORT_MAX];
	size_t n_fds = 0;
	ssize_t n = recv(r->fd, text, 1, MSG_DONTWAIT | MSG_PEEK);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n > 0)
		n = io_recv_fds(r->fd, text, sizeof(text), &fd, 1, &n_fds);
	if (!n)
		return -1;
	if (n > 0 && json_parse(text, (size_t)n, NULL, &msg, NULL) == 0 && r->heard &&
	    r->heard(r->cookie, msg, &fd) == 0)
		return 1;
	r->failed = 1;
	return -1;
}

static void hear(struct report *r)
{
	int s = 1;

	for (int i = 0; s > 0 && i < TURN_MESSAGES; i++)
		s = hear_one(r);
	if (s < 0)
		loop_stop(r->loop);
}

static void on_control(void *cookie, int fd, unsigned int ready)
{
	struct report *r = cookie;

	(void)fd;
	if (ready & LOOP_WRITE && flush(r) < 0)
		fail(r);
	if (ready & (LOOP_READ | LOOP_HUP))
		hear(r);
	watch_events(r->watch, LOOP_READ | (r->first ? LOOP_WRITE : 0));
}

int report_init(struct report *r, struct loop *loop, int fd)
{
	*r = (struct report){ .loop = loop, .fd = fd };
	r->last = &r->first;
	r->watch = loop_fd(loop, fd, LOOP_READ, on_control, r);
	return r->watch ? 0 : -1;
}

void report_hear(struct report *r, int (*heard)(void *cookie, const struct json *msg, int *fd), void *cookie)
{
	r->heard = heard;
	r->cookie = cookie;
}

/* The queue is full: nothing else matters until the supervisor reads. */
static int wait_for_room(struct report *r)
{
	struct pollfd p = { .fd = r->fd, .events = POLLOUT };

	while (r->queued_bytes > QUEUE_MAX_BYTES) {
		int n = poll(&p, 1, PATIENCE_MS);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || flush(r) < 0)
			return -1;
	}
	return 0;
}

static int enqueue(struct report *r, const char *text, size_t len)
{
	struct report_item *item = malloc(sizeof(*item) + len);

	if (!item)
		return -1;
	item->next = NULL;
	item->len = len;
	memcpy(item->text, text, len);
	*r->last = item;
	r->last = &item->next;
	r->queued_bytes += len;
	watch_events(r->watch, LOOP_READ | LOOP_WRITE);
	return wait_for_room(r);
}

/* @msg: NULL when there was no memory for it. */
static void tell(struct report *r, const struct json *msg)
{
	OWN(mem) char *text = msg ? json_print(msg) : NULL;
	int sent = 0;

	if (r->failed)
		return;
	if (!text || strlen(text) > REPORT_MAX) {
		fail(r);
		return;
	}
	if (!r->first)
		sent = try_send(r, text, strlen(text));
	if (sent < 0 || (!sent && enqueue(r, text, strlen(text)) < 0))
		fail(r);
}

void report_done(struct report *r)
{
	watch_end(r->watch);
	flush(r);
	while (r->first) {
		struct report_item *item = r->first;

		r->first = item->next;
		free(item);
	}
	*r = (struct report){ .fd = -1 };
}

/* One more string; forgets @msg and frees it when there is no memory. */
static void put_str(struct json **msg, const char *key, const char *value)
{
	if (*msg && !json_add_str(*msg, key, value)) {
		json_free(*msg);
		*msg = NULL;
	}
}

static void put_int(struct json **msg, const char *key, int64_t value)
{
	if (*msg && !json_add_int(*msg, key, value)) {
		json_free(*msg);
		*msg = NULL;
	}
}

static struct json *message(const char *type)
{
	struct json *msg = json_new_object();

	put_str(&msg, "type", type);
	return msg;
}

void report_ready(struct report *r)
{
	OWN(json) struct json *msg = message("ready");

	tell(r, msg);
}

void report_ca(struct report *r, const char *pem)
{
	OWN(json) struct json *msg = message("ca");

	put_str(&msg, "pem", pem);
	tell(r, msg);
}

void report_error(struct report *r, const char *reason)
{
	OWN(json) struct json *msg = message("error");

	put_str(&msg, "reason", reason);
	tell(r, msg);
}

void report_violation(struct report *r, const struct destination *d, const struct egress_verdict *v,
		      uint16_t peer_port)
{
	OWN(json) struct json *msg = message("violation");

	put_str(&msg, "action", d->action ? d->action : "network-outbound");
	put_str(&msg, "target", d->text);
	put_str(&msg, "rule", v->rule);
	put_str(&msg, "reason", v->reason);
	put_str(&msg, "protocol", d->protocol);
	put_int(&msg, "peerPort", peer_port);
	tell(r, msg);
}

void report_connection(struct report *r, const struct connection_record *c)
{
	OWN(json) struct json *msg = message("connection");

	put_str(&msg, "host", c->host);
	put_int(&msg, "port", c->port);
	put_str(&msg, "protocol", c->protocol);
	put_int(&msg, "bytesIn", (int64_t)c->bytes_in);
	put_int(&msg, "bytesOut", (int64_t)c->bytes_out);
	put_int(&msg, "ms", c->ms);
	if (c->error)
		put_str(&msg, "error", c->error);
	if (c->peer_port)
		put_int(&msg, "peerPort", c->peer_port);
	tell(r, msg);
}

void report_connect_inside(struct report *r, int64_t id, uint16_t port)
{
	OWN(json) struct json *msg = message("connect-inside");

	put_int(&msg, "id", id);
	put_int(&msg, "port", port);
	tell(r, msg);
}

void report_published(struct report *r, const struct publish_rule *rule)
{
	OWN(json) struct json *msg = message("published");
	struct host h;

	host_from_ip(&rule->ip, &h);
	put_str(&msg, "address", h.text);
	put_int(&msg, "port", rule->port);
	put_int(&msg, "inside", rule->inside);
	tell(r, msg);
}
