#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/own.h"
#include "base/parse.h"
#include "db/policies.h"
#include "dispatch/approve.h"
#include "dispatch/cmd_rules.h"
#include "dispatch/exit.h"
#include "dispatch/list.h"
#include "dispatch/rulebook.h"
#include "dispatch/show.h"
#include "dispatch/subcommand.h"
#include "gates/guard.h"

const char *const rules_scope_words[] = { "space", "agent", "workspace", NULL };

/* --- what they share --- */

int rules_root(const struct desk *desk, const char *dir, struct repo *ret, struct err *err)
{
	return repo_find(dir ? dir : desk->place.cwd, ret, err);
}

int rules_settle(const struct rules_whose *w, const struct desk *desk, enum rule_scope *ret_scope, char **ret_id,
		 struct err *err)
{
	OWN(repo) struct repo repo = { 0 };
	enum rule_scope scope = w->scope < 0 ? RULE_WORKSPACE : (enum rule_scope)w->scope;

	if (!w->id && scope != RULE_WORKSPACE) {
		err_set(err, ERR_USAGE, 0, "scope '%s' needs an --id", rule_scope_name(scope));
		return err_hint(err, scope == RULE_AGENT ? "an agent is bash, claude or acp" :
				"a space is what --workspace-id names");
	}
	if (!w->id && rules_root(desk, NULL, &repo, err) < 0)
		return -1;
	*ret_id = strdup(w->id ? w->id : repo.root);
	*ret_scope = scope;
	return *ret_id ? 0 : err_set(err, ERR_NOMEM, 0, "out of memory");
}

int rules_store(struct desk *desk, const struct rule *r, const char *provenance, int64_t *ret_id, struct err *err)
{
	OWN(mem) char *body = rule_body(r);
	char by[64];
	const struct policy_row row = {
		.scope = rule_scope_name(r->scope), .scope_id = r->scope_id, .rule = body, .provenance = provenance,
		.created_by = by, .expires_us = r->expires_us,
	};

	if (!body)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	approve_who(by, sizeof(by));
	return policy_add(desk->db, &row, ret_id, err);
}

static void add_list(struct buf *b, const struct rule *r, enum rule_list l)
{
	const struct strv *list = &r->only.list[l];

	if (!list->n)
		return;
	buf_addf(b, ", %s", rule_list_name(l));
	for (size_t i = 0; i < list->n; i++)
		buf_addf(b, "%s%s", i ? " | " : " ", list->v[i]);
}

void rules_words(struct buf *b, const struct rule *r)
{
	char classes[256];

	guard_classes(r->classes, classes, sizeof(classes));
	buf_addf(b, "%s %s%s", decision_name(r->decision), classes, r->classes ? "" : r->command ? "" : "whatever");
	if (r->command)
		buf_addf(b, "commands '%s'", r->command);
	for (int l = 0; l < RULE_LIST_NUM; l++)
		add_list(b, r, (enum rule_list)l);
	if (r->only.max_count >= 0)
		buf_addf(b, ", maxCount %lld", (long long)r->only.max_count);
}

static int add_state(struct json *j, const struct rule *r)
{
	OWN(buf) struct buf words = { 0 };

	rules_words(&words, r);
	if (words.failed || !json_add_str(j, "about", words.data) || !json_add_str(j, "place", r->place) ||
	    !json_add_bool(j, "expired", r->expires_us && r->expires_us <= clock_wall_us()))
		return -1;
	return r->scope == RULE_REPOSITORY && !json_add_str(j, "scope", "repository") ? -1 : 0;
}

struct json *rules_json(const struct rule *r)
{
	OWN(json) struct json *j = json_new_object();
	OWN(json) struct json *rule = rule_to_json(r);

	if (!j || !rule || (r->id && !json_add_int(j, "id", r->id)))
		return NULL;
	for (const struct json *m = json_first(rule); m; m = json_next(m))
		if (!json_add_copy(j, json_key(m), m))
			return NULL;
	return add_state(j, r) < 0 ? NULL : TAKE(j);
}

/* --- list --- */

struct list_values {
	int json, removed;
	char *repo;
};

