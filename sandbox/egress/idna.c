#include <stdint.h>
#include <string.h>

#include "base/own.h"
#include "sandbox/egress/idna.h"

enum { LABEL_MAX = 63 };

/* Letters kept as they are: step 1, or 2 where capitals alternate with small ones. */
static const struct {
	uint32_t first, last;
	unsigned int step;
} kept[] = {
	{ 0x00e0, 0x00f6, 1 }, { 0x00f8, 0x00ff, 1 },	/* not U+00DF, whose meaning changed in 2008 */
	{ 0x0101, 0x012f, 2 }, { 0x0135, 0x0137, 2 }, { 0x013a, 0x013e, 2 }, { 0x0142, 0x0148, 2 },
	{ 0x014b, 0x0177, 2 }, { 0x017a, 0x017e, 2 },
	{ 0x03ac, 0x03af, 1 }, { 0x03b1, 0x03c1, 1 }, { 0x03c3, 0x03ce, 1 },	/* not the final sigma */
	{ 0x0430, 0x045f, 1 },
	{ 0x3041, 0x3096, 1 }, { 0x30a1, 0x30fa, 1 }, { 0x30fc, 0x30fc, 1 },
	{ 0x4e00, 0x9fff, 1 }, { 0xac00, 0xd7a3, 1 },
};

/* Capitals that become small letters by adding. */
static const struct {
	uint32_t first, last, add;
} capitals[] = {
	{ 'A', 'Z', 0x20 }, { 0x00c0, 0x00d6, 0x20 }, { 0x00d8, 0x00de, 0x20 },
	{ 0x0391, 0x03a1, 0x20 }, { 0x03a3, 0x03a9, 0x20 },
	{ 0x0410, 0x042f, 0x20 }, { 0x0400, 0x040f, 0x50 },
};

/* The character at *p, which moves past it; 0 if it is not well-formed UTF-8 of up to three bytes. */
static uint32_t next_char(const unsigned char **p)
{
	const unsigned char *s = *p;
	uint32_t c;

	if (s[0] < 0x80) {
		*p += 1;
		return s[0];
	}
	if (s[0] >= 0xc2 && s[0] < 0xe0 && (s[1] & 0xc0) == 0x80) {
		*p += 2;
		return (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
	}
	if ((s[0] & 0xf0) != 0xe0 || (s[1] & 0xc0) != 0x80 || (s[2] & 0xc0) != 0x80)
		return 0;
	c = (s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
	if (c < 0x800)
		return 0;
	*p += 3;
	return c;
}

static uint32_t small(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_LEN(capitals); i++)
		if (c >= capitals[i].first && c <= capitals[i].last)
			return c + capitals[i].add;
	return c;
}

static int is_kept(uint32_t c)
{
	if (c < 0x80)
		return 1;
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if (c >= kept[i].first && c <= kept[i].last)
			return (c - kept[i].first) % kept[i].step == 0;
	return 0;
}

/* --- punycode, RFC 3492 section 6 --- */

enum { BASE = 36, T_MIN = 1, T_MAX = 26, SKEW = 38, DAMP = 700, FIRST_BIAS = 72, FIRST_CODE = 128 };

static uint32_t adapt(uint32_t delta, uint32_t points, int first)
{
	uint32_t k = 0;

	delta = first ? delta / DAMP : delta / 2;
	delta += delta / points;
	for (; delta > (BASE - T_MIN) * T_MAX / 2; k += BASE)
		delta /= BASE - T_MIN;
	return k + (BASE - T_MIN + 1) * delta / (delta + SKEW);
}

static char digit(uint32_t d)
{
	return (char)(d < 26 ? 'a' + d : '0' + d - 26);
}

/* @delta as a number of variable length behind @ret; the new end, or NULL if there is no room. */
static char *put_delta(uint32_t delta, uint32_t bias, char *to, const char *end)
{
	for (uint32_t k = BASE;; k += BASE) {
		uint32_t t = k <= bias ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias;

		if (to >= end)
			return NULL;
		if (delta < t) {
			*to++ = digit(delta);
			return to;
		}
		*to++ = digit(t + (delta - t) % (BASE - t));
		delta = (delta - t) / (BASE - t);
	}
}

static char *put_ascii_part(const uint32_t *c, size_t n, char *to, const char *end, size_t *ret_count)
{
	*ret_count = 0;
	for (size_t i = 0; i < n; i++) {
		if (c[i] >= 0x80)
			continue;
		if (to >= end)
			return NULL;
		*to++ = (char)c[i];
		++*ret_count;
	}
	if (*ret_count) {
		if (to >= end)
			return NULL;
		*to++ = '-';
	}
	return to;
}

/* @n characters, at most LABEL_MAX, so no number here can overflow. */
static char *punycode(const uint32_t *c, size_t n, char *to, const char *end)
{
	uint32_t code = FIRST_CODE, delta = 0, bias = FIRST_BIAS;
	size_t ascii, done;

	to = put_ascii_part(c, n, to, end, &ascii);
	for (done = ascii; to && done < n; delta++, code++) {
		uint32_t next = UINT32_MAX;

		for (size_t i = 0; i < n; i++)
			if (c[i] >= code && c[i] < next)
				next = c[i];
		delta += (next - code) * (uint32_t)(done + 1);
		code = next;
		for (size_t i = 0; to && i < n; i++) {
			delta += c[i] < code;
			if (c[i] != code)
				continue;
			to = put_delta(delta, bias, to, end);
			bias = adapt(delta, (uint32_t)done + 1, done == ascii);
			delta = 0;
			done++;
		}
	}
	return to;
}

/* One label from *p on, which moves to its end. The new end of what is written, or NULL. */
static char *put_label(const unsigned char **p, char *to, const char *end, const char **ret_why)
{
	uint32_t c[LABEL_MAX];
	size_t n = 0, beyond = 0;

	for (; **p && **p != '.'; n++) {
		*ret_why = "label of more than 63 bytes in the name";
		if (n >= LABEL_MAX)
			return NULL;
		c[n] = small(next_char(p));
		*ret_why = "letter that has no single ASCII form here; write the name as xn--";
		if (!c[n] || !is_kept(c[n]))
			return NULL;
		beyond += c[n] >= 0x80;
	}
	*ret_why = "name too long";
	if (end - to > LABEL_MAX)
		end = to + LABEL_MAX;
	if (!beyond) {
		for (size_t i = 0; i < n && to; i++)
			to = to < end ? (*to = (char)c[i], to + 1) : NULL;
		return to;
	}
	if (end - to < 4)
		return NULL;
	memcpy(to, "xn--", 4);
	return punycode(c, n, to + 4, end);
}

int idna_to_ascii(const char *name, char *ret, size_t size, const char **ret_why)
{
	const unsigned char *p = (const unsigned char *)name;
	char *to = ret;
	const char *end = ret + size - 1;

	for (;;) {
		to = put_label(&p, to, end, ret_why);
		if (!to)
			return -1;
		if (!*p)
			break;
		if (to >= end)
			return -1;
		*to++ = '.';
		p++;
	}
	*to = '\0';
	return 0;
}
