/*
 * Step 5: may this command run at all? What the gates say is recorded, whatever
 * they say; a denial is also a refusal like any other.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/own.h"
#include "dispatch/exit.h"
#include "dispatch/run_internal.h"
#include "gates/command.h"

/* The words as a person would have typed them, for the record. */
static char *line_of(const struct strv *argv)
{
	struct buf b = { 0 };

	buf_adds(&b, "");
	for (size_t i = 0; i < argv->n; i++)
		buf_addf(&b, "%s%s", i ? " " : "", argv->v[i]);
	return buf_steal(&b);
}

static int judge_command(const struct run *run, struct verdict *ret, struct err *err)
{
	const struct run_request *req = run->req;
	const struct command_request q = {
		.mode = (enum mode)req->mode, .workspace = run->repo.root, .home = run->guest_home,
	};

	return command_check_argv(&q, (const char *const *)req->command.v, ret, err);
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

/* "fileDelete,gitPush": each class once, in the order it was found */
static char *classes_of(const struct verdict *v)
{
	struct buf b = { 0 };
	unsigned int seen = 0;

	static_assert(EFFECT_NUM <= 32, "a bit for each class");
	buf_adds(&b, "");
	for (size_t i = 0; i < v->effects_n; i++) {
		if (seen & 1u << v->effects[i].class)
			continue;
		seen |= 1u << v->effects[i].class;
		buf_addf(&b, "%s%s", b.len ? "," : "", effect_class_name(v->effects[i].class));
	}
	return buf_steal(&b);
}

static void record_decision(struct run *run, const struct verdict *v, const char *line, const char *gate)
{
	OWN(mem) char *classes = classes_of(v);
	const struct judgement d = {
		.line = line, .mode = mode_name((enum mode)run->req->mode), .verdict = decision_name(v->decision),
		.gate = gate, .rule = v->rule[0] ? v->rule : NULL, .reason = v->reason[0] ? v->reason : NULL,
		.span_start = (int64_t)v->span_start, .span_end = (int64_t)v->span_end,
		.classes = classes && *classes ? classes : NULL,
		.answered_by = v->decision == DECISION_ASK ? "nobody" : NULL,
	};
	OWN(json) struct json *j = json_new_object();

	feed_judgement(&run->feed, &d);
	if (j && json_add_str(j, "gate", gate) && (!d.rule || json_add_str(j, "rule", d.rule)) &&
	    (!d.reason || json_add_str(j, "reason", d.reason)))
		feed_event(&run->feed, v->decision == DECISION_ALLOW ? "gate.allow" : "gate.deny", TAKE(j));
}

/* Nobody can be asked in this build, so to ask is to deny. */
static int deny(struct run *run, const struct verdict *v, const char *line, const char *gate)
{
	const struct violation refusal = {
		.layer = LAYER_COMMAND, .action = "command-deny", .target = line, .rule = v->rule,
		.reason = v->reason, .count = 1,
	};
	struct err why = { 0 };

	run->feed.sink.violation(&run->feed.sink, &refusal);
	if (v->decision == DECISION_ASK) {
		err_set(&why, ERR_POLICY, 0, "denied by %s: nobody can be asked: %s", gate, v->reason);
		err_hint(&why, "the rule is '%s'; agate check tells more", v->rule);
	} else {
		err_set(&why, ERR_POLICY, 0, "denied by %s: %s", gate, v->reason);
		err_hint(&why, "the rule is '%s'; agate check --mode %s tells what it sees", v->rule,
			 mode_name((enum mode)run->req->mode));
	}
	return end_set(run, "denied", EXIT_DENIED, &why);
}

/* The seam's no in the shape of the command gate's. */
static void seam_verdict(struct verdict *v, const struct err *why)
{
	v->decision = DECISION_DENY;
	snprintf(v->rule, sizeof(v->rule), "arguments that switch mediation off");
	snprintf(v->reason, sizeof(v->reason), "%.250s", why->msg);
}

int step_gates(struct run *run, struct err *err)
{
	OWN(mem) char *line = line_of(&run->req->command);
	OWN(verdict) struct verdict v = { 0 };
	struct err why = { 0 };
	const char *gate = "command";

	if (!line)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (seam_check(run->req, &why) < 0) {
		gate = "seam";
		seam_verdict(&v, &why);
	} else if (run->req->agent == AGENT_BASH) {
		if (judge_command(run, &v, err) < 0)
			return STEP_FAILED;
		ask_for_network(run, &v);
	}
	record_decision(run, &v, line, gate);
	return v.decision == DECISION_ALLOW ? STEP_DONE : deny(run, &v, line, gate);
}
