#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "sandbox/egress/dns.h"

#define BYTES(s) s, sizeof(s) - 1
#define HEAD(flags, qd, an, ns, ar) "\x12\x34" flags "\0" qd "\0" an "\0" ns "\0" ar
#define PLAIN HEAD("\x01\x00", "\1", "\0", "\0", "\0")
#define EXTRA HEAD("\x01\x00", "\1", "\0", "\0", "\1")
#define EXAMPLE "\7example\4test\0"
#define A_IN "\0\1\0\1"
#define OPT(size, ext, version, len) "\0\0\x29" size ext version "\0\0" len
#define L63 "\x3f" "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void a_query_is_read_whole(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *name;
		int type, class, edns;
	} table[] = {
		{ BYTES(PLAIN EXAMPLE A_IN), "example.test", 1, 1, 0 },
		{ BYTES(PLAIN "\7eXaMPLe\4TEST\0" A_IN), "example.test", 1, 1, 0 },
		{ BYTES(PLAIN "\0\0\2\0\1"), "", 2, 1, 0 },
		{ BYTES(PLAIN "\2_x\3a-b\0\0\x1c\0\1"), "_x.a-b", 28, 1, 0 },
		{ BYTES(PLAIN "\3a.b\1\0\0" A_IN), "a\\046b.\\000", 1, 1, 0 },
		{ BYTES(PLAIN "\2\xff\\\0" A_IN), "\\255\\092", 1, 1, 0 },
		{ BYTES(PLAIN "\4test\0\0\x10\0\3"), "test", 16, 3, 0 },
		{ BYTES(EXTRA EXAMPLE A_IN OPT("\4\xd0", "\0", "\0", "\0\0")), "example.test", 1, 1, 1 },
		{ BYTES(EXTRA EXAMPLE A_IN OPT("\4\xd0", "\0", "\0", "\0\x0c") "\0\x0a\0\x08" "12345678"),
		  "example.test", 1, 1, 1 },
		/* a record we do not know, whose owner points back */
		{ BYTES(EXTRA EXAMPLE A_IN "\xc0\x0c\0\xfa\0\xff\0\0\0\0\0\2xx"), "example.test", 1, 1, 0 },
		{ BYTES(PLAIN L63 L63 L63 "\x3d" "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\0" A_IN),
		  NULL, 1, 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct dns_query q;

		if (dns_parse(table[i].bytes, table[i].len, &q) < 0)
			fail_msg("row %zu", i);
		if (table[i].name)
			assert_string_equal(q.name, table[i].name);
		assert_int_equal(q.id, 0x1234);
		assert_int_equal(q.type, table[i].type);
		assert_int_equal(q.class, table[i].class);
		assert_int_equal(q.has_edns, table[i].edns);
		/* A byte less is no query any more. */
		for (size_t n = 0; n < table[i].len; n++) {
			char *cut = malloc(n + 1);

			memcpy(cut, table[i].bytes, n);
			assert_int_equal(dns_parse(cut, n, &q), -1);
			free(cut);
		}
	}
}

