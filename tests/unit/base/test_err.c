#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/err.h"

static void a_reason_is_told_in_words_with_what_the_system_said(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(err_set(&err, ERR_SYS, ENOENT, "cannot open '%s'", "f"), -1);
	assert_int_equal(err_hint(&err, "make '%s' first", "f"), -1);
	assert_int_equal(err_wrap(&err, "policy"), -1);
	assert_string_equal(err.msg, "policy: cannot open 'f': No such file or directory");
	assert_string_equal(err.hint, "make 'f' first");
	assert_int_equal(err.code, ERR_SYS);
	assert_int_equal(err.sys, ENOENT);
	assert_int_equal(err_set(&err, ERR_USAGE, 0, "no"), -1);
	assert_string_equal(err.hint, "");
	assert_int_equal(err_set(NULL, ERR_USAGE, 0, "no"), -1);
	assert_int_equal(err_wrap(NULL, "no"), -1);
}

static void without_room_for_both_the_reason_stays(void **state)
{
	struct err err;
	char longest[600];

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	err_set(&err, ERR_USAGE, 0, "the reason");
	err_wrap(&err, "%s", longest);
	assert_string_equal(err.msg, "the reason");
	err_set(&err, ERR_USAGE, ENOENT, "%s", longest);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	err_wrap(&err, "context");
	assert_int_equal(err.msg[0], 'x');
}

static void times_are_told_in_utc_with_microseconds(void **state)
{
	char text[CLOCK_TEXT_SIZE];

	(void)state;
	clock_text(1796069566123456, text);
	assert_string_equal(text, "2026-11-30T20:12:46.123456Z");
	clock_text(0, text);
	assert_string_equal(text, "1970-01-01T00:00:00.000000Z");
	clock_text(-1, text);
	assert_string_equal(text, "1969-12-31T23:59:59.999999Z");
	clock_fix(5);
	assert_int_equal(clock_wall_us(), 5);
	clock_fix(0);
	assert_true(clock_wall_us() > 1700000000000000);
}

static void digests_are_sha256(void **state)
{
	static const char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
	char hex[DIGEST_HEX_SIZE];
	unsigned char raw[DIGEST_SIZE];

	(void)state;
	digest_hex("abc", 3, hex);
	assert_string_equal(hex, abc);
	digest_hex2("a", 1, "bc", 2, hex);
	assert_string_equal(hex, abc);
	digest_raw("abc", 3, raw);
	digest_to_hex(raw, hex);
	assert_string_equal(hex, abc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reason_is_told_in_words_with_what_the_system_said),
		cmocka_unit_test(without_room_for_both_the_reason_stays),
		cmocka_unit_test(times_are_told_in_utc_with_microseconds),
		cmocka_unit_test(digests_are_sha256),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
