#include <nettle/base64.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/text.h"

/* The well-formed sequences: Unicode, table 3-7. No overlong forms, no surrogates, nothing over U+10FFFF. */
static const struct form {
	unsigned char first, last;	/* of the first byte */
	unsigned char lo, hi;		/* of the second */
	unsigned char len;
} forms[] = {
	{ 0x00, 0x7f, 0x00, 0x00, 1 },
	{ 0xc2, 0xdf, 0x80, 0xbf, 2 },
	{ 0xe0, 0xe0, 0xa0, 0xbf, 3 },
	{ 0xe1, 0xec, 0x80, 0xbf, 3 },
	{ 0xed, 0xed, 0x80, 0x9f, 3 },
	{ 0xee, 0xef, 0x80, 0xbf, 3 },
	{ 0xf0, 0xf0, 0x90, 0xbf, 4 },
	{ 0xf1, 0xf3, 0x80, 0xbf, 4 },
	{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

static size_t is_form(const struct form *f, const unsigned char *s, size_t left)
{
	if (*s < f->first || *s > f->last || f->len > left)
		return 0;
	if (f->len > 1 && (s[1] < f->lo || s[1] > f->hi))
		return 0;
	for (size_t i = 2; i < f->len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return f->len;
}

size_t text_char(const void *s, size_t left)
{
	for (size_t i = 0; left && i < ARRAY_LEN(forms); i++)
		if (is_form(&forms[i], s, left))
			return forms[i].len;
	return 0;
}

static int hex_value(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that "\xNN" at @s stands for, or -1. */
static int escaped(const unsigned char *s, size_t left)
{
	int hi, lo;

	if (left < 4 || s[0] != '\\' || s[1] != 'x')
		return -1;
	hi = hex_value(s[2]);
	lo = hex_value(s[3]);
	return hi < 0 || lo < 0 ? -1 : hi * 16 + lo;
}

int text_store(struct buf *b, const void *bytes, size_t len)
{
	const unsigned char *s = bytes;

	for (size_t i = 0; i < len;) {
		size_t n = s[i] ? text_char(s + i, len - i) : 0;

		if (!n || escaped(s + i, len - i) >= 0)
			buf_addf(b, "\\x%02x", s[i++]);
		else
			i += buf_add(b, s + i, n) < 0 ? len : n;
	}
	return buf_add(b, "", 0);
}

int text_restore(struct buf *b, const char *stored)
{
	const unsigned char *s = (const unsigned char *)stored;
	size_t len = strlen(stored);

	for (size_t i = 0; i < len;) {
		int c = escaped(s + i, len - i);

		buf_addc(b, (char)(c >= 0 ? c : s[i]));
		i += c >= 0 ? 4 : 1;
	}
	return buf_add(b, "", 0);
}

void text_base64(const void *bytes, size_t len, char *ret)
{
	base64_encode_raw(ret, len, bytes);
	ret[BASE64_ENCODE_RAW_LENGTH(len)] = '\0';
}

static int base64_value(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

int text_base64_decode(const char *s, size_t len, struct buf *out)
{
	unsigned int bits = 0, n = 0;

	while (len && strchr("=\r\n", s[len - 1]) && s[len - 1])
		len--;
	for (size_t i = 0; i < len; i++) {
		int v = base64_value(s[i]);

		if (s[i] == '\r' || s[i] == '\n')
			continue;
		if (v < 0)
			return -1;
		bits = bits << 6 | (unsigned int)v;
		n += 6;
		if (n >= 8) {
			n -= 8;
			buf_addc(out, (char)(bits >> n));
		}
	}
	return out->failed ? -1 : 0;
}
