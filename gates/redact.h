/*
 * gates/redact.h - mask secrets in commands before they are stored
 *
 * Known by their shape (keys of the large providers, JSON web tokens, private
 * keys), by what stands in front of them (password=, --token, Authorization:,
 * scheme://user:...@) or by being long and without a pattern. A mask tells what
 * it stands for and how long it was, and with a salt a few digits by which the
 * same secret is known again:
 *
 *	curl -H 'Authorization: Bearer [masked github-token 40 5f3a09c1]'
 *
 * What a shell would put in itself ($TOKEN, $(pass x)) is no secret and stays.
 * Masking twice changes nothing. Pure; time grows with the length alone.
 */
#ifndef GATES_REDACT_H
#define GATES_REDACT_H

#include <stddef.h>

struct buf;
struct strv;

/**
 * redact_text() - Append text with its secrets masked
 * @text:	any bytes, @len of them
 * @salt:	mixed into the digits of each mask; NULL for none, then masks have no digits
 * @ret:	appended to
 * @ret_masked:	how many masks were put in; may be NULL
 *
 * Return: 0, or -1 when @ret cannot grow; it may then end anywhere, and must not be stored
 */
int redact_text(const char *text, size_t len, const char *salt, struct buf *ret, size_t *ret_masked);

/* redact_line() - @text with its secrets masked; the caller's to free(), NULL out of memory. @ret_masked may be NULL */
char *redact_line(const char *text, size_t *ret_masked);

/**
 * redact_words() - The same for the words of a command, where one tells what the next is ("--token", VALUE)
 * @words:	ends in NULL
 * @ret:	appended to: as many words, or a single one where a secret lies over several
 * @ret_masked:	how many masks were put in, some of them twice; may be NULL
 *
 * Return: 0, or -1 out of memory with @ret unchanged or longer
 */
int redact_words(const char *const words[], const char *salt, struct strv *ret, size_t *ret_masked);

#endif
