#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <sys/un.h>

#include "sandbox/egress/chain.h"
#include "test_egress_fixture.h"

static void own_chain(struct chain *c)
{
	chain_done(c);
}

/* --- the configuration --- */

static int parse(const char *text, struct chain *ret, struct err *err)
{
	OWN(child_json) struct json *root = NULL;

	if (json_parse(text, strlen(text), NULL, &root, err) < 0)
		fail_msg("%s", err->msg);
	return chain_parse(root, ret, err);
}

static void a_proxy_is_a_url_with_credentials_from_one_place(void **state)
{
	static const struct {
		const char *parent, *host;
		uint16_t port;
		const char *authorization, *error;
	} table[] = {
		{ "{\"url\":\"http://proxy.test:3128\"}", "proxy.test", 3128, NULL, NULL },
		{ "{\"url\":\"http://PROXY.test:3128/\"}", "proxy.test", 3128, NULL, NULL },
		{ "{\"url\":\"http://proxy.test\"}", "proxy.test", 80, NULL, NULL },
		{ "{\"url\":\"http://[::1]:8080\"}", "::1", 8080, NULL, NULL },
		{ "{\"url\":\"http://user:pass@proxy.test:1\"}", "proxy.test", 1, "Basic dXNlcjpwYXNz", NULL },
		{ "{\"url\":\"http://us%65r:p%61ss@proxy.test:1\"}", "proxy.test", 1, "Basic dXNlcjpwYXNz", NULL },
		{ "{\"url\":\"http://u:p@ss@proxy.test:1\"}", "proxy.test", 1, "Basic dTpwQHNz", NULL },
		{ "{\"url\":\"http://proxy.test:1\",\"authEnv\":\"CHAIN_TEST\"}", "proxy.test", 1,
		  "Basic dXNlcjpwYXNz", NULL },
		{ "{\"url\":\"http://proxy.test:1\",\"authFile\":\"FILE\"}", "proxy.test", 1, "Basic dXNlcjpwYXNz", NULL },
		{ "{\"url\":\"https://proxy.test:1\"}", NULL, 0, NULL, "must be http://HOST:PORT or unix:/PATH" },
		{ "{\"url\":\"socks5://proxy.test:1\"}", NULL, 0, NULL, "must be http" },
		{ "{\"url\":\"http://proxy.test:1/path\"}", NULL, 0, NULL, "must be http" },
		{ "{\"url\":\"http://u%zz@proxy.test\"}", NULL, 0, NULL, "must be http" },
		{ "{\"url\":\"http://0x7f.1:80\"}", NULL, 0, NULL, "must be http" },
		{ "{\"url\":\"unix:relative\"}", NULL, 0, NULL, "must be http" },
		{ "{}", NULL, 0, NULL, "must be http" },
		{ "{\"url\":\"http://user@proxy.test\"}", NULL, 0, NULL, "must be USER:PASSWORD" },
		{ "{\"url\":\"http://us%0aer:x@proxy.test\"}", NULL, 0, NULL, "must be USER:PASSWORD" },
		{ "{\"url\":\"http://a:b@proxy.test\",\"authEnv\":\"CHAIN_TEST\"}", NULL, 0, NULL, "one place" },
		{ "{\"url\":\"http://proxy.test\",\"authEnv\":\"CHAIN_TEST\",\"authFile\":\"FILE\"}", NULL, 0, NULL,
		  "one place" },
		{ "{\"url\":\"http://proxy.test\",\"authEnv\":\"CHAIN_NONE\"}", NULL, 0, NULL, "'CHAIN_NONE' is not set" },
		{ "{\"url\":\"http://proxy.test\",\"authFile\":\"/nonexistent\"}", NULL, 0, NULL,
		  "cannot use the proxy's credentials" },
		{ "{\"url\":\"http://proxy.test\",\"x\":1}", NULL, 0, NULL, "unknown field 'x'" },
		{ "\"http://proxy.test\"", NULL, 0, NULL, "must be an object" },
	};
	char file[] = "/tmp/test-chain-XXXXXX";
	int fd = mkstemp(file);

	(void)state;
	assert_int_equal(write(fd, "user:pass\nrest\n", 15), 15);
	close(fd);
	setenv("CHAIN_TEST", "user:pass", 1);
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		OWN(chain) struct chain c = { 0 };
		struct err err = { 0 };
		char text[512];
		const char *at = strstr(table[i].parent, "FILE\"");
		int r;

		if (at)
			snprintf(text, sizeof(text), "{\"parentProxy\":%.*s%s%s}", (int)(at - table[i].parent),
				 table[i].parent, file, at + 4);
		else
			snprintf(text, sizeof(text), "{\"parentProxy\":%s}", table[i].parent);
		r = parse(text, &c, &err);
		if ((r == 0) != !table[i].error || (table[i].error && !strstr(err.msg, table[i].error)))
			fail_msg("row %zu: '%s': %s", i, table[i].parent, err.msg);
		if (strstr(err.msg, "pass"))
			fail_msg("a password in '%s'", err.msg);
		if (r < 0)
			continue;
		assert_string_equal(c.parent.host.text, table[i].host);
		assert_int_equal(c.parent.port, table[i].port);
		if (table[i].authorization)
			assert_string_equal(c.parent.authorization, table[i].authorization);
		else
			assert_null(c.parent.authorization);
	}
	unlink(file);
}

