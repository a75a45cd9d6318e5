#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "sandbox/egress/forward.h"

/* Meant for the next hop alone, or written anew. */
static const char *const hop_fields[] = {
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Proxy-Authentication-Info", "TE", "Transfer-Encoding", "Content-Length", "Upgrade", "Host",
	"HTTP2-Settings", "X-Proxy-Error",
	"Alt-Svc",	/* the same host by another way, which there is none to from inside */
};

/* RFC 9110 6.5.1: what steers a message must stand in front of it. */
static const char *const no_trailers[] = {
	"Authorization", "Cookie", "Set-Cookie", "Content-Encoding", "Content-Type", "Content-Range",
	"Trailer", "Cache-Control", "Max-Forwards", "Range", "Expect",
};

static int is_in(struct span name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (span_is(name, list[i]))
			return 1;
	return 0;
}

static void put_field(struct buf *out, struct span name, struct span value)
{
	buf_add(out, name.p, name.len);
	buf_adds(out, ": ");
	buf_add(out, value.p, value.len);
	buf_adds(out, "\r\n");
}

/* Is @name an element of the Connection field? */
static int named_by_connection(const struct http_head *head, struct span name)
{
	char word[64];

	if (name.len >= sizeof(word))
		return 0;
	memcpy(word, name.p, name.len);
	word[name.len] = '\0';
	return http_lists(head, "Connection", word);
}

static void put_end_to_end(const struct http_head *head, struct buf *out)
{
	int has_list = http_find(head, "Connection") != NULL;

	for (size_t i = 0; i < head->n_fields; i++) {
		const struct http_field *f = &head->field[i];

		if (is_in(f->name, hop_fields, ARRAY_LEN(hop_fields)))
			continue;
		if (has_list && named_by_connection(head, f->name))
			continue;
		put_field(out, f->name, f->value);
	}
}

int forward_offers_upgrade(const struct http_head *head)
{
	/* Cleartext HTTP/2 would leave this proxy blind to what follows; HTTP/1.1 does as well. */
	return head->upgrade && !http_lists(head, "Upgrade", "h2c");
}

static void put_upgrade(const struct http_head *head, struct buf *out)
{
	buf_adds(out, "Connection: Upgrade\r\n");
	for (size_t i = 0; i < head->n_fields; i++)
		if (span_is(head->field[i].name, "Upgrade"))
			put_field(out, head->field[i].name, head->field[i].value);
}

/* RFC 9112 3.2.4: OPTIONS without a path asks about the server as a whole. */
static void put_path(const struct http_head *head, const struct http_uri *uri, int is_absolute, struct buf *out)
{
	if (uri->path.len || head->method.len != 7 || memcmp(head->method.p, "OPTIONS", 7)) {
		if (!uri->path.len || uri->path.p[0] != '/')
			buf_addc(out, '/');
	} else if (!is_absolute) {
		buf_addc(out, '*');
	}
	buf_add(out, uri->path.p ? uri->path.p : "", uri->path.len);
}

void forward_request(const struct http_head *head, const struct http_uri *uri, const struct forward_hop *hop,
		     struct buf *out)
{
	char host[HOST_SHOWN_SIZE];

	host_show(&uri->host, uri->port == (uri->secure ? 443 : 80) ? 0 : uri->port, host);
	buf_add(out, head->method.p, head->method.len);
	buf_addc(out, ' ');
	if (hop)
		buf_addf(out, "http://%s", host);
	put_path(head, uri, hop != NULL, out);
	buf_addf(out, " HTTP/1.1\r\nHost: %s\r\n", host);
	if (hop && hop->authorization)
		buf_addf(out, "Proxy-Authorization: %s\r\n", hop->authorization);
	put_end_to_end(head, out);
	if (head->framing == HTTP_CHUNKED)
		buf_adds(out, "Transfer-Encoding: chunked\r\n");
	if (head->framing == HTTP_LENGTH)
		buf_addf(out, "Content-Length: %llu\r\n", (unsigned long long)head->length);
	if (forward_offers_upgrade(head))
		put_upgrade(head, out);
	buf_adds(out, "\r\n");
}

/* A length that describes a body which does not follow (HEAD, 304) passes as it is. */
static void put_length(const struct http_head *head, struct buf *out)
{
	const struct http_field *length = http_find(head, "Content-Length");

	if (length && head->status >= 200 && head->status != 204)
		put_field(out, length->name, length->value);
}

void forward_response(const struct http_head *head, const struct forward_mode *mode, struct buf *out)
{
	buf_addf(out, "HTTP/1.1 %03d ", head->status);
	buf_add(out, head->phrase.p, head->phrase.len);
	buf_adds(out, "\r\n");
	put_end_to_end(head, out);
	put_length(head, out);
	if (mode->chunked)
		buf_adds(out, "Transfer-Encoding: chunked\r\n");
	if (head->status == 101)
		put_upgrade(head, out);
	else if (head->status >= 200 && mode->close)
		buf_adds(out, "Connection: close\r\n");
	else if (head->status >= 200 && !mode->minor)
		buf_adds(out, "Connection: keep-alive\r\n");
	buf_adds(out, "\r\n");
}

void forward_piece(const struct http_piece *piece, int chunked, struct buf *out)
{
	if (piece->kind == HTTP_DATA) {
		if (chunked)
			buf_addf(out, "%zx\r\n", piece->data.len);
		buf_add(out, piece->data.p, piece->data.len);
		if (chunked)
			buf_adds(out, "\r\n");
		return;
	}
	if (!chunked)
		return;
	if (piece->kind == HTTP_LAST_CHUNK)
		buf_adds(out, "0\r\n");
	if (piece->kind == HTTP_TRAILER && !is_in(piece->trailer.name, hop_fields, ARRAY_LEN(hop_fields)) &&
	    !is_in(piece->trailer.name, no_trailers, ARRAY_LEN(no_trailers)))
		put_field(out, piece->trailer.name, piece->trailer.value);
	if (piece->kind == HTTP_END)
		buf_adds(out, "\r\n");
}
