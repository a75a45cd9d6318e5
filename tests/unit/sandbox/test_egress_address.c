#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/own.h"
#include "sandbox/egress/address.h"

static const struct {
	const char *text;
	enum address_class class;
} table[] = {
	{ "93.184.216.34", ADDRESS_PUBLIC },
	{ "8.8.8.8", ADDRESS_PUBLIC },
	{ "2606:2800:220:1:248:1893:25c8:1946", ADDRESS_PUBLIC },
	{ "127.0.0.1", ADDRESS_LOOPBACK },
	{ "127.255.255.254", ADDRESS_LOOPBACK },
	{ "::1", ADDRESS_LOOPBACK },
	{ "0.0.0.0", ADDRESS_UNSPECIFIED },
	{ "0.1.2.3", ADDRESS_UNSPECIFIED },
	{ "::", ADDRESS_UNSPECIFIED },
	{ "169.254.1.1", ADDRESS_LINK_LOCAL },
	{ "fe80::1", ADDRESS_LINK_LOCAL },
	{ "febf::1", ADDRESS_LINK_LOCAL },
	{ "10.0.0.1", ADDRESS_PRIVATE },
	{ "172.16.0.1", ADDRESS_PRIVATE },
	{ "172.31.255.255", ADDRESS_PRIVATE },
	{ "172.32.0.1", ADDRESS_PUBLIC },
	{ "172.15.0.1", ADDRESS_PUBLIC },
	{ "192.168.1.1", ADDRESS_PRIVATE },
	{ "fd12:3456::1", ADDRESS_PRIVATE },
	{ "fec0::1", ADDRESS_PRIVATE },
	{ "100.64.0.1", ADDRESS_SHARED },
	{ "100.127.255.255", ADDRESS_SHARED },
	{ "100.128.0.1", ADDRESS_PUBLIC },
	{ "224.0.0.1", ADDRESS_MULTICAST },
	{ "239.255.255.255", ADDRESS_MULTICAST },
	{ "ff02::1", ADDRESS_MULTICAST },
	{ "255.255.255.255", ADDRESS_BROADCAST },
	{ "240.0.0.1", ADDRESS_RESERVED },
	{ "198.18.0.1", ADDRESS_RESERVED },
	{ "198.19.255.255", ADDRESS_RESERVED },
	{ "198.20.0.1", ADDRESS_PUBLIC },
	{ "192.0.2.1", ADDRESS_RESERVED },
	{ "2001:db8::1", ADDRESS_RESERVED },
	{ "100::1", ADDRESS_RESERVED },
	{ "2001::1", ADDRESS_RESERVED },
	{ "4000::1", ADDRESS_RESERVED },
	/* metadata services */
	{ "169.254.169.254", ADDRESS_METADATA },
	{ "169.254.170.2", ADDRESS_METADATA },
	{ "100.100.100.200", ADDRESS_METADATA },
	{ "168.63.129.16", ADDRESS_METADATA },
	{ "192.0.0.192", ADDRESS_METADATA },
	{ "fd00:ec2::254", ADDRESS_METADATA },
	{ "fd00:ec2::23", ADDRESS_METADATA },
	{ "fd20:ce::254", ADDRESS_METADATA },
	/* an IPv4 address in an IPv6 one */
	{ "::ffff:127.0.0.1", ADDRESS_LOOPBACK },
	{ "::ffff:8.8.8.8", ADDRESS_PUBLIC },
	{ "::ffff:169.254.169.254", ADDRESS_METADATA },
	{ "::ffff:0:127.0.0.1", ADDRESS_RESERVED },
	{ "::127.0.0.1", ADDRESS_RESERVED },
	{ "::8.8.8.8", ADDRESS_RESERVED },
	{ "::169.254.169.254", ADDRESS_METADATA },
	{ "64:ff9b::8.8.8.8", ADDRESS_PUBLIC },
	{ "64:ff9b::127.0.0.1", ADDRESS_LOOPBACK },
	{ "64:ff9b::10.0.0.1", ADDRESS_PRIVATE },
	{ "64:ff9b::169.254.169.254", ADDRESS_METADATA },
	{ "64:ff9b:1::8.8.8.8", ADDRESS_PRIVATE },
	{ "64:ff9b:1::169.254.169.254", ADDRESS_METADATA },
	{ "2002:808:808::1", ADDRESS_PUBLIC },
	{ "2002:7f00:1::1", ADDRESS_LOOPBACK },
	{ "2002:a9fe:a9fe::", ADDRESS_METADATA },
	{ "2002:c0a8:101::1", ADDRESS_PRIVATE },
	{ "2606:2800::5efe:7f00:1", ADDRESS_LOOPBACK },
	{ "2606:2800::200:5efe:10.0.0.1", ADDRESS_PRIVATE },
	{ "fe80::5efe:8.8.8.8", ADDRESS_LINK_LOCAL },
};

