#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "sandbox/probe.h"
#include "sandbox/probe_internal.h"

/* A host that has everything. */
static const struct probe_facts all = {
	.bwrap = "/usr/bin/bwrap", .bwrap_runs = 1, .is_userns = 1, .notify = 1, .killable = 1,
	.addfd_send = 1, .pidfd_getfd = 1, .memory = 1, .landlock = 7, .filter = 900, .cgroup = 1,
};

#define MAX_LINES 32

struct lines {
	struct {
		char rule[100], layer[40], detail[400], hint[200];
		enum probe_state state;
	} v[MAX_LINES];
	size_t n;
};

static void collect(void *cookie, const struct probe_line *line)
{
	struct lines *l = cookie;

	assert_true(l->n < MAX_LINES);
	assert_true(line->rule[0] && line->layer[0] && line->detail[0]);
	snprintf(l->v[l->n].rule, sizeof(l->v[0].rule), "%s", line->rule);
	snprintf(l->v[l->n].layer, sizeof(l->v[0].layer), "%s", line->layer);
	snprintf(l->v[l->n].detail, sizeof(l->v[0].detail), "%s", line->detail);
	snprintf(l->v[l->n].hint, sizeof(l->v[0].hint), "%s", line->hint ? line->hint : "");
	l->v[l->n++].state = line->state;
}

static int state_of(const struct lines *l, const char *word)
{
	for (size_t i = 0; i < l->n; i++)
		if (strstr(l->v[i].rule, word))
			return (int)l->v[i].state;
	fail_msg("no rule about '%s'", word);
	return -1;
}

static void a_host_with_everything_has_every_rule_and_nothing_to_mend(void **state)
{
	struct probe_facts f = all;
	struct lines l = { .n = 0 };

	(void)state;
	snprintf(f.cgroup_says, sizeof(f.cgroup_says), "x");
	assert_int_equal(probe_judge(&f, collect, &l), 0);
	for (size_t i = 0; i < l.n; i++) {
		assert_int_equal(l.v[i].state, PROBE_OK);
		assert_string_equal(l.v[i].hint, "");
	}
}

static void whatever_is_not_held_comes_with_a_step_that_mends_it(void **state)
{
	struct probe_facts f = { .filter_says = "no memory", .cgroup_says = "none" };
	struct lines l = { .n = 0 };
	int missing;

	(void)state;
	missing = probe_judge(&f, collect, &l);
	assert_true(missing > 8);
	for (size_t i = 0; i < l.n; i++) {
		assert_int_not_equal(l.v[i].state, PROBE_OK);
		assert_string_not_equal(l.v[i].hint, "");
		if (l.v[i].state == PROBE_MISSING)
			assert_string_equal(l.v[i].layer, "nothing");
	}
}

static void without_namespaces_there_is_nothing_unless_the_second_layout_is_there(void **state)
{
	struct probe_facts f = all;
	struct lines l = { .n = 0 };

	(void)state;
	f.bwrap_runs = 0;
	f.is_apparmor_limited = 1;
	snprintf(f.bwrap_says, sizeof(f.bwrap_says), "bwrap: setting up uid map: Permission denied");
	snprintf(f.cgroup_says, sizeof(f.cgroup_says), "x");
	assert_int_equal(probe_judge(&f, collect, &l), 6);
	assert_int_equal(state_of(&l, "in view"), PROBE_MISSING);
	assert_int_equal(state_of(&l, "names are judged"), PROBE_OK);
	f.second_layout = 1;
	l.n = 0;
	assert_int_equal(probe_judge(&f, collect, &l), 0);
	assert_int_equal(state_of(&l, "in view"), PROBE_WEAK);
	assert_int_equal(state_of(&l, "network"), PROBE_WEAK);
	assert_int_equal(state_of(&l, "names are judged"), PROBE_OK);
	assert_non_null(strstr(l.v[0].detail, "uid map"));
	assert_non_null(strstr(l.v[0].hint, "apparmor_restrict_unprivileged_userns"));
}

