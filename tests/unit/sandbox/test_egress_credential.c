#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "sandbox/egress/credential.h"
#include "test_egress_fixture.h"

/* --- what is read --- */

static int parse(const char *text, const char *secrets, size_t len, struct credential_set *ret, struct err *err)
{
	OWN(json) struct json *list = NULL;

	assert_int_equal(json_parse(text, strlen(text), NULL, &list, err), 0);
	return credential_parse(list, secrets, len, ret, err);
}

#define LONG "placeholder-0123456789"

static void a_credential_that_is_not_plain_is_refused_without_its_secret(void **state)
{
	static const struct { const char *list, *secrets; size_t len; const char *why; } rows[] = {
		{ "[{\"id\":\"a\",\"hosts\":[\"a.test\"],\"placeholder\":\"" LONG "\"}]", "", 0, "missing" },
		{ "[{\"id\":\"a\",\"hosts\":[\"a.test\"],\"placeholder\":\"" LONG "\"}]", "s3cret", 6, "cut off" },
		{ "[{\"id\":\"a\",\"hosts\":[\"a.test\"],\"placeholder\":\"" LONG "\"}]", "s3cret\0s3cret", 14, "more secrets" },
		{ "[{\"id\":\"a\",\"hosts\":[\"a.test\"],\"placeholder\":\"" LONG "\"}]", "s3\ncret", 8, "no header may have" },
		{ "[]", "s3cret", 7, "more secrets" },
		{ "[{\"id\":\"a\",\"hosts\":[\"*\"],\"placeholder\":\"" LONG "\"}]", "s3cret", 7, "every host" },
		{ "[{\"id\":\"a\",\"hosts\":[],\"placeholder\":\"" LONG "\"}]", "s3cret", 7, "'hosts'" },
		{ "[{\"id\":\"a\",\"hosts\":[\"a.test\"],\"placeholder\":\"short\"}]", "s3cret", 7, "too short" },
		{ "[{\"id\":\"a\",\"hosts\":[\"a.test\"],\"placeholder\":\"" LONG "\",\"x\":1}]", "s3cret", 7, "x" },
		{ "[{\"id\":\"a\",\"hosts\":[\"a.test\"],\"placeholder\":\"" LONG "\",\"header\":{\"name\":\"A b\"}}]", "s3cret", 7,
		  "'header'" },
		{ "[{\"id\":\"a\",\"hosts\":[\"a.test\"],\"placeholder\":\"" LONG "\",\"basic\":{\"username\":\"a:b\"}}]", "s3cret", 7,
		  "'basic'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct credential_set set = { 0 };
		struct err err = { 0 };

		if (parse(rows[i].list, rows[i].secrets, rows[i].len, &set, &err) != -1)
			fail_msg("row %zu was taken", i);
		if (!strstr(err.msg, rows[i].why) || strstr(err.msg, "s3"))
			fail_msg("row %zu: %s", i, err.msg);
		credential_done(&set);
	}
}

/* --- what is put in --- */

static struct http_head head_with(const char *name, const char *value)
{
	struct http_head h = { .target = { "/x", 2 }, .n_fields = 1 };

	h.field[0] = (struct http_field){ { name, strlen(name) }, { value, strlen(value) } };
	return h;
}

static void only_fields_that_carry_credentials_get_the_secret(void **state)
{
	static const char list[] = "[{\"id\":\"a\",\"hosts\":[\"a.test\",\"*.b.test:8443\"],\"placeholder\":\"" LONG "\","
				   "\"header\":{\"name\":\"X-Mine\",\"template\":\"Key {}\"}}]";
	static const struct { const char *host; uint16_t port; int secure; const char *name, *value, *wanted; } rows[] = {
		{ "a.test", 443, 1, "Authorization", "Bearer " LONG, "Bearer s3cret" },
		{ "a.test", 443, 1, "X-Mine", LONG LONG, "s3crets3cret" },
		{ "a.test", 443, 1, "X-Other", LONG, LONG },
		{ "x.b.test", 8443, 1, "x-api-key", LONG, "s3cret" },
		{ "x.b.test", 443, 1, "x-api-key", LONG, NULL },
		{ "a.test", 443, 0, "x-api-key", LONG, NULL },
		{ "a.test", 8443, 1, "Cookie", "k=" LONG, NULL },
		{ "other.test", 443, 1, "Authorization", "basic cGxhY2Vob2xkZXItMDEyMzQ1Njc4OTp4", NULL },
		{ "other.test", 443, 1, "Authorization", "Basic b3RoZXI6eA==", "Basic b3RoZXI6eA==" },
	};
	struct credential_set set = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(parse(list, "s3cret", 7, &set, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_head head = head_with(rows[i].name, rows[i].value);
		struct buf scratch = { 0 };
		struct egress_verdict v;
		struct host h;
		const char *why;

		assert_int_equal(host_parse(rows[i].host, strlen(rows[i].host), &h, &why), 0);
		credential_put(&set, &h, rows[i].port, rows[i].secure, &head, &scratch, &v);
		if (v.allowed != (rows[i].wanted != NULL))
			fail_msg("row %zu: %s", i, v.reason);
		if (v.allowed && (head.field[0].value.len != strlen(rows[i].wanted) ||
				  memcmp(head.field[0].value.p, rows[i].wanted, head.field[0].value.len)))
			fail_msg("row %zu: %.*s", i, (int)head.field[0].value.len, head.field[0].value.p);
		if (!v.allowed)
			assert_int_equal(v.why, REFUSAL_LEAK);
		assert_null(strstr(v.reason, "s3cret"));
		credential_wipe(&scratch);
	}
	credential_done(&set);
}

static void a_template_fills_the_field_of_a_request_that_has_none(void **state)
{
	static const char list[] = "[{\"id\":\"a\",\"hosts\":[\"a.test\"],\"placeholder\":\"" LONG "\","
				   "\"header\":{\"name\":\"X-Mine\",\"template\":\"Key {}!\"}}]";
	struct credential_set set = { 0 };
	struct http_head head = head_with("Accept", "*/*");
	struct buf scratch = { 0 };
	struct egress_verdict v;
	struct host h;
	struct err err;
	const char *why;

	(void)state;
	assert_int_equal(parse(list, "s3cret", 7, &set, &err), 0);
	assert_int_equal(host_parse("a.test", 6, &h, &why), 0);
	credential_put(&set, &h, 443, 1, &head, &scratch, &v);
	assert_true(v.allowed);
	assert_int_equal(head.n_fields, 2);
	assert_memory_equal(head.field[1].name.p, "X-Mine", 6);
	assert_memory_equal(head.field[1].value.p, "Key s3cret!", 11);
	credential_wipe(&scratch);
	credential_done(&set);
}

/* --- who may use the proxies --- */

static void with_a_credential_the_proxies_serve_who_says_it(void **state)
{
	static const struct { const char *field; int served; } rows[] = {
		{ "", 0 }, { "Proxy-Authorization: Basic cnVuOnBhc3M=\r\n", 1 },
		{ "Proxy-Authorization: Basic cnVuOnBhc3Q=\r\n", 0 }, { "Proxy-Authorization: Basic cnVuOnBhc3NzCg==\r\n", 0 },
		{ "Proxy-Authorization: Bearer cnVuOnBhc3M=\r\n", 0 }, { "Authorization: Bearer x\r\n", 0 },
	};
	struct proxy p;
	int fd;

	(void)state;
	proxy_start(&p, ",\"proxyCredential\":\"run:pass\"");
	expect_ready(&p);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		OWN(mem) char *answer = NULL;
		char text[512];

		fd = dial_port(p.http);
		snprintf(text, sizeof(text), "CONNECT not.allowed.test:443 HTTP/1.1\r\nHost: not.allowed.test:443\r\n%s\r\n",
			 rows[i].field);
		put(fd, text);
		answer = get(fd, NULL);
		assert_int_equal(atoi(answer + 9), rows[i].served ? 403 : 407);
		assert_int_equal(strstr(answer, "Proxy-Authenticate: Basic") == NULL, rows[i].served);
		close(fd);
		if (rows[i].served)
			expect_violation(&p, "not.allowed.test:443", "egress-allowlist", "connect");
	}
	/* SOCKS5: no method but this one; a wrong password; the right one */
	fd = dial_port(p.socks);
	assert_int_equal(send(fd, "\5\1\0", 3, 0), 3);
	expect(fd, "\5\xff");
	close(fd);
	fd = dial_port(p.socks);
	assert_int_equal(send(fd, "\5\2\0\2\1\3run\4past", 14, 0), 14);
	expect(fd, "\5\2\1\1");
	close(fd);
	fd = dial_port(p.socks);
	assert_int_equal(send(fd, "\5\1\2\1\3run\4pass", 13, 0), 13);
	assert_int_equal(send(fd, "\5\1\0\3\6a.test\1\273", 13, 0), 13);
	expect(fd, "\5\2\1");
	expect_violation(&p, "a.test:443", "egress-allowlist", "socks5");
	close(fd);
	proxy_stop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_credential_that_is_not_plain_is_refused_without_its_secret),
		cmocka_unit_test(only_fields_that_carry_credentials_get_the_secret),
		cmocka_unit_test(a_template_fills_the_field_of_a_request_that_has_none),
		cmocka_unit_test(with_a_credential_the_proxies_serve_who_says_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
