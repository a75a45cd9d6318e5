#include <stdio.h>
#include <time.h>

#include "base/clock.h"

static int64_t fixed_us;

int64_t clock_mono_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t clock_wall_us(void)
{
	struct timespec t;

	if (fixed_us)
		return fixed_us;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void clock_text(int64_t us, char ret[CLOCK_TEXT_SIZE])
{
	time_t s = us / 1000000 - (us % 1000000 < 0);
	unsigned int fraction = (unsigned int)(us - s * 1000000) % 1000000;
	struct tm tm;
	char day[20] = "";

	gmtime_r(&s, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(ret, CLOCK_TEXT_SIZE, "%.19s.%06uZ", day, fraction);
}

void clock_fix(int64_t us)
{
	fixed_us = us;
}