static void the_first_fitting_proxy_takes_a_connection(void **state)
{
	static const char config[] =
		"{\"parentProxy\":{\"url\":\"http://parent.test:1\"},"
		"\"mitmProxy\":[{\"host\":\"*.ai.test\",\"url\":\"unix:/run/mitm.sock\"},"
		"{\"host\":\"only.test:443\",\"url\":\"http://mitm.test:2\"}],"
		"\"noProxy\":[\"near.test\",\"*.near.test\",\"half.test:443\",\"10.0.0.1\",\"api.ai.test\"]}";
	static const struct {
		const char *host;
		uint16_t port, via;	/* 0: nobody; 9: the path */
	} table[] = {
		{ "far.test", 443, 1 }, { "far.test", 8080, 1 }, { "near.test", 443, 0 }, { "a.near.test", 25, 0 },
		{ "half.test", 443, 0 }, { "half.test", 80, 1 }, { "10.0.0.1", 443, 0 }, { "10.0.0.2", 443, 1 },
		{ "api.ai.test", 443, 9 }, { "ai.test", 443, 1 }, { "only.test", 443, 2 }, { "only.test", 80, 1 },
		{ "127.0.0.1", 443, 0 }, { "::1", 443, 0 }, { "localhost", 80, 0 }, { "x.localhost", 80, 0 },
	};
	OWN(chain) struct chain c = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(parse(config, &c, &err), 0);
	assert_int_equal(chain_uses_paths(&c), 1);
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const struct chain_proxy *p;
		const char *why;
		struct host h;

		assert_int_equal(host_parse(table[i].host, strlen(table[i].host), &h, &why), 0);
		p = chain_route(&c, &h, table[i].port);
		if ((p ? p->path ? 9 : p->port : 0) != table[i].via)
			fail_msg("%s:%u", table[i].host, table[i].port);
	}
}

/* --- another proxy --- */

static struct server echo_server, parent_server, rude_server, picky_server;
static char heard[8192];	/* the last head the other proxy got */
static char socket_path[64];

static void echo(int fd)
{
	char data[16384];
	ssize_t n;

	while ((n = recv(fd, data, sizeof(data), 0)) > 0)
		if (send(fd, data, (size_t)n, MSG_NOSIGNAL) != n)
			break;
	close(fd);
}

static void relay(int a, int b)
{
	struct pollfd p[2] = { { .fd = a, .events = POLLIN }, { .fd = b, .events = POLLIN } };
	char data[4096];

	while (poll(p, 2, WAIT_S * 1000) > 0) {
		for (int i = 0; i < 2; i++) {
			ssize_t n = p[i].revents ? recv(p[i].fd, data, sizeof(data), 0) : -1;

			if (p[i].revents && n <= 0)
				return;
			if (n > 0 && send(p[!i].fd, data, (size_t)n, MSG_NOSIGNAL) != n)
				return;
		}
	}
}

