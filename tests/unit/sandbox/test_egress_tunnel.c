#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>

#include "test_egress_fixture.h"

#define BIG ((size_t)64 << 20)

/* --- servers --- */

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

/* Read to the end of file, then say how much it was. */
static void count(int fd)
{
	char data[65536];
	size_t sum = 0;
	ssize_t n;

	while ((n = recv(fd, data, sizeof(data), 0)) > 0)
		sum += (size_t)n;
	n = snprintf(data, sizeof(data), "%zu bytes", sum);
	send(fd, data, (size_t)n, MSG_NOSIGNAL);
	close(fd);
}

/* BIG bytes of a pattern, then the end. */
static void pour(int fd)
{
	char data[65536];
	size_t sum = 0;

	while (sum < BIG) {
		for (size_t i = 0; i < sizeof(data); i++)
			data[i] = (char)((sum + i) * 7 >> 8);
		if (send(fd, data, sizeof(data), MSG_NOSIGNAL) != (ssize_t)sizeof(data))
			break;
		sum += sizeof(data);
	}
	close(fd);
}

/* Some bytes, then a reset. */
static void cut(int fd)
{
	const struct linger at_once = { 1, 0 };

	send(fd, "half of it", 10, MSG_NOSIGNAL);
	usleep(50000);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(fd);
}

static struct server echo_server, count_server, pour_server, cut_server;
static struct proxy proxy;

static int set_up(void **state)
{
	char rest[1024];
	uint16_t closed;

	(void)state;
	server_start(&echo_server, echo);
	server_start(&count_server, count);
	server_start(&pour_server, pour);
	server_start(&cut_server, cut);
	close(listen_any(&closed));
	snprintf(rest, sizeof(rest),
		 ",\"lists\":[\"baseline\",\"github\"],\"allow\":[\"echo.test:%u\",\"count.test:%u\",\"pour.test:%u\","
		 "\"cut.test:%u\",\"127.0.0.1:%u\",\"localhost:%u\",\"closed.test:1\",\"two.test:%u\",\"nowhere.test\"],"
		 "\"deny\":[\"bad.test\",{\"rule\":\"worse.test\",\"reason\":\"because\"}],"
		 "\"hosts\":{\"echo.test\":[\"127.0.0.1\"],\"count.test\":[\"127.0.0.1\"],\"pour.test\":[\"127.0.0.1\"],"
		 "\"cut.test\":[\"127.0.0.1\"],\"closed.test\":[\"127.0.0.1\"],\"two.test\":[\"::1\",\"127.0.0.1\"]}",
		 echo_server.port, count_server.port, pour_server.port, cut_server.port, echo_server.port,
		 echo_server.port, echo_server.port);
	proxy_start(&proxy, rest);
	expect_ready(&proxy);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	expect_silence(&proxy);
	proxy_stop(&proxy);
	server_stop(&echo_server);
	server_stop(&count_server);
	server_stop(&pour_server);
	server_stop(&cut_server);
	return 0;
}

/* --- ways in --- */

static int connect_to(const char *host, uint16_t port)
{
	int fd = dial_port(proxy.http);
	char text[512];

	snprintf(text, sizeof(text), "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n", host, port, host, port);
	put(fd, text);
	return fd;
}

static int tunnel_to(const char *host, uint16_t port)
{
	int fd = connect_to(host, port);

	expect(fd, "HTTP/1.1 200 Connection Established\r\n\r\n");
	return fd;
}

/* A SOCKS5 request; the reply's code. */
static int socks_to(const char *name, uint16_t port, int *ret_fd)
{
	unsigned char text[300] = { 5, 1, 0 }, reply[10];
	size_t len = strlen(name);
	int fd = dial_port(proxy.socks);

	assert_int_equal(send(fd, text, 3, 0), 3);
	assert_int_equal(recv(fd, reply, 2, MSG_WAITALL), 2);
	assert_int_equal(reply[1], 0);
	text[3] = 3;
	text[4] = (unsigned char)len;
	memcpy(text + 5, name, len);
	text[5 + len] = (unsigned char)(port >> 8);
	text[6 + len] = (unsigned char)port;
	assert_int_equal(send(fd, text, len + 7, 0), (ssize_t)len + 7);
	assert_int_equal(recv(fd, reply, 10, MSG_WAITALL), 10);
	assert_int_equal(reply[0], 5);
	*ret_fd = fd;
	return reply[1];
}

