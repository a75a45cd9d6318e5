/*
 * dispatch/run_internal.h - struct run, for run.c and the step_*.c files alone
 *
 * Each step makes the values named below it and nothing else, in this order;
 * no step changes what an earlier one made.
 */
#ifndef DISPATCH_RUN_INTERNAL_H
#define DISPATCH_RUN_INTERNAL_H

#include <signal.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/strv.h"
#include "dispatch/ahead.h"
#include "dispatch/config.h"
#include "dispatch/desk.h"
#include "dispatch/feed.h"
#include "dispatch/id.h"
#include "dispatch/lookup.h"
#include "dispatch/request.h"
#include "dispatch/seam.h"
#include "runner/runner.h"
#include "sandbox/spec.h"
#include "worktree/change.h"
#include "worktree/programs.h"
#include "worktree/repo.h"
#include "worktree/workspace.h"

struct loop;

/* What a step came to. */
enum step_result {
	STEP_FAILED = -1,	/* err says why */
	STEP_DONE = 0,
	STEP_OVER = 1,		/* the run ends here, and .end says how */
};

/* How a run ended. */
struct end {
	const char *kind;	/* "exited", "signaled", "timeout", "killed", "denied", "no-command", "failed", "limit" */
	int status;		/* of agate */
	char reason[sizeof(((struct err *)0)->msg)];	/* empty: nothing to say */
	char hint[sizeof(((struct err *)0)->hint)];
};

struct run {
	const struct run_request *req;

	/* admit */
	struct desk desk;
	struct ahead ahead;
	struct repo repo;
	char *git_name, *git_email;	/* who the run is to git */
	struct bind_list reads, writes;	/* --read and --write, resolved */
	struct bind_list sockets;	/* --allow-unix-socket */
	char *hosts;			/* --hosts, absolute; NULL: none */
	struct strv originals;		/* checkouts no run may write */
	struct user_config config;
	const struct runner *runner;
	const char *runner_note;
	char id[RUN_ID_SIZE];
	char *dir;			/* state/runs/ID */
	int has_row;
	struct feed feed;
	int has_feed;

	/* workspace */
	int64_t workspace_entry, launch_entry;	/* of the journal, made with the row; 0: none */
	struct workspace ws;
	int has_workspace;
	char *home;			/* private, host side: dir/home */
	char *guest_home;		/* $HOME of the command: the user's path, or .home where nothing can be bound there */

	/* environment */
	struct run_proxies proxies;	/* of a bare run */
	int has_proxies;
	char *program;			/* argv[0] as found; NULL: not found */
	struct seam seam;
	struct strv config_env;		/* placeholders, and whom to believe */
	struct programs programs;	/* that the repository names for git, where the mode only looks */
	struct strv env;

	/* gates */
	int network_off;		/* a rule denies the run all network */
	struct strv denied_hosts;	/* and these, each by one */

	/* spec */
	struct sandbox_spec spec;
	char *spec_text;
	char digest[DIGEST_HEX_SIZE];

	/* launch */
	struct loop *loop;
	struct runner_run *process;
	int has_started;		/* the command ran: there may be something to keep */
	int64_t started_us;

	/* teardown */
	struct change_set changes;
	int has_changes;		/* .changes was collected */
	int workspace_gone;

	struct end end;
};

/* run_has_view() - 1 if what the run sees may stand elsewhere than where it is */
static inline int run_has_view(const struct run *run)
{
	return run->runner->has_view;
}

/* run_is_native() - 1 if the command will be held by a sandbox */
static inline int run_is_native(const struct run *run)
{
	return run->runner->backend != BACKEND_NONE;
}

/* A signal that came before the command ran, or 0: steps that take long look at it. */
extern volatile sig_atomic_t run_stop_signal;

/* end_set() - decide how the run ends; the first word stands. Always STEP_OVER */
int end_set(struct run *run, const char *kind, int status, const struct err *why);

/* --- pieces that `agate plan` needs as well --- */

/* run_find_host() - the part of step 1 that only looks: repo, reads, writes, hosts, originals */
int run_find_host(struct run *run, struct err *err);

/* run_find_identity() - .git_name and .git_email, a part of run_find_host() */
int run_find_identity(struct run *run, struct err *err);

/* run_make_seam() - .program and .seam; needs .guest_home */
int run_make_seam(struct run *run, struct err *err);

/* run_make_env() - the command's environment with @home as its HOME; needs .seam and .runner */
int run_make_env(const struct run *run, const char *home, struct strv *ret, struct err *err);

/**
 * run_preview() - The spec as it would be, for a run called "plan" that is never made
 * @ret:	checked, with its twins; the caller's to spec_done()
 *
 * What the request and the host do not allow together comes out here, before
 * anything is created. Needs what run_find_host() found.
 */
int run_preview(struct run *run, struct sandbox_spec *ret, struct err *err);

/* run_plan_rules() - what the rules mean for the spec: the network; ERR_POLICY when with them nothing runs */
int run_plan_rules(struct run *run, struct err *err);

/* run_forget_host() - free what run_find_host() and run_make_seam() made */
void run_forget_host(struct run *run);

/* --- the steps, step_*.c; each returns an enum step_result --- */
int step_admit(struct run *run, struct err *err);
int step_workspace(struct run *run, struct err *err);
int step_token(struct run *run, struct err *err);
int step_environment(struct run *run, struct err *err);
int step_gates(struct run *run, struct err *err);
int step_spec(struct run *run, struct err *err);
int step_launch(struct run *run, struct err *err);

/* --- undoing; each is fine with what was never made --- */
void undo_launch(struct run *run);
void undo_spec(struct run *run);
void undo_environment(struct run *run);
void undo_gates(struct run *run);
void undo_workspace(struct run *run);
void undo_admit(struct run *run);

/* report_end() - the words a person gets when all is over */
void report_end(const struct run *run);

#endif
