#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/own.h"
#include "sandbox/egress/egress_internal.h"

enum { CLIENT, UPSTREAM };

/*
 * Flow i leads away from side i. When a side ends, the other is told so
 * (half-close) and may go on talking. When the host outside breaks, what it
 * sent is still delivered, then the client is reset.
 */
struct tunnel {
	struct client client;
	struct egress *eg;
	int fd[2];
	struct watch *watch[2];
	struct flow flow[2];
	enum flow_state state[2];	/* what flow i waits for */
	int done[2];		/* flow i has nothing more to do */
	int up_broke;		/* before it had ended in good order */
	struct link_info link;
};

enum ending { GRACEFUL, BROKEN };

static void tunnel_free(struct tunnel *t, enum ending how)
{
	client_remove(t->eg, &t->client);
	t->link.bytes_out += t->flow[CLIENT].moved;
	t->link.bytes_in += t->flow[UPSTREAM].moved;
	link_end(t->eg, &t->link);
	for (int i = 0; i < 2; i++) {
		watch_end(t->watch[i]);
		flow_done(&t->flow[i], &t->eg->pipes);
		if (t->fd[i] >= 0 && how == BROKEN)
			socket_reset(t->fd[i]);
		else if (t->fd[i] >= 0)
			close(t->fd[i]);
	}
	free(t);
}

static void expire(struct client *c)
{
	tunnel_free((struct tunnel *)c, BROKEN);
}

/* Both flows are done: say good-bye to the client as the host outside did. */
static void finish(struct tunnel *t)
{
	struct buf nothing = { 0 };

	if (t->up_broke || !t->flow[CLIENT].ended) {
		int fd = fd_take(&t->fd[CLIENT]);

		watch_end(t->watch[CLIENT]);
		t->watch[CLIENT] = NULL;
		if (t->up_broke)
			linger_abort(t->eg, fd, &nothing);
		else
			linger_start(t->eg, fd, &nothing);
	}
	tunnel_free(t, GRACEFUL);
}

/* What state @s of flow @i means. 0, or -1 when the client is gone. */
static int settle(struct tunnel *t, int i, enum flow_state s)
{
	switch (s) {
	case FLOW_DONE:
		t->done[i] = 1;
		return shutdown(t->fd[!i], SHUT_WR) < 0 && i == UPSTREAM && errno != ENOTCONN ? -1 : 0;
	case FLOW_FROM_BROKE:
	case FLOW_TO_BROKE:
		if ((s == FLOW_FROM_BROKE) == (i == CLIENT))
			return -1;
		/* The host outside takes no more, or sends no more; the other flow goes on to its end. */
		t->up_broke |= !t->done[UPSTREAM];
		t->done[i] = 1;
		if (i == UPSTREAM)
			t->done[CLIENT] = 1;
		return 0;
	default:
		return 0;
	}
}

/* Wait for what each flow needs. */
static int await(struct tunnel *t)
{
	const struct egress_limits *limits = &t->eg->cfg.limits;
	unsigned int want[2] = { 0, 0 };

	for (int i = 0; i < 2; i++) {
		if (t->done[i])
			continue;
		if (t->state[i] == FLOW_WANTS_WRITE)
			want[!i] |= LOOP_WRITE;
		else
			want[i] |= LOOP_READ;
	}
	client_touch(&t->client,
		     t->done[CLIENT] || t->done[UPSTREAM] ? limits->half_closed_ms : limits->tunnel_ms);
	for (int i = 0; i < 2; i++)
		if (watch_events(t->watch[i], want[i]) < 0)
			return -1;
	return 0;
}

/* Move the flows that are due. Frees @t when it is over. */
static void run(struct tunnel *t, const int due[2])
{
	for (int i = 0; i < 2; i++) {
		if (t->done[i] || !due[i])
			continue;
		t->state[i] = flow_move(&t->flow[i], &t->eg->pipes);
		if (settle(t, i, t->state[i]) < 0) {
			tunnel_free(t, BROKEN);
			return;
		}
	}
	if (t->done[CLIENT] && t->done[UPSTREAM])
		finish(t);
	else if (await(t) < 0)
		tunnel_free(t, BROKEN);
}

static void on_ready(void *cookie, int fd, unsigned int ready)
{
	struct tunnel *t = cookie;
	int side = fd == t->fd[UPSTREAM], due[2];

	/* What the side sends is flow @side, what it takes is the other one. */
	due[side] = (ready & (LOOP_READ | LOOP_HUP)) != 0;
	due[!side] = (ready & (LOOP_WRITE | LOOP_HUP)) != 0;
	run(t, due);
}

void tunnel_start(struct egress *eg, int client_fd, int up_fd, struct buf *to_up, struct buf *to_client,
		  struct link_info *link)
{
	static const int both[2] = { 1, 1 };
	struct tunnel *t = calloc(1, sizeof(*t));

	link->bytes_out += to_up->len;
	if (!t) {
		close(client_fd);
		close(up_fd);
		buf_done(to_up);
		buf_done(to_client);
		link_end(eg, link);
		return;
	}
	t->eg = eg;
	t->fd[CLIENT] = client_fd;
	t->fd[UPSTREAM] = up_fd;
	flow_init(&t->flow[CLIENT], client_fd, up_fd, FLOW_TO_THE_END);
	flow_init(&t->flow[UPSTREAM], up_fd, client_fd, FLOW_TO_THE_END);
	t->flow[CLIENT].early = *to_up;
	t->flow[UPSTREAM].early = *to_client;
	*to_up = *to_client = (struct buf){ 0 };
	t->link = *link;
	*link = (struct link_info){ 0 };
	t->client.expire = expire;
	client_add(eg, &t->client, eg->cfg.limits.tunnel_ms);
	t->watch[CLIENT] = loop_fd(eg->loop, client_fd, 0, on_ready, t);
	t->watch[UPSTREAM] = loop_fd(eg->loop, up_fd, 0, on_ready, t);
	if (t->watch[CLIENT] && t->watch[UPSTREAM])
		run(t, both);
	else
		tunnel_free(t, BROKEN);
}
