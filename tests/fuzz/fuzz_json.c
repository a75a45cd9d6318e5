/*
 * tests/fuzz/fuzz_json.c - a document that is taken prints as one that is taken, and means the same
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* What any consumer of a line relies on: one line of UTF-8 without control bytes. */
static void check_line(const char *line)
{
	for (size_t left = strlen(line), n; left; line += n, left -= n) {
		n = text_char(line, left);
		if (!n || (unsigned char)*line < 0x20 || *line == 0x7f)
			abort();
	}
}

static void check_again(const char *text, const char *canonical)
{
	const struct json_limits limits = { .max_bytes = 64u << 20 };
	OWN(json) struct json *j = NULL;
	OWN(mem) char *again = NULL;
	struct err err = { 0 };

	if (json_parse(text, strlen(text), &limits, &j, &err) < 0)
		abort();
	again = json_print_canonical(j);
	if (!again || strcmp(again, canonical) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	OWN(json) struct json *j = NULL;
	OWN(mem) char *plain = NULL;
	OWN(mem) char *canonical = NULL;
	OWN(mem) char *pretty = NULL;
	struct err err = { 0 };

	if (json_parse((const char *)data, len, NULL, &j, &err) < 0) {
		if (!err.code || !err.msg[0] || j)
			abort();
		return 0;
	}
	plain = json_print(j);
	canonical = json_print_canonical(j);
	pretty = json_print_pretty(j);
	if (!plain || !canonical || !pretty)
		abort();
	check_line(plain);
	check_again(plain, canonical);
	check_again(canonical, canonical);
	check_again(pretty, canonical);
	return 0;
}
