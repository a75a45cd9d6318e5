#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "test_egress_inside.h"

enum { A = 1, MX = 15, PTR = 12, AAAA = 28 };
enum { NXDOMAIN = 3, REFUSED = 5 };

/* Send back what comes, until the client has ended; then end too. */
static void echo(int fd)
{
	char data[16384];
	ssize_t n;

	while ((n = recv(fd, data, sizeof(data), 0)) > 0)
		if (send(fd, data, (size_t)n, MSG_NOSIGNAL) != n)
			break;
	close(fd);
}

static struct server echo_server;
static struct proxy proxy, off, v4_only;
static int has_inside;

static int set_up(void **state)
{
	uint16_t closed;
	int fds[8], off_fds[4], v4_fds[4];
	char rest[1024];

	(void)state;
	server_listen(&echo_server);
	close(listen_any(&closed));
	proxy_fork(&proxy);
	proxy_fork(&off);
	proxy_fork(&v4_only);
	has_inside = inside_enter() == 0;
	if (!has_inside)
		return 0;
	snprintf(rest, sizeof(rest),
		 ",\"netLog\":true,\"allow\":[\"echo.test:%u\",\"ssh.test:8080\",\"closed.test:1\",\"127.0.0.1:%u\","
		 "\"*.many.test\",\"inner.test:%u\",\"far.test\"],\"deny\":[{\"rule\":\"bad.many.test\",\"reason\":\"because\"}],"
		 "\"hosts\":{\"echo.test\":[\"127.0.0.1\"],\"unruled.test\":[\"127.0.0.1\"],"
		 "\"closed.test\":[\"127.0.0.1\"],\"far.test\":[\"100::1\"],\"inner.test\":[\"169.254.169.254\"]}",
		 echo_server.port, echo_server.port, echo_server.port);
	inside_open(&proxy, fds);
	proxy_configure(&proxy, "true", rest, fds, 8);
	expect_ready(&proxy);
	off_fds[0] = listen_any(&off.http);
	off_fds[1] = listen_any(&off.socks);
	off_fds[2] = inside_socket(SOCK_DGRAM, "127.0.0.2", 53);
	off_fds[3] = inside_listen("127.0.0.2", 53);
	proxy_configure(&off, "false", ",\"allow\":[\"echo.test\"]", off_fds, 4);
	expect_ready(&off);
	v4_fds[0] = listen_any(&v4_only.http);
	v4_fds[1] = listen_any(&v4_only.socks);
	v4_fds[2] = inside_socket(SOCK_DGRAM, "127.0.0.3", 53);
	v4_fds[3] = inside_listen("127.0.0.3", 53);
	proxy_configure(&v4_only, "true", ",\"allow\":[\"echo.test\"]", v4_fds, 4);
	expect_ready(&v4_only);
	server_run(&echo_server, echo);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (!has_inside) {
		kill(proxy.pid, SIGKILL);
		kill(off.pid, SIGKILL);
		kill(v4_only.pid, SIGKILL);
		return 0;
	}
	expect_silence(&proxy);
	proxy_stop(&proxy);
	proxy_stop(&off);
	proxy_stop(&v4_only);
	server_stop(&echo_server);
	return 0;
}

/* The tests need a namespace of their own. */
#define NEEDS_INSIDE() do { if (!has_inside) skip(); } while (0)

/* Any violation of a look-up; for a connection there is expect_violation(). */
static void expect_refused_name(const struct proxy *p, const char *name, const char *rule, const char *reason)
{
	OWN(child_json) struct json *msg = hear(p);
	int64_t port = 0;

	assert_string_equal(member(msg, "type"), "violation");
	assert_string_equal(member(msg, "action"), "network-dns");
	assert_string_equal(member(msg, "target"), name);
	assert_string_equal(member(msg, "rule"), rule);
	assert_string_equal(member(msg, "protocol"), "dns");
	assert_non_null(strstr(member(msg, "reason"), reason));
	assert_int_equal(json_int(json_get(msg, "peerPort"), &port), 0);
	assert_true(port > 0);
}

static void expect_connection(const char *host, uint16_t port, int64_t in, int64_t out)
{
	OWN(child_json) struct json *msg = hear(&proxy);
	int64_t v = 0;

	assert_string_equal(member(msg, "type"), "connection");
	assert_string_equal(member(msg, "host"), host);
	assert_string_equal(member(msg, "protocol"), "transparent");
	assert_int_equal(json_int(json_get(msg, "port"), &v), 0);
	assert_int_equal(v, port);
	assert_int_equal(json_int(json_get(msg, "bytesIn"), &v), 0);
	assert_int_equal(v, in);
	assert_int_equal(json_int(json_get(msg, "bytesOut"), &v), 0);
	assert_int_equal(v, out);
}

