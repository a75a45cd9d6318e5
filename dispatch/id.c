#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "dispatch/id.h"

static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

#define TIME_DIGITS 9	/* 45 bits of milliseconds: until the year 3084 */
#define RANDOM_DIGITS 7

void run_id_text(int64_t wall_us, uint64_t random, char ret[RUN_ID_SIZE])
{
	uint64_t ms = (uint64_t)wall_us / 1000;

	ret[0] = 'r';
	for (int i = TIME_DIGITS; i; i--, ms >>= 5)
		ret[i] = digits[ms & 31];
	for (int i = TIME_DIGITS + RANDOM_DIGITS; i > TIME_DIGITS; i--, random >>= 5)
		ret[i] = digits[random & 31];
	ret[1 + TIME_DIGITS + RANDOM_DIGITS] = '\0';
}

int run_id_new(char ret[RUN_ID_SIZE])
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -1;
	run_id_text(clock_wall_us(), random, ret);
	return 0;
}

int run_id_is(const char *word)
{
	return word[0] == 'r' && strlen(word) == RUN_ID_SIZE - 1 && strspn(word + 1, digits) == RUN_ID_SIZE - 2;
}
