#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "sandbox/egress/host.h"

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * inet_aton(3) and browsers take a last part that is a number, in any base,
 * as the end of an address. So do we, to refuse what is not a plain one.
 */
static int ends_in_number(const char *name)
{
	const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;

	if (last[0] == '0' && last[1] == 'x')
		return last[2 + strspn(last + 2, "0123456789abcdef")] == '\0';
	return last[strspn(last, "0123456789")] == '\0';
}

static const char *wrong_with_name(const char *name)
{
	size_t label = 0;

	for (const char *p = name;; p++) {
		if (*p == '.' || !*p) {
			if (!label)
				return "empty label in the name";
			if (label > 63)
				return "label of more than 63 bytes in the name";
			label = 0;
			if (!*p)
				return NULL;
			continue;
		}
		if (*p & 0x80)
			return "name beyond ASCII; its xn-- form is needed";
		if (!islower((unsigned char)*p) && !is_digit(*p) && *p != '-' && *p != '_')
			return "character that no host name has";
		if (*p == '-' && !label)
			return "label starting with '-' in the name";
		label++;
	}
}

/* @s in lower case and without one trailing dot, into a string. */
static int copy_plain(const char *s, size_t len, char ret[HOST_TEXT_SIZE])
{
	if (len && s[len - 1] == '.')
		len--;
	if (len >= HOST_TEXT_SIZE || memchr(s, '\0', len))
		return -1;
	for (size_t i = 0; i < len; i++)
		ret[i] = s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] | 0x20) : s[i];
	ret[len] = '\0';
	return 0;
}

void host_from_ip(const struct ip *ip, struct host *ret)
{
	*ret = (struct host){ .is_address = 1, .ip = *ip };
	inet_ntop(ip->family, ip->b, ret->text, sizeof(ret->text));
}

static int parse_v6(const char *s, size_t len, struct host *ret, const char **ret_why)
{
	char text[INET6_ADDRSTRLEN];
	struct ip ip;

	*ret_why = "malformed IPv6 address";
	if (s[0] == '[') {
		if (len < 2 || s[len - 1] != ']')
			return -1;
		s++;
		len -= 2;
	}
	if (len >= sizeof(text) || !memchr(s, ':', len) || memchr(s, '\0', len))
		return -1;
	memcpy(text, s, len);
	text[len] = '\0';
	if (ip_parse(text, &ip) < 0)
		return -1;
	host_from_ip(&ip, ret);
	return 0;
}

int host_parse(const char *s, size_t len, struct host *ret, const char **ret_why)
{
	struct host h = { 0 };

	*ret_why = "empty host";
	if (!len)
		return -1;
	if (s[0] == '[' || memchr(s, ':', len))
		return parse_v6(s, len, ret, ret_why);
	*ret_why = "host name too long, or with a NUL in it";
	if (copy_plain(s, len, h.text) < 0)
		return -1;
	*ret_why = wrong_with_name(h.text);
	if (*ret_why)
		return -1;
	if (ends_in_number(h.text)) {
		*ret_why = "number that is not a plain IPv4 address";
		if (ip_parse(h.text, &h.ip) < 0)
			return -1;
		h.is_address = 1;
	}
	*ret = h;
	return 0;
}

int port_parse(const char *s, size_t len, uint16_t *ret)
{
	unsigned long v = 0;

	if (!len || len > 5)
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (!is_digit(s[i]))
			return -1;
		v = v * 10 + (unsigned long)(s[i] - '0');
	}
	if (!v || v > 65535)
		return -1;
	*ret = (uint16_t)v;
	return 0;
}

int host_port_parse(const char *s, size_t len, uint16_t default_port, struct host *ret,
		    uint16_t *ret_port, const char **ret_why)
{
	const char *end = s + len, *host_end, *bracket;
	uint16_t port = default_port;

	host_end = memchr(s, ':', len);
	if (len && s[0] == '[') {
		bracket = memchr(s, ']', len);
		host_end = bracket && bracket + 1 < end ? bracket + 1 : NULL;
	}
	if (!host_end)
		host_end = end;
	*ret_why = "malformed port";
	if (host_end < end &&
	    (*host_end != ':' || port_parse(host_end + 1, (size_t)(end - host_end - 1), &port) < 0))
		return -1;
	*ret_why = "no port";
	if (!port)
		return -1;
	if (host_parse(s, (size_t)(host_end - s), ret, ret_why) < 0)
		return -1;
	*ret_port = port;
	return 0;
}

void host_show(const struct host *h, uint16_t port, char ret[HOST_SHOWN_SIZE])
{
	int v6 = h->is_address && h->ip.family == AF_INET6;
	char tail[8] = "";

	if (port)
		snprintf(tail, sizeof(tail), ":%u", port);
	snprintf(ret, HOST_SHOWN_SIZE, "%s%s%s%s", v6 ? "[" : "", h->text, v6 ? "]" : "", tail);
}
