#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "sandbox/egress/forward.h"
#include "sandbox/egress/http.h"

/* 0 and the parsed head and target, or the status a request is refused with. */
static int read_request(const char *text, struct http_head *head, struct http_uri *uri)
{
	struct http_problem bad = { 0 };
	struct http_scan scan = { 0 };
	long size = http_scan(&scan, text, strlen(text), &bad);

	if (size > 0 && http_parse_request(text, (size_t)size, head, &bad) == 0 &&
	    http_parse_target(head, uri, &bad) == 0)
		return 0;
	return size ? bad.status : -1;
}

static const struct {
	const char *text;
	int status;	/* 0: fine; -1: more is needed */
} ambiguous[] = {
	{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 0 },
	{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n", -1 },
	{ "GET http://a.example/ HTTP/1.1\r\nHost:a.example\r\nX:\r\n\r\n", 0 },
	{ "GET http://a.example/ HTTP/1.0\r\n\r\n", 0 },
	{ "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n", 0 },
	{ "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n", 0 },
	{ "CONNECT a.example:443 HTTP/1.1\r\n\r\n", 0 },
	{ "CONNECT a.example:443 HTTP/1.0\r\nContent-Length: 0\r\n\r\n", 0 },
	{ "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n", 0 },
	/* bare line ends, control bytes, folds */
	{ "GET http://a.example/ HTTP/1.1\nHost: a.example\n\n", 400 },
	{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\n\r\n", 400 },
	{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\r\n\r\n", 400 },
	{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\rX: y\r\n\r\n", 400 },
	{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n X: y\r\n\r\n", 400 },
	{ "GET http://a.example/ HTTP/1.1\r\n\tHost: a.example\r\n\r\n", 400 },
	{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nX: \x01\r\n\r\n", 400 },
	{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nX: \x7f\r\n\r\n", 400 },
	/* fields */
	{ "GET http://a.example/ HTTP/1.1\r\nHost : a.example\r\n\r\n", 400 },
	{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nno colon\r\n\r\n", 400 },
	{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n: y\r\n\r\n", 400 },
	{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nX(y): z\r\n\r\n", 400 },
	/* request line */
	{ "GET  http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 400 },
	{ "GET http://a.example/  HTTP/1.1\r\nHost: a.example\r\n\r\n", 400 },
	{ "GET http://a.example/ HTTP/1.1 \r\nHost: a.example\r\n\r\n", 400 },
	{ "GET http://a.example/ HTTP/1.2\r\nHost: a.example\r\n\r\n", 505 },
	{ "GET http://a.example/ HTTP/2.0\r\nHost: a.example\r\n\r\n", 505 },
	{ "PRI * HTTP/2.0\r\n\r\n", 505 },
	{ "GET http://a.example/ http/1.1\r\nHost: a.example\r\n\r\n", 400 },
	{ "GET http://a.example/\r\nHost: a.example\r\n\r\n", 400 },
	{ "GET\thttp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 400 },
	{ "G@T http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 400 },
	{ "\r\n\r\n", 400 },
	/* target and host */
	{ "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", 400 },
	{ "OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n", 400 },
	{ "GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 400 },
	{ "GET ftp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 400 },
	{ "GET http://a.example/#x HTTP/1.1\r\nHost: a.example\r\n\r\n", 400 },
	{ "GET http://u:p@a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 400 },
	{ "GET http://a.example\\@b.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n", 400 },
	{ "GET http://a.example\\b/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 403 },
	{ "GET http:// HTTP/1.1\r\nHost: \r\n\r\n", 403 },
	{ "GET http:///x HTTP/1.1\r\nHost: a.example\r\n\r\n", 403 },
	{ "GET http://2130706433/ HTTP/1.1\r\nHost: 2130706433\r\n\r\n", 403 },
	{ "GET http://0x7f.1/ HTTP/1.1\r\nHost: 0x7f.1\r\n\r\n", 403 },
	{ "CONNECT a.example HTTP/1.1\r\nHost: a.example\r\n\r\n", 403 },
	{ "CONNECT a.example:0 HTTP/1.1\r\nHost: a.example\r\n\r\n", 403 },
	{ "CONNECT 127.1:80 HTTP/1.1\r\nHost: 127.1:80\r\n\r\n", 403 },
	{ "CONNECT ::1:80 HTTP/1.1\r\n\r\n", 403 },
	{ "CONNECT http://a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n", 403 },
	{ "connect a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n", 400 },
	{ "GET http://a.example/ HTTP/1.1\r\n\r\n", 400 },
	{ "GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n", 400 },
	{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example:81\r\n\r\n", 400 },
	{ "GET http://a.example:81/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 0 },
	{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nHost: a.example\r\n\r\n", 400 },
	{ "GET http://a.example/ HTTP/1.0\r\nHost: b.example\r\n\r\n", 400 },
	{ "CONNECT a.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n", 400 },
	{ "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:80\r\n\r\n", 400 },
	/* lengths */
	{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\n", 0 },
	{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n", 0 },
	{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: Chunked\r\n\r\n", 0 },
	{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n", 400 },
	{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n"
	  "Content-Length: 5\r\n\r\n", 400 },
	{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5, 5\r\n\r\n", 400 },
	{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: +5\r\n\r\n", 400 },
	{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: -5\r\n\r\n", 400 },
	{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0x5\r\n\r\n", 400 },
	{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5 5\r\n\r\n", 400 },
	{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length:\r\n\r\n", 400 },
	{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\n"
	  "Content-Length: 99999999999999999999\r\n\r\n", 400 },
	{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501 },
	{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: xchunked\r\n\r\n", 501 },
	{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: \"chunked\"\r\n\r\n", 501 },
	{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n", 400 },
	{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding : chunked\r\n\r\n", 400 },
	{ "POST http://a.example/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
	{ "CONNECT a.example:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\n", 400 },
	{ "CONNECT a.example:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
};

static void what_can_be_read_in_two_ways_is_refused(void **state)
{
	struct http_head head;
	struct http_uri uri;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ambiguous); i++) {
		int r = read_request(ambiguous[i].text, &head, &uri);

		if (r != ambiguous[i].status)
			fail_msg("%d instead of %d for:\n%s", r, ambiguous[i].status, ambiguous[i].text);
	}
}

static void a_nul_in_a_head_is_refused(void **state)
{
	static const char text[] = "GET http://a.example/ HTTP/1.1\r\nX: a\0b\r\n\r\n";
	struct http_problem bad;
	struct http_scan scan = { 0 };

	(void)state;
	assert_int_equal(http_scan(&scan, text, sizeof(text) - 1, &bad), -1);
	assert_int_equal(bad.status, 400);
}

static void a_head_is_found_byte_by_byte_as_at_once(void **state)
{
	static const char text[] = "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\nnext";
	const long size = (long)sizeof(text) - 1 - 4;
	struct http_problem bad;
	struct http_scan scan = { 0 };

	(void)state;
	for (long i = 1; i < size; i++)
		assert_int_equal(http_scan(&scan, text, (size_t)i, &bad), 0);
	assert_int_equal(http_scan(&scan, text, (size_t)size, &bad), size);
	scan = (struct http_scan){ 0 };
	assert_int_equal(http_scan(&scan, text, sizeof(text) - 1, &bad), size);
}

static void a_head_is_bounded(void **state)
{
	OWN(buf) struct buf b = { 0 };
	struct http_problem bad;
	struct http_scan scan = { 0 };
	struct http_head head;

	(void)state;
	buf_adds(&b, "GET http://a.example/ HTTP/1.1\r\n");
	for (int i = 0; i < 101; i++)
		buf_addf(&b, "X-%d: y\r\n", i);
	buf_adds(&b, "\r\n");
	assert_int_equal(http_scan(&scan, b.data, b.len, &bad), (long)b.len);
	assert_int_equal(http_parse_request(b.data, b.len, &head, &bad), -1);
	assert_int_equal(bad.status, 431);
	buf_clear(&b);
	scan = (struct http_scan){ 0 };
	while (b.len < HTTP_HEAD_MAX + 10)
		buf_adds(&b, "a");
	assert_int_equal(http_scan(&scan, b.data, b.len, &bad), -1);
	assert_int_equal(bad.status, 431);
}

static void a_request_goes_on_in_origin_form_without_what_is_for_us(void **state)
{
	static const struct {
		const char *in, *out;
	} table[] = {
		{ "GET http://A.Example/p?q=1 HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\n"
		  "Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic eA==\r\nConnection: X-Mine, close\r\n"
		  "X-Mine: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nTrailer: X-T\r\n\r\n",
		  "GET /p?q=1 HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\nTrailer: X-T\r\n\r\n" },
		{ "GET http://a.example HTTP/1.1\r\nHost: a.example\r\n\r\n",
		  "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n" },
		{ "GET http://a.example?x HTTP/1.1\r\nHost: a.example\r\n\r\n",
		  "GET /?x HTTP/1.1\r\nHost: a.example\r\n\r\n" },
		{ "OPTIONS http://a.example HTTP/1.1\r\nHost: a.example\r\n\r\n",
		  "OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n" },
		{ "GET http://a.example:8080/ HTTP/1.0\r\n\r\n",
		  "GET / HTTP/1.1\r\nHost: a.example:8080\r\n\r\n" },
		{ "GET http://[::1]:80/ HTTP/1.1\r\nHost: [::1]\r\n\r\n",
		  "GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n" },
		{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 005\r\n"
		  "Expect: 100-continue\r\n\r\n",
		  "POST / HTTP/1.1\r\nHost: a.example\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n" },
		{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: Chunked\r\n"
		  "Connection: Content-Length, Host, Transfer-Encoding\r\n\r\n",
		  "POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n" },
		{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: keep-alive, Upgrade\r\n"
		  "Upgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n",
		  "GET / HTTP/1.1\r\nHost: a.example\r\nSec-WebSocket-Key: x\r\nConnection: Upgrade\r\n"
		  "Upgrade: websocket\r\n\r\n" },
		{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade, HTTP2-Settings\r\n"
		  "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
		  "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		OWN(buf) struct buf out = { 0 };
		struct http_head head;
		struct http_uri uri;

		assert_int_equal(read_request(table[i].in, &head, &uri), 0);
		forward_request(&head, &uri, NULL, &out);
		assert_string_equal(out.data, table[i].out);
	}
}

static void a_response_goes_on_framed_for_the_client(void **state)
{
	static const struct {
		const char *in;
		int to_head, minor, close;
		const char *out;	/* NULL: refused */
		enum http_framing framing;
	} table[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nKeep-Alive: 9\r\nProxy-Authenticate: x\r\n\r\n", 0, 1, 0,
		  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", HTTP_LENGTH },
		{ "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", 0, 1, 0,
		  "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", HTTP_LENGTH },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 0, 1, 0,
		  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_CHUNKED },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 0, 0, 1,
		  "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", HTTP_CHUNKED },
		{ "HTTP/1.0 200 OK\r\nX: y\r\n\r\n", 0, 1, 1,
		  "HTTP/1.1 200 OK\r\nX: y\r\nConnection: close\r\n\r\n", HTTP_UNTIL_CLOSE },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 1, 0, 0,
		  "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: keep-alive\r\n\r\n", HTTP_NO_BODY },
		{ "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 0, 1, 0,
		  "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", HTTP_NO_BODY },
		{ "HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n", 0, 1, 0,
		  "HTTP/1.1 204 No Content\r\n\r\n", HTTP_NO_BODY },
		{ "HTTP/1.1 100 Continue\r\n\r\n", 0, 1, 1, "HTTP/1.1 100 Continue\r\n\r\n", HTTP_NO_BODY },
		{ "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 0, 1, 0,
		  "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", HTTP_NO_BODY },
		{ "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 0, 1, 0,
		  "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", HTTP_NO_BODY },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 0, 1, 0, NULL, 0 },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 0, 1, 0, NULL, 0 },
		{ "HTTP/2.0 200 OK\r\n\r\n", 0, 1, 0, NULL, 0 },
		{ "ICY 200 OK\r\n\r\n", 0, 1, 0, NULL, 0 },
		{ "HTTP/1.1 2x0 OK\r\n\r\n", 0, 1, 0, NULL, 0 },
		{ "HTTP/1.1  200 OK\r\n\r\n", 0, 1, 0, NULL, 0 },
		{ "HTTP/1.1 099 OK\r\n\r\n", 0, 1, 0, NULL, 0 },
		{ "HTTP/1.1 2000 OK\r\n\r\n", 0, 1, 0, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		OWN(buf) struct buf out = { 0 };
		const struct forward_mode mode = { .minor = table[i].minor, .close = table[i].close,
						   .chunked = table[i].minor && table[i].framing == HTTP_CHUNKED };
		struct http_problem bad;
		struct http_head head;
		int r = http_parse_response(table[i].in, strlen(table[i].in), table[i].to_head, &head, &bad);

		if (r != (table[i].out ? 0 : -1))
			fail_msg("%d for:\n%s", r, table[i].in);
		if (r < 0) {
			assert_int_equal(bad.status, 502);
			continue;
		}
		assert_int_equal(head.framing, table[i].framing);
		forward_response(&head, &mode, &out);
		assert_string_equal(out.data, table[i].out);
	}
}

/* Read a chunked body in steps of @step bytes; what goes on, with "!why" at the end if it broke. */
static char *pump(const char *text, size_t step)
{
	const struct http_head head = { .framing = HTTP_CHUNKED };
	size_t len = strlen(text), at = 0, end = step < len ? step : len;
	struct buf out = { 0 };
	struct http_body body;

	http_body_begin(&body, &head);
	for (;;) {
		struct http_piece piece;

		http_body_next(&body, text + at, end - at, &piece);
		at += piece.used;
		if (piece.kind == HTTP_BAD) {
			buf_addf(&out, "!%s", piece.why);
			break;
		}
		forward_piece(&piece, piece.kind != HTTP_DATA, &out);
		if (piece.kind == HTTP_END) {
			buf_addf(&out, "+%s", text + at);
			break;
		}
		if (piece.kind != HTTP_MORE)
			continue;
		if (end == len) {
			buf_adds(&out, "?");
			break;
		}
		end = end + step < len ? end + step : len;
	}
	return buf_steal(&out);
}

static void a_chunked_body_is_read_strictly_in_any_pieces(void **state)
{
	static const struct {
		const char *in, *out;
	} table[] = {
		{ "5\r\nhello\r\n0\r\n\r\nnext", "hello0\r\n\r\n+next" },
		{ "0005\r\nhello\r\n000\r\n\r\n", "hello0\r\n\r\n+" },
		{ "5;x=\"y\"\r\nhello\r\n0;z\r\n\r\n", "hello0\r\n\r\n+" },
		{ "A\r\n0123456789\r\n0\r\nX-T: 1\r\nContent-Length: 3\r\nTransfer-Encoding: x\r\nHost: x\r\n\r\n",
		  "01234567890\r\nX-T: 1\r\n\r\n+" },
		{ "5\r\nhel", "hel?" },
		{ "0\r\n", "0\r\n?" },
		{ "5 \r\nhello\r\n0\r\n\r\n", "!malformed chunk size" },
		{ " 5\r\nhello\r\n0\r\n\r\n", "!malformed chunk size" },
		{ "0x5\r\nhello\r\n0\r\n\r\n", "!malformed chunk size" },
		{ "-5\r\nhello\r\n0\r\n\r\n", "!malformed chunk size" },
		{ "+5\r\nhello\r\n0\r\n\r\n", "!malformed chunk size" },
		{ "\r\nhello\r\n", "!malformed chunk size" },
		{ ";x\r\nhello\r\n", "!malformed chunk size" },
		{ "fffffffffffffffff\r\nhello\r\n", "!malformed chunk size" },
		{ "5\nhello\r\n0\r\n\r\n", "!line that ends in a bare LF" },
		{ "5\r\nhello0\r\n\r\n", "hello!chunk that does not end where it says" },
		{ "5\r\nhello\n0\r\n\r\n", "hello!chunk that does not end where it says" },
		{ "5\r\nhello\r\r\n0\r\n\r\n", "hello!chunk that does not end where it says" },
		{ "5\rx\nhello\r\n0\r\n\r\n", "!bare CR in a chunked body" },
		{ "5;a\x01" "b\r\nhello\r\n0\r\n\r\n", "!malformed chunk size" },
		{ "0\r\n folded: x\r\n\r\n", "0\r\n!folded header line" },
		{ "0\r\nno colon\r\n\r\n", "0\r\n!header line without a colon" },
		{ "0\r\nX: 1\n\r\n", "0\r\n!line that ends in a bare LF" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		for (size_t step = 1; step < 40; step += step > 6 ? 31 : 1) {
			OWN(mem) char *got = pump(table[i].in, step);

			assert_non_null(got);
			if (strcmp(got, table[i].out))
				fail_msg("step %zu: '%s' gave '%s'", step, table[i].in, got);
		}
	}
}

static void endless_chunk_lines_and_trailers_are_cut(void **state)
{
	OWN(buf) struct buf b = { 0 };
	OWN(mem) char *first = NULL;
	OWN(mem) char *second = NULL;

	(void)state;
	buf_adds(&b, "5;");
	while (b.len < 2000)
		buf_addc(&b, 'x');
	first = pump(b.data, 100);
	assert_string_equal(first, "!line too long in a chunked body");
	buf_clear(&b);
	buf_adds(&b, "0\r\n");
	while (b.len < 40000)
		buf_adds(&b, "Host: 1\r\n");
	second = pump(b.data, 1000);
	assert_non_null(strchr(second, '!'));
}

static void a_body_of_known_length_ends_there(void **state)
{
	const struct http_head head = { .framing = HTTP_LENGTH, .length = 5 };
	struct http_body body;
	struct http_piece piece;

	(void)state;
	http_body_begin(&body, &head);
	http_body_next(&body, "hel", 3, &piece);
	assert_int_equal(piece.kind, HTTP_DATA);
	assert_int_equal(piece.used, 3);
	http_body_next(&body, "lonext", 6, &piece);
	assert_int_equal(piece.kind, HTTP_DATA);
	assert_int_equal(piece.used, 2);
	http_body_next(&body, "next", 4, &piece);
	assert_int_equal(piece.kind, HTTP_END);
	assert_int_equal(piece.used, 0);
}

static void who_closes_is_told_by_version_and_fields(void **state)
{
	static const struct {
		const char *rest;
		int close;
	} table[] = {
		{ "1.1\r\nHost: a.example\r\n\r\n", 0 },
		{ "1.1\r\nHost: a.example\r\nConnection: Close\r\n\r\n", 1 },
		{ "1.1\r\nHost: a.example\r\nConnection: x, close\r\n\r\n", 1 },
		{ "1.1\r\nHost: a.example\r\nProxy-Connection: close\r\n\r\n", 1 },
		{ "1.0\r\n\r\n", 1 },
		{ "1.0\r\nConnection: Keep-Alive\r\n\r\n", 0 },
		{ "1.0\r\nProxy-Connection: keep-alive\r\n\r\n", 0 },
		{ "1.0\r\nConnection: keep-alive, close\r\n\r\n", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct http_head head;
		struct http_uri uri;
		char text[256];

		snprintf(text, sizeof(text), "GET http://a.example/ HTTP/%s", table[i].rest);
		assert_int_equal(read_request(text, &head, &uri), 0);
		if (head.close != table[i].close)
			fail_msg("close is %d for:\n%s", head.close, text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_can_be_read_in_two_ways_is_refused),
		cmocka_unit_test(a_nul_in_a_head_is_refused),
		cmocka_unit_test(a_head_is_found_byte_by_byte_as_at_once),
		cmocka_unit_test(a_head_is_bounded),
		cmocka_unit_test(a_request_goes_on_in_origin_form_without_what_is_for_us),
		cmocka_unit_test(a_response_goes_on_framed_for_the_client),
		cmocka_unit_test(a_chunked_body_is_read_strictly_in_any_pieces),
		cmocka_unit_test(endless_chunk_lines_and_trailers_are_cut),
		cmocka_unit_test(a_body_of_known_length_ends_there),
		cmocka_unit_test(who_closes_is_told_by_version_and_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
