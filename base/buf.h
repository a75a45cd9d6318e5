/*
 * base/buf.h - bounded growing bytes
 *
 * A zeroed struct is an empty buffer with the default bound. .data is always
 * NUL-terminated once anything was added; .len does not count that NUL. An
 * append that would pass .max fails and sets .failed, which stays set, so a
 * run of appends can be checked once at its end.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>

#define BUF_MAX_DEFAULT (64u * 1024 * 1024)

struct buf {
	char *data;
	size_t len;
	size_t cap;
	size_t max;	/* bytes; 0 means BUF_MAX_DEFAULT */
	int failed;
};

int buf_add(struct buf *b, const void *data, size_t len);	/* 0 or -1 */
int buf_adds(struct buf *b, const char *s);
int buf_addc(struct buf *b, char c);
int buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* buf_room() - at least @len writable bytes at data+len, or NULL; then buf_grew() */
char *buf_room(struct buf *b, size_t len);
void buf_grew(struct buf *b, size_t len);

/* buf_eat() - drop @len bytes from the front */
void buf_eat(struct buf *b, size_t len);

void buf_clear(struct buf *b);	/* empty, memory kept */
void buf_done(struct buf *b);

/* buf_steal() - the NUL-terminated bytes, the caller's to free(); NULL if any append failed */
char *buf_steal(struct buf *b);

static inline void own_buf(struct buf *b)
{
	buf_done(b);
}

#endif
