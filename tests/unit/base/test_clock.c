#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"

static void a_time_reads_back_as_it_was_written(void **state)
{
	static const int64_t times[] = { 0, 1, 999999, 1000000, 951782400000000, 1796070166123456, 32503680000000000 };
	char text[CLOCK_TEXT_SIZE];
	int64_t us = -1;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		clock_text(times[i], text);
		assert_int_equal(clock_parse(text, &us), 0);
		assert_int_equal(us, times[i]);
	}
}

static void a_fraction_may_be_short_or_missing(void **state)
{
	int64_t us = -1;

	(void)state;
	assert_int_equal(clock_parse("1970-01-01T00:00:01Z", &us), 0);
	assert_int_equal(us, 1000000);
	assert_int_equal(clock_parse("1970-01-01T00:00:01.5Z", &us), 0);
	assert_int_equal(us, 1500000);
}

static void what_is_no_time_is_refused(void **state)
{
	static const char *const bad[] = {
		"", "2026", "2026-11-30", "2026-11-30T20:22:46", "2026-11-30 20:22:46Z", "2026-11-30T20:22:46+01:00",
		"2026-11-30T20:22:46Z ", "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
		"2026-11-30T24:00:00Z", "2026-11-30T20:60:46Z", "2026-11-30T20:22:46.Z", "2026-11-30T20:22:46.1234567Z",
		"+026-11-30T20:22:46Z", "2026-11-3 T20:22:46Z",
	};
	int64_t us = 7;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (!clock_parse(bad[i], &us))
			fail_msg("'%s' was taken", bad[i]);
	assert_int_equal(us, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_time_reads_back_as_it_was_written),
		cmocka_unit_test(a_fraction_may_be_short_or_missing),
		cmocka_unit_test(what_is_no_time_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
