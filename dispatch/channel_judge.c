#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/approve.h"
#include "dispatch/channel_judge.h"
#include "dispatch/hook_event.h"
#include "dispatch/hook_ruling.h"
#include "dispatch/hook_world.h"
#include "dispatch/run_internal.h"
#include "dispatch/show.h"

/* A call somebody has to be asked about. What the ruling borrows from the event is kept in .copy. */
struct question {
	struct question *next;
	uint64_t id;
	struct channel_judge *judge;
	struct json *copy;
	struct hook_event ev;
	struct ruling ruling;
	struct approve_case c;
	struct approve_means means;
	struct approve_answer answer;
	struct asking *asking;		/* NULL: waits for its turn */
};

struct channel_judge {
	struct run *run;
	void (*decided)(void *cookie, uint64_t id, enum decision d, const char *reason);
	void *cookie;
	struct hook_world world;
	struct strv allow_domain, deny_domain, reads, writes, protected;
	struct ruling_facts facts;
	const char *config_dir;		/* of the agent, into the run's environment */
	int knows_session;
	struct question *questions;	/* oldest first */
	struct watch *poll;
};

/* --- what is decided, put down and told --- */

static struct json *event_json(const struct ruling *r, const struct judgement *said)
{
	OWN(json) struct json *j = json_new_object();

	if (!j || !json_add_str(j, "gate", said->gate) || !json_add_str(j, "call", r->line) ||
	    (said->rule && !json_add_str(j, "rule", said->rule)) ||
	    (said->reason && !json_add_str(j, "reason", said->reason)) ||
	    (said->tool_use && !json_add_str(j, "toolUse", said->tool_use)) ||
	    (said->answered_by && !json_add_str(j, "answeredBy", said->answered_by)))
		return NULL;
	return TAKE(j);
}

/* @a: what a person said; NULL: nobody was asked */
static void conclude(struct channel_judge *j, uint64_t id, struct ruling *r, const struct approve_answer *a)
{
	struct feed *feed = &j->run->feed;
	struct judgement said = ruling_judgement(r);
	const struct violation refusal = ruling_violation(r);
	enum decision d = a && a->outcome == APPROVED ? DECISION_ALLOW : r->decision;
	char reason[sizeof(r->result.reason) + sizeof(a->why) + 32];

	d = d == DECISION_ASK ? DECISION_DENY : d;
	said.verdict = decision_name(d);
	said.answered_by = a ? a->by : NULL;
	said.waited_us = a ? a->waited_us : 0;
	feed_judgement(feed, &said);
	feed_event(feed, d == DECISION_ALLOW ? "gate.allow" : "gate.deny", event_json(r, &said));
	if (d != DECISION_ALLOW)
		feed->sink.violation(&feed->sink, &refusal);
	/* A feed that has failed ends the run; until then nothing more is allowed. */
	if (feed_flush(feed, NULL) < 0)
		d = DECISION_DENY;
	snprintf(reason, sizeof(reason), "agate: %s%s%s", a && d != DECISION_ALLOW ? a->why : "",
		 a && d != DECISION_ALLOW && *a->why ? ": " : "", *ruling_reason(r) ? ruling_reason(r) : decision_name(d));
	j->decided(j->cookie, id, d, reason);
}

/* --- asking a person --- */

static void question_free(struct question *q)
{
	approve_end(q->asking);
	ruling_done(&q->ruling);
	json_free(q->copy);
	free(q);
}

static enum approver whom(const struct run_request *req)
{
	if (req->approve >= 0)
		return (enum approver)req->approve;
	return req->json ? APPROVE_NONE : approve_default();
}

static struct json *asked_json(const struct question *q, int64_t id, const char *digest, int64_t expires_us)
{
	OWN(json) struct json *j = json_new_object();
	char expires[CLOCK_TEXT_SIZE];

	clock_text(expires_us, expires);
	return j && json_add_int(j, "id", id) && json_add_str(j, "digest", digest) &&
		json_add_str(j, "command", q->ruling.line) && json_add_str(j, "tool", q->ev.tool) &&
		json_add_str(j, "rule", q->ruling.result.name) && json_add_str(j, "reason", q->ruling.result.reason) &&
		json_add_str(j, "expires", expires) ? TAKE(j) : NULL;
}

static void on_put(void *cookie, int64_t id, const char *digest, int64_t expires_us)
{
	const struct question *q = cookie;
	struct run *run = q->judge->run;

	feed_event(&run->feed, "approval.asked", asked_json(q, id, digest, expires_us));
	feed_flush(&run->feed, NULL);
	if (!run->req->json && q->means.how == APPROVE_DB)
		say("run '%s' waits for an answer: agate approvals allow %lld, or deny %lld", run->id, (long long)id,
		    (long long)id);
}

