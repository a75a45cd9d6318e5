#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/own.h"
#include "sandbox/egress/confine.h"
#include "sandbox/egress/egress.h"
#include "sandbox/egress/egress_internal.h"
#include "sandbox/egress/resolver.h"
#include "sandbox/egress/tls.h"
#include "sandbox/egress/tls_trust.h"

enum {
	CONFIG_MAX_BYTES = 16 << 20,
	TICK_MS = 500,
	ACCEPT_TURN = 64,	/* connections accepted before others get their turn */
	FDS_SPARE = 64,		/* kept for everything that is no connection */
};

enum { FDS_MOST = 24 };	/* io_recv_fds() takes no more */

/* --- the list of clients --- */

static void resume_accepting(struct egress *eg);
static void accept_transparent(const struct listener *l, int fd, uint16_t peer_port);

/* Nobody to look after: an idle run should not wake this process. */
static void rest(struct egress *eg)
{
	if (eg->clients || eg->paused)
		return;
	watch_end(eg->ticker);
	eg->ticker = NULL;
}

static void on_tick(void *cookie)
{
	struct egress *eg = cookie;
	int64_t now = clock_mono_ms();
	struct client *c, *next;

	for (c = eg->clients; c; c = next) {
		next = c->next;
		/* A client may hand its socket on to a new one, which joins the list at its head. */
		if (c->deadline_ms <= now)
			c->expire(c);
	}
	resume_accepting(eg);
	rest(eg);
}

void client_touch(struct client *c, int64_t ms)
{
	c->deadline_ms = clock_mono_ms() + ms;
}

void client_add(struct egress *eg, struct client *c, int64_t ms)
{
	client_touch(c, ms);
	c->next = eg->clients;
	c->link = &eg->clients;
	if (c->next)
		c->next->link = &c->next;
	eg->clients = c;
	eg->n_clients++;
	if (!eg->ticker)
		eg->ticker = loop_timer(eg->loop, TICK_MS, TICK_MS, on_tick, eg);
}

void client_remove(struct egress *eg, struct client *c)
{
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	eg->n_clients--;
	resume_accepting(eg);
	rest(eg);
}

/* --- the record of connections --- */

void link_record(const struct destination *d, struct link_info *ret)
{
	*ret = (struct link_info){
		.host = strdup(d->host.text),
		.port = d->port,
		.protocol = d->protocol,
		.start_ms = clock_mono_ms(),
		.peer_port = d->peer_port,
	};
}

void link_begin(struct egress *eg, const struct destination *d, struct link_info *ret)
{
	*ret = (struct link_info){ 0 };
	if (eg->cfg.net_log)
		link_record(d, ret);
}

void link_end(struct egress *eg, struct link_info *l)
{
	const struct connection_record record = {
		.host = l->host,
		.port = l->port,
		.protocol = l->protocol,
		.bytes_in = l->from_outside ? l->bytes_out : l->bytes_in,
		.bytes_out = l->from_outside ? l->bytes_in : l->bytes_out,
		.ms = clock_mono_ms() - l->start_ms,
		.error = l->error,
		.peer_port = l->peer_port,
	};

	if (l->host)
		report_connection(&eg->report, &record);
	free(l->host);
	*l = (struct link_info){ 0 };
}

/* --- accepting --- */

static void set_accepting(struct egress *eg, int on)
{
	eg->paused = !on;
	for (size_t i = 0; i < eg->n_listeners; i++)
		if (eg->listeners[i].accepted != accept_transparent)
			watch_events(eg->listeners[i].watch, on ? LOOP_READ : 0);
	/* Whatever was in the way may go away without an event. */
	if (!on && !eg->ticker)
		eg->ticker = loop_timer(eg->loop, TICK_MS, TICK_MS, on_tick, eg);
}

static void resume_accepting(struct egress *eg)
{
	if (eg->paused && eg->n_clients < eg->cfg.limits.max_clients)
		set_accepting(eg, 1);
}

