#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/parse.h"
#include "gates/tool_internal.h"

static const struct { const char *scheme; uint16_t port; } schemes[] = {
	{ "https://", 443 }, { "http://", 80 },
};

static const char *parse_port(const char *text, uint16_t *ret)
{
	uint64_t port;

	if (parse_uint(text, 65535, &port) < 0 || !port)
		return "its port is none";
	*ret = (uint16_t)port;
	return NULL;
}

/* "host", "host:port", "[::1]:port"; @len bytes. */
static const char *split(const char *at, size_t len, char **ret_host, uint16_t *ret_port)
{
	OWN(mem) char *copy = strndup(at, len);
	const char *why = NULL;
	char *end;

	if (!copy)
		return "out of memory";
	end = copy[0] == '[' ? strchr(copy, ']') : copy + strcspn(copy, ":");
	if (!end || end == copy)
		return "it names no host";
	if (*end == ']')
		end++;
	if (*end == ':' && end[1])
		why = parse_port(end + 1, ret_port);
	else if (*end && *end != ':')
		why = "it names no host";
	*end = '\0';
	if (why)
		return why;
	*ret_host = TAKE(copy);
	return NULL;
}

const char *url_host(const char *url, char **ret_host, uint16_t *ret_port)
{
	for (const char *p = url; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f || *p == '\\')
			return "it holds blanks, control bytes or backslashes";
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		size_t n = strlen(schemes[i].scheme), len;

		if (strncasecmp(url, schemes[i].scheme, n) != 0)
			continue;
		len = strcspn(url + n, "/?#");
		if (memchr(url + n, '@', len) || memchr(url + n, '%', len))
			return "it hides its host behind a user name or per cent signs";
		*ret_port = schemes[i].port;
		return split(url + n, len, ret_host, ret_port);
	}
	return "it is neither http nor https";
}

/* What the world says of a host; @who as a person would name it. */
static void judge_host(struct call *c, const char *who, const char *host, uint16_t port)
{
	const struct tool_world *w = c->req->world;
	char why[256] = "";
	enum tool_host answer = w && w->host ? w->host(w->cookie, host, port, why, sizeof(why)) : TOOL_HOST_UNKNOWN;

	if (answer == TOOL_HOST_DENIED)
		call_raise(c, DECISION_DENY, "host", "'%s' reaches out to '%s': %s", who, host, why);
	else if (answer == TOOL_HOST_UNKNOWN && !c->req->is_held)
		call_raise(c, DECISION_ASK, "host", "'%s' reaches out to '%s'%s%s", who, host, *why ? ": " : "", why);
}

void judge_url(struct call *c)
{
	const char *url = call_text(c, c->row->subject), *why;
	OWN(mem) char *host = NULL;
	uint16_t port = 0;

	why = url ? url_host(url, &host, &port) : "it is none";
	if (why)
		call_raise(c, DECISION_DENY, "url", "'%s' is given an address that is not taken: %s", c->req->tool, why);
	else
		judge_host(c, c->req->tool, host, port);
}

void host_of_effect(struct call *c, const struct effect *e)
{
	OWN(mem) char *host = NULL;
	uint16_t port = 443;
	size_t n;

	if (e->class != EFFECT_NETWORK_EGRESS || !e->subject)
		return;
	n = strcspn(e->subject, "/?#");
	/* "curl" and "git fetch" are the program; only what has a dot or a colon is a host. */
	if (strstr(e->subject, "://")) {
		if (url_host(e->subject, &host, &port))
			call_raise(c, DECISION_ASK, "host", "the command reaches out to '%s'", e->subject);
	} else if (!strpbrk(e->subject, " *") && strpbrk(e->subject, ".:") && n) {
		split(e->subject, n, &host, &port);
	}
	if (host)
		judge_host(c, c->req->tool, host, port);
}
