#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/own.h"
#include "sandbox/egress/egress_internal.h"
#include "sandbox/egress/sni.h"

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
	struct guard *guard;	/* NULL: what the client says is not looked at, or not any more */
};

/* Until the client's first bytes are understood they wait in its flow. */
struct guard {
	struct destination to;
	uint16_t peer_port;
	int64_t until_ms;	/* by then the name has to be there; 0: nothing has come */
};

enum { HELLO_MS = 10 * 1000 };

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
	free(t->guard);
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

/* --- the name that TLS asks for --- */

/* The client hears why as TLS says it; frees @t. */
static void refuse_name(struct tunnel *t, const char *reason)
{
	static const unsigned char alert[] = { 0x15, 3, 3, 0, 2, 2, 112 };	/* fatal: unrecognized_name */
	struct egress_verdict v = { .why = REFUSAL_OTHER_NAME };
	struct buf out = { 0 };
	int fd = fd_take(&t->fd[CLIENT]);

	snprintf(v.rule, sizeof(v.rule), "%s", refusal_word(v.why));
	snprintf(v.reason, sizeof(v.reason), "%s", reason);
	report_violation(&t->eg->report, &t->guard->to, &v, t->guard->peer_port);
	watch_end(t->watch[CLIENT]);
	t->watch[CLIENT] = NULL;
	buf_add(&out, alert, sizeof(alert));
	linger_start(t->eg, fd, &out);
	tunnel_free(t, BROKEN);
}

/* May a tunnel that was opened to one host be used for @name? */
static int may_ask_for(const struct tunnel *t, const char *name)
{
	const struct destination *to = &t->guard->to;
	struct egress_verdict v;
	const char *why;
	struct host h;

	if (host_parse(name, strlen(name), &h, &why) < 0)
		return 0;
	if (!strcmp(h.text, to->host.text))
		return 1;
	policy_judge(&t->eg->cfg.policy, &h, to->port, &v);
	/* One whose requests are looked at is not to be had without that. */
	return v.allowed && !tls_config_looks(&t->eg->cfg.tls, &h, to->port);
}

/* Read the client's first bytes. 1: they may pass; 0: more are needed; -1: @t is gone */
static int look(struct tunnel *t)
{
	struct buf *early = &t->flow[CLIENT].early;
	char name[SNI_NAME_SIZE], reason[SNI_NAME_SIZE + 64];
	char *to = early->len < SNI_HELLO_MAX ? buf_room(early, SNI_HELLO_MAX - early->len) : NULL;
	ssize_t n = to ? recv(t->fd[CLIENT], to, SNI_HELLO_MAX - early->len, MSG_DONTWAIT) : 0;
	enum sni s;

	buf_grew(early, n > 0 ? (size_t)n : 0);
	t->flow[CLIENT].moved += n > 0 ? (size_t)n : 0;
	s = early->failed ? SNI_BAD : sni_read(early->data ? early->data : "", early->len, name);
	if (early->len && !t->guard->until_ms)
		t->guard->until_ms = clock_mono_ms() + HELLO_MS;
	if (s == SNI_MORE && n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (s == SNI_MORE && n > 0)
		return 0;
	/* What ended before it was whole is for the host to make nothing of. */
	if (s == SNI_NAME && !may_ask_for(t, name)) {
		snprintf(reason, sizeof(reason), "TLS asks for '%s' on a connection to another host", name);
		refuse_name(t, reason);
		return -1;
	}
	if (s == SNI_BAD) {
		refuse_name(t, "TLS begins in a way that can be read as more than one name");
		return -1;
	}
	free(t->guard);
	t->guard = NULL;
	return 1;
}

/* --- moving --- */

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
	if (t->guard && t->guard->until_ms)
		t->client.deadline_ms = t->guard->until_ms;
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
		if (i == CLIENT && t->guard) {
			int seen = look(t);

			if (seen < 0)
				return;
			t->state[i] = FLOW_WANTS_READ;
			if (!seen)
				continue;
		}
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

static void start(struct egress *eg, int client_fd, int up_fd, struct buf *to_up, struct buf *to_client,
		  struct link_info *link, struct guard *guard)
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
		free(guard);
		return;
	}
	t->eg = eg;
	t->guard = guard;
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

void tunnel_start(struct egress *eg, int client_fd, int up_fd, struct buf *to_up, struct buf *to_client,
		  struct link_info *link)
{
	start(eg, client_fd, up_fd, to_up, to_client, link, NULL);
}

void tunnel_start_to(struct egress *eg, int client_fd, int up_fd, struct buf *to_up, struct buf *to_client,
		     struct link_info *link, const struct destination *to, uint16_t peer_port)
{
	struct guard *g = calloc(1, sizeof(*g));

	if (!g) {
		close(client_fd);
		close(up_fd);
		buf_done(to_up);
		buf_done(to_client);
		link_end(eg, link);
		return;
	}
	g->to = *to;
	g->peer_port = peer_port;
	start(eg, client_fd, up_fd, to_up, to_client, link, g);
}
