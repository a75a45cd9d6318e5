#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "test_egress_fixture.h"

#define BIG ((size_t)24 << 20)

/* --- a server that plays by what the path asks for --- */

/* A request's head into @head; 0 at the end. */
static int read_head(int fd, char *head, size_t size)
{
	size_t n = 0;

	while (n < size - 1 && recv(fd, head + n, 1, 0) == 1) {
		head[++n] = '\0';
		if (n >= 4 && !memcmp(head + n - 4, "\r\n\r\n", 4))
			return 1;
	}
	return 0;
}

static void say(int fd, const char *text)
{
	send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* Read a body of either kind; the raw bytes of a chunked one. */
static void read_body(int fd, const char *head, struct buf *body)
{
	const char *length = strcasestr(head, "\r\nContent-Length: ");
	size_t left = length ? strtoul(length + 18, NULL, 10) : 0;
	char c;

	while (left-- && recv(fd, &c, 1, 0) == 1)
		buf_addc(body, c);
	if (strcasestr(head, "\r\nTransfer-Encoding: chunked"))
		while ((body->len < 5 || !strstr(body->data, "0\r\n") || memcmp(body->data + body->len - 4, "\r\n\r\n", 4)) &&
		       recv(fd, &c, 1, 0) == 1)
			buf_addc(body, c);
}

static void send_big(int fd, size_t size)
{
	static char data[65536];

	while (size) {
		size_t n = size < sizeof(data) ? size : sizeof(data);

		if (send(fd, data, n, MSG_NOSIGNAL) != (ssize_t)n)
			return;
		size -= n;
	}
}

/* Answer with the request's head and body as they arrived. */
static void answer_mirror(int fd, const char *head)
{
	OWN(buf) struct buf body = { 0 };
	OWN(buf) struct buf out = { 0 };

	if (strstr(head, "Expect: 100-continue"))
		say(fd, "HTTP/1.1 100 Continue\r\n\r\n");
	read_body(fd, head, &body);
	buf_addf(&out, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s%s", strlen(head) + body.len, head,
		 body.data ? body.data : "");
	say(fd, out.data);
}

static const struct {
	const char *path, *answer;
	int close;	/* 1: end, 2: reset */
} canned[] = {
	{ " /hello ", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 0 },
	{ " /chunked ", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-T: 1\r\n\r\n", 0 },
	{ " /until-close ", "HTTP/1.0 200 OK\r\n\r\nto the end", 1 },
	{ " /hang-up ", "", 1 },
	{ " /short ", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", 1 },
	{ " /short-chunk ", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", 1 },
	{ " /cut ", "HTTP/1.0 200 OK\r\n\r\nhalf", 2 },
	{ " /bad-chunk ", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\nxx\r\n", 0 },
	{ " /two-lengths ", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0 },
	{ " /fold ", "HTTP/1.1 200 OK\r\nX: y\r\n z\r\nContent-Length: 0\r\n\r\n", 0 },
	{ " /hints ", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 0 },
	{ " /redirect ", "HTTP/1.1 302 Found\r\nLocation: http://evil.test/\r\nContent-Length: 0\r\n\r\n", 0 },
	{ " /nothing ", "HTTP/1.1 204 No Content\r\n\r\n", 0 },
	{ " /same ", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 0 },
	{ " /more ", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", 0 },
	{ " /more-chunks ", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
			    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", 0 },
	{ " /once ", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nonce", 1 },
	{ " /early ", "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig", 1 },
	{ " /switch ", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", 0 },
};

/* 1 when the connection is to go on. */
static int answer(int fd, const char *head)
{
	for (size_t i = 0; i < ARRAY_LEN(canned); i++) {
		const struct linger at_once = { 1, 0 };

		if (!strstr(head, canned[i].path))
			continue;
		if (!strncmp(head, "HEAD ", 5))
			say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
		else
			say(fd, canned[i].answer);
		if (canned[i].close == 2) {
			usleep(100000);
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		}
		return !canned[i].close;
	}
	if (strstr(head, " /big ")) {
		char text[100];

		snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", BIG);
		say(fd, text);
		send_big(fd, BIG);
	} else if (strstr(head, " /big-until-close ")) {
		say(fd, "HTTP/1.0 200 OK\r\n\r\n");
		send_big(fd, BIG);
		return 0;
	} else if (strstr(head, " /ws ")) {
		char data[256];
		ssize_t n;

		say(fd, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nfirst");
		while ((n = recv(fd, data, sizeof(data), 0)) > 0)
			send(fd, data, (size_t)n, MSG_NOSIGNAL);
		return 0;
	} else {
		answer_mirror(fd, head);
	}
	return 1;
}

static void serve(int fd)
{
	char head[16384];

	while (read_head(fd, head, sizeof(head)))
		if (!answer(fd, head))
			break;
	close(fd);
}

static struct server origin, other;
static struct proxy proxy;

static int set_up(void **state)
{
	char rest[600];

	(void)state;
	server_start(&origin, serve);
	server_start(&other, serve);
	snprintf(rest, sizeof(rest),
		 ",\"netLog\":false,\"allow\":[\"origin.test:%u\",\"other.test:%u\"],"
		 "\"hosts\":{\"origin.test\":[\"127.0.0.1\"],\"other.test\":[\"127.0.0.1\"]},"
		 "\"limits\":{\"headMs\":1500,\"lingerMs\":1000,\"exchangeMs\":3000}",
		 origin.port, other.port);
	proxy_start(&proxy, rest);
	expect_ready(&proxy);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	expect_silence(&proxy);
	proxy_stop(&proxy);
	server_stop(&origin);
	server_stop(&other);
	return 0;
}

/* --- asking --- */

/* Send a request in absolute form to the origin; @rest: fields and body behind Host. */
static void ask(int fd, const char *method, const char *path, const char *rest)
{
	OWN(buf) struct buf b = { 0 };

	buf_addf(&b, "%s http://origin.test:%u%s HTTP/1.1\r\nHost: origin.test:%u\r\n%s", method, origin.port, path,
		 origin.port, rest);
	put(fd, b.data);
}

/* The whole answer to one request on a connection of its own. */
static char *answer_to(const char *method, const char *path, const char *rest)
{
	int fd = dial_port(proxy.http);
	char *got;

	ask(fd, method, path, rest);
	shutdown(fd, SHUT_WR);
	got = get(fd, NULL);
	close(fd);
	return got;
}

static void expect_answer(const char *method, const char *path, const char *rest, const char *wanted)
{
	OWN(mem) char *got = answer_to(method, path, rest);

	if (strcmp(got, wanted))
		fail_msg("%s %s gave:\n%s", method, path, got);
}

/* --- sentences --- */

static void a_kept_connection_serves_one_request_after_the_other(void **state)
{
	int fd = dial_port(proxy.http), before = server_accepted(&origin);

	(void)state;
	for (int i = 0; i < 50; i++) {
		ask(fd, "GET", "/hello", "\r\n");
		expect(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
	}
	assert_int_equal(server_accepted(&origin), before + 1);
	close(fd);
}

static void requests_sent_at_once_are_answered_in_order(void **state)
{
	int fd = dial_port(proxy.http);

	(void)state;
	ask(fd, "GET", "/hello", "\r\n");
	ask(fd, "GET", "/hints", "\r\n");
	ask(fd, "POST", "/x", "Content-Length: 2\r\n\r\nab");
	ask(fd, "GET", "/hello", "Connection: close\r\n\r\n");
	expect(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
	expect(fd, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	free(get(fd, "\r\n\r\n"));
	free(get(fd, "\r\n\r\nab"));
	expect(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
	expect_end(fd);
	close(fd);
}

static void one_connection_may_go_to_two_hosts(void **state)
{
	int fd = dial_port(proxy.http);
	char text[300];

	(void)state;
	for (int i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), "GET http://%s.test:%u/hello HTTP/1.1\r\nHost: %s.test:%u\r\n\r\n",
			 i % 2 ? "other" : "origin", i % 2 ? other.port : origin.port, i % 2 ? "other" : "origin",
			 i % 2 ? other.port : origin.port);
		put(fd, text);
		expect(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
	}
	close(fd);
}

static void a_request_arrives_without_what_was_for_the_proxy(void **state)
{
	OWN(mem) char *got = answer_to("GET", "/x?y=z", "Accept: a\r\nProxy-Authorization: Basic eA==\r\n"
							"Connection: X-Mine\r\nX-Mine: 1\r\nTE: trailers\r\n\r\n");
	char wanted[200];

	(void)state;
	snprintf(wanted, sizeof(wanted), "\r\n\r\nGET /x?y=z HTTP/1.1\r\nHost: origin.test:%u\r\nAccept: a\r\n\r\n",
		 origin.port);
	if (!strstr(got, wanted))
		fail_msg("%s", got);
}

static void bodies_pass_both_ways(void **state)
{
	OWN(mem) char *plain = answer_to("POST", "/x", "Content-Length: 5\r\n\r\nhello");
	OWN(mem) char *chunked = answer_to("POST", "/x", "Transfer-Encoding: chunked\r\n\r\n"
							 "3;a=b\r\nabc\r\n0002\r\nde\r\n0\r\nX-T: 1\r\n\r\n");

	(void)state;
	assert_non_null(strstr(plain, "Content-Length: 5\r\n\r\nhello"));
	assert_non_null(strstr(chunked, "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nX-T: 1\r\n\r\n"));
	expect_answer("GET", "/chunked", "\r\n",
		      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nX-T: 1\r\n\r\n");
	expect_answer("GET", "/until-close", "\r\n", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end");
	expect_answer("GET", "/nothing", "\r\n", "HTTP/1.1 204 No Content\r\n\r\n");
	expect_answer("GET", "/same", "\r\n", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n");
	expect_answer("HEAD", "/hello", "\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
}

static void an_old_client_gets_no_chunks(void **state)
{
	int fd = dial_port(proxy.http);
	char text[200];
	OWN(mem) char *got = NULL;

	(void)state;
	snprintf(text, sizeof(text), "GET http://origin.test:%u/chunked HTTP/1.0\r\n\r\n", origin.port);
	put(fd, text);
	got = get(fd, NULL);
	assert_string_equal(got, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabcde");
	close(fd);
}

static void expect_continue_is_asked_of_the_server(void **state)
{
	int fd = dial_port(proxy.http);

	(void)state;
	ask(fd, "PUT", "/x", "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n");
	expect(fd, "HTTP/1.1 100 Continue\r\n\r\n");
	put(fd, "body");
	free(get(fd, "\r\n\r\nbody"));
	close(fd);
}

static void an_upgrade_becomes_a_tunnel(void **state)
{
	int fd = dial_port(proxy.http);

	(void)state;
	ask(fd, "GET", "/ws", "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	expect(fd, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nfirst");
	put(fd, "ping");
	expect(fd, "ping");
	shutdown(fd, SHUT_WR);
	expect_end(fd);
	close(fd);
}

static void a_long_body_passes_whole(void **state)
{
	static const char *const paths[] = { "/big", "/big-until-close" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		int fd = dial_port(proxy.http);
		static char data[1 << 20];
		size_t sum = 0;
		ssize_t n;

		ask(fd, "GET", paths[i], "\r\n");
		free(get(fd, "\r\n\r\n"));
		while (sum < BIG && (n = recv(fd, data, sizeof(data), 0)) > 0)
			sum += (size_t)n;
		assert_int_equal(sum, BIG);
		if (i == 0) {
			ask(fd, "GET", "/hello", "\r\n");
			expect(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
		} else {
			expect_end(fd);
		}
		close(fd);
	}
}

static void a_long_upload_passes_whole(void **state)
{
	OWN(buf) struct buf body = { 0 };
	OWN(buf) struct buf rest = { 0 };
	OWN(mem) char *got = NULL;

	(void)state;
	while (body.len < 1000000)
		buf_adds(&body, "0123456789");
	buf_addf(&rest, "Content-Length: %zu\r\n\r\n%s", body.len, body.data);
	got = answer_to("POST", "/x", rest.data);
	assert_true(strlen(got) > body.len);
	assert_string_equal(got + strlen(got) - body.len, body.data);
}

/* The answer starts with @status; the helper's own error word is @word. */
static void expect_failure(const char *method, const char *path, const char *rest, int status, const char *word)
{
	OWN(mem) char *got = answer_to(method, path, rest);
	char start[40], header[100];

	snprintf(start, sizeof(start), "HTTP/1.1 %d ", status);
	snprintf(header, sizeof(header), "X-Proxy-Error: %s\r\n", word);
	if (strncmp(got, start, strlen(start)) || !strstr(got, header))
		fail_msg("%s %s gave:\n%s", method, path, got);
}

static void what_the_server_says_unsafely_is_a_502(void **state)
{
	(void)state;
	expect_failure("GET", "/two-lengths", "\r\n", 502, "upstream-failure");
	expect_failure("GET", "/fold", "\r\n", 502, "upstream-failure");
	expect_failure("GET", "/hang-up", "\r\n", 502, "upstream-failure");
	expect_failure("GET", "/switch", "\r\n", 502, "upstream-failure");
}

static void a_body_that_breaks_off_does_not_look_whole(void **state)
{
	static const struct {
		const char *path, *start;
	} table[] = {
		{ "/short", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort" },
		{ "/short-chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n" },
		{ "/bad-chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n" },
		{ "/cut", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		int fd = dial_port(proxy.http);
		char byte;

		ask(fd, "GET", table[i].path, "\r\n");
		expect(fd, table[i].start);
		if (recv(fd, &byte, 1, 0) != -1 || errno != ECONNRESET)
			fail_msg("'%s' ended in good order", table[i].path);
		close(fd);
	}
}

static void a_redirect_is_the_clients_business_and_is_judged_when_it_comes_back(void **state)
{
	int fd = dial_port(proxy.http);
	OWN(mem) char *got = NULL;

	(void)state;
	ask(fd, "GET", "/redirect", "\r\n");
	expect(fd, "HTTP/1.1 302 Found\r\nLocation: http://evil.test/\r\nContent-Length: 0\r\n\r\n");
	put(fd, "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n");
	got = get(fd, "'evil.test'\n");
	expect_violation(&proxy, "evil.test:80", "egress-allowlist", "http");
	assert_memory_equal(got, "HTTP/1.1 403 ", 13);
	/* The refusal left the connection in order. */
	ask(fd, "GET", "/hello", "\r\n");
	expect(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
	close(fd);
}

static void an_answer_nobody_asked_for_is_not_given_to_the_next_request(void **state)
{
	int fd = dial_port(proxy.http);

	(void)state;
	ask(fd, "GET", "/more", "\r\n");
	expect(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	ask(fd, "GET", "/more-chunks", "\r\n");
	expect(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
	ask(fd, "GET", "/hello", "\r\n");
	expect(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
	close(fd);
}

static void a_server_that_ends_a_kept_connection_is_connected_to_again(void **state)
{
	int fd = dial_port(proxy.http);

	(void)state;
	for (int i = 0; i < 20; i++) {
		ask(fd, "GET", "/once", "\r\n");
		expect(fd, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nonce");
	}
	close(fd);
}

static void an_early_answer_reaches_a_client_that_still_sends(void **state)
{
	static char data[1 << 20];
	int fd = dial_port(proxy.http);
	OWN(mem) char *got = NULL;

	(void)state;
	ask(fd, "POST", "/early", "Content-Length: 50000000\r\n\r\n");
	(void)!send(fd, data, sizeof(data), MSG_NOSIGNAL);
	got = get(fd, NULL);
	if (strncmp(got, "HTTP/1.1 413 Content Too Large\r\n", 32) || strcmp(got + strlen(got) - 3, "big"))
		fail_msg("%s", got);
	close(fd);
}

static void a_malformed_request_is_a_400_and_the_end(void **state)
{
	static const char *const bad[] = {
		"GET / HTTP/1.1\r\nHost: origin.test\r\n\r\n",
		"GET http://origin.test/ HTTP/1.1\nHost: origin.test\n\n",
		"POST http://origin.test/ HTTP/1.1\r\nHost: origin.test\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		"GET http://origin.test/ HTTP/1.1\r\nHost: origin.test\r\nX: a\r\n b\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		int fd = dial_port(proxy.http);
		OWN(mem) char *got = NULL;

		put(fd, bad[i]);
		got = get(fd, NULL);
		if (strncmp(got, "HTTP/1.1 400 ", 13) || !strstr(got, "X-Proxy-Error: malformed-request\r\n"))
			fail_msg("'%s' gave '%s'", bad[i], got);
		close(fd);
	}
}

static void another_host_in_the_host_field_is_refused_and_reported(void **state)
{
	int fd = dial_port(proxy.http);
	char text[200], target[100];
	OWN(mem) char *got = NULL;

	(void)state;
	snprintf(text, sizeof(text), "GET http://origin.test:%u/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", origin.port);
	snprintf(target, sizeof(target), "http://origin.test:%u/", origin.port);
	put(fd, text);
	got = get(fd, NULL);
	assert_memory_equal(got, "HTTP/1.1 400 ", 13);
	expect_violation(&proxy, target, "malformed-destination", "http");
	close(fd);
}

static void a_slow_head_is_given_up(void **state)
{
	int fd = dial_port(proxy.http);

	(void)state;
	for (int i = 0; i < 10; i++) {
		if (send(fd, "G", 1, MSG_NOSIGNAL) < 0)
			break;
		usleep(300000);
	}
	/* Closed, however steadily the bytes drip. */
	assert_true(send(fd, "G", 1, MSG_NOSIGNAL) < 0 || recv(fd, (char[1]){ 0 }, 1, 0) <= 0);
	close(fd);
}

static void a_broken_body_ends_in_a_400(void **state)
{
	int fd = dial_port(proxy.http);
	OWN(mem) char *got = NULL;

	(void)state;
	ask(fd, "POST", "/x", "Transfer-Encoding: chunked\r\n\r\n3\r\nabcXX\r\n");
	got = get(fd, NULL);
	if (strncmp(got, "HTTP/1.1 400 ", 13))
		fail_msg("%s", got);
	close(fd);
}

static void an_upstream_that_says_nothing_is_a_504(void **state)
{
	struct proxy slow;
	uint16_t port;
	int silent = listen_any(&port), fd;
	char text[300];
	OWN(mem) char *got = NULL;

	(void)state;
	snprintf(text, sizeof(text), ",\"allow\":[\"slow.test:%u\"],\"hosts\":{\"slow.test\":[\"127.0.0.1\"]},"
				     "\"limits\":{\"exchangeMs\":300}", port);
	proxy_start(&slow, text);
	expect_ready(&slow);
	fd = dial_port(slow.http);
	snprintf(text, sizeof(text), "GET http://slow.test:%u/ HTTP/1.1\r\nHost: slow.test\r\n\r\n", port);
	put(fd, text);
	got = get(fd, NULL);
	assert_memory_equal(got, "HTTP/1.1 504 ", 13);
	close(fd);
	close(silent);
	proxy_stop(&slow);
}

static void with_the_network_off_the_listeners_answer_and_allow_nothing(void **state)
{
	struct proxy off;
	int fd;
	OWN(mem) char *got = NULL;

	(void)state;
	proxy_start_network(&off, "false", ",\"allow\":[\"origin.test\"],\"lists\":[\"github\"]");
	expect_ready(&off);
	fd = dial_port(off.http);
	put(fd, "GET http://origin.test/ HTTP/1.1\r\nHost: origin.test\r\n\r\n");
	got = get(fd, "--network allow\n");
	assert_non_null(strstr(got, "X-Proxy-Error: network-off\r\n"));
	expect_violation(&off, "origin.test:80", "network-off", "http");
	put(fd, "CONNECT github.com:443 HTTP/1.1\r\n\r\n");
	free(get(fd, NULL));
	expect_violation(&off, "github.com:443", "network-off", "connect");
	close(fd);
	proxy_stop(&off);
}

static void allowed_connections_are_reported_when_asked_for(void **state)
{
	struct proxy logging;
	char text[400];
	int fd;
	OWN(child_json) struct json *msg = NULL;
	int64_t in = 0, out = 0, port = 0, ms = -1;

	(void)state;
	snprintf(text, sizeof(text), ",\"netLog\":true,\"allow\":[\"origin.test:%u\"],"
				     "\"hosts\":{\"origin.test\":[\"127.0.0.1\"]}", origin.port);
	proxy_start(&logging, text);
	expect_ready(&logging);
	fd = dial_port(logging.http);
	ask(fd, "GET", "/big", "\r\n");
	close(dial_port(logging.http));
	free(get(fd, "\r\n\r\n"));
	for (size_t sum = 0; sum < BIG;) {
		static char data[1 << 20];
		ssize_t n = recv(fd, data, sizeof(data), 0);

		assert_true(n > 0);
		sum += (size_t)n;
	}
	close(fd);
	msg = hear(&logging);
	assert_string_equal(member(msg, "type"), "connection");
	assert_string_equal(member(msg, "host"), "origin.test");
	assert_string_equal(member(msg, "protocol"), "http");
	assert_int_equal(json_int(json_get(msg, "port"), &port), 0);
	assert_int_equal(json_int(json_get(msg, "bytesIn"), &in), 0);
	assert_int_equal(json_int(json_get(msg, "bytesOut"), &out), 0);
	assert_int_equal(json_int(json_get(msg, "ms"), &ms), 0);
	assert_int_equal(port, origin.port);
	assert_true(in > (int64_t)BIG && in < (int64_t)BIG + 200);
	assert_true(out > 20 && out < 200);
	assert_true(ms >= 0);
	proxy_stop(&logging);
}

static void a_bad_configuration_ends_the_helper_with_the_reason(void **state)
{
	static const struct {
		const char *rest, *reason;
	} table[] = {
		{ ",\"allow\":[\"ok.test\",\"*\"]", "allow[1]: rule '*': a lone '*' can only deny" },
		{ ",\"lists\":[\"nosuch\"]", "egress list 'nosuch': " },
		{ ",\"lists\":[\"../../etc/passwd\"]", "egress config: '../../etc/passwd' cannot name a list" },
		{ ",\"hosts\":{\"a.test\":[\"127.1\"]}", "egress config: host 'a.test': '127.1' is not an IP address" },
		{ ",\"hosts\":{\"1.2.3.4\":[\"127.0.0.1\"]}", "egress config: host '1.2.3.4' is an address" },
		{ ",\"denyResolved\":[\"10.0.0.1/8\"]", "egress config: denyResolved: '10.0.0.1/8' is not an address range" },
		{ ",\"foo\":1", "egress config: unknown field 'foo'" },
		{ ",\"limits\":{\"headMs\":0}", "egress config: 'headMs' must be a whole number above 0" },
		{ ",\"netLog\":1", "egress config: 'netLog' must be true or false" },
		{ ",\"run\":\"again\"", "egress config: " },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; table[i].reason; i++) {
		OWN(child_json) struct json *msg = NULL;
		struct proxy p;
		int status = 0;

		proxy_start(&p, table[i].rest);
		msg = hear(&p);
		if (strcmp(member(msg, "type"), "error") ||
		    strncmp(member(msg, "reason"), table[i].reason, strlen(table[i].reason)))
			fail_msg("'%s' gave %s '%s'", table[i].rest, member(msg, "type"), member(msg, "reason"));
		assert_null(hear(&p));
		assert_int_equal(waitpid(p.pid, &status, 0), p.pid);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
		close(p.control);
	}
}

static void a_slow_supervisor_loses_no_violation(void **state)
{
	struct proxy p;
	int fd, n = 3000;

	(void)state;
	proxy_start(&p, "");
	expect_ready(&p);
	fd = dial_port(p.http);
	for (int i = 0; i < n; i++) {
		char text[200];

		snprintf(text, sizeof(text), "HEAD http://evil-%d.test/ HTTP/1.1\r\nHost: evil-%d.test\r\n\r\n", i, i);
		put(fd, text);
		free(get(fd, "\r\n\r\n"));
	}
	for (int i = 0; i < n; i++) {
		char target[50];

		snprintf(target, sizeof(target), "evil-%d.test:80", i);
		expect_violation(&p, target, "egress-allowlist", "http");
	}
	close(fd);
	proxy_stop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kept_connection_serves_one_request_after_the_other),
		cmocka_unit_test(requests_sent_at_once_are_answered_in_order),
		cmocka_unit_test(one_connection_may_go_to_two_hosts),
		cmocka_unit_test(a_request_arrives_without_what_was_for_the_proxy),
		cmocka_unit_test(bodies_pass_both_ways),
		cmocka_unit_test(an_old_client_gets_no_chunks),
		cmocka_unit_test(expect_continue_is_asked_of_the_server),
		cmocka_unit_test(an_upgrade_becomes_a_tunnel),
		cmocka_unit_test(a_long_body_passes_whole),
		cmocka_unit_test(a_long_upload_passes_whole),
		cmocka_unit_test(what_the_server_says_unsafely_is_a_502),
		cmocka_unit_test(a_body_that_breaks_off_does_not_look_whole),
		cmocka_unit_test(a_redirect_is_the_clients_business_and_is_judged_when_it_comes_back),
		cmocka_unit_test(an_answer_nobody_asked_for_is_not_given_to_the_next_request),
		cmocka_unit_test(a_server_that_ends_a_kept_connection_is_connected_to_again),
		cmocka_unit_test(an_early_answer_reaches_a_client_that_still_sends),
		cmocka_unit_test(a_malformed_request_is_a_400_and_the_end),
		cmocka_unit_test(another_host_in_the_host_field_is_refused_and_reported),
		cmocka_unit_test(a_slow_head_is_given_up),
		cmocka_unit_test(a_broken_body_ends_in_a_400),
		cmocka_unit_test(an_upstream_that_says_nothing_is_a_504),
		cmocka_unit_test(with_the_network_off_the_listeners_answer_and_allow_nothing),
		cmocka_unit_test(allowed_connections_are_reported_when_asked_for),
		cmocka_unit_test(a_bad_configuration_ends_the_helper_with_the_reason),
		cmocka_unit_test(a_slow_supervisor_loses_no_violation),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
