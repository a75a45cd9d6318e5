#include <string.h>

#include "sandbox/egress/sni.h"

/* RFC 8446 4.1.2 and 5.1, RFC 6066 3 */
enum {
	HANDSHAKE = 0x16, MAJOR = 3, RECORD_HEAD = 5, RECORD_MAX = 16384 + 256,
	CLIENT_HELLO = 1, MESSAGE_HEAD = 4,
	RANDOM_AND_VERSION = 34,
	SERVER_NAME = 0, HOST_NAME = 0,
};

/* Bytes that are taken from the front; .bad stays set once too many were asked for. */
struct cursor {
	const unsigned char *p;
	size_t len;
	int bad;
};

static const unsigned char *take(struct cursor *c, size_t n)
{
	const unsigned char *p = c->p;

	if (c->bad || n > c->len) {
		c->bad = 1;
		return NULL;
	}
	c->p += n;
	c->len -= n;
	return p;
}

static size_t number(struct cursor *c, size_t bytes)
{
	const unsigned char *p = take(c, bytes);
	size_t v = 0;

	for (size_t i = 0; p && i < bytes; i++)
		v = v << 8 | p[i];
	return v;
}

/* What stands behind its length in @bytes bytes. */
static struct cursor vector(struct cursor *c, size_t bytes)
{
	size_t n = number(c, bytes);
	const unsigned char *p = take(c, n);

	return (struct cursor){ .p = p, .len = p ? n : 0, .bad = c->bad };
}

/* --- records --- */

/*
 * The message that the records at @data begin with, which may be cut into many,
 * into @to. Its length so far, and whether it can be a ClientHello at all.
 */
static enum sni join(const unsigned char *data, size_t len, unsigned char *to, size_t *ret_len)
{
	size_t n = 0, whole = 0;

	for (size_t at = 0; !whole || n < whole;) {
		size_t left = len - at, size;

		if (left && data[at] != HANDSHAKE)
			return at ? SNI_BAD : SNI_NOT_TLS;
		if (left > 1 && data[at + 1] != MAJOR)
			return at ? SNI_BAD : SNI_NOT_TLS;
		if (left < RECORD_HEAD)
			return SNI_MORE;
		size = (size_t)data[at + 3] << 8 | data[at + 4];
		if (!size || size > RECORD_MAX)
			return SNI_BAD;
		at += RECORD_HEAD;
		left = len - at < size ? len - at : size;
		memcpy(to + n, data + at, left);
		n += left;
		at += left;
		if (n && to[0] != CLIENT_HELLO)
			return SNI_NOT_TLS;	/* no server takes that for a beginning */
		if (n >= MESSAGE_HEAD)
			whole = MESSAGE_HEAD + ((size_t)to[1] << 16 | (size_t)to[2] << 8 | to[3]);
		if (whole > SNI_HELLO_MAX)
			return SNI_BAD;
		if (left < size && (!whole || n < whole))
			return SNI_MORE;
	}
	*ret_len = whole;
	return SNI_NONE;
}

/* --- the message --- */

static enum sni read_name(struct cursor ext, char ret[SNI_NAME_SIZE])
{
	struct cursor list = vector(&ext, 2), name;
	size_t type = number(&list, 1);

	name = vector(&list, 2);
	/* One name, and nothing behind it: RFC 6066 knows no other kind. */
	if (name.bad || ext.len || list.len || type != HOST_NAME || !name.len || name.len >= SNI_NAME_SIZE)
		return SNI_BAD;
	for (size_t i = 0; i < name.len; i++)
		if (name.p[i] <= ' ' || name.p[i] >= 0x7f)
			return SNI_BAD;
	memcpy(ret, name.p, name.len);
	ret[name.len] = '\0';
	return SNI_NAME;
}

static enum sni read_extensions(struct cursor all, char ret[SNI_NAME_SIZE])
{
	enum sni found = SNI_NONE;

	while (all.len && !all.bad) {
		size_t type = number(&all, 2);
		struct cursor ext = vector(&all, 2);

		if (type != SERVER_NAME || all.bad)
			continue;
		if (found != SNI_NONE)
			return SNI_BAD;
		found = read_name(ext, ret);
	}
	return all.bad ? SNI_BAD : found;
}

enum sni sni_read(const void *data, size_t len, char ret[SNI_NAME_SIZE])
{
	unsigned char hello[SNI_HELLO_MAX];
	struct cursor c = { .p = hello }, extensions;
	enum sni s;

	if (!len)
		return SNI_MORE;
	s = join(data, len < sizeof(hello) ? len : sizeof(hello), hello, &c.len);
	if (s == SNI_MORE && len >= sizeof(hello))
		return SNI_BAD;
	if (s != SNI_NONE)
		return s;
	take(&c, MESSAGE_HEAD + RANDOM_AND_VERSION);
	vector(&c, 1);	/* session */
	vector(&c, 2);	/* cipher suites */
	vector(&c, 1);	/* compression */
	if (c.bad)
		return SNI_BAD;
	if (!c.len)
		return SNI_NONE;	/* as clients were before there were extensions */
	extensions = vector(&c, 2);
	return extensions.bad || c.len ? SNI_BAD : read_extensions(extensions, ret);
}
