#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "sandbox/egress/http.h"

static int refuse(struct http_problem *bad, int status, const char *why)
{
	*bad = (struct http_problem){ .status = status, .why = why };
	return -1;
}

/* The same where the sender asked for a place it may not have. */
static int deny(struct http_problem *bad, int status, const char *why)
{
	*bad = (struct http_problem){ .status = status, .is_denial = 1, .why = why };
	return -1;
}

/* --- characters: RFC 9110 5.6.2 and 5.5 --- */

static int is_token_char(unsigned char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static int is_token(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!is_token_char((unsigned char)s.p[i]))
			return 0;
	return s.len > 0;
}

/* Visible, blank, tab, or beyond ASCII. */
static int is_value_char(unsigned char c)
{
	return c == '\t' || (c >= ' ' && c != 0x7f);
}

static int is_value(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!is_value_char((unsigned char)s.p[i]))
			return 0;
	return 1;
}

static struct span trim(struct span s)
{
	while (s.len && (s.p[0] == ' ' || s.p[0] == '\t'))
		s.p++, s.len--;
	while (s.len && (s.p[s.len - 1] == ' ' || s.p[s.len - 1] == '\t'))
		s.len--;
	return s;
}

int span_is(struct span s, const char *word)
{
	return s.len == strlen(word) && !strncasecmp(s.p, word, s.len);
}

/* --- heads: lines and fields --- */

long http_scan(struct http_scan *scan, const char *data, size_t len, struct http_problem *bad)
{
	for (size_t i = scan->at; i < len; i++) {
		unsigned char c = (unsigned char)data[i];

		scan->at = i;
		if (i >= HTTP_HEAD_MAX)
			return refuse(bad, 431, "header of more than 64 KiB");
		if (c == '\n')
			return refuse(bad, 400, "line that ends in a bare LF");
		if (c != '\r') {
			if (!is_value_char(c))
				return refuse(bad, 400, "control byte in the header");
			continue;
		}
		if (i + 1 == len)
			return 0;
		if (data[i + 1] != '\n')
			return refuse(bad, 400, "bare CR in the header");
		i++;
		scan->at = i + 1;
		if (i >= 3 && data[i - 2] == '\n')
			return (long)i + 1;
	}
	scan->at = len;
	return 0;
}

/* Cut the line that *data starts with, without its CR LF. The head ends in one, so there is one. */
static struct span take_line(const char **data, const char *end)
{
	const char *cr = memchr(*data, '\r', (size_t)(end - *data));
	struct span line = { *data, (size_t)((cr ? cr : end) - *data) };

	*data = cr && cr + 2 <= end ? cr + 2 : end;
	return line;
}

/* "Name: value". NULL, or why it is none. */
static const char *parse_field(struct span line, struct http_field *ret)
{
	const char *colon = memchr(line.p, ':', line.len);

	if (line.p[0] == ' ' || line.p[0] == '\t')
		return "folded header line";
	if (!colon)
		return "header line without a colon";
	ret->name = (struct span){ line.p, (size_t)(colon - line.p) };
	ret->value = trim((struct span){ colon + 1, line.len - ret->name.len - 1 });
	if (!is_token(ret->name))
		return "malformed header name";
	return is_value(ret->value) ? NULL : "control byte in a header value";
}

static int parse_fields(const char *data, const char *end, struct http_head *head, struct http_problem *bad)
{
	while (data < end) {
		struct span line = take_line(&data, end);
		const char *why;

		if (!line.len)
			break;
		if (head->n_fields == HTTP_FIELDS_MAX)
			return refuse(bad, 431, "more than 100 header fields");
		why = parse_field(line, &head->field[head->n_fields]);
		if (why)
			return refuse(bad, 400, why);
		head->n_fields++;
	}
	return 0;
}

const struct http_field *http_find(const struct http_head *head, const char *name)
{
	for (size_t i = 0; i < head->n_fields; i++)
		if (span_is(head->field[i].name, name))
			return &head->field[i];
	return NULL;
}

