#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "sandbox/egress/domain.h"
#include "sandbox/egress/idna.h"

/* The answer of a set with these rules; NULL-terminated lists; @port 0: whichever. */
static enum domain_answer judge(const char *const allow[], const char *const deny[], const char *host,
				uint16_t port)
{
	OWN(domain) struct domain_set set = { 0 };
	struct domain_verdict v;
	struct err err;
	struct host h;
	const char *why;

	for (; *allow; allow++)
		if (domain_add(&set, DOMAIN_ALLOW, *allow, "allow", NULL, &err) < 0)
			fail_msg("%s", err.msg);
	for (; *deny; deny++)
		if (domain_add(&set, DOMAIN_DENY, *deny, "deny", NULL, &err) < 0)
			fail_msg("%s", err.msg);
	if (host_parse(host, strlen(host), &h, &why) < 0)
		fail_msg("'%s': %s", host, why);
	if (port)
		domain_judge(&set, &h, port, &v);
	else
		domain_judge_name(&set, &h, &v);
	return v.answer;
}

#define NONE (const char *const[]){ NULL }
#define ONE(r) (const char *const[]){ r, NULL }

static void a_rule_fits_what_its_form_says(void **state)
{
	static const struct {
		const char *rule, *host;
		uint16_t port;
		enum domain_answer answer;
	} table[] = {
		{ "example.com", "example.com", 443, DOMAIN_ALLOWED },
		{ "example.com", "EXAMPLE.com.", 443, DOMAIN_ALLOWED },
		{ "Example.COM.", "example.com", 443, DOMAIN_ALLOWED },
		{ "example.com", "example.com", 80, DOMAIN_ALLOWED },
		{ "example.com", "example.com", 22, DOMAIN_ALLOWED },
		{ "example.com", "example.com", 8080, DOMAIN_OTHER_PORT },
		{ "example.com:8080", "example.com", 8080, DOMAIN_ALLOWED },
		{ "example.com:8080", "example.com", 443, DOMAIN_OTHER_PORT },
		{ "example.com", "www.example.com", 443, DOMAIN_UNKNOWN },
		{ "example.com", "example.com.evil.test", 443, DOMAIN_UNKNOWN },
		{ "example.com", "notexample.com", 443, DOMAIN_UNKNOWN },
		{ "*.example.com", "a.example.com", 443, DOMAIN_ALLOWED },
		{ "*.example.com", "a.b.c.example.com", 443, DOMAIN_ALLOWED },
		{ "*.example.com", "example.com", 443, DOMAIN_UNKNOWN },
		{ "*.example.com", "badexample.com", 443, DOMAIN_UNKNOWN },
		{ "*.example.com:8443", "a.example.com", 8443, DOMAIN_ALLOWED },
		{ "bedrock.*.amazonaws.com", "bedrock.eu-west-1.amazonaws.com", 443, DOMAIN_ALLOWED },
		{ "bedrock.*.amazonaws.com", "bedrock.a.b.amazonaws.com", 443, DOMAIN_UNKNOWN },
		{ "bedrock.*.amazonaws.com", "bedrock.amazonaws.com", 443, DOMAIN_UNKNOWN },
		{ "bedrock.*.amazonaws.com", "xbedrock.a.amazonaws.com", 443, DOMAIN_UNKNOWN },
		{ "bedrock.*.amazonaws.com", "bedrock.a.amazonaws.com.evil.test", 443, DOMAIN_UNKNOWN },
		{ "bedrock.*.amazonaws.com", "a.bedrock.b.amazonaws.com", 443, DOMAIN_UNKNOWN },
		{ "192.0.2.7", "192.0.2.7", 443, DOMAIN_ALLOWED },
		{ "192.0.2.7", "::ffff:192.0.2.7", 443, DOMAIN_ALLOWED },
		{ "192.0.2.7", "192.0.2.8", 443, DOMAIN_UNKNOWN },
		{ "192.0.2.7", "64:ff9b::192.0.2.7", 443, DOMAIN_UNKNOWN },
		{ "127.0.0.1:18080", "127.0.0.1", 18080, DOMAIN_ALLOWED },
		{ "127.0.0.1:18080", "127.0.0.1", 443, DOMAIN_OTHER_PORT },
		{ "[2001:db8::7]", "2001:db8::7", 443, DOMAIN_ALLOWED },
		{ "[2001:DB8:0::7]:8080", "[2001:db8::7]", 8080, DOMAIN_ALLOWED },
		{ "[::ffff:192.0.2.7]", "192.0.2.7", 443, DOMAIN_ALLOWED },
		{ "b\xc3\xbc" "cher.example", "xn--bcher-kva.example", 443, DOMAIN_ALLOWED },
		{ "*.B\xc3\x9c" "CHER.example", "www.xn--bcher-kva.example", 443, DOMAIN_ALLOWED },
		{ "my_host.example.com", "my_host.example.com", 443, DOMAIN_ALLOWED },
		{ "localhost", "localhost", 80, DOMAIN_ALLOWED },
		{ " example.com\t", "example.com", 443, DOMAIN_ALLOWED },
		{ "a234567890123456789012345678901234567890123456789012345678901.example:65535",
		  "a234567890123456789012345678901234567890123456789012345678901.example", 65535, DOMAIN_ALLOWED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (judge(ONE(table[i].rule), NONE, table[i].host, table[i].port) != table[i].answer)
			fail_msg("rule '%s', host '%s', port %d", table[i].rule, table[i].host, table[i].port);
}

static void a_deny_rule_beats_every_allow_rule(void **state)
{
	static const struct {
		const char *allow, *deny, *host;
		uint16_t port;
		enum domain_answer answer;
	} table[] = {
		{ "example.com", "example.com", "example.com", 443, DOMAIN_DENIED },
		{ "example.com:8080", "example.com", "example.com", 8080, DOMAIN_DENIED },
		{ "example.com", "example.com:80", "example.com", 443, DOMAIN_ALLOWED },
		{ "example.com", "example.com:80", "example.com", 80, DOMAIN_DENIED },
		{ "example.com", "*", "example.com", 443, DOMAIN_DENIED },
		{ "example.com:25", "*:25", "example.com", 25, DOMAIN_DENIED },
		{ "example.com", "*:25", "example.com", 443, DOMAIN_ALLOWED },
		{ "www.example.com", "*.example.com", "www.example.com", 443, DOMAIN_DENIED },
		{ "www.example.com", "*.com", "www.example.com", 443, DOMAIN_DENIED },
		{ "*.anthropic.com", "statsig.anthropic.com", "statsig.anthropic.com", 443, DOMAIN_DENIED },
		{ "*.anthropic.com", "statsig.anthropic.com", "STATSIG.anthropic.com.", 443, DOMAIN_DENIED },
		{ "*.anthropic.com", "statsig.anthropic.com", "api.anthropic.com", 443, DOMAIN_ALLOWED },
		{ "169.254.169.254", "169.254.169.254", "::ffff:169.254.169.254", 80, DOMAIN_DENIED },
		{ "[64:ff9b::a9fe:a9fe]", "169.254.169.254", "64:ff9b::a9fe:a9fe", 80, DOMAIN_DENIED },
		{ "[2002:a9fe:a9fe::]", "169.254.169.254", "2002:a9fe:a9fe::", 80, DOMAIN_DENIED },
		{ "127.0.0.1", "*", "127.0.0.1", 80, DOMAIN_DENIED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (judge(ONE(table[i].allow), ONE(table[i].deny), table[i].host, table[i].port) != table[i].answer)
			fail_msg("allow '%s', deny '%s', host '%s'", table[i].allow, table[i].deny, table[i].host);
}

static void a_name_may_be_looked_up_if_a_rule_allows_it_on_any_port(void **state)
{
	static const struct {
		const char *allow, *deny, *host;
		enum domain_answer answer;
	} table[] = {
		{ "example.com", NULL, "example.com", DOMAIN_ALLOWED },
		{ "example.com:8443", NULL, "example.com", DOMAIN_ALLOWED },
		{ "*.example.com", NULL, "a.b.example.com", DOMAIN_ALLOWED },
		{ "*.example.com", NULL, "example.com", DOMAIN_UNKNOWN },
		{ "example.com", NULL, "example.org", DOMAIN_UNKNOWN },
		{ "example.com", "example.com", "example.com", DOMAIN_DENIED },
		{ "*.example.com", "bad.example.com", "bad.example.com", DOMAIN_DENIED },
		{ "*.example.com", "bad.example.com", "good.example.com", DOMAIN_ALLOWED },
		{ "example.com", "example.com:80", "example.com", DOMAIN_ALLOWED },
		{ "example.com:80", "example.com:80", "example.com", DOMAIN_DENIED },
		{ "example.com:8080", "*:8080", "example.com", DOMAIN_DENIED },
		{ "example.com", "*", "example.com", DOMAIN_DENIED },
		{ "example.com", "example.org", "example.org", DOMAIN_DENIED },
		{ "example.com", "*:25", "example.org", DOMAIN_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (judge(ONE(table[i].allow), ONE(table[i].deny), table[i].host, 0) != table[i].answer)
			fail_msg("row %zu: '%s'", i, table[i].host);
}

static void an_ambiguous_rule_is_refused_with_its_place(void **state)
{
	static const char *const bad[] = {
		"", " ", "*", "*:443", "*.com", "*.", "*", "**", "**.example.com", "*.*.example.com",
		"a.*.*.example.com", "fo*o.example.com", "*foo.example.com", "foo*.example.com", "example.*",
		"a.*.com", "a.*.", ".example.com", "example..com", "example.com..", "-x.example.com",
		"http://example.com", "example.com/path", "10.0.0.0/8", "user@example.com", "exa mple.com",
		"example.com:", "example.com:0", "example.com:65536", "example.com:http", "example.com:*",
		"example.com:443:443", "::1", "2001:db8::1", "[::1", "::1]", "[::1]x", "[fe80::1%lo]", "[1.2.3.4]",
		"2130706433", "127.1", "0x7f.1", "0x7f000001", "0177.0.0.1", "1.2.3.4.5", "1.2.3.256", "1.2.3.04",
		"*.1.2.3.4", "1.2.3.*", "1.*.3.4", "foo.1", "foo.0x1", "*.[::1]",
		"stra\xc3\x9f" "e.example", "a\xcc\x88.example", "\xff.example", "\xe2\x80\x8d.example", "ex\x01.com",
		"\xd7\x90.example", "xn\xe3\x80\x82" "a.example",
		"a2345678901234567890123456789012345678901234567890123456789012345.example",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		OWN(domain) struct domain_set set = { 0 };
		struct err err;

		if (domain_add(&set, DOMAIN_ALLOW, bad[i], "allow[7]", NULL, &err) == 0)
			fail_msg("'%s' passes as a rule", bad[i]);
		assert_int_equal(err.code, ERR_POLICY);
		assert_memory_equal(err.msg, "allow[7]: ", 10);
		assert_int_equal(set.n, 0);
	}
}

static void a_bad_line_of_a_list_is_named(void **state)
{
	static const char text[] = "# a list\n\nexample.com\n  *.example.org  # why\nfoo*bar.example.com\n";
	OWN(domain) struct domain_set set = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(domain_add_lines(&set, DOMAIN_DENY, text, strlen(text), "my.txt", &err), -1);
	assert_string_equal(err.msg, "my.txt:5: rule 'foo*bar.example.com': a '*' must be a whole label");
	assert_int_equal(set.n, 2);
	assert_string_equal(set.v[1].reason, "why");
	assert_string_equal(set.v[1].origin, "my.txt:4");
	assert_null(set.v[0].reason);
}

static void a_host_with_two_readings_is_no_host(void **state)
{
	static const char *const bad[] = {
		"", ".", "..", "example.com..", "2130706433", "0x7f000001", "017700000001", "127.1", "127.0.1",
		"0x7f.0.0.1", "0177.0.0.1", "1.2.3.4.5", "256.1.1.1", "1.2.3.4a.5", "foo.0x7f", "foo.12",
		"example.com:80", "exam ple.com", "example.com/", "a@b", "a\\b", "a%2eb", "*.example.com",
		"[1.2.3.4]", "[::1", "::1]", "[]", "fe80::1%1", "[::1]]", "-a.example", "b\xc3\xbc.example", "a\tb",
	};
	struct host h;
	const char *why;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (host_parse(bad[i], strlen(bad[i]), &h, &why) == 0)
			fail_msg("'%s' passes as '%s'", bad[i], h.text);
	assert_int_equal(host_parse("a\0b.example", 11, &h, &why), -1);
}

static void a_host_has_one_spelling(void **state)
{
	static const struct {
		const char *in, *out;
	} table[] = {
		{ "WWW.Example.COM.", "www.example.com" }, { "1.2.3.4", "1.2.3.4" },
		{ "[2001:DB8::0:1]", "2001:db8::1" },	    { "::FFFF:1.2.3.4", "1.2.3.4" },
		{ "[::ffff:7f00:1]", "127.0.0.1" },	    { "1.2.3.4.", "1.2.3.4" },
		{ "3com.example", "3com.example" },	    { "0x7fg.com", "0x7fg.com" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct host h;
		const char *why;

		assert_int_equal(host_parse(table[i].in, strlen(table[i].in), &h, &why), 0);
		assert_string_equal(h.text, table[i].out);
	}
}

static void host_and_port_are_split_at_one_place_only(void **state)
{
	static const struct {
		const char *in;
		uint16_t fallback;
		const char *host;	/* NULL: refused */
		uint16_t port;
	} table[] = {
		{ "example.com:443", 0, "example.com", 443 }, { "example.com", 80, "example.com", 80 },
		{ "example.com", 0, NULL, 0 },		       { "[::1]:22", 0, "::1", 22 },
		{ "[::1]", 80, "::1", 80 },		       { "::1", 80, NULL, 0 },
		{ "example.com:", 80, NULL, 0 },	       { "example.com:99999", 0, NULL, 0 },
		{ "example.com:80:80", 0, NULL, 0 },	       { ":80", 0, NULL, 0 },
		{ "[::1]80", 80, NULL, 0 },		       { "[::1]:", 80, NULL, 0 },
		{ "example.com:+80", 0, NULL, 0 },	       { "example.com: 80", 0, NULL, 0 },
		{ "a.example:00080", 0, "a.example", 80 },     { "", 80, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct host h;
		uint16_t port;
		const char *why;
		int r = host_port_parse(table[i].in, strlen(table[i].in), table[i].fallback, &h, &port, &why);

		if (r != (table[i].host ? 0 : -1))
			fail_msg("'%s' gives %d", table[i].in, r);
		if (r == 0) {
			assert_string_equal(h.text, table[i].host);
			assert_int_equal(port, table[i].port);
		}
	}
}

static void letters_beyond_ascii_get_their_ascii_form(void **state)
{
	static const struct {
		const char *in, *out;
	} table[] = {
		{ "m\xc3\xbcnchen.example", "xn--mnchen-3ya.example" },
		{ "\xe4\xbe\x8b\xe3\x81\x88.example", "xn--r8jz45g.example" },
		{ "\xd0\xbf\xd1\x80\xd0\xb8\xd0\xbc\xd0\xb5\xd1\x80.example", "xn--e1afmkfd.example" },
		{ "\xd0\x9f\xd0\xa0\xd0\x98\xd0\x9c\xd0\x95\xd0\xa0.example", "xn--e1afmkfd.example" },
		{ "caf\xc3\xa9.fr", "xn--caf-dma.fr" },
		{ "ascii.example", "ascii.example" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		char out[HOST_TEXT_SIZE];
		const char *why;

		assert_int_equal(idna_to_ascii(table[i].in, out, sizeof(out), &why), 0);
		assert_string_equal(out, table[i].out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_fits_what_its_form_says),
		cmocka_unit_test(a_deny_rule_beats_every_allow_rule),
		cmocka_unit_test(a_name_may_be_looked_up_if_a_rule_allows_it_on_any_port),
		cmocka_unit_test(an_ambiguous_rule_is_refused_with_its_place),
		cmocka_unit_test(a_bad_line_of_a_list_is_named),
		cmocka_unit_test(a_host_with_two_readings_is_no_host),
		cmocka_unit_test(a_host_has_one_spelling),
		cmocka_unit_test(host_and_port_are_split_at_one_place_only),
		cmocka_unit_test(letters_beyond_ascii_get_their_ascii_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
