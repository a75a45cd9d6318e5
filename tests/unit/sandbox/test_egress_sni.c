#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "sandbox/egress/sni.h"
#include "test_egress_fixture.h"

/* --- reading --- */

static void put16(struct buf *b, size_t v)
{
	buf_addc(b, (char)(v >> 8));
	buf_addc(b, (char)v);
}

static void put_name(struct buf *b, const char *name)
{
	size_t n = strlen(name);

	put16(b, 0);
	put16(b, n + 5);
	put16(b, n + 3);
	buf_addc(b, 0);
	put16(b, n);
	buf_add(b, name, n);
}

/* A ClientHello with these extensions, in records of @cut bytes. */
static void put_hello(struct buf *out, const struct buf *extensions, size_t cut)
{
	OWN(buf) struct buf m = { 0 };
	size_t body = 2 + 32 + 1 + 4 + 2 + (extensions ? 2 + extensions->len : 0);

	buf_add(&m, "\1\0", 2);
	put16(&m, body);
	buf_add(&m, "\3\3", 2);
	buf_add(&m, "0123456789abcdef0123456789abcdef", 32);
	buf_add(&m, "\0\0\2\x13\1\1\0", 7);
	if (extensions) {
		put16(&m, extensions->len);
		buf_add(&m, extensions->data ? extensions->data : "", extensions->len);
	}
	for (size_t at = 0; at < m.len; at += cut) {
		size_t n = m.len - at < cut ? m.len - at : cut;

		buf_add(out, "\x16\3\1", 3);
		put16(out, n);
		buf_add(out, m.data + at, n);
	}
}

/* It must say the same however the bytes come, and say it as soon as they are there. */
static void expect_sni(const struct buf *b, enum sni wanted, const char *name)
{
	char got[SNI_NAME_SIZE] = "";

	for (size_t n = 0; n < b->len; n++) {
		enum sni s = sni_read(b->data, n, got);

		if (s != SNI_MORE && s != wanted)
			fail_msg("%d after %zu bytes, not %d", s, n, wanted);
	}
	assert_int_equal(sni_read(b->data, b->len, got), wanted);
	if (name)
		assert_string_equal(got, name);
}

static void the_name_is_found_however_the_hello_is_cut(void **state)
{
	static const size_t cuts[] = { 1, 2, 5, 40, 16000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cuts); i++) {
		OWN(buf) struct buf ext = { 0 };
		OWN(buf) struct buf hello = { 0 };

		buf_add(&ext, "\0\x2b\0\3\2\3\4", 7);
		put_name(&ext, "Api.Test.");
		put_hello(&hello, &ext, cuts[i]);
		expect_sni(&hello, SNI_NAME, "Api.Test.");
	}
}

static void a_hello_without_a_name_has_none(void **state)
{
	OWN(buf) struct buf ext = { 0 };
	OWN(buf) struct buf hello = { 0 };
	OWN(buf) struct buf old = { 0 };

	(void)state;
	buf_add(&ext, "\0\x2b\0\3\2\3\4", 7);
	put_hello(&hello, &ext, 9999);
	expect_sni(&hello, SNI_NONE, NULL);
	put_hello(&old, NULL, 9999);
	expect_sni(&old, SNI_NONE, NULL);
}

