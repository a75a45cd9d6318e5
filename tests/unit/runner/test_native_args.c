#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "runner/native.h"
#include "sandbox/policy.h"
#include "sandbox/spec.h"

/* A run's private directory, and beside it one that is the host's. */
static char top[] = "/tmp/agate-args-XXXXXX";
static char run_dir[64], ws[64], host[64];
static char *argv_[] = { (char[]){ "true" }, NULL };

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(top))
		return -1;
	snprintf(run_dir, sizeof(run_dir), "%s/run", top);
	snprintf(ws, sizeof(ws), "%s/run/ws", top);
	snprintf(host, sizeof(host), "%s/host", top);
	return mkdir(run_dir, 0700) || mkdir(ws, 0700) || mkdir(host, 0755);
}

static int teardown(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", top);
	return system(cmd);
}

static void start(struct sandbox_spec *spec)
{
	*spec = (struct sandbox_spec){ .session_id = strdup("r-1") };
	assert_int_equal(spec_add_bind(spec, ws, "/srv/ws", 0), 0);
}

static void build(const struct sandbox_spec *spec, struct strv *words, struct kept_closed *kept)
{
	struct run_params p = { .spec = spec, .run_dir = run_dir, .init_path = "/bin/true", .argv = argv_ };
	struct err err = { 0 };

	assert_int_equal(args_build(&p, words, kept, &err), 0);
}

/* Do these words follow each other? */
static int has(const struct strv *words, const char *one, const char *two, const char *three)
{
	for (size_t i = 0; i + 2 < words->n; i++)
		if (!strcmp(words->v[i], one) && (!two || !strcmp(words->v[i + 1], two)) && !strcmp(words->v[i + 2], three))
			return 1;
	return 0;
}

static void a_file_of_ours_in_a_system_directory_lies_over_none_of_the_hosts(void **state)
{
	OWN(strv) struct strv words = { 0 };
	__attribute__((cleanup(kept_closed_done))) struct kept_closed kept = { 0 };
	OWN(spec) struct sandbox_spec spec = { 0 };

	(void)state;
	if (access("/etc/ssl/openssl.cnf", F_OK) < 0)
		skip();
	start(&spec);
	spec_add_bind(&spec, "/etc/hostname", "/etc/ssl/openssl.cnf", 1);
	build(&spec, &words, &kept);
	assert_true(has(&words, "--ro-bind", "/etc/hostname", "/etc/ssl/openssl.cnf"));
	assert_false(has(&words, "--ro-bind", "/etc/ssl/openssl.cnf", "/etc/ssl/openssl.cnf"));
	assert_true(has(&words, "--ro-bind", "/etc/ssl/certs", "/etc/ssl/certs"));
}

static void what_a_rule_hides_in_a_system_directory_is_kept_closed(void **state)
{
	OWN(strv) struct strv words = { 0 };
	__attribute__((cleanup(kept_closed_done))) struct kept_closed kept = { 0 };
	OWN(spec) struct sandbox_spec spec = { 0 };

	(void)state;
	start(&spec);
	strv_add(&spec.deny_read, "/etc/ssl/agate-none");
	strv_add(&spec.deny_read, "/etc/*.none");
	strv_add(&spec.deny_read, "/elsewhere");
	strv_add(&spec.deny_read, "/srv/ws/own");
	build(&spec, &words, &kept);
	assert_true(strv_has(&kept.named, "/etc/ssl/agate-none"));
	assert_int_equal(kept.named.n, 1);
	assert_int_equal(kept.root_only.n > 0, policy_reads_more());
	assert_false(kept.by_name);	/* nobody else writes in that tree */
	assert_false(kept.too_far);
}

static void what_is_hidden_where_the_host_writes_too_is_for_the_broker(void **state)
{
	OWN(strv) struct strv words = { 0 };
	__attribute__((cleanup(kept_closed_done))) struct kept_closed kept = { 0 };
	OWN(spec) struct sandbox_spec spec = { 0 };

	(void)state;
	start(&spec);
	spec_add_bind(&spec, host, "/srv/host", 0);
	strv_add(&spec.deny_read, "/srv/host/secret");
	build(&spec, &words, &kept);
	assert_true(kept.by_name);
	assert_int_equal(kept.named.n, 0);
}

static void a_way_past_too_many_entries_is_for_the_broker(void **state)
{
	OWN(strv) struct strv words = { 0 };
	__attribute__((cleanup(kept_closed_done))) struct kept_closed kept = { 0 };
	OWN(spec) struct sandbox_spec spec = { 0 };
	char path[128];

	(void)state;
	for (int i = 0; i < 3001; i++) {
		snprintf(path, sizeof(path), "%s/%d", host, i);
		assert_int_equal(mknod(path, S_IFREG | 0644, 0), 0);
	}
	start(&spec);
	spec_add_bind(&spec, host, "/srv/host", 1);
	strv_add(&spec.deny_read, "/srv/host/secret");
	build(&spec, &words, &kept);
	assert_true(kept.too_far);
	assert_true(kept.by_name);
}

static void a_directory_below_a_place_of_the_runs_own_is_shown_around_what_is_hidden(void **state)
{
	OWN(strv) struct strv words = { 0 };
	__attribute__((cleanup(kept_closed_done))) struct kept_closed kept = { 0 };
	OWN(spec) struct sandbox_spec spec = { 0 };
	char tool[80];

	(void)state;
	snprintf(tool, sizeof(tool), "%s/tool", top);
	assert_int_equal(mkdir(tool, 0755), 0);
	start(&spec);
	spec_add_bind(&spec, tool, "/srv/ws/tool", 1);
	strv_add(&spec.deny_read, "/srv/ws/tool/secret");
	build(&spec, &words, &kept);
	assert_false(has(&words, "--ro-bind", tool, "/srv/ws/tool"));
	assert_true(has(&words, "--ro-bind", NULL, "/srv/ws/tool"));
	assert_int_equal(kept.named.n, 0);
	assert_false(kept.by_name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_of_ours_in_a_system_directory_lies_over_none_of_the_hosts),
		cmocka_unit_test(what_a_rule_hides_in_a_system_directory_is_kept_closed),
		cmocka_unit_test(what_is_hidden_where_the_host_writes_too_is_for_the_broker),
		cmocka_unit_test(a_way_past_too_many_entries_is_for_the_broker),
		cmocka_unit_test(a_directory_below_a_place_of_the_runs_own_is_shown_around_what_is_hidden),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
