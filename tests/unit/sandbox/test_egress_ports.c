#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "base/strv.h"
#include "sandbox/egress/host_port.h"
#include "sandbox/egress/ports.h"
#include "sandbox/egress/publish.h"
#include "test_egress_fixture.h"

/* Loopback stands in for the sandbox's; the supervisor's part is the test's. */

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

static struct server server;

static int set_up(void **state)
{
	(void)state;
	server_start(&server, echo);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	server_stop(&server);
	return 0;
}

static int64_t number(const struct json *msg, const char *key)
{
	int64_t v = -1;

	json_int(json_get(msg, key), &v);
	return v;
}

/* A connection of the host that was served, or with @error was not. */
static void expect_connection(const struct proxy *p, const char *protocol, uint16_t port, int64_t in, int64_t out,
			      const char *error)
{
	OWN(child_json) struct json *msg = hear(p);

	assert_string_equal(member(msg, "type"), "connection");
	assert_string_equal(member(msg, "protocol"), protocol);
	assert_int_equal(number(msg, "port"), port);
	assert_int_equal(number(msg, "bytesIn"), in);
	assert_int_equal(number(msg, "bytesOut"), out);
	assert_string_equal(member(msg, "error"), error);
}

static void expect_reset(int fd)
{
	char byte;

	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close(fd);
}

/* --- a port of the host, from inside --- */

/* A helper with one port of the host; @ret: where the program inside finds it. */
static void start_with_host_port(struct proxy *p, const char *network, const char *rest, uint16_t port, uint16_t *ret)
{
	char config[512];
	int fds[3];

	snprintf(config, sizeof(config), ",\"hostPorts\":[%u]%s", port, rest);
	fds[0] = listen_any(&p->http);
	fds[1] = listen_any(&p->socks);
	fds[2] = listen_any(ret);
	proxy_fork(p);
	proxy_configure(p, network, config, fds, 3);
	expect_ready(p);
}

static void a_given_port_of_the_host_is_reached_without_a_rule(void **state)
{
	struct proxy p;
	uint16_t inside;
	int fd;

	(void)state;
	start_with_host_port(&p, "true", "", server.port, &inside);
	fd = dial_port(inside);
	put(fd, "abc");
	expect(fd, "abc");
	shutdown(fd, SHUT_WR);
	expect_end(fd);
	close(fd);
	expect_connection(&p, "host-port", server.port, 3, 3, "");
	expect_silence(&p);
	proxy_stop(&p);
}

static void a_port_where_nobody_listens_is_told_with_the_reason(void **state)
{
	uint16_t inside, closed;
	struct proxy p;

	(void)state;
	close(listen_any(&closed));
	start_with_host_port(&p, "true", "", closed, &inside);
	expect_reset(dial_port(inside));
	expect_connection(&p, "host-port", closed, 0, 0, "refused the connection");
	proxy_stop(&p);
}