/* Rules may have come while somebody thought: one that denies still counts. */
static void answered(struct channel_judge *j, struct question *q)
{
	OWN(ruling) struct ruling now = { 0 };

	if (q->answer.outcome == APPROVED && ruling_make(&j->facts, &q->ev, &now, NULL) < 0)
		q->answer.outcome = APPROVE_NOBODY;
	if (q->answer.outcome == APPROVED && now.decision == DECISION_DENY)
		conclude(j, q->id, &now, NULL);
	else
		conclude(j, q->id, &q->ruling, &q->answer);
}

/* At a terminal one question is put at a time; elsewhere all at once. */
static int may_be_put(const struct channel_judge *j, const struct question *q)
{
	return q->means.how != APPROVE_TTY || j->questions == q;
}

/* 1 when it is over. */
static int advance(struct channel_judge *j, struct question *q)
{
	struct err err = { 0 };

	if (!q->asking) {
		if (!may_be_put(j, q))
			return 0;
		approve_begin(j->run->desk.db, &q->c, &q->means, &q->answer, &q->asking, &err);
		if (!q->asking)
			return 1;
	}
	return approve_poll(q->asking, &err) != 0;
}

static void on_poll(void *cookie)
{
	struct channel_judge *j = cookie;
	struct question **at = &j->questions;

	while (*at) {
		struct question *q = *at;

		if (!advance(j, q)) {
			at = &q->next;
			continue;
		}
		*at = q->next;
		answered(j, q);
		question_free(q);
	}
	if (j->questions)
		return;
	watch_end(j->poll);
	j->poll = NULL;
}

static int is_open(const struct channel_judge *j, uint64_t id)
{
	for (const struct question *q = j->questions; q; q = q->next)
		if (q->id == id)
			return 1;
	return 0;
}

/* The event as the question's own, since the agent's line is gone when the answer comes. */
static int keep_event(struct question *q, const struct hook_event *ev)
{
	struct json *j = q->copy = json_new_object();

	if (!j || !json_add_str(j, "tool", ev->tool) || !json_add_copy(j, "input", ev->input) ||
	    !json_add_str(j, "cwd", ev->cwd) || !json_add_str(j, "use", ev->tool_use))
		return -1;
	q->ev = *ev;
	q->ev.tool = json_str(json_get(j, "tool"));
	q->ev.input = json_get(j, "input");
	q->ev.cwd = json_str(json_get(j, "cwd"));
	q->ev.tool_use = json_str(json_get(j, "use"));
	q->ev.session = q->ev.transcript = NULL;
	return 0;
}

static struct question *question_new(struct channel_judge *j, uint64_t id, const struct hook_event *ev)
{
	struct question *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->id = id;
	q->judge = j;
	if (keep_event(q, ev) < 0 || ruling_make(&j->facts, &q->ev, &q->ruling, NULL) < 0) {
		question_free(q);
		return NULL;
	}
	q->c = (struct approve_case){
		.req = &q->ruling.request, .res = &q->ruling.result, .run_id = j->run->id, .tool_use = q->ruling.tool_use,
		.input = q->ruling.request.line ? NULL : q->ruling.digest, .rules = q->ruling.book.digest,
	};
	q->means = (struct approve_means){
		.how = whom(j->run->req), .timeout_ms = j->run->req->approve_timeout_ms, .asked = on_put, .cookie = q,
	};
	return q;
}

static void ask_person(struct channel_judge *j, struct question *q)
{
	struct question **at = &j->questions;

	while (*at)
		at = &(*at)->next;
	*at = q;
	on_poll(j);
	if (!is_open(j, q->id) || j->poll)
		return;
	j->poll = loop_timer(j->run->loop, APPROVE_POLL_MS, APPROVE_POLL_MS, on_poll, j);
	if (!j->poll) {
		struct err err = { 0 };

		err_set(&err, ERR_NOMEM, 0, "out of memory");
		feed_fail(&j->run->feed, &err);
	}
}

/* --- a call --- */

static void learn_session(struct channel_judge *j, const struct hook_event *ev)
{
	if (j->knows_session || !ev->transcript)
		return;
	j->knows_session = 1;
	hook_world_agent(&j->world, j->config_dir, ev->transcript, NULL);
}

void channel_judge_asked(struct channel_judge *j, uint64_t id, const struct hook_event *ev)
{
	struct question *q;

	learn_session(j, ev);
	q = question_new(j, id, ev);
	if (!q) {
		j->decided(j->cookie, id, DECISION_DENY, "agate: the call could not be judged");
	} else if (q->ruling.decision == DECISION_ASK) {
		ask_person(j, q);
	} else {
		conclude(j, id, &q->ruling, NULL);
		question_free(q);
	}
}

