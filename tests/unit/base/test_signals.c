#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/signals.h"

static void what_is_ignored_at_the_start_is_remembered(void **state)
{
	(void)state;
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_DFL);
	signals_note();
	signal(SIGHUP, SIG_DFL);
	assert_true(signals_ignored() >> SIGHUP & 1);
	assert_false(signals_ignored() >> SIGINT & 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_ignored_at_the_start_is_remembered) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
