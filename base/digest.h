/*
 * base/digest.h - SHA-256 (from nettle), as 64 hex digits
 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stddef.h>

#define DIGEST_HEX_SIZE 65	/* 64 digits and the NUL */

void digest_hex(const void *data, size_t len, char ret[DIGEST_HEX_SIZE]);

/* digest_hex2() - of two pieces one after the other, as the hash chains need */
void digest_hex2(const void *a, size_t a_len, const void *b, size_t b_len, char ret[DIGEST_HEX_SIZE]);

#endif
