/*
 * Step 5: may this command run at all? The seam looks at an agent's arguments,
 * the command gate at what a command would do, the guard at what the rules make
 * of that, and where they say so, somebody is asked. What came of it is recorded,
 * whatever it is; a denial is also a refusal like any other.
 *
 * The request does not change while somebody is asked: what runs are the very
 * words whose digest the question was bound to.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/approve.h"
#include "dispatch/exit.h"
#include "dispatch/rulebook.h"
#include "dispatch/run_internal.h"
#include "dispatch/show.h"
#include "gates/guard.h"
#include "gates/redact.h"
#include "sandbox/egress/domain.h"

/* What the step works with. */
struct gating {
	struct run *run;
	char *line;			/* the words joined, secrets masked: for records */
	int is_masked;			/* then spans would point elsewhere */
	struct verdict verdict;		/* of the command gate, or the seam */
	const char *gate;		/* who gave it */
	struct rulebook book;
	struct guard_request req;
	struct guard_result res;
	struct approve_answer answer;
	int was_asked;
};

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

static void gating_done(struct gating *g)
{
	guard_result_done(&g->res);
	verdict_done(&g->verdict);
	rulebook_done(&g->book);
	free(g->line);
}

static void own_gating(struct gating *g)
{
	gating_done(g);
}

static int make_line(struct gating *g)
{
	OWN(strv) struct strv words = { 0 };
	OWN(buf) struct buf b = { 0 };
	size_t each = 0, together = 0;

	if (redact_words((const char *const *)g->run->req->command.v, NULL, &words, &each) < 0)
		return -1;
	buf_adds(&b, "");
	for (size_t i = 0; i < words.n; i++)
		buf_addf(&b, "%s%s", i ? " " : "", words.v[i]);
	g->line = b.failed ? NULL : redact_line(b.data, &together);
	g->is_masked = each || together;
	return g->line ? 0 : -1;
}

/* What is said of words may repeat them. */
static void mask(char *text, size_t size)
{
	OWN(mem) char *shown = redact_line(text, NULL);

	snprintf(text, size, "%s", shown ? shown : "(out of memory)");
}

static void mask_result(struct guard_result *res)
{
	mask(res->reason, sizeof(res->reason));
	for (size_t i = 0; i < res->notes_n; i++)
		mask(res->notes[i].why, sizeof(res->notes[i].why));
}

/* --- the command gate --- */

/* Where the command will be started: as plan.h puts it into the spec. */
static const char *cwd_of(const struct run *run)
{
	return path_under(run->desk.place.cwd, run->repo.root) ? run->desk.place.cwd : run->repo.root;
}

static int judge_command(struct gating *g, struct err *err)
{
	const struct run *run = g->run;
	const struct command_request q = {
		.mode = (enum mode)run->req->mode, .workspace = run->repo.root, .cwd = cwd_of(run), .home = run->guest_home,
	};

	return command_check_argv(&q, (const char *const *)run->req->command.v, &g->verdict, err);
}

/* With --network ask a line that reaches out has to be asked about, too. */
static void ask_for_network(const struct run *run, struct verdict *v)
{
	if (run->req->network != NETWORK_ASK || v->decision != DECISION_ALLOW)
		return;
	for (size_t i = 0; i < v->effects_n; i++) {
		if (v->effects[i].class != EFFECT_NETWORK_EGRESS)
			continue;
		v->decision = DECISION_ASK;
		snprintf(v->rule, sizeof(v->rule), "network ask");
		snprintf(v->reason, sizeof(v->reason), "it reaches out, and --network ask wants somebody asked");
		v->span_start = v->effects[i].span_start;
		v->span_end = v->effects[i].span_end;
		return;
	}
}

/* The seam's no in the shape of the command gate's. */
static void seam_verdict(struct verdict *v, const struct err *why)
{
	v->decision = DECISION_DENY;
	snprintf(v->rule, sizeof(v->rule), "arguments that switch mediation off");
	snprintf(v->reason, sizeof(v->reason), "%.250s", why->msg);
}

