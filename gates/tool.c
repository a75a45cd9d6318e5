#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "base/strv.h"
#include "base/text.h"
#include "gates/tool_internal.h"

#define MAX_NAME 128u	/* bytes of a tool's name */

/* --- the verdict --- */

/* One line for a person: control bytes and what is no UTF-8 become "?", the cut is between characters. */
static void put_reason(struct verdict *v, const char *text)
{
	size_t n = 0, left = strlen(text);

	while (left) {
		size_t k = text_char(text, left);
		unsigned char c = (unsigned char)*text;
		int is_plain = k > 1 || (k == 1 && c >= ' ' && c != 0x7f);

		k = k ? k : 1;
		if (n + k >= sizeof(v->reason))
			break;
		memcpy(v->reason + n, is_plain ? text : "?", is_plain ? k : 1);
		n += is_plain ? k : 1;
		text += k;
		left -= k;
	}
	v->reason[n] = '\0';
}

void call_raise(struct call *c, enum decision d, const char *rule, const char *why, ...)
{
	char text[1024];
	va_list ap;

	if (d <= c->v->decision)
		return;
	va_start(ap, why);
	vsnprintf(text, sizeof(text), why, ap);
	va_end(ap);
	c->v->decision = d;
	c->v->span_start = c->v->span_end = 0;
	snprintf(c->v->rule, sizeof(c->v->rule), "%s: %s", mode_name(c->req->mode), rule);
	put_reason(c->v, text);
}

void call_note(struct call *c, enum effect_class class, enum effect_place place, const char *subject)
{
	struct verdict *v = c->v;
	struct effect *grown = realloc(v->effects, (v->effects_n + 1) * sizeof(*grown));
	char *copy = subject ? strdup(subject) : NULL;

	if (grown)
		v->effects = grown;
	if (!grown || (subject && !copy)) {
		free(copy);
		call_raise(c, DECISION_DENY, "no memory", "out of memory");
		return;
	}
	v->effects[v->effects_n++] = (struct effect){ .class = class, .place = place, .subject = copy };
}

const char *call_text(const struct call *c, const char *field)
{
	const char *s = json_str(json_get(c->req->input, field));

	return s && *s ? s : NULL;
}

/* --- names --- */

static bool is_word(const char *list, char divider, const char *word)
{
	size_t n = strlen(word);
	const char *p = list;

	while (*p) {
		const char *end = strchr(p, divider);
		size_t len = end ? (size_t)(end - p) : strlen(p);

		if (len == n && !memcmp(p, word, n))
			return true;
		p += end ? len + 1 : len;
	}
	return false;
}

/* "mcp__github" and "mcp__github__*" stand for every tool of that server. */
static bool covers(const char *rule, const char *tool)
{
	size_t n = strlen(rule);

	if (!strcmp(rule, tool))
		return true;
	if (strncmp(rule, "mcp__", 5) != 0)
		return false;
	if (n > 8 && !strcmp(rule + n - 3, "__*"))
		n -= 3;
	return n > 5 && !strncmp(rule, tool, n) && !strncmp(tool + n, "__", 2);
}

static const char *find_rule(const struct strv *rules, const char *tool)
{
	for (size_t i = 0; rules && i < rules->n; i++)
		if (covers(rules->v[i], tool))
			return rules->v[i];
	return NULL;
}

static const struct tool_row mcp_row = {
	.names = "mcp__", .chat = DECISION_ASK, .held = DECISION_ASK, .looking = DECISION_DENY,
	.class = EFFECT_PROCESS_SPAWN, .why = "belongs to an MCP server, and what it does there is not known",
};

/* A tool that somebody allowed by its name, though nobody here knows it. */
static const struct tool_row named_row = {
	.names = "", .chat = DECISION_ASK, .held = DECISION_ASK, .looking = DECISION_DENY,
	.class = EFFECT_PROCESS_SPAWN, .why = "is in no table",
};

static const struct tool_row *find_row(const char *tool)
{
	for (const struct tool_row *r = tool_rows; r->names; r++)
		if (is_word(r->names, '|', tool))
			return r;
	return !strncmp(tool, "mcp__", 5) ? &mcp_row : NULL;
}