static void a_deny_rule_and_a_network_that_is_off_beat_it(void **state)
{
	static const struct {
		const char *network, *rest, *rule;
	} table[] = {
		{ "false", "", "network-off" },
		{ "true", ",\"deny\":[\"localhost\"]", "localhost" },
		{ "true", ",\"deny\":[\"127.0.0.1\"]", "127.0.0.1" },
		{ "true", ",\"deny\":[\"*\"]", "*" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct proxy p;
		uint16_t inside;
		char target[64];

		start_with_host_port(&p, table[i].network, table[i].rest, server.port, &inside);
		expect_reset(dial_port(inside));
		snprintf(target, sizeof(target), "localhost:%u", server.port);
		expect_violation(&p, target, table[i].rule, "host-port");
		proxy_stop(&p);
	}
}

static void a_descriptor_that_is_not_configured_is_refused(void **state)
{
	int fds[7], status = 0;
	struct proxy p;
	uint16_t port;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fds[i] = listen_any(&port);
	proxy_fork(&p);
	proxy_configure(&p, "true", "", fds, ARRAY_LEN(fds));
	OWN(child_json) struct json *msg = hear(&p);

	assert_string_equal(member(msg, "type"), "error");
	waitpid(p.pid, &status, 0);
	assert_int_equal(WEXITSTATUS(status), 3);
	close(p.control);
}

/* --- a server inside, from the host --- */

static void start_publishing(struct proxy *p, const char *network, uint16_t *ret_port)
{
	proxy_start_network(p, network, ",\"publish\":[{\"port\":0,\"inside\":3000}],\"limits\":{\"connectMs\":1500}");
	OWN(child_json) struct json *msg = hear(p);

	assert_string_equal(member(msg, "type"), "published");
	assert_string_equal(member(msg, "address"), "127.0.0.1");
	assert_int_equal(number(msg, "inside"), 3000);
	*ret_port = (uint16_t)number(msg, "port");
	expect_ready(p);
}

/* The id of the request for a socket inside. */
static int64_t hear_request(const struct proxy *p)
{
	OWN(child_json) struct json *msg = hear(p);

	assert_string_equal(member(msg, "type"), "connect-inside");
	assert_int_equal(number(msg, "port"), 3000);
	return number(msg, "id");
}

/* Answer it with a connection to the server, or @error. */
static void answer(const struct proxy *p, int64_t id, const char *error)
{
	int fd = error ? -1 : dial_port(server.port);
	char text[256];

	if (error)
		snprintf(text, sizeof(text), "{\"type\":\"connected-inside\",\"id\":%d,\"error\":\"%s\"}", (int)id, error);
	else
		snprintf(text, sizeof(text), "{\"type\":\"connected-inside\",\"id\":%d}", (int)id);
	assert_int_equal(io_send_fds(p->control, text, strlen(text), &fd, error ? 0 : 1), 0);
	if (fd >= 0)
		close(fd);
}

static void a_published_port_leads_to_the_server_inside(void **state)
{
	struct proxy p;
	uint16_t port;
	int fd, other;

	(void)state;
	start_publishing(&p, "false", &port);	/* nothing goes out, so the network may be off */
	fd = dial_port(port);
	other = dial_port(port);
	put(fd, "first");
	put(other, "second");
	int64_t a = hear_request(&p), b = hear_request(&p);

	assert_int_not_equal(a, b);
	answer(&p, b, NULL);
	answer(&p, a, NULL);
	expect(fd, "first");
	expect(other, "second");
	shutdown(fd, SHUT_WR);
	expect_end(fd);
	close(fd);
	expect_connection(&p, "publish", port, 5, 5, "");
	close(other);
	expect_connection(&p, "publish", port, 6, 6, "");
	expect_silence(&p);
	proxy_stop(&p);
}

static void bytes_are_counted_from_inside(void **state)
{
	struct proxy p;
	char text[256];
	uint16_t port;
	int fd, inside;

	(void)state;
	start_publishing(&p, "true", &port);
	fd = dial_port(port);
	put(fd, "four");
	int64_t id = hear_request(&p);
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	inside = pair[1];
	snprintf(text, sizeof(text), "{\"type\":\"connected-inside\",\"id\":%d}", (int)id);
	assert_int_equal(io_send_fds(p.control, text, strlen(text), &inside, 1), 0);
	close(inside);
	expect(pair[0], "four");
	put(pair[0], "seven77");
	expect(fd, "seven77");
	close(pair[0]);
	expect_end(fd);
	close(fd);
	expect_connection(&p, "publish", port, 4, 7, "");
	proxy_stop(&p);
}

static void a_server_that_is_not_there_is_told_with_the_reason(void **state)
{
	struct proxy p;
	uint16_t port;
	int fd;

	(void)state;
	start_publishing(&p, "true", &port);
	fd = dial_port(port);
	answer(&p, hear_request(&p), "Connection refused");
	expect_reset(fd);
	expect_connection(&p, "publish", port, 0, 0, "Connection refused");
	/* An answer that nobody waits for any more is not kept. */
	fd = dial_port(port);
	int64_t id = hear_request(&p);

	expect_reset(fd);
	expect_connection(&p, "publish", port, 0, 0, "nobody connected it in time");
	answer(&p, id, NULL);
	answer(&p, 99999, NULL);
	expect_silence(&p);
	proxy_stop(&p);
}

static void a_taken_port_ends_the_helper_with_the_reason(void **state)
{
	char rest[256], want[256];
	struct proxy p;
	int status;

	(void)state;
	snprintf(rest, sizeof(rest), ",\"publish\":[{\"port\":%u,\"inside\":3000}]", server.port);
	proxy_start(&p, rest);
	OWN(child_json) struct json *msg = hear(&p);

	snprintf(want, sizeof(want), "cannot publish on '127.0.0.1:%u': Address already in use", server.port);
	assert_string_equal(member(msg, "type"), "error");
	assert_string_equal(member(msg, "reason"), want);
	waitpid(p.pid, &status, 0);
	close(p.control);
}

/* --- the configuration --- */

static void only_loopback_ports_can_be_published(void **state)
{
	static const struct {
		const char *list, *error;
	} table[] = {
		{ "[]", NULL },
		{ "[{\"address\":\"::1\",\"port\":8080,\"inside\":80}]", NULL },
		{ "[{\"address\":\"127.7.0.1\",\"port\":8080,\"inside\":80}]", NULL },
		{ "[{\"address\":\"0.0.0.0\",\"port\":8080,\"inside\":80}]", "'0.0.0.0': it is not a loopback address" },
		{ "[{\"address\":\"192.168.1.2\",\"port\":8080,\"inside\":80}]", "not a loopback address" },
		{ "[{\"address\":\"::\",\"port\":8080,\"inside\":80}]", "not a loopback address" },
		{ "[{\"address\":\"localhost\",\"port\":8080,\"inside\":80}]", "not an IP address" },
		{ "[{\"port\":8080}]", "'inside' must be a port" },
		{ "[{\"port\":8080,\"inside\":0}]", "'inside' must be a port" },
		{ "[{\"port\":65536,\"inside\":1}]", "'port' must be a port" },
		{ "[{\"port\":1,\"inside\":1,\"x\":1}]", "unknown field 'x'" },
		{ "[1]", "an object is wanted" },
		{ "{}", "must be a list" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		OWN(child_json) struct json *list = NULL;
		struct publish_config c = { .n = 7 };
		struct err err = { 0 };
		int r;

		assert_int_equal(json_parse(table[i].list, strlen(table[i].list), NULL, &list, &err), 0);
		r = publish_parse(list, &c, &err);
		if (!table[i].error) {
			assert_int_equal(r, 0);
			continue;
		}
		if (r == 0 || !strstr(err.msg, table[i].error))
			fail_msg("'%s': %s", table[i].list, err.msg);
		assert_int_equal(c.n, 7);
	}
}

/* --- as a person writes them --- */

static void each_spelling_of_a_published_port_is_one_rule(void **state)
{
	static const struct { const char *text, *shown, *error; } table[] = {
		{ "8080", "127.0.0.1:8080:8080", NULL },
		{ "8080:3000", "127.0.0.1:8080:3000", NULL },
		{ "127.0.0.1:8080", "127.0.0.1:8080:8080", NULL },
		{ "127.0.0.1:8080:3000", "127.0.0.1:8080:3000", NULL },
		{ "localhost:8080:3000", "127.0.0.1:8080:3000", NULL },
		{ "127.0.0.2:1:2", "127.0.0.2:1:2", NULL },
		{ "[::1]:8080", "[::1]:8080:8080", NULL },
		{ "[::1]:8080:3000", "[::1]:8080:3000", NULL },
		{ "0:3000", "127.0.0.1:0:3000", NULL },
		{ "65535:65535", "127.0.0.1:65535:65535", NULL },
		{ "0", NULL, "the server's own port has to be said" },
		{ "", NULL, "is no [ADDRESS:]PORT[:PORT]" },
		{ ":", NULL, "is no [ADDRESS:]PORT[:PORT]" },
		{ "8080:", NULL, "is no [ADDRESS:]PORT[:PORT]" },
		{ ":8080", NULL, "is no [ADDRESS:]PORT[:PORT]" },
		{ "8080:0", NULL, "is no [ADDRESS:]PORT[:PORT]" },
		{ "8080:3000:1", NULL, "is no [ADDRESS:]PORT[:PORT]" },
		{ "65536", NULL, "is no [ADDRESS:]PORT[:PORT]" },
		{ "80x", NULL, "is no [ADDRESS:]PORT[:PORT]" },
		{ "-1", NULL, "is no [ADDRESS:]PORT[:PORT]" },
		{ "+80", NULL, "is no [ADDRESS:]PORT[:PORT]" },
		{ "99999999999999999999", NULL, "is no [ADDRESS:]PORT[:PORT]" },
		{ "host.test:80", NULL, "is no [ADDRESS:]PORT[:PORT]" },
		{ "::1:80", NULL, "is no [ADDRESS:]PORT[:PORT]" },
		{ "[::1]", NULL, "is no [ADDRESS:]PORT[:PORT]" },
		{ "[]:80", NULL, "is no [ADDRESS:]PORT[:PORT]" },
		{ "0.0.0.0:80", NULL, "'0.0.0.0' is not a loopback address" },
		{ "[::]:80", NULL, "'[::]' is not a loopback address" },
		{ "192.0.2.1:80:80", NULL, "'192.0.2.1' is not a loopback address" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct publish_rule rule;
		char shown[PORTS_TEXT_SIZE];
		struct err err = { 0 };
		int r = ports_parse_publish(table[i].text, &rule, &err);

		if (table[i].error) {
			if (r == 0 || !strstr(err.msg, table[i].error))
				fail_msg("'%s': %s", table[i].text, r ? err.msg : "was taken");
			continue;
		}
		if (r < 0)
			fail_msg("'%s': %s", table[i].text, err.msg);
		ports_show_publish(&rule, shown);
		assert_string_equal(shown, table[i].shown);
	}
}

#define TEXTS(...) { .v = (char *[]){ __VA_ARGS__, NULL }, .n = sizeof((char *[]){ __VA_ARGS__ }) / sizeof(char *) }
#define W(text) ((char[]){ text })

static void ports_that_cannot_be_had_together_are_refused(void **state)
{
	const struct { struct strv publish, host; const char *error; } table[] = {
		{ TEXTS(W("8080:3000"), W("8081:3000")), TEXTS(W("5432"), W("6379")), NULL },
		{ TEXTS(W("0:3000"), W("0:3000")), { .n = 0 }, NULL },
		{ TEXTS(W("8080:3000"), W("127.0.0.1:8080:3001")), { .n = 0 }, "are published at one place" },
		{ TEXTS(W("3128")), { .n = 0 }, "inside, port 3128 is the run's HTTP proxy" },
		{ TEXTS(W("8080:1080")), { .n = 0 }, "inside, port 1080 is the run's SOCKS proxy" },
		{ TEXTS(W("8080:53")), { .n = 0 }, "is the run's name server" },
		{ TEXTS(W("8080:8445")), { .n = 0 }, "is the run's way out" },
		{ TEXTS(W("8080:5432")), TEXTS(W("5432")), "inside, port 5432 leads to the host's" },
		{ { .n = 0 }, TEXTS(W("3128")), "cannot reach port 3128 of the host" },
		{ { .n = 0 }, TEXTS(W("53")), "cannot reach port 53 of the host" },
		{ { .n = 0 }, TEXTS(W("5432"), W("5432")), "is asked for twice" },
		{ { .n = 0 }, TEXTS(W("0")), "a port is a number from 1 to 65535" },
		{ { .n = 0 }, TEXTS(W("54 32")), "a port is a number from 1 to 65535" },
		{ { .n = 0 }, TEXTS(W("1"), W("2"), W("3"), W("4"), W("5"), W("6"), W("7"), W("8"), W("9")),
		  "cannot reach 9 ports of the host: 8 are the most" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct err err = { 0 };
		int r = ports_check(&table[i].publish, &table[i].host, &err);

		if ((r < 0) != (table[i].error != NULL) || (table[i].error && !strstr(err.msg, table[i].error)))
			fail_msg("row %zu: %s", i, r < 0 ? err.msg : "was taken");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_given_port_of_the_host_is_reached_without_a_rule),
		cmocka_unit_test(a_port_where_nobody_listens_is_told_with_the_reason),
		cmocka_unit_test(a_deny_rule_and_a_network_that_is_off_beat_it),
		cmocka_unit_test(a_descriptor_that_is_not_configured_is_refused),
		cmocka_unit_test(a_published_port_leads_to_the_server_inside),
		cmocka_unit_test(bytes_are_counted_from_inside),
		cmocka_unit_test(a_server_that_is_not_there_is_told_with_the_reason),
		cmocka_unit_test(a_taken_port_ends_the_helper_with_the_reason),
		cmocka_unit_test(only_loopback_ports_can_be_published),
		cmocka_unit_test(each_spelling_of_a_published_port_is_one_rule),
		cmocka_unit_test(ports_that_cannot_be_had_together_are_refused),
	};

	return cmocka_run_group_tests_name("egress ports", tests, set_up, tear_down);
}
