#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "gates/rule.h"

static const char *const scope_names[] = { "space", "agent", "workspace", "managed", "repository" };
static_assert(ARRAY_LEN(scope_names) == RULE_SCOPE_NUM, "a name for each scope");
static const char *const enforcement_names[] = { "hard", "soft", "advisory" };
static_assert(ARRAY_LEN(enforcement_names) == RULE_ENFORCEMENT_NUM, "a name for each enforcement");

#define MAX_PATTERNS 256u
#define MAX_EXAMPLES 64u
#define MAX_TEXT 4096u

const char *rule_scope_name(enum rule_scope s)
{
	assert(s < RULE_SCOPE_NUM);
	return scope_names[s];
}

int rule_scope_parse(const char *word, enum rule_scope *ret)
{
	for (int i = 0; i < RULE_REPOSITORY; i++) {
		if (!strcmp(word, scope_names[i])) {
			*ret = (enum rule_scope)i;
			return 0;
		}
	}
	return -1;
}

const char *rule_enforcement_name(enum rule_enforcement e)
{
	assert(e < RULE_ENFORCEMENT_NUM);
	return enforcement_names[e];
}

int effect_class_parse(const char *word, enum effect_class *ret)
{
	for (int i = 0; i < EFFECT_NUM; i++) {
		if (!strcmp(word, effect_class_name((enum effect_class)i))) {
			*ret = (enum effect_class)i;
			return 0;
		}
	}
	return -1;
}

void rule_done(struct rule *r)
{
	free(r->scope_id);
	free(r->command);
	free(r->provenance);
	free(r->reason);
	free(r->place);
	for (int l = 0; l < RULE_LIST_NUM; l++)
		strv_done(&r->only.list[l]);
	strv_done(&r->match);
	strv_done(&r->not_match);
	for (size_t i = 0; i < r->words_n; i++)
		words_done(&r->words[i]);
	free(r->words);
	*r = (struct rule){ 0 };
}

bool rule_is_constrained(const struct rule *r)
{
	for (int l = 0; l < RULE_LIST_NUM; l++)
		if (r->only.list[l].n)
			return true;
	return r->command || r->only.max_count >= 0;
}

/* --- checking --- */

static const char *bad_line(const char *text)
{
	return *text ? NULL : "is empty";
}

static const char *bad_tool(const char *text)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:*?";

	return *text && strspn(text, ok) == strlen(text) ? NULL : "is no name of a tool";
}

/* What they are called, and what may stand in them. */
static const struct {
	const char *name;
	const char *(*bad)(const char *pattern);	/* NULL: words_parse() says */
} lists[] = {
	[RULE_PATHS] = { "paths", glob_bad_path }, [RULE_REFS] = { "refs", glob_bad_ref },
	[RULE_HOSTS] = { "hosts", glob_bad_host }, [RULE_COMMANDS] = { "commands", NULL },
	[RULE_LINES] = { "lines", bad_line },	   [RULE_CWD] = { "cwd", glob_bad_path },
	[RULE_TOOLS] = { "tools", bad_tool },
};
static_assert(ARRAY_LEN(lists) == RULE_LIST_NUM, "a row for each list");

const char *rule_list_name(enum rule_list l)
{
	assert(l < RULE_LIST_NUM);
	return lists[l].name;
}

static int check_pattern(enum rule_list list, const char *pattern, struct err *err)
{
	const char *bare = list != RULE_LINES && *pattern == '!' ? pattern + 1 : pattern, *why;
	struct rule_words words = { 0 };
	int r;

	if (strlen(pattern) > MAX_TEXT)
		return err_set(err, ERR_INPUT, 0, "%s: a pattern is longer than %u bytes", lists[list].name, MAX_TEXT);
	if (!lists[list].bad) {
		r = words_parse(bare, &words, err);
		words_done(&words);
		return r < 0 ? err_wrap(err, "%s", lists[list].name) : 0;
	}
	why = lists[list].bad(bare);
	return why ? err_set(err, ERR_INPUT, 0, "%s: pattern '%s' %s", lists[list].name, pattern, why) : 0;
}

int rule_add_pattern(struct rule *r, enum rule_list list, const char *pattern, struct err *err)
{
	if (check_pattern(list, pattern, err) < 0)
		return -1;
	return strv_add(&r->only.list[list], pattern) < 0 ? err_set(err, ERR_NOMEM, 0, "out of memory") : 0;
}

