#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

char *buf_room(struct buf *b, size_t len)
{
	size_t max = b->max ? b->max : BUF_MAX_DEFAULT, cap = b->cap ? b->cap : 64;
	char *p;

	if (b->failed || len > max || b->len > max - len) {
		b->failed = 1;
		return NULL;
	}
	if (b->len + len + 1 > b->cap) {
		while (cap < b->len + len + 1)
			cap *= 2;
		p = realloc(b->data, cap);
		if (!p) {
			b->failed = 1;
			return NULL;
		}
		b->data = p;
		b->cap = cap;
	}
	return b->data + b->len;
}

void buf_grew(struct buf *b, size_t len)
{
	b->len += len;
	b->data[b->len] = '\0';
}

int buf_add(struct buf *b, const void *data, size_t len)
{
	char *to = buf_room(b, len);

	if (!to)
		return -1;
	if (len)
		memcpy(to, data, len);
	buf_grew(b, len);
	return 0;
}

int buf_adds(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

int buf_addc(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	char *to;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !(to = buf_room(b, (size_t)n))) {
		b->failed = 1;
		return -1;
	}
	va_start(ap, fmt);
	vsnprintf(to, (size_t)n + 1, fmt, ap);
	va_end(ap);
	buf_grew(b, (size_t)n);
	return 0;
}

void buf_eat(struct buf *b, size_t len)
{
	if (len >= b->len) {
		buf_clear(b);
		return;
	}
	memmove(b->data, b->data + len, b->len - len + 1);
	b->len -= len;
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = '\0';
}

void buf_done(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ .max = b->max };
}

char *buf_steal(struct buf *b)
{
	char *p;

	if (b->failed || (!b->data && !buf_room(b, 0))) {
		buf_done(b);
		return NULL;
	}
	p = b->data;
	p[b->len] = '\0';
	*b = (struct buf){ .max = b->max };
	return p;
}
