/*
 * base/text.h - outside bytes as text: to store, and to show
 *
 * Names of files and hosts may hold any bytes. Two forms of them:
 *
 *	stored	valid UTF-8; a byte that is no part of a character becomes \xNN,
 *		and so does a backslash that would read as such an escape, so the
 *		bytes can be had back
 *	shown	the stored form with what a terminal or a reader's eye would obey
 *		escaped as well: control characters, line breaks, direction marks
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>

struct buf;

/* All append to @b; 0, or -1 when it failed. */
int text_store(struct buf *b, const void *bytes, size_t len);
int text_restore(struct buf *b, const char *stored);
int text_show(struct buf *b, const void *bytes, size_t len);	/* of raw or of stored bytes */

/* text_char() - length of the well-formed UTF-8 character at @s with @left bytes; 0: there is none */
size_t text_char(const void *s, size_t left);

#endif
