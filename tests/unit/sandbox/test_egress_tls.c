#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/mman.h>

#include "sandbox/egress/h2_lib.h"
#include "sandbox/egress/mint.h"
#include "sandbox/egress/tls_lib.h"
#include "sandbox/egress/tls_trust.h"
#include "test_egress_fixture.h"

#define L tls_lib
#define PLACEHOLDER "sk-ant-api03-PLACEHOLDER-0123456789"
#define SECRET "sk-ant-api03-the-real-one"
#define TOKEN_PLACEHOLDER "ghp_PLACEHOLDERPLACEHOLDER0123456789"
#define TOKEN "ghp_therealone"

/* --- a server with TLS, and a certificate for each of its names --- */

static struct mint *root;		/* the test's own; the helper is told of it */
static SSL_CTX *server_ctx;
static char extra_path[] = "/tmp/agate-test-root.XXXXXX";

static SSL *tls_over(SSL_CTX *ctx, int fd)
{
	SSL *ssl = L.SSL_new(ctx);

	assert_non_null(ssl);
	assert_int_equal(L.SSL_set_fd(ssl, fd), 1);
	return ssl;
}

static void own_ssl(SSL **ssl)
{
	int fd = -1;

	if (!*ssl)
		return;
	L.SSL_shutdown(*ssl);
	fd = L.SSL_get_fd(*ssl);
	L.SSL_free(*ssl);
	close(fd);
}

/* One message up to @tail, into @to. */
static int read_until(SSL *ssl, const char *tail, char *to, size_t size)
{
	size_t n = 0;

	while (n + 1 < size) {
		if (L.SSL_read(ssl, to + n, 1) != 1)
			break;
		to[++n] = '\0';
		if (n >= strlen(tail) && !strcmp(to + n - strlen(tail), tail))
			return 1;
	}
	to[n] = '\0';
	return 0;
}

/* Answer each request with its own head; one that upgrades is echoed from then on. */
static void serve_tls(int fd)
{
	SSL *ssl = tls_over(server_ctx, fd);
	char head[16384], answer[20000];

	L.SSL_set_accept_state(ssl);
	while (L.SSL_do_handshake(ssl) == 1 && read_until(ssl, "\r\n\r\n", head, sizeof(head))) {
		int n;

		if (strstr(head, "Upgrade: echo")) {
			n = snprintf(answer, sizeof(answer), "HTTP/1.1 101 On\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n");
			L.SSL_write(ssl, answer, n);
			while ((n = L.SSL_read(ssl, answer, sizeof(answer))) > 0)
				L.SSL_write(ssl, answer, n);
			break;
		}
		n = snprintf(answer, sizeof(answer), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(head), head);
		if (L.SSL_write(ssl, answer, n) != n)
			break;
	}
	own_ssl(&ssl);
}

static void serve_plain(int fd)
{
	OWN(mem) char *head = get(fd, "\r\n\r\n");
	char answer[20000];
	int n = snprintf(answer, sizeof(answer), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(head), head);

	send(fd, answer, (size_t)n, MSG_NOSIGNAL);
	close(fd);
}

static struct server tls_server_, plain_server;
static struct proxy proxy;
static SSL_CTX *client_ctx;

static void show_certificate(const char *name)
{
	struct host h;
	const char *why;

	assert_int_equal(host_parse(name, strlen(name), &h, &why), 0);
	assert_int_equal(L.SSL_CTX_use_certificate(server_ctx, mint_leaf(root, &h)), 1);
	assert_int_equal(L.SSL_CTX_use_PrivateKey(server_ctx, mint_leaf_key(root)), 1);
}

/* As proxy_start(), with secrets behind the configuration, in a file that can be wiped; which is returned. */
static int start_with_secrets(struct proxy *p, const char *rest, const char *secrets, size_t len)
{
	OWN(buf) struct buf config = { 0 };
	int fds[3], memory = memfd_create("config", MFD_CLOEXEC);

	buf_addf(&config, "{\"run\":\"r1\",\"networkEnabled\":true,\"dataDir\":\"%s\"%s}", data_dir(), rest);
	buf_add(&config, "", 1);
	buf_add(&config, secrets, len);
	assert_int_equal(io_write_all(memory, config.data, config.len), 0);
	fds[0] = memory;
	fds[1] = listen_any(&p->http);
	fds[2] = listen_any(&p->socks);
	proxy_fork(p);
	assert_int_equal(io_send_fds(p->control, "{\"type\":\"config\"}", 17, fds, 3), 0);
	close(fds[1]);
	close(fds[2]);
	return memory;
}