static void what_does_not_read_as_one_question_is_no_query(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} table[] = {
		{ BYTES("") },
		{ BYTES(HEAD("\x81\x00", "\1", "\0", "\0", "\0") EXAMPLE A_IN) },	/* an answer */
		{ BYTES(HEAD("\x29\x00", "\1", "\0", "\0", "\0") EXAMPLE A_IN) },	/* an update */
		{ BYTES(HEAD("\x01\x00", "\0", "\0", "\0", "\0")) },
		{ BYTES(HEAD("\x01\x00", "\2", "\0", "\0", "\0") EXAMPLE A_IN EXAMPLE A_IN) },
		{ BYTES(HEAD("\x01\x00", "\1", "\1", "\0", "\0") EXAMPLE A_IN "\xc0\x0c" A_IN "\0\0\0\0\0\4" "1234") },
		{ BYTES(HEAD("\x01\x00", "\1", "\0", "\1", "\0") EXAMPLE A_IN "\xc0\x0c" A_IN "\0\0\0\0\0\4" "1234") },
		{ BYTES(HEAD("\x01\x00", "\1", "\0", "\0", "\x09") EXAMPLE A_IN) },
		{ BYTES(PLAIN EXAMPLE A_IN "x") },		/* something behind it */
		{ BYTES(PLAIN "\xc0\x0c" A_IN) },		/* points at itself */
		{ BYTES(PLAIN "\7example\xc0\x0c" A_IN) },
		{ BYTES(PLAIN "\x40" EXAMPLE A_IN) },		/* label types nobody uses */
		{ BYTES(PLAIN "\x80" EXAMPLE A_IN) },
		{ BYTES(PLAIN L63 L63 L63 L63 "\0" A_IN) },	/* 257 bytes */
		{ BYTES(EXTRA EXAMPLE A_IN "\1x" OPT("\4\xd0", "\0", "\0", "\0\0")) },	/* not at the root */
		{ BYTES(EXTRA EXAMPLE A_IN OPT("\4\xd0", "\0", "\0", "\0\1") "x") },	/* half an option */
		{ BYTES(EXTRA EXAMPLE A_IN OPT("\4\xd0", "\0", "\0", "\0\5") "\0\x0a\0\2x") },
		{ BYTES(HEAD("\x01\x00", "\1", "\0", "\0", "\2") EXAMPLE A_IN OPT("\4\xd0", "\0", "\0", "\0\0")
			OPT("\4\xd0", "\0", "\0", "\0\0")) },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct dns_query q;

		if (dns_parse(table[i].bytes, table[i].len, &q) == 0)
			fail_msg("row %zu", i);
	}
}

static void check_answer(const char *query, size_t query_len, const struct dns_reply *r, const char *want,
			 size_t want_len)
{
	uint8_t got[DNS_ANSWER_MAX];
	struct dns_query q;
	size_t n;

	assert_int_equal(dns_parse(query, query_len, &q), 0);
	n = dns_write(&q, r, got);
	assert_int_equal(n, want_len);
	assert_memory_equal(got, want, n);
}

static void an_answer_repeats_the_question_as_it_was_asked(void **state)
{
	const struct dns_reply both = {
		.ip = { { AF_INET, { 198, 18, 0, 1 } }, { AF_INET6, { 0xfd, 0x00, 0xa6, 0xa7, [15] = 1 } } },
		.n_ip = 2, .ttl_s = 5,
	};
	const struct dns_reply name = { .ptr = "a.example", .ttl_s = 5 };
	const struct dns_reply refused = { .rcode = DNS_REFUSED };
	const struct dns_reply why = { .rcode = DNS_REFUSED, .why = "no rule" };
	const struct dns_reply version = { .rcode = DNS_BADVERS };

	(void)state;
	check_answer(BYTES(PLAIN "\4TeSt\0\0\xff\0\1"), &both,
		     BYTES("\x12\x34\x85\x80\0\1\0\2\0\0\0\0" "\4TeSt\0\0\xff\0\1"
			   "\xc0\x0c\0\1\0\1\0\0\0\5\0\4\xc6\x12\0\1"
			   "\xc0\x0c\0\x1c\0\1\0\0\0\5\0\x10\xfd\0\xa6\xa7\0\0\0\0\0\0\0\0\0\0\0\1"));
	check_answer(BYTES(PLAIN "\1x\0\0\x0c\0\1"), &name,
		     BYTES("\x12\x34\x85\x80\0\1\0\1\0\0\0\0" "\1x\0\0\x0c\0\1"
			   "\xc0\x0c\0\x0c\0\1\0\0\0\5\0\x0b\1a\7example\0"));
	check_answer(BYTES(PLAIN EXAMPLE A_IN), &refused,
		     BYTES("\x12\x34\x85\x85\0\1\0\0\0\0\0\0" EXAMPLE A_IN));
	/* Who asks without EDNS cannot be told why. */
	check_answer(BYTES(PLAIN EXAMPLE A_IN), &why, BYTES("\x12\x34\x85\x85\0\1\0\0\0\0\0\0" EXAMPLE A_IN));
	check_answer(BYTES(EXTRA EXAMPLE A_IN OPT("\4\xd0", "\0", "\0", "\0\0")), &why,
		     BYTES("\x12\x34\x85\x85\0\1\0\0\0\0\0\1" EXAMPLE A_IN "\0\0\x29\4\xd0\0\0\0\0\0\x0d"
			   "\0\x0f\0\x09\0\x0f" "no rule"));
	check_answer(BYTES(EXTRA EXAMPLE A_IN OPT("\4\xd0", "\0", "\7", "\0\0")), &version,
		     BYTES("\x12\x34\x85\x80\0\1\0\0\0\0\0\1" EXAMPLE A_IN "\0\0\x29\4\xd0\1\0\0\0\0\0"));
}

