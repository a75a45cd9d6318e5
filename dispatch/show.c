#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "dispatch/show.h"

/* Characters that move or hide others: direction marks, separators, the byte order mark. */
static const struct { uint32_t first, last; } hidden[] = {
	{ 0x80, 0x9f }, { 0xad, 0xad }, { 0x61c, 0x61c }, { 0x200b, 0x200f }, { 0x2028, 0x202e },
	{ 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
};

/* The character at @s, which is well-formed UTF-8 of @n bytes. */
static uint32_t code_point(const unsigned char *s, size_t n)
{
	uint32_t c = n == 1 ? s[0] : s[0] & (0xffu >> (n + 1));

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (s[i] & 0x3fu);
	return c;
}

static int is_hidden(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		if (c >= hidden[i].first && c <= hidden[i].last)
			return 1;
	return 0;
}

static void add_control(struct buf *b, unsigned char c)
{
	if (c == '\n')
		buf_adds(b, "\\n");
	else if (c == '\t')
		buf_adds(b, "\\t");
	else if (c == '\r')
		buf_adds(b, "\\r");
	else
		buf_addf(b, "\\x%02x", c);
}

void show_add(struct buf *b, const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t n;

	for (size_t i = 0; i < len; i += n) {
		uint32_t c;

		n = text_char(p + i, len - i);
		c = n ? code_point(p + i, n) : 0;
		if (!n) {
			buf_addf(b, "\\x%02x", p[i]);
			n = 1;
		} else if (c < 0x20 || c == 0x7f) {
			add_control(b, p[i]);
		} else if (is_hidden(c)) {
			buf_addf(b, "\\u{%x}", c);
		} else {
			buf_add(b, p + i, n);
		}
	}
}

char *show_text(const char *s)
{
	struct buf b = { 0 };

	buf_adds(&b, "");
	show_add(&b, s, strlen(s));
	return buf_steal(&b);
}

size_t show_width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

__attribute__((format(printf, 2, 0)))
static void line(const char *prefix, const char *fmt, va_list ap)
{
	OWN(buf) struct buf b = { 0 };
	OWN(mem) char *text = NULL;

	if (vasprintf(&text, fmt, ap) < 0) {
		text = NULL;
		return;
	}
	buf_adds(&b, prefix);
	show_add(&b, text, strlen(text));
	buf_addc(&b, '\n');
	if (!b.failed)
		fwrite(b.data, 1, b.len, stderr);
}

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line("agate: ", fmt, ap);
	va_end(ap);
}

void say_hint(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line("hint: ", fmt, ap);
	va_end(ap);
}

void say_bare(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line("", fmt, ap);
	va_end(ap);
}

void say_err(const struct err *err)
{
	say("%s", err->msg[0] ? err->msg : "something failed and did not say why");
	if (err->hint[0])
		say_hint("%s", err->hint);
}
