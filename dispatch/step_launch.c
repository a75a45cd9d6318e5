/*
 * Step 7: the command runs, through an adapter, and what happens goes into the
 * feed until the adapter says that it ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/signals.h"
#include "db/db.h"
#include "db/journal.h"
#include "db/runs.h"
#include "dispatch/channel_run.h"
#include "dispatch/exit.h"
#include "dispatch/run_internal.h"
#include "dispatch/show.h"

#define GRACE_MS 5000	/* for a command that was asked to stop */
#define LASTING_MS 200	/* a run that takes longer gets its row brought up to date meanwhile */

/* A run that is going on, for as long as the loop turns. */
struct flight {
	struct run *run;
	struct watch *signals[4];
	struct watch *grace, *lasting;
	struct channel_run *channel;	/* NULL: the agent is not spoken with */
	int asked;		/* the signal that was passed on, or 0 */
};

static struct json *one_text(const char *key, const char *value)
{
	OWN(json) struct json *j = json_new_object();

	return j && json_add_str(j, key, value) ? TAKE(j) : NULL;
}

/* --- what the adapter asks, and tells --- */

static int write_plan(struct db *db, void *cookie, struct err *err)
{
	struct run *run = cookie;
	const struct workspace *ws = &run->ws;
	const struct run_row row = {
		.workspace_path = ws->path, .strategy = workspace_strategy_name(ws->strategy),
		.branch = ws->branch, .base_commit = ws->base[0] ? ws->base : NULL,
		.spec = run->spec_text, .spec_digest = run->digest, .cwd = run->spec.guest_workdir,
	};

	return run_update(db, run->id, &row, err);
}

/* All that was decided, and the spec, before the command can run. The workspace's path tells recover that it could. */
static int on_commit(void *cookie, struct err *err)
{
	struct run *run = ((struct flight *)cookie)->run;

	feed_event(&run->feed, "starting", one_text("backend", backend_name(run->runner->backend)));
	return feed_flush_with(&run->feed, write_plan, run, err);
}

/* A short run is told of when it is over; one that lasts is to be seen while it does. */
static void on_lasting(void *cookie)
{
	struct flight *f = cookie;
	const struct run_row row = { .state = run_state_name(RUN_ACTIVE), .started_us = f->run->started_us };
	struct err err = { 0 };

	f->lasting = NULL;
	if (run_update(f->run->desk.db, f->run->id, &row, &err) < 0)
		feed_fail(&f->run->feed, &err);
}

static void on_started(void *cookie, int64_t pid)
{
	struct flight *f = cookie;
	OWN(json) struct json *j = json_new_object();

	f->run->has_started = 1;
	user_config_wipe(&f->run->config);	/* the egress helper has them */
	f->run->started_us = clock_wall_us();
	if (j && pid && !json_add_int(j, "pid", pid))
		say("out of memory");
	feed_event(&f->run->feed, "ready", TAKE(j));
	f->lasting = loop_timer(f->run->loop, LASTING_MS, 0, on_lasting, f);
	if (f->channel)
		channel_run_started(f->channel);
}

static void on_output(void *cookie, int stream, const char *data, size_t len)
{
	const struct flight *f = cookie;

	if (f->channel)
		channel_run_output(f->channel, stream, data, len);
	else
		feed_output(&f->run->feed, stream, data, len);
}

static void on_violation(void *cookie, const struct violation *v)
{
	struct run *run = ((struct flight *)cookie)->run;

	run->feed.sink.violation(&run->feed.sink, v);
}

/* Nobody can use what nobody knows of; a port that was picked is known from here alone. */
static void tell_published(const struct json *data)
{
	const char *address = json_str(json_get(data, "address"));
	int64_t port = 0, inside = 0;

	json_int(json_get(data, "port"), &port);
	json_int(json_get(data, "inside"), &inside);
	if (address)
		say(strchr(address, ':') ? "port %lld inside is [%s]:%lld here" : "port %lld inside is %s:%lld here",
		    (long long)inside, address, (long long)port);
}

static void on_event(void *cookie, const struct event *ev)
{
	struct run *run = ((struct flight *)cookie)->run;

	if (!strcmp(ev->type, "network.published") && !run->req->json)
		tell_published(ev->data);

	run->feed.sink.event(&run->feed.sink, ev);
}

/* How each kind of end is told; the status is the command's own where .status is -1. */
static const struct { const char *kind; int status; } ends[END_NUM] = {
	[END_EXITED] = { "exited", -1 }, [END_SIGNALED] = { "signaled", -1 },
	[END_TIMEOUT] = { "timeout", EXIT_TIMEOUT }, [END_KILLED] = { "killed", EXIT_SIGNAL + 9 },
	[END_NO_COMMAND] = { "no-command", EXIT_NO_COMMAND }, [END_FAILED] = { "failed", EXIT_FAILED },
	[END_LIMIT] = { "limit", EXIT_SIGNAL + 9 },
};

static void on_ended(void *cookie, const struct run_end *end)
{
	const struct flight *f = cookie;
	struct run *run = f->run;
	int status = ends[end->kind].status;
	struct err why = { 0 };

	if (status < 0)
		status = end->kind == END_SIGNALED ? EXIT_SIGNAL + end->status : end->status;
	if (end->err)
		why = *end->err;
	else if (end->kind == END_TIMEOUT)
		err_set(&why, ERR_LIMIT, 0, "ended at its wall time of %lld ms", (long long)run->req->timeout_ms);
	if (f->channel)
		channel_run_ended(f->channel, end->kind == END_EXITED ? end->status : -1);
	end_set(run, ends[end->kind].kind, status, &why);
	loop_stop(run->loop);
}

