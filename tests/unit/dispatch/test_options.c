#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "dispatch/options.h"

struct values {
	int flag;
	int choice;
	int colour;
	char *text;
	struct strv list;
	int64_t wait_ms;
	uint64_t size;
	uint64_t count;
	char *secret;
};

static const char *const colours[] = { "red", "green", NULL };

static int no_spaces(const char *word, struct err *err)
{
	return strchr(word, ' ') ? err_set(err, ERR_USAGE, 0, "'%s' has a space", word) : 0;
}

#define ROW(word, kind, member, ...) OPT_ROW(struct values, word, kind, member, __VA_ARGS__)
static const struct opt first[] = {
	ROW("flag", OPT_FLAG, flag, NULL, "a flag"),
	ROW("up", OPT_FLAG, choice, NULL, "one way", .value = 1),
	ROW("down", OPT_FLAG, choice, NULL, "the other way", .value = 2),
	ROW("colour", OPT_WORD, colour, NULL, "a colour", .words = colours),
	ROW("text", OPT_TEXT, text, "TEXT", "a text", .check = no_spaces),
	{ 0 },
};
static const struct opt second[] = {
	ROW("list", OPT_LIST, list, "ITEM", "many", .check = no_spaces),
	ROW("wait", OPT_DURATION, wait_ms, "DURATION", "a duration"),
	ROW("size", OPT_SIZE, size, "SIZE", "a size"),
	ROW("count", OPT_COUNT, count, "N", "a count"),
	ROW("secret", OPT_TEXT, secret, "TEXT", "only on the command line", .argv_only = 1),
	{ 0 },
};
static const struct opts opts = { { first, second } };

struct result {
	struct values v;
	struct strv operands;
	int help;
	int status;
	struct err err;
};

static struct result parse(unsigned int flags, const char *line)
{
	struct result r = { .v = { .colour = -1 } };
	OWN(strv) struct strv words = { 0 };
	OWN(mem) char *copy = strdup(line);
	static char *none[] = { NULL };

