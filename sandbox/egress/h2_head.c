#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "sandbox/egress/h2_head.h"
#include "sandbox/egress/http.h"

enum { COOKIE_PIECES = 10 };	/* so many times more fields than HTTP/1.1 has: a cookie may come in pieces */

static int is_named(const void *name, size_t len, const char *wanted)
{
	return span_is((struct span){ name, len }, wanted);
}

static int is_text(const unsigned char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((s[i] < ' ' && s[i] != '\t') || s[i] == 0x7f)
			return 0;
	return 1;
}

/* RFC 9113 8.2.2 */
static const char *const banned[] = {
	"connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade", "http2-settings",
};

int h2_head_is_banned(const void *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(banned); i++)
		if (is_named(name, len, banned[i]))
			return 1;
	return 0;
}

static int put_field(struct buf *out, const void *name, size_t name_len, const void *value, size_t value_len)
{
	buf_add(out, name, name_len);
	buf_adds(out, ": ");
	buf_add(out, value, value_len);
	return buf_adds(out, "\r\n");
}

static int put_pseudo(struct h2_head *h, const void *name, size_t name_len, const void *value, size_t value_len)
{
	const struct { const char *name; struct buf *to; } table[] = {
		{ ":method", &h->method }, { ":scheme", &h->scheme }, { ":authority", &h->authority },
		{ ":path", &h->path },
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (is_named(name, name_len, table[i].name))
			return table[i].to->len || !value_len ? -1 : buf_add(table[i].to, value, value_len);
	return -1;	/* ":protocol" and whatever else may come */
}

/* RFC 9113 8.2.3: the pieces of a cookie are one field again. */
static int put_cookie(struct h2_head *h, const void *value, size_t len)
{
	buf_adds(&h->cookie, h->cookie.len ? "; " : "Cookie: ");
	return buf_add(&h->cookie, value, len);
}

static int says_grpc(const char *value, size_t len)
{
	static const char type[] = "application/grpc";
	const size_t n = sizeof(type) - 1;

	return len >= n && !strncasecmp(value, type, n) && (len == n || value[n] == '+' || value[n] == ';');
}

int h2_head_field(struct h2_head *h, int trailer, const void *name, size_t name_len, const void *value,
		  size_t value_len)
{
	const char *first = name;

	h->bytes += name_len + value_len + 4;
	if (h->bytes > HTTP_HEAD_MAX || ++h->n > COOKIE_PIECES * HTTP_FIELDS_MAX || !name_len ||
	    !is_text(name, name_len) || !is_text(value, value_len))
		return -1;
	if (*first == ':')
		return trailer ? -1 : put_pseudo(h, name, name_len, value, value_len);
	if (h2_head_is_banned(name, name_len) || memchr(name, ':', name_len))
		return -1;
	if (trailer)
		return put_field(&h->trailers, name, name_len, value, value_len);
	if (is_named(name, name_len, "te"))
		return 0;	/* for this hop alone; trailers pass without it */
	if (is_named(name, name_len, "cookie"))
		return put_cookie(h, value, value_len);
	h->has_length |= is_named(name, name_len, "content-length");
	h->is_grpc |= is_named(name, name_len, "content-type") && says_grpc(value, value_len);
	/* The usual "host" beside ":authority" says the same; one that does not goes along, and is refused as a second. */
	if (is_named(name, name_len, "host") && h->authority.len && is_named(value, value_len, h->authority.data))
		return 0;
	return put_field(&h->fields, name, name_len, value, value_len);
}

static int is_one_word(const struct buf *b)
{
	return b->len && !memchr(b->data, ' ', b->len) && !memchr(b->data, '\t', b->len);
}

int h2_head_is_whole(const struct h2_head *h)
{
	return is_one_word(&h->method) && is_one_word(&h->path) && h->scheme.len && !strcmp(h->scheme.data, "https");
}

void h2_head_write(const struct h2_head *h, int chunked, struct buf *out)
{
	buf_addf(out, "%s %s HTTP/1.1\r\n", h->method.data, h->path.data);
	if (h->authority.len)
		buf_addf(out, "Host: %s\r\n", h->authority.data);
	buf_add(out, h->fields.data ? h->fields.data : "", h->fields.len);
	if (h->cookie.len)
		buf_addf(out, "%s\r\n", h->cookie.data);
	if (chunked)
		buf_adds(out, "Transfer-Encoding: chunked\r\n");
	buf_adds(out, "\r\n");
}

void h2_head_drop(struct h2_head *h)
{
	struct buf *all[] = { &h->method, &h->scheme, &h->authority, &h->path, &h->cookie, &h->fields };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		buf_done(all[i]);
}

void h2_head_done(struct h2_head *h)
{
	h2_head_drop(h);
	buf_done(&h->trailers);
}
