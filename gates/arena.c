#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gates/arena.h"

#define BLOCK_BYTES (32u * 1024)
#define ALIGN 16u

struct arena_block {
	struct arena_block *next;
	max_align_t data[];
};

static void add_block(struct arena *a, size_t size)
{
	size_t want = size > BLOCK_BYTES ? size : BLOCK_BYTES;
	struct arena_block *b = malloc(sizeof(*b) + want);

	if (!b)
		longjmp(a->out, 1);
	b->next = a->blocks;
	a->blocks = b;
	a->free = (char *)b->data;
	a->room = want;
}

void *arena_alloc(struct arena *a, size_t size)
{
	void *p;

	if (size > ARENA_MAX_BYTES || a->total + size > ARENA_MAX_BYTES)
		longjmp(a->out, 1);
	size = (size + ALIGN - 1) / ALIGN * ALIGN;
	if (size > a->room)
		add_block(a, size);
	p = a->free;
	a->free += size;
	a->room -= size;
	a->total += size;
	return memset(p, 0, size);
}

char *arena_dup(struct arena *a, const char *s, size_t len)
{
	char *p = arena_alloc(a, len + 1);

	memcpy(p, s, len);
	return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *p;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	p = arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
	if (n > 0)
		vsnprintf(p, (size_t)n + 1, fmt, again);
	va_end(again);
	return p;
}

void arena_done(struct arena *a)
{
	while (a->blocks) {
		struct arena_block *next = a->blocks->next;

		free(a->blocks);
		a->blocks = next;
	}
	a->free = NULL;
	a->room = a->total = 0;
}

void bytes_add(struct arena *a, struct bytes *t, const char *s, size_t len)
{
	if (t->len + len + 1 > t->cap) {
		size_t cap = (t->len + len + 1) * 2 > 32 ? (t->len + len + 1) * 2 : 32;
		char *grown = arena_alloc(a, cap);

		if (t->len)
			memcpy(grown, t->s, t->len);
		t->s = grown;
		t->cap = cap;
	}
	memcpy(t->s + t->len, s, len);
	t->len += len;
	t->s[t->len] = '\0';
}

void bytes_addc(struct arena *a, struct bytes *t, char c)
{
	bytes_add(a, t, &c, 1);
}