/* --- look-ups --- */

static void an_allowed_name_has_one_address_of_each_family_for_good(void **state)
{
	char v4[INET6_ADDRSTRLEN], v6[INET6_ADDRSTRLEN], other[INET6_ADDRSTRLEN], again[INET6_ADDRSTRLEN];

	(void)state;
	NEEDS_INSIDE();
	assert_int_equal(look_up("echo.test", A, v4), 0);
	assert_int_equal(look_up("echo.test", AAAA, v6), 0);
	assert_int_equal(strncmp(v4, "198.18.", 7), 0);
	assert_int_equal(strncmp(v6, "fd00:a6a7::", 11), 0);
	assert_int_equal(look_up("a.many.test", A, other), 0);
	assert_string_not_equal(other, v4);
	assert_int_equal(look_up("ECHO.test", A, again), 0);
	assert_string_equal(again, v4);
	assert_int_equal(look_up("localhost", A, again), 0);
	assert_string_equal(again, "127.0.0.1");
	assert_int_equal(look_up("x.localhost", AAAA, again), 0);
	assert_string_equal(again, "::1");
	expect_silence(&proxy);
}

static void what_no_rule_admits_does_not_exist_and_is_told_once(void **state)
{
	char ip[INET6_ADDRSTRLEN];

	(void)state;
	NEEDS_INSIDE();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(look_up("nowhere.test", A, ip), NXDOMAIN);
		assert_int_equal(look_up("nowhere.test", AAAA, ip), NXDOMAIN);
	}
	expect_refused_name(&proxy, "nowhere.test", "egress-allowlist", "no rule allows it");
	assert_int_equal(look_up("unruled.test", A, ip), NXDOMAIN);	/* in the hosts map all the same */
	expect_refused_name(&proxy, "unruled.test", "egress-allowlist", "no rule allows it");
	assert_int_equal(look_up("bad.many.test", A, ip), NXDOMAIN);
	expect_refused_name(&proxy, "bad.many.test", "bad.many.test", "because");
	assert_int_equal(look_up("secret data.evil.test", 16, ip), NXDOMAIN);
	expect_refused_name(&proxy, "secret\\032data.evil.test", "malformed-destination", "name");
	assert_int_equal(look_up("", A, ip), REFUSED);	/* below it is everything */
	expect_refused_name(&proxy, ".", "malformed-destination", "root");
	assert_int_equal(look_up("127.0.0.1", A, ip), NXDOMAIN);
	expect_refused_name(&proxy, "127.0.0.1", "malformed-destination", "name");
	expect_silence(&proxy);
}

static void other_types_of_an_allowed_name_are_empty(void **state)
{
	static const unsigned int types[] = { 2, 5, 6, MX, 16, 33, 64, 65 };
	uint8_t answer[512];

	(void)state;
	NEEDS_INSIDE();
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		ask("127.0.0.1", "echo.test", types[i], answer);
		assert_int_equal(answer[3] & 15, 0);
		assert_int_equal(answer[7], 0);
	}
	ask("127.0.0.1", "echo.test", 255, answer);
	assert_int_equal(answer[7], 2);
	expect_silence(&proxy);
}

static void an_address_of_the_pool_has_its_name_back(void **state)
{
	char ip[INET6_ADDRSTRLEN], reverse[64];
	uint8_t answer[512];
	unsigned int b[4];
	size_t n;

	(void)state;
	NEEDS_INSIDE();
	look_up("echo.test", A, ip);
	assert_int_equal(sscanf(ip, "%u.%u.%u.%u", &b[0], &b[1], &b[2], &b[3]), 4);
	snprintf(reverse, sizeof(reverse), "%u.%u.%u.%u.in-addr.arpa", b[3], b[2], b[1], b[0]);
	n = ask("127.0.0.1", reverse, PTR, answer);
	assert_int_equal(answer[7], 1);
	assert_memory_equal(answer + n - 11, "\4echo\4test", 11);
	assert_int_equal(look_up("77.77.18.198.in-addr.arpa", PTR, ip), 3);
	expect_silence(&proxy);
	assert_int_equal(look_up("8.8.8.8.in-addr.arpa", PTR, ip), NXDOMAIN);
	expect_refused_name(&proxy, "8.8.8.8.in-addr.arpa", "egress-allowlist", "no rule allows it");
}