static int first_verdict(struct gating *g, struct err *err)
{
	struct err why = { 0 };

	g->gate = "command";
	if (seam_check(g->run->req, &why) < 0) {
		g->gate = "seam";
		seam_verdict(&g->verdict, &why);
		return 0;
	}
	if (g->run->req->agent != AGENT_BASH)
		return 0;	/* what it does is judged call by call */
	if (judge_command(g, err) < 0)
		return -1;
	ask_for_network(g->run, &g->verdict);
	return 0;
}

/* --- the guard --- */

static struct rule_owner owner_of(const struct run *run)
{
	return (struct rule_owner){ .space = run->req->workspace_id, .workspace = run->repo.root,
				    .agent = agent_name((enum agent_kind)run->req->agent) };
}

static void judge_rules(struct gating *g)
{
	struct run *run = g->run;
	const struct rule_owner owner = owner_of(run);

	rulebook_load(run->desk.db, run->repo.root, &g->book);
	g->req = (struct guard_request){
		.mode = (enum mode)run->req->mode, .space = owner.space, .agent = owner.agent, .workspace = owner.workspace,
		.argv = (const char *const *)run->req->command.v, .root = run->repo.root, .cwd = cwd_of(run),
		.home = run->guest_home, .verdict = &g->verdict, .now_us = clock_wall_us(),
	};
	guard_judge(&g->req, &g->book.set, &g->res);
	mask_result(&g->res);
	if (!strcmp(g->res.gate, "command"))
		g->res.gate = g->gate;
}

static void deny(struct gating *g, const char *name, const char *why)
{
	struct guard_result *res = &g->res;

	res->decision = DECISION_DENY;
	res->gate = "guard";
	res->is_override = 0;
	snprintf(res->name, sizeof(res->name), "%.*s", (int)sizeof(res->name) - 1, name);
	snprintf(res->reason, sizeof(res->reason), "%.*s", (int)sizeof(res->reason) - 1, why);
}

/* Rules about the network hold for all that the run does, and so they are the sandbox's to hold. */
static int judge_network(struct gating *g, const struct rulebook *book, struct err *err)
{
	struct run *run = g->run;
	const struct rule_owner owner = owner_of(run);
	struct domain_set checked = { 0 };
	struct err why = { 0 };
	const struct rule *off;
	int failed;

	if (g->res.decision == DECISION_DENY)
		return 0;
	strv_done(&run->denied_hosts);
	off = rulebook_network(book, &owner, g->req.now_us, &run->denied_hosts, &failed);
	if (failed)
		return no_memory(err);
	run->network_off = off != NULL;
	for (size_t i = 0; i < run->denied_hosts.n && !failed; i++)
		failed = domain_add(&checked, DOMAIN_DENY, run->denied_hosts.v[i], "rules", NULL, &why);
	domain_done(&checked);
	if (failed)
		deny(g, "malformed", why.msg);
	else if ((off || run->denied_hosts.n) && !run_is_native(run))
		deny(g, off ? off->place : "rules for hosts", "rules deny network, and without a sandbox nothing would hold them");
	return 0;
}

/* --- asking --- */

static struct json *asked_json(const struct gating *g, int64_t id, const char *digest, int64_t expires_us)
{
	OWN(json) struct json *j = json_new_object();
	char expires[CLOCK_TEXT_SIZE], classes[256];

	clock_text(expires_us, expires);
	guard_classes(g->res.classes, classes, sizeof(classes));
	return j && json_add_int(j, "id", id) && json_add_str(j, "digest", digest) && json_add_str(j, "command", g->line) &&
		json_add_str(j, "rule", g->res.name) && json_add_str(j, "reason", g->res.reason) &&
		json_add_str(j, "classes", classes) && json_add_bool(j, "override", g->res.is_override) &&
		json_add_str(j, "expires", expires) ? TAKE(j) : NULL;
}

