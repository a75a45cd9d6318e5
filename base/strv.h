/*
 * base/strv.h - owned vectors of strings
 *
 * .v is always NULL-terminated once anything was added, so it can be handed to
 * execve(2); a zeroed struct is a valid empty vector (with .v NULL).
 */
#ifndef BASE_STRV_H
#define BASE_STRV_H

#include <stddef.h>

struct strv {
	char **v;
	size_t n;
	size_t cap;
};

/* All return 0, or -1 when out of memory with the vector unchanged. */
int strv_add(struct strv *sv, const char *s);			/* copies @s */
int strv_addn(struct strv *sv, const char *s, size_t len);	/* copies @len bytes */
int strv_addf(struct strv *sv, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int strv_take(struct strv *sv, char *s);			/* owns @s, also on failure (freed) */
int strv_copy(struct strv *dst, const struct strv *src);	/* appends all of @src */
int strv_copyv(struct strv *dst, const char *const v[]);	/* appends until NULL */

/* strv_has() - 1 if @s is one of them, by exact comparison */
int strv_has(const struct strv *sv, const char *s);

/* strv_sort_unique() - sorted by byte value, repeats dropped */
void strv_sort_unique(struct strv *sv);

/* strv_done() - free all; leaves a valid empty vector */
void strv_done(struct strv *sv);

static inline void own_strv(struct strv *sv)
{
	strv_done(sv);
}

#endif
