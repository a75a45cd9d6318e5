/*
 * base/text.h - outside bytes as text that can be stored
 *
 * Names of files and hosts may hold any bytes; a database or JSON wants UTF-8.
 * The stored form is valid UTF-8: a byte that is no part of a character becomes
 * \xNN, and so does a backslash that would read as such an escape, so that the
 * bytes can be had back. Control bytes stay: whoever shows them masks them.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>

struct buf;

/* All append to @b; 0, or -1 when it failed. */
int text_store(struct buf *b, const void *bytes, size_t len);
int text_restore(struct buf *b, const char *stored);

/* text_char() - length of the well-formed UTF-8 character at @s with @left bytes; 0: there is none */
size_t text_char(const void *s, size_t left);

/* text_base64() - RFC 4648 with padding, and a NUL; @ret: TEXT_BASE64_SIZE(len) bytes, never a copy elsewhere */
#define TEXT_BASE64_SIZE(len) (((len) + 2) / 3 * 4 + 1)
void text_base64(const void *bytes, size_t len, char *ret);

/* text_base64_decode() - append what @s means; line ends are passed over, padding may be missing. 0, or -1: it is none */
int text_base64_decode(const char *s, size_t len, struct buf *out);

#endif
