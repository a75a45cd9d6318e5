#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/own.h"
#include "sandbox/egress/socks5.h"

struct row {
	const char *bytes;
	size_t len;
	enum socks5_kind kind;
	size_t used;
	int code;		/* second byte of the reply; -1: none */
	const char *host;
	uint16_t port;
};
#define BYTES(s) s, sizeof(s) - 1

static void check(const struct row *r, int greeted)
{
	struct socks5 s = { .greeted = greeted };
	struct socks5_piece p;

	socks5_next(&s, r->bytes, r->len, &p);
	if (p.kind != r->kind || p.used != r->used)
		fail_msg("kind %d, used %zu for '%s'", p.kind, p.used, r->host ? r->host : "?");
	assert_int_equal(p.reply_len ? p.reply[1] : -1, r->code);
	if (r->host && p.kind == SOCKS5_CONNECT) {
		assert_string_equal(p.host.text, r->host);
		assert_int_equal(p.port, r->port);
	}
	/* Less than all of it never means anything yet. */
	for (size_t n = 0; n < r->used; n++) {
		struct socks5_piece q;

		s.greeted = greeted;
		socks5_next(&s, r->bytes, n, &q);
		if (q.kind != SOCKS5_MORE)
			fail_msg("kind %d for %zu of %zu bytes", q.kind, n, r->used);
	}
}

static void a_greeting_must_offer_no_authentication(void **state)
{
	static const struct row rows[] = {
		{ BYTES("\5\1\0"), SOCKS5_METHOD, 3, 0, NULL, 0 },
		{ BYTES("\5\3\1\2\0more"), SOCKS5_METHOD, 5, 0, NULL, 0 },
		{ BYTES("\5\1\2"), SOCKS5_REFUSE, 3, 0xff, NULL, 0 },
		{ BYTES("\5\0"), SOCKS5_REFUSE, 2, 0xff, NULL, 0 },
		{ BYTES("\4\1\0\x50\x7f\0\0\1\0"), SOCKS5_REFUSE, 0, -1, NULL, 0 },
		{ BYTES("GET / HTTP/1.1"), SOCKS5_REFUSE, 0, -1, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(&rows[i], 0);
}

static void a_request_names_one_place(void **state)
{
	static const struct row rows[] = {
		{ BYTES("\5\1\0\3\013Example.COM\1\xbb"), SOCKS5_CONNECT, 18, -1, "example.com", 443 },
		{ BYTES("\5\1\0\1\1\2\3\4\0\x16rest"), SOCKS5_CONNECT, 10, -1, "1.2.3.4", 22 },
		{ BYTES("\5\1\0\4\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\7\0\x50"), SOCKS5_CONNECT, 22, -1, "2001:db8::7", 80 },
		{ BYTES("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1\0\x50"), SOCKS5_CONNECT, 22, -1, "127.0.0.1", 80 },
		{ BYTES("\5\1\0\3\0111.2.3.4.5\0\x50"), SOCKS5_DENY, 16, 2, NULL, 0 },
		{ BYTES("\5\1\0\3\0072130706\0\x50"), SOCKS5_DENY, 14, 2, NULL, 0 },
		{ BYTES("\5\1\0\3\005" "127.1\0\x50"), SOCKS5_DENY, 12, 2, NULL, 0 },
		{ BYTES("\5\1\0\3\3::1\0\x50"), SOCKS5_CONNECT, 10, -1, "::1", 80 },
		{ BYTES("\5\1\0\3\0\0\x50"), SOCKS5_DENY, 7, 2, NULL, 0 },
		{ BYTES("\5\1\0\3\3a\0b\0\x50"), SOCKS5_DENY, 10, 2, NULL, 0 },
		{ BYTES("\5\1\0\3\1a\0\0"), SOCKS5_DENY, 8, 2, NULL, 0 },
		{ BYTES("\5\2\0\3\1a\0\x50"), SOCKS5_REFUSE, 8, 7, NULL, 0 },
		{ BYTES("\5\3\0\1\0\0\0\0\0\0"), SOCKS5_REFUSE, 10, 7, NULL, 0 },
		{ BYTES("\5\1\1\3\1a\0\x50"), SOCKS5_REFUSE, 8, 1, NULL, 0 },
		{ BYTES("\5\1\0\2\1a\0\x50"), SOCKS5_REFUSE, 0, 8, NULL, 0 },
		{ BYTES("\4\1\0\3\1a\0\x50"), SOCKS5_REFUSE, 0, 1, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(&rows[i], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_greeting_must_offer_no_authentication),
		cmocka_unit_test(a_request_names_one_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