static const struct run_ops ops = {
	.commit = on_commit, .started = on_started, .output = on_output, .violation = on_violation, .event = on_event,
	.ended = on_ended,
};

/* A run whose records cannot be written, or whose reader is gone, must end. */
static void on_feed_failure(void *cookie)
{
	struct run *run = ((struct flight *)cookie)->run;

	end_set(run, "failed", EXIT_FAILED, &run->feed.failure);
	if (run->process)
		run->runner->kill(run->process, SIGKILL);
}

/* --- signals to us, while the command runs --- */

/* Did the terminal send it to the command as well? Then it is the command's to answer. */
static int came_from_terminal(int signum)
{
	OWN(fd) int tty = -1;

	if (signum != SIGINT && signum != SIGQUIT)
		return 0;
	tty = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
	return tty >= 0 && tcgetpgrp(tty) == getpgrp();
}

static void on_grace_over(void *cookie)
{
	struct flight *f = cookie;

	f->grace = NULL;
	f->run->runner->kill(f->run->process, SIGKILL);
}

/* The command gets its own chance to end well; a second signal is not patient. */
static void on_signal(void *cookie, int signum)
{
	struct flight *f = cookie;

	if (came_from_terminal(signum))
		return;
	if (f->asked && signum != SIGHUP) {
		f->run->runner->kill(f->run->process, SIGKILL);
		return;
	}
	f->asked = signum;
	f->run->runner->kill(f->run->process, signum);
	if (!f->grace)
		f->grace = loop_timer(f->run->loop, GRACE_MS, 0, on_grace_over, f);
}

static int watch_signals(struct flight *f, struct err *err)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		f->signals[i] = loop_signal(f->run->loop, signals[i], on_signal, f);
		if (!f->signals[i])
			return err_set(err, ERR_NOMEM, 0, "out of memory");
	}
	return 0;
}

/* --- the step --- */

static struct json *exit_json(const struct run *run)
{
	OWN(json) struct json *j = json_new_object();

	if (!j || !json_add_int(j, "exitCode", run->end.status) || !json_add_str(j, "kind", run->end.kind) ||
	    (run->end.reason[0] && !json_add_str(j, "reason", run->end.reason)))
		return NULL;
	return TAKE(j);
}

/* "exit" comes after the last byte of output; one that did not end by itself is told as "killed" before. */
static void tell_end(struct run *run)
{
	static const char *const killed[] = { "timeout", "killed", "limit", "failed" };

	for (size_t i = 0; i < ARRAY_LEN(killed); i++)
		if (!strcmp(run->end.kind, killed[i]))
			feed_event(&run->feed, "killed", one_text("reason", run->end.reason[0] ?
								  run->end.reason : run->end.kind));
	feed_event(&run->feed, "exit", exit_json(run));
}

/* A claude that prints is spoken with; one that talks with a person asks that person. */
static int open_channel(struct flight *f, struct err *err)
{
	if (f->run->seam.channel.is_print)
		return channel_run_open(f->run, &f->channel, err);
	if (f->run->req->agent == AGENT_CLAUDE)
		say("an interactive claude asks the person at its terminal; the sandbox and the managed settings hold it");
	return 0;
}

static int fly(struct flight *f, struct err *err)
{
	struct run *run = f->run;
	struct run_params params = {
		.spec = &run->spec, .argv = run->seam.argv.v, .env = run->env.v, .capture = run->req->json,
		.hosts_file = run->hosts, .run_dir = run->dir, .agate_path = run->desk.place.self,
		.init_path = run->desk.place.init, .data_dir = run->desk.place.data,
		.egress = run->config.egress, .secrets = run->config.secrets, .secrets_len = run->config.secrets_len,
		.looks_into_tls = run->config.looks_into_tls && run->spec.network_enabled,
		.proxies = run->proxies, .net_log = run->req->net_log, .ignored_signals = signals_ignored(),
		/* Who denies a path by name wants to know who tried it. */
		.audit_reads = run->req->audit_reads || run->req->deny_read.n, .ops = &ops, .cookie = f,
	};

	if (open_channel(f, err) < 0)
		return -1;
	if (f->channel) {
		params.capture = 1;
		params.input = channel_run_input(f->channel);
	}
	if (watch_signals(f, err) < 0 || feed_attach(&run->feed, run->loop, on_feed_failure, f, err) < 0 ||
	    run->runner->start(run->loop, &params, &run->process, err) < 0)
		return -1;
	if (run->feed.failure.msg[0])	/* there was no process to end yet */
		run->runner->kill(run->process, SIGKILL);
	if (run_stop_signal)	/* it came before anybody watched */
		on_signal(f, (int)run_stop_signal);
	loop_run(run->loop);
	return 0;
}

static void land(struct flight *f)
{
	for (size_t i = 0; i < ARRAY_LEN(f->signals); i++)
		watch_end(f->signals[i]);
	watch_end(f->grace);
	watch_end(f->lasting);
	channel_run_free(f->channel);
	feed_attach(&f->run->feed, NULL, NULL, NULL, NULL);
}

int step_launch(struct run *run, struct err *err)
{
	struct flight f = { .run = run };
	int r;

	ahead_end(&run->ahead);
	run->loop = loop_new(err);
	if (!run->loop)
		return STEP_FAILED;
	r = fly(&f, err);
	land(&f);
	if (r < 0)
		return STEP_FAILED;
	tell_end(run);
	/* Who reads the events need not wait until all is tidied up. */
	return run->req->json && feed_flush(&run->feed, err) < 0 ? STEP_FAILED : STEP_OVER;
}

void undo_launch(struct run *run)
{
	if (run->process)
		run->runner->free(run->process);
	loop_free(run->loop);
	run->process = NULL;
	run->loop = NULL;
}
