#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "dispatch/cmd_rules.h"
#include "dispatch/exit.h"
#include "gates/guard.h"

struct values {
	struct rules_whose whose;
	struct strv class, list[RULE_LIST_NUM], match, not_match;
	char *command, *reason;
	uint64_t max_count;
	int enforcement;	/* -1: not said */
	int64_t for_ms;
	int json;
};

static const char *const enforcements[] = { "hard", "soft", "advisory", NULL };

static int check_class(const char *word, struct err *err)
{
	enum effect_class c;
	char all[256];

	if (!effect_class_parse(word, &c))
		return 0;
	guard_classes(RULE_ALL_CLASSES, all, sizeof(all));
	return err_set(err, ERR_USAGE, 0, "'%s' is none of: %s", word, all);
}

#define ROW(word, kind, member, ...) OPT_ROW(struct values, word, kind, member, __VA_ARGS__)
static const struct opt rows[] = {
	ROW("class", OPT_LIST, class, "CLASS", "about effects of this class: fileDelete, gitPush, networkEgress, ...",
	    .check = check_class),
	ROW("command", OPT_TEXT, command, "WORDS", "about commands that begin with these words: 'git push'"),
	ROW("path", OPT_LIST, list[RULE_PATHS], "GLOB", "only on these paths; '!GLOB' all but these"),
	ROW("ref", OPT_LIST, list[RULE_REFS], "GLOB", "only on these branches and tags"),
	ROW("host", OPT_LIST, list[RULE_HOSTS], "HOST", "only at these hosts; *.HOST is what is below, not itself"),
	ROW("by", OPT_LIST, list[RULE_COMMANDS], "WORDS", "only done by commands that begin so"),
	ROW("line", OPT_LIST, list[RULE_LINES], "LINE", "only by this very line"),
	ROW("in", OPT_LIST, list[RULE_CWD], "GLOB", "only where it is run in these directories"),
	ROW("tool", OPT_LIST, list[RULE_TOOLS], "NAME", "only by this tool of an agent"),
	ROW("max-count", OPT_COUNT, max_count, "N", "up to (allow) or above (ask, deny) so many things at once"),
	ROW("enforcement", OPT_WORD, enforcement, NULL, "how a denial holds (default hard)", .words = enforcements),
	ROW("for", OPT_DURATION, for_ms, "DURATION", "until this much time has passed (default: for good)"),
	ROW("reason", OPT_TEXT, reason, "TEXT", "told to whom it asks or denies"),
	ROW("match", OPT_LIST, match, "LINE", "an example it has to apply to"),
	ROW("not-match", OPT_LIST, not_match, "LINE", "an example it must not apply to"),
	ROW("scope", OPT_WORD, whose.scope, NULL, "whose runs (default workspace)", .words = rules_scope_words),
	ROW("id", OPT_TEXT, whose.id, "ID", "which of them (default: the checkout around here); '*' is every workspace"),
	ROW("json", OPT_FLAG, json, NULL, "the rule as one JSON object"),
	{ 0 },
};

static void init(void *values)
{
	struct values *v = values;

	v->enforcement = -1;
	v->whose.scope = -1;
}

static int get_decision(const char *word, enum decision *ret, struct err *err)
{
	for (int d = 0; d < DECISION_NUM; d++) {
		if (!strcmp(word, decision_name((enum decision)d))) {
			*ret = (enum decision)d;
			return 0;
		}
	}
	return err_set(err, ERR_USAGE, 0, "'%s' is none of: allow, ask, deny", word);
}

static int copy_text(const char *from, char **to)
{
	*to = from ? strdup(from) : NULL;
	return from && !*to ? -1 : 0;
}

static int fill(const struct values *v, struct rule *r)
{
	enum effect_class c;
	int failed = copy_text(v->command, &r->command) | copy_text(v->reason, &r->reason) | copy_text("the rule", &r->place) |
		copy_text("user", &r->provenance) | strv_copy(&r->match, &v->match) | strv_copy(&r->not_match, &v->not_match);

	for (int l = 0; l < RULE_LIST_NUM; l++)
		failed |= strv_copy(&r->only.list[l], &v->list[l]);
	for (size_t i = 0; i < v->class.n; i++)
		if (!effect_class_parse(v->class.v[i], &c))
			r->classes |= 1u << c;
	r->only.max_count = v->max_count ? (int64_t)v->max_count : -1;
	r->enforcement = v->enforcement < 0 ? RULE_HARD : (enum rule_enforcement)v->enforcement;
	r->expires_us = v->for_ms ? clock_wall_us() + v->for_ms * 1000 : 0;
	return failed ? -1 : 0;
}

static int print(struct rule *r, int64_t id, int as_json, struct err *err)
{
	OWN(buf) struct buf b = { 0 };
	OWN(json) struct json *j = NULL;
	OWN(mem) char *text = NULL;

	r->id = id;
	free(r->place);
	r->place = NULL;
	if (asprintf(&r->place, "rule %lld", (long long)id) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (as_json) {
		j = rules_json(r);
		text = j ? json_print(j) : NULL;
		buf_addf(&b, "%s\n", text ? text : "");
		if (!text)
			return err_set(err, ERR_NOMEM, 0, "out of memory");
	} else {
		buf_addf(&b, "%lld\n", (long long)id);
	}
	return cli_print(&b, err) < 0 ? -1 : EXIT_OK;
}

static int add(const struct cli_args *args, struct err *err)
{
	const struct values *v = args->values;
	OWN(desk) struct desk desk = { 0 };
	OWN(rule) struct rule r = { 0 };
	int64_t id = 0;

	if (get_decision(args->operand[0], &r.decision, err) < 0 || desk_open(&desk, err) < 0 ||
	    rules_settle(&v->whose, &desk, &r.scope, &r.scope_id, err) < 0)
		return -1;
	if (fill(v, &r) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (rule_finish(&r, err) < 0)
		return err_wrap(err, "the rule");
	if (rule_self_test(&r, err) < 0 || rules_store(&desk, &r, "user", &id, err) < 0)
		return -1;
	return print(&r, id, v->json, err);
}

const struct command cmd_rules_add = {
	.name = "rules add", .operands = "allow|ask|deny", .summary = "store a rule; prints its number",
	.more = "It is about what --class or --command say, or with neither about everything that the other\n"
		"options fit. agate rules explain LINE tells what the rules make of a line.\n",
	.opts = { { rows } }, .size = sizeof(struct values), .init = init, .min = 1, .max = 1, .fn = add,
};