static int check_lists(const struct rule *r, struct err *err)
{
	for (int l = 0; l < RULE_LIST_NUM; l++) {
		const struct strv *list = &r->only.list[l];

		if (list->n > MAX_PATTERNS)
			return err_set(err, ERR_INPUT, 0, "%s: more than %u patterns", lists[l].name, MAX_PATTERNS);
		for (size_t k = 0; k < list->n; k++)
			if (check_pattern((enum rule_list)l, list->v[k], err) < 0)
				return -1;
	}
	return 0;
}

static int check_examples(const char *name, const struct strv *list, struct err *err)
{
	if (list->n > MAX_EXAMPLES)
		return err_set(err, ERR_INPUT, 0, "%s: more than %u examples", name, MAX_EXAMPLES);
	for (size_t i = 0; i < list->n; i++)
		if (!*list->v[i] || strlen(list->v[i]) > MAX_TEXT)
			return err_set(err, ERR_INPUT, 0, "%s: an example is empty or longer than %u bytes", name, MAX_TEXT);
	return 0;
}

static int check_meaning(const struct rule *r, struct err *err)
{
	bool has_scope_id = r->scope_id && *r->scope_id;

	if (r->classes && r->command)
		return err_set(err, ERR_INPUT, 0, "is about a class and a command; put the command into the constraint");
	if (!r->classes && !rule_is_constrained(r))
		return err_set(err, ERR_INPUT, 0, "is about nothing: it has no class, no command and no constraint");
	if (r->only.max_count >= 0 && !r->classes)
		return err_set(err, ERR_INPUT, 0, "maxCount: needs a class, whose things are counted");
	if (r->decision == DECISION_ALLOW && r->enforcement != RULE_HARD)
		return err_set(err, ERR_INPUT, 0, "enforcement: is for rules that ask or deny");
	if (r->scope <= RULE_WORKSPACE && !has_scope_id)
		return err_set(err, ERR_INPUT, 0, "scopeId: scope '%s' needs one", rule_scope_name(r->scope));
	if (r->scope > RULE_WORKSPACE && has_scope_id)
		return err_set(err, ERR_INPUT, 0, "scopeId: scope '%s' has none", rule_scope_name(r->scope));
	if (r->scope < RULE_WORKSPACE && !strcmp(r->scope_id, "*"))
		return err_set(err, ERR_INPUT, 0, "scopeId: '*' is for scope 'workspace'; a rule for everything is one");
	return 0;
}

static int read_words(struct rule *r, struct err *err)
{
	const struct strv *commands = &r->only.list[RULE_COMMANDS];

	r->words = calloc(commands->n + 1, sizeof(*r->words));
	if (!r->words)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (r->command && words_parse(r->command, &r->words[r->words_n++], err) < 0)
		return err_wrap(err, "command");
	for (size_t i = 0; i < commands->n; i++) {
		const char *text = commands->v[i];

		if (words_parse(text + (*text == '!'), &r->words[r->words_n++], err) < 0)
			return err_wrap(err, "commands");
	}
	return 0;
}

static int need_text(char **text)
{
	if (!*text)
		*text = strdup("");
	return *text ? 0 : -1;
}

int rule_finish(struct rule *r, struct err *err)
{
	assert(!r->words);
	if (need_text(&r->scope_id) < 0 || need_text(&r->provenance) < 0 || need_text(&r->reason) < 0 ||
	    need_text(&r->place) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (check_meaning(r, err) < 0 || check_lists(r, err) < 0 || check_examples("match", &r->match, err) < 0 ||
	    check_examples("not_match", &r->not_match, err) < 0)
		return -1;
	return read_words(r, err);
}

int rule_set_scope(struct rule *r, enum rule_scope scope, const char *id, struct err *err)
{
	char *copy = strdup(id);

	if (!copy)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	free(r->scope_id);
	r->scope_id = copy;
	r->scope = scope;
	return check_meaning(r, err) < 0 ? err_wrap(err, "%s", r->place) : 0;
}

/* --- sets --- */

void rule_set_done(struct rule_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		rule_done(&set->v[i]);
	free(set->v);
	*set = (struct rule_set){ 0 };
}

int rule_set_take(struct rule_set *set, struct rule *r, struct err *err)
{
	if (set->n >= RULE_SET_MAX) {
		rule_done(r);
		return err_set(err, ERR_LIMIT, 0, "there are more than %u rules", RULE_SET_MAX);
	}
	if (set->n == set->cap) {
		size_t cap = set->cap ? 2 * set->cap : 16;
		struct rule *v = reallocarray(set->v, cap, sizeof(*v));

		if (!v) {
			rule_done(r);
			return err_set(err, ERR_NOMEM, 0, "out of memory");
		}
		set->v = v;
		set->cap = cap;
	}
	set->v[set->n++] = *r;
	*r = (struct rule){ 0 };
	return 0;
}