/* Letters, digits, "_", "-" and "."; the name becomes part of reasons and records. */
static bool is_name(const char *tool)
{
	size_t n = strlen(tool);

	return n && n <= MAX_NAME &&
		strspn(tool, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == n;
}

/* --- judging --- */

static void check_fields(struct call *c)
{
	for (const struct json *m = json_first(c->req->input); c->row->fields && m; m = json_next(m))
		if (!is_word(c->row->fields, ' ', json_key(m)))
			call_raise(c, DECISION_DENY, "unknown field", "'%s' has a field '%s', and what that does is not known",
				   c->req->tool, json_key(m));
	if (c->row->subject && !c->row->may_lack_subject && !call_text(c, c->row->subject))
		call_raise(c, DECISION_DENY, "missing field", "'%s' does not say its '%s'", c->req->tool, c->row->subject);
}

/* What the row itself says. A rule by name answers the question, but lifts no denial. */
static void judge_row(struct call *c)
{
	const struct tool_row *r = c->row;
	const char *allowed = find_rule(c->req->allow, c->req->tool);
	enum decision d = mode_is_readonly(c->req->mode) ? r->looking : c->req->is_held ? r->held : r->chat;

	if (r->class != EFFECT_FILE_READ)
		call_note(c, r->class, PLACE_NONE, r->subject && call_text(c, r->subject) ? call_text(c, r->subject) :
			  c->req->tool);
	if (d == DECISION_ASK && allowed)
		d = DECISION_ALLOW;
	if (d == DECISION_DENY && r->chat != DECISION_DENY)
		call_raise(c, d, "tool", "%s mode only looks, and '%s' %s", mode_name(c->req->mode), c->req->tool, r->why);
	else
		call_raise(c, d, "tool", "'%s' %s", c->req->tool, r->why);
}

static void judge(struct call *c)
{
	const char *tool = c->req->tool, *denied = find_rule(c->req->deny, tool);

	if (!c->row && find_rule(c->req->allow, tool))
		c->row = &named_row;
	c->v->decision = DECISION_ALLOW;
	c->v->rule[0] = c->v->reason[0] = '\0';
	if (denied) {
		call_raise(c, DECISION_DENY, "denied tool", "'%s' is denied by the rule '%s'", tool, denied);
		return;
	}
	if (!c->row) {
		call_raise(c, DECISION_DENY, "unknown tool", "'%s' is a tool nobody here knows", tool);
		return;
	}
	check_fields(c);
	if (c->v->decision == DECISION_DENY)
		return;
	judge_row(c);
	if (c->row->judge)
		c->row->judge(c);
}

static void deny_at_first(struct verdict *ret)
{
	*ret = (struct verdict){ .decision = DECISION_DENY };
	snprintf(ret->rule, sizeof(ret->rule), "undecided");
	snprintf(ret->reason, sizeof(ret->reason), "the gate did not come to a verdict");
}

static int check_request(const struct tool_request *req, struct err *err)
{
	const char *paths[] = { req->workspace, req->cwd, req->home };

	if (!req->tool || !is_name(req->tool))
		return err_set(err, ERR_USAGE, 0, "a tool's name is missing, too long, or holds odd characters");
	if (json_type(req->input) != JSON_OBJECT)
		return err_set(err, ERR_USAGE, 0, "the input of '%s' is no object", req->tool);
	if (req->mode < 0 || req->mode >= MODE_NUM)
		return err_set(err, ERR_USAGE, 0, "no such mode");
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (paths[i] && !path_is_clean(paths[i]))
			return err_set(err, ERR_USAGE, 0, "'%s' is not a clean absolute path", paths[i]);
	return 0;
}

int tool_check(const struct tool_request *req, struct verdict *ret, struct err *err)
{
	struct call c = { .req = req, .v = ret };

	deny_at_first(ret);
	if (check_request(req, err) < 0)
		return -1;
	c.row = find_row(req->tool);
	c.as_command = (struct command_request){
		.mode = req->mode, .workspace = req->workspace, .cwd = req->cwd, .home = req->home,
		.read_roots = req->read_roots, .write_roots = req->write_roots, .protected = req->protected,
	};
	judge(&c);
	return 0;
}

/* --- the judges that are about no path and no host --- */

static void look_again(struct call *c, const struct effect *e)
{
	enum decision before = c->v->decision;

	path_of_effect(c, e);
	host_of_effect(c, e);
	if (c->v->decision == before)
		return;
	c->v->span_start = e->span_start;
	c->v->span_end = e->span_end;
}

/*
 * The gate leaves what is merely outside to the sandbox. Where there is none,
 * each effect is looked at again: with links followed, and to be asked about.
 */
void judge_shell(struct call *c)
{
	struct command_request q = c->as_command;
	int leaves_sandbox = 0;

	q.line = call_text(c, "command");
	q.len = q.line ? strlen(q.line) : 0;
	if (!q.line) {
		call_raise(c, DECISION_DENY, "missing field", "'%s' does not say its 'command'", c->req->tool);
		return;
	}
	verdict_done(c->v);
	if (command_check(&q, c->v, NULL) < 0 || c->req->is_held)
		return;
	for (size_t i = 0; i < c->v->effects_n; i++)
		look_again(c, &c->v->effects[i]);
	json_bool(json_get(c->req->input, "dangerouslyDisableSandbox"), &leaves_sandbox);
	if (leaves_sandbox)
		call_raise(c, DECISION_ASK, "own sandbox", "the command wants to run outside the agent's own sandbox");
}

/* A subagent's own calls are judged like any other, as long as they are made here. */
void judge_agent(struct call *c)
{
	const char *isolation = call_text(c, "isolation");

	if (!isolation || !strcmp(isolation, "none"))
		return;
	if (strcmp(isolation, "worktree") != 0) {
		call_raise(c, DECISION_DENY, "agent elsewhere", "'%s' starts an agent elsewhere ('%s'), where nobody judges what it does",
			   c->req->tool, isolation);
		return;
	}
	call_note(c, EFFECT_WORKSPACE_MUTATION, PLACE_NONE, "git worktree");
	call_raise(c, mode_is_readonly(c->req->mode) ? DECISION_DENY : c->req->is_held ? DECISION_ALLOW : DECISION_ASK,
		   "worktree", "'%s' makes a git worktree, which runs the repository's hooks", c->req->tool);
}

/* It runs a command, or listens to a socket of somebody's. */
void judge_monitor(struct call *c)
{
	if (!json_get(c->req->input, "ws"))
		judge_shell(c);
	else
		call_raise(c, DECISION_DENY, "socket", "'%s' opens a web socket, which no rule can speak of", c->req->tool);
}

/* Beside a person's own session this asks that person; in a run of ours nobody is there to say yes. */
void judge_leave_plan(struct call *c)
{
	if (c->req->is_held && mode_is_readonly(c->req->mode))
		call_raise(c, DECISION_DENY, "tool", "this run stays in %s mode to its end: answer with the plan",
			   mode_name(c->req->mode));
}

/* An answer nobody has given must not be taken for one. */
void judge_question(struct call *c)
{
	if (c->req->is_held)
		call_raise(c, DECISION_DENY, "tool", "nobody is here to answer: decide, or say at the end what has to be known");
}

/* --- for the record --- */

char *tool_line(const char *tool, const struct json *input)
{
	const struct tool_row *row = find_row(tool);
	const char *subject = row && row->subject ? json_str(json_get(input, row->subject)) : NULL;
	struct buf b = { 0 };

	if (row && row->judge == judge_shell && subject) {
		buf_adds(&b, subject);
		return buf_steal(&b);
	}
	if (!subject)
		subject = json_str(json_get(input, row ? "pattern" : ""));
	buf_adds(&b, tool);
	if (subject)
		buf_addf(&b, " %s", subject);
	return buf_steal(&b);
}

int verdict_is_contained(const struct verdict *v)
{
	for (size_t i = 0; i < v->effects_n; i++) {
		const struct effect *e = &v->effects[i];
		bool is_here = e->place == PLACE_INSIDE || e->place == PLACE_DEVICE || e->place == PLACE_TEMP;

		if (e->class == EFFECT_FILE_READ ? !is_here && e->place != PLACE_SYSTEM :
		    !is_here || (e->class != EFFECT_WORKSPACE_MUTATION && e->class != EFFECT_FILE_WRITE_OUTSIDE))
			return 0;
	}
	return v->decision == DECISION_ALLOW;
}
