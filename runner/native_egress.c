/*
 * runner/native_egress.c - the egress helper, started when it is first needed
 *
 * The listening sockets exist from the start, so a connection waits in their
 * backlog for the helper to come up; a run that never connects never pays for
 * one. The helper's end ends the run. One that looks into TLS or publishes ports is
 * started at once, and the command waits until it is ready.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/own.h"
#include "runner/native.h"
#include "sandbox/egress/host.h"
#include "sandbox/egress/ports.h"
#include "sandbox/egress/tls_trust.h"
#include "sandbox/egress/trust_java.h"
#include "sandbox/spec.h"

#define MAX_REPORT 8192
#define EARLY_CALLERS 256
#define MAX_HOSTS_FILE (1024 * 1024)

struct egress {
	struct loop *loop;
	const struct run_params *p;
	const struct egress_ops *ops;
	void *cookie;
	int listener[EGRESS_LISTENERS];
	struct watch *waiting[EGRESS_LISTENERS];
	size_t n_listeners;
	struct strv early;	/* caller messages from before it was started */
	int control;
	struct watch *reports, *child;
	pid_t pid;
	int stopping;
	int is_trusted, is_ready, was_told;	/* of an early one: certificates to believe are there; it listens */
	struct publish_rule published[PUBLISH_MAX];
	size_t n_published;
	struct err why;
};

/* --- the helper's configuration --- */

/* A hosts(5) file, as an object of name → [addresses]. */
static int add_hosts(struct json *config, const char *path, struct err *err)
{
	OWN(buf) struct buf text = { 0 };
	struct json *hosts = json_add_object(config, "hosts");
	char *line, *save = NULL;

	if (!path)
		return 0;
	if (io_read_file(AT_FDCWD, path, MAX_HOSTS_FILE, &text, err) < 0)
		return err_wrap(err, "cannot use the hosts file");
	for (line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *words = NULL, *name;
		const char *address;

		line[strcspn(line, "#")] = '\0';
		address = strtok_r(line, " \t\r", &words);
		while (address && (name = strtok_r(NULL, " \t\r", &words))) {
			struct json *list = (struct json *)(size_t)json_get(hosts, name);

			if (!list)
				list = json_add_array(hosts, name);
			if (!json_add_str(list, NULL, address))
				return err_set(err, ERR_NOMEM, 0, "out of memory");
		}
	}
	return 0;
}

/* What goes through the helper: where there are no namespaces, not all of it has to. */
static int find_published(struct egress *e, struct err *err)
{
	const struct strv *list = &e->p->spec->publish;

	for (size_t i = 0; i < list->n && e->n_published < PUBLISH_MAX; i++) {
		struct publish_rule *rule = &e->published[e->n_published];

		if (ports_parse_publish(list->v[i], rule, err) < 0)
			return -1;
		if (!e->p->proxies.credential[0] || !bare_needs_no_help(rule))
			e->n_published++;
	}
	return 0;
}

static void add_ports(const struct egress *e, struct json *config)
{
	const struct strv *host = &e->p->spec->host_ports;
	struct json *list = json_add_array(config, "publish");

	for (size_t i = 0; i < e->n_published; i++) {
		struct json *rule = json_add_object(list, NULL);
		struct host h;

		host_from_ip(&e->published[i].ip, &h);
		json_add_str(rule, "address", h.text);
		json_add_int(rule, "port", e->published[i].port);
		json_add_int(rule, "inside", e->published[i].inside);
	}
	list = json_add_array(config, "hostPorts");
	for (size_t i = 0; i < host->n; i++)
		json_add_int(list, NULL, (int64_t)strtoul(host->v[i], NULL, 10));
}

static char *configuration(const struct egress *e, struct err *err)
{
	const struct run_params *p = e->p;
	OWN(json) struct json *j = json_new_object();
	struct json *lists = json_add_array(j, "lists");
	char *text;

	json_add_str(j, "run", p->spec->session_id);
	json_add_bool(j, "networkEnabled", p->spec->network_enabled);
	json_add_strv(j, "allow", &p->spec->egress_allow);
	json_add_strv(j, "deny", &p->spec->egress_deny);
	json_add_bool(j, "netLog", p->net_log);
	if (p->data_dir) {
		json_add_str(j, "dataDir", p->data_dir);
		json_add_str(lists, NULL, "baseline");
		json_add_str(lists, NULL, "github");
	}
	if (p->proxies.credential[0])
		json_add_str(j, "proxyCredential", p->proxies.credential);
	add_ports(e, j);
	if (add_hosts(j, p->hosts_file, err) < 0)
		return NULL;
	for (const struct json *more = json_first(p->egress); more; more = json_next(more))
		if (!json_add_copy(j, json_key(more), more))
			err_set(err, ERR_NOMEM, 0, "out of memory");
	text = json_print(j);
	if (!text)
		err_set(err, ERR_NOMEM, 0, "out of memory");
	return text;
}

