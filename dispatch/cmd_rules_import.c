/*
 * agate rules import and export
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "db/db.h"
#include "db/policies.h"
#include "dispatch/cmd_rules.h"
#include "dispatch/exit.h"
#include "dispatch/list.h"
#include "dispatch/rulebook.h"
#include "dispatch/show.h"
#include "gates/guard.h"
#include "gates/import_rules.h"

/* --- export --- */

struct export_values {
	struct rules_whose whose;
};

#define ROW(type, word, kind, member, ...) OPT_ROW(type, word, kind, member, __VA_ARGS__)
static const struct opt export_rows[] = {
	ROW(struct export_values, "scope", OPT_WORD, whose.scope, NULL, "only those of this scope", .words = rules_scope_words),
	ROW(struct export_values, "id", OPT_TEXT, whose.id, "ID", "only those of this workspace, agent or space"),
	{ 0 },
};

static void export_init(void *values)
{
	struct export_values *v = values;

	v->whose.scope = -1;
}

static int export_rules(const struct cli_args *args, struct err *err)
{
	const struct export_values *v = args->values;
	OWN(desk) struct desk desk = { 0 };
	OWN(rulebook) struct rulebook book = { 0 };
	OWN(json) struct json *root = json_new_object();
	struct json *list = NULL;
	OWN(mem) char *text = NULL;
	OWN(buf) struct buf b = { 0 };

	if (desk_open(&desk, err) < 0)
		return -1;
	rulebook_load(desk.db, NULL, &book);
	if (book.set.problem[0])
		return err_set(err, ERR_INPUT, 0, "%s", book.set.problem);
	if (root && json_add_int(root, "version", 1))
		list = json_add_array(root, "rules");
	for (size_t i = 0; list && i < book.set.n; i++) {
		const struct rule *r = &book.set.v[i];
		OWN(json) struct json *j = NULL;

		if (!r->id || (v->whose.scope >= 0 && (int)r->scope != v->whose.scope) ||
		    (v->whose.id && strcmp(v->whose.id, r->scope_id) != 0))
			continue;
		j = rule_to_json(r);
		if (!j || !json_add_copy(list, NULL, j))
			list = NULL;
	}
	text = list ? json_print_pretty(root) : NULL;
	if (!text)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	buf_addf(&b, "%s\n", text);
	return cli_print(&b, err) < 0 ? -1 : EXIT_OK;
}

const struct command cmd_rules_export = {
	.name = "rules export", .operands = "", .summary = "the stored rules as a file that import reads",
	.opts = { { export_rows } }, .size = sizeof(struct export_values), .init = export_init, .fn = export_rules,
};

/* --- import --- */

struct import_values {
	struct rules_whose whose;
	int json, dry_run, partial;
};

static const struct opt import_rows[] = {
	ROW(struct import_values, "scope", OPT_WORD, whose.scope, NULL, "whose rules they become (default workspace)",
	    .words = rules_scope_words),
	ROW(struct import_values, "id", OPT_TEXT, whose.id, "ID",
	    "which of them (default: the checkout around here); '*' is every workspace"),
	ROW(struct import_values, "partial", OPT_FLAG, partial, NULL, "take the rest even if a rule that asks or denies is lost"),
	ROW(struct import_values, "dry-run", OPT_FLAG, dry_run, NULL, "tell what would come of it, and store nothing"),
	ROW(struct import_values, "json", OPT_FLAG, json, NULL, "one JSON object a line: each entry, then each rule"),
	{ 0 },
};

static void import_init(void *values)
{
	struct import_values *v = values;

	v->whose.scope = -1;
}

struct importing_file {
	const struct import_values *v;
	struct desk desk;
	struct buf text;
	struct rule_set set;
	struct import_report report;
	enum rule_scope scope;
	char *id, *path, *base;
	char provenance[64];
};

static void file_done(struct importing_file *f)
{
	desk_done(&f->desk);
	buf_done(&f->text);
	rule_set_done(&f->set);
	import_report_done(&f->report);
	free(f->id);
	free(f->path);
	free(f->base);
}

/* "/x" in a settings file means below the project, whose .claude it lies in. */
static int find_base(struct importing_file *f)
{
	OWN(mem) char *dir = path_parent(f->path);

	if (!dir)
		return -1;
	f->base = !strcmp(path_base(dir), ".claude") ? path_parent(dir) : strdup(dir);
	return f->base ? 0 : -1;
}

static int read_text(struct importing_file *f, struct err *err)
{
	buf_adds(&f->text, "");
	if (io_read_file(AT_FDCWD, f->path, RULE_FILE_MAX_BYTES, &f->text, err) < 0)
		return -1;
	return 0;
}

