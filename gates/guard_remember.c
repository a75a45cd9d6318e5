/*
 * A rule made of an answer. Each extent says what is generalised; what it makes
 * is tried on the very request before it is handed out.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "gates/guard_fit.h"
#include "gates/options.h"

static const char *const extent_names[] = { "EXACT", "PREFIX", "DIR" };
static_assert(ARRAY_LEN(extent_names) == GUARD_EXTENT_NUM, "a name for each extent");

const char *guard_extent_name(enum guard_extent e)
{
	assert(e < GUARD_EXTENT_NUM);
	return extent_names[e];
}

int guard_extent_parse(const char *word, enum guard_extent *ret)
{
	for (int e = 0; e < GUARD_EXTENT_NUM; e++) {
		if (!strcasecmp(word, extent_names[e])) {
			*ret = (enum guard_extent)e;
			return 0;
		}
	}
	return -1;
}

struct making {
	struct guard g;
	const struct guard_result *asked;
	struct rule *rule;	/* the caller's */
	struct err *err;
};

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

static int cannot(struct making *m, const char *why)
{
	err_set(m->err, ERR_POLICY, 0, "cannot remember this: %s", why);
	return err_hint(m->err, "EXACT remembers the very line, in the very directory");
}

/* A pattern that fits @text alone, with @tail behind it. */
static int add_literal(struct making *m, enum rule_list list, const char *text, const char *tail)
{
	OWN(buf) struct buf b = { 0 };

	for (; *text; text++) {
		if (list != RULE_LINES && strchr("*?[\\", *text))
			buf_addc(&b, '\\');
		buf_addc(&b, *text);
	}
	buf_adds(&b, tail);
	if (b.failed)
		return no_memory(m->err);
	if (strv_has(&m->rule->only.list[list], b.data))
		return 0;
	return rule_add_pattern(m->rule, list, b.data, m->err);
}

/* --- EXACT --- */

static int is_path_item(const struct item *it)
{
	return it->subject && it->subject[0] == '/' && it->place != PLACE_UNKNOWN && !strpbrk(it->subject, "*?[\001");
}

static int add_tool(struct making *m)
{
	return m->g.req->tool ? add_literal(m, RULE_TOOLS, m->g.req->tool, "") : 0;
}

/* A tool that is given no line is told by what it touches. */
static int make_exact_tool(struct making *m)
{
	m->rule->classes = m->asked->classes;
	for (size_t i = 0; i < m->g.n; i++) {
		const struct item *it = &m->g.items[i];

		if (it->is_call || item_is_read(it))
			continue;
		if (!is_path_item(it))
			return cannot(m, "it cannot be told what the tool touches");
		if (add_literal(m, RULE_PATHS, it->subject, "") < 0)
			return -1;
	}
	return m->rule->only.list[RULE_PATHS].n ? 0 : cannot(m, "the tool touches nothing a rule could name");
}

/* A pattern covers what is below; here that is another place. */
static int add_very_directory(struct making *m, const char *dir)
{
	const char *below = arena_printf(m->g.arena, "!%s", !strcmp(dir, "/") ? "" : dir);

	return add_literal(m, RULE_CWD, dir, "") < 0 ? -1 : add_literal(m, RULE_CWD, below, "/*");
}

static int make_exact(struct making *m)
{
	if (add_tool(m) < 0)
		return -1;
	if (!m->g.text)
		return make_exact_tool(m);
	if (!m->g.req->cwd)
		return cannot(m, "the current directory is not known");
	return add_literal(m, RULE_LINES, m->g.text, "") < 0 ? -1 : add_very_directory(m, m->g.req->cwd);
}

/* --- PREFIX --- */

static bool is_plain_name(const struct arg *a)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_-";

	return a->is_known && !a->is_glob && *a->text && *a->text != '-' && strspn(a->text, ok) == strlen(a->text);
}

/* How many words say which command it is: "npm publish", "gh pr create", "git -C x push". */
static size_t prefix_length(struct making *m, const struct args *argv)
{
	const char *who = argv->v[0].text;
	size_t n = 1;

	for (;;) {
		const struct program *row = program_find(who);
		struct parsed p = { .who = who, .name = &argv->v[n - 1] };
		struct args rest = args_from(argv, n - 1);
		struct judge j = { .arena = m->g.arena, .req = &m->g.line_req };

		if (!row || !row->opts || !row->operands || strcmp(row->operands, OPERANDS_SUB) != 0)
			break;
		options_read(&j, row->opts, &rest, &p);
		if (!p.operands.n || !p.operands.v[0].is_known)
			break;
		n += p.first_operand;
		who = arena_printf(m->g.arena, "%s %s", who, p.operands.v[0].text);
	}
	if (n == 1 && argv->n > 1 && is_plain_name(&argv->v[1]))
		n = 2;
	return n;
}

static int add_prefix(struct making *m, const struct args *argv)
{
	size_t n = prefix_length(m, argv);
	struct buf b = { 0 };
	OWN(mem) char *text = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!argv->v[i].is_known)
			break;
		if (i)
			buf_addc(&b, ' ');
		words_quote(&b, argv->v[i].text);
	}
	text = buf_steal(&b);
	if (!text)
		return no_memory(m->err);
	if (strv_has(&m->rule->only.list[RULE_COMMANDS], text))
		return 0;
	return rule_add_pattern(m->rule, RULE_COMMANDS, text, m->err);
}

