#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "sandbox/egress/knock.h"

static const struct ip a4 = { AF_INET, { 198, 18, 0, 1 } }, b4 = { AF_INET, { 127, 0, 0, 1 } };
static const struct ip a6 = { AF_INET6, { 0xfd, 0, 0xa6, 0xa7, [15] = 1 } }, b6 = { AF_INET6, { [15] = 1 } };

/* A SYN from port 0x1234 to 0x20fd with four bytes of options. */
static const uint8_t syn[] = { 0x12, 0x34, 0x20, 0xfd, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 0, 0x60, 0x02, 0xff, 0xff,
			       0x55, 0x55, 0, 0, 2, 4, 5, 0xb4 };

static void only_the_first_packet_of_a_connection_is_a_knock(void **state)
{
	static const struct { size_t at; uint8_t value; size_t len; int r; } table[] = {
		{ 0, 0x12, sizeof(syn), 0 },
		{ 13, 0xc2, sizeof(syn), 0 },	/* with ECN */
		{ 13, 0x12, sizeof(syn), -1 },	/* its answer */
		{ 13, 0x10, sizeof(syn), -1 },
		{ 13, 0x06, sizeof(syn), -1 },
		{ 13, 0x00, sizeof(syn), -1 },
		{ 12, 0x40, sizeof(syn), -1 },	/* a header that is too short */
		{ 12, 0xf0, sizeof(syn), -1 },	/* one that is longer than what came */
		{ 0, 0x12, 23, -1 },
		{ 0, 0x12, 19, -1 },
		{ 0, 0x12, 0, -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		uint8_t tcp[sizeof(syn)];
		struct knock k;

		memcpy(tcp, syn, sizeof(syn));
		tcp[table[i].at] = table[i].value;
		if (knock_parse(&a4, &b4, tcp, table[i].len, &k) != table[i].r)
			fail_msg("row %zu", i);
	}
}

static unsigned int sum(const uint8_t *p, size_t n, unsigned int s)
{
	for (size_t i = 0; i < n; i++)
		s += i % 2 ? p[i] : (unsigned int)p[i] << 8;
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s;
}

/* A packet whose sums are right adds up to all ones. */
static void check(const uint8_t *p, size_t len, const struct ip *from, const struct ip *to)
{
	int is4 = from->family == AF_INET;
	size_t n = is4 ? 4 : 16, head = is4 ? 20 : 40;
	unsigned int protocol = p[is4 ? 9 : 6], s = 0;

	assert_int_equal(p[0] >> 4, is4 ? 4 : 6);
	assert_int_equal(is4 ? p[2] << 8 | p[3] : 40 + (p[4] << 8 | p[5]), len);
	assert_memory_equal(p + (is4 ? 12 : 8), from->b, n);
	assert_memory_equal(p + (is4 ? 16 : 24), to->b, n);
	if (is4)
		assert_int_equal(sum(p, head, 0), 0xffff);
	if (protocol != 1)	/* ICMP of IPv4 counts no addresses */
		s = sum(to->b, n, sum(from->b, n, protocol + (unsigned int)(len - head)));
	assert_int_equal(sum(p + head, len - head, s), 0xffff);
}

static void answers_are_whole_packets(void **state)
{
	const struct ip *pairs[][2] = { { &a4, &b4 }, { &a6, &b6 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		const struct ip *from = pairs[i][0], *to = pairs[i][1];
		size_t head = i ? 40 : 20, len;
		uint8_t p[KNOCK_PACKET_MAX];
		struct knock k;

		assert_int_equal(knock_parse(from, to, syn, sizeof(syn), &k), 0);
		assert_int_equal(k.port, 0x1234);
		assert_int_equal(k.to_port, 0x20fd);
		len = knock_packet(&k, KNOCK_LET_IN, p);
		check(p, len, from, to);
		assert_memory_equal(p + head, syn, 16);
		assert_memory_equal(p + head + 20, syn + 20, 4);
		len = knock_packet(&k, KNOCK_REFUSE, p);
		check(p, len, to, from);
		assert_memory_equal(p + head, "\x20\xfd\x12\x34\0\0\0\0\xde\xad\xbe\xf0\x50\x14", 14);
		len = knock_packet(&k, KNOCK_UNREACHABLE, p);
		check(p, len, to, from);
		assert_memory_equal(p + head, i ? "\x01\x03" : "\x03\x01", 2);
		check(p + head + 8, len - head - 8, from, to);	/* what it is about */
	}
}

static void no_bytes_lead_astray(void **state)
{
	(void)state;
	srand(1);
	for (int i = 0; i < 200000; i++) {
		uint8_t bytes[80], p[KNOCK_PACKET_MAX];
		size_t len = (size_t)rand() % sizeof(bytes);
		struct knock k;

		for (size_t j = 0; j < len; j++)
			bytes[j] = (uint8_t)rand();
		if (len > 13)
			bytes[13] = (bytes[13] & 0xe9) | 2;
		if (knock_parse(&a6, &b6, bytes, len, &k) < 0)
			continue;
		for (int answer = KNOCK_LET_IN; answer <= KNOCK_UNREACHABLE; answer++)
			assert_true(knock_packet(&k, (enum knock_answer)answer, p) <= sizeof(p));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_first_packet_of_a_connection_is_a_knock),
		cmocka_unit_test(answers_are_whole_packets),
		cmocka_unit_test(no_bytes_lead_astray),
	};

	return cmocka_run_group_tests_name("egress knock", tests, NULL, NULL);
}
