/*
 * base/parse.h - small strict parsers for words a person wrote
 *
 * Each takes the whole word: nothing may follow. 0, or -1 with *ret untouched.
 */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stdint.h>

int parse_uint(const char *word, uint64_t max, uint64_t *ret);	/* decimal only */
int parse_duration_ms(const char *word, int64_t *ret);	/* "90" seconds, "1500ms", "5m", "2h30m" */
int parse_size_bytes(const char *word, uint64_t *ret);	/* "4096", "512K", "2G": powers of 1024 */

#endif
