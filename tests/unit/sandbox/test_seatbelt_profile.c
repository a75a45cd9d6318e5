#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "test_seatbelt_eval.h"
#include "test_seatbelt_linux.h"
#include "test_seatbelt_specs.h"

static void the_network_is_two_ports_and_the_sockets_that_are_named(void **state)
{
	static const struct { const char *op, *remote, *path; int allowed; } table[] = {
		{ "network-outbound", "localhost:3128", NULL, 1 },
		{ "network-outbound", "localhost:1080", NULL, 1 },
		{ "network-outbound", "localhost:80", NULL, 0 },
		{ "network-outbound", "localhost:31280", NULL, 0 },
		{ "network-outbound", "192.0.2.1:3128", NULL, 0 },
		{ "network-outbound", "*:443", NULL, 0 },
		{ "network-outbound", NULL, "/private/var/run/mDNSResponder", 0 },
		{ "network-outbound", NULL, "/private/var/run/postgres/.s.5432", 1 },
		{ "network-outbound", NULL, "/var/run/postgres/.s.5432", 1 },
		{ "network-outbound", NULL, "/private/var/run/postgres/.s.5433", 0 },
		{ "network-outbound", NULL, "/var/run/docker.sock", 0 },
		{ "network-outbound", NULL, "/Users/u/p/sock", 0 },
		{ "network-bind", "localhost:3128", NULL, 0 },
		{ "network-inbound", "localhost:8080", NULL, 0 },
	};

	(void)state;
	for (int enabled = 0; enabled < 2; enabled++) {
		WITH_SPEC(spec);
		OWN(mem) char *text = NULL;
		struct sb_profile p;

		in_place(&spec);
		spec.network_enabled = enabled;
		text = profile_of(&spec, enabled);
		sb_load(&p, text);
		for (size_t i = 0; i < ARRAY_LEN(table); i++) {
			const struct sb_access a = { .op = table[i].op, .remote = table[i].remote, .path = table[i].path };

			if (sb_allows(&p, &a) != table[i].allowed)
				fail_msg("%s %s%s", a.op, a.remote ? a.remote : "", a.path ? a.path : "");
		}
		sb_done(&p);
	}
}

static void nothing_else_of_the_host_answers(void **state)
{
	static const char *const denied[] = {
		"appleevent-send", "lsopen", "mach-lookup", "mach-register", "job-creation", "iokit-open",
		"system-socket", "nvram-set", "authorization-right-obtain", "signal", "process-info-pidinfo",
		"ipc-posix-sem-open", "ipc-posix-shm-write-data", "file-link", "file-clone", "file-mount", "sysctl-write",
		"user-preference-write", "dynamic-code-generation",
	};
	WITH_SPEC(spec);
	OWN(mem) char *text = NULL;
	struct sb_profile p;

	(void)state;
	copied(&spec);
	text = profile_of(&spec, 0);
	sb_load(&p, text);
	for (size_t i = 0; i < ARRAY_LEN(denied); i++)
		if (sb_file(&p, denied[i], "/s/ws/x", "REGULAR-FILE"))
			fail_msg("%s", denied[i]);
	assert_true(sb_file(&p, "process-fork", NULL, NULL));
	/* Paths of other products' profiles that must not come back. */
	assert_null(strstr(text, "(allow default)"));
	assert_null(strstr(text, "/private/var/folders"));
	assert_null(strstr(text, "mDNSResponder"));
	assert_null(strstr(text, "(local ip"));
	assert_null(strstr(text, "trustd"));
	sb_done(&p);
}

static void the_way_to_what_is_in_view_can_be_looked_at_but_not_listed(void **state)
{
	WITH_SPEC(spec);
	OWN(mem) char *text = NULL;
	struct sb_profile p;

	(void)state;
	copied(&spec);
	text = profile_of(&spec, 0);
	sb_load(&p, text);
	assert_true(sb_file(&p, "file-read-metadata", "/s", "DIRECTORY"));
	assert_true(sb_file(&p, "file-read-metadata", "/s/run", "DIRECTORY"));
	assert_false(sb_file(&p, "file-read-data", "/s/run", "DIRECTORY"));
	assert_false(sb_file(&p, "file-read-metadata", "/s/run/db", "REGULAR-FILE"));
	assert_true(sb_file(&p, "file-read-metadata", "/tmp", "SYMLINK"));
	assert_true(sb_file(&p, "file-read-data", "/private/etc/hosts", "REGULAR-FILE"));
	assert_false(sb_file(&p, "file-read-data", "/Library/Keychains/System.keychain", "REGULAR-FILE"));
	assert_false(sb_file(&p, "process-exec", "/Library/Keychains/x", "REGULAR-FILE"));
	sb_done(&p);
}

