/*
 * dispatch/show.h - words for people, safe to put on a terminal
 *
 * Paths, commands and host names come from outside and may hold anything: an
 * escape sequence that rewrites the screen, a newline that fakes a second
 * line, a direction mark that turns a name around. Whatever agate prints for a
 * person goes through here; what it prints for programs is JSON, which has its
 * own way of quoting.
 *
 * Talk goes to stderr, results to stdout.
 */
#ifndef DISPATCH_SHOW_H
#define DISPATCH_SHOW_H

#include <stddef.h>

struct buf;
struct err;

/**
 * show_add() - Append @len bytes from outside, masked
 *
 * Control bytes, bytes that are no UTF-8, C1 controls, line and paragraph
 * separators and direction marks become visible: "\n", "\x1b", "\u{202e}".
 * Everything else stays as it is.
 */
void show_add(struct buf *b, const char *s, size_t len);

/* show_text() - the same for one string; the caller's to free(), NULL when out of memory */
char *show_text(const char *s);

/* show_width() - columns @s takes on a terminal, one a character */
size_t show_width(const char *s);

/**
 * say() - "agate: ...", one masked line on stderr
 *
 * The whole line is masked, so that callers need not think of it; a newline in
 * @fmt is therefore no line break. Call it once a line.
 */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* say_hint() - "hint: ...", the next step */
void say_hint(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* say_bare() - a masked line on stderr with nothing in front */
void say_bare(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* say_err() - a failure and its hint, if there is one */
void say_err(const struct err *err);

#endif
