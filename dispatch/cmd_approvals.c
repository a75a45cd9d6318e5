/*
 * agate approvals: what runs wait for, and the answers
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/parse.h"
#include "db/approvals.h"
#include "db/policies.h"
#include "dispatch/approve.h"
#include "dispatch/cmd_rules.h"
#include "dispatch/desk.h"
#include "dispatch/exit.h"
#include "dispatch/list.h"
#include "dispatch/rulebook.h"
#include "dispatch/show.h"
#include "dispatch/subcommand.h"

/* --- rows --- */

static int add_time(struct json *to, const char *key, int64_t us)
{
	char text[CLOCK_TEXT_SIZE];

	if (!us)
		return 0;
	clock_text(us, text);
	return json_add_str(to, key, text) ? 0 : -1;
}

/* Fields of the question itself, beside the row's. */
static int add_question(struct json *to, const char *text)
{
	static const char *const shown[] = {
		"command", "reason", "rule", "gate", "classes", "override", "rememberable", "toolUse", NULL,
	};
	static const char *const of_request[] = { "mode", "cwd", "agent", "space", "workspace", "tool", "rules", NULL };
	OWN(json) struct json *q = NULL;
	const struct json *request;

	if (json_parse(text, strlen(text), NULL, &q, NULL) < 0)
		return json_add_bool(to, "malformed", 1) ? 0 : -1;
	request = json_get(q, "request");
	for (const char *const *s = shown; *s; s++)
		if (json_get(q, *s) && !json_add_copy(to, *s, json_get(q, *s)))
			return -1;
	for (const char *const *s = of_request; *s; s++)
		if (json_get(request, *s) && !json_add_copy(to, *s, json_get(request, *s)))
			return -1;
	return 0;
}

static struct json *approval_json(const struct approval_row *row)
{
	OWN(json) struct json *j = json_new_object();

	if (!j || !json_add_int(j, "id", row->id) || !json_add_str(j, "state", approval_state_name(row->state)) ||
	    (row->run_id && !json_add_str(j, "run", row->run_id)) || !json_add_str(j, "digest", row->digest) ||
	    add_time(j, "asked", row->asked_us) < 0 || add_time(j, "expires", row->expires_us) < 0 ||
	    add_time(j, "answered", row->answered_us) < 0 ||
	    (row->answered_by && !json_add_str(j, "answeredBy", row->answered_by)) ||
	    (row->note && !json_add_str(j, "note", row->note)) || (row->policy && !json_add_int(j, "remembered", row->policy)) ||
	    add_question(j, row->question) < 0)
		return NULL;
	return TAKE(j);
}

static int parse_id(const char *word, int64_t *ret, struct err *err)
{
	uint64_t id;

	if (parse_uint(word, INT64_MAX, &id) < 0 || !id)
		return err_set(err, ERR_USAGE, 0, "'%s' is no number of a question", word);
	*ret = (int64_t)id;
	return 0;
}

/* --- list --- */

struct list_values {
	int json, all;
	char *run;
	uint64_t limit;
};

#define ROW(type, word, kind, member, ...) OPT_ROW(type, word, kind, member, __VA_ARGS__)
static const struct opt list_rows[] = {
	ROW(struct list_values, "all", OPT_FLAG, all, NULL, "those that are over as well, newest first"),
	ROW(struct list_values, "run", OPT_TEXT, run, "RUN", "only those of this run"),
	ROW(struct list_values, "limit", OPT_COUNT, limit, "N", "at most this many"),
	ROW(struct list_values, "json", OPT_FLAG, json, NULL, "one JSON object a line"),
	{ 0 },
};

static const struct list_column columns[] = {
	{ "id", "ID", 1 }, { "state", "STATE", 0 }, { "run", "RUN", 0 }, { "expires", "UNTIL", 0 },
	{ "command", "COMMAND", 0 }, { "reason", "WHY ASKED", 0 }, { 0 },
};

struct walk {
	struct list list;
	struct err *err;
	int failed;
};

static int list_one(void *cookie, const struct approval_row *row)
{
	struct walk *w = cookie;
	OWN(json) struct json *j = approval_json(row);

	w->failed = j ? list_add(&w->list, j, w->err) : err_set(w->err, ERR_NOMEM, 0, "out of memory");
	return w->failed;
}