static void on_asked(void *cookie, int64_t id, const char *digest, int64_t expires_us)
{
	struct gating *g = cookie;

	feed_event(&g->run->feed, "approval.asked", asked_json(g, id, digest, expires_us));
	feed_flush(&g->run->feed, NULL);	/* a failed feed ends the run before it starts */
	if (!g->run->req->json && g->run->req->approve == APPROVE_DB)
		say("run '%s' waits for an answer: agate approvals allow %lld, or deny %lld", g->run->id, (long long)id,
		    (long long)id);
}

static void tell_answer(struct gating *g)
{
	static const char *const words[] = {
		[APPROVED] = "allow", [APPROVE_REFUSED] = "deny", [APPROVE_UNANSWERED] = "expired",
		[APPROVE_NOBODY] = "nobody", [APPROVE_STOPPED] = "stopped",
	};
	OWN(json) struct json *j = json_new_object();

	if (j && (!g->answer.id || json_add_int(j, "id", g->answer.id)) &&
	    json_add_str(j, "answer", words[g->answer.outcome]) && json_add_str(j, "by", g->answer.by) &&
	    json_add_int(j, "ms", g->answer.waited_us / 1000))
		feed_event(&g->run->feed, "approval.answered", TAKE(j));
}

static enum approver whom(const struct run_request *req)
{
	if (req->approve >= 0)
		return (enum approver)req->approve;
	return req->json ? APPROVE_NONE : approve_default();
}

/* Rules may have come while somebody thought: one that denies still counts. */
static int judge_once_more(struct gating *g, struct err *err)
{
	OWN(rulebook) struct rulebook now = { 0 };
	OWN(guard_result) struct guard_result res = { 0 };

	rulebook_load(g->run->desk.db, g->run->repo.root, &now);
	g->req.now_us = clock_wall_us();
	guard_judge(&g->req, &now.set, &res);
	mask_result(&res);
	if (res.decision == DECISION_DENY)
		deny(g, res.name, res.reason);
	return judge_network(g, &now, err);
}

static int ask(struct gating *g, struct err *err)
{
	const struct approve_case c = { .req = &g->req, .res = &g->res, .run_id = g->run->id, .rules = g->book.digest };
	const struct approve_means means = {
		.how = whom(g->run->req), .timeout_ms = g->run->req->approve_timeout_ms, .stop = &run_stop_signal,
		.asked = on_asked, .cookie = g,
	};

	g->was_asked = 1;
	if (approve_ask(g->run->desk.db, &c, &means, &g->answer, err) < 0)
		return err_wrap(err, "cannot ask whether the command may run");
	tell_answer(g);
	if (g->answer.outcome != APPROVED)
		return 0;
	g->res.decision = DECISION_ALLOW;
	return judge_once_more(g, err);
}

/* --- the record --- */

static const char *or_null(const char *s)
{
	return s && *s ? s : NULL;
}

static void record_advice(struct gating *g)
{
	for (size_t i = 0; i < g->res.notes_n; i++) {
		const struct guard_note *n = &g->res.notes[i];
		const struct judgement d = {
			.line = g->line, .mode = mode_name(g->req.mode), .verdict = "allow", .gate = "advisory",
			.rule = n->rule->place, .reason = n->why,
		};
		OWN(json) struct json *j = NULL;

		if (n->fate != GUARD_ADVISES)
			continue;
		feed_judgement(&g->run->feed, &d);
		j = json_new_object();
		if (j && json_add_str(j, "rule", n->rule->place) && json_add_str(j, "would", decision_name(n->rule->decision)) &&
		    json_add_str(j, "reason", n->why))
			feed_event(&g->run->feed, "gate.advice", TAKE(j));
	}
}