static void sections_come_in_their_order(void **state)
{
	static const char *const marks[] = { "(version 1)", "(deny default)", ";; 2. ", "file-read-metadata", ";; 3. ",
					     "(allow file-write*", ";; 4. ", "(deny file-write-unlink", ";; 5. ",
					     "(allow process-exec*", ";; 6. ", "(deny network*)",
					     "(allow network-outbound" };
	WITH_SPEC(spec);
	OWN(mem) char *text = NULL;
	const char *at;

	(void)state;
	copied(&spec);
	at = text = profile_of(&spec, 0);
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (!(at = strstr(at, marks[i])))
			fail_msg("'%s' is not where it belongs", marks[i]);
}

static void what_linux_would_not_take_is_refused_here_too(void **state)
{
	WITH_SPEC(spec);
	struct buf text = { 0 };
	struct err err = { 0 };

	(void)state;
	name(&spec);
	bind(&spec, "/w", "/w", 0);
	ADD(spec.protected_paths, "/w");
	assert_int_equal(buf_adds(&text, "kept"), 0);
	assert_int_equal(seatbelt_profile(&spec, 0, &text, &err), -1);
	assert_int_equal(err.code, ERR_INPUT);
	assert_string_equal(text.data, "kept");
	buf_done(&text);
}

/* A bind whose own top is denied, by name or for reading, is opened for nothing. */
static void a_bind_that_is_denied_whole_stays_closed(void **state)
{
	WITH_SPEC(spec);
	OWN(mem) char *text = NULL;
	struct sb_profile p;

	(void)state;
	name(&spec);
	bind(&spec, "/a", "/g/.env", 0);
	bind(&spec, "/b", "/g/hidden/b", 0);
	bind(&spec, "/c", "/g/hidden/open", 0);
	ADD(spec.deny_write, "**/.env");
	ADD(spec.deny_read, "/g/hidden");
	ADD(spec.allow_read, "/g/hidden/open", "/g/hidden/b/in");
	text = profile_of(&spec, 0);
	sb_load(&p, text);
	assert_true(sb_file(&p, "file-read-data", "/a/x", "REGULAR-FILE"));
	assert_false(sb_file(&p, "file-write-data", "/a/x", "REGULAR-FILE"));
	assert_false(sb_file(&p, "file-read-data", "/b/x", "REGULAR-FILE"));
	assert_false(sb_file(&p, "file-write-data", "/b/x", "REGULAR-FILE"));
	assert_true(sb_file(&p, "file-read-data", "/b/in/x", "REGULAR-FILE"));
	assert_false(sb_file(&p, "file-write-data", "/b/in/x", "REGULAR-FILE"));
	assert_true(sb_file(&p, "file-read-data", "/c/x", "REGULAR-FILE"));
	assert_true(sb_file(&p, "file-write-data", "/c/x", "REGULAR-FILE"));
	sb_done(&p);
}

/* Many exceptions to one rule, that differ at their beginnings, their ends, or as a whole. */
static size_t try_exceptions(const char *before, const char *behind)
{
	static const char *const paths[] = {
		"/w/oka", "/w/okaa", "/w/okz", "/w/ok", "/w/a.ok", "/w/xxl.ok", "/w/z.ok", "/w/.ok", "/w/oak", "/w/ozk", "/w/ok\n",
		"/w/d/oka/z", "/w/d/oka/okb", "/w/a/b/c.k", "/w/z/b/c.k", "/w/b.k", "/w/a/b.k/z", "/w/oka/a.ok/obk", "/w/\xff.ok",
	};
	WITH_SPEC(spec);
	OWN(mem) char *text = NULL;
	struct sb_profile p;
	struct lx lx;
	size_t open = 0;

	name(&spec);
	bind(&spec, "/w", "/w", 0);
	ADD(spec.deny_write, "/w/**/*");
	for (int c = 'a'; c < 'm'; c++)
		assert_int_equal(strv_addf(&spec.deny_write, "%s%c%s", before, c, behind), 0);
	text = profile_of(&spec, 0);
	sb_load(&p, text);
	lx_init(&lx, &spec, 0);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		int allowed = !names_denied(&lx.names, paths[i]);

		if (sb_file(&p, "file-write-data", paths[i], "REGULAR-FILE") != allowed)
			fail_msg("'%s' with '%s' '%s'", paths[i], before, behind);
		open += (size_t)allowed;
	}
	lx_done(&lx);
	sb_done(&p);
	return open;
}

static void many_exceptions_stay_exact(void **state)
{
	(void)state;
	assert_true(try_exceptions("!**/ok", "*") > 0);
	assert_true(try_exceptions("!**/*", ".ok") > 0);
	assert_true(try_exceptions("!**/o", "k") > 0);
	try_exceptions("!/w/", "/**/*.k");
}