static int find_file(struct importing_file *f, const char *kind, const char *word, struct err *err)
{
	const struct place *p = &f->desk.place;

	if (!strcmp(kind, "template")) {
		if (!p->data)
			return err_set(err, ERR_MISSING, 0, "the templates are not installed: no share/agate near agate");
		if (strspn(word, "abcdefghijklmnopqrstuvwxyz-") != strlen(word))
			return err_set(err, ERR_USAGE, 0, "'%s' is no template; there are strict, balanced, permissive", word);
		if (asprintf(&f->path, "%s/policy-%s.json", p->data, word) < 0)
			f->path = NULL;
	} else {
		f->path = path_expand(word, p->home, p->cwd);
	}
	return f->path && find_base(f) == 0 ? 0 : err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* Rules of agate's own: each has its scope, unless the command line names one. What they say of where they come from counts for nothing. */
static int read_own(struct importing_file *f, const char *name, int keep_scope, struct err *err)
{
	if (rule_set_read(&f->set, f->text.data, f->text.len, name, RULE_FILE_PLAIN, err) < 0)
		return -1;
	for (size_t i = 0; !keep_scope && i < f->set.n; i++)
		if (rule_set_scope(&f->set.v[i], f->scope, f->id, err) < 0)
			return -1;
	return 0;
}

static int read_rules(struct importing_file *f, const char *kind, const char *word, struct err *err)
{
	const struct import_where where = { .name = word, .base = f->base, .scope = f->scope, .scope_id = f->id };
	int is_template = !strcmp(kind, "template");

	snprintf(f->provenance, sizeof(f->provenance), "import%s%s", strcmp(kind, "agate") ? " " : "",
		 strcmp(kind, "agate") ? kind : "");
	if (!strcmp(kind, "claude"))
		return import_claude(f->text.data, f->text.len, &where, &f->set, &f->report, err);
	if (!strcmp(kind, "codex"))
		return import_codex(f->text.data, f->text.len, &where, &f->set, &f->report, err);
	if (is_template)
		snprintf(f->provenance, sizeof(f->provenance), "template %.40s", word);
	return read_own(f, word, !is_template && f->v->whose.scope < 0 && !f->v->whose.id, err);
}

/* --- telling --- */

static const struct list_column columns[] = {
	{ "outcome", "OUTCOME", 0 }, { "entry", "ENTRY", 0 }, { "why", "", 0 }, { 0 },
};

static int tell_note(struct list *list, const char *entry, const char *outcome, const char *why, int64_t id, struct err *err)
{
	OWN(json) struct json *j = json_new_object();

	if (!j || !json_add_str(j, "outcome", outcome) || !json_add_str(j, "entry", entry) || !json_add_str(j, "why", why) ||
	    (id && !json_add_int(j, "id", id)))
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return list_add(list, j, err);
}

static int tell_report(struct list *list, const struct import_report *r, struct err *err)
{
	for (size_t i = 0; i < r->n; i++)
		if (tell_note(list, r->v[i].entry, import_fate_name(r->v[i].fate), r->v[i].why, 0, err) < 0)
			return -1;
	return 0;
}

/* All rules in one commit, or none. */
static int store_one(struct importing_file *f, struct list *list, const struct rule *r, struct err *err)
{
	OWN(buf) struct buf words = { 0 };
	struct err why = { 0 };
	int64_t id = 0;
	int failed = f->v->dry_run ? 0 : rules_store(&f->desk, r, f->provenance, &id, &why);

	if (failed && why.code != ERR_BUSY) {
		*err = why;
		return -1;
	}
	rules_words(&words, r);
	if (words.failed)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return tell_note(list, words.data, f->v->dry_run ? "would be stored" : failed ? "there already" : "stored",
			 failed ? why.msg : "", id, err);
}

static int store_all(struct importing_file *f, struct list *list, struct err *err)
{
	if (!f->v->dry_run && db_begin(f->desk.db, err) < 0)
		return -1;
	for (size_t i = 0; i < f->set.n; i++) {
		if (store_one(f, list, &f->set.v[i], err) < 0) {
			db_rollback(f->desk.db);
			return -1;
		}
	}
	return f->v->dry_run ? 0 : db_commit(f->desk.db, err);
}

static int lost(const struct importing_file *f, struct err *err)
{
	if (!f->report.count[IMPORT_LOST] || f->v->partial)
		return 0;
	err_set(err, ERR_POLICY, 0, "nothing was stored: %zu entries that ask or deny would be lost",
		f->report.count[IMPORT_LOST]);
	return err_hint(err, "--partial takes the rest");
}

static int import_file(struct importing_file *f, const char *kind, const char *word, struct list *list, struct err *err)
{
	int failed;

	if (desk_open(&f->desk, err) < 0 || rules_settle(&f->v->whose, &f->desk, &f->scope, &f->id, err) < 0 ||
	    find_file(f, kind, word, err) < 0 || read_text(f, err) < 0)
		return -1;
	failed = read_rules(f, kind, word, err);
	if (tell_report(list, &f->report, failed ? NULL : err) < 0 || failed)
		return -1;
	if (rule_set_self_test(&f->set, err) < 0 || lost(f, err) < 0)
		return -1;
	return store_all(f, list, err);
}

static int import(const struct cli_args *args, struct err *err)
{
	static const char *const kinds[] = { "agate", "claude", "codex", "template" };
	const char *kind = args->n == 2 ? args->operand[0] : "agate", *word = args->operand[args->n - 1];
	struct importing_file f = { .v = args->values };
	struct list list;
	int failed, known = 0;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		known |= !strcmp(kinds[i], kind);
	if (!known)
		return err_set(err, ERR_USAGE, 0, "'%s' is none of: agate, claude, codex, template", kind);
	list_init(&list, columns, f.v->json);
	failed = import_file(&f, kind, word, &list, err);
	/* What came of each entry is told on failure, too: it says why. */
	if (list_end(&list, "no rules", failed ? NULL : err) < 0)
		failed = -1;
	file_done(&f);
	return failed ? -1 : EXIT_OK;
}

const struct command cmd_rules_import = {
	.name = "rules import", .operands = "[agate|claude|codex|template] FILE|NAME",
	.summary = "take over rules from a file, and tell what could not be",
	.more = "agate FILE      rules as export writes them\n"
		"claude FILE     the permissions of a settings file of Claude Code\n"
		"codex FILE      a file of Codex's prefix_rule(...) calls\n"
		"template NAME   strict, balanced or permissive\n"
		"All of a file or nothing of it is stored, in one commit.\n",
	.opts = { { import_rows } }, .size = sizeof(struct import_values), .init = import_init, .min = 1, .max = 2,
	.fn = import,
};
