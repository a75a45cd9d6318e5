#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/strv.h"

static void a_vector_always_ends_in_null(void **state)
{
	OWN(strv) struct strv sv = { 0 };

	(void)state;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(strv_addf(&sv, "%d", i), 0);
		assert_int_equal(sv.n, i + 1);
		assert_null(sv.v[sv.n]);
	}
	assert_string_equal(sv.v[99], "99");
	assert_int_equal(strv_addn(&sv, "abcdef", 3), 0);
	assert_string_equal(sv.v[100], "abc");
	assert_int_equal(strv_take(&sv, NULL), -1);
	assert_int_equal(sv.n, 101);
	strv_done(&sv);
	assert_null(sv.v);
}

static void sorting_drops_repeats(void **state)
{
	static const char *const words[] = { "b", "a", "c", "a", "b", "B", NULL };
	OWN(strv) struct strv sv = { 0 };

	(void)state;
	strv_sort_unique(&sv);
	assert_int_equal(strv_copyv(&sv, words), 0);
	strv_sort_unique(&sv);
	assert_int_equal(sv.n, 4);
	assert_string_equal(sv.v[0], "B");
	assert_string_equal(sv.v[1], "a");
	assert_string_equal(sv.v[3], "c");
	assert_null(sv.v[4]);
	assert_true(strv_has(&sv, "c"));
	assert_false(strv_has(&sv, "C"));
}

static void copying_appends(void **state)
{
	OWN(strv) struct strv a = { 0 }, b = { 0 }, none = { 0 };

	(void)state;
	assert_int_equal(strv_add(&a, "x"), 0);
	assert_int_equal(strv_add(&b, "y"), 0);
	assert_int_equal(strv_copy(&a, &b), 0);
	assert_int_equal(strv_copy(&a, &none), 0);
	assert_int_equal(a.n, 2);
	assert_string_equal(a.v[1], "y");
	assert_ptr_not_equal(a.v[1], b.v[0]);
	assert_false(strv_has(&none, "x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vector_always_ends_in_null),
		cmocka_unit_test(sorting_drops_repeats),
		cmocka_unit_test(copying_appends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
