#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "runner/runner.h"
#include "sandbox/spec.h"

/* Notes what happened, in order: "started out:hi err:oh ended". */
struct seen {
	struct loop *loop;
	struct buf log;
	struct run_end end;
	char why[512];
	int64_t pid;
	int ends;
	struct runner_run *run;
	int signal_at_start, signal_on_output;
};

static void started(void *cookie, int64_t pid)
{
	struct seen *s = cookie;

	s->pid = pid;
	buf_adds(&s->log, "started ");
	if (s->signal_at_start)
		runner_none.kill(s->run, s->signal_at_start);
}

static void output(void *cookie, int stream, const char *data, size_t len)
{
	struct seen *s = cookie;

	buf_addf(&s->log, "%s:%.*s ", stream == 1 ? "out" : "err", (int)len, data);
	if (s->signal_on_output)
		runner_none.kill(s->run, s->signal_on_output);
}

static void violation(void *cookie, const struct violation *v)
{
	(void)cookie;
	fail_msg("no sandbox, but a violation: %s", v->action);
}

static void event(void *cookie, const struct event *ev)
{
	(void)cookie;
	(void)ev;
}

static void ended(void *cookie, const struct run_end *end)
{
	struct seen *s = cookie;

	buf_adds(&s->log, "ended");
	s->end = *end;
	s->ends++;
	if (end->err)
		snprintf(s->why, sizeof(s->why), "%s", end->err->msg);
	loop_stop(s->loop);
}

static const struct run_ops ops = {
	.started = started, .output = output, .violation = violation, .event = event, .ended = ended,
};

static char *const plain_env[] = { (char *)"PATH=/usr/bin:/bin", NULL };

static void run_in(const struct sandbox_spec *spec, char *const argv[], struct seen *s)
{
	struct err err = { 0 };
	struct run_params p = {
		.spec = spec, .argv = argv, .env = plain_env, .capture = 1, .ops = &ops, .cookie = s,
	};

	s->loop = loop_new(&err);
	assert_non_null(s->loop);
	if (runner_none.start(s->loop, &p, &s->run, &err) < 0)
		fail_msg("cannot start: %s", err.msg);
	assert_int_equal(s->log.len, 0);	/* nothing is told before the loop runs */
	alarm(30);
	loop_run(s->loop);
	alarm(0);
	assert_int_equal(s->ends, 1);
	runner_none.free(s->run);
	loop_free(s->loop);
}

static void sh(const char *script, struct seen *s)
{
	const struct sandbox_spec spec = { 0 };
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };

	run_in(&spec, argv, s);
}

static void the_end_comes_after_the_last_byte_of_output(void **state)
{
	struct seen s = { 0 };

	(void)state;
	sh("printf hi; sleep 0.1; printf oh >&2; sleep 0.1; exit 7", &s);
	assert_string_equal(s.log.data, "started out:hi err:oh ended");
	assert_int_equal(s.end.kind, END_EXITED);
	assert_int_equal(s.end.status, 7);
	buf_done(&s.log);
}

static void a_signal_is_told_as_a_signal(void **state)
{
	struct seen s = { 0 };

	(void)state;
	sh("kill -TERM $$", &s);
	assert_int_equal(s.end.kind, END_SIGNALED);
	assert_int_equal(s.end.status, SIGTERM);
	buf_done(&s.log);
}

static void a_signal_sent_on_reaches_the_command_which_may_handle_it(void **state)
{
	struct seen s = { .signal_on_output = SIGTERM };

	(void)state;
	sh("trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done", &s);
	assert_int_equal(s.end.kind, END_EXITED);
	assert_int_equal(s.end.status, 9);
	buf_done(&s.log);
}

static void a_command_that_is_not_there_is_told_from_the_loop(void **state)
{
	const struct sandbox_spec spec = { 0 };
	char *const argv[] = { (char *)"no-such-program-here", NULL };
	struct seen s = { 0 };

	(void)state;
	run_in(&spec, argv, &s);
	assert_int_equal(s.end.kind, END_NO_COMMAND);
	assert_non_null(strstr(s.why, "no-such-program-here"));
	buf_done(&s.log);
}

/* The pid a script printed, once it is gone. */
static int is_gone(long pid)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	for (int i = 0; i < 200; i++) {
		if (kill((pid_t)pid, 0) < 0 && errno == ESRCH)
			return 1;
		nanosleep(&pause, NULL);
	}
	return 0;
}

