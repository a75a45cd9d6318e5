#include <errno.h>
#include <netdb.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "sandbox/egress/confine.h"
#include "sandbox/egress/host.h"
#include "sandbox/egress/resolver.h"

/* So many are on their way at once: both sides' messages fit their sockets, and nobody waits in send(2). */
enum { IN_FLIGHT_MAX = 64 };

struct question {
	uint32_t id;
	char name[HOST_TEXT_SIZE];
};

struct answer {
	uint32_t id;
	uint32_t n;
	struct ip ip[RESOLVER_MAX_ADDRESSES];
};

/* --- the process that looks up --- */

struct server {
	struct loop *loop;
	int fd;
	struct watch *watch;
};

struct job {
	struct server *s;
	uint32_t id;
};

static void reply(const struct server *s, uint32_t id, const struct addrinfo *list)
{
	struct answer a = { .id = id };

	for (; list && a.n < RESOLVER_MAX_ADDRESSES; list = list->ai_next)
		if (ip_from_sockaddr(list->ai_addr, &a.ip[a.n]) == 0)
			a.n++;
	if (send(s->fd, &a, sizeof(a), MSG_NOSIGNAL) != (ssize_t)sizeof(a))
		loop_stop(s->loop);
}

static void on_looked_up(void *cookie, const struct addrinfo *list, int eai)
{
	struct job *j = cookie;

	reply(j->s, j->id, eai ? NULL : list);
	free(j);
}

static void on_question(void *cookie, int fd, unsigned int ready)
{
	struct server *s = cookie;
	struct question q;
	struct job *j;
	ssize_t n = recv(fd, &q, sizeof(q), MSG_DONTWAIT);

	(void)ready;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != (ssize_t)sizeof(q)) {
		loop_stop(s->loop);
		return;
	}
	q.name[sizeof(q.name) - 1] = '\0';
	j = malloc(sizeof(*j));
	if (j)
		*j = (struct job){ .s = s, .id = q.id };
	if (!j || !loop_resolve(s->loop, q.name, 0, on_looked_up, j)) {
		free(j);
		reply(s, q.id, NULL);
	}
}

/* Threads may be waiting for servers that do not answer: nothing is tidied up, the process just ends. */
static void serve(int fd) __attribute__((noreturn));
static void serve(int fd)
{
	struct server s = { .fd = fd };

	/* A few more than libuv's four wait for slow servers. */
	setenv("UV_THREADPOOL_SIZE", "8", 0);
	if (confine_resolver(fd, NULL) < 0)
		_exit(1);
	s.loop = loop_new(NULL);
	if (s.loop)
		s.watch = loop_fd(s.loop, fd, LOOP_READ, on_question, &s);
	if (s.watch)
		loop_run(s.loop);
	_exit(0);
}

/* --- the helper's side --- */

struct look_up {
	struct look_up *next;
	struct resolver *r;
	struct question q;
	int sent;
	resolved_fn *fn;	/* NULL: cancelled, its answer is still to come */
	void *cookie;
};

struct resolver {
	int fd;
	struct watch *watch;
	struct look_up *first;	/* those on their way, and then those that wait */
	unsigned int in_flight;
	uint32_t last_id;
	void (*died)(void *cookie);
	void *cookie;
};

struct resolver *resolver_start(struct err *err)
{
	struct resolver *r = calloc(1, sizeof(*r));
	int pair[2];
	pid_t pid;

	if (!r) {
		err_set(err, ERR_NOMEM, 0, "out of memory");
		return NULL;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		err_set(err, ERR_SYS, errno, "egress: cannot make a socket for the resolver");
		free(r);
		return NULL;
	}
	pid = fork();
	if (!pid)
		serve(pair[1]);
	close(pair[1]);
	r->fd = pair[0];
	if (pid > 0)
		return r;
	err_set(err, ERR_SYS, errno, "egress: cannot start the resolver");
	resolver_free(r);
	return NULL;
}

static void drop(struct look_up *l)
{
	struct look_up **at = &l->r->first;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	free(l);
}

static void bury(struct resolver *r)
{
	watch_end(r->watch);
	r->watch = NULL;
	r->died(r->cookie);
}

/* Send what waits, as far as it goes. 0, or -1 when the process is gone. */
static int send_some(struct resolver *r)
{
	for (struct look_up *l = r->first; l && r->in_flight < IN_FLIGHT_MAX; l = l->next) {
		ssize_t n;

		if (l->sent)
			continue;
		n = send(r->fd, &l->q, sizeof(l->q), MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ENOMEM))
			break;
		if (n != (ssize_t)sizeof(l->q))
			return -1;
		l->sent = 1;
		r->in_flight++;
	}
	return 0;
}

/* Is that what a resolver in good order says? It has read outside bytes. */
static int is_sound(const struct answer *a, ssize_t size)
{
	if (size != (ssize_t)sizeof(*a) || a->n > RESOLVER_MAX_ADDRESSES)
		return 0;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->ip[i].family != AF_INET && a->ip[i].family != AF_INET6)
			return 0;
	return 1;
}

static struct look_up *find(struct resolver *r, uint32_t id)
{
	for (struct look_up *l = r->first; l; l = l->next)
		if (l->sent && l->q.id == id)
			return l;
	return NULL;
}

static void on_answer(void *cookie, int fd, unsigned int ready)
{
	struct resolver *r = cookie;
	struct answer a;
	struct look_up *l = NULL;
	resolved_fn *fn;
	void *whose;
	ssize_t n = recv(fd, &a, sizeof(a), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR) && !(ready & LOOP_HUP))
		return;
	if (is_sound(&a, n))
		l = find(r, a.id);
	if (!l) {
		bury(r);
		return;
	}
	fn = l->fn;
	whose = l->cookie;
	r->in_flight--;
	drop(l);
	if (send_some(r) < 0) {
		bury(r);
		return;
	}
	if (fn)
		fn(whose, a.ip, a.n);
}

int resolver_attach(struct resolver *r, struct loop *loop, void (*died)(void *cookie), void *cookie)
{
	r->died = died;
	r->cookie = cookie;
	r->watch = loop_fd(loop, r->fd, LOOP_READ, on_answer, r);
	return r->watch ? 0 : -1;
}

struct look_up *resolver_ask(struct resolver *r, const char *name, resolved_fn *fn, void *cookie)
{
	struct look_up *l = calloc(1, sizeof(*l)), **end = &r->first;

	if (!l)
		return NULL;
	*l = (struct look_up){ .r = r, .fn = fn, .cookie = cookie, .q.id = ++r->last_id };
	memcpy(l->q.name, name, strnlen(name, sizeof(l->q.name) - 1));
	while (*end)
		end = &(*end)->next;
	*end = l;
	/* If it is gone, the loop tells so. */
	send_some(r);
	return l;
}

void look_up_cancel(struct look_up *l)
{
	if (!l)
		return;
	l->fn = NULL;
	if (!l->sent)
		drop(l);
}

void resolver_free(struct resolver *r)
{
	if (!r)
		return;
	watch_end(r->watch);
	close(r->fd);
	while (r->first)
		drop(r->first);
	free(r);
}
