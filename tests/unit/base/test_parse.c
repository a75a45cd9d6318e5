#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/own.h"
#include "base/parse.h"

static void numbers_are_decimal_whole_and_bounded(void **state)
{
	static const struct { const char *word; uint64_t max; int r; uint64_t value; } rows[] = {
		{ "0", 0, 0, 0 },	{ "00012", 99, 0, 12 },	{ "65535", 65535, 0, 65535 },
		{ "65536", 65535, -1, 0 },	{ "18446744073709551615", UINT64_MAX, 0, UINT64_MAX },
		{ "18446744073709551616", UINT64_MAX, -1, 0 },	{ "5", 3, -1, 0 },
		{ "", 9, -1, 0 },	{ "-1", 9, -1, 0 },	{ "+1", 9, -1, 0 },
		{ " 1", 9, -1, 0 },	{ "1 ", 9, -1, 0 },	{ "0x1", 9, -1, 0 },	{ "1e1", 99, -1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t v = 77;

		assert_int_equal(parse_uint(rows[i].word, rows[i].max, &v), rows[i].r);
		assert_int_equal(v, rows[i].r ? 77 : rows[i].value);
	}
}

static void durations_have_units_and_add_up(void **state)
{
	static const struct { const char *word; int r; int64_t ms; } rows[] = {
		{ "90", 0, 90000 },	{ "0", 0, 0 },		{ "1500ms", 0, 1500 },	{ "5m", 0, 300000 },
		{ "2h30m", 0, 9000000 },	{ "1d", 0, 86400000 },	{ "1m30", 0, 90000 },
		{ "365d", 0, 31536000000 },	{ "366d", -1, 0 },	{ "365d1ms", -1, 0 },
		{ "", -1, 0 },		{ "m", -1, 0 },		{ "5x", -1, 0 },	{ "-5", -1, 0 },
		{ "5 m", -1, 0 },	{ "1.5h", -1, 0 },	{ "99999999999999999999", -1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t ms = 77;

		assert_int_equal(parse_duration_ms(rows[i].word, &ms), rows[i].r);
		assert_int_equal(ms, rows[i].r ? 77 : rows[i].ms);
	}
}

static void sizes_are_powers_of_1024(void **state)
{
	static const struct { const char *word; int r; uint64_t bytes; } rows[] = {
		{ "4096", 0, 4096 },	{ "512K", 0, 524288 },	{ "512k", 0, 524288 },	{ "2G", 0, 2147483648 },
		{ "2GiB", 0, 2147483648 },	{ "2GB", 0, 2147483648 },	{ "1T", 0, 1099511627776 },
		{ "0", 0, 0 },		{ "8388608T", -1, 0 },	{ "", -1, 0 },	{ "K", -1, 0 },
		{ "1X", -1, 0 },	{ "1KK", -1, 0 },	{ "1Gi", -1, 0 },	{ "1 K", -1, 0 },	{ "-1", -1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t bytes = 77;

		assert_int_equal(parse_size_bytes(rows[i].word, &bytes), rows[i].r);
		assert_int_equal(bytes, rows[i].r ? 77 : rows[i].bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_decimal_whole_and_bounded),
		cmocka_unit_test(durations_have_units_and_add_up),
		cmocka_unit_test(sizes_are_powers_of_1024),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