static void each_reason_bubblewrap_gives_has_its_own_hint(void **state)
{
	static const struct {
		const char *says;
		int without_proc;
		const char *hint;
	} cases[] = {
		{ "bwrap: Unknown option --disable-userns", 0, "0.8.0" },
		{ "bwrap: Can't mount proc on /newroot/proc: Operation not permitted", 1, "systempaths" },
		{ "bwrap: Creating new namespace failed: Operation not permitted", 0, "user namespaces" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct probe_facts f = all;
		struct lines l = { .n = 0 };

		f.bwrap_runs = 0;
		f.bwrap_runs_without_proc = cases[i].without_proc;
		snprintf(f.bwrap_says, sizeof(f.bwrap_says), "%s", cases[i].says);
		snprintf(f.cgroup_says, sizeof(f.cgroup_says), "x");
		probe_judge(&f, collect, &l);
		assert_non_null(strstr(l.v[0].hint, cases[i].hint));
	}
}

static void old_kernels_lose_what_they_lack_and_no_more(void **state)
{
	struct probe_facts f = all;
	struct lines l = { .n = 0 };

	(void)state;
	f.landlock = 2;
	f.killable = 0;
	f.cgroup = 0;
	snprintf(f.cgroup_says, sizeof(f.cgroup_says), "x");
	assert_int_equal(probe_judge(&f, collect, &l), 0);
	assert_int_equal(state_of(&l, "without the broker"), PROBE_WEAK);
	assert_int_equal(state_of(&l, "signal"), PROBE_WEAK);
	assert_int_equal(state_of(&l, "memory"), PROBE_WEAK);
	assert_int_equal(state_of(&l, "in view"), PROBE_OK);
	f.notify = 0;
	l.n = 0;
	assert_true(probe_judge(&f, collect, &l) > 0);
	assert_int_equal(state_of(&l, "names are judged"), PROBE_MISSING);
	assert_int_equal(state_of(&l, "on record"), PROBE_MISSING);
}

/* --- for real; what comes out depends on the host, but not whether it is consistent --- */

static void trying_it_here_ends_and_leaves_no_child(void **state)
{
	struct probe_facts f;
	struct lines l = { .n = 0 };

	(void)state;
	probe_try(&f);
	probe_judge(&f, collect, &l);
	for (size_t i = 0; i < l.n; i++)
		print_message("%-8s %-42s %-20s %s\n", probe_state_name(l.v[i].state), l.v[i].rule, l.v[i].layer,
			      l.v[i].detail);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(f.landlock, probe_landlock());
	assert_int_equal(f.notify && !probe_has_notify(), 0);
	assert_true(f.filter > 100 || !probe_has_notify());
}

static void bubblewrap_is_looked_for_in_absolute_directories_only(void **state)
{
	char dir[] = "/tmp/agate-test-probe-XXXXXX", path[128], old[4096], got[4096];
	FILE *f;

	(void)state;
	snprintf(old, sizeof(old), "%s", getenv("PATH") ? getenv("PATH") : "");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/bwrap", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(setenv("PATH", dir, 1), 0);
	assert_int_equal(probe_bwrap(got, sizeof(got)), 0);
	assert_string_equal(got, path);
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(setenv("PATH", ".::bwrap", 1), 0);
	if (probe_bwrap(got, sizeof(got)) == 0)
		assert_string_not_equal(got, path);
	assert_int_equal(setenv("PATH", old, 1), 0);
	assert_int_equal(chdir("/"), 0);
	unlink(path);
	rmdir(dir);
}

static void the_quick_look_says_what_is_missing_and_the_next_step(void **state)
{
	struct err err = { 0 };

	(void)state;
	if (probe_native(&err) < 0) {
		assert_int_equal(err.code, ERR_MISSING);
		assert_true(err.msg[0] && err.hint[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_with_everything_has_every_rule_and_nothing_to_mend),
		cmocka_unit_test(whatever_is_not_held_comes_with_a_step_that_mends_it),
		cmocka_unit_test(without_namespaces_there_is_nothing_unless_the_second_layout_is_there),
		cmocka_unit_test(each_reason_bubblewrap_gives_has_its_own_hint),
		cmocka_unit_test(old_kernels_lose_what_they_lack_and_no_more),
		cmocka_unit_test(trying_it_here_ends_and_leaves_no_child),
		cmocka_unit_test(bubblewrap_is_looked_for_in_absolute_directories_only),
		cmocka_unit_test(the_quick_look_says_what_is_missing_and_the_next_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