/* The programs inside believe the run's authority and nobody else. */
static void expect_ca(const struct proxy *p)
{
	OWN(child_json) struct json *msg = hear(p);
	const char *pem = member(msg, "pem");
	BIO *bio;
	X509 *ca;

	if (strcmp(member(msg, "type"), "ca"))
		fail_msg("%s: %s", member(msg, "type"), member(msg, "reason"));
	bio = L.BIO_new_mem_buf(pem, -1);
	ca = L.PEM_read_bio_X509(bio, NULL, NULL, NULL);
	assert_non_null(ca);
	assert_null(strstr(pem, "PRIVATE"));
	client_ctx = L.SSL_CTX_new(L.TLS_client_method());
	assert_int_equal(L.X509_STORE_add_cert(L.SSL_CTX_get_cert_store(client_ctx), ca), 1);
	L.SSL_CTX_set_verify(client_ctx, SSL_VERIFY_PEER, NULL);
	L.X509_free(ca);
	L.BIO_free(bio);
}

static int set_up(void **state)
{
	OWN(buf) struct buf pem = { 0 };
	static const char secrets[] = SECRET "\0" TOKEN;
	char rest[4096], all_zero[sizeof(secrets)] = "", left[sizeof(secrets)];
	struct err err = { 0 };
	int fd, memory;
	off_t end;

	(void)state;
	if (tls_lib_load(&err) < 0)
		fail_msg("%s", err.msg);
	root = mint_new("test root", &err);
	assert_non_null(root);
	assert_int_equal(mint_ca_pem(root, &pem), 0);
	buf_adds(&pem, "-----BEGIN PRIVATE KEY-----\nnot for anybody\n-----END PRIVATE KEY-----\n");
	fd = mkstemp(extra_path);
	assert_int_equal(io_write_all(fd, pem.data, pem.len), 0);
	close(fd);
	server_ctx = L.SSL_CTX_new(L.TLS_server_method());
	show_certificate("api.test");
	server_start(&tls_server_, serve_tls);
	server_start(&plain_server, serve_plain);
	snprintf(rest, sizeof(rest),
		 ",\"hosts\":{\"api.test\":[\"127.0.0.1\"],\"other.test\":[\"127.0.0.1\"],\"git.test\":[\"127.0.0.1\"]}"
		 ",\"allow\":[\"api.test:%1$u\",\"api.test:%2$u\",\"other.test:%1$u\",\"other.test:%2$u\",\"git.test:%1$u\"]"
		 ",\"tlsTerminate\":{\"hosts\":[\"other.test:%1$u\"],\"extraCaCertPaths\":[\"%3$s\"]}"
		 ",\"routes\":[{\"host\":\"api.test\",\"allow\":[\"GET /v1/**\",\"POST /v1/messages\"],\"deny\":[\"* /v1/secret\"]}]"
		 ",\"credentials\":[{\"id\":\"key\",\"hosts\":[\"api.test:%1$u\"],\"placeholder\":\"" PLACEHOLDER "\"},"
		 "{\"id\":\"token\",\"hosts\":[\"git.test:%1$u\"],\"placeholder\":\"" TOKEN_PLACEHOLDER "\","
		 "\"basic\":{\"username\":\"x-access-token\"}}]",
		 tls_server_.port, plain_server.port, extra_path);
	memory = start_with_secrets(&proxy, rest, secrets, sizeof(secrets));
	expect_ca(&proxy);
	expect_ready(&proxy);
	/* What came with the configuration is gone from the file once it was read. */
	end = lseek(memory, 0, SEEK_END);
	assert_int_equal(pread(memory, left, sizeof(left), end - (off_t)sizeof(left)), sizeof(left));
	assert_memory_equal(left, all_zero, sizeof(left));
	close(memory);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	proxy_stop(&proxy);
	server_stop(&tls_server_);
	server_stop(&plain_server);
	unlink(extra_path);
	L.SSL_CTX_free(client_ctx);
	L.SSL_CTX_free(server_ctx);
	mint_free(root);
	return 0;
}

/* --- the program inside --- */

