/*
 * What outside bytes can do to the HTTP reader. The first byte picks the part:
 * a request, a response, or a chunked body. Beyond memory, it checks that
 * bytes mean the same in one piece and one by one, and that what is passed on
 * reads back as what was understood.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "sandbox/egress/forward.h"
#include "sandbox/egress/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(int truth)
{
	if (!truth)
		abort();
}

/* The head's size, found at once and byte by byte alike. */
static long scan_both_ways(const char *text, size_t len)
{
	struct http_problem bad;
	struct http_scan once = { 0 }, slow = { 0 };
	long size = http_scan(&once, text, len, &bad), r = 0;

	for (size_t n = 0; n <= len && !r; n++)
		r = http_scan(&slow, text, n, &bad);
	must(r == size);
	must(size <= (long)len);
	return size;
}

/* @out must be a head on its own that says the same about its body. */
static void read_back(const struct buf *out, const struct http_head *before, int to_head)
{
	static struct http_head after;
	struct http_problem bad;
	int r;

	must(!out->failed);
	if (scan_both_ways(out->data, out->len) != (long)out->len) {
		/* Only by growing over the bound may it become unreadable. */
		must(out->len > HTTP_HEAD_MAX);
		return;
	}
	r = before->status ? http_parse_response(out->data, out->len, to_head, &after, &bad) :
			     http_parse_request(out->data, out->len, &after, &bad);
	if (before->n_fields > HTTP_FIELDS_MAX - 4)
		return;
	must(r == 0);
	must(after.framing == before->framing);
	must(after.length == before->length || before->framing == HTTP_NO_BODY);
	must(!http_find(&after, "Proxy-Authorization"));
}

static void try_request(const char *text, size_t len)
{
	static struct http_head head;
	OWN(buf) struct buf out = { 0 };
	struct http_problem bad;
	struct http_uri uri;
	long size = scan_both_ways(text, len);

	if (size <= 0 || http_parse_request(text, (size_t)size, &head, &bad) < 0 ||
	    http_parse_target(&head, &uri, &bad) < 0)
		return;
	must(uri.port && uri.host.text[0]);
	if (!uri.path.p)
		return;
	forward_request(&head, &uri, NULL, &out);
	read_back(&out, &head, 0);
}

static void try_response(const char *text, size_t len, int to_head)
{
	static struct http_head head;
	OWN(buf) struct buf out = { 0 };
	struct forward_mode mode = { .minor = 1 };
	struct http_problem bad;
	long size = scan_both_ways(text, len);

	if (size <= 0 || http_parse_response(text, (size_t)size, to_head, &head, &bad) < 0)
		return;
	mode.chunked = head.framing == HTTP_CHUNKED;
	forward_response(&head, &mode, &out);
	read_back(&out, &head, to_head);
}

/* What a body says when no more than @step new bytes come at once. */
static void decode(const char *text, size_t len, size_t step, int chunked, struct buf *out)
{
	const struct http_head head = { .framing = HTTP_CHUNKED };
	struct http_body body;
	size_t at = 0, end = 0;

	http_body_begin(&body, &head);
	for (;;) {
		struct http_piece piece;

		http_body_next(&body, text + at, end - at, &piece);
		at += piece.used;
		must(at <= end);
		if (piece.kind == HTTP_BAD || piece.kind == HTTP_END) {
			buf_addc(out, piece.kind == HTTP_BAD ? '!' : '.');
			return;
		}
		if (piece.kind == HTTP_MORE && end == len)
			return;
		if (piece.kind == HTTP_MORE)
			end = len - end > step ? end + step : len;
		forward_piece(&piece, chunked && piece.kind != HTTP_DATA, out);
	}
}

static void try_body(const char *text, size_t len)
{
	OWN(buf) struct buf once = { 0 };
	OWN(buf) struct buf slow = { 0 };

	decode(text, len, len ? len : 1, 1, &once);
	decode(text, len, 1, 1, &slow);
	must(once.len == slow.len && (!once.len || !memcmp(once.data, slow.data, once.len)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *text = (const char *)data + 1;

	if (!len)
		return 0;
	len--;
	switch (data[0]) {
	case 'q':
		try_request(text, len);
		break;
	case 'r':
		try_response(text, len, 0);
		break;
	case 'h':
		try_response(text, len, 1);
		break;
	default:
		try_body(text, len);
		break;
	}
	return 0;
}
