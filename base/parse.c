#include <string.h>

#include "base/own.h"
#include "base/parse.h"

/* Read digits at *p; move past them. 0, or -1 if there is none or it is over @max. */
static int digits(const char **p, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;

	if (**p < '0' || **p > '9')
		return -1;
	for (; **p >= '0' && **p <= '9'; ++*p) {
		unsigned int d = (unsigned int)(**p - '0');

		if (d > max || v > (max - d) / 10)
			return -1;
		v = v * 10 + d;
	}
	*ret = v;
	return 0;
}

int parse_uint(const char *word, uint64_t max, uint64_t *ret)
{
	uint64_t v;

	if (digits(&word, max, &v) < 0 || *word)
		return -1;
	*ret = v;
	return 0;
}

int parse_duration_ms(const char *word, int64_t *ret)
{
	/* "ms" stands before "m", so that the longer unit is tried first. */
	static const struct { const char *unit; int64_t ms; } units[] = {
		{ "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 },
	};
	const int64_t max = (int64_t)365 * 86400000;
	int64_t total = 0;
	uint64_t n;

	do {
		int64_t ms = 0;

		if (digits(&word, (uint64_t)max, &n) < 0)
			return -1;
		if (!*word)
			ms = 1000;
		for (size_t i = 0; !ms && i < ARRAY_LEN(units); i++) {
			size_t len = strlen(units[i].unit);

			if (!strncmp(word, units[i].unit, len)) {
				ms = units[i].ms;
				word += len;
			}
		}
		if (!ms || (int64_t)n > (max - total) / ms)
			return -1;
		total += (int64_t)n * ms;
	} while (*word);
	*ret = total;
	return 0;
}

int parse_size_bytes(const char *word, uint64_t *ret)
{
	static const char units[] = "KMGT";
	uint64_t n;

	if (digits(&word, UINT64_MAX / 2, &n) < 0)
		return -1;
	if (*word) {
		const char *u = strchr(units, *word >= 'a' ? *word - 32 : *word);
		int shift = u ? (int)(u - units + 1) * 10 : 0;

		if (!shift || n > (UINT64_MAX / 2) >> shift)
			return -1;
		n <<= shift;
		word++;
		if (*word == 'i' && word[1] == 'B')
			word += 2;
		else if (*word == 'B')
			word++;
	}
	if (*word)
		return -1;
	*ret = n;
	return 0;
}