#define ROW(word, kind, member, ...) OPT_ROW(struct list_values, word, kind, member, __VA_ARGS__)
static const struct opt list_rows[] = {
	ROW("repo", OPT_TEXT, repo, "DIR", "the checkout whose own file is shown (default: the one around here)"),
	ROW("removed", OPT_FLAG, removed, NULL, "those that were removed as well"),
	ROW("json", OPT_FLAG, json, NULL, "one JSON object a line"),
	{ 0 },
};
#undef ROW

static const struct list_column columns[] = {
	{ "id", "ID", 1 }, { "scope", "SCOPE", 0 }, { "scopeId", "OF", 0 }, { "enforcement", "HOLDS", 0 },
	{ "expires", "UNTIL", 0 }, { "provenance", "FROM", 0 }, { "about", "RULE", 0 }, { 0 },
};

struct walk {
	struct list list;
	struct err *err;
	int failed;
};

static int add_json(struct walk *w, struct json *j)
{
	OWN(json) struct json *row = j;

	w->failed = row ? list_add(&w->list, row, w->err) : err_set(w->err, ERR_NOMEM, 0, "out of memory");
	return w->failed;
}

/* One that cannot be read is shown as well: somebody has to remove it. */
static struct json *broken_json(const struct policy_row *row, const struct err *why)
{
	OWN(json) struct json *j = json_new_object();

	return j && json_add_int(j, "id", row->id) && json_add_str(j, "scope", row->scope) &&
		json_add_str(j, "scopeId", row->scope_id) && json_add_str(j, "provenance", row->provenance) &&
		json_add_str(j, "about", why->msg) && json_add_bool(j, "malformed", 1) ? TAKE(j) : NULL;
}

static int list_stored(void *cookie, const struct policy_row *row)
{
	struct walk *w = cookie;
	OWN(rule) struct rule r = { 0 };
	OWN(json) struct json *j = NULL;
	char text[CLOCK_TEXT_SIZE];
	struct err why = { 0 };

	if (policy_rule(row, &r, &why) < 0)
		return add_json(w, broken_json(row, &why));
	j = rules_json(&r);
	clock_text(row->created_us, text);
	if (!j || !json_add_str(j, "created", text) || (row->created_by && !json_add_str(j, "createdBy", row->created_by)))
		return add_json(w, NULL);
	if (row->removed_us) {
		clock_text(row->removed_us, text);
		if (!json_add_str(j, "removed", text) || (row->removed_by && !json_add_str(j, "removedBy", row->removed_by)))
			return add_json(w, NULL);
	}
	return add_json(w, TAKE(j));
}

static int list_all(struct walk *w, struct desk *desk, const struct rulebook *book, int removed)
{
	const struct policy_filter filter = { .with_removed = removed };

	for (size_t i = 0; i < book->set.n; i++)
		if (!book->set.v[i].id && add_json(w, rules_json(&book->set.v[i])) < 0)
			return -1;
	return policies_each(desk->db, &filter, list_stored, w, w->err) < 0 ? -1 : w->failed;
}

static int list_rules(const struct cli_args *args, struct err *err)
{
	const struct list_values *v = args->values;
	OWN(desk) struct desk desk = { 0 };
	OWN(repo) struct repo repo = { 0 };
	OWN(rulebook) struct rulebook book = { 0 };
	struct walk w = { .err = err };

	if (desk_open(&desk, err) < 0 || rules_root(&desk, v->repo, &repo, err) < 0)
		return -1;
	rulebook_load(desk.db, repo.root, &book);
	list_init(&w.list, columns, v->json);
	if (list_all(&w, &desk, &book, v->removed) < 0) {
		list_done(&w.list);
		return -1;
	}
	if (list_end(&w.list, "no rules", err) < 0)
		return -1;
	if (book.set.problem[0])
		say("with these rules nothing runs: %s", book.set.problem);
	return EXIT_OK;
}

const struct command cmd_rules_list = {
	.name = "rules list", .operands = "", .summary = "the rules that hold: stored, managed, the repository's",
	.opts = { { list_rows } }, .size = sizeof(struct list_values), .fn = list_rules,
};

/* --- rm --- */

static int remove_rules(const struct cli_args *args, struct err *err)
{
	OWN(desk) struct desk desk = { 0 };
	char by[64];

	approve_who(by, sizeof(by));
	if (desk_open(&desk, err) < 0)
		return -1;
	for (size_t i = 0; i < args->n; i++) {
		uint64_t id;

		if (parse_uint(args->operand[i], INT64_MAX, &id) < 0 || !id)
			return err_set(err, ERR_USAGE, 0, "'%s' is no number of a rule", args->operand[i]);
		if (policy_remove(desk.db, (int64_t)id, by, err) < 0)
			return err_hint(err, "agate rules list shows them");
	}
	return EXIT_OK;
}

