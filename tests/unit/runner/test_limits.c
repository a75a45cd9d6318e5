#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/loop.h"
#include "runner/limits.h"
#include "sandbox/spec.h"
#include "tests/unit/runner/group_fixture.h"

static struct loop *loop;
static char told[512];

static void over(void *cookie, const struct err *why)
{
	(void)cookie;
	strcpy(told, why->msg);
	loop_stop(loop);
}

static void give_up(void *cookie)
{
	(void)cookie;
	loop_stop(loop);
}

/* Run @work in a child, watched, until a limit is told or ten seconds have passed. */
static void watch_child(void (*work)(void), const struct spec_limits *limits)
{
	struct limits_watch *w;
	struct watch *late;
	struct err err;
	pid_t pid = fork();

	if (!pid) {
		setpgid(0, 0);
		work();
		_exit(0);
	}
	told[0] = '\0';
	loop = loop_new(&err);
	w = limits_watch(loop, pid, limits, "/", over, NULL, &err);
	assert_non_null(w);
	late = loop_timer(loop, 10000, 0, give_up, NULL);
	assert_non_null(late);
	loop_run(loop);
	limits_end(w);
	loop_free(loop);
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void spin(void)
{
	for (volatile unsigned long i = 0;; i++)
		;
}

static void hog(void)
{
	size_t size = 64u << 20;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(p, 1, size);
	alarm(12);	/* nobody waits for a grandchild */
	pause();
}

/* The hog is a grandchild: what counts is the tree. */
static void hog_below(void)
{
	if (!fork())
		hog();
	pause();
}

static void fork_some(void)
{
	for (int i = 0; i < 8; i++)
		if (!fork()) {
			alarm(12);
			pause();
			_exit(0);
		}
	pause();
}

static void processor_time_over_the_limit_is_told(void **state)
{
	(void)state;
	watch_child(spin, &(struct spec_limits){ .cpu_ms = 300 });
	assert_memory_equal(told, "processor time: ", 16);
}

static void memory_of_the_whole_tree_is_told(void **state)
{
	(void)state;
	watch_child(hog_below, &(struct spec_limits){ .memory_bytes = 32u << 20 });
	assert_memory_equal(told, "memory: ", 8);
}

static void using_all_processes_is_told(void **state)
{
	(void)state;
	watch_child(fork_some, &(struct spec_limits){ .pids = 5 });
	assert_string_equal(told, "processes: the run used all of its 5");
}

static void usage_counts_what_is_there(void **state)
{
	struct tree_usage u;

	(void)state;
	assert_int_equal(tree_usage(getpid(), &u), 0);
	assert_true(u.tasks >= 1);
	assert_true(u.memory_bytes > 0);
	assert_int_equal(tree_usage(0x7ffffff0, &u), -1);
}

/* --- with a control group: the kernel holds, and we tell --- */

static struct cgroup *group;

static void at_once(void *cookie)
{
	void (*change)(void) = *(void (**)(void))cookie;

	change();
}

/* A child with a group watched; @change happens to the group's files after a moment. Ends after @ms. */
static void watch_group(void (*work)(void), const struct spec_limits *limits, void (*change)(void), uint64_t ms, int last)
{
	struct limits_watch *w;
	struct err err = { 0 };
	pid_t pid = fork();

	if (!pid) {
		setpgid(0, 0);
		work();
		_exit(0);
	}
	told[0] = '\0';
	group_setup(1);
	assert_int_equal(cgroup_make(&group_host, "agate-x", &(struct cgroup_limits){ .pids = 5 }, &group, &err), 0);
	loop = loop_new(&err);
	w = limits_watch(loop, pid, limits, "/", over, NULL, &err);
	assert_non_null(w);
	limits_leave_to(w, group);
	assert_non_null(loop_timer(loop, 300, 0, at_once, &change));
	assert_non_null(loop_timer(loop, ms, 0, give_up, NULL));
	if (last) {
		change();
		limits_last(w);
	} else {
		loop_run(loop);
	}
	limits_end(w);
	loop_free(loop);
	cgroup_end(group, NULL);
	group_teardown();
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void nothing(void)
{
}

static void kills_one(void)
{
	group_set(group, "memory.events", "oom_kill 1\n");
}

static void refuses_once(void)
{
	group_set(group, "pids.events", "max 3\n");
}

static void fills_up(void)
{
	group_set(group, "pids.events", "max 3\n");
	group_set(group, "pids.current", "5\n");
}

static void loses_its_controllers(void)
{
	group_set(group, "memory.events", "");
}

static void memory_and_processes_are_the_groups_to_hold(void **state)
{
	(void)state;
	watch_group(hog_below, &(struct spec_limits){ .memory_bytes = 32u << 20 }, nothing, 1200, 0);
	assert_string_equal(told, "");
	watch_group(fork_some, &(struct spec_limits){ .pids = 5 }, nothing, 1200, 0);
	assert_string_equal(told, "");
}

static void what_the_kernel_killed_for_memory_is_told(void **state)
{
	(void)state;
	watch_group(fork_some, &(struct spec_limits){ .memory_bytes = 4096 }, kills_one, 5000, 0);
	assert_string_equal(told, "memory: the run used all of its 4096 bytes");
	watch_group(fork_some, &(struct spec_limits){ .pids = 5 }, kills_one, 5000, 0);
	assert_string_equal(told, "memory: the kernel ended the run, as there was none left");
}

/* The whole tree may be gone before the next sample. */
static void what_the_kernel_killed_last_is_told_too(void **state)
{
	(void)state;
	watch_group(fork_some, &(struct spec_limits){ .memory_bytes = 4096 }, kills_one, 5000, 1);
	assert_string_equal(told, "memory: the run used all of its 4096 bytes");
	watch_group(fork_some, &(struct spec_limits){ .memory_bytes = 4096 }, nothing, 5000, 1);
	assert_string_equal(told, "");
}

static void a_full_group_is_told_but_a_moments_peak_is_not(void **state)
{
	(void)state;
	watch_group(spin, &(struct spec_limits){ .pids = 5 }, refuses_once, 1500, 0);
	assert_string_equal(told, "");
	watch_group(spin, &(struct spec_limits){ .pids = 5 }, fills_up, 5000, 0);
	assert_string_equal(told, "processes: the run used all of its 5");
}

static void processor_time_is_still_watched(void **state)
{
	(void)state;
	watch_group(spin, &(struct spec_limits){ .cpu_ms = 300 }, nothing, 5000, 0);
	assert_memory_equal(told, "processor time: ", 16);
}

static void what_the_group_does_not_hold_any_more_is_watched_again(void **state)
{
	(void)state;
	watch_group(hog_below, &(struct spec_limits){ .memory_bytes = 32u << 20 }, loses_its_controllers, 5000, 0);
	assert_memory_equal(told, "memory: ", 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processor_time_over_the_limit_is_told),
		cmocka_unit_test(memory_of_the_whole_tree_is_told),
		cmocka_unit_test(using_all_processes_is_told),
		cmocka_unit_test(usage_counts_what_is_there),
		cmocka_unit_test(memory_and_processes_are_the_groups_to_hold),
		cmocka_unit_test(what_the_kernel_killed_for_memory_is_told),
		cmocka_unit_test(what_the_kernel_killed_last_is_told_too),
		cmocka_unit_test(a_full_group_is_told_but_a_moments_peak_is_not),
		cmocka_unit_test(processor_time_is_still_watched),
		cmocka_unit_test(what_the_group_does_not_hold_any_more_is_watched_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
