/*
 * tests/fuzz/fuzz_spec.c - a spec that is taken prints as one that is taken, with the same digest
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "sandbox/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int read_spec(const char *text, size_t len, struct sandbox_spec *ret)
{
	OWN(json) struct json *j = NULL;
	struct err err = { 0 };

	if (json_parse(text, len, NULL, &j, &err) < 0)
		return -1;
	return spec_from_json(j, ret, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	OWN(spec) struct sandbox_spec first = { 0 };
	OWN(spec) struct sandbox_spec second = { 0 };
	OWN(mem) char *a = NULL;
	OWN(mem) char *b = NULL;
	char digest_a[DIGEST_HEX_SIZE], digest_b[DIGEST_HEX_SIZE];

	if (read_spec((const char *)data, len, &first) < 0)
		return 0;
	a = spec_canonical(&first, digest_a);
	if (!a || read_spec(a, strlen(a), &second) < 0)
		abort();
	b = spec_canonical(&second, digest_b);
	if (!b || strcmp(a, b) != 0 || strcmp(digest_a, digest_b) != 0)
		abort();
	return 0;
}