static int list_approvals(const struct cli_args *args, struct err *err)
{
	const struct list_values *v = args->values;
	OWN(desk) struct desk desk = { 0 };
	OWN(mem) char *run = NULL;
	struct approval_filter filter = { .only_waiting = !v->all, .limit = (int64_t)v->limit };
	struct walk w = { .err = err };

	if (desk_open(&desk, err) < 0 || (v->run && desk_find(&desk, v->run, &run, err) < 0))
		return -1;
	filter.run = run;
	list_init(&w.list, columns, v->json);
	if (approvals_each(desk.db, &filter, list_one, &w, err) < 0 || w.failed) {
		list_done(&w.list);
		return -1;
	}
	return list_end(&w.list, "nobody waits for an answer", err) < 0 ? -1 : EXIT_OK;
}

static const struct command cmd_list = {
	.name = "approvals list", .operands = "", .summary = "questions that wait for an answer",
	.opts = { { list_rows } }, .size = sizeof(struct list_values), .fn = list_approvals,
};

/* --- show --- */

struct show_values {
	int json;
};

static const struct opt show_rows[] = {
	ROW(struct show_values, "json", OPT_FLAG, json, NULL, "one JSON object, with the whole request"),
	{ 0 },
};

struct shown {
	int as_json;
	struct buf text;
	int failed;
};

static int show_one(void *cookie, const struct approval_row *row)
{
	struct shown *s = cookie;
	OWN(json) struct json *j = approval_json(row);
	OWN(json) struct json *q = NULL;
	OWN(mem) char *text = NULL;

	s->failed = !j;
	if (j && s->as_json && !json_parse(row->question, strlen(row->question), NULL, &q, NULL))
		s->failed = !json_add_copy(j, "request", json_get(q, "request"));
	if (!s->failed && s->as_json) {
		text = json_print(j);
		buf_addf(&s->text, "%s\n", text ? text : "");
		s->failed = !text;
		return 1;
	}
	for (const struct json *m = json_first(j); m; m = json_next(m)) {
		OWN(mem) char *value = json_str(m) ? NULL : json_print(m);
		const char *plain = json_str(m) ? json_str(m) : value ? value : "?";

		buf_addf(&s->text, "%-14s", json_key(m));
		show_add(&s->text, plain, strlen(plain));
		buf_addc(&s->text, '\n');
	}
	return 1;
}

static int show_approval(const struct cli_args *args, struct err *err)
{
	const struct show_values *v = args->values;
	OWN(desk) struct desk desk = { 0 };
	struct shown s = { .as_json = v->json };
	int64_t id = 0;
	int r;

	if (parse_id(args->operand[0], &id, err) < 0 || desk_open(&desk, err) < 0 ||
	    approval_get(desk.db, id, show_one, &s, err) < 0)
		return -1;
	r = s.failed ? err_set(err, ERR_NOMEM, 0, "out of memory") : cli_print(&s.text, err);
	buf_done(&s.text);
	return r < 0 ? -1 : EXIT_OK;
}

static const struct command cmd_show_one = {
	.name = "approvals show", .operands = "ID", .summary = "all that is known of a question",
	.opts = { { show_rows } }, .size = sizeof(struct show_values), .min = 1, .max = 1, .fn = show_approval,
};

/* --- allow, deny --- */

struct answer_values {
	char *remember, *note;
	int64_t for_ms;
	int json;
};

static int check_extent(const char *word, struct err *err)
{
	enum guard_extent e;

	return guard_extent_parse(word, &e) < 0 ? err_set(err, ERR_USAGE, 0, "'%s' is none of: EXACT, PREFIX, DIR", word) : 0;
}

static const struct opt answer_rows[] = {
	ROW(struct answer_values, "remember", OPT_TEXT, remember, "EXACT|PREFIX|DIR",
	    "make a rule of it: for this very line, for commands that begin so, for what lies there", .check = check_extent),
	ROW(struct answer_values, "for", OPT_DURATION, for_ms, "DURATION", "how long that is remembered (default 30d)"),
	ROW(struct answer_values, "note", OPT_TEXT, note, "TEXT", "told to who asked, and kept"),
	ROW(struct answer_values, "json", OPT_FLAG, json, NULL, "the answer as one JSON object"),
	{ 0 },
};

static int take_question(void *cookie, const struct approval_row *row)
{
	char **text = cookie;

	*text = strdup(row->question);
	return 1;
}

