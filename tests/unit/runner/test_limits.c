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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processor_time_over_the_limit_is_told),
		cmocka_unit_test(memory_of_the_whole_tree_is_told),
		cmocka_unit_test(using_all_processes_is_told),
		cmocka_unit_test(usage_counts_what_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
