#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/own.h"
#include "dispatch/show.h"

static void what_could_fool_a_terminal_becomes_visible(void **state)
{
	static const struct { const char *in, *out; } cases[] = {
		{ "", "" },
		{ "plain /path with spaces 'and' \"quotes\"", "plain /path with spaces 'and' \"quotes\"" },
		{ "a\nb", "a\\nb" },
		{ "a\tb\rc", "a\\tb\\rc" },
		{ "\x1b[2J", "\\x1b[2J" },
		{ "bell\a", "bell\\x07" },
		{ "\x7f", "\\x7f" },
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
		{ "\xe6\x97\xa5\xe6\x9c\xac", "\xe6\x97\xa5\xe6\x9c\xac" },
		{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
		{ "\xff\xfe", "\\xff\\xfe" },
		{ "cut\xe6\x97", "cut\\xe6\\x97" },
		{ "\xc0\xaf", "\\xc0\\xaf" },			/* overlong '/' */
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },		/* a surrogate */
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },	/* past the last plane */
		{ "\xc2\x9b" "31m", "\\u{9b}31m" },		/* C1 CSI */
		{ "evil\xe2\x80\xae" "txt.exe", "evil\\u{202e}txt.exe" },
		{ "a\xe2\x80\xa8" "b", "a\\u{2028}b" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(mem) char *got = show_text(cases[i].in);

		assert_string_equal(got, cases[i].out);
	}
}

static void a_nul_inside_is_shown_too(void **state)
{
	OWN(buf) struct buf b = { 0 };

	(void)state;
	show_add(&b, "a\0b", 3);
	assert_string_equal(b.data, "a\\x00b");
}

static void width_counts_characters_and_not_bytes(void **state)
{
	(void)state;
	assert_int_equal(show_width(""), 0);
	assert_int_equal(show_width("gr\xc3\xbc\xc3\x9f"), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_could_fool_a_terminal_becomes_visible),
		cmocka_unit_test(a_nul_inside_is_shown_too),
		cmocka_unit_test(width_counts_characters_and_not_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