const struct command cmd_rules_rm = {
	.name = "rules rm", .operands = "ID...", .summary = "take rules out of force; they stay on record",
	.min = 1, .max = (size_t)-1, .fn = remove_rules,
};

/* --- test --- */

struct test_values {
	int json;
	char *repo;
};

#define ROW(word, kind, member, ...) OPT_ROW(struct test_values, word, kind, member, __VA_ARGS__)
static const struct opt test_rows[] = {
	ROW("repo", OPT_TEXT, repo, "DIR", "the checkout whose own file is tested, too (default: the one around here)"),
	ROW("json", OPT_FLAG, json, NULL, "one JSON object a line"),
	{ 0 },
};
#undef ROW

static const struct list_column test_columns[] = {
	{ "place", "RULE", 0 }, { "examples", "EXAMPLES", 1 }, { "outcome", "OUTCOME", 0 }, { 0 },
};

static int test_one(struct list *list, const struct rule *r, int *bad, struct err *err)
{
	OWN(json) struct json *j = json_new_object();
	struct err why = { 0 };
	int failed = rule_self_test(r, &why) < 0;

	*bad += failed;
	if (!j || !json_add_str(j, "place", r->place) ||
	    !json_add_int(j, "examples", (int64_t)(r->match.n + r->not_match.n)) || !json_add_bool(j, "ok", !failed) ||
	    !json_add_str(j, "outcome", failed ? why.msg : "ok"))
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return list_add(list, j, err);
}

static int read_file(const char *path, struct rule_set *set, struct err *err)
{
	OWN(buf) struct buf b = { 0 };

	buf_adds(&b, "");
	if (io_read_file(AT_FDCWD, path, RULE_FILE_MAX_BYTES, &b, err) < 0)
		return -1;
	return rule_set_read(set, b.data, b.len, path, RULE_FILE_PLAIN, err);
}

static int test_rules(const struct cli_args *args, struct err *err)
{
	const struct test_values *v = args->values;
	OWN(desk) struct desk desk = { 0 };
	OWN(repo) struct repo repo = { 0 };
	OWN(rulebook) struct rulebook book = { 0 };
	OWN(list) struct list list = { 0 };
	int bad = 0;

	if (args->n && read_file(args->operand[0], &book.set, err) < 0)
		return -1;
	if (!args->n) {
		if (desk_open(&desk, err) < 0 || rules_root(&desk, v->repo, &repo, err) < 0)
			return -1;
		rulebook_load(desk.db, repo.root, &book);
	}
	list_init(&list, test_columns, v->json);
	for (size_t i = 0; i < book.set.n; i++)
		if (test_one(&list, &book.set.v[i], &bad, err) < 0)
			return -1;
	if (list_end(&list, "no rules", err) < 0)
		return -1;
	if (book.set.problem[0])
		return err_set(err, ERR_INPUT, 0, "with these rules nothing runs: %s", book.set.problem);
	return bad ? err_set(err, ERR_INPUT, 0, "%d of %zu rules fail their own examples", bad, book.set.n) : EXIT_OK;
}

const struct command cmd_rules_test = {
	.name = "rules test", .operands = "[FILE]", .summary = "try the examples inside the rules, or in a FILE of rules",
	.opts = { { test_rows } }, .size = sizeof(struct test_values), .max = 1, .fn = test_rules,
};

/* --- the outer command --- */

static const struct command *const rows[] = {
	&cmd_rules_add, &cmd_rules_list, &cmd_rules_rm, &cmd_rules_explain, &cmd_rules_test, &cmd_rules_import,
	&cmd_rules_export, NULL,
};

static int rules(const struct cli_args *args, struct err *err)
{
	return sub_call(rows, args, err);
}

const struct command cmd_rules = {
	.name = "rules", .operands = "add|list|rm|explain|test|import|export ...",
	.summary = "guardrail rules: who may do what, and why",
	.more = "agate rules COMMAND --help tells more; the rules themselves are in agate-rules(5).\n",
	.flags = CMD_RAW, .fn = rules,
};
