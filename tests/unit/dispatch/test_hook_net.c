/*
 * The net: a child under it is killed, crashes, leaves early; each time its exit
 * status is the one that blocks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "dispatch/hook_net.h"

/* Sanitizers catch some signals for themselves, and report instead. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

struct told {
	int status;		/* exit status, or 1000 + signal */
	char out[256], errors[256];
};

static void read_all(int fd, char *to, size_t size)
{
	size_t n = 0;
	ssize_t r;

	while (n + 1 < size && ((r = read(fd, to + n, size - 1 - n)) > 0 || (r < 0 && errno == EINTR)))
		n += r > 0 ? (size_t)r : 0;
	to[n] = '\0';
	close(fd);
}

static struct told under_net(void (*fn)(int), int arg)
{
	struct told t = { 0 };
	int out[2], errors[2], status;
	pid_t pid;

	assert_int_equal(pipe(out), 0);
	assert_int_equal(pipe(errors), 0);
	pid = fork();
	if (!pid) {
		dup2(out[1], STDOUT_FILENO);
		dup2(errors[1], STDERR_FILENO);
		close(out[0]);
		close(errors[0]);
		close(out[1]);
		close(errors[1]);
		hook_net_up();
		fn(arg);
		exit(0);
	}
	close(out[1]);
	close(errors[1]);
	read_all(out[0], t.out, sizeof(t.out));
	read_all(errors[0], t.errors, sizeof(t.errors));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	t.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
	return t;
}

static void raise_it(int signum)
{
	raise(signum);
	pause();
}

static void every_signal_that_can_be_caught_blocks(void **state)
{
	(void)state;
	for (int s = 1; s <= SIGRTMAX; s++) {
		struct told t;

		if (s == SIGKILL || s == SIGSTOP || s == SIGCHLD || s == SIGURG || s == SIGWINCH || s == SIGCONT ||
		    s == SIGPIPE || (s >= 32 && s < SIGRTMIN))
			continue;
		t = under_net(raise_it, s);
		if (t.status != 2)
			fail_msg("signal %d: status %d", s, t.status);
		assert_string_equal(t.out, "");
		assert_ptr_equal(strstr(t.errors, "agate: denied: "), t.errors);
	}
}

static void raise_blocked(int signum)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(signum, SIG_IGN);
	hook_net_up();
	raise_it(signum);
}

static void signals_the_caller_had_blocked_or_ignored_block_too(void **state)
{
	(void)state;
	assert_int_equal(under_net(raise_blocked, SIGTERM).status, 2);
	assert_int_equal(under_net(raise_blocked, SIGHUP).status, 2);
}

static volatile int depth;

__attribute__((noinline)) static int run_over(int n)
{
	volatile char room[4096];

	room[0] = (char)n;
	depth = n;
	return n < 0 ? room[0] : run_over(n + 1) + room[0];
}

static void overflow(int arg)
{
	run_over(arg);
}

static void null_write(int arg)
{
	volatile int *volatile nowhere = NULL;

	*nowhere = arg;
}

static void call_abort(int arg)
{
	(void)arg;
	abort();
}

static void a_crash_blocks(void **state)
{
	(void)state;
	if (SANITIZED)
		skip();
	assert_int_equal(under_net(null_write, 1).status, 2);
	assert_int_equal(under_net(call_abort, 0).status, 2);
	assert_int_equal(under_net(overflow, 0).status, 2);
}

static void call_exit(int status)
{
	exit(status);
}

static void leaving_by_any_other_way_blocks(void **state)
{
	static const int statuses[] = { 0, 1, 2, 3, 125, 126, 127, 255 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
		assert_int_equal(under_net(call_exit, statuses[i]).status, 2);
}

static void deny(int arg)
{
	(void)arg;
	hook_net_deny("because");
}

static void a_denial_tells_its_reason(void **state)
{
	struct told t = under_net(deny, 0);

	(void)state;
	assert_int_equal(t.status, 2);
	assert_string_equal(t.errors, "agate: denied: because\n");
	assert_string_equal(t.out, "");
}

static void answer(int how)
{
	if (how == 1)
		close(STDOUT_FILENO);
	if (how == 2)
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
	if (how == 3)
		dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO);
	if (how == 4)
		close(STDERR_FILENO);
	hook_net_answered("{}", how == 5 ? 0 : 2);
}

static void an_answer_that_is_heard_is_no_denial(void **state)
{
	struct told t = under_net(answer, 0);

	(void)state;
	assert_int_equal(t.status, 0);
	assert_string_equal(t.out, "{}");
	assert_string_equal(t.errors, "");
	t = under_net(answer, 4);
	assert_int_equal(t.status, 0);
	t = under_net(answer, 5);
	assert_int_equal(t.status, 0);
	assert_string_equal(t.out, "");
}

static void an_answer_nobody_hears_blocks(void **state)
{
	(void)state;
	for (int how = 1; how <= 3; how++)
		assert_int_equal(under_net(answer, how).status, 2);
}

static void answer_into_closed_pipe(int arg)
{
	int p[2];

	(void)arg;
	if (pipe(p) < 0)
		return;
	dup2(p[1], STDOUT_FILENO);
	close(p[0]);
	close(p[1]);
	hook_net_answered("{}", 2);
}

static void a_reader_that_is_gone_blocks(void **state)
{
	(void)state;
	assert_int_equal(under_net(answer_into_closed_pipe, 0).status, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_signal_that_can_be_caught_blocks),
		cmocka_unit_test(signals_the_caller_had_blocked_or_ignored_block_too),
		cmocka_unit_test(a_crash_blocks),
		cmocka_unit_test(leaving_by_any_other_way_blocks),
		cmocka_unit_test(a_denial_tells_its_reason),
		cmocka_unit_test(an_answer_that_is_heard_is_no_denial),
		cmocka_unit_test(an_answer_nobody_hears_blocks),
		cmocka_unit_test(a_reader_that_is_gone_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
