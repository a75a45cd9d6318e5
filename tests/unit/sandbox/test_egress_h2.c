#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/own.h"
#include "sandbox/egress/h2_head.h"

static void own_h2(struct h2_head *h)
{
	h2_head_done(h);
}

static int add(struct h2_head *h, const char *name, const char *value)
{
	return h2_head_field(h, 0, name, strlen(name), value, strlen(value));
}

static void begin(struct h2_head *h, const char *method, const char *path)
{
	assert_int_equal(add(h, ":method", method), 0);
	assert_int_equal(add(h, ":scheme", "https"), 0);
	assert_int_equal(add(h, ":authority", "api.test:8443"), 0);
	assert_int_equal(add(h, ":path", path), 0);
}

static void a_request_becomes_one_of_http_1(void **state)
{
	OWN(h2) struct h2_head h = { .bytes = 0 };
	OWN(buf) struct buf out = { 0 };

	(void)state;
	begin(&h, "POST", "/v1/x?y=z");
	assert_int_equal(add(&h, "host", "API.test:8443"), 0);
	assert_int_equal(add(&h, "cookie", "a=1"), 0);
	assert_int_equal(add(&h, "x-api-key", "k"), 0);
	assert_int_equal(add(&h, "te", "trailers"), 0);
	assert_int_equal(add(&h, "cookie", "b=2"), 0);
	assert_int_equal(h2_head_field(&h, 1, "x-sum", 5, "7", 1), 0);
	assert_true(h2_head_is_whole(&h));
	h2_head_write(&h, 1, &out);
	assert_string_equal(out.data, "POST /v1/x?y=z HTTP/1.1\r\nHost: api.test:8443\r\nx-api-key: k\r\n"
				      "Cookie: a=1; b=2\r\nTransfer-Encoding: chunked\r\n\r\n");
	assert_string_equal(h.trailers.data, "x-sum: 7\r\n");
	assert_int_equal(h.has_length, 0);
}

static void another_host_goes_along_and_makes_two(void **state)
{
	OWN(h2) struct h2_head h = { .bytes = 0 };
	OWN(buf) struct buf out = { 0 };

	(void)state;
	begin(&h, "GET", "/");
	assert_int_equal(add(&h, "host", "other.test"), 0);
	h2_head_write(&h, 0, &out);
	assert_string_equal(out.data, "GET / HTTP/1.1\r\nHost: api.test:8443\r\nhost: other.test\r\n\r\n");
}

static void what_could_become_a_line_or_a_length_is_refused(void **state)
{
	static const struct { const char *name, *value; } rows[] = {
		{ "x", "a\r\nb: c" }, { "x", "a\nb" }, { "x", "a\x01" }, { "x\r\ny", "a" }, { "x: y", "a" }, { "", "a" },
		{ "transfer-encoding", "chunked" }, { "connection", "close" }, { "upgrade", "h2c" }, { "keep-alive", "1" },
		{ "proxy-connection", "x" }, { "http2-settings", "x" }, { "Transfer-Encoding", "chunked" },
		{ ":path", "/y" }, { ":protocol", "websocket" }, { ":status", "200" }, { ":", "x" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		OWN(h2) struct h2_head h = { .bytes = 0 };

		begin(&h, "GET", "/x");
		if (add(&h, rows[i].name, rows[i].value) == 0)
			fail_msg("'%s: %s'", rows[i].name, rows[i].value);
		assert_int_equal(h2_head_field(&h, 1, ":path", 5, "/", 1), -1);
	}
}

static void a_head_that_is_not_whole_is_none(void **state)
{
	static const struct { const char *method, *scheme, *path; } rows[] = {
		{ "GET", "http", "/" }, { "GET", "https", "/a b" }, { "GET /x", "https", "/" }, { "GET\t", "https", "/" },
	};
	OWN(h2) struct h2_head none = { .bytes = 0 };

	(void)state;
	assert_false(h2_head_is_whole(&none));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		OWN(h2) struct h2_head h = { .bytes = 0 };

		assert_int_equal(add(&h, ":method", rows[i].method), 0);
		assert_int_equal(add(&h, ":scheme", rows[i].scheme), 0);
		assert_int_equal(add(&h, ":path", rows[i].path), 0);
		assert_false(h2_head_is_whole(&h));
	}
}

static void a_list_of_fields_is_bounded(void **state)
{
	OWN(h2) struct h2_head many = { .bytes = 0 };
	OWN(h2) struct h2_head long_one = { .bytes = 0 };
	char value[4001];
	int n = 0;

	(void)state;
	while (add(&many, "a", "") == 0)
		assert_true(++n < 5000);
	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	for (n = 0; add(&long_one, "cookie", value) == 0; n++)
		assert_true(n < 50);
}

static void grpc_is_known_by_its_type(void **state)
{
	static const struct { const char *type; int is; } rows[] = {
		{ "application/grpc", 1 }, { "application/grpc+proto", 1 }, { "Application/gRPC;x", 1 },
		{ "application/grpc-web", 0 }, { "application/json", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		OWN(h2) struct h2_head h = { .bytes = 0 };

		assert_int_equal(add(&h, "content-type", rows[i].type), 0);
		assert_int_equal(h.is_grpc, rows[i].is);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_becomes_one_of_http_1),
		cmocka_unit_test(another_host_goes_along_and_makes_two),
		cmocka_unit_test(what_could_become_a_line_or_a_length_is_refused),
		cmocka_unit_test(a_head_that_is_not_whole_is_none),
		cmocka_unit_test(a_list_of_fields_is_bounded),
		cmocka_unit_test(grpc_is_known_by_its_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