static void on_connection(void *cookie, int fd, unsigned int ready)
{
	struct listener *l = cookie;
	struct egress *eg = l->eg;

	(void)ready;
	for (int i = 0; i < ACCEPT_TURN; i++) {
		struct sockaddr_storage ss = { 0 };
		socklen_t len = sizeof(ss);
		int one = 1, got;

		/* A transparent one was counted when it knocked. */
		if (eg->n_clients >= eg->cfg.limits.max_clients && l->accepted != accept_transparent) {
			set_accepting(eg, 0);
			return;
		}
		got = accept4(fd, (struct sockaddr *)&ss, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (got < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
			set_accepting(eg, 0);
		/* Anything else is the matter of one connection, or there is none left. */
		if (got < 0)
			return;
		setsockopt(got, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		l->accepted(l, got, sockaddr_port(&ss));
	}
}

int listener_add(struct egress *eg, int fd, accepted_fn *accepted, const void *what, struct err *err)
{
	struct listener *l = &eg->listeners[eg->n_listeners];
	int flags = fcntl(fd, F_GETFL), listening = 0;
	socklen_t len = sizeof(listening);

	assert(eg->n_listeners < EGRESS_LISTENERS_MAX);
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) < 0 || !listening || flags < 0)
		return err_set(err, ERR_INPUT, 0, "egress: a descriptor that came is no listening socket");
	if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return err_set(err, ERR_SYS, errno, "egress: cannot set up a listening socket");
	*l = (struct listener){ .eg = eg, .fd = fd, .accepted = accepted, .what = what };
	l->watch = loop_fd(eg->loop, fd, LOOP_READ, on_connection, l);
	if (!l->watch)
		return err_set(err, ERR_SYS, errno, "egress: cannot watch a listening socket");
	eg->n_listeners++;
	return 0;
}

static void accept_http(const struct listener *l, int fd, uint16_t peer_port)
{
	http_proxy_start(l->eg, fd, peer_port);
}

static void accept_socks(const struct listener *l, int fd, uint16_t peer_port)
{
	socks_proxy_start(l->eg, fd, peer_port);
}

static void accept_dns(const struct listener *l, int fd, uint16_t peer_port)
{
	dns_stub_accept(l->eg, fd, peer_port);
}

static void accept_transparent(const struct listener *l, int fd, uint16_t peer_port)
{
	transparent_accept(l->eg, fd, peer_port);
}

static void accept_host_port(const struct listener *l, int fd, uint16_t peer_port)
{
	host_port_accept(l->eg, fd, peer_port, *(const uint16_t *)l->what);
}

/* Who serves what; NULL is no listening socket. */
static accepted_fn *const services[EGRESS_FD_NUM] = {
	[EGRESS_FD_HTTP] = accept_http,
	[EGRESS_FD_SOCKS] = accept_socks,
	[EGRESS_FD_DNS_TCP] = accept_dns,
	[EGRESS_FD_TRANSPARENT4] = accept_transparent,
	[EGRESS_FD_TRANSPARENT6] = accept_transparent,
};

/* --- what the supervisor says later --- */

static const struct {
	const char *type;
	int (*heard)(struct egress *eg, const struct json *msg, int *fd);
} messages[] = {
	{ "caller", transparent_heard },
	{ "connected-inside", publish_heard },
};

static int on_message(void *cookie, const struct json *msg, int *fd)
{
	const char *type = json_str(json_get(msg, "type"));

	for (size_t i = 0; type && i < ARRAY_LEN(messages); i++)
		if (!strcmp(type, messages[i].type))
			return messages[i].heard(cookie, msg, fd);
	return -1;
}

/* --- start and end --- */

/* Each connection takes two descriptors and, while bytes wait in it, a pipe's two. */
static void bound_clients(struct egress_limits *limits)
{
	long files = sysconf(_SC_OPEN_MAX), most = files > FDS_SPARE * 2 ? (files - FDS_SPARE) / 4 : 16;

	if (limits->max_clients > most)
		limits->max_clients = most;
}

/* The descriptors of the first message, -1 where none is. */
struct given {
	int fd[FDS_MOST];
	size_t n;
};

static void close_given(struct given *g)
{
	for (size_t i = 0; i < g->n; i++)
		close(g->fd[i]);
	g->n = 0;
}

/* The first message and what comes with it. */
static int receive_config(int control_fd, struct given *ret, struct err *err)
{
	char text[1024];
	ssize_t len = io_recv_fds(control_fd, text, sizeof(text), ret->fd, FDS_MOST, &ret->n);
	OWN(json) struct json *msg = NULL;
	const char *type;

	if (len < 0)
		return err_set(err, ERR_SYS, errno, "egress: cannot receive the configuration");
	if (!len)
		return err_set(err, ERR_INPUT, 0, "egress: the supervisor ended before it sent the configuration");
	if (json_parse(text, (size_t)len, NULL, &msg, err) < 0)
		return err_wrap(err, "egress: first message");
	type = json_str(json_get(msg, "type"));
	if (!type || strcmp(type, "config") || ret->n <= EGRESS_FD_SOCKS)
		return err_set(err, ERR_INPUT, 0,
			       "egress: the first message is not a configuration with its descriptors, but has %zu",
			       ret->n);
	return 0;
}

/*
 * Mapped, not copied: what is parsed out of it is all that stays. Secrets
 * behind the configuration are wiped there, for whoever else holds the file.
 */
static int read_config(int fd, struct egress_config *ret, struct err *err)
{
	struct stat st;
	char *text;
	size_t size, json_size;
	int r, is_sealed = 0;

	if (fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > CONFIG_MAX_BYTES)
		return err_set(err, ERR_INPUT, 0, "egress: the configuration is no memory file of a fair size");
	size = (size_t)st.st_size;
	text = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (text == MAP_FAILED) {
		is_sealed = 1;
		text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	if (text == MAP_FAILED)
		return err_set(err, ERR_SYS, errno, "egress: cannot read the configuration");
	json_size = strnlen(text, size);
	if (is_sealed && json_size < size)
		r = err_set(err, ERR_INPUT, 0, "egress: secrets in a file that cannot be wiped");
	else
		r = config_parse(text, size, ret, err);
	if (!is_sealed)
		explicit_bzero(text, size);
	munmap(text, size);
	return r;
}

/* --- TLS --- */

static int trust(struct egress *eg, struct err *err)
{
	const struct strv *extra = &eg->cfg.tls.extra;
	OWN(buf) struct buf pem = { 0 };

	if (trust_add_host(&pem, err) < 0)
		return -1;
	for (size_t i = 0; i < extra->n; i++)
		if (trust_add_file(extra->v[i], &pem, err) < 0)
			return -1;
	return tls_world_trust(eg->tls, pem.data, pem.len, err);
}

/* The authority is told first: the supervisor gets on with it while the roots are read. */
static int prepare_tls(struct egress *eg, struct err *err)
{
	OWN(buf) struct buf ca = { 0 };

	if (!tls_config_is_used(&eg->cfg.tls))
		return 0;
	eg->tls = tls_world_new(eg->cfg.run, err);
	if (!eg->tls)
		return -1;
	if (tls_world_ca(eg->tls, &ca) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	report_ca(&eg->report, ca.data);
	return trust(eg, err);
}

/* The fixed descriptors come first, then one for each port of the host. */
static int serve(struct egress *eg, const struct given *given, struct err *err)
{
	const struct host_ports *hp = &eg->cfg.host_ports;
	size_t fixed = given->n - hp->n;

	if (given->n < hp->n || fixed <= EGRESS_FD_SOCKS || fixed > EGRESS_FD_NUM)
		return err_set(err, ERR_INPUT, 0, "egress: %zu descriptors came, which is not what is configured",
			       given->n);
	for (size_t i = EGRESS_FD_HTTP; i < fixed; i++)
		if (services[i] && listener_add(eg, given->fd[i], services[i], NULL, err) < 0)
			return -1;
	for (size_t i = 0; i < hp->n; i++)
		if (listener_add(eg, given->fd[fixed + i], accept_host_port, &hp->port[i], err) < 0)
			return -1;
	for (size_t i = EGRESS_FD_TRANSPARENT4; i < fixed; i += 2)
		if (i + 1 == fixed || transparent_start(eg, given->fd[i + 1], i == EGRESS_FD_TRANSPARENT4 ? AF_INET : AF_INET6) < 0)
			return err_set(err, ERR_INPUT, 0, "egress: cannot use a descriptor for who knocks");
	if (fixed > EGRESS_FD_DNS_UDP &&
	    dns_stub_start(eg, given->fd[EGRESS_FD_DNS_UDP], fixed > EGRESS_FD_TRANSPARENT6, err) < 0)
		return -1;
	return publish_start(eg, err);
}

static int start(struct egress *eg, int control_fd, struct given *given, struct err *err)
{
	if (receive_config(control_fd, given, err) < 0 ||
	    read_config(given->fd[EGRESS_FD_CONFIG], &eg->cfg, err) < 0)
		return -1;
	if (prepare_tls(eg, err) < 0)
		return -1;
	bound_clients(&eg->cfg.limits);
	report_hear(&eg->report, on_message, eg);
	return confine_serve(chain_uses_paths(&eg->cfg.chain) ? CONFINE_UNIX : 0, err) < 0 ? -1 : serve(eg, given, err);
}

static void stop(struct egress *eg)
{
	for (size_t i = 0; i < eg->n_listeners; i++)
		watch_end(eg->listeners[i].watch);
	eg->n_listeners = 0;
	publish_stop(eg);
	transparent_stop(eg);
	dns_stub_stop(eg);
	/* One that says good-bye first joins the list anew and is met again. */
	while (eg->clients)
		eg->clients->expire(eg->clients);
	watch_end(eg->ticker);
	transparent_done(eg);
	pool_done(&eg->pool);
	pipes_done(&eg->pipes);
	tls_world_free(eg->tls);
	config_done(&eg->cfg);
}

/* Nobody can be looked up any more: better no run than one that fails at random. */
static void on_resolver_died(void *cookie)
{
	struct egress *eg = cookie;

	eg->resolver_died = 1;
	loop_stop(eg->loop);
}

static int open_loop(struct egress *eg, int control_fd, struct err *err)
{
	eg->loop = loop_new(err);
	if (!eg->loop)
		return -1;
	if (resolver_attach(eg->resolver, eg->loop, on_resolver_died, eg) < 0)
		return err_set(err, ERR_SYS, errno, "egress: cannot watch the resolver");
	if (report_init(&eg->report, eg->loop, control_fd) < 0)
		return err_set(err, ERR_SYS, errno, "egress: cannot watch the control socket");
	return 0;
}

int egress_main(int control_fd, struct err *err)
{
	struct egress eg = { .dns = { .fd = -1 } };
	struct given given = { .n = 0 };
	int r;

	if (confine_start(control_fd, err) < 0)
		return -1;
	eg.resolver = resolver_start(err);
	if (!eg.resolver)
		return -1;
	if (open_loop(&eg, control_fd, err) < 0) {
		resolver_free(eg.resolver);
		loop_free(eg.loop);
		return -1;
	}
	r = start(&eg, control_fd, &given, err);
	if (r == 0) {
		report_ready(&eg.report);
		loop_run(eg.loop);
		if (eg.resolver_died)
			r = err_set(err, ERR_SYS, 0, "egress: the process that looks names up has ended");
		else if (eg.report.failed)
			r = err_set(err, ERR_SYS, 0, "egress: the supervisor does not take reports");
	} else {
		report_error(&eg.report, err ? err->msg : "egress: cannot start");
	}
	if (eg.resolver_died)
		report_error(&eg.report, err ? err->msg : "egress: no resolver");
	stop(&eg);
	resolver_free(eg.resolver);
	report_done(&eg.report);
	loop_free(eg.loop);
	close_given(&given);
	return r;
}