static void an_answer_fits_512_bytes_whatever_is_to_be_told(void **state)
{
	static const char longest[] = EXTRA L63 L63 L63
		"\x3d" "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\0" A_IN
		OPT("\4\xd0", "\0", "\0", "\0\0");
	uint8_t got[DNS_ANSWER_MAX];
	char why[4096];
	struct dns_reply r = { .rcode = DNS_REFUSED, .why = why };
	struct dns_query q;

	(void)state;
	memset(why, 'w', sizeof(why) - 1);
	why[sizeof(why) - 1] = '\0';
	assert_int_equal(dns_parse(BYTES(longest), &q), 0);
	assert_int_equal(dns_write(&q, &r, got), DNS_ANSWER_MAX);
}

static void a_reverse_name_stands_for_one_address(void **state)
{
	static const struct {
		const char *name, *ip;
	} table[] = {
		{ "1.0.18.198.in-addr.arpa", "198.18.0.1" },
		{ "255.255.255.255.in-addr.arpa", "255.255.255.255" },
		{ "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.7.a.6.a.0.0.d.f.ip6.arpa", "fd00:a6a7::1" },
		{ "256.0.18.198.in-addr.arpa", NULL },
		{ "01.0.18.198.in-addr.arpa", NULL },
		{ "0.18.198.in-addr.arpa", NULL },
		{ "9.1.0.18.198.in-addr.arpa", NULL },
		{ "+1.0.18.198.in-addr.arpa", NULL },
		{ "a.0.18.198.in-addr.arpa", NULL },
		{ ".in-addr.arpa", NULL },
		{ "in-addr.arpa", NULL },
		{ "1.0.18.198.in-addr.arpa.evil.test", NULL },
		{ "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.7.a.6.a.0.0.d.ip6.arpa", NULL },
		{ "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.7.a.6.a.0.0.d.g.ip6.arpa", NULL },
		{ "10.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.7.a.6.a.0.0.d.f.ip6.arpa", NULL },
		{ "ip6.arpa", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct ip got, want;
		int r = dns_reverse(table[i].name, &got);

		if (r != (table[i].ip ? 0 : -1))
			fail_msg("'%s'", table[i].name);
		if (r < 0)
			continue;
		assert_int_equal(ip_parse(table[i].ip, &want), 0);
		assert_true(ip_equal(&got, &want));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_query_is_read_whole),
		cmocka_unit_test(what_does_not_read_as_one_question_is_no_query),
		cmocka_unit_test(an_answer_repeats_the_question_as_it_was_asked),
		cmocka_unit_test(an_answer_fits_512_bytes_whatever_is_to_be_told),
		cmocka_unit_test(a_reverse_name_stands_for_one_address),
	};

	return cmocka_run_group_tests_name("egress dns", tests, NULL, NULL);
}