static void what_is_no_query_gets_no_answer(void **state)
{
	struct sockaddr_any a = address("127.0.0.1", 53);
	uint8_t query[512], answer[512];
	size_t len = make_query("echo.test", A, query);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)state;
	NEEDS_INSIDE();
	set_timeouts(fd);
	assert_int_equal(connect(fd, &a.sa, a.len), 0);
	assert_int_equal(send(fd, "x", 1, 0), 1);
	assert_int_equal(send(fd, query, len - 1, 0), (ssize_t)len - 1);
	query[0] = 0x11;
	query[12] = 0xc0;
	assert_int_equal(send(fd, query, len, 0), (ssize_t)len);
	len = make_query("echo.test", A, query);
	query[0] = 0x22;
	assert_int_equal(send(fd, query, len, 0), (ssize_t)len);
	assert_true(recv(fd, answer, sizeof(answer), 0) > 12);
	assert_int_equal(answer[0], 0x22);
	close(fd);
}

static void over_tcp_queries_may_follow_each_other_and_come_in_pieces(void **state)
{
	struct sockaddr_any a = address("127.0.0.1", 53);
	uint8_t two[1024], answer[512];
	size_t len = make_query("echo.test", A, two + 2);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	NEEDS_INSIDE();
	set_timeouts(fd);
	two[0] = 0;
	two[1] = (uint8_t)len;
	memcpy(two + 2 + len, two, 2 + len);
	assert_int_equal(connect(fd, &a.sa, a.len), 0);
	for (size_t i = 0; i < 2 * (2 + len); i += 9) {
		size_t n = 2 * (2 + len) - i;

		assert_true(send(fd, two + i, n < 9 ? n : 9, MSG_NOSIGNAL) > 0);
		usleep(1000);
	}
	for (int i = 0; i < 2; i++) {
		size_t want = 2 + len + 16, got = 0;

		while (got < want) {
			ssize_t n = recv(fd, answer + got, want - got, 0);

			assert_true(n > 0);
			got += (size_t)n;
		}
		assert_int_equal(answer[1], len + 16);
		assert_int_equal(answer[2 + 7], 1);
	}
	/* What is no DNS ends it. */
	assert_int_equal(send(fd, "\xff\xff", 2, MSG_NOSIGNAL), 2);
	assert_true(recv(fd, answer, 1, 0) <= 0);
	close(fd);
}

static void with_the_network_off_no_name_is_answered(void **state)
{
	uint8_t answer[512];

	(void)state;
	NEEDS_INSIDE();
	ask("127.0.0.2", "echo.test", A, answer);
	assert_int_equal(answer[3] & 15, NXDOMAIN);
	expect_refused_name(&off, "echo.test", "network-off", "off for this run");
}

static void without_ipv6_a_name_has_one_address(void **state)
{
	uint8_t answer[512];

	(void)state;
	NEEDS_INSIDE();
	ask("127.0.0.3", "echo.test", A, answer);
	assert_int_equal(answer[7], 1);
	ask("127.0.0.3", "echo.test", AAAA, answer);
	assert_int_equal(answer[3] & 15, 0);
	assert_int_equal(answer[7], 0);
	expect_silence(&v4_only);
}

/* --- connections --- */

static void a_connection_to_a_names_address_reaches_the_host(void **state)
{
	static const unsigned int types[] = { A, AAAA };

	(void)state;
	NEEDS_INSIDE();
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		char ip[INET6_ADDRSTRLEN];
		int fd;

		look_up("echo.test", types[i], ip);
		fd = transparent(&proxy, ip, echo_server.port);
		put(fd, "hello");
		expect(fd, "hello");
		shutdown(fd, SHUT_WR);
		expect_end(fd);
		close(fd);
		expect_connection("echo.test", echo_server.port, 5, 5);
	}
}

static void who_it_is_may_be_said_after_it_came(void **state)
{
	char ip[INET6_ADDRSTRLEN];
	uint16_t from;
	int fd;

	(void)state;
	NEEDS_INSIDE();
	look_up("echo.test", A, ip);
	fd = bound(ip, &from);
	set_out(fd, ip);
	usleep(200000);
	/* Neither another port's message nor one for another address is meant. */
	tell(&proxy, from == 65535 ? 1 : (uint16_t)(from + 1), ip, echo_server.port);
	tell(&proxy, from, "127.0.0.1", 1);
	usleep(100000);
	assert_int_equal(poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, 0), 0);
	tell(&proxy, from, ip, echo_server.port);
	assert_int_equal(arrive(fd), 0);
	put(fd, "early");
	expect(fd, "early");
	close(fd);
	expect_connection("echo.test", echo_server.port, 5, 5);
}