static size_t count(const struct http_head *head, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < head->n_fields; i++)
		n += (size_t)span_is(head->field[i].name, name);
	return n;
}

int http_lists(const struct http_head *head, const char *name, const char *word)
{
	for (size_t i = 0; i < head->n_fields; i++) {
		struct span rest = head->field[i].value;

		if (!span_is(head->field[i].name, name))
			continue;
		while (rest.len) {
			const char *comma = memchr(rest.p, ',', rest.len);
			size_t len = comma ? (size_t)(comma - rest.p) : rest.len;

			if (span_is(trim((struct span){ rest.p, len }), word))
				return 1;
			len += comma != NULL;
			rest = (struct span){ rest.p + len, rest.len - len };
		}
	}
	return 0;
}

/* --- heads: framing and connection --- */

/* Digits only, so no sign, no blank, no list. */
static int parse_length(struct span s, uint64_t *ret)
{
	uint64_t v = 0;

	if (!s.len || s.len > 18)
		return -1;
	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return -1;
		v = v * 10 + (uint64_t)(s.p[i] - '0');
	}
	*ret = v;
	return 0;
}

/* What the fields say about the body; @otherwise if they say nothing. */
static int parse_framing(struct http_head *head, enum http_framing otherwise, struct http_problem *bad)
{
	const struct http_field *te = http_find(head, "Transfer-Encoding");
	const struct http_field *length = http_find(head, "Content-Length");

	head->framing = otherwise;
	if (te && length)
		return refuse(bad, 400, "both Transfer-Encoding and Content-Length");
	if (count(head, "Transfer-Encoding") > 1 || count(head, "Content-Length") > 1)
		return refuse(bad, 400, "length given twice");
	if (te && !head->minor)
		return refuse(bad, 400, "Transfer-Encoding in HTTP/1.0");
	if (te && !span_is(te->value, "chunked"))
		return refuse(bad, 501, "transfer coding other than chunked");
	if (te)
		head->framing = HTTP_CHUNKED;
	if (length && parse_length(length->value, &head->length) < 0)
		return refuse(bad, 400, "malformed Content-Length");
	if (length)
		head->framing = HTTP_LENGTH;
	return 0;
}

static void parse_connection(struct http_head *head)
{
	/* Old clients say to a proxy what they mean for the connection to it. */
	int keep = http_lists(head, "Connection", "keep-alive") ||
		   http_lists(head, "Proxy-Connection", "keep-alive");

	head->close = http_lists(head, "Connection", "close") || http_lists(head, "Proxy-Connection", "close") ||
		      (!head->minor && !keep);
	head->upgrade = head->minor && http_lists(head, "Connection", "upgrade") && http_find(head, "Upgrade");
}

/* "HTTP/1.1" */
static int parse_version(struct span s, struct http_head *head, struct http_problem *bad)
{
	if (s.len == 8 && !memcmp(s.p, "HTTP/1.", 7) && (s.p[7] == '0' || s.p[7] == '1')) {
		head->minor = s.p[7] - '0';
		return 0;
	}
	if (s.len >= 5 && !memcmp(s.p, "HTTP/", 5))
		return refuse(bad, 505, "HTTP version other than 1.0 and 1.1");
	return refuse(bad, 400, "malformed request line");
}

int http_parse_request(const char *data, size_t size, struct http_head *ret, struct http_problem *bad)
{
	const char *end = data + size, *space, *last;
	struct span line = take_line(&data, end);

	ret->n_fields = 0;
	ret->status = 0;
	ret->phrase = (struct span){ 0 };
	ret->length = 0;
	space = memchr(line.p, ' ', line.len);
	last = memrchr(line.p, ' ', line.len);
	if (!space || space == last)
		return refuse(bad, 400, "malformed request line");
	ret->method = (struct span){ line.p, (size_t)(space - line.p) };
	ret->target = (struct span){ space + 1, (size_t)(last - space - 1) };
	if (parse_version((struct span){ last + 1, (size_t)(line.p + line.len - last - 1) }, ret, bad) < 0)
		return -1;
	if (!is_token(ret->method) || !ret->target.len || memchr(ret->target.p, ' ', ret->target.len) ||
	    memchr(ret->target.p, '\t', ret->target.len))
		return refuse(bad, 400, "malformed request line");
	if (parse_fields(data, end, ret, bad) < 0 || parse_framing(ret, HTTP_NO_BODY, bad) < 0)
		return -1;
	parse_connection(ret);
	return 0;
}