static void expect_echo(int fd)
{
	put(fd, "hello");
	expect(fd, "hello");
}

/* --- sentences --- */

static void connect_reaches_an_allowed_host(void **state)
{
	int fd = tunnel_to("echo.test", echo_server.port);

	(void)state;
	expect_echo(fd);
	expect_echo(fd);
	close(fd);
	fd = tunnel_to("127.0.0.1", echo_server.port);
	expect_echo(fd);
	close(fd);
	fd = tunnel_to("ECHO.Test.", echo_server.port);
	expect_echo(fd);
	close(fd);
}

static void bytes_sent_before_the_answer_arrive(void **state)
{
	int fd = dial_port(proxy.http);
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), "CONNECT echo.test:%u HTTP/1.1\r\n\r\nearly", echo_server.port);
	put(fd, text);
	expect(fd, "HTTP/1.1 200 Connection Established\r\n\r\nearly");
	close(fd);
}

static void socks_reaches_an_allowed_host(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(socks_to("echo.test", echo_server.port, &fd), 0);
	expect_echo(fd);
	close(fd);
	assert_int_equal(socks_to("127.0.0.1", echo_server.port, &fd), 0);
	expect_echo(fd);
	close(fd);
}

static void a_whole_socks_conversation_may_come_at_once(void **state)
{
	unsigned char text[] = "\5\1\0\5\1\0\3\011echo.test\0\0hi";
	char answer[15];
	int fd = dial_port(proxy.socks);

	(void)state;
	text[17] = (unsigned char)(echo_server.port >> 8);
	text[18] = (unsigned char)echo_server.port;
	assert_int_equal(send(fd, text, sizeof(text) - 1, 0), sizeof(text) - 1);
	assert_int_equal(recv(fd, answer, 14, MSG_WAITALL), 14);
	assert_memory_equal(answer, "\5\0\5\0\0\1\0\0\0\0\0\0hi", 14);
	close(fd);
}

/* What a refused CONNECT answers. */
static void expect_403(const char *host, uint16_t port, const char *word, const char *rule)
{
	int fd = connect_to(host, port);
	OWN(mem) char *answer = get(fd, NULL);
	char target[300], header[100];

	snprintf(target, sizeof(target), "%s:%u", host, port);
	snprintf(header, sizeof(header), "X-Proxy-Error: %s\r\n", word);
	expect_violation(&proxy, target, rule, "connect");
	assert_memory_equal(answer, "HTTP/1.1 403 agate: blocked '", 29);
	if (!strstr(answer, header))
		fail_msg("no '%s' in:\n%s", header, answer);
	assert_non_null(strstr(answer, target));
	close(fd);
}


