#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "sandbox/egress/pool.h"

static void own_pool(struct pool *p)
{
	pool_done(p);
}

static struct ip ip(const char *text)
{
	struct ip a = { 0 };

	assert_int_equal(ip_parse(text, &a), 0);
	return a;
}

static void a_name_keeps_one_address_of_each_family(void **state)
{
	OWN(pool) struct pool pool = { 0 };
	uint32_t first, second, again;
	struct ip a, want;

	(void)state;
	assert_int_equal(pool_find(&pool, "one.test", &first), -1);
	assert_int_equal(pool_add(&pool, "one.test", &first), 0);
	assert_int_equal(pool_add(&pool, "two.test", &second), 0);
	assert_int_equal(pool_add(&pool, "one.test", &again), 0);
	assert_int_equal(again, first);
	assert_int_not_equal(first, second);
	pool_address(first, AF_INET, &a);
	want = ip("198.18.0.1");
	assert_true(ip_equal(&a, &want));
	pool_address(second, AF_INET6, &a);
	want = ip("fd00:a6a7::2");
	assert_true(ip_equal(&a, &want));
	assert_string_equal(pool_name(&pool, &a), "two.test");
}

static void every_address_leads_back_to_its_name(void **state)
{
	OWN(pool) struct pool pool = { 0 };

	(void)state;
	for (unsigned int i = 0; i < POOL_MAX_NAMES; i++) {
		static const int families[] = { AF_INET, AF_INET6 };
		uint32_t number;
		char name[32];
		struct ip a;

		snprintf(name, sizeof(name), "n%u.test", i);
		assert_int_equal(pool_add(&pool, name, &number), 0);
		for (int f = 0; f < 2; f++) {
			pool_address(number, families[f], &a);
			assert_true(pool_has(&a));
			assert_string_equal(pool_name(&pool, &a), name);
			assert_true(a.b[3] != 0 || f);
			assert_true(a.b[3] != 255 || f);
		}
	}
}

static void a_full_pool_refuses_new_names_and_keeps_the_old(void **state)
{
	OWN(pool) struct pool pool = { 0 };
	uint32_t number;
	char name[32];

	(void)state;
	for (unsigned int i = 0; i < POOL_MAX_NAMES; i++) {
		snprintf(name, sizeof(name), "n%u.test", i);
		assert_int_equal(pool_add(&pool, name, &number), 0);
	}
	assert_int_equal(pool_add(&pool, "more.test", &number), -1);
	assert_int_equal(pool_add(&pool, "n7.test", &number), 0);
	assert_int_equal(number, 7);
}

static void an_address_nobody_was_given_stands_for_no_name(void **state)
{
	static const char *const table[] = {
		"198.18.0.0", "198.18.0.255", "198.18.0.3", "198.18.1.0", "198.18.1.1", "198.19.255.254",
		"198.19.255.255", "198.17.0.1", "198.20.0.1", "127.0.0.1", "fd00:a6a7::", "fd00:a6a7::3",
		"fd00:a6a7::1:0:1", "fd00:a6a7:0:1::1", "fd00:a6a7:ffff:ffff:ffff:ffff:ffff:ffff", "fd00:a6a8::1",
		"::1",
	};
	OWN(pool) struct pool pool = { 0 };
	uint32_t number;

	(void)state;
	assert_int_equal(pool_add(&pool, "one.test", &number), 0);
	assert_int_equal(pool_add(&pool, "two.test", &number), 0);
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct ip a = ip(table[i]);

		if (pool_name(&pool, &a))
			fail_msg("'%s'", table[i]);
	}
}

static void only_the_two_ranges_belong_to_the_pool(void **state)
{
	static const struct {
		const char *ip;
		int has;
	} table[] = {
		{ "198.18.0.0", 1 }, { "198.19.255.255", 1 }, { "198.17.255.255", 0 }, { "198.20.0.0", 0 },
		{ "fd00:a6a7::", 1 }, { "fd00:a6a7:ffff::1", 1 }, { "fd00:a6a6:ffff::", 0 }, { "fd00:a6a8::", 0 },
		{ "::ffff:198.18.0.1", 1 }, { "127.0.0.1", 0 }, { "::1", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct ip a = ip(table[i].ip);

		if (pool_has(&a) != table[i].has)
			fail_msg("'%s'", table[i].ip);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_keeps_one_address_of_each_family),
		cmocka_unit_test(every_address_leads_back_to_its_name),
		cmocka_unit_test(a_full_pool_refuses_new_names_and_keeps_the_old),
		cmocka_unit_test(an_address_nobody_was_given_stands_for_no_name),
		cmocka_unit_test(only_the_two_ranges_belong_to_the_pool),
	};

	return cmocka_run_group_tests_name("egress pool", tests, NULL, NULL);
}