/* A tunnel to the echo server, whatever is asked for; plain requests are answered by itself. */
static void parent(int fd)
{
	char *head = get(fd, "\r\n\r\n");
	int up;

	snprintf(heard, sizeof(heard), "%s", head);
	free(head);
	if (strncmp(heard, "CONNECT ", 8)) {
		put(fd, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmine");
		close(fd);
		return;
	}
	up = dial_port(echo_server.port);
	/* Bytes behind the answer are the host's already. */
	put(fd, "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 Fine\r\nContent-Length: 7\r\nX: y\r\n\r\nhost: ");
	relay(fd, up);
	close(up);
	close(fd);
}

static void picky(int fd)
{
	char *head = get(fd, "\r\n\r\n");

	put(fd, "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nno");
	free(head);
	close(fd);
}

static void rude(int fd)
{
	char *head = get(fd, "\r\n\r\n");

	put(fd, "SSH-2.0-what\n");
	free(head);
	close(fd);
}

static struct proxy proxy;

static int listen_path(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(socket_path, sizeof(socket_path), "/tmp/test-chain-%d.sock", (int)getpid());
	strcpy(un.sun_path, socket_path);
	unlink(socket_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	assert_int_equal(listen(fd, 16), 0);
	return fd;
}

static struct server path_server;

static int set_up(void **state)
{
	char rest[4096];
	uint16_t closed;

	(void)state;
	server_start(&echo_server, echo);
	server_start(&parent_server, parent);
	server_start(&rude_server, rude);
	server_start(&picky_server, picky);
	path_server = (struct server){ .fd = listen_path() };
	server_run(&path_server, parent);
	close(listen_any(&closed));
	snprintf(rest, sizeof(rest),
		 ",\"netLog\":true,\"allow\":[\"far.test\",\"path.test\",\"rude.test\",\"picky.test\",\"down.test\","
		 "\"inner.test\",\"near.test:%u\",\"192.0.2.1\"],"
		 "\"hosts\":{\"near.test\":[\"127.0.0.1\"],\"inner.test\":[\"169.254.169.254\"],\"proxy.invalid\":[\"127.0.0.1\"]},"
		 "\"parentProxy\":{\"url\":\"http://user:pass@proxy.invalid:%u\"},"
		 "\"mitmProxy\":[{\"host\":\"path.test\",\"url\":\"unix:%s\"},{\"host\":\"rude.test\",\"url\":\"http://127.0.0.1:%u\"},"
		 "{\"host\":\"picky.test\",\"url\":\"http://127.0.0.1:%u\"},{\"host\":\"down.test\",\"url\":\"http://127.0.0.1:%u\"}],"
		 "\"noProxy\":[\"near.test\"]",
		 echo_server.port, parent_server.port, socket_path, rude_server.port, picky_server.port, closed);
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
	server_stop(&parent_server);
	server_stop(&rude_server);
	server_stop(&picky_server);
	server_stop(&path_server);
	unlink(socket_path);
	return 0;
}

static int connect_to(const char *to)
{
	int fd = dial_port(proxy.http);
	char text[512];

	snprintf(text, sizeof(text), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to);
	put(fd, text);
	return fd;
}

static void expect_tunnel(int fd, const char *first)
{
	free(get(fd, "\r\n\r\n"));
	expect(fd, first);
	put(fd, "hello");
	expect(fd, "hello");
	close(fd);
	json_free(hear(&proxy));
}

static void a_tunnel_leads_through_the_parent_by_name(void **state)
{
	(void)state;
	expect_tunnel(connect_to("far.test:443"), "host: ");
	assert_string_equal(heard, "CONNECT far.test:443 HTTP/1.1\r\nHost: far.test:443\r\n"
				   "Proxy-Authorization: Basic dXNlcjpwYXNz\r\n\r\n");
	expect_tunnel(connect_to("192.0.2.1:443"), "host: ");
	assert_int_equal(strncmp(heard, "CONNECT 192.0.2.1:443 HTTP/1.1\r\n", 32), 0);
	expect_tunnel(connect_to("path.test:443"), "host: ");
	assert_string_equal(heard, "CONNECT path.test:443 HTTP/1.1\r\nHost: path.test:443\r\n\r\n");
}

static void a_host_of_the_exceptions_is_reached_directly(void **state)
{
	char to[64];

	(void)state;
	heard[0] = '\0';
	snprintf(to, sizeof(to), "near.test:%u", echo_server.port);
	expect_tunnel(connect_to(to), "");
	assert_string_equal(heard, "");
}

static void plain_requests_go_to_the_parent_whole(void **state)
{
	char *answer;
	int fd = dial_port(proxy.http);

	(void)state;
	put(fd, "GET http://far.test/x?y HTTP/1.1\r\nHost: far.test\r\nProxy-Authorization: Basic bWluZQ==\r\n\r\n");
	answer = get(fd, "mine");
	assert_non_null(strstr(answer, "200 OK"));
	assert_string_equal(heard, "GET http://far.test/x?y HTTP/1.1\r\nHost: far.test\r\n"
				   "Proxy-Authorization: Basic dXNlcjpwYXNz\r\n\r\n");
	free(answer);
	close(fd);
	json_free(hear(&proxy));
}

static void an_upgrade_takes_a_tunnel(void **state)
{
	char *answer;
	int fd = dial_port(proxy.http);

	(void)state;
	put(fd, "GET http://far.test/ws HTTP/1.1\r\nHost: far.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
	answer = get(fd, "safely\n");	/* the echo is no answer */
	assert_non_null(strstr(answer, "502"));
	assert_int_equal(strncmp(heard, "CONNECT far.test:80 HTTP/1.1\r\n", 30), 0);
	free(answer);
	close(fd);
	json_free(hear(&proxy));
}

static void a_proxy_that_fails_is_named_as_one(void **state)
{
	static const struct {
		const char *to, *words;
	} table[] = {
		{ "rude.test:443", "'rude.test:443' is reached through another proxy, which does not answer" },
		{ "down.test:443", "'down.test:443' is reached through another proxy, which does not answer" },
		{ "picky.test:443", "'picky.test:443' is reached through another proxy, which refused" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		int fd = connect_to(table[i].to);
		char *answer = get(fd, NULL);

		assert_int_equal(strncmp(answer, "HTTP/1.1 502 ", 13), 0);
		if (!strstr(answer, table[i].words))
			fail_msg("%s", answer);
		free(answer);
		close(fd);
	}
}

static void a_proxys_question_for_a_password_stays_here(void **state)
{
	int fd = dial_port(proxy.http);
	char *answer;

	(void)state;
	put(fd, "GET http://picky.test/ HTTP/1.0\r\n\r\n");
	answer = get(fd, NULL);
	assert_int_equal(strncmp(answer, "HTTP/1.1 502 ", 13), 0);
	assert_null(strstr(answer, "Authenticate"));
	free(answer);
	close(fd);
	json_free(hear(&proxy));
}

static void rules_and_known_addresses_are_judged_here(void **state)
{
	int accepted = server_accepted(&parent_server);
	int fd = connect_to("far.example:443");

	(void)state;
	free(get(fd, NULL));
	close(fd);
	expect_violation(&proxy, "far.example:443", "egress-allowlist", "connect");
	fd = connect_to("inner.test:443");
	free(get(fd, NULL));
	close(fd);
	expect_violation(&proxy, "inner.test:443", "resolved-address", "connect");
	assert_int_equal(server_accepted(&parent_server), accepted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_proxy_is_a_url_with_credentials_from_one_place),
		cmocka_unit_test(the_first_fitting_proxy_takes_a_connection),
		cmocka_unit_test(a_tunnel_leads_through_the_parent_by_name),
		cmocka_unit_test(a_host_of_the_exceptions_is_reached_directly),
		cmocka_unit_test(plain_requests_go_to_the_parent_whole),
		cmocka_unit_test(an_upgrade_takes_a_tunnel),
		cmocka_unit_test(a_proxy_that_fails_is_named_as_one),
		cmocka_unit_test(a_proxys_question_for_a_password_stays_here),
		cmocka_unit_test(rules_and_known_addresses_are_judged_here),
	};

	return cmocka_run_group_tests_name("egress chain", tests, set_up, tear_down);
}