static void refusals_name_what_decided(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		const char *word, *rule;
	} table[] = {
		{ "evil.test", 443, "blocked-by-allowlist", "egress-allowlist" },
		{ "github.com", 8080, "blocked-by-allowlist", "github.com" },
		{ "bad.test", 443, "blocked-by-denylist", "bad.test" },
		{ "worse.test", 443, "blocked-by-denylist", "worse.test" },
		{ "statsig.anthropic.com", 443, "blocked-by-denylist", "statsig.anthropic.com" },
		{ "x.sentry.io", 443, "blocked-by-denylist", "*.sentry.io" },
		{ "169.254.169.254", 80, "blocked-by-denylist", "169.254.169.254" },
		{ "127.0.0.2", 443, "blocked-by-allowlist", "egress-allowlist" },
		{ "2130706433", 80, "malformed-destination", "malformed-destination" },
		{ "0x7f000001", 80, "malformed-destination", "malformed-destination" },
		{ "127.1", 80, "malformed-destination", "malformed-destination" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		expect_403(table[i].host, table[i].port, table[i].word, table[i].rule);
}

static void a_name_that_leads_to_this_machine_is_refused_with_the_class(void **state)
{
	int fd = connect_to("localhost", echo_server.port);
	OWN(mem) char *answer = get(fd, NULL);
	char target[64];

	(void)state;
	snprintf(target, sizeof(target), "localhost:%u", echo_server.port);
	expect_violation(&proxy, target, "resolved-address", "connect");
	assert_non_null(strstr(answer, "X-Proxy-Error: blocked-resolved-address\r\n"));
	assert_non_null(strstr(answer, "'localhost' resolves to a loopback address"));
	assert_null(strstr(answer, "127.0.0.1"));
	close(fd);
}

static void the_body_says_how_to_allow_it(void **state)
{
	int fd = connect_to("evil.test", 8443);
	OWN(mem) char *answer = get(fd, NULL);

	(void)state;
	expect_violation(&proxy, "evil.test:8443", "egress-allowlist", "connect");
	assert_non_null(strstr(answer, "agate: blocked 'evil.test:8443': no rule allows it\n"));
	assert_non_null(strstr(answer, "--allow-domain 'evil.test:8443'"));
	close(fd);
}

static void socks_says_what_is_not_allowed(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		int code;
		const char *target, *rule;
	} table[] = {
		{ "evil.test", 443, 2, "evil.test:443", "egress-allowlist" },
		{ "bad.test", 443, 2, "bad.test:443", "bad.test" },
		{ "2130706433", 80, 2, "2130706433:80", "malformed-destination" },
		{ "::1", 443, 2, "[::1]:443", "egress-allowlist" },
		{ "closed.test", 1, 5, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		int fd;

		assert_int_equal(socks_to(table[i].host, table[i].port, &fd), table[i].code);
		expect_end(fd);
		close(fd);
		if (table[i].target)
			expect_violation(&proxy, table[i].target, table[i].rule, "socks5");
	}
}

static void ssh_is_told_the_reason_in_its_own_protocol(void **state)
{
	unsigned char packet[256];
	ssize_t n;
	int fd;

	(void)state;
	assert_int_equal(socks_to("evil.test", 22, &fd), 0);
	put(fd, "SSH-2.0-OpenSSH_9.2\r\n");
	expect(fd, "SSH-2.0-agate\r\n");
	n = recv(fd, packet, sizeof(packet) - 1, MSG_WAITALL);
	assert_true(n > 16 && n % 8 == 0);
	assert_int_equal(packet[3], n - 4);
	assert_true(packet[4] >= 4);
	assert_int_equal(packet[5], 1);
	assert_non_null(memmem(packet, (size_t)n, "agate: blocked 'evil.test:22'", 29));
	expect_violation(&proxy, "evil.test:22", "egress-allowlist", "socks5");
	close(fd);
}

static void a_port_nobody_listens_on_is_a_502(void **state)
{
	int fd = connect_to("closed.test", 1);
	OWN(mem) char *answer = get(fd, NULL);

	(void)state;
	assert_memory_equal(answer, "HTTP/1.1 502 ", 13);
	assert_non_null(strstr(answer, "agate: 'closed.test:1' refused the connection\n"));
	close(fd);
}

static void the_next_address_is_tried_when_the_first_fails(void **state)
{
	int fd = tunnel_to("two.test", echo_server.port);

	(void)state;
	expect_echo(fd);
	close(fd);
}

static void each_side_may_end_before_the_other(void **state)
{
	int fd = tunnel_to("count.test", count_server.port);

	(void)state;
	for (int i = 0; i < 1000; i++)
		put(fd, "0123456789");
	shutdown(fd, SHUT_WR);
	expect(fd, "10000 bytes");
	expect_end(fd);
	close(fd);
}

static void sixty_four_mebibytes_arrive_whole(void **state)
{
	static char data[1 << 20];
	size_t sum = 0;
	int fd = tunnel_to("pour.test", pour_server.port);

	(void)state;
	for (;;) {
		ssize_t n = recv(fd, data, sizeof(data), 0);

		assert_true(n >= 0);
		if (!n)
			break;
		for (ssize_t i = 0; i < n; i += 509)
			if (data[i] != (char)((sum + (size_t)i) * 7 >> 8))
				fail_msg("byte %zu is wrong", sum + (size_t)i);
		sum += (size_t)n;
	}
	assert_int_equal(sum, BIG);
	close(fd);
}

static void a_reader_that_stops_is_waited_for(void **state)
{
	static char data[1 << 20];
	size_t sum = 0;
	ssize_t n;
	int fd = tunnel_to("pour.test", pour_server.port);

	(void)state;
	usleep(300000);
	while ((n = recv(fd, data, sizeof(data), 0)) > 0)
		sum += (size_t)n;
	assert_int_equal(sum, BIG);
	close(fd);
}

static void a_cut_connection_does_not_look_whole(void **state)
{
	int fd = tunnel_to("cut.test", cut_server.port);
	char byte;

	(void)state;
	expect(fd, "half of it");
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close(fd);
}

static void two_hundred_tunnels_work_side_by_side(void **state)
{
	int fd[200];

	(void)state;
	for (int i = 0; i < 200; i++) {
		if (i % 2)
			assert_int_equal(socks_to("echo.test", echo_server.port, &fd[i]), 0);
		else
			fd[i] = tunnel_to("echo.test", echo_server.port);
	}
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 200; i++) {
			char text[32];

			snprintf(text, sizeof(text), "%d of %d", i, round);
			put(fd[i], text);
		}
		for (int i = 0; i < 200; i++) {
			char text[32];

			snprintf(text, sizeof(text), "%d of %d", i, round);
			expect(fd[i], text);
		}
	}
	for (int i = 0; i < 200; i++)
		close(fd[i]);
}