static void a_connection_nobody_speaks_of_is_closed_and_told(void **state)
{
	char ip[INET6_ADDRSTRLEN];
	uint16_t from;
	int fd;

	(void)state;
	NEEDS_INSIDE();
	look_up("echo.test", A, ip);
	fd = bound(ip, &from);
	set_out(fd, ip);
	assert_int_equal(arrive(fd), ECONNREFUSED);
	close(fd);
	expect_violation(&proxy, "echo.test", "malformed-destination", "transparent");
}

static void a_literal_is_judged_as_one(void **state)
{
	char target[64];
	int fd;

	(void)state;
	NEEDS_INSIDE();
	fd = transparent(&proxy, "127.0.0.1", echo_server.port);
	put(fd, "x");
	expect(fd, "x");
	close(fd);
	expect_connection("127.0.0.1", echo_server.port, 1, 1);
	expect_not_connected(&proxy, "192.0.2.1", 443, ECONNREFUSED);
	expect_violation(&proxy, "192.0.2.1:443", "egress-allowlist", "transparent");
	expect_not_connected(&proxy, "2001:db8::1", 443, ECONNREFUSED);
	expect_violation(&proxy, "[2001:db8::1]:443", "egress-allowlist", "transparent");
	expect_not_connected(&proxy, "127.0.0.1", 0, ECONNREFUSED);
	snprintf(target, sizeof(target), "127.0.0.1:%u", echo_server.port);
	expect_violation(&proxy, "127.0.0.1", target, "transparent");
}

static void what_is_refused_is_a_refused_connection_and_told(void **state)
{
	char ip[INET6_ADDRSTRLEN], rule[64], target[64];

	(void)state;
	NEEDS_INSIDE();
	look_up("echo.test", A, ip);
	expect_not_connected(&proxy, ip, 4444, ECONNREFUSED);
	snprintf(rule, sizeof(rule), "echo.test:%u", echo_server.port);
	expect_violation(&proxy, "echo.test:4444", rule, "transparent");
	expect_not_connected(&proxy, "198.18.77.77", 443, ECONNREFUSED);
	expect_violation(&proxy, "198.18.77.77:443", "malformed-destination", "transparent");
	/* An allowed name may lead to a denied place. */
	look_up("inner.test", A, ip);
	expect_not_connected(&proxy, ip, echo_server.port, ECONNREFUSED);
	snprintf(target, sizeof(target), "inner.test:%u", echo_server.port);
	expect_violation(&proxy, target, "resolved-address", "transparent");
}

static void a_host_that_refuses_does_so_here_and_is_on_record(void **state)
{
	char ip[INET6_ADDRSTRLEN];
	struct json *msg;

	(void)state;
	NEEDS_INSIDE();
	look_up("closed.test", A, ip);
	expect_not_connected(&proxy, ip, 1, ECONNREFUSED);
	msg = hear(&proxy);
	assert_string_equal(member(msg, "type"), "connection");
	assert_string_equal(member(msg, "host"), "closed.test");
	assert_string_equal(member(msg, "error"), "refused the connection");
	json_free(msg);
	expect_silence(&proxy);
}

/* 100::/64 is for what is thrown away (RFC 6666); here there is no way to it at all. */
static void a_host_that_cannot_be_reached_is_so_for_the_program(void **state)
{
	static const unsigned int types[] = { A, AAAA };

	(void)state;
	NEEDS_INSIDE();
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		char ip[INET6_ADDRSTRLEN];
		struct json *msg;

		look_up("far.test", types[i], ip);
		expect_not_connected(&proxy, ip, 443, EHOSTUNREACH);
		msg = hear(&proxy);
		assert_string_equal(member(msg, "type"), "connection");
		assert_string_equal(member(msg, "host"), "far.test");
		assert_non_null(strstr("cannot be reached, did not answer in time", member(msg, "error")));
		json_free(msg);
	}
}

/* While the helper looks for the host the program's kernel asks on, and its end is the end. */
static void who_gives_up_leaves_nothing_behind(void **state)
{
	char ip[INET6_ADDRSTRLEN];
	uint16_t from;
	int fd;

	(void)state;
	NEEDS_INSIDE();
	look_up("echo.test", A, ip);
	for (int i = 0; i < 20; i++) {
		fd = bound(ip, &from);
		set_out(fd, ip);
		close(fd);
		tell(&proxy, from, ip, echo_server.port);
	}
	fd = transparent(&proxy, ip, echo_server.port);
	put(fd, "x");
	expect(fd, "x");
	close(fd);
	expect_connection("echo.test", echo_server.port, 1, 1);
}