/* "HTTP/1.1 200 OK": the phrase may be missing, some leave out the blank before it as well. */
static int parse_status_line(struct span line, struct http_head *ret, struct http_problem *bad)
{
	const char *p = line.p;

	if (line.len < 12 || p[8] != ' ' || (line.len > 12 && p[12] != ' '))
		return refuse(bad, 502, "malformed status line");
	if (parse_version((struct span){ p, 8 }, ret, bad) < 0)
		return refuse(bad, 502, "HTTP version other than 1.0 and 1.1");
	for (int i = 9; i < 12; i++)
		if (p[i] < '0' || p[i] > '9')
			return refuse(bad, 502, "malformed status line");
	ret->status = (p[9] - '0') * 100 + (p[10] - '0') * 10 + p[11] - '0';
	if (ret->status < 100)
		return refuse(bad, 502, "malformed status line");
	ret->phrase = line.len > 13 ? (struct span){ p + 13, line.len - 13 } : (struct span){ p, 0 };
	return 0;
}

int http_parse_response(const char *data, size_t size, int to_head, struct http_head *ret,
			struct http_problem *bad)
{
	const char *end = data + size;

	ret->n_fields = 0;
	ret->length = 0;
	ret->method = ret->target = (struct span){ 0 };
	if (parse_status_line(take_line(&data, end), ret, bad) < 0)
		return -1;
	if (parse_fields(data, end, ret, bad) < 0 || parse_framing(ret, HTTP_UNTIL_CLOSE, bad) < 0) {
		bad->status = 502;
		return -1;
	}
	parse_connection(ret);
	if (to_head || ret->status < 200 || ret->status == 204 || ret->status == 304)
		ret->framing = HTTP_NO_BODY;
	if (ret->framing == HTTP_UNTIL_CLOSE)
		ret->close = 1;
	return 0;
}

/* --- targets --- */

static int check_host_field(const struct http_head *head, const struct http_uri *uri, int is_connect,
			    struct http_problem *bad)
{
	const struct http_field *f = http_find(head, "Host");
	struct host host;
	uint16_t port;
	const char *why;

	if (count(head, "Host") > 1)
		return refuse(bad, 400, "more than one Host field");
	/* Many old clients leave it out of CONNECT, where it adds nothing. */
	if (!f)
		return head->minor && !is_connect ? refuse(bad, 400, "no Host field") : 0;
	if (host_port_parse(f->value.p, f->value.len, uri->port, &host, &port, &why) < 0)
		return deny(bad, 400, "malformed Host field");
	if (strcmp(host.text, uri->host.text) || port != uri->port)
		return deny(bad, 400, "Host field that names another host than the request");
	return 0;
}

static int parse_authority(const char *p, size_t len, uint16_t port, struct http_uri *ret,
			   struct http_problem *bad)
{
	const char *why;

	if (memchr(p, '@', len))
		return deny(bad, 400, "user information in the target");
	if (host_port_parse(p, len, port, &ret->host, &ret->port, &why) < 0)
		return deny(bad, 403, why);
	return 0;
}