	for (char *save = NULL, *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		strv_add(&words, w);
	r.status = opts_parse(&opts, words.v ? words.v : none, flags, &r.v, &r.operands, &r.help, &r.err);
	return r;
}

static void drop(struct result *r)
{
	opts_done(&opts, &r->v);
	strv_done(&r->operands);
}

static void every_kind_of_option_is_read(void **state)
{
	struct result r = parse(0, "--flag --down --colour=green --text t --list a --list=b --wait 2m --size 4K --count 7");

	(void)state;
	assert_int_equal(r.status, 0);
	assert_int_equal(r.v.flag, 1);
	assert_int_equal(r.v.choice, 2);
	assert_int_equal(r.v.colour, 1);
	assert_string_equal(r.v.text, "t");
	assert_int_equal(r.v.list.n, 2);
	assert_string_equal(r.v.list.v[1], "b");
	assert_int_equal(r.v.wait_ms, 120000);
	assert_int_equal(r.v.size, 4096);
	assert_int_equal(r.v.count, 7);
	drop(&r);
}

static void the_last_of_two_wins(void **state)
{
	struct result r = parse(0, "--text a --text b --up --down --up");

	(void)state;
	assert_string_equal(r.v.text, "b");
	assert_int_equal(r.v.choice, 1);
	drop(&r);
}

static void options_behind_the_command_belong_to_the_command(void **state)
{
	static const struct { const char *line; const char *operands; int flag; } cases[] = {
		{ "--flag make --flag", "make --flag ", 1 },
		{ "make --flag", "make --flag ", 0 },
		{ "--flag -- --flag x", "--flag x ", 1 },
		{ "-- make -- x", "make -- x ", 0 },
		{ "make --help", "make --help ", 0 },
		{ "- x", "- x ", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct result r = parse(OPTS_STOP, cases[i].line);
		OWN(buf) struct buf got = { 0 };

		assert_int_equal(r.status, 0);
		assert_int_equal(r.help, 0);
		for (size_t j = 0; j < r.operands.n; j++)
			buf_addf(&got, "%s ", r.operands.v[j]);
		assert_string_equal(got.data, cases[i].operands);
		assert_int_equal(r.v.flag, cases[i].flag);
		drop(&r);
	}
}

static void without_a_command_options_may_stand_anywhere(void **state)
{
	struct result r = parse(0, "last --flag");

	(void)state;
	assert_int_equal(r.v.flag, 1);
	assert_int_equal(r.operands.n, 1);
	drop(&r);
}

static void help_ends_the_reading(void **state)
{
	struct result r = parse(0, "--flag --help --nonsense");

	(void)state;
	assert_int_equal(r.status, 0);
	assert_int_equal(r.help, 1);
	drop(&r);
}

static void mistakes_are_named(void **state)
{
	static const struct { const char *line, *msg, *hint; } cases[] = {
		{ "--flog", "unknown option '--flog'", "did you mean --flag?" },
		{ "--zzzzzz=3", "unknown option '--zzzzzz'", "" },
		{ "-x", "unknown option '-x'", "" },
		{ "--flag=1", "option '--flag' takes no value", "" },
		{ "--text", "option '--text' needs a value", "" },
		{ "--colour blue", "option '--colour': 'blue' is none of: red, green", "" },
		{ "--wait soon", "option '--wait': 'soon' is no duration like 90, 1500ms or 2h30m", "" },
		{ "--wait 0", "option '--wait': '0' is no duration like 90, 1500ms or 2h30m", "" },
		{ "--size -1", "option '--size': '-1' is no size like 4096, 512K or 2G", "" },
		{ "--count 0", "option '--count': '0' is no number from 1 up", "" },
		{ "--count 5x", "option '--count': '5x' is no number from 1 up", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct result r = parse(0, cases[i].line);

		assert_int_equal(r.status, -1);
		assert_string_equal(r.err.msg, cases[i].msg);
		assert_string_equal(r.err.hint, cases[i].hint);
		assert_int_equal(r.err.code, ERR_USAGE);
		drop(&r);
	}
}

static int from_json(const char *text, struct values *v, struct err *err)
{
	OWN(json) struct json *j = NULL;

	if (json_parse(text, strlen(text), NULL, &j, err) < 0)
		return -1;
	return opts_from_json(&opts, j, "command", "request", v, err);
}

static void json_fields_have_the_names_of_the_options(void **state)
{
	struct values v = { .colour = -1 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(from_json("{\"flag\":true,\"up\":false,\"colour\":\"red\",\"list\":[\"a\",\"b\"],"
				   "\"wait\":90,\"size\":\"1M\",\"count\":3,\"command\":[1]}", &v, &err), 0);
	assert_int_equal(v.flag, 1);
	assert_int_equal(v.choice, 0);
	assert_int_equal(v.colour, 0);
	assert_int_equal(v.list.n, 2);
	assert_int_equal(v.wait_ms, 90000);
	assert_int_equal(v.size, 1 << 20);
	assert_int_equal(v.count, 3);
	opts_done(&opts, &v);
}

static void wrong_json_is_refused_with_the_field(void **state)
{
	static const struct { const char *text, *msg; } cases[] = {
		{ "[]", "request: must be a JSON object" },
		{ "{\"flags\":true}", "request: unknown field 'flags'" },
		{ "{\"secret\":\"x\"}", "request: unknown field 'secret'" },
		{ "{\"flag\":1}", "request: field 'flag': must be true or false" },
		{ "{\"text\":3}", "request: field 'text': must be a string" },
		{ "{\"text\":\"a b\"}", "request: field 'text': 'a b' has a space" },
		{ "{\"text\":null}", "request: field 'text': must be a string" },
		{ "{\"list\":\"a\"}", "request: field 'list': must be a list of strings" },
		{ "{\"list\":[1]}", "request: field 'list': must be a list of strings" },
		{ "{\"list\":[\"a b\"]}", "request: field 'list': 'a b' has a space" },
		{ "{\"colour\":\"blue\"}", "request: field 'colour': 'blue' is none of: red, green" },
		{ "{\"wait\":-5}", "request: field 'wait': must be a string or a whole number from 1 up" },
		{ "{\"count\":1.5}", "request: field 'count': must be a string or a whole number from 1 up" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct values v = { .colour = -1 };
		struct err err = { 0 };

		assert_int_equal(from_json(cases[i].text, &v, &err), -1);
		assert_string_equal(err.msg, cases[i].msg);
		assert_int_equal(err.code, ERR_INPUT);
		opts_done(&opts, &v);
	}
}

static void what_was_read_is_written_back_the_same(void **state)
{
	static const char text[] = "{\"flag\":true,\"down\":true,\"colour\":\"green\",\"text\":\"t\","
				   "\"list\":[\"a\"],\"wait\":\"1500ms\",\"size\":4096,\"count\":2}";
	struct values v = { .colour = -1 };
	struct err err = { 0 };
	OWN(json) struct json *j = json_new_object();

	(void)state;
	assert_int_equal(from_json(text, &v, &err), 0);
	assert_int_equal(opts_to_json(&opts, &v, j), 0);
	OWN(mem) char *got = json_print(j);
	assert_string_equal(got, text);
	opts_done(&opts, &v);
}

static void help_names_every_option(void **state)
{
	OWN(buf) struct buf b = { 0 };

	(void)state;
	opts_help(&opts, &b);
	assert_non_null(strstr(b.data, "  --colour red|green      a colour\n"));
	assert_non_null(strstr(b.data, "  --list ITEM             many\n"));
	assert_non_null(strstr(b.data, "  --help                  this text\n"));
}

static void the_nearest_word_is_found_when_it_is_near(void **state)
{
	static const char *const words[] = { "run", "runs", "recover", "violations" };

	(void)state;
	assert_string_equal(nearest("violatons", words, 4), "violations");
	assert_string_equal(nearest("recovr", words, 4), "recover");
	assert_string_equal(nearest("rum", words, 4), "run");
	assert_null(nearest("xyz", words, 4));
	assert_null(nearest("make", words, 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_option_is_read),
		cmocka_unit_test(the_last_of_two_wins),
		cmocka_unit_test(options_behind_the_command_belong_to_the_command),
		cmocka_unit_test(without_a_command_options_may_stand_anywhere),
		cmocka_unit_test(help_ends_the_reading),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(json_fields_have_the_names_of_the_options),
		cmocka_unit_test(wrong_json_is_refused_with_the_field),
		cmocka_unit_test(what_was_read_is_written_back_the_same),
		cmocka_unit_test(help_names_every_option),
		cmocka_unit_test(the_nearest_word_is_found_when_it_is_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
