#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"

static void bytes_are_appended_and_eaten(void **state)
{
	OWN(buf) struct buf b = { 0 };

	(void)state;
	assert_int_equal(buf_adds(&b, "hello "), 0);
	assert_int_equal(buf_addf(&b, "%d-%s", 42, "x"), 0);
	assert_int_equal(buf_addc(&b, '!'), 0);
	assert_int_equal(buf_add(&b, "a\0b", 3), 0);
	assert_int_equal(b.len, 14);
	assert_memory_equal(b.data, "hello 42-x!a\0b", 15);
	buf_eat(&b, 6);
	assert_memory_equal(b.data, "42-x!a\0b", 9);
	buf_eat(&b, 100);
	assert_int_equal(b.len, 0);
	assert_string_equal(b.data, "");
}

static void an_append_over_the_bound_fails_for_good(void **state)
{
	OWN(buf) struct buf b = { .max = 8 };

	(void)state;
	assert_int_equal(buf_adds(&b, "12345678"), 0);
	assert_int_equal(buf_addc(&b, '9'), -1);
	assert_int_equal(buf_adds(&b, ""), -1);
	assert_int_equal(buf_addf(&b, "%s", ""), -1);
	assert_string_equal(b.data, "12345678");
	assert_null(buf_steal(&b));
	assert_int_equal(buf_addc(&b, 'a'), 0);	/* it is new again, bound and all */
	assert_null(buf_room(&b, 8));
}

static void room_is_writable_and_counted_by_grew(void **state)
{
	OWN(buf) struct buf b = { 0 };
	char *to = buf_room(&b, 1000);

	(void)state;
	memset(to, 'x', 1000);
	buf_grew(&b, 3);
	assert_string_equal(b.data, "xxx");
	assert_null(buf_room(&b, SIZE_MAX));
}

static void an_empty_buffer_can_be_stolen(void **state)
{
	struct buf b = { 0 };
	OWN(mem) char *s = buf_steal(&b);

	(void)state;
	assert_string_equal(s, "");
	assert_null(b.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_appended_and_eaten),
		cmocka_unit_test(an_append_over_the_bound_fails_for_good),
		cmocka_unit_test(room_is_writable_and_counted_by_grew),
		cmocka_unit_test(an_empty_buffer_can_be_stolen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
