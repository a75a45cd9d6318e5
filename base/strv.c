#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strv.h"

static int reserve(struct strv *sv, size_t more)
{
	size_t want = sv->n + more + 1, cap = sv->cap ? sv->cap : 8;
	char **v;

	if (want <= sv->cap)
		return 0;
	while (cap < want)
		cap *= 2;
	v = reallocarray(sv->v, cap, sizeof(*v));
	if (!v)
		return -1;
	sv->v = v;
	sv->cap = cap;
	return 0;
}

int strv_take(struct strv *sv, char *s)
{
	if (!s || reserve(sv, 1) < 0) {
		free(s);
		return -1;
	}
	sv->v[sv->n++] = s;
	sv->v[sv->n] = NULL;
	return 0;
}

int strv_add(struct strv *sv, const char *s)
{
	return strv_take(sv, strdup(s));
}

int strv_addn(struct strv *sv, const char *s, size_t len)
{
	return strv_take(sv, strndup(s, len));
}

int strv_addf(struct strv *sv, const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = vasprintf(&s, fmt, ap);
	va_end(ap);
	return r < 0 ? -1 : strv_take(sv, s);
}

int strv_copyv(struct strv *dst, const char *const v[])
{
	for (; v && *v; v++)
		if (strv_add(dst, *v) < 0)
			return -1;
	return 0;
}

int strv_copy(struct strv *dst, const struct strv *src)
{
	return strv_copyv(dst, (const char *const *)src->v);
}

int strv_has(const struct strv *sv, const char *s)
{
	for (size_t i = 0; i < sv->n; i++)
		if (!strcmp(sv->v[i], s))
			return 1;
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void strv_sort_unique(struct strv *sv)
{
	size_t kept = 0;

	if (sv->n < 2)
		return;
	qsort(sv->v, sv->n, sizeof(*sv->v), by_bytes);
	for (size_t i = 0; i < sv->n; i++) {
		if (kept && !strcmp(sv->v[kept - 1], sv->v[i]))
			free(sv->v[i]);
		else
			sv->v[kept++] = sv->v[i];
	}
	sv->n = kept;
	sv->v[kept] = NULL;
}

void strv_done(struct strv *sv)
{
	for (size_t i = 0; i < sv->n; i++)
		free(sv->v[i]);
	free(sv->v);
	*sv = (struct strv){ 0 };
}
