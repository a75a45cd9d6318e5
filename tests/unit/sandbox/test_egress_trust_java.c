#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/own.h"
#include "base/text.h"
#include "sandbox/egress/trust_java.h"

#define PEM(body) "-----BEGIN CERTIFICATE-----\n" body "\n-----END CERTIFICATE-----\n"

static void a_store_holds_each_certificate_and_the_checksum_java_looks_at(void **state)
{
	static const char pem[] = PEM("QUJD") PEM("REVG\nR0g=");
	static const unsigned char wanted[] =
		"\xfe\xed\xfe\xed\0\0\0\2\0\0\0\2"
		"\0\0\0\2\0\6root-0\0\0\0\0\0\0\0\0\0\5X.509\0\0\0\3ABC"
		"\0\0\0\2\0\6root-1\0\0\0\0\0\0\0\0\0\5X.509\0\0\0\5DEFGH";
	OWN(buf) struct buf out = { 0 };
	OWN(buf) struct buf all = { 0 };
	uint8_t sum[DIGEST_SHA1_SIZE];

	(void)state;
	assert_int_equal(trust_java_store(pem, sizeof(pem) - 1, &out), 2);
	assert_int_equal(out.len, sizeof(wanted) - 1 + sizeof(sum));
	assert_memory_equal(out.data, wanted, sizeof(wanted) - 1);
	buf_add(&all, "\0c\0h\0a\0n\0g\0e\0i\0t" "Mighty Aphrodite", 16 + 16);
	buf_add(&all, wanted, sizeof(wanted) - 1);
	digest_sha1(all.data, all.len, sum);
	assert_memory_equal(out.data + sizeof(wanted) - 1, sum, sizeof(sum));
}

static void what_is_no_certificate_is_left_out(void **state)
{
	static const char pem[] = "x" PEM("!!") PEM("") PEM("QUJD") "-----BEGIN CERTIFICATE-----\nQUJD";
	OWN(buf) struct buf out = { 0 };
	OWN(buf) struct buf none = { 0 };

	(void)state;
	assert_int_equal(trust_java_store(pem, sizeof(pem) - 1, &out), 1);
	assert_int_equal(trust_java_store("", 0, &none), 0);
	assert_int_equal(none.len, 12 + DIGEST_SHA1_SIZE);
}

static void base64_is_read_back(void **state)
{
	static const struct { const char *text, *meaning; } rows[] = {
		{ "", "" }, { "QQ==", "A" }, { "QQ", "A" }, { "QUI=", "AB" }, { "QU\nJD\r\n", "ABC" },
		{ "Q U", NULL }, { "Q=U", NULL }, { "QU-_", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		OWN(buf) struct buf out = { 0 };
		int r = text_base64_decode(rows[i].text, strlen(rows[i].text), &out);

		if (r != (rows[i].meaning ? 0 : -1) || (!r && strcmp(out.data ? out.data : "", rows[i].meaning)))
			fail_msg("'%s' gave %d '%s'", rows[i].text, r, out.data ? out.data : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_store_holds_each_certificate_and_the_checksum_java_looks_at),
		cmocka_unit_test(what_is_no_certificate_is_left_out),
		cmocka_unit_test(base64_is_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