static void what_is_not_tls_is_told_by_its_first_bytes(void **state)
{
	static const char *const rows[] = { "SSH-2.0-x", "GET / HTTP/1.1", "\x80\x2e\1\3\1", "\x16\2\1\1\1\1", "\x16\3\1\1\1\2" };
	char name[SNI_NAME_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(sni_read(rows[i], 6, name), SNI_NOT_TLS);
	assert_int_equal(sni_read("", 0, name), SNI_MORE);
}

static void what_can_be_read_in_two_ways_is_bad(void **state)
{
	OWN(buf) struct buf twice = { 0 };
	OWN(buf) struct buf h1 = { 0 };
	OWN(buf) struct buf h2 = { 0 };
	OWN(buf) struct buf h3 = { 0 };
	OWN(buf) struct buf blank = { 0 };
	OWN(buf) struct buf past = { 0 };
	OWN(buf) struct buf big = { 0 };

	(void)state;
	put_name(&twice, "a.test");
	put_name(&twice, "b.test");
	put_hello(&h1, &twice, 9999);
	expect_sni(&h1, SNI_BAD, NULL);
	put_name(&blank, "a.test b");
	put_hello(&h2, &blank, 9999);
	expect_sni(&h2, SNI_BAD, NULL);
	buf_add(&past, "\0\0\0\xff", 4);
	put_hello(&h3, &past, 9999);
	expect_sni(&h3, SNI_BAD, NULL);
	/* One without end */
	buf_add(&big, "\x16\3\1\x40\0\1\0\x50\0", 9);
	expect_sni(&big, SNI_BAD, NULL);
	/* Another kind of record in the middle */
	buf_clear(&big);
	buf_add(&big, "\x16\3\1\0\5\1\0\1\0\0\x17\3\3\0\1x", 16);
	expect_sni(&big, SNI_BAD, NULL);
}

/* --- tunnels --- */

static struct server server;
static struct proxy proxy;

/* Says "hello" first, then gives back what comes. */
static void greet(int fd)
{
	char data[4096];
	ssize_t n;

	send(fd, "hello", 5, MSG_NOSIGNAL);
	while ((n = recv(fd, data, sizeof(data), 0)) > 0)
		if (send(fd, data, (size_t)n, MSG_NOSIGNAL) != n)
			break;
	close(fd);
}

static int set_up(void **state)
{
	char rest[1024];

	(void)state;
	server_start(&server, greet);
	snprintf(rest, sizeof(rest),
		 ",\"hosts\":{\"a.test\":[\"127.0.0.1\"],\"b.test\":[\"127.0.0.1\"],\"c.test\":[\"127.0.0.1\"]}"
		 ",\"allow\":[\"a.test:%1$u\",\"b.test:%1$u\",\"c.test:%1$u\"]"
		 ",\"routes\":[{\"host\":\"c.test\",\"allow\":[\"GET /\"]}]", server.port);
	proxy_start(&proxy, rest);
	/* The routes need TLS to end here for that host. */
	json_free(hear(&proxy));
	expect_ready(&proxy);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	proxy_stop(&proxy);
	server_stop(&server);
	return 0;
}

static int tunnel_to(const char *host)
{
	int fd = dial_port(proxy.http);
	char text[256];

	snprintf(text, sizeof(text), "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n", host, server.port, host, server.port);
	put(fd, text);
	expect(fd, "HTTP/1.1 200 Connection Established\r\n\r\n");
	return fd;
}

static void hello_for(const char *name, struct buf *ret)
{
	OWN(buf) struct buf ext = { 0 };

	if (name)
		put_name(&ext, name);
	put_hello(ret, &ext, 50);
}

static void a_tunnel_is_for_the_host_it_was_opened_to(void **state)
{
	static const struct { const char *name; int passes; } rows[] = {
		{ "a.test", 1 }, { "A.TEST.", 1 }, { NULL, 1 },
		{ "b.test", 1 },	/* allowed as well */
		{ "evil.test", 0 }, { "10.0.0.1", 0 }, { "a.test:80", 0 }, { "*.a.test", 0 }, { "x.a.test", 0 },
		{ "c.test", 0 },	/* its requests are looked at */
	};
	char target[64];

	(void)state;
	snprintf(target, sizeof(target), "a.test:%u", server.port);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		OWN(buf) struct buf hello = { 0 };
		int fd = tunnel_to("a.test");
		char got[512];

		expect(fd, "hello");	/* before we have said anything */
		hello_for(rows[i].name, &hello);
		/* In two parts, the second when the first was read alone. */
		assert_int_equal(send(fd, hello.data, 20, MSG_NOSIGNAL), 20);
		usleep(20000);
		assert_int_equal(send(fd, hello.data + 20, hello.len - 20, MSG_NOSIGNAL), hello.len - 20);
		if (rows[i].passes) {
			assert_int_equal(recv(fd, got, hello.len, MSG_WAITALL), hello.len);
			assert_memory_equal(got, hello.data, hello.len);
			put(fd, "more");
			expect(fd, "more");
		} else {
			assert_int_equal(recv(fd, got, 7, MSG_WAITALL), 7);
			assert_memory_equal(got, "\x15\3\3\0\2\2\x70", 7);
			expect_end(fd);
			expect_violation(&proxy, target, "host-mismatch", "connect");
		}
		close(fd);
	}
	expect_silence(&proxy);
}

static void what_is_no_tls_passes_as_it_is(void **state)
{
	int fd = tunnel_to("a.test");

	(void)state;
	expect(fd, "hello");
	put(fd, "SSH-2.0-x\r\n");
	expect(fd, "SSH-2.0-x\r\n");
	put(fd, "\x16\3\1");
	expect(fd, "\x16\3\1");
	close(fd);
	/* One that ends before it is understood reaches the host as well. */
	fd = tunnel_to("a.test");
	expect(fd, "hello");
	put(fd, "\x16\3");
	shutdown(fd, SHUT_WR);
	expect(fd, "\x16\3");
	expect_end(fd);
	close(fd);
	expect_silence(&proxy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_name_is_found_however_the_hello_is_cut),
		cmocka_unit_test(a_hello_without_a_name_has_none),
		cmocka_unit_test(what_is_not_tls_is_told_by_its_first_bytes),
		cmocka_unit_test(what_can_be_read_in_two_ways_is_bad),
		cmocka_unit_test(a_tunnel_is_for_the_host_it_was_opened_to),
		cmocka_unit_test(what_is_no_tls_passes_as_it_is),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