int http_parse_target(const struct http_head *head, struct http_uri *ret, struct http_problem *bad)
{
	static const char scheme[] = "http://";
	const size_t scheme_len = sizeof(scheme) - 1;
	struct span t = head->target;
	size_t len;

	ret->path = (struct span){ 0 };
	ret->secure = 0;
	/* Methods are case-sensitive: "connect" is some other method. */
	if (head->method.len == 7 && !memcmp(head->method.p, "CONNECT", 7)) {
		if (head->framing == HTTP_CHUNKED || head->length)
			return refuse(bad, 400, "CONNECT with a body");
		return parse_authority(t.p, t.len, 0, ret, bad) < 0 ? -1 : check_host_field(head, ret, 1, bad);
	}
	if (t.len >= 8 && !strncasecmp(t.p, "https://", 8))
		return refuse(bad, 400, "https:// without CONNECT");
	if (t.len < scheme_len || strncasecmp(t.p, scheme, scheme_len))
		return refuse(bad, 400, "target that is not http://host/path; this is a proxy");
	if (memchr(t.p, '#', t.len))
		return refuse(bad, 400, "fragment in the target");
	t = (struct span){ t.p + scheme_len, t.len - scheme_len };
	for (len = 0; len < t.len && t.p[len] != '/' && t.p[len] != '?'; len++)
		;
	ret->path = (struct span){ t.p + len, t.len - len };
	return parse_authority(t.p, len, 80, ret, bad) < 0 ? -1 : check_host_field(head, ret, 0, bad);
}

static int is_method(const struct http_head *head, const char *method)
{
	return head->method.len == strlen(method) && !memcmp(head->method.p, method, head->method.len);
}

int http_parse_origin(const struct http_head *head, const struct host *host, uint16_t port, int secure,
		      struct http_uri *ret, struct http_problem *bad)
{
	const struct http_field *f = http_find(head, "Host");
	struct span t = head->target;
	struct host named;
	uint16_t named_port;
	const char *why;

	*ret = (struct http_uri){ .host = *host, .port = port, .secure = secure, .path = t };
	if (is_method(head, "CONNECT") || is_method(head, "TRACE") || is_method(head, "TRACK"))
		return refuse(bad, 405, "method that is not for hosts that are looked into");
	if (t.len == 1 && t.p[0] == '*' && is_method(head, "OPTIONS"))
		ret->path = (struct span){ t.p, 0 };
	else if (!t.len || t.p[0] != '/')
		return refuse(bad, 400, "target that is no path; this connection leads to one host");
	if (memchr(t.p, '#', t.len))
		return refuse(bad, 400, "fragment in the target");
	if (!f || count(head, "Host") > 1)
		return refuse(bad, 400, "not one Host field");
	if (host_port_parse(f->value.p, f->value.len, secure ? 443 : 80, &named, &named_port, &why) < 0)
		return deny(bad, 400, "malformed Host field");
	/* Many clients leave an unusual port out. */
	if (strcmp(named.text, host->text) || (named_port != port && memchr(f->value.p, ':', f->value.len)))
		return deny(bad, 421, "Host field that names another host than the connection");
	return 0;
}

/* --- bodies --- */

void http_body_begin(struct http_body *body, const struct http_head *head)
{
	*body = (struct http_body){ .framing = head->framing };
	if (head->framing == HTTP_LENGTH)
		body->left = head->length;
	if (head->framing == HTTP_CHUNKED)
		body->state = HTTP_BODY_CHUNK_SIZE;
	if (head->framing == HTTP_NO_BODY || (head->framing == HTTP_LENGTH && !head->length))
		body->state = HTTP_BODY_DONE;
}

static void is_bad(struct http_piece *ret, const char *why)
{
	*ret = (struct http_piece){ .kind = HTTP_BAD, .why = why };
}

/*
 * A line at the start of @data. 1 with @ret; 0 and @piece says MORE or BAD.
 * Control bytes are for the caller to judge, but CR and LF are judged here.
 */
