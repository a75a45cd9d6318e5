#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "sandbox/egress/refusal.h"

static const struct {
	int status;
	const char *phrase;
} phrases[] = {
	{ 400, "Bad Request" },
	{ 403, "Forbidden" },
	{ 405, "Method Not Allowed" },
	{ 407, "Proxy Authentication Required" },
	{ 408, "Request Timeout" },
	{ 421, "Misdirected Request" },
	{ 431, "Request Header Fields Too Large" },
	{ 501, "Not Implemented" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" },
	{ 505, "HTTP Version Not Supported" },
};

static const char *phrase_of(int status)
{
	for (size_t i = 0; i < ARRAY_LEN(phrases); i++)
		if (phrases[i].status == status)
			return phrases[i].phrase;
	return "Error";
}

/* Rules and reasons may hold letters that a status line or a terminal must not see. */
static void put_plain(struct buf *out, const char *s)
{
	for (; *s; s++)
		buf_addc(out, *s >= ' ' && *s <= '~' ? *s : '?');
}

void refusal_line(const struct destination *d, const struct egress_verdict *v, struct buf *out)
{
	buf_adds(out, "agate: blocked '");
	put_plain(out, d->text);
	buf_adds(out, "': ");
	put_plain(out, v->reason);
}

/* RFC 6761: it always leads to this machine, so that no rule for the name would do. */
static int is_localhost(const char *name)
{
	const char *dot = strrchr(name, '.');

	return !strcmp(dot ? dot + 1 : name, "localhost");
}

static void put_rule_hint(const struct destination *d, const struct egress_verdict *v, struct buf *out)
{
	int usual = d->port == 443 || d->port == 80 || d->port == 22;
	char host[HOST_SHOWN_SIZE];

	host_show(&d->host, usual && v->why == REFUSAL_NO_RULE ? 0 : d->port, host);
	buf_addf(out, "To allow it, start the run with: --allow-domain '%s'\n", host);
}

/* What a person can do about it; deny rules and metadata are not to be talked out of. */
static void put_hint(const struct destination *d, const struct egress_verdict *v, struct buf *out)
{
	static const char place[] = "A name may not lead to such a place. If it should, allow the address itself\n"
				    "(--allow-domain ADDRESS:PORT), or map the name to it with --hosts FILE.\n";

	switch (v->why) {
	case REFUSAL_NO_RULE:
	case REFUSAL_PORT:
		if (d->host.is_address && !address_may_consent(address_class(&d->host.ip)))
			return;
		if (is_localhost(d->host.text))
			buf_adds(out, place);
		else
			put_rule_hint(d, v, out);
		break;
	case REFUSAL_ADDRESS:
		buf_adds(out, place);
		break;
	case REFUSAL_NETWORK_OFF:
		buf_adds(out, "To have a network, start the run with: --network allow\n");
		break;
	case REFUSAL_DENY_RULE:
		buf_adds(out, "A deny rule beats every allow rule.\n");
		break;
	default:
		break;
	}
}

/* A response of ours, whole. @error: the X-Proxy-Error word or NULL. @phrase: NULL for the usual one. */
static void respond(int status, const char *phrase, const char *error, const struct buf *body, int no_body,
		    int close, struct buf *out)
{
	buf_addf(out, "HTTP/1.1 %d ", status);
	put_plain(out, phrase ? phrase : phrase_of(status));
	buf_adds(out, "\r\n");
	if (error)
		buf_addf(out, "X-Proxy-Error: %s\r\n", error);
	buf_addf(out, "Content-Type: text/plain; charset=us-ascii\r\nContent-Length: %zu\r\n"
		      "Cache-Control: no-store\r\n%s%s\r\n",
		 body->len, status == 407 ? "Proxy-Authenticate: Basic realm=\"agate\"\r\n" : "", close ? "Connection: close\r\n" : "");
	if (!no_body)
		buf_add(out, body->data ? body->data : "", body->len);
}

void refusal_http(const struct destination *d, const struct egress_verdict *v, int no_body, int close,
		  struct buf *out)
{
	OWN(buf) struct buf line = { 0 };
	OWN(buf) struct buf body = { 0 };

	refusal_line(d, v, &line);
	buf_addf(&body, "%s\n", line.data ? line.data : "");
	put_hint(d, v, &body);
	/* Of a refused CONNECT most clients show the status line alone. */
	respond(403, line.data, refusal_word(v->why), &body, no_body, close, out);
}

void failure_http(int status, const char *why, int no_body, int close, struct buf *out)
{
	OWN(buf) struct buf body = { 0 };

	buf_adds(&body, "agate: ");
	put_plain(&body, why);
	buf_addc(&body, '\n');
	respond(status, NULL, status >= 502 && status <= 504 ? "upstream-failure" : "malformed-request", &body,
		no_body, close, out);
}

static void put_u32(struct buf *out, size_t v)
{
	uint32_t n = htonl((uint32_t)v);

	buf_add(out, &n, sizeof(n));
}

void refusal_ssh(const struct destination *d, const struct egress_verdict *v, struct buf *out)
{
	/* RFC 4253: 4.2 greeting, 6 packet, 11.1 disconnect. Nothing is encrypted before the key exchange. */
	enum { MSG_DISCONNECT = 1, HOST_NOT_ALLOWED = 1, BLOCK = 8, MIN_PADDING = 4 };
	OWN(buf) struct buf line = { 0 };
	size_t payload, padding;

	refusal_line(d, v, &line);
	payload = 1 + 4 + 4 + line.len + 4;
	padding = BLOCK - (4 + 1 + payload) % BLOCK;
	if (padding < MIN_PADDING)
		padding += BLOCK;
	buf_adds(out, "SSH-2.0-agate\r\n");
	put_u32(out, 1 + payload + padding);
	buf_addc(out, (char)padding);
	buf_addc(out, MSG_DISCONNECT);
	put_u32(out, HOST_NOT_ALLOWED);
	put_u32(out, line.len);
	buf_add(out, line.data ? line.data : "", line.len);
	put_u32(out, 0);
	while (padding--)
		buf_addc(out, '\0');
}
