#include <string.h>

#include "sandbox/egress/credential.h"
#include "sandbox/egress/socks5.h"

enum { VERSION = 5, NO_AUTHENTICATION = 0, PASSWORD = 2, PASSWORD_VERSION = 1, NO_METHOD = 0xff, CONNECT = 1 };
enum { TYPE_V4 = 1, TYPE_NAME = 3, TYPE_V6 = 4 };

size_t socks5_reply(enum socks5_code code, uint8_t ret[SOCKS5_REPLY_SIZE])
{
	memset(ret, 0, SOCKS5_REPLY_SIZE);
	ret[0] = VERSION;
	ret[1] = (uint8_t)code;
	ret[3] = TYPE_V4;
	return SOCKS5_REPLY_SIZE;
}

static void refuse(struct socks5_piece *ret, enum socks5_kind kind, enum socks5_code code, const char *why)
{
	ret->kind = kind;
	ret->why = why;
	ret->reply_len = socks5_reply(code, ret->reply);
}

/* version, number of methods, methods */
static void greeting(struct socks5 *s, const uint8_t *p, size_t len, struct socks5_piece *ret)
{
	uint8_t method = s->credential ? PASSWORD : NO_AUTHENTICATION;

	if (p[0] != VERSION) {
		/* Some other protocol: no answer in SOCKS5 would be understood. */
		ret->kind = SOCKS5_REFUSE;
		ret->why = "not SOCKS version 5";
		return;
	}
	if (len < 2 || len < 2u + p[1])
		return;
	ret->used = 2u + p[1];
	ret->reply[0] = VERSION;
	ret->reply_len = 2;
	if (memchr(p + 2, method, p[1])) {
		ret->kind = SOCKS5_METHOD;
		ret->reply[1] = method;
		s->greeted = 1;
		return;
	}
	ret->kind = SOCKS5_REFUSE;
	ret->reply[1] = NO_METHOD;
	ret->why = s->credential ? "no authentication method in common; this proxy wants a name and a password" :
				   "no authentication method in common; this proxy wants none";
}

/* version, length, name, length, password */
static void authentication(struct socks5 *s, const uint8_t *p, size_t len, struct socks5_piece *ret)
{
	char said[2 * 255 + 1];
	size_t name, password;

	if (len < 2 || len < 3u + p[1] || len < 3u + p[1] + p[2 + p[1]])
		return;
	name = p[1];
	password = p[2 + name];
	memcpy(said, p + 2, name);
	said[name] = ':';
	memcpy(said + name + 1, p + 3 + name, password);
	s->known = p[0] == PASSWORD_VERSION && credential_equal(said, name + 1 + password, s->credential);
	ret->used = 3 + name + password;
	ret->kind = s->known ? SOCKS5_METHOD : SOCKS5_REFUSE;
	ret->reply[0] = PASSWORD_VERSION;
	ret->reply[1] = !s->known;
	ret->reply_len = 2;
	ret->why = s->known ? NULL : "wrong name or password";
}

/* The destination of @type at @p, @n bytes of it. */
static void read_host(uint8_t type, const uint8_t *p, size_t n, struct socks5_piece *ret)
{
	struct sockaddr_storage ss = { 0 };
	struct ip ip = { .family = type == TYPE_V4 ? AF_INET : AF_INET6 };

	if (type == TYPE_NAME) {
		memcpy(ret->raw, p, n);
		if (host_parse((const char *)p, n, &ret->host, &ret->why) < 0)
			refuse(ret, SOCKS5_DENY, SOCKS5_NOT_ALLOWED, ret->why);
		return;
	}
	memcpy(ip.b, p, n);
	/* Through a socket address, which makes a mapped IPv4 address a plain one. */
	ip_to_sockaddr(&ip, 0, &ss);
	ip_from_sockaddr((const struct sockaddr *)&ss, &ip);
	host_from_ip(&ip, &ret->host);
}

/* version, command, zero, type, address, port */
static void request(const uint8_t *p, size_t len, struct socks5_piece *ret)
{
	size_t at = 4, n;

	if (p[0] != VERSION) {
		refuse(ret, SOCKS5_REFUSE, SOCKS5_FAILED, "not SOCKS version 5");
		return;
	}
	if (len < 5)
		return;
	if (p[3] != TYPE_V4 && p[3] != TYPE_NAME && p[3] != TYPE_V6) {
		refuse(ret, SOCKS5_REFUSE, SOCKS5_NO_ADDRESS_TYPE, "unknown address type");
		return;
	}
	n = p[3] == TYPE_V4 ? 4 : p[3] == TYPE_V6 ? 16 : p[at++];
	if (len < at + n + 2)
		return;
	ret->used = at + n + 2;
	ret->port = (uint16_t)(p[at + n] << 8 | p[at + n + 1]);
	if (p[1] != CONNECT) {
		refuse(ret, SOCKS5_REFUSE, SOCKS5_NO_COMMAND, "command other than CONNECT");
		return;
	}
	if (p[2]) {
		refuse(ret, SOCKS5_REFUSE, SOCKS5_FAILED, "reserved byte is not zero");
		return;
	}
	ret->kind = SOCKS5_CONNECT;
	read_host(p[3], p + at, n, ret);
	if (ret->kind == SOCKS5_CONNECT && !ret->port)
		refuse(ret, SOCKS5_DENY, SOCKS5_NOT_ALLOWED, "port 0");
}

void socks5_next(struct socks5 *s, const void *data, size_t len, struct socks5_piece *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (!len)
		return;
	if (!s->greeted)
		greeting(s, data, len, ret);
	else if (s->credential && !s->known)
		authentication(s, data, len, ret);
	else
		request(data, len, ret);
}
