#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "dispatch/approve_case.h"
#include "dispatch/exit.h"
#include "dispatch/run.h"
#include "dispatch/run_internal.h"
#include "dispatch/show.h"
#include "gates/redact.h"

volatile sig_atomic_t run_stop_signal;

/* In order; undone backwards. A step that was not reached made nothing, and its undo knows that. */
static const struct step {
	const char *name;	/* read by a person: "cannot make the workspace" */
	int (*make)(struct run *run, struct err *err);
	void (*undo)(struct run *run);
} steps[] = {
	{ "admit the run", step_admit, undo_admit },
	{ "make the workspace", step_workspace, undo_workspace },
	{ "mint a token", step_token, NULL },
	{ "make the environment", step_environment, undo_environment },
	{ "ask the gates", step_gates, undo_gates },
	{ "make the spec", step_spec, undo_spec },
	{ "launch the command", step_launch, undo_launch },
};

static void copy_masked(char *to, size_t size, const char *text)
{
	OWN(mem) char *shown = redact_line(text, NULL);

	snprintf(to, size, "%s", shown ? shown : "(out of memory)");
}

int end_set(struct run *run, const char *kind, int status, const struct err *why)
{
	if (run->end.kind)
		return STEP_OVER;
	run->end.kind = kind;
	run->end.status = status;
	if (why) {
		/* It is kept, and may repeat words of the command. */
		copy_masked(run->end.reason, sizeof(run->end.reason), why->msg);
		copy_masked(run->end.hint, sizeof(run->end.hint), why->hint);
	}
	return STEP_OVER;
}

/* --- signals to us, while no command runs yet --- */

static const int stop_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

static void on_stop(int signum)
{
	static const char text[] = "agate: stopping when this step is done; once more to stop at once\n";
	int saved = errno;

	run_stop_signal = signum;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		errno = 0;	/* nobody is there to read it */
	errno = saved;
}

/*
 * The first one asks us to stop, a second one is not waited for. Called again
 * when the command is over, so that tidying up is not cut off in the middle.
 */
static void catch_signals(const struct sigaction saved[])
{
	const struct sigaction stop = { .sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND };

	for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++)
		sigaction(stop_signals[i], saved[i].sa_handler != SIG_IGN ? &stop : &saved[i], NULL);
}

static void save_signals(struct sigaction saved[])
{
	run_stop_signal = 0;
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++)
		sigaction(stop_signals[i], NULL, &saved[i]);
}

static void restore_signals(const struct sigaction saved[])
{
	for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++)
		sigaction(stop_signals[i], &saved[i], NULL);
}

/* --- the walk --- */

static int stopped_by_signal(struct run *run)
{
	struct err why = { 0 };

	err_set(&why, ERR_SYS, 0, "stopped by signal %d before the command ran", (int)run_stop_signal);
	return end_set(run, "killed", EXIT_SIGNAL + (int)run_stop_signal, &why);
}

static void make_all(struct run *run, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		int r = steps[i].make(run, err);

		if (r == STEP_FAILED) {
			/* Before there is a run, the message is about what was asked, and says enough. */
			if (i)
				err_wrap(err, "cannot %s", steps[i].name);
			end_set(run, "failed", EXIT_FAILED, err);
		}
		if (r != STEP_DONE)
			return;
		if (run_stop_signal && i + 1 < ARRAY_LEN(steps)) {
			stopped_by_signal(run);
			return;
		}
	}
}

static void undo_all(struct run *run)
{
	for (size_t i = ARRAY_LEN(steps); i-- > 0;)
		if (steps[i].undo)
			steps[i].undo(run);
}

int run_execute(const struct run_request *req, struct err *err)
{
	struct run run = { .req = req };
	struct sigaction saved[ARRAY_LEN(stop_signals)];
	int status;

	save_signals(saved);
	catch_signals(saved);
	make_all(&run, err);
	catch_signals(saved);
	status = run.has_row || run.end.status != EXIT_FAILED ? run.end.status : -1;
	undo_all(&run);
	restore_signals(saved);
	return status;
}
