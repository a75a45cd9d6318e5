/*
 * Behind an upgrade the bytes of a connection that was looked into are no HTTP
 * any more. They still change hands in user space, since TLS ends on both sides.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "sandbox/egress/egress_internal.h"
#include "sandbox/egress/stream.h"

enum { CLIENT, UPSTREAM, MOST_BYTES = 128 << 10 };

struct relay {
	struct client client;
	struct egress *eg;
	struct stream side[2];
	int told[2];		/* that side heard that the other has ended */
	struct link_info link;
};

static void relay_free(struct relay *r)
{
	client_remove(r->eg, &r->client);
	r->link.bytes_in += r->side[UPSTREAM].bytes_in;
	r->link.bytes_out += r->side[UPSTREAM].bytes_out;
	link_end(r->eg, &r->link);
	for (int i = 0; i < 2; i++) {
		int fd = stream_take_fd(&r->side[i]);

		if (fd >= 0 && (r->side[!i].in_broke || r->side[i].out_broke))
			socket_reset(fd);
		else if (fd >= 0)
			close(fd);
		stream_close(&r->side[i]);
	}
	free(r);
}

static void expire(struct client *c)
{
	relay_free((struct relay *)c);
}

/* Move what one side has read to the other. */
static void move(struct stream *from, struct stream *to)
{
	if (from->in.len && to->out.len < MOST_BYTES && buf_add(&to->out, from->in.data, from->in.len) == 0)
		buf_eat(&from->in, from->in.len);
	if (to->out.failed)
		to->out_broke = 1;
	stream_flush(to);
}

/* That side has said all, and all of it was passed on: say so to the other. */
static void pass_end(struct relay *r, int i)
{
	struct stream *from = &r->side[i], *to = &r->side[!i];

	if (!from->ended || from->in.len || stream_waiting(to) || r->told[!i])
		return;
	r->told[!i] = 1;
	stream_end(to);
}

static void run(struct relay *r)
{
	const struct egress_limits *limits = &r->eg->cfg.limits;

	for (int i = 0; i < 2; i++) {
		move(&r->side[i], &r->side[!i]);
		pass_end(r, i);
	}
	for (int i = 0; i < 2; i++) {
		struct stream *s = &r->side[i];

		if (s->in_broke || s->out_broke ||
		    stream_want(s, s->ended || s->in.len >= MOST_BYTES ? 0 : LOOP_READ) < 0) {
			relay_free(r);
			return;
		}
	}
	if (r->told[CLIENT] && r->told[UPSTREAM] && !stream_waiting(&r->side[CLIENT]) &&
	    !stream_waiting(&r->side[UPSTREAM])) {
		relay_free(r);
		return;
	}
	client_touch(&r->client, r->told[CLIENT] || r->told[UPSTREAM] ? limits->half_closed_ms : limits->tunnel_ms);
}

static void on_ready(void *cookie, int fd, unsigned int ready)
{
	struct relay *r = cookie;
	struct stream *s = &r->side[fd == r->side[UPSTREAM].fd];

	if (ready & (LOOP_READ | LOOP_HUP) && !s->ended)
		stream_fill(s, MOST_BYTES);
	if (ready & LOOP_WRITE)
		stream_flush(s);
	run(r);
}

void tls_tunnel_start(struct egress *eg, struct stream *down, struct stream *up, struct link_info *link)
{
	struct relay *r = calloc(1, sizeof(*r));
	struct stream *from[2] = { down, up };

	if (!r) {
		stream_close(down);
		stream_close(up);
		link_end(eg, link);
		return;
	}
	r->eg = eg;
	r->link = *link;
	*link = (struct link_info){ 0 };
	r->client.expire = expire;
	client_add(eg, &r->client, eg->cfg.limits.tunnel_ms);
	for (int i = 0; i < 2; i++)
		stream_move(from[i], &r->side[i], eg->loop, on_ready, r);
	run(r);
}