static long printed_pid(const struct seen *s)
{
	const char *p = strstr(s->log.data, "out:");

	assert_non_null(p);
	return strtol(p + 4, NULL, 10);
}

static void what_the_command_left_behind_dies_with_it(void **state)
{
	struct seen s = { 0 };

	(void)state;
	/* A daemon in its own session, its parent gone, holding the output open. */
	sh("setsid sh -c 'setsid sleep 1000 & echo $!; exit' & wait; sleep 0.2", &s);
	assert_int_equal(s.end.kind, END_EXITED);
	assert_true(is_gone(printed_pid(&s)));
	buf_done(&s.log);
}

static void the_wall_time_ends_the_whole_tree(void **state)
{
	const struct sandbox_spec spec = { .limits = { .wall_ms = 300 } };
	char *const argv[] = { (char *)"sh", (char *)"-c",
		(char *)"trap '' TERM; setsid sleep 1000 & echo $!; sleep 1000; sleep 1000", NULL };
	struct seen s = { 0 };
	int64_t from = clock_mono_ms();

	(void)state;
	run_in(&spec, argv, &s);
	assert_int_equal(s.end.kind, END_TIMEOUT);
	assert_true(is_gone(printed_pid(&s)));
	assert_in_range(clock_mono_ms() - from, 300, 8000);
	buf_done(&s.log);
}

static void being_killed_is_told_as_that(void **state)
{
	struct seen s = { .signal_at_start = SIGKILL };

	(void)state;
	sh("sleep 1000", &s);
	assert_int_equal(s.end.kind, END_KILLED);
	assert_int_equal(s.end.status, SIGKILL);
	buf_done(&s.log);
}

static void it_starts_where_the_workspace_really_is(void **state)
{
	struct bind_mount binds[] = {
		{ (char *)"/usr", (char *)"/made/up", 0 },
		{ (char *)"/usr/share", (char *)"/made/up/inner", 1 },
	};
	const struct { const char *guest, *host; } cases[] = {
		{ "/made/up", "out:/usr\n " },
		{ "/made/up/bin", "out:/usr/bin\n " },
		{ "/made/up/inner/man", "out:/usr/share/man\n " },
		{ NULL, "out:/usr\n " },
	};
	char *const argv[] = { (char *)"pwd", NULL };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct sandbox_spec spec = {
			.binds = binds, .n_binds = 2, .guest_workdir = (char *)cases[i].guest,
		};
		struct seen s = { 0 };

		run_in(&spec, argv, &s);
		assert_non_null(strstr(s.log.data, cases[i].host));
		buf_done(&s.log);
	}
}

static void abandoning_it_kills_it(void **state)
{
	const struct sandbox_spec spec = { 0 };
	char *const argv[] = { (char *)"sleep", (char *)"1000", NULL };
	struct seen s = { 0 };
	struct err err = { 0 };
	struct run_params p = { .spec = &spec, .argv = argv, .env = plain_env, .ops = &ops, .cookie = &s };

	(void)state;
	s.loop = loop_new(&err);
	assert_int_equal(runner_none.start(s.loop, &p, &s.run, &err), 0);
	runner_none.free(s.run);
	loop_free(s.loop);
	assert_int_equal(s.ends, 0);
}

static void backend_words_are_read_as_the_seeds_have_it(void **state)
{
	(void)state;
	assert_int_equal(backend_parse(NULL), BACKEND_NONE);
	assert_int_equal(backend_parse("none"), BACKEND_NONE);
	assert_int_equal(backend_parse("native"), BACKEND_NATIVE);
	assert_int_equal(backend_parse("docker"), BACKEND_NATIVE);
	assert_int_equal(backend_parse("microvm"), BACKEND_MICROVM);
	assert_int_equal(backend_parse("whatever"), BACKEND_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_comes_after_the_last_byte_of_output),
		cmocka_unit_test(a_signal_is_told_as_a_signal),
		cmocka_unit_test(a_signal_sent_on_reaches_the_command_which_may_handle_it),
		cmocka_unit_test(a_command_that_is_not_there_is_told_from_the_loop),
		cmocka_unit_test(what_the_command_left_behind_dies_with_it),
		cmocka_unit_test(the_wall_time_ends_the_whole_tree),
		cmocka_unit_test(being_killed_is_told_as_that),
		cmocka_unit_test(it_starts_where_the_workspace_really_is),
		cmocka_unit_test(abandoning_it_kills_it),
		cmocka_unit_test(backend_words_are_read_as_the_seeds_have_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