/* A tunnel to @host on the TLS server's port. */
static int tunnel_to(const char *host, uint16_t port)
{
	int fd = dial_port(proxy.http);
	char text[256];

	snprintf(text, sizeof(text), "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n", host, port, host, port);
	put(fd, text);
	expect(fd, "HTTP/1.1 200 Connection Established\r\n\r\n");
	return fd;
}

/* The handshake, with @name asked for and expected; NULL when it fails. */
static SSL *shake(int fd, const char *name)
{
	SSL *ssl = tls_over(client_ctx, fd);

	L.SSL_set_connect_state(ssl);
	assert_int_equal(L.SSL_set1_host(ssl, name), 1);
	L.SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, (void *)(uintptr_t)name);
	if (L.SSL_do_handshake(ssl) == 1)
		return ssl;
	own_ssl(&ssl);
	return NULL;
}

static SSL *connect_to(const char *host)
{
	SSL *ssl = shake(tunnel_to(host, tls_server_.port), host);

	assert_non_null(ssl);
	return ssl;
}

/* Send a request; its answer's status, and its body in @body. */
static int ask(SSL *ssl, const char *request, char *body, size_t size)
{
	char head[8192];
	const char *length;
	size_t n, got = 0;

	assert_int_equal(L.SSL_write(ssl, request, (int)strlen(request)), (int)strlen(request));
	if (!read_until(ssl, "\r\n\r\n", head, sizeof(head)))
		return 0;
	length = strstr(head, "Content-Length: ");
	n = length ? strtoul(length + 16, NULL, 10) : 0;
	assert_true(n < size);
	while (got < n) {
		int r = L.SSL_read(ssl, body + got, (int)(n - got));

		if (r <= 0)
			break;
		got += (size_t)r;
	}
	body[got] = '\0';
	return atoi(head + 9);
}

#define GET_V1(more) "GET /v1/x HTTP/1.1\r\nHost: api.test\r\n" more "\r\n"

static void a_placeholder_becomes_the_secret_on_its_way_to_its_host(void **state)
{
	static const struct { const char *field, *wanted; } rows[] = {
		{ "x-api-key: " PLACEHOLDER "\r\n", "x-api-key: " SECRET "\r\n" },
		{ "Authorization: Bearer " PLACEHOLDER "\r\n", "Authorization: Bearer " SECRET "\r\n" },
		/* Others are not made to carry it. */
		{ "X-Echo: " PLACEHOLDER "\r\n", "X-Echo: " PLACEHOLDER "\r\n" },
		{ "x-api-key: another one\r\n", "x-api-key: another one\r\n" },
	};
	OWN(ssl) SSL *ssl = connect_to("api.test");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char request[512], body[8192];

		snprintf(request, sizeof(request), "GET /v1/./x?y HTTP/1.1\r\nHost: api.test\r\n%s\r\n", rows[i].field);
		assert_int_equal(ask(ssl, request, body, sizeof(body)), 200);
		assert_non_null(strstr(body, rows[i].wanted));
		assert_non_null(strstr(body, "GET /v1/x?y HTTP/1.1\r\n"));
		assert_null(strstr(body, "Proxy-"));
	}
	expect_silence(&proxy);
}

static void basic_authentication_gets_the_secret_in_its_name_or_password(void **state)
{
	char body[8192];
	OWN(ssl) SSL *ssl = NULL;

	(void)state;
	show_certificate("git.test");
	ssl = connect_to("git.test");
	/* x-access-token:ghp_PLACEHOLDER... and, for a request that says nothing, the same */
	assert_int_equal(ask(ssl, "GET /r HTTP/1.1\r\nHost: git.test\r\nAuthorization: Basic "
			     "eC1hY2Nlc3MtdG9rZW46Z2hwX1BMQUNFSE9MREVSUExBQ0VIT0xERVIwMTIzNDU2Nzg5\r\n\r\n",
			     body, sizeof(body)), 200);
	assert_non_null(strstr(body, "Authorization: Basic eC1hY2Nlc3MtdG9rZW46Z2hwX3RoZXJlYWxvbmU=\r\n"));
	assert_int_equal(ask(ssl, "GET /r HTTP/1.1\r\nHost: git.test\r\n\r\n", body, sizeof(body)), 200);
	assert_non_null(strstr(body, "Authorization: Basic eC1hY2Nlc3MtdG9rZW46Z2hwX3RoZXJlYWxvbmU=\r\n"));
	/* Its own, where it has one. */
	assert_int_equal(ask(ssl, "GET /r HTTP/1.1\r\nHost: git.test\r\nAuthorization: mine\r\n\r\n", body,
			     sizeof(body)), 200);
	assert_null(strstr(body, "Basic"));
	show_certificate("api.test");
	expect_silence(&proxy);
}