/* As io_memfd(), but the helper can wipe it. Secrets go straight from where they are locked. */
static int config_file(const struct run_params *p, const char *text)
{
	OWN(fd) int fd = -1;

	if (!p->secrets_len)
		return io_memfd("agate-egress", text, strlen(text));
	fd = memfd_create("agate-egress", MFD_CLOEXEC);
	if (fd < 0 || io_write_all(fd, text, strlen(text) + 1) < 0 || io_write_all(fd, p->secrets, p->secrets_len) < 0)
		return -1;
	return fd_take(&fd);
}

/* --- what the command is to believe --- */

static int write_trust_file(const struct run_params *p, const char *name, const struct buf *text, struct err *err)
{
	OWN(mem) char *path = NULL;
	OWN(fd) int fd = -1;

	if (asprintf(&path, "%s/%s", p->run_dir, name) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	fd = open(path, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || io_write_all(fd, text->data, text->len) < 0)
		return err_set(err, ERR_SYS, errno, "cannot write '%s'", path);
	return 0;
}

/* The run's authority, the host's roots, and what the configuration adds: into the files that are bound already. */
static int write_trust(const struct run_params *p, const char *pem, struct err *err)
{
	const struct json *extra = json_get(json_get(p->egress, "tlsTerminate"), "extraCaCertPaths");
	OWN(buf) struct buf text = { 0 };
	OWN(buf) struct buf java = { 0 };

	if (trust_certificates(pem, strlen(pem), &text) != 1)
		return err_set(err, ERR_INPUT, 0, "the egress helper sent no certificate");
	if (trust_add_host(&text, err) < 0)
		return -1;
	for (const struct json *j = json_first(extra); j; j = json_next(j))
		if (trust_add_file(json_str(j), &text, err) < 0)
			return -1;
	if (trust_java_store(text.data, text.len, &java) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (write_trust_file(p, TRUST_JAVA_FILE, &java, err) < 0)
		return -1;
	return write_trust_file(p, TRUST_FILE, &text, err);
}

/* --- its life --- */

static void end(struct egress *e, const struct err *why)
{
	const struct egress_ops *ops = e->ops;

	watch_end(e->reports);
	e->reports = NULL;
	ops->ended(e->cookie, why);
}

static void on_exited(void *cookie, int status, int signum)
{
	struct egress *e = cookie;

	e->child = NULL;
	e->pid = 0;
	if (e->stopping) {
		end(e, NULL);
		return;
	}
	if (e->why.code == ERR_NONE)
		err_set(&e->why, ERR_SYS, 0, "the egress helper ended by %s %d", signum ? "signal" : "status",
			signum ? signum : status);
	end(e, &e->why);
}

static const char *text_of(const struct json *j, const char *key)
{
	return json_str(json_get(j, key));
}

int egress_is_early(const struct run_params *p)
{
	return p->looks_into_tls || p->spec->publish.n;
}

/* A message's members but those that are between us. */
static void tell_event(struct egress *e, const char *type, const struct json *j)
{
	OWN(json) struct json *data = json_new_object();
	int64_t port = 0;

	json_int(json_get(j, "peerPort"), &port);
	for (const struct json *m = json_first(j); m; m = json_next(m))
		if (strcmp(json_key(m), "type") != 0 && strcmp(json_key(m), "peerPort") != 0)
			json_add_copy(data, json_key(m), m);
	e->ops->event(e->cookie, type, data, (unsigned int)port);
}

/* Without namespaces a server that listens is published by that, and nobody but us can say so. */
static void tell_direct(struct egress *e)
{
	const struct strv *list = &e->p->spec->publish;

	for (size_t i = 0; i < list->n; i++) {
		OWN(json) struct json *j = json_new_object();
		struct publish_rule rule;

		if (!e->p->proxies.credential[0] || ports_parse_publish(list->v[i], &rule, NULL) < 0 ||
		    !bare_needs_no_help(&rule))
			continue;
		json_add_str(j, "address", "127.0.0.1");
		json_add_int(j, "port", rule.port);
		json_add_int(j, "inside", rule.inside);
		tell_event(e, "network.published", j);
	}
}

/* All that the command has to wait for. */
static void tell_ready(struct egress *e)
{
	if (!egress_is_early(e->p) || e->was_told || (e->p->looks_into_tls && !e->is_trusted) ||
	    (e->p->spec->publish.n && !e->is_ready))
		return;
	e->was_told = 1;
	tell_direct(e);
	e->ops->ready(e->cookie);
}

static void on_ca(struct egress *e, const struct json *j)
{
	const char *pem = text_of(j, "pem");

	if (!e->p->looks_into_tls)	/* nothing waits for it, and nothing is allowed */
		return;
	if (pem && write_trust(e->p, pem, &e->why) == 0) {
		e->is_trusted = 1;
		tell_ready(e);
		return;
	}
	if (e->why.code == ERR_NONE)
		err_set(&e->why, ERR_INPUT, 0, "the egress helper sent no certificate");
	if (e->pid)	/* on_exited() will tell */
		kill(e->pid, SIGKILL);
}

static void on_ready(struct egress *e, const struct json *j)
{
	(void)j;
	e->is_ready = 1;
	tell_ready(e);
}

static void on_violation(struct egress *e, const struct json *j)
{
	const char *action = text_of(j, "action"), *target = text_of(j, "target");
	int64_t port = 0;
	struct violation v = {
		.layer = LAYER_NETWORK, .count = 1, .action = action ? action : "network-outbound",
		.target = target ? target : "?", .rule = text_of(j, "rule"), .reason = text_of(j, "reason"),
		.raw = text_of(j, "protocol"),
	};

	json_int(json_get(j, "peerPort"), &port);
	e->ops->violation(e->cookie, &v, (unsigned int)port);
}

static void on_connected(struct egress *e, const struct json *j)
{
	tell_event(e, "network.connection", j);
}

static void on_published(struct egress *e, const struct json *j)
{
	tell_event(e, "network.published", j);
}

static void answer_inside(struct egress *e, int64_t id, int sys, const int *fds, size_t n)
{
	char text[256];

	if (n)
		snprintf(text, sizeof(text), "{\"type\":\"connected-inside\",\"id\":%lld}", (long long)id);
	else
		snprintf(text, sizeof(text), "{\"type\":\"connected-inside\",\"id\":%lld,\"error\":\"%s\"}", (long long)id,
			 sys == ECONNREFUSED ? "nobody listens there inside" :
			 sys == EPERM ? "the server there is not the run's" : "it cannot be connected to inside");
	/* Should the helper not take it, the connection's own time runs out. */
	io_send_fds(e->control, text, strlen(text), fds, n);
}

/* The helper may ask for what was published, and nothing else inside. */
static void on_connect_inside(struct egress *e, const struct json *j)
{
	int64_t id = 0, port = 0;
	size_t i = 0;

	json_int(json_get(j, "id"), &id);
	json_int(json_get(j, "port"), &port);
	while (i < e->n_published && e->published[i].inside != port)
		i++;
	if (i == e->n_published)
		answer_inside(e, id, EACCES, NULL, 0);
	else if (e->ops->inside(e->cookie, id, (unsigned int)port) < 0)
		answer_inside(e, id, ECONNREFUSED, NULL, 0);
}

int egress_inside(struct egress *e, const struct msg_inside *m, const int *fds, size_t n)
{
	if (n == (m->sys ? 0 : 1) && e->control >= 0)
		answer_inside(e, m->id, m->sys, fds, n);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	return n == (m->sys ? 0 : 1) ? 0 : -1;
}

static void on_error(struct egress *e, const struct json *j)
{
	err_set(&e->why, ERR_SYS, 0, "egress: %s", text_of(j, "reason") ? text_of(j, "reason") : "failed");
}

static const struct {
	const char *type;
	void (*told)(struct egress *e, const struct json *j);
} messages[] = {
	{ "violation", on_violation }, { "connection", on_connected }, { "connect-inside", on_connect_inside },
	{ "published", on_published }, { "ready", on_ready }, { "ca", on_ca }, { "error", on_error },
};

static void tell(struct egress *e, const struct json *j)
{
	const char *type = text_of(j, "type");

	for (size_t i = 0; type && i < ARRAY_LEN(messages); i++)
		if (!strcmp(type, messages[i].type))
			messages[i].told(e, j);
}

static void on_report(void *cookie, int fd, unsigned int ready)
{
	struct egress *e = cookie;
	char text[MAX_REPORT];
	OWN(json) struct json *j = NULL;
	ssize_t n = recv(fd, text, sizeof(text), MSG_DONTWAIT);

	(void)ready;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {	/* it is ending; on_exited() says how */
		watch_end(e->reports);
		e->reports = NULL;
		return;
	}
	if (!json_parse(text, (size_t)n, NULL, &j, NULL))
		tell(e, j);
}

static int spawn(struct egress *e, int control, struct err *err)
{
	char *argv[] = { (char *)(size_t)e->p->agate_path, (char *)(size_t)"egress",
			 (char *)(size_t)"--control", (char *)(size_t)"3", NULL };
	const int fds[] = { -1, -1, STDERR_FILENO, control };
	const struct spawn sp = { .file = e->p->agate_path, .argv = argv, .fds = fds, .nfds = 4, .new_session = 1 };

	e->child = loop_spawn(e->loop, &sp, on_exited, e, &e->pid, err);
	return e->child ? 0 : -1;
}

static int start(struct egress *e, struct err *err)
{
	static const char hello[] = "{\"type\":\"config\"}";
	OWN(mem) char *text = configuration(e, err);
	OWN(fd) int memfd = -1;
	OWN(fd) int theirs = -1;
	int pair[2], fds[1 + EGRESS_LISTENERS];

	if (!text)
		return -1;
	memfd = config_file(e->p, text);
	if (memfd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, ERR_SYS, errno, "cannot talk to the egress helper");
	e->control = pair[0];
	theirs = pair[1];
	if (spawn(e, theirs, err) < 0)
		return -1;
	fds[0] = memfd;
	memcpy(fds + 1, e->listener, e->n_listeners * sizeof(fds[0]));
	if (io_send_fds(e->control, hello, sizeof(hello) - 1, fds, 1 + e->n_listeners) < 0)
		return err_set(err, ERR_SYS, errno, "cannot talk to the egress helper");
	for (size_t i = 0; i < e->early.n; i++)
		if (io_send_fds(e->control, e->early.v[i], strlen(e->early.v[i]), NULL, 0) < 0)
			return err_set(err, ERR_SYS, errno, "cannot talk to the egress helper");
	strv_done(&e->early);
	/* From now on nobody waits for the helper, which may be waiting for us. */
	if (fcntl(e->control, F_SETFL, O_NONBLOCK) < 0)
		return err_set(err, ERR_SYS, errno, "cannot talk to the egress helper");
	e->reports = loop_fd(e->loop, e->control, LOOP_READ, on_report, e);
	return e->reports ? 0 : err_set(err, ERR_NOMEM, 0, "out of memory");
}

static void close_listeners(struct egress *e)
{
	for (size_t i = 0; i < e->n_listeners; i++) {
		watch_end(e->waiting[i]);
		e->waiting[i] = NULL;
		if (e->listener[i] >= 0)
			close(e->listener[i]);
		e->listener[i] = -1;
	}
}

static void on_connection(void *cookie, int fd, unsigned int ready)
{
	struct egress *e = cookie;
	struct err err = { 0 };

	(void)fd;
	(void)ready;
	if (start(e, &err) < 0) {
		err_wrap(&err, "cannot start the egress helper");
		e->why = err;
		close_listeners(e);
		if (e->pid)	/* on_exited() will tell */
			kill(e->pid, SIGKILL);
		else
			end(e, &e->why);
		return;
	}
	close_listeners(e);
}

struct egress *egress_watch(struct loop *loop, const struct run_params *p, const int *fds, size_t n,
			    const struct egress_ops *ops, void *cookie, struct err *err)
{
	struct egress *e = calloc(1, sizeof(*e));

	if (!e) {
		for (size_t i = 0; i < n; i++)
			close(fds[i]);
		err_set(err, ERR_NOMEM, 0, "out of memory");
		return NULL;
	}
	*e = (struct egress){ .loop = loop, .p = p, .ops = ops, .cookie = cookie, .control = -1, .n_listeners = n };
	memcpy(e->listener, fds, n * sizeof(*fds));
	if (find_published(e, err) < 0) {
		egress_free(e);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		e->waiting[i] = loop_fd(loop, e->listener[i], LOOP_READ, on_connection, e);
		if (!e->waiting[i]) {
			egress_free(e);
			err_set(err, ERR_NOMEM, 0, "out of memory");
			return NULL;
		}
	}
	if (egress_is_early(p)) {
		if (start(e, err) < 0) {
			err_wrap(err, "cannot start the egress helper");
			egress_free(e);
			return NULL;
		}
		close_listeners(e);
	}
	return e;
}

void egress_caller(struct egress *e, unsigned int port, const char *ip, unsigned int to_port)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"type\":\"caller\",\"port\":%u,\"address\":\"%s\",\"destPort\":%u}", port, ip,
		 to_port);
	/* A caller the helper does not hear of is closed there: nothing opens by a lost message. */
	if (e->control >= 0)
		io_send_fds(e->control, text, strlen(text), NULL, 0);
	else if (e->early.n < EARLY_CALLERS)
		strv_add(&e->early, text);
}

int egress_stop(struct egress *e)
{
	close_listeners(e);
	e->stopping = 1;
	if (!e->pid)
		return 1;
	shutdown(e->control, SHUT_WR);
	return 0;
}

pid_t egress_pid(const struct egress *e)
{
	return e ? e->pid : 0;
}

void egress_free(struct egress *e)
{
	if (!e)
		return;
	close_listeners(e);
	watch_end(e->reports);
	watch_end(e->child);
	if (e->pid)
		kill(e->pid, SIGKILL);
	if (e->control >= 0)
		close(e->control);
	strv_done(&e->early);
	free(e);
}
