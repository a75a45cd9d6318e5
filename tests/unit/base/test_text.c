#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/text.h"

#define TEXT(s) (s), sizeof(s) - 1

static void stored_text_is_utf8_and_gives_its_bytes_back(void **state)
{
	static const struct { const char *bytes; size_t len; const char *stored; } rows[] = {
		{ TEXT(""), "" },
		{ TEXT("plain \xc3\xa9 \xf0\x9f\x98\x80"), "plain \xc3\xa9 \xf0\x9f\x98\x80" },
		{ TEXT("a\xff" "b"), "a\\xffb" },
		{ TEXT("\xc3"), "\\xc3" },
		{ TEXT("\xc0\xaf"), "\\xc0\\xaf" },
		{ TEXT("\xed\xa0\x80"), "\\xed\\xa0\\x80" },
		{ TEXT("\x1b[2J\n"), "\x1b[2J\n" },
		{ TEXT("C:\\xylo\\n"), "C:\\xylo\\n" },
		{ TEXT("\\xff"), "\\x5cxff" },
		{ TEXT("\\\\x41"), "\\\\x5cx41" },
		{ TEXT("\\\xff"), "\\\\xff" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		OWN(buf) struct buf stored = { 0 }, back = { 0 };

		assert_int_equal(text_store(&stored, rows[i].bytes, rows[i].len), 0);
		assert_string_equal(stored.data, rows[i].stored);
		assert_int_equal(text_restore(&back, stored.data), 0);
		assert_int_equal(back.len, rows[i].len);
		assert_memory_equal(back.data, rows[i].bytes, rows[i].len);
	}
}

static void any_bytes_survive_being_stored(void **state)
{
	unsigned int seed = 7;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		OWN(buf) struct buf stored = { 0 }, back = { 0 };
		static const char likely[] = "\\x0fF\xc3\xa9\xff";
		unsigned char bytes[24];
		size_t len = (size_t)rand_r(&seed) % sizeof(bytes);

		for (size_t i = 0; i < len; i++)
			bytes[i] = (unsigned char)(rand_r(&seed) % 3 ? likely[rand_r(&seed) % 8]
								     : rand_r(&seed) % 255 + 1);
		assert_int_equal(text_store(&stored, bytes, len), 0);
		for (size_t i = 0, n; i < stored.len; i += n)
			assert_true((n = text_char(stored.data + i, stored.len - i)) > 0);
		assert_int_equal(text_restore(&back, stored.data), 0);
		assert_int_equal(back.len, len);
		assert_memory_equal(back.data, bytes, len);
	}
}

static void base64_is_padded_to_four(void **state)
{
	static const struct {
		const char *in, *out;
	} table[] = {
		{ "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" }, { "user:pass", "dXNlcjpwYXNz" },
		{ "\xfb\xff", "+/8=" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		char got[64];

		text_base64(table[i].in, strlen(table[i].in), got);
		assert_string_equal(got, table[i].out);
		assert_true(strlen(got) < TEXT_BASE64_SIZE(strlen(table[i].in)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stored_text_is_utf8_and_gives_its_bytes_back),
		cmocka_unit_test(any_bytes_survive_being_stored),
		cmocka_unit_test(base64_is_padded_to_four),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