static void a_placeholder_on_its_way_elsewhere_is_refused_and_told(void **state)
{
	char target[64], text[512], body[8192];
	OWN(ssl) SSL *ssl = NULL;
	OWN(mem) char *answer = NULL;
	OWN(fd) int fd = -1;

	(void)state;
	show_certificate("other.test");
	ssl = connect_to("other.test");
	snprintf(target, sizeof(target), "other.test:%u", tls_server_.port);
	assert_int_equal(ask(ssl, "GET / HTTP/1.1\r\nHost: other.test\r\nX-Any: a " PLACEHOLDER "\r\n\r\n", body,
			     sizeof(body)), 403);
	expect_violation(&proxy, target, "credential-leak", "https");
	assert_null(strstr(body, SECRET));
	assert_int_equal(ask(ssl, "GET /?k=" TOKEN_PLACEHOLDER " HTTP/1.1\r\nHost: other.test\r\n\r\n", body,
			     sizeof(body)), 403);
	expect_violation(&proxy, target, "credential-leak", "https");
	assert_int_equal(ask(ssl, "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n", body, sizeof(body)), 200);
	show_certificate("api.test");
	/* Nor to its own host in the clear. */
	fd = dial_port(proxy.http);
	snprintf(target, sizeof(target), "api.test:%u", plain_server.port);
	snprintf(text, sizeof(text), "GET http://%s/v1/x HTTP/1.1\r\nHost: %s\r\nX-Api-Key: " PLACEHOLDER
		 "\r\nConnection: close\r\n\r\n", target, target);
	put(fd, text);
	answer = get(fd, NULL);
	assert_non_null(strstr(answer, "403 agate: blocked"));
	expect_violation(&proxy, target, "credential-leak", "http");
}

static void requests_are_held_against_the_rules_of_their_host(void **state)
{
	static const struct { const char *line; int status; const char *rule; } rows[] = {
		{ "GET /v1/models", 200, NULL }, { "POST /v1/messages", 200, NULL },
		{ "POST /v1/files", 403, "route" }, { "GET /v2", 403, "route" },
		{ "GET /v1/secret", 403, "* /v1/secret" }, { "GET /v1/a/../secret", 403, "* /v1/secret" },
		{ "GET /v1/%73ecret", 403, "* /v1/secret" }, { "GET /v1/%2e%2e/v2", 403, "route" },
		{ "GET /v1//x", 403, "route" }, { "GET /v1/a%2fb", 403, "route" },
	};
	OWN(mem) char *answer = NULL;
	char target[64], text[512];
	OWN(fd) int fd = dial_port(proxy.http);

	(void)state;
	snprintf(target, sizeof(target), "api.test:%u", tls_server_.port);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		OWN(ssl) SSL *ssl = connect_to("api.test");
		char request[512], body[8192] = "";
		int status;

		snprintf(request, sizeof(request), "%s HTTP/1.1\r\nHost: api.test\r\n\r\n", rows[i].line);
		status = ask(ssl, request, body, sizeof(body));
		if (status != rows[i].status)
			fail_msg("%s: %d", rows[i].line, status);
		if (rows[i].rule)
			expect_violation(&proxy, target, rows[i].rule, "https");
	}
	/* The same in the clear. */
	snprintf(target, sizeof(target), "api.test:%u", plain_server.port);
	snprintf(text, sizeof(text), "GET http://%s/v2 HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", target, target);
	put(fd, text);
	answer = get(fd, NULL);
	assert_non_null(strstr(answer, "403 "));
	expect_violation(&proxy, target, "route", "http");
}

static void all_names_of_a_connection_must_agree(void **state)
{
	char target[64], body[8192];
	OWN(ssl) SSL *ssl = NULL;

	(void)state;
	snprintf(target, sizeof(target), "api.test:%u", tls_server_.port);
	assert_null(shake(tunnel_to("api.test", tls_server_.port), "other.test"));
	expect_violation(&proxy, target, "host-mismatch", "https");
	ssl = connect_to("api.test");
	assert_int_equal(ask(ssl, "GET /v1/x HTTP/1.1\r\nHost: other.test\r\n\r\n", body, sizeof(body)), 421);
	expect_violation(&proxy, target, "host-mismatch", "https");
}