static int make_prefix(struct making *m)
{
	const struct guard_line *line = guard_line_of(&m->g);

	if (!line)
		return cannot(m, "it is no command, and has no words");
	if (line->unreadable || line->doubt)
		return cannot(m, line->unreadable ? "the line cannot be read" :
			      arena_printf(m->g.arena, "the line holds %s", line->doubt));
	m->rule->classes = m->asked->classes;
	for (size_t i = 0; i < line->plain.n; i++)
		if (!guard_is_harmless(&m->g, i) && add_prefix(m, &line->plain.v[i].argv) < 0)
			return -1;
	return m->rule->only.list[RULE_COMMANDS].n ? 0 : cannot(m, "every command of it is harmless by itself");
}

/* --- DIR --- */

static int add_directory(struct making *m, const struct item *it)
{
	OWN(mem) char *dir = NULL;

	if (!is_path_item(it))
		return cannot(m, arena_printf(m->g.arena, "%s names no path", item_words(&m->g, it)));
	dir = path_parent(it->subject);
	if (!dir)
		return no_memory(m->err);
	if (!strcmp(dir, "/"))
		return cannot(m, "it would be about every path there is");
	return add_literal(m, RULE_PATHS, dir, "/**");
}

/* "release/1.0" stands for "release/" and all below; "main" for itself. */
static int add_refs(struct making *m)
{
	const struct args *refs = &guard_line_of(&m->g)->refs;

	for (size_t i = 0; i < refs->n; i++) {
		const char *ref = refs->v[i].text, *slash;
		OWN(mem) char *first = NULL;

		if (!refs->v[i].is_known)
			return cannot(m, "it cannot be told which branch is pushed to");
		ref += !strncmp(ref, "refs/heads/", 11) ? 11 : 0;
		slash = strchr(ref, '/');
		first = strndup(ref, slash ? (size_t)(slash - ref) : strlen(ref));
		if (!first)
			return no_memory(m->err);
		if (add_literal(m, RULE_REFS, first, slash ? "/**" : "") < 0)
			return -1;
	}
	return 0;
}

static int make_dir(struct making *m)
{
	static const unsigned int path_classes = 1u << EFFECT_FILE_DELETE | 1u << EFFECT_FILE_WRITE_OUTSIDE |
		1u << EFFECT_WORKSPACE_MUTATION | 1u << EFFECT_SECRET_ACCESS;
	unsigned int classes = m->asked->classes;

	m->rule->classes = classes;
	if (classes == 1u << EFFECT_GIT_PUSH && guard_line_of(&m->g))
		return add_refs(m);
	if (!classes || classes & ~path_classes)
		return cannot(m, "not all it does is about paths");
	for (size_t i = 0; i < m->g.n; i++) {
		const struct item *it = &m->g.items[i];

		if (!it->is_call && !item_is_read(it) && add_directory(m, it) < 0)
			return -1;
	}
	return 0;
}

/* --- all of it --- */

typedef int maker(struct making *m);

static maker *const makers[] = {
	[GUARD_EXACT] = make_exact, [GUARD_PREFIX] = make_prefix, [GUARD_DIR] = make_dir,
};

static int make(struct arena *a, const struct guard_request *req, const char *text, enum guard_extent extent,
		const struct guard_result *asked, struct rule *rule, struct err *err)
{
	struct making *m = ARENA_NEW(a, struct making);

	m->asked = asked;
	m->rule = rule;
	m->err = err;
	guard_open(&m->g, a, req, text);
	return makers[extent](m);
}

static int set_scope(const struct guard_request *req, const struct guard_result *asked, struct rule *r)
{
	const struct rule *by = asked->rule;
	bool is_near = by && by->scope < RULE_WORKSPACE;

	r->scope = is_near ? by->scope : RULE_WORKSPACE;
	r->scope_id = strdup(is_near ? by->scope_id : req->workspace);
	r->provenance = strdup("remembered");
	r->place = strdup("the remembered rule");
	r->only.max_count = -1;
	return r->scope_id && r->provenance && r->place ? 0 : -1;
}

/* The rule alone has to say what was answered. */
static int try_it(const struct guard_request *req, struct rule *r, struct err *err)
{
	struct rule_set set = { .v = r, .n = 1 };
	OWN(guard_result) struct guard_result res = { 0 };

	guard_judge(req, &set, &res);
	if (res.decision == r->decision)
		return 0;
	err_set(err, ERR_POLICY, 0, "cannot remember this: such a rule would not answer the question");
	return err_hint(err, "EXACT remembers the very line, in the very directory");
}

int guard_remember(const struct guard_request *req, const struct guard_result *asked, enum guard_extent extent,
		   enum decision decision, struct rule *ret, struct err *err)
{
	OWN(mem) char *text = guard_text(req);
	OWN(rule) struct rule r = { 0 };
	struct arena arena = { 0 };
	int failed;

	if (decision == DECISION_ALLOW && !asked->may_remember)
		return err_set(err, ERR_POLICY, 0, "cannot remember this: it has to be asked each time");
	if (!text || set_scope(req, asked, &r) < 0)
		return no_memory(err);
	r.decision = decision;
	if (setjmp(arena.out))
		failed = err_set(err, ERR_LIMIT, 0, "cannot remember this: the line is too large");
	else
		failed = make(&arena, req, req->argv || req->line ? text : NULL, extent, asked, &r, err);
	arena_done(&arena);
	if (failed || rule_finish(&r, err) < 0 || try_it(req, &r, err) < 0)
		return -1;
	*ret = r;
	r = (struct rule){ 0 };
	return 0;
}