/* The request is judged once more, as the rules are now, and the rule made of that. */
static int make_memory(struct desk *desk, const char *question, const struct answer_values *v, enum decision d,
		       const char *by, struct approve_memory *ret, struct policy_row *ret_row, struct err *err)
{
	OWN(approve_read) struct approve_read read = { 0 };
	OWN(rulebook) struct rulebook book = { 0 };
	OWN(guard_result) struct guard_result asked = { 0 };
	enum guard_extent extent;

	guard_extent_parse(v->remember, &extent);
	if (case_read(question, &read, err) < 0)
		return -1;
	rulebook_load(desk->db, read.req.workspace, &book);
	guard_judge(&read.req, &book.set, &asked);
	if (asked.decision != DECISION_ASK)
		return err_set(err, ERR_POLICY, 0, "the rules have changed: it would no longer be asked, but is %s",
			       asked.decision == DECISION_ALLOW ? "allowed" : "denied");
	return case_remember(&read.req, &asked, extent, d, v->for_ms, by, ret, ret_row, err);
}

static int print_answer(int64_t id, int is_allowed, int64_t policy, int as_json, struct err *err)
{
	OWN(json) struct json *j = json_new_object();
	OWN(mem) char *text = NULL;
	OWN(buf) struct buf b = { 0 };

	if (!as_json) {
		if (policy)
			say("remembered as rule %lld", (long long)policy);
		return EXIT_OK;
	}
	if (j && json_add_int(j, "id", id) && json_add_str(j, "answer", is_allowed ? "allow" : "deny") &&
	    (!policy || json_add_int(j, "remembered", policy)))
		text = json_print(j);
	buf_addf(&b, "%s\n", text ? text : "");
	if (!text)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return cli_print(&b, err) < 0 ? -1 : EXIT_OK;
}

static int answer(const struct cli_args *args, int is_allowed, struct err *err)
{
	const struct answer_values *v = args->values;
	OWN(desk) struct desk desk = { 0 };
	OWN(approve_memory) struct approve_memory memory = { 0 };
	OWN(mem) char *question = NULL;
	struct policy_row row;
	char by[64];
	struct approval_answer say_it = { .is_allowed = is_allowed, .by = by, .note = v->note };
	int64_t id = 0, policy = 0;

	approve_who(by, sizeof(by));
	if (v->for_ms && !v->remember)
		return err_set(err, ERR_USAGE, 0, "--for says how long to --remember; an answer itself counts once");
	if (parse_id(args->operand[0], &id, err) < 0 || desk_open(&desk, err) < 0 ||
	    approval_get(desk.db, id, take_question, &question, err) < 0)
		return -1;
	if (!question)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (v->remember) {
		if (make_memory(&desk, question, v, is_allowed ? DECISION_ALLOW : DECISION_DENY, by, &memory, &row, err) < 0)
			return -1;
		say_it.remember = &row;
	}
	if (approval_answer(desk.db, id, &say_it, &policy, err) < 0)
		return -1;
	return print_answer(id, is_allowed, policy, v->json, err);
}

static int allow(const struct cli_args *args, struct err *err)
{
	return answer(args, 1, err);
}

static int deny(const struct cli_args *args, struct err *err)
{
	return answer(args, 0, err);
}

#define MORE \
	"An answer counts once, for exactly what was asked; answering a second time is an error that\n" \
	"changes nothing. What is remembered becomes a rule of its own: agate rules list shows it.\n"

static const struct command cmd_allow = {
	.name = "approvals allow", .operands = "ID", .summary = "say yes to a question", .more = MORE,
	.opts = { { answer_rows } }, .size = sizeof(struct answer_values), .min = 1, .max = 1, .fn = allow,
};

static const struct command cmd_deny = {
	.name = "approvals deny", .operands = "ID", .summary = "say no to a question", .more = MORE,
	.opts = { { answer_rows } }, .size = sizeof(struct answer_values), .min = 1, .max = 1, .fn = deny,
};

static const struct command *const rows[] = { &cmd_list, &cmd_show_one, &cmd_allow, &cmd_deny, NULL };

static int approvals(const struct cli_args *args, struct err *err)
{
	return sub_call(rows, args, err);
}

const struct command cmd_approvals = {
	.name = "approvals", .operands = "list|show|allow|deny ...",
	.summary = "questions that runs wait for, and their answers",
	.more = "A run started with --approve db waits until somebody answers, its question expires, or it is\n"
		"stopped. agate approvals COMMAND --help tells more.\n",
	.flags = CMD_RAW, .fn = approvals,
};
