/*
 * sandbox/egress/idna.h - the ASCII form of a domain name with other letters
 *
 * Only letters that IDNA 2008 keeps as they are (or that differ in case alone)
 * and that need no context rule: Latin, Greek, Cyrillic, Kana, Han, Hangul.
 * Anything else is refused, so that a rule never means another name than the
 * one its writer saw; the xn-- form can always be written instead. Pure.
 */
#ifndef SANDBOX_EGRESS_IDNA_H
#define SANDBOX_EGRESS_IDNA_H

#include <stddef.h>

/**
 * idna_to_ascii() - "bücher.example" → "xn--bcher-kva.example"
 * @name:	UTF-8; ASCII labels pass unchanged
 * @ret:	@size bytes
 * @ret_why:	on failure a static line
 *
 * Return: 0, or -1 with @ret undefined
 */
int idna_to_ascii(const char *name, char *ret, size_t size, const char **ret_why);

#endif
