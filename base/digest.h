/*
 * base/digest.h - SHA-256 (from nettle), as 64 hex digits or 32 bytes
 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_HEX_SIZE 65	/* 64 digits and the NUL */
#define DIGEST_SIZE 32

void digest_hex(const void *data, size_t len, char ret[DIGEST_HEX_SIZE]);

/* digest_hex2() - of two pieces one after the other, as the hash chains need */
void digest_hex2(const void *a, size_t a_len, const void *b, size_t b_len, char ret[DIGEST_HEX_SIZE]);

/* digest_raw() - the bytes; digest_to_hex() - of them the digits */
void digest_raw(const void *data, size_t len, unsigned char ret[DIGEST_SIZE]);
void digest_to_hex(const unsigned char sum[DIGEST_SIZE], char ret[DIGEST_HEX_SIZE]);

#define DIGEST_SHA1_SIZE 20

/* digest_sha1() - the checksum at the end of git's index; proves nothing against an adversary */
void digest_sha1(const void *data, size_t len, uint8_t ret[DIGEST_SHA1_SIZE]);

#endif