static int body_line(const char *data, size_t len, size_t max, struct span *ret, struct http_piece *piece)
{
	const char *cr = memchr(data, '\r', len < max ? len : max);
	size_t n = cr ? (size_t)(cr - data) : len;

	*piece = (struct http_piece){ .kind = HTTP_MORE };
	if (memchr(data, '\n', n))
		is_bad(piece, "line that ends in a bare LF");
	else if (!cr && len >= max)
		is_bad(piece, "line too long in a chunked body");
	else if (cr && n + 1 < len && cr[1] != '\n')
		is_bad(piece, "bare CR in a chunked body");
	else if (cr && n + 1 < len)
		*ret = (struct span){ data, n };
	else
		return 0;
	return piece->kind == HTTP_MORE;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "1a2b" or "1a2b;extension". 0, or -1. */
static int parse_chunk_size(struct span line, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < line.len && hex_value(line.p[i]) >= 0; i++) {
		if (i == 15)
			return -1;
		v = v * 16 + (uint64_t)hex_value(line.p[i]);
	}
	if (!i || (i < line.len && line.p[i] != ';') || !is_value(line))
		return -1;
	*ret = v;
	return 0;
}

static void next_chunk_size(struct http_body *body, const char *data, size_t len, struct http_piece *ret)
{
	struct span line;

	if (!body_line(data, len, HTTP_CHUNK_LINE_MAX, &line, ret))
		return;
	if (parse_chunk_size(line, &body->left) < 0) {
		is_bad(ret, "malformed chunk size");
		return;
	}
	body->state = body->left ? HTTP_BODY_CHUNK_DATA : HTTP_BODY_TRAILER;
	ret->kind = body->left ? HTTP_MORE : HTTP_LAST_CHUNK;
	ret->used = line.len + 2;
}

static void next_chunk_end(struct http_body *body, const char *data, size_t len, struct http_piece *ret)
{
	*ret = (struct http_piece){ .kind = HTTP_MORE };
	if ((len && data[0] != '\r') || (len > 1 && data[1] != '\n')) {
		is_bad(ret, "chunk that does not end where it says");
	} else if (len > 1) {
		body->state = HTTP_BODY_CHUNK_SIZE;
		ret->used = 2;
	}
}

static void next_trailer(struct http_body *body, const char *data, size_t len, struct http_piece *ret)
{
	struct span line;
	const char *why;

	if (!body_line(data, len, HTTP_TRAILERS_MAX - body->trailer_bytes, &line, ret))
		return;
	ret->used = line.len + 2;
	body->trailer_bytes += ret->used;
	if (!line.len) {
		body->state = HTTP_BODY_DONE;
		ret->kind = HTTP_END;
		return;
	}
	ret->kind = HTTP_TRAILER;
	why = parse_field(line, &ret->trailer);
	if (!why && body->trailer_bytes >= HTTP_TRAILERS_MAX)
		why = "trailers of more than 16 KiB";
	if (why)
		is_bad(ret, why);
}

static void next_data(struct http_body *body, const char *data, size_t len, struct http_piece *ret)
{
	int counted = body->framing != HTTP_UNTIL_CLOSE;

	*ret = (struct http_piece){ .kind = HTTP_MORE };
	if (!len)
		return;
	if (counted && len > body->left)
		len = (size_t)body->left;
	*ret = (struct http_piece){ .kind = HTTP_DATA, .data = { data, len }, .used = len };
	if (!counted)
		return;
	body->left -= len;
	if (!body->left)
		body->state = body->framing == HTTP_CHUNKED ? HTTP_BODY_CHUNK_END : HTTP_BODY_DONE;
}

void http_body_next(struct http_body *body, const char *data, size_t len, struct http_piece *ret)
{
	size_t used = 0;

	do {
		switch (body->state) {
		case HTTP_BODY_DATA:
		case HTTP_BODY_CHUNK_DATA:
			next_data(body, data + used, len - used, ret);
			break;
		case HTTP_BODY_CHUNK_SIZE:
			next_chunk_size(body, data + used, len - used, ret);
			break;
		case HTTP_BODY_CHUNK_END:
			next_chunk_end(body, data + used, len - used, ret);
			break;
		case HTTP_BODY_TRAILER:
			next_trailer(body, data + used, len - used, ret);
			break;
		case HTTP_BODY_DONE:
			*ret = (struct http_piece){ .kind = HTTP_END };
			break;
		}
		used += ret->used;
		/* Framing alone tells the caller nothing: go on behind it. */
	} while (ret->kind == HTTP_MORE && ret->used);
	ret->used = used;
}