static void the_host_outside_must_have_its_own_certificate(void **state)
{
	struct mint *stranger = mint_new("test stranger", NULL);
	struct host h;
	const char *why;

	(void)state;
	assert_int_equal(host_parse("api.test", 8, &h, &why), 0);
	for (int i = 0; i < 2; i++) {
		OWN(ssl) SSL *ssl = NULL;
		char body[8192];

		show_certificate("evil.test");
		if (i) {	/* the right name, by an authority that nobody here believes */
			assert_int_equal(L.SSL_CTX_use_certificate(server_ctx, mint_leaf(stranger, &h)), 1);
			assert_int_equal(L.SSL_CTX_use_PrivateKey(server_ctx, mint_leaf_key(stranger)), 1);
		}
		ssl = connect_to("api.test");
		assert_int_equal(ask(ssl, GET_V1("x-api-key: " PLACEHOLDER "\r\n"), body, sizeof(body)), 502);
		assert_non_null(strstr(body, "has a certificate that is not trusted"));
	}
	mint_free(stranger);
	show_certificate("api.test");
	expect_silence(&proxy);
}

static void what_is_neither_tls_nor_http_is_refused_to_such_a_host(void **state)
{
	char target[64];
	int fd = tunnel_to("api.test", tls_server_.port);

	(void)state;
	snprintf(target, sizeof(target), "api.test:%u", tls_server_.port);
	put(fd, "\x01\x02\x03");
	expect_violation(&proxy, target, "not-http", "connect");
	expect_end(fd);
	close(fd);
}

static void an_upgraded_connection_carries_bytes_both_ways(void **state)
{
	OWN(ssl) SSL *ssl = connect_to("api.test");
	static const char request[] = GET_V1("Connection: upgrade\r\nUpgrade: echo\r\n");
	char head[4096], data[100000];
	size_t got = 0;

	(void)state;
	assert_true(L.SSL_write(ssl, request, sizeof(request) - 1) > 0);
	assert_true(read_until(ssl, "\r\n\r\n", head, sizeof(head)));
	assert_non_null(strstr(head, "101"));
	memset(data, 'x', sizeof(data));
	assert_int_equal(L.SSL_write(ssl, data, sizeof(data)), sizeof(data));
	while (got < sizeof(data)) {
		int n = L.SSL_read(ssl, data, sizeof(data));

		assert_true(n > 0);
		got += (size_t)n;
	}
}

/* --- ill will --- */

