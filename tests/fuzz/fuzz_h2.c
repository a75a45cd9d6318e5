/*
 * What a request of HTTP/2 can do to the text it becomes: one head or none,
 * with the lines that were said and no other. A library would refuse much of
 * this before; here nothing is relied on.
 *
 * Input: fields, each of two lengths, a name and a value. An odd first length
 * is that of a trailer.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/egress/h2_head.h"
#include "sandbox/egress/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void read_back(const struct h2_head *h, const struct buf *out, int chunked)
{
	static struct http_head head;
	struct http_scan scan = { 0 };
	struct http_problem bad;
	long size = http_scan(&scan, out->data, out->len, &bad);
	size_t lines = 0;

	/* Refused, or whole: bytes behind it would be another request. */
	if (size < 0)
		return;
	if ((size_t)size != out->len)
		abort();
	if (http_parse_request(out->data, (size_t)size, &head, &bad) < 0)
		return;
	for (size_t i = 0; i < h->fields.len; i++)
		lines += h->fields.data[i] == '\n';
	if (head.n_fields != lines + (h->authority.len > 0) + (h->cookie.len > 0) + (size_t)chunked)
		abort();
	/* The length is the one that was said, or chunks where none was. */
	if (chunked ? head.framing != HTTP_CHUNKED : head.framing != (h->has_length ? HTTP_LENGTH : HTTP_NO_BODY))
		abort();
	if (head.method.len != h->method.len || memcmp(head.method.p, h->method.data, h->method.len) ||
	    head.target.len != h->path.len || memcmp(head.target.p, h->path.data, h->path.len))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct h2_head h = { .bytes = 0 };
	struct buf out = { 0 };
	size_t at = 0;
	int chunked;

	while (at + 2 <= len) {
		size_t name = data[at] >> 1, value = data[at + 1];
		int trailer = data[at] & 1;

		at += 2;
		if (at + name + value > len)
			break;
		h2_head_field(&h, trailer, data + at, name, data + at + name, value);
		at += name + value;
	}
	chunked = !h.has_length && len % 2;
	if (h2_head_is_whole(&h)) {
		h2_head_write(&h, chunked, &out);
		if (!out.failed)
			read_back(&h, &out, chunked);
	}
	h2_head_done(&h);
	buf_done(&out);
	return 0;
}