static void exceptions_for_package_files_stay_exact(void **state)
{
	static const struct { const char *path; int allowed; } table[] = {
		{ "/w/a.pem", 0 }, { "/w/node_modules/x/a.pem", 1 }, { "/w/node_modules/a.pem", 1 },
		{ "/w/node_module/a.pem", 0 }, { "/w/node_modulesx/a.pem", 0 }, { "/w/go/pkg/mod/x@v1/a.key", 1 },
		{ "/w/go/pkg/modx/a.key", 0 }, { "/w/pkg/x/mod/a.key", 0 }, { "/w/registry/src/i/a.p12", 1 },
		{ "/w/node_modules/x/.env", 0 }, { "/w/node_modules/x/.env.local", 0 },
		{ "/w/x.pem/node_modules/a.pem", 0 }, { "/w/node_modules/x.pem/a.pem", 1 },
		{ "/w/lib/site-packages/certifi/cacert.pem", 1 }, { "/w/lib/site-packages/x.pfx", 1 },
	};
	WITH_SPEC(spec);
	OWN(mem) char *text = NULL;
	struct sb_profile p;
	struct lx lx;

	(void)state;
	name(&spec);
	bind(&spec, "/w", "/w", 0);
	assert_int_equal(policy_standard_denies(&spec.deny_write), 0);
	assert_int_equal(policy_package_files(&spec.deny_write), 0);
	text = profile_of(&spec, 0);
	sb_load(&p, text);
	lx_init(&lx, &spec, 0);
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		if (lx_writes(&lx, table[i].path) != table[i].allowed)
			fail_msg("Linux '%s'", table[i].path);
		if (sb_file(&p, "file-write-data", table[i].path, "REGULAR-FILE") != table[i].allowed)
			fail_msg("Seatbelt '%s'", table[i].path);
	}
	lx_done(&lx);
	sb_done(&p);
}

static void a_rule_that_grows_out_of_bounds_is_refused_by_name(void **state)
{
	WITH_SPEC(spec);
	OWN(buf) struct buf text = { 0 };
	struct err err = { 0 };

	(void)state;
	name(&spec);
	bind(&spec, "/w", "/w", 0);
	ADD(spec.deny_write, "/w/**/*");
	for (int c = 'a'; c < 'u'; c++)
		assert_int_equal(strv_addf(&spec.deny_write, "!**/*%c%c*%c*", c, c + 1, c + 2), 0);
	assert_int_equal(seatbelt_profile(&spec, 0, &text, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_non_null(strstr(err.msg, "'/w/**/*'"));
	assert_int_equal(text.len, 0);
}

/* The kernel knows "/tmp/r" as "/private/tmp/r"; rules and binds may say either. */
static void a_place_with_two_spellings_is_one_place(void **state)
{
	static const struct { const char *op, *path; int allowed; } table[] = {
		{ "file-write-data", "/private/tmp/r/a", 1 }, { "file-write-data", "/tmp/r/a", 1 },
		{ "file-write-data", "/private/tmp/r/x", 0 }, { "file-write-data", "/tmp/r/x", 0 },
		{ "file-write-data", "/private/tmp/r/y", 0 }, { "file-write-data", "/tmp/r/d/b.k", 0 },
		{ "file-read-data", "/private/tmp/r/s/t", 0 }, { "file-read-data", "/private/tmp/r/p", 1 },
		{ "file-read-data", "/private/var/d/a", 1 }, { "file-write-data", "/private/var/d/a", 0 },
		{ "file-write-data", "/var/d/a", 0 }, { "file-read-data", "/private/var/hidden/a", 0 },
		{ "file-write-data", "/private/var/hidden/a", 0 },
	};
	WITH_SPEC(spec);
	OWN(mem) char *text = NULL;
	struct sb_profile p;

	(void)state;
	name(&spec);
	bind(&spec, "/private/tmp/r", "/tmp/r", 0);
	bind(&spec, "/var/d", "/var/d", 0);
	bind(&spec, "/private/var/hidden", "/private/var/hidden", 0);
	ADD(spec.deny_write, "/private/tmp/r/x", "/tmp/r/y", "/private/tmp/r/**/*.k", "/private/var/d", "**/private/tmp/r/a");
	/* A pattern that begins anywhere is about the path as written, as on Linux. */
	ADD(spec.deny_read, "/private/tmp/r/s", "/var/hidden", "**/private/*/r/p", "**/private/tmp");
	text = profile_of(&spec, 0);
	sb_load(&p, text);
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (sb_file(&p, table[i].op, table[i].path, "REGULAR-FILE") != table[i].allowed)
			fail_msg("%s '%s'", table[i].op, table[i].path);
	sb_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_network_is_two_ports_and_the_sockets_that_are_named),
		cmocka_unit_test(nothing_else_of_the_host_answers),
		cmocka_unit_test(the_way_to_what_is_in_view_can_be_looked_at_but_not_listed),
		cmocka_unit_test(sections_come_in_their_order),
		cmocka_unit_test(what_linux_would_not_take_is_refused_here_too),
		cmocka_unit_test(a_bind_that_is_denied_whole_stays_closed),
		cmocka_unit_test(many_exceptions_stay_exact),
		cmocka_unit_test(exceptions_for_package_files_stay_exact),
		cmocka_unit_test(a_rule_that_grows_out_of_bounds_is_refused_by_name),
		cmocka_unit_test(a_place_with_two_spellings_is_one_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