static void each_address_has_its_class(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct ip ip;

		if (ip_parse(table[i].text, &ip) < 0)
			fail_msg("'%s' is no address", table[i].text);
		if (address_class(&ip) != table[i].class)
			fail_msg("'%s' is %s", table[i].text, address_class_words(address_class(&ip)));
	}
}

static void odd_spellings_are_no_addresses(void **state)
{
	static const char *const odd[] = {
		"", "127.1", "0x7f.0.0.1", "0177.0.0.1", "2130706433", "1.2.3.4.5", "1.2.3", "1.2.3.256",
		"01.2.3.4", "1.2.3.4 ", " 1.2.3.4", "fe80::1%lo", ":::", "1::2::3", "::1/128", "[::1]",
	};
	struct ip ip;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(odd); i++)
		if (ip_parse(odd[i], &ip) == 0)
			fail_msg("'%s' passes as an address", odd[i]);
}

static void nobody_may_consent_to_metadata(void **state)
{
	(void)state;
	assert_false(address_may_consent(ADDRESS_METADATA));
	assert_false(address_may_consent(ADDRESS_UNSPECIFIED));
	assert_false(address_may_consent(ADDRESS_LISTED));
	assert_true(address_may_consent(ADDRESS_LOOPBACK));
	assert_true(address_may_consent(ADDRESS_PRIVATE));
	assert_true(address_may_consent(ADDRESS_OWN));
}

static void a_range_holds_what_its_prefix_says(void **state)
{
	static const struct {
		const char *range, *ip;
		int in;
	} cases[] = {
		{ "10.0.0.0/8", "10.255.0.1", 1 },	     { "10.0.0.0/8", "11.0.0.1", 0 },
		{ "192.168.4.0/22", "192.168.7.255", 1 },    { "192.168.4.0/22", "192.168.8.0", 0 },
		{ "0.0.0.0/0", "8.8.8.8", 1 },		     { "0.0.0.0/0", "2606::1", 0 },
		{ "10.0.0.0/8", "64:ff9b::10.1.2.3", 1 },    { "10.0.0.0/8", "2002:a01:203::", 1 },
		{ "fd00::/8", "fdab::1", 1 },		     { "fd00::/8", "fc00::1", 0 },
		{ "8.8.8.8", "8.8.8.8", 1 },		     { "8.8.8.8", "8.8.8.9", 0 },
		{ "64:ff9b::/96", "64:ff9b::8.8.8.8", 1 },   { "::/0", "8.8.8.8", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct cidr c;
		struct ip ip;

		assert_int_equal(cidr_parse(cases[i].range, &c), 0);
		assert_int_equal(ip_parse(cases[i].ip, &ip), 0);
		if (cidr_has(&c, &ip) != cases[i].in)
			fail_msg("%s in %s is not %d", cases[i].ip, cases[i].range, cases[i].in);
	}
}

static void a_range_with_bits_behind_its_prefix_is_refused(void **state)
{
	static const char *const bad[] = { "10.0.0.1/8", "10.0.0.0/33", "fd00::1/8", "10.0.0.0/", "10/8",
					   "/8", "", "10.0.0.0/8/8", "::ffff:10.0.0.0/104", "10.0.0.0/-1" };
	struct cidr c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (cidr_parse(bad[i], &c) == 0)
			fail_msg("'%s' passes as a range", bad[i]);
}

static void a_socket_address_survives_the_round_trip(void **state)
{
	static const char *const text[] = { "1.2.3.4", "2001:db8::7", "::1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(text); i++) {
		struct sockaddr_storage ss;
		struct ip a, b;

		assert_int_equal(ip_parse(text[i], &a), 0);
		assert_true(ip_to_sockaddr(&a, 443, &ss) > 0);
		assert_int_equal(ip_from_sockaddr((struct sockaddr *)&ss, &b), 0);
		assert_true(ip_equal(&a, &b));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_address_has_its_class),
		cmocka_unit_test(odd_spellings_are_no_addresses),
		cmocka_unit_test(nobody_may_consent_to_metadata),
		cmocka_unit_test(a_range_holds_what_its_prefix_says),
		cmocka_unit_test(a_range_with_bits_behind_its_prefix_is_refused),
		cmocka_unit_test(a_socket_address_survives_the_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