/* What two readers could take for two things is refused, and nothing of it reaches the host. */
static void requests_that_can_be_read_in_two_ways_are_refused(void **state)
{
	static const struct { const char *request; int status; const char *told; } rows[] = {
		{ "GET /v1/x HTTP/1.1\r\nHost: api.test\r\nHost: other.test\r\n\r\n", 400, NULL },
		{ "GET /v1/x HTTP/1.1\r\nHost: api.test\r\nHost: api.test\r\n\r\n", 400, NULL },
		{ "GET /v1/x HTTP/1.1\r\n\r\n", 400, NULL },
		{ "GET http://other.test/v1/x HTTP/1.1\r\nHost: api.test\r\n\r\n", 400, NULL },
		{ "GET https://api.test/v1/x HTTP/1.1\r\nHost: api.test\r\n\r\n", 400, NULL },
		{ "GET /v1/x HTTP/1.1\r\nHost: api.test:1\r\n\r\n", 421, "host-mismatch" },
		{ "GET /v1/x HTTP/1.1\r\nHost: api.test@other.test\r\n\r\n", 400, "malformed-destination" },
		{ "GET /v1/x HTTP/1.1\r\nHost: api.test, other.test\r\n\r\n", 400, "malformed-destination" },
		{ "GET /v1/x HTTP/1.1\r\nHost: api.test other.test\r\n\r\n", 400, "malformed-destination" },
		{ "POST /v1/messages HTTP/1.1\r\nHost: api.test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, NULL },
		{ "POST /v1/messages HTTP/1.1\r\nHost: api.test\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nabcd", 400, NULL },
		{ "POST /v1/messages HTTP/1.1\r\nHost: api.test\r\nContent-Length: +4\r\n\r\nabcd", 400, NULL },
		{ "POST /v1/messages HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: xchunked\r\n\r\n", 501, NULL },
		{ "POST /v1/messages HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501, NULL },
		{ "POST /v1/messages HTTP/1.0\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n", 400, NULL },
		{ "GET /v1/x HTTP/1.1\r\nHost: api.test\r\nX: a\r\n b\r\n\r\n", 400, NULL },
		{ "GET /v1/x HTTP/1.1\nHost: api.test\n\n", 400, NULL },
		{ "GET /v1/x HTTP/1.1\r\nHost: api.test\nX: y\r\n\r\n", 400, NULL },
		{ "GET /v1/x HTTP/1.1\r\nHost : api.test\r\n\r\n", 400, NULL },
		{ "GET /v1/x HTTP/1.1\r\nHost: api.test\r\nX\x01: y\r\n\r\n", 400, NULL },
		{ "GET /v1/x y HTTP/1.1\r\nHost: api.test\r\n\r\n", 400, NULL },
		{ "GET /v1/x#y HTTP/1.1\r\nHost: api.test\r\n\r\n", 400, NULL },
		{ "GET /v1/x HTTP/2.0\r\nHost: api.test\r\n\r\n", 505, NULL },
		{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, NULL },
		{ "CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n", 405, NULL },
		{ "TRACE /v1/x HTTP/1.1\r\nHost: api.test\r\n\r\n", 405, NULL },
	};
	int before = server_accepted(&tls_server_);
	char target[64];

	(void)state;
	snprintf(target, sizeof(target), "api.test:%u", tls_server_.port);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		OWN(ssl) SSL *ssl = connect_to("api.test");
		char body[8192];
		int status = ask(ssl, rows[i].request, body, sizeof(body));

		if (status != rows[i].status)
			fail_msg("%d for %s", status, rows[i].request);
		/* Whoever asks to be somebody else is on record; who stammers is not. */
		if (rows[i].told)
			expect_violation(&proxy, target, rows[i].told, "https");
	}
	expect_silence(&proxy);
	assert_int_equal(server_accepted(&tls_server_), before);
}

static void a_change_to_cleartext_http2_is_not_passed_on(void **state)
{
	char body[8192];
	OWN(ssl) SSL *ssl = connect_to("api.test");

	(void)state;
	assert_int_equal(ask(ssl, GET_V1("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"),
			     body, sizeof(body)), 200);
	assert_null(strcasestr(body, "upgrade"));
	assert_null(strcasestr(body, "settings"));
	expect_silence(&proxy);
}

/* A name with its dot, in capitals, or none at all is the host's; an address or another is not. */
static void tls_may_ask_for_the_host_in_any_spelling(void **state)
{
	static const struct { const char *name; int is_good; } rows[] = {
		{ "api.test", 1 }, { "API.Test", 1 }, { "api.test.", 1 }, { "", 1 },
		{ "other.test", 0 }, { "127.0.0.1", 0 }, { "x.api.test", 0 },
	};
	char target[64];

	(void)state;
	snprintf(target, sizeof(target), "api.test:%u", tls_server_.port);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		OWN(ssl) SSL *ssl = tls_over(client_ctx, tunnel_to("api.test", tls_server_.port));

		L.SSL_set_connect_state(ssl);
		if (rows[i].name[0])
			L.SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
				   (void *)(uintptr_t)rows[i].name);
		if ((L.SSL_do_handshake(ssl) == 1) != rows[i].is_good)
			fail_msg("'%s'", rows[i].name);
		if (!rows[i].is_good)
			expect_violation(&proxy, target, "host-mismatch", "https");
	}
}

