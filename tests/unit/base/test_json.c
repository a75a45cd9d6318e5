#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"

#define TEXT(s) (s), sizeof(s) - 1

static void documents_within_the_grammar_are_read(void **state)
{
	static const struct { const char *text; size_t len; const char *canonical; } rows[] = {
		{ TEXT("null"), "null" },
		{ TEXT(" \t\r\n{ }\n"), "{}" },
		{ TEXT("[]"), "[]" },
		{ TEXT("[1,-0,0.5,-1e3,2E+2,9007199254740991]"), "[1,0,0.5,-1000,200,9007199254740991]" },
		{ TEXT("{\"b\":1,\"a\":{\"d\":[true,false,null],\"c\":\"\"}}"),
		  "{\"a\":{\"c\":\"\",\"d\":[true,false,null]},\"b\":1}" },
		{ TEXT("\"\\u00e9\\ud83d\\ude00\\/\\n\""), "\"\xc3\xa9\xf0\x9f\x98\x80/\\n\"" },
		{ TEXT("\"\\u001b\\u007f\\u009b\""), "\"\\u001b\\u007f\\u009b\"" },
		{ TEXT("{\"\":1}"), "{\"\":1}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		OWN(json) struct json *j = NULL;
		OWN(mem) char *text = NULL;
		struct err err = { 0 };

		assert_int_equal(json_parse(rows[i].text, rows[i].len, NULL, &j, &err), 0);
		text = json_print_canonical(j);
		assert_string_equal(text, rows[i].canonical);
	}
}

static void anything_else_is_refused_with_its_line(void **state)
{
	static const struct { const char *text; size_t len; const char *msg; } rows[] = {
		{ TEXT(""), "line 1: the text ends too early" },
		{ TEXT(" \n "), "line 2: the text ends too early" },
		{ TEXT("\xef\xbb\xbf{}"), "line 1: a value expected" },
		{ TEXT("{}\n{}"), "line 2: something follows the document" },
		{ TEXT("{}\0"), "line 1: something follows the document" },
		{ TEXT("[1,]"), "line 1: a value expected" },
		{ TEXT("[1 2]"), "line 1: ',' or ']' expected" },
		{ TEXT("{\"a\":1,}"), "line 1: a string in double quotes expected" },
		{ TEXT("{\"a\" 1}"), "line 1: ':' expected" },
		{ TEXT("{\"a\":1"), "line 1: ',' or '}' expected" },
		{ TEXT("{a:1}"), "line 1: a string in double quotes expected" },
		{ TEXT("'a'"), "line 1: a value expected" },
		{ TEXT("[01]"), "line 1: ',' or ']' expected" },
		{ TEXT("+1"), "line 1: a value expected" },
		{ TEXT(".5"), "line 1: a value expected" },
		{ TEXT("1."), "line 1: malformed number" },
		{ TEXT("-"), "line 1: malformed number" },
		{ TEXT("1e"), "line 1: malformed number" },
		{ TEXT("0x10"), "line 1: something follows the document" },
		{ TEXT("1e999"), "line 1: a number is too large" },
		{ TEXT("NaN"), "line 1: a value expected" },
		{ TEXT("tru"), "line 1: a value expected" },
		{ TEXT("\"a"), "line 1: a string does not end" },
		{ TEXT("\"a\nb\""), "line 1: control byte in a string" },
		{ TEXT("\"a\0b\""), "line 1: control byte in a string" },
		{ TEXT("\"\\u0000\""), "line 1: NUL in a string" },
		{ TEXT("\"\\x41\""), "line 1: unknown escape in a string" },
		{ TEXT("\"\\u12g4\""), "line 1: bad \\u escape in a string" },
		{ TEXT("\"\\ud800\""), "line 1: half a surrogate pair in a string" },
		{ TEXT("\"\\ud800\\u0041\""), "line 1: half a surrogate pair in a string" },
		{ TEXT("\"\\udc00\""), "line 1: half a surrogate pair in a string" },
		{ TEXT("\"\xff\""), "line 1: a string is not valid UTF-8" },
		{ TEXT("\"\xc0\xaf\""), "line 1: a string is not valid UTF-8" },
		{ TEXT("\"\xed\xa0\x80\""), "line 1: a string is not valid UTF-8" },
		{ TEXT("\"\xf4\x90\x80\x80\""), "line 1: a string is not valid UTF-8" },
		{ TEXT("\"\xe2\x82\""), "line 1: a string is not valid UTF-8" },
		{ TEXT("{\"a\":1,\"b\":2,\"a\":3}"), "key \"a\" appears twice" },
		{ TEXT("[{\"x\":{\"k\\u001b\":1,\"k\\u001b\":1}}]"), "key \"k\\u001b\" appears twice" },
		{ TEXT("// c\n1"), "line 1: a value expected" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct json *j = NULL;
		struct err err = { 0 };

		assert_int_equal(json_parse(rows[i].text, rows[i].len, NULL, &j, &err), -1);
		assert_string_equal(err.msg, rows[i].msg);
		assert_null(j);
	}
}

static void size_and_depth_have_a_limit(void **state)
{
	const struct json_limits limits = { .max_bytes = 10, .max_depth = 2 };
	struct json *j = NULL;
	struct err err = { 0 };
	char deep[201];

	(void)state;
	assert_int_equal(json_parse(TEXT("[1,2,3,4,5]"), &limits, &j, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_int_equal(json_parse(TEXT("[[[1]]]"), &limits, &j, &err), -1);
	assert_string_equal(err.msg, "line 1: nested too deeply");
	assert_int_equal(json_parse(TEXT("[{}]"), &limits, &j, &err), 0);
	json_free(j);

	memset(deep, '[', 100);
	memset(deep + 100, ']', 100);
	assert_int_equal(json_parse(deep, 200, NULL, &j, &err), -1);
	assert_int_equal(json_parse(deep + 36, 128, NULL, &j, &err), 0);
	json_free(j);
}

static void getters_answer_nothing_for_the_wrong_type(void **state)
{
	OWN(json) struct json *j = NULL;
	OWN(strv) struct strv list = { 0 };
	int64_t n = 7;
	int b = 7;

	(void)state;
	assert_int_equal(json_parse(TEXT("{\"s\":\"x\",\"i\":-3,\"h\":1.5,\"t\":true,\"a\":[\"p\",\"q\"],\"m\":[\"p\",1],"
					 "\"z\":9007199254740992}"), NULL, &j, NULL), 0);
	assert_string_equal(json_str(json_get(j, "s")), "x");
	assert_null(json_str(json_get(j, "i")));
	assert_null(json_str(json_get(json_get(j, "none"), "deeper")));
	assert_int_equal(json_int(json_get(j, "i"), &n), 0);
	assert_int_equal(n, -3);
	assert_int_equal(json_int(json_get(j, "h"), &n), -1);
	assert_int_equal(json_int(json_get(j, "z"), &n), -1);
	assert_int_equal(json_int(json_get(j, "s"), &n), -1);
	assert_int_equal(n, -3);
	assert_int_equal(json_bool(json_get(j, "i"), &b), -1);
	assert_int_equal(json_bool(json_get(j, "t"), &b), 0);
	assert_int_equal(b, 1);
	assert_int_equal(json_strv(json_get(j, "m"), &list), -1);
	assert_int_equal(list.n, 0);
	assert_int_equal(json_strv(json_get(j, "a"), &list), 0);
	assert_int_equal(list.n, 2);
	assert_int_equal(json_count(j), 7);
	assert_int_equal(json_count(json_get(j, "a")), 2);
	assert_int_equal(json_count(json_get(j, "s")), 0);
	assert_string_equal(json_str(json_at(json_get(j, "a"), 1)), "q");
	assert_null(json_at(json_get(j, "a"), 2));
	assert_string_equal(json_key(json_next(json_first(j))), "i");
	assert_int_equal(json_type(NULL), JSON_NONE);
	assert_int_equal(json_type(json_get(j, "z")), JSON_NUMBER);
}

static void an_unknown_field_is_named(void **state)
{
	static const char *const known[] = { "a", "b", NULL };
	OWN(json) struct json *j = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(json_parse(TEXT("{\"a\":1,\"foo\":2}"), NULL, &j, NULL), 0);
	assert_int_equal(json_only(j, known, "request", &err), -1);
	assert_string_equal(err.msg, "request: unknown field 'foo'");
	assert_int_equal(json_only(json_get(j, "a"), known, "request", &err), -1);
	assert_string_equal(err.msg, "request: an object expected");
}

static void what_was_built_is_printed_as_it_is(void **state)
{
	OWN(json) struct json *j = json_new_object();
	OWN(mem) char *plain = NULL, *sorted = NULL, *pretty = NULL;
	struct json *list;

	(void)state;
	json_add_int(j, "us", 1796000000123456);
	json_add_int(j, "max", INT64_MAX);
	list = json_add_array(j, "list");
	json_add_str(list, NULL, "a\xff\"\x1b");
	json_add_null(list, NULL);
	json_add_bool(json_add_object(j, "inner"), "yes", 1);
	json_add_copy(j, "again", list);
	json_add_str(j, "nothing", NULL);
	plain = json_print(j);
	assert_string_equal(plain, "{\"us\":1796000000123456,\"max\":9223372036854775807,"
				   "\"list\":[\"a\xef\xbf\xbd\\\"\\u001b\",null],\"inner\":{\"yes\":true},"
				   "\"again\":[\"a\xef\xbf\xbd\\\"\\u001b\",null],\"nothing\":null}");
	sorted = json_print_canonical(json_get(j, "inner"));
	assert_string_equal(sorted, "{\"yes\":true}");
	pretty = json_print_pretty(json_get(j, "inner"));
	assert_string_equal(pretty, "{\n  \"yes\": true\n}");
}

static void adding_to_the_wrong_place_adds_nothing(void **state)
{
	OWN(json) struct json *j = json_new_object();

	(void)state;
	assert_null(json_add_int(j, NULL, 1));
	assert_null(json_add_int(NULL, "a", 1));
	assert_null(json_add_int(json_add_str(j, "s", "x"), "a", 1));
	assert_int_equal(json_count(j), 1);
}

static void a_file_is_named_in_its_errors(void **state)
{
	char path[] = "/tmp/agate-json-XXXXXX", want[128];
	OWN(fd) int fd = mkstemp(path);
	struct json *j = NULL;
	struct err err = { 0 };

	(void)state;
	assert_true(fd >= 0 && write(fd, "{\n\"a\" }", 7) == 7);
	assert_int_equal(json_parse_file(path, NULL, &j, &err), -1);
	snprintf(want, sizeof(want), "'%s': line 2: ':' expected", path);
	assert_string_equal(err.msg, want);
	assert_int_equal(json_parse_file(path, &(struct json_limits){ .max_bytes = 3 }, &j, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	unlink(path);
	assert_int_equal(json_parse_file(path, NULL, &j, &err), -1);
	assert_int_equal(err.code, ERR_NOTFOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_within_the_grammar_are_read),
		cmocka_unit_test(anything_else_is_refused_with_its_line),
		cmocka_unit_test(size_and_depth_have_a_limit),
		cmocka_unit_test(getters_answer_nothing_for_the_wrong_type),
		cmocka_unit_test(an_unknown_field_is_named),
		cmocka_unit_test(what_was_built_is_printed_as_it_is),
		cmocka_unit_test(adding_to_the_wrong_place_adds_nothing),
		cmocka_unit_test(a_file_is_named_in_its_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