static void other_protocols_are_closed_at_once(void **state)
{
	int fd = dial_port(proxy.socks);
	OWN(mem) char *http = NULL;
	OWN(mem) char *tls = NULL;

	(void)state;
	put(fd, "GET / HTTP/1.1\r\n\r\n");
	expect_end(fd);
	close(fd);
	fd = dial_port(proxy.socks);
	assert_int_equal(send(fd, "\4\1\0\120\177\0\0\1\0", 9, 0), 9);
	http = get(fd, NULL);
	assert_string_equal(http, "");
	close(fd);
	fd = dial_port(proxy.http);
	assert_int_equal(send(fd, "\26\3\1\0\5\1\0\0\1\0", 10, 0), 10);
	tls = get(fd, NULL);
	assert_memory_equal(tls, "HTTP/1.1 400 ", 13);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connect_reaches_an_allowed_host),
		cmocka_unit_test(bytes_sent_before_the_answer_arrive),
		cmocka_unit_test(socks_reaches_an_allowed_host),
		cmocka_unit_test(a_whole_socks_conversation_may_come_at_once),
		cmocka_unit_test(refusals_name_what_decided),
		cmocka_unit_test(a_name_that_leads_to_this_machine_is_refused_with_the_class),
		cmocka_unit_test(the_body_says_how_to_allow_it),
		cmocka_unit_test(socks_says_what_is_not_allowed),
		cmocka_unit_test(ssh_is_told_the_reason_in_its_own_protocol),
		cmocka_unit_test(a_port_nobody_listens_on_is_a_502),
		cmocka_unit_test(the_next_address_is_tried_when_the_first_fails),
		cmocka_unit_test(each_side_may_end_before_the_other),
		cmocka_unit_test(sixty_four_mebibytes_arrive_whole),
		cmocka_unit_test(a_reader_that_stops_is_waited_for),
		cmocka_unit_test(a_cut_connection_does_not_look_whole),
		cmocka_unit_test(two_hundred_tunnels_work_side_by_side),
		cmocka_unit_test(other_protocols_are_closed_at_once),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
