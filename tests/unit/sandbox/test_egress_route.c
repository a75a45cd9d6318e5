#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/strv.h"
#include "sandbox/egress/route.h"

static void a_star_is_text_within_a_segment_and_two_are_segments(void **state)
{
	static const struct { const char *pattern, *path; int matches; } rows[] = {
		{ "/", "/", 1 }, { "/", "/a", 0 }, { "/a", "/a", 1 }, { "/a", "/a/", 0 }, { "/a/", "/a/", 1 },
		{ "/a/*", "/a/b", 1 }, { "/a/*", "/a/", 1 }, { "/a/*", "/a", 0 }, { "/a/*", "/a/b/c", 0 },
		{ "/a/*.js", "/a/x.js", 1 }, { "/a/*.js", "/a/x.jsx", 0 }, { "/a/*b*c", "/a/xbybzc", 1 },
		{ "/**", "/", 1 }, { "/**", "/a", 1 }, { "/**", "/a/b/c/", 1 },
		{ "/repos/**", "/repos", 1 }, { "/repos/**", "/repos/", 1 }, { "/repos/**", "/repos/a/b", 1 },
		{ "/repos/**", "/repositories", 0 }, { "/**/issues", "/issues", 1 },
		{ "/**/issues", "/repos/a/b/issues", 1 }, { "/**/issues", "/repos/issues/7", 0 },
		{ "/a/**/b/**/c", "/a/x/b/y/b/z/c", 1 }, { "/a/**/b/**/c", "/a/x/c", 0 },
		{ "/A", "/a", 0 }, { "/a/**", "/b/a/", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (route_match(rows[i].pattern, rows[i].path) != rows[i].matches)
			fail_msg("'%s' on '%s'", rows[i].pattern, rows[i].path);
}

/* Sent as, judged as; NULL: refused. */
static void a_path_is_judged_as_it_is_sent_on_and_refused_when_it_reads_two_ways(void **state)
{
	static const struct { const char *path, *sent, *judged; } rows[] = {
		{ "", "/", "/" }, { "/", "/", "/" }, { "?q", "/?q", "/" }, { "/a?b=/../c", "/a?b=/../c", "/a" },
		{ "/a/./b", "/a/b", "/a/b" }, { "/a/../b", "/b", "/b" }, { "/a/..", "/", "/" }, { "/a/.", "/a/", "/a/" },
		{ "/a/b/../", "/a/", "/a/" }, { "/%41%20b", "/%41%20b", "/A b" }, { "/a%2Eb", "/a%2Eb", "/a.b" },
		{ "/...", "/...", "/..." }, { "/a;v=1/b", "/a;v=1/b", "/a;v=1/b" },
		{ "/..", NULL, NULL }, { "/../a", NULL, NULL }, { "//a", NULL, NULL }, { "/a//b", NULL, NULL },
		{ "/a/%2e%2e/b", NULL, NULL }, { "/a/.%2e/b", NULL, NULL }, { "/a/%2e/b", NULL, NULL },
		{ "/a%2fb", NULL, NULL }, { "/a%5Cb", NULL, NULL }, { "/a%00", NULL, NULL }, { "/a%252e", NULL, NULL },
		{ "/a%", NULL, NULL }, { "/a%4", NULL, NULL }, { "/a%zz", NULL, NULL }, { "/a\\b", NULL, NULL },
		{ "/a/..;/b", NULL, NULL }, { "/a/.;x/b", NULL, NULL }, { "/a/%2e%2e;x/b", NULL, NULL },
		{ "/a\tb", NULL, NULL }, { "a", NULL, NULL }, { "*", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		OWN(buf) struct buf sent = { 0 };
		OWN(buf) struct buf judged = { 0 };
		const char *why = NULL;
		struct span path = { rows[i].path, strlen(rows[i].path) };
		int r = route_path(path, &sent, &judged, &why);

		if (r != (rows[i].sent ? 0 : -1))
			fail_msg("'%s': %d, %s", rows[i].path, r, why);
		if (r < 0) {
			assert_non_null(why);
			continue;
		}
		assert_string_equal(sent.data, rows[i].sent);
		assert_string_equal(judged.data, rows[i].judged);
	}
}

static void host(const char *text, struct host *ret)
{
	const char *why;

	assert_int_equal(host_parse(text, strlen(text), ret, &why), 0);
}

static int add(struct route_set *set, const char *name, const char *allow, const char *deny, struct err *err)
{
	OWN(strv) struct strv a = { 0 };
	OWN(strv) struct strv d = { 0 };

	if (allow)
		assert_int_equal(strv_add(&a, allow), 0);
	if (deny)
		assert_int_equal(strv_add(&d, deny), 0);
	return route_add(set, name, &a, &d, "routes[0]", err);
}

static void a_host_with_rules_takes_what_they_allow_and_nothing_else(void **state)
{
	static const struct { const char *host; uint16_t port; const char *method, *path; int allowed; } rows[] = {
		{ "api.github.com", 443, "GET", "/repos/a/b", 1 },
		{ "api.github.com", 443, "HEAD", "/repos/a/b", 1 },
		{ "api.github.com", 8443, "GET", "/repos/a/b", 1 },
		{ "api.github.com", 443, "POST", "/repos/a/b", 0 },
		{ "api.github.com", 443, "get", "/repos/a/b", 0 },
		{ "api.github.com", 443, "GET", "/user", 0 },
		{ "api.github.com", 443, "GET", "/repos/secret/x", 0 },
		{ "api.github.com", 443, "POST", "/graphql", 1 },
		{ "x.example.com", 8080, "DELETE", "/any", 1 },
		{ "x.example.com", 8081, "DELETE", "/other/port", 1 },
		{ "none.example.net", 443, "GET", "/", 1 },
		{ "empty.example.net", 443, "GET", "/", 0 },
	};
	struct route_set set = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(add(&set, "api.github.com", "GET /repos/**", "* /repos/secret/**", &err), 0);
	assert_int_equal(add(&set, "API.github.com.", "POST /graphql", NULL, &err), 0);
	assert_int_equal(add(&set, "*.example.com:8080", "* /any", NULL, &err), 0);
	assert_int_equal(add(&set, "empty.example.net", NULL, NULL, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct span method = { rows[i].method, strlen(rows[i].method) };
		struct egress_verdict v;
		struct host h;

		host(rows[i].host, &h);
		route_judge(&set, &h, rows[i].port, method, rows[i].path, &v);
		if (v.allowed != rows[i].allowed)
			fail_msg("row %zu: %s", i, v.reason);
		if (!v.allowed)
			assert_true(v.reason[0] && v.rule[0] && v.why == REFUSAL_ROUTE);
	}
	route_done(&set);
}

static void a_rule_that_is_not_plain_is_refused_with_its_place(void **state)
{
	static const struct { const char *host, *pattern; } rows[] = {
		{ "*", "GET /" }, { "a.test", "/x" }, { "a.test", "GET x" }, { "a.test", "GET" }, { "a.test", "GET /a%20" },
		{ "a.test", "GET /a?b" }, { "a.test", "GET /a/../b" }, { "a.test", "GET //a" }, { "a.test", "GET /a**" },
		{ "a.test", "GET /**b" }, { "a.test", "G*T /b" }, { "a.test", " /b" }, { "http://a.test", "GET /" },
	};
	struct route_set set = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = { 0 };

		if (add(&set, rows[i].host, rows[i].pattern, NULL, &err) != -1)
			fail_msg("'%s' for '%s' was taken", rows[i].pattern, rows[i].host);
		assert_non_null(strstr(err.msg, "routes[0]"));
	}
	assert_int_equal(set.n, 0);
	route_done(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_star_is_text_within_a_segment_and_two_are_segments),
		cmocka_unit_test(a_path_is_judged_as_it_is_sent_on_and_refused_when_it_reads_two_ways),
		cmocka_unit_test(a_host_with_rules_takes_what_they_allow_and_nothing_else),
		cmocka_unit_test(a_rule_that_is_not_plain_is_refused_with_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
