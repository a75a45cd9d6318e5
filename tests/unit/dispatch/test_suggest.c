#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/err.h"
#include "base/event.h"
#include "base/own.h"
#include "dispatch/suggest.h"

#define V(l, a) .layer = LAYER_##l, .action = a

static void a_refusal_becomes_the_option_that_lifts_it(void **state)
{
	static const char dns[] = "network-dns", out[] = "network-outbound";
	static const char no_rule[] = "egress-allowlist", read_only[] = "read-only outside the workspace";
	static const char other_port[] = "the rule 'x.test' names no port and so allows 443, 80 and 22, not 8443";
	static const struct {
		struct violation v;
		const char *option, *value;	/* or NULL and the note */
	} table[] = {
		{ { V(NETWORK, dns), .target = "a.example.com", .rule = no_rule }, "--allow-domain", "a.example.com" },
		{ { V(NETWORK, out), .target = "example.com:443", .rule = no_rule }, "--allow-domain", "example.com" },
		{ { V(NETWORK, out), .target = "example.com:22", .rule = no_rule }, "--allow-domain", "example.com" },
		{ { V(NETWORK, out), .target = "example.com:8080", .rule = no_rule }, "--allow-domain", "example.com:8080" },
		{ { V(NETWORK, out), .target = "192.0.2.1:443", .rule = no_rule }, "--allow-domain", "192.0.2.1" },
		{ { V(NETWORK, out), .target = "[2001:db8::1]:99", .rule = no_rule }, "--allow-domain", "[2001:db8::1]:99" },
		{ { V(NETWORK, out), .target = "x.test:8443", .rule = "x.test", .reason = other_port }, "--allow-domain",
		  "x.test:8443" },
		{ { V(NETWORK, out), .target = "localhost:5432", .rule = no_rule }, "--host-port", "5432" },
		{ { V(NETWORK, out), .target = "127.0.0.1:5432", .rule = no_rule }, "--host-port", "5432" },
		{ { V(NETWORK, out), .target = "127.0.0.1:5432", .rule = "a service of the host" }, "--host-port", "5432" },
		{ { V(NETWORK, out), .target = "localhost:3128", .rule = no_rule }, NULL,
		  "cannot reach port 3128 of the host: inside, that is the run's HTTP proxy" },
		{ { V(NETWORK, out), .target = "a.test:443", .rule = "network-off" }, "--network", "allow" },
		{ { V(NETWORK, dns), .target = "a.test", .rule = "network-off" }, "--network", "allow" },
		{ { V(FILE, "file-write-data"), .target = "/srv/cache/x", .rule = read_only }, "--write", "/srv/cache/x" },
		{ { V(FILE, "file-write-create"), .target = "x", .resolved = "/srv/cache/x", .rule = read_only }, "--write",
		  "/srv/cache" },
		/* nothing to be done */
		{ { V(NETWORK, out), .target = "169.254.169.254:80", .rule = no_rule }, NULL, "a cloud metadata address" },
		{ { V(NETWORK, out), .target = "bad.test:443", .rule = "bad.test", .reason = "denied by the rule 'bad.test'" },
		  NULL, "denied by the rule 'bad.test'" },
		{ { V(NETWORK, out), .target = "in.test:443", .rule = "resolved-address" }, NULL,
		  "a name may not lead there; allow the address itself, or map the name to it with --hosts FILE" },
		{ { V(NETWORK, dns), .target = "1.1.1.1.in-addr.arpa", .rule = no_rule, .reason = "no rule allows it" }, NULL,
		  "no rule allows it" },
		{ { V(NETWORK, out), .target = "8.8.8.8:123", .rule = "only DNS may use datagrams" }, NULL,
		  "only DNS may use datagrams" },
		{ { V(NETWORK, out), .target = "0x7f.1:80", .rule = "malformed-destination", .reason = "no address" }, NULL,
		  "no address" },
		{ { V(FILE, "file-write-create"), .target = ".env", .resolved = "/w/.env", .rule = "**/.env" }, NULL, "**/.env" },
		{ { V(FILE, "file-write-data"), .target = "/etc/passwd", .rule = read_only }, NULL,
		  "it belongs to the system" },
		{ { V(COMMAND, "command-deny"), .target = "rm -rf /", .rule = "chat: outside", .reason = "it belongs elsewhere" },
		  NULL, "it belongs elsewhere" },
		{ { V(SYSCALL, "syscall-mount"), .target = "mount" }, NULL, "refused" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		OWN(suggest) struct suggest s = { 0 };
		struct err err;

		assert_int_equal(suggest_add(&s, &table[i].v, &err), 0);
		assert_int_equal(s.n, 1);
		if (!s.v[0].option != !table[i].option || (s.v[0].option && strcmp(s.v[0].option, table[i].option)))
			fail_msg("row %zu: %s %s", i, s.v[0].option ? s.v[0].option : "nothing", s.v[0].value);
		assert_string_equal(table[i].option ? s.v[0].value : s.v[0].note, table[i].value);
	}
}

static void what_one_option_lifts_is_said_once(void **state)
{
	static const char rule[] = "egress-allowlist";
	const struct violation a = { V(NETWORK, "network-dns"), .target = "a.test", .rule = rule, .count = 3 };
	const struct violation b = { V(NETWORK, "network-outbound"), .target = "a.test:443", .rule = rule, .count = 2 };
	const struct violation c = { V(NETWORK, "network-outbound"), .target = "a.test:80", .rule = rule, .count = 1 };
	OWN(suggest) struct suggest s = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(suggest_add(&s, &a, &err), 0);
	assert_int_equal(suggest_add(&s, &b, &err), 0);
	assert_int_equal(suggest_add(&s, &c, &err), 0);
	suggest_settle(&s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.v[0].count, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refusal_becomes_the_option_that_lifts_it),
		cmocka_unit_test(what_one_option_lifts_is_said_once),
	};

	return cmocka_run_group_tests_name("suggest", tests, NULL, NULL);
}
