/*
 * A helper process with listening sockets of ours, and servers for it to talk to:
 * threads of the test on 127.0.0.1. Every wait is bounded by a socket time-out.
 */
#ifndef TEST_EGRESS_FIXTURE_H
#define TEST_EGRESS_FIXTURE_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/own.h"
#include "sandbox/egress/egress.h"

#define WAIT_S 20

struct proxy {
	pid_t pid;
	int control;
	uint16_t http, socks;
};

static inline void set_timeouts(int fd)
{
	const struct timeval t = { .tv_sec = WAIT_S };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

static inline int listen_any(uint16_t *ret_port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, len), 0);
	assert_int_equal(listen(fd, 1024), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	*ret_port = ntohs(in.sin_port);
	return fd;
}

static inline int dial_port(uint16_t port)
{
	const struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	set_timeouts(fd);
	assert_int_equal(connect(fd, (const struct sockaddr *)&in, sizeof(in)), 0);
	return fd;
}

/* One report of the helper, the caller's to json_free(); NULL at its end. */
static inline struct json *hear(const struct proxy *p)
{
	struct json *msg = NULL;
	char text[8192];
	struct err err;
	ssize_t n = recv(p->control, text, sizeof(text), 0);

	if (n < 0)
		fail_msg("no report in time");
	if (n <= 0)
		return NULL;
	if (json_parse(text, (size_t)n, NULL, &msg, &err) < 0)
		fail_msg("%s: %.*s", err.msg, (int)n, text);
	return msg;
}

static inline void own_child_json(struct json **j)
{
	json_free(*j);
}

static inline const char *member(const struct json *msg, const char *key)
{
	const char *s = json_str(json_get(msg, key));

	return s ? s : "";
}

/* The next report must be a violation at @target. */
static inline void expect_violation(const struct proxy *p, const char *target, const char *rule, const char *protocol)
{
	OWN(child_json) struct json *msg = hear(p);

	assert_string_equal(member(msg, "type"), "violation");
	assert_string_equal(member(msg, "action"), "network-outbound");
	assert_string_equal(member(msg, "target"), target);
	assert_string_equal(member(msg, "rule"), rule);
	assert_string_equal(member(msg, "protocol"), protocol);
	assert_true(member(msg, "reason")[0]);
}

static inline void expect_silence(const struct proxy *p)
{
	char byte;

	assert_int_equal(recv(p->control, &byte, 1, MSG_DONTWAIT | MSG_PEEK), -1);
}

/* The repository's data directory; tests run at its top. */
static inline const char *data_dir(void)
{
	static char path[4096];

	if (!getcwd(path, sizeof(path) - 8))
		fail_msg("no current directory");
	strcat(path, "/data");
	return path;
}

#define HELPER_ARG "--be-the-helper"

/* The same program again, asked by proxy_fork() to be a helper: main() is not reached. */
__attribute__((constructor)) static void be_the_helper(int argc, char **argv)
{
	struct err err;

	if (argc == 3 && !strcmp(argv[1], HELPER_ARG))
		_exit(egress_main(atoi(argv[2]), &err) < 0 ? 3 : 0);
}

/*
 * A helper that waits for its configuration. Started anew: the mere copy of a
 * program with threads may find a lock of the allocator held by a thread that
 * was not copied, and wait for it for ever.
 */
static inline void proxy_fork(struct proxy *p)
{
	char number[16];
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	snprintf(number, sizeof(number), "%d", pair[1]);
	p->pid = fork();
	assert_true(p->pid >= 0);
	if (!p->pid) {
		fcntl(pair[1], F_SETFD, 0);
		execl("/proc/self/exe", "helper", HELPER_ARG, number, (char *)NULL);
		_exit(4);
	}
	close(pair[1]);
	p->control = pair[0];
	set_timeouts(p->control);
}

/* @rest: more members of the configuration, with a comma in front, or ""; @fds: sockets, closed here. */
static inline void proxy_configure(struct proxy *p, const char *network, const char *rest, const int *fds, size_t n)
{
	OWN(buf) struct buf config = { 0 };
	int all[16];

	buf_addf(&config, "{\"run\":\"r1\",\"networkEnabled\":%s,\"dataDir\":\"%s\"%s}", network, data_dir(), rest);
	all[0] = io_memfd("config", config.data, config.len);
	assert_true(all[0] >= 0 && n < ARRAY_LEN(all));
	memcpy(all + 1, fds, n * sizeof(*fds));
	assert_int_equal(io_send_fds(p->control, "{\"type\":\"config\"}", 17, all, n + 1), 0);
	for (size_t i = 0; i <= n; i++)
		close(all[i]);
}

