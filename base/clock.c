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

/* Exactly @n digits at *p, which moves behind them; -1 if they are not there. */
static int digits(const char **p, int n)
{
	int v = 0;

	for (; n; n--, ++*p) {
		if (**p < '0' || **p > '9')
			return -1;
		v = v * 10 + (**p - '0');
	}
	return v;
}

static int fraction_us(const char **p)
{
	int us = 0, n = 0;

	for (++*p; **p >= '0' && **p <= '9' && n < 6; n++, ++*p)
		us = us * 10 + (**p - '0');
	if (!n)
		return -1;
	for (; n < 6; n++)
		us *= 10;
	return us;
}

int clock_parse(const char *text, int64_t *ret_us)
{
	static const char between[] = "--T::";
	static const int width[] = { 4, 2, 2, 2, 2, 2 };
	int v[6], us = 0;
	struct tm tm, back;
	time_t s;

	for (int i = 0; i < 6; i++) {
		if (i && *text++ != between[i - 1])
			return -1;
		v[i] = digits(&text, width[i]);
		if (v[i] < 0)
			return -1;
	}
	if (*text == '.' && (us = fraction_us(&text)) < 0)
		return -1;
	if (*text != 'Z' || text[1])
		return -1;
	tm = (struct tm){ .tm_year = v[0] - 1900, .tm_mon = v[1] - 1, .tm_mday = v[2],
			  .tm_hour = v[3], .tm_min = v[4], .tm_sec = v[5] };
	s = timegm(&tm);
	/* timegm() takes the 31st of February for the 3rd of March. */
	if (!gmtime_r(&s, &back) || back.tm_mon != v[1] - 1 || back.tm_mday != v[2] || back.tm_hour != v[3] ||
	    back.tm_min != v[4] || back.tm_sec != v[5])
		return -1;
	*ret_us = (int64_t)s * 1000000 + us;
	return 0;
}

void clock_fix(int64_t us)
{
	fixed_us = us;
}