static void old_versions_of_tls_are_refused_and_sessions_are_not_resumed(void **state)
{
	static const struct { long version; int is_good; } rows[] = {
		{ TLS1_VERSION, 0 }, { TLS1_1_VERSION, 0 }, { TLS1_2_VERSION, 1 }, { TLS1_3_VERSION, 1 },
	};
	char body[8192];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		OWN(ssl) SSL *ssl = tls_over(client_ctx, tunnel_to("api.test", tls_server_.port));

		L.SSL_set_connect_state(ssl);
		L.SSL_ctrl(ssl, SSL_CTRL_SET_MIN_PROTO_VERSION, rows[i].version, NULL);
		L.SSL_ctrl(ssl, SSL_CTRL_SET_MAX_PROTO_VERSION, rows[i].version, NULL);
		assert_int_equal(L.SSL_do_handshake(ssl) == 1, rows[i].is_good);
		if (!rows[i].is_good)
			continue;
		assert_int_equal(ask(ssl, GET_V1(""), body, sizeof(body)), 200);
		/* Nothing to come back with: neither to this host nor, without its name, to another. */
		assert_int_equal(L.SSL_SESSION_is_resumable(L.SSL_get_session(ssl)), 0);
	}
	expect_silence(&proxy);
}

/* More hosts than are kept: the first are forgotten and made anew. */
static void certificates_are_kept_for_a_bounded_number_of_hosts(void **state)
{
	struct host h;
	const char *why;

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < MINT_LEAVES_KEPT + 40; i++) {
			char name[32];
			int n = snprintf(name, sizeof(name), "h%d.test", i);

			assert_int_equal(host_parse(name, (size_t)n, &h, &why), 0);
			assert_non_null(mint_leaf(root, &h));
		}
	}
	show_certificate("api.test");
}

static void many_connections_at_once_get_their_answers(void **state)
{
	SSL *ssl[40];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ssl); i++)
		ssl[i] = connect_to("api.test");
	for (size_t i = 0; i < ARRAY_LEN(ssl); i++) {
		char body[8192];

		assert_int_equal(ask(ssl[i], GET_V1("X-Api-Key: " PLACEHOLDER "\r\n"), body, sizeof(body)), 200);
		assert_non_null(strstr(body, SECRET));
		own_ssl(&ssl[i]);
	}
	expect_silence(&proxy);
}

/* --- HTTP/2, in frames written by hand --- */

enum { H2_DATA = 0, H2_GOAWAY = 7 };

/* A helper of its own, whose connections may be idle for a second. */
static void start_impatient(struct proxy *p)
{
	char rest[1024];

	snprintf(rest, sizeof(rest), ",\"hosts\":{\"api.test\":[\"127.0.0.1\"]},\"allow\":[\"api.test:%1$u\"],"
		 "\"tlsTerminate\":{\"hosts\":[\"api.test:%1$u\"],\"extraCaCertPaths\":[\"%2$s\"]},"
		 "\"limits\":{\"keepAliveMs\":1000}", tls_server_.port, extra_path);
	proxy_start(p, rest);
	json_free(hear(p));
	expect_ready(p);
}

static SSL *connect_h2(const struct proxy *p, SSL_CTX *ctx)
{
	int fd = dial_port(p->http);
	const unsigned char *name = NULL;
	unsigned int len = 0;
	char text[128];
	SSL *ssl;

	snprintf(text, sizeof(text), "CONNECT api.test:%u HTTP/1.1\r\n\r\n", tls_server_.port);
	put(fd, text);
	expect(fd, "HTTP/1.1 200 Connection Established\r\n\r\n");
	ssl = tls_over(ctx, fd);
	L.SSL_set_connect_state(ssl);
	assert_int_equal(L.SSL_do_handshake(ssl), 1);
	L.SSL_get0_alpn_selected(ssl, &name, &len);
	assert_int_equal(len, 2);
	assert_memory_equal(name, "h2", 2);
	return ssl;
}

static void put_h2(struct buf *b, const char *name, const char *value)
{
	buf_addc(b, 0);
	buf_addc(b, (char)strlen(name));
	buf_adds(b, name);
	buf_addc(b, (char)strlen(value));
	buf_adds(b, value);
}

/* The next frame's type, -1 at the end; its flags and its beginning. */
static int next_frame(SSL *ssl, int *ret_flags, char data[512])
{
	unsigned char head[9];
	size_t len, got = 0;

	for (size_t n = 0; n < sizeof(head); n++)
		if (L.SSL_read(ssl, head + n, 1) != 1)
			return -1;
	len = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
	memset(data, 0, 512);
	for (char byte; got < len && L.SSL_read(ssl, &byte, 1) == 1; got++)
		if (got < 511)
			data[got] = byte;
	*ret_flags = head[4];
	return head[3];
}