static void record_decision(struct gating *g)
{
	const struct guard_result *res = &g->res;
	/* A question without an answer is a no. */
	enum decision d = res->decision == DECISION_ALLOW ? DECISION_ALLOW : DECISION_DENY;
	char classes[256], digest[DIGEST_HEX_SIZE] = "";
	const struct approve_case c = { .req = &g->req, .res = res, .run_id = g->run->id, .rules = g->book.digest };
	const struct judgement j = {
		.line = g->line, .mode = mode_name(g->req.mode), .verdict = decision_name(d), .gate = res->gate,
		.rule = or_null(res->name), .reason = or_null(res->reason),
		.span_start = g->is_masked ? 0 : (int64_t)res->span_start,
		.span_end = g->is_masked ? 0 : (int64_t)res->span_end, .classes = classes, .digest = digest,
		.answered_by = g->was_asked ? g->answer.by : NULL, .waited_us = g->answer.waited_us,
	};
	OWN(json) struct json *event = json_new_object();

	guard_classes(res->classes, classes, sizeof(classes));
	case_digest(&c, digest, NULL);
	record_advice(g);
	feed_judgement(&g->run->feed, &j);
	if (event && json_add_str(event, "gate", res->gate) && (!j.rule || json_add_str(event, "rule", j.rule)) &&
	    (!j.reason || json_add_str(event, "reason", j.reason)) &&
	    (!g->was_asked || json_add_str(event, "answeredBy", g->answer.by)))
		feed_event(&g->run->feed, d == DECISION_ALLOW ? "gate.allow" : "gate.deny", TAKE(event));
}

/* --- a denial --- */

/* By what somebody wants kept from: an effect of a class, or the command as such. */
static void add_refusal(struct gating *g)
{
	const struct guard_result *res = &g->res;
	int is_effect = !strcmp(res->gate, "guard") && res->has_class;
	char action[64] = "command-deny";
	const struct violation refusal = {
		.layer = is_effect ? LAYER_GUARD : LAYER_COMMAND, .action = action, .target = g->line, .rule = res->name,
		.reason = res->reason, .count = 1,
	};

	if (is_effect)
		snprintf(action, sizeof(action), "guard-%s", effect_class_name(res->class));
	g->run->feed.sink.violation(&g->run->feed.sink, &refusal);
}

static int end_denied(struct gating *g)
{
	const struct guard_result *res = &g->res;
	struct err why = { 0 };

	add_refusal(g);
	if (res->decision == DECISION_ASK) {
		err_set(&why, ERR_POLICY, 0, "denied by %s: %s: %s", res->gate, g->answer.why, res->reason);
		if (g->answer.outcome == APPROVE_NOBODY)
			err_hint(&why, "--approve db waits for agate approvals; the rule is '%s'", res->name);
		else
			err_hint(&why, "the rule is '%s'", res->name);
	} else {
		err_set(&why, ERR_POLICY, 0, "denied by %s: %s", res->gate, res->reason);
		err_hint(&why, strcmp(res->gate, "guard") ? "the rule is '%s'; agate check --mode %s tells what it sees" :
			 "the rule is '%s'; agate rules explain --mode %s tells what each rule says", res->name,
			 mode_name(g->req.mode));
	}
	return end_set(g->run, "denied", EXIT_DENIED, &why);
}

int step_gates(struct run *run, struct err *err)
{
	__attribute__((cleanup(own_gating))) struct gating g = { .run = run };

	if (make_line(&g) < 0)
		return no_memory(err);
	if (first_verdict(&g, err) < 0)
		return STEP_FAILED;
	judge_rules(&g);
	if (judge_network(&g, &g.book, err) < 0 || (g.res.decision == DECISION_ASK && ask(&g, err) < 0))
		return STEP_FAILED;
	record_decision(&g);
	if (g.answer.outcome == APPROVE_STOPPED && g.was_asked)
		return STEP_DONE;	/* whoever walks the steps sees the signal, and says so */
	return g.res.decision == DECISION_ALLOW ? STEP_DONE : end_denied(&g);
}

int run_plan_rules(struct run *run, struct err *err)
{
	OWN(rulebook) struct rulebook book = { 0 };
	const struct rule_owner owner = owner_of(run);
	int failed;

	rulebook_load(run->desk.db, run->repo.root, &book);
	if (book.set.problem[0])
		return err_set(err, ERR_POLICY, 0, "with these rules nothing runs: %s", book.set.problem);
	run->network_off = rulebook_network(&book, &owner, clock_wall_us(), &run->denied_hosts, &failed) != NULL;
	return failed ? no_memory(err) : 0;
}

void undo_gates(struct run *run)
{
	strv_done(&run->denied_hosts);
}