void channel_judge_withdrawn(struct channel_judge *j, uint64_t id)
{
	for (struct question **at = &j->questions; *at; at = &(*at)->next) {
		struct question *q = *at;

		if (q->id != id)
			continue;
		*at = q->next;
		question_free(q);
		return;
	}
}

/* --- what it judges by --- */

static int add_guests(const struct bind_list *l, struct strv *to)
{
	for (size_t i = 0; i < l->n; i++)
		if (strv_add(to, l->bind[i].guest) < 0)
			return -1;
	return 0;
}

static int add_protected(struct channel_judge *j)
{
	const struct run *run = j->run;

	for (size_t i = 0; i < run->originals.n; i++)
		if (strcmp(run->originals.v[i], run->repo.root) != 0 && strv_add(&j->protected, run->originals.v[i]) < 0)
			return -1;
	return 0;
}

static const char *find_config_dir(const struct run *run)
{
	static const char name[] = "CLAUDE_CONFIG_DIR=/";

	for (size_t i = 0; i < run->env.n; i++)
		if (!strncmp(run->env.v[i], name, sizeof(name) - 1) && path_is_clean(run->env.v[i] + sizeof(name) - 2))
			return run->env.v[i] + sizeof(name) - 2;
	return "/nowhere";
}

/* Ports of this machine that were given to the run are no question. */
static int add_host_ports(struct channel_judge *j)
{
	static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };
	const struct strv *ports = &j->run->req->host_port;

	for (size_t i = 0; i < ports->n; i++)
		for (size_t k = 0; k < ARRAY_LEN(names); k++)
			if (strv_addf(&j->allow_domain, "%s:%s", names[k], ports->v[i]) < 0)
				return -1;
	return 0;
}

/* In the sandbox the spec's rules hold, on paths as the agent sees them; without one, the disk is as it is. */
static int make_world(struct channel_judge *j, struct err *err)
{
	struct run *run = j->run;

	if (strv_copy(&j->allow_domain, &run->req->allow_domain) < 0 || add_host_ports(j) < 0 ||
	    strv_copy(&j->allow_domain, &run->config.allow) < 0 || strv_copy(&j->deny_domain, &run->config.deny) < 0 ||
	    strv_copy(&j->deny_domain, &run->req->deny_domain) < 0 || strv_copy(&j->deny_domain, &run->denied_hosts) < 0 ||
	    add_guests(&run->reads, &j->reads) < 0 || add_guests(&run->writes, &j->writes) < 0 || add_protected(j) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (hook_world_init(&j->world, &j->allow_domain, &j->deny_domain, run->desk.place.data,
			    run->spec.network_enabled, err) < 0 ||
	    hook_world_agent(&j->world, j->config_dir, NULL, err) < 0)
		return -1;
	if (run_is_native(run))
		return hook_world_rules(&j->world, &run->spec.deny_write, &run->spec.deny_read, err);
	hook_world_links(&j->world);
	return hook_world_standard(&j->world, &run->desk.place, run->ws.path, err);
}

int channel_judge_new(struct run *run,
		      void (*decided)(void *cookie, uint64_t id, enum decision d, const char *reason), void *cookie,
		      struct channel_judge **ret, struct err *err)
{
	struct channel_judge *j = calloc(1, sizeof(*j));

	if (!j)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	*j = (struct channel_judge){ .run = run, .decided = decided, .cookie = cookie, .config_dir = find_config_dir(run) };
	if (make_world(j, err) < 0) {
		channel_judge_free(j);
		return -1;
	}
	j->facts = (struct ruling_facts){
		.mode = (enum mode)run->req->mode, .is_held = run_is_native(run), .home = run->guest_home,
		.workspace = run_is_native(run) ? run->repo.root : run->ws.path, .root = run->repo.root,
		.space = run->req->workspace_id, .read_roots = &j->reads, .write_roots = &j->writes,
		.protected = &j->protected, .world = &j->world, .db = run->desk.db,
		.ask_network = run->req->network == NETWORK_ASK,
	};
	*ret = j;
	return 0;
}

void channel_judge_free(struct channel_judge *j)
{
	if (!j)
		return;
	watch_end(j->poll);
	while (j->questions) {
		struct question *q = j->questions;

		j->questions = q->next;
		question_free(q);
	}
	hook_world_done(&j->world);
	strv_done(&j->allow_domain);
	strv_done(&j->deny_domain);
	strv_done(&j->reads);
	strv_done(&j->writes);
	strv_done(&j->protected);
	free(j);
}