static void http_2_is_spoken_and_an_idle_connection_told_to_go(void **state)
{
	SSL_CTX *ctx = L.SSL_CTX_new(L.TLS_client_method());	/* whom it believes is looked at elsewhere */
	OWN(buf) struct buf block = { 0 };
	OWN(buf) struct buf out = { 0 };
	struct proxy p;
	int flags = 0, type, answered = 0, was_told = 0;
	char data[512], authority[64];
	SSL *ssl;

	(void)state;
	if (h2_lib_load(NULL) < 0)
		skip();
	start_impatient(&p);
	assert_int_equal(L.SSL_CTX_set_alpn_protos(ctx, (const unsigned char *)"\x02h2\x08http/1.1", 12), 0);
	ssl = connect_h2(&p, ctx);
	snprintf(authority, sizeof(authority), "api.test:%u", tls_server_.port);
	put_h2(&block, ":method", "GET");
	put_h2(&block, ":scheme", "https");
	put_h2(&block, ":authority", authority);
	put_h2(&block, ":path", "/in-frames");
	put_h2(&block, "x-mine", "7");
	buf_adds(&out, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	buf_add(&out, "\0\0\0\4\0\0\0\0\0", 9);
	buf_add(&out, "\0\0", 2);
	buf_addc(&out, (char)block.len);
	buf_add(&out, "\1\5\0\0\0\1", 6);
	buf_add(&out, block.data, block.len);
	assert_int_equal(L.SSL_write(ssl, out.data, (int)out.len), (int)out.len);
	while ((type = next_frame(ssl, &flags, data)) >= 0) {
		answered |= type == H2_DATA && strstr(data, "GET /in-frames HTTP/1.1\r\nHost: api.test:") &&
			    strstr(data, "x-mine: 7\r\n");
		was_told |= type == H2_GOAWAY;
	}
	assert_true(answered);
	assert_true(was_told);
	own_ssl(&ssl);
	L.SSL_CTX_free(ctx);
	proxy_stop(&p);
}

static void only_certificates_are_taken_from_a_file_of_trust(void **state)
{
	static const char text[] = "x\n-----BEGIN PRIVATE KEY-----\nk\n-----END PRIVATE KEY-----\n"
				   "-----BEGIN CERTIFICATE-----\na\n-----END CERTIFICATE-----\n"
				   "-----BEGIN CERTIFICATE-----\ncut\n-----BEGIN PRIVATE KEY-----\nk\n"
				   "-----END PRIVATE KEY-----\n-----END CERTIFICATE-----\n"
				   "-----BEGIN CERTIFICATE-----\nb\n-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\n";
	OWN(buf) struct buf out = { 0 };

	(void)state;
	assert_int_equal(trust_certificates(text, sizeof(text) - 1, &out), 2);
	assert_string_equal(out.data, "-----BEGIN CERTIFICATE-----\na\n-----END CERTIFICATE-----\n"
				      "-----BEGIN CERTIFICATE-----\nb\n-----END CERTIFICATE-----\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_placeholder_becomes_the_secret_on_its_way_to_its_host),
		cmocka_unit_test(basic_authentication_gets_the_secret_in_its_name_or_password),
		cmocka_unit_test(a_placeholder_on_its_way_elsewhere_is_refused_and_told),
		cmocka_unit_test(requests_are_held_against_the_rules_of_their_host),
		cmocka_unit_test(all_names_of_a_connection_must_agree),
		cmocka_unit_test(the_host_outside_must_have_its_own_certificate),
		cmocka_unit_test(what_is_neither_tls_nor_http_is_refused_to_such_a_host),
		cmocka_unit_test(an_upgraded_connection_carries_bytes_both_ways),
		cmocka_unit_test(requests_that_can_be_read_in_two_ways_are_refused),
		cmocka_unit_test(a_change_to_cleartext_http2_is_not_passed_on),
		cmocka_unit_test(tls_may_ask_for_the_host_in_any_spelling),
		cmocka_unit_test(old_versions_of_tls_are_refused_and_sessions_are_not_resumed),
		cmocka_unit_test(certificates_are_kept_for_a_bounded_number_of_hosts),
		cmocka_unit_test(many_connections_at_once_get_their_answers),
		cmocka_unit_test(http_2_is_spoken_and_an_idle_connection_told_to_go),
		cmocka_unit_test(only_certificates_are_taken_from_a_file_of_trust),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