static inline void proxy_start_network(struct proxy *p, const char *network, const char *rest)
{
	int fds[2];

	fds[0] = listen_any(&p->http);
	fds[1] = listen_any(&p->socks);
	proxy_fork(p);
	proxy_configure(p, network, rest, fds, 2);
}

static inline void proxy_start(struct proxy *p, const char *rest)
{
	proxy_start_network(p, "true", rest);
}

static inline void expect_ready(const struct proxy *p)
{
	OWN(child_json) struct json *msg = hear(p);

	if (strcmp(member(msg, "type"), "ready"))
		fail_msg("%s: %s", member(msg, "type"), member(msg, "reason"));
}

/* End the helper; it must end well. */
static inline void proxy_stop(struct proxy *p)
{
	int status = -1;

	shutdown(p->control, SHUT_WR);
	for (int i = 0; i < WAIT_S * 100 && waitpid(p->pid, &status, WNOHANG) == 0; i++)
		usleep(10000);
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		kill(p->pid, SIGKILL);
		fail_msg("the helper ended with status %x", (unsigned int)status);
	}
	close(p->control);
}

/* --- talking to it --- */

static inline void put(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Read until the text ends in @tail, or to the end of file for NULL. */
static inline char *get(int fd, const char *tail)
{
	struct buf b = { 0 };

	for (;;) {
		size_t n = tail ? strlen(tail) : 0;
		char *to = buf_room(&b, 65536);
		ssize_t got;

		if (n && b.len >= n && !memcmp(b.data + b.len - n, tail, n))
			break;
		got = recv(fd, to, tail ? 1 : 65536, 0);
		if (got < 0)
			fail_msg("read failed behind '%s'", b.data ? b.data : "");
		if (!got)
			break;
		buf_grew(&b, (size_t)got);
	}
	return buf_steal(&b);
}

static inline void expect(int fd, const char *text)
{
	size_t len = strlen(text);
	char *got = calloc(1, len + 1);
	size_t n = 0;

	while (n < len) {
		ssize_t r = recv(fd, got + n, len - n, 0);

		if (r <= 0)
			break;
		n += (size_t)r;
	}
	assert_string_equal(got, text);
	free(got);
}

static inline void expect_end(int fd)
{
	char byte;

	assert_int_equal(recv(fd, &byte, 1, 0), 0);
}

/* --- servers --- */

struct server {
	int fd;
	uint16_t port;
	void (*serve)(int fd);		/* on a thread of its own; closes @fd */
	pthread_t thread;
	int accepted;
};

static inline void *serve_one(void *cookie)
{
	void **pair = cookie;
	void (*serve)(int fd);
	int fd = (int)(intptr_t)pair[1];

	memcpy(&serve, &pair[0], sizeof(serve));
	free(pair);
	serve(fd);
	return NULL;
}

static inline void *accept_all(void *cookie)
{
	struct server *s = cookie;

	for (;;) {
		int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
		void **pair = malloc(2 * sizeof(*pair));
		pthread_attr_t attr;
		pthread_t t;

		if (fd < 0 || !pair) {
			free(pair);
			return NULL;
		}
		__atomic_add_fetch(&s->accepted, 1, __ATOMIC_RELAXED);
		set_timeouts(fd);
		memcpy(&pair[0], &s->serve, sizeof(s->serve));
		pair[1] = (void *)(intptr_t)fd;
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		pthread_attr_setstacksize(&attr, 256 * 1024);
		if (pthread_create(&t, &attr, serve_one, pair)) {
			close(fd);
			free(pair);
		}
		pthread_attr_destroy(&attr);
	}
}

static inline void server_listen(struct server *s)
{
	s->accepted = 0;
	s->fd = listen_any(&s->port);
}

/* On a thread of its own. */
static inline void server_run(struct server *s, void (*serve)(int fd))
{
	s->serve = serve;
	assert_int_equal(pthread_create(&s->thread, NULL, accept_all, s), 0);
}

static inline void server_start(struct server *s, void (*serve)(int fd))
{
	server_listen(s);
	server_run(s, serve);
}

static inline void server_stop(struct server *s)
{
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
}

static inline int server_accepted(struct server *s)
{
	return __atomic_load_n(&s->accepted, __ATOMIC_RELAXED);
}

#endif
