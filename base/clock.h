/*
 * base/clock.h - the two clocks, replaceable in a test
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define CLOCK_TEXT_SIZE 28	/* "2026-11-30T20:22:46.123456Z" and its NUL */

int64_t clock_mono_ms(void);	/* only differences mean something */
int64_t clock_wall_us(void);	/* microseconds since 1970, UTC */

/* clock_text() - @us as RFC 3339 UTC with microseconds, into @ret */
void clock_text(int64_t us, char ret[CLOCK_TEXT_SIZE]);

/**
 * clock_parse() - The other way round
 * @text:	"2026-11-30T20:22:46Z", with up to six digits behind a point, nothing else
 *
 * Return: 0, or -1 with *ret_us untouched for anything else, or a day there is not
 */
int clock_parse(const char *text, int64_t *ret_us);

/* clock_fix() - tests: every later clock_wall_us() answers @us; 0 undoes it */
void clock_fix(int64_t us);

#endif
