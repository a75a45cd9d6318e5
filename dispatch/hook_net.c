/*
 * What a signal handler may call is little: write(2) and _exit(2) are all that
 * is used here, on memory that was there from the start.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/io.h"
#include "dispatch/hook_net.h"

#define STATUS_BLOCKS 2

static char spare_stack[64 * 1024] __attribute__((aligned(16)));

static void put(const char *s)
{
	/* A stderr that cannot be written changes nothing: the status alone blocks. */
	if (write(STDERR_FILENO, s, strlen(s)) < 0)
		return;
}

static void on_signal(int signum)
{
	char number[] = "00";

	put("agate: denied: ");
	if (signum == SIGALRM) {
		put("the hook did not come to a verdict in time\n");
		_exit(STATUS_BLOCKS);
	}
	number[0] = (char)('0' + signum / 10 % 10);
	number[1] = (char)('0' + signum % 10);
	put("the hook was stopped by signal ");
	put(signum < 10 ? number + 1 : number);
	put(" before it had an answer\n");
	_exit(STATUS_BLOCKS);
}

static void on_exit_unanswered(void)
{
	put("agate: denied: the hook ended without an answer\n");
	_exit(STATUS_BLOCKS);
}

/* What ends or stops a process by default. */
static int is_caught(int signum)
{
	return signum != SIGKILL && signum != SIGSTOP && signum != SIGCHLD && signum != SIGURG &&
		signum != SIGWINCH && signum != SIGCONT && signum != SIGPIPE;
}

void hook_net_up(void)
{
	const stack_t stack = { .ss_sp = spare_stack, .ss_size = sizeof(spare_stack) };
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	const struct itimerval limit = { .it_value = { .tv_sec = HOOK_NET_SECONDS } };
	sigset_t none;

	sigaltstack(&stack, NULL);
	sigfillset(&act.sa_mask);
	for (int s = 1; s <= SIGRTMAX; s++)
		if (is_caught(s))
			sigaction(s, &act, NULL);
	/* A reader that is gone is a failed write, and that is a denial. */
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (setitimer(ITIMER_REAL, &limit, NULL) < 0 || atexit(on_exit_unanswered))
		hook_net_deny("the hook cannot watch over itself");
}

_Noreturn void hook_net_deny(const char *reason)
{
	put("agate: denied: ");
	put(reason);
	put("\n");
	_exit(STATUS_BLOCKS);
}

/* main() fills a closed stdout with /dev/null, where an answer would be written and not heard. */
static int is_heard(void)
{
	struct stat st;

	return !fstat(STDOUT_FILENO, &st) && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISREG(st.st_mode) ||
					       isatty(STDOUT_FILENO));
}

_Noreturn void hook_net_answered(const char *answer, size_t len)
{
	if (len && !is_heard())
		hook_net_deny("nobody reads the answer");
	if (len && io_write_all(STDOUT_FILENO, answer, len) < 0)
		hook_net_deny("the answer could not be written");
	_exit(0);
}