static void an_ssh_client_is_told_why(void **state)
{
	char ip[INET6_ADDRSTRLEN], *got;
	struct buf b = { 0 };
	int fd;

	(void)state;
	NEEDS_INSIDE();
	look_up("ssh.test", A, ip);
	fd = transparent(&proxy, ip, 22);
	put(fd, "SSH-2.0-test\r\n");
	expect(fd, "SSH-2.0-agate\r\n");
	for (char c; recv(fd, &c, 1, 0) == 1;)
		buf_addc(&b, c ? c : '.');
	got = buf_steal(&b);
	assert_non_null(strstr(got, "agate: blocked 'ssh.test:22': the rule 'ssh.test:8080' allows port 8080, not 22"));
	free(got);
	close(fd);
	expect_violation(&proxy, "ssh.test:22", "ssh.test:8080", "transparent");
}

static void many_connections_find_their_callers(void **state)
{
	enum { MANY = 300 };
	static int fd[MANY];
	static uint16_t from[MANY];
	char ip[INET6_ADDRSTRLEN];

	(void)state;
	NEEDS_INSIDE();
	look_up("echo.test", A, ip);
	for (int i = 0; i < MANY; i++)
		fd[i] = bound(ip, &from[i]);
	for (int i = 0; i < MANY; i++) {
		if (i % 2)
			tell(&proxy, from[i], ip, echo_server.port);
		set_out(fd[i], ip);
	}
	for (int i = 0; i < MANY; i += 2)
		tell(&proxy, from[i], ip, echo_server.port);
	for (int i = 0; i < MANY; i++) {
		char text[16];

		snprintf(text, sizeof(text), "n%d", i);
		assert_int_equal(arrive(fd[i]), 0);
		put(fd[i], text);
		expect(fd[i], text);
		shutdown(fd[i], SHUT_WR);
		expect_end(fd[i]);
		close(fd[i]);
		json_free(hear(&proxy));
	}
	expect_silence(&proxy);
}

static void a_proxy_knows_the_name_of_a_pool_address(void **state)
{
	char ip[INET6_ADDRSTRLEN], text[256];
	uint8_t socks[] = { 5, 1, 0, 5, 1, 0, 1, 198, 18, 0, 0, 0, 0 };
	int fd;

	(void)state;
	NEEDS_INSIDE();
	look_up("echo.test", A, ip);
	fd = dial_port(proxy.http);
	snprintf(text, sizeof(text), "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n", ip, echo_server.port, ip,
		 echo_server.port);
	put(fd, text);
	free(get(fd, "\r\n\r\n"));
	put(fd, "x");
	expect(fd, "x");
	close(fd);
	json_free(hear(&proxy));
	inet_pton(AF_INET, ip, socks + 7);
	socks[11] = 4444 >> 8;
	socks[12] = 4444 & 255;
	fd = dial_port(proxy.socks);
	assert_int_equal(send(fd, socks, sizeof(socks), 0), (ssize_t)sizeof(socks));
	expect(fd, "\5");
	close(fd);
	snprintf(text, sizeof(text), "echo.test:%u", echo_server.port);
	expect_violation(&proxy, "echo.test:4444", text, "socks5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_allowed_name_has_one_address_of_each_family_for_good),
		cmocka_unit_test(what_no_rule_admits_does_not_exist_and_is_told_once),
		cmocka_unit_test(other_types_of_an_allowed_name_are_empty),
		cmocka_unit_test(an_address_of_the_pool_has_its_name_back),
		cmocka_unit_test(what_is_no_query_gets_no_answer),
		cmocka_unit_test(over_tcp_queries_may_follow_each_other_and_come_in_pieces),
		cmocka_unit_test(with_the_network_off_no_name_is_answered),
		cmocka_unit_test(without_ipv6_a_name_has_one_address),
		cmocka_unit_test(a_connection_to_a_names_address_reaches_the_host),
		cmocka_unit_test(who_it_is_may_be_said_after_it_came),
		cmocka_unit_test(a_connection_nobody_speaks_of_is_closed_and_told),
		cmocka_unit_test(a_literal_is_judged_as_one),
		cmocka_unit_test(what_is_refused_is_a_refused_connection_and_told),
		cmocka_unit_test(a_host_that_refuses_does_so_here_and_is_on_record),
		cmocka_unit_test(a_host_that_cannot_be_reached_is_so_for_the_program),
		cmocka_unit_test(who_gives_up_leaves_nothing_behind),
		cmocka_unit_test(an_ssh_client_is_told_why),
		cmocka_unit_test(a_proxy_knows_the_name_of_a_pool_address),
		cmocka_unit_test(many_connections_find_their_callers),
	};

	return cmocka_run_group_tests_name("egress transparent", tests, set_up, tear_down);
}
