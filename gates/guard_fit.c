#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/path.h"
#include "gates/guard_fit.h"

#define MAX_EFFECTS 256u	/* a verdict lists no more */
#define CLASS(c) (1u << (c))
#define PATH_CLASSES (CLASS(EFFECT_FILE_READ) | CLASS(EFFECT_FILE_DELETE) | CLASS(EFFECT_FILE_WRITE_OUTSIDE) | \
		      CLASS(EFFECT_WORKSPACE_MUTATION) | CLASS(EFFECT_SECRET_ACCESS))
#define HOST_CLASSES (CLASS(EFFECT_NETWORK_EGRESS) | CLASS(EFFECT_GIT_PUSH))
#define REF_CLASSES CLASS(EFFECT_GIT_PUSH)

/* --- taking the request apart --- */

static void take_effects(struct guard *g)
{
	const struct verdict *v = g->req->verdict;

	g->items = arena_alloc(g->arena, (v->effects_n + 2) * sizeof(*g->items));
	g->items[g->n++] = (struct item){ .is_call = true, .end = g->req->line ? g->req->len : 0 };
	for (size_t i = 0; i < v->effects_n; i++) {
		const struct effect *e = &v->effects[i];

		g->items[g->n++] = (struct item){ .class = e->class, .place = e->place, .subject = e->subject,
						  .start = e->span_start, .end = e->span_end };
	}
	if (v->effects_n >= MAX_EFFECTS)
		g->items[g->n++] = (struct item){ .is_any = true, .class = EFFECT_PROCESS_SPAWN };
}

void guard_open(struct guard *g, struct arena *a, const struct guard_request *req, const char *text)
{
	*g = (struct guard){ .arena = a, .req = req, .text = text };
	g->line_req = (struct command_request){ .line = req->line, .len = req->len, .mode = MODE_PLAN,
						.workspace = req->root, .cwd = req->cwd, .home = req->home };
	take_effects(g);
}

const struct guard_line *guard_line_of(struct guard *g)
{
	if (g->line || !(g->req->argv || g->req->line))
		return g->line;
	g->line = guard_line_read(g->arena, &g->line_req, g->req->argv);
	g->harmless = arena_alloc(g->arena, g->line->plain.n + 1);
	memset(g->harmless, -1, g->line->plain.n + 1);
	return g->line;
}

bool item_is_read(const struct item *it)
{
	return !it->is_call && !it->is_any && it->class == EFFECT_FILE_READ;
}

const char *item_words(struct guard *g, const struct item *it)
{
	if (it->is_call && g->req->tool)
		return arena_printf(g->arena, "tool '%.60s'", g->req->tool);
	if (it->is_call)
		return "the command";
	if (it->is_any)
		return "more effects than are listed";
	if (!it->subject)
		return effect_class_name(it->class);
	return arena_printf(g->arena, "%s '%.120s'", effect_class_name(it->class), it->subject);
}

/* --- values and patterns --- */

struct value {
	const char *text;	/* NULL: not known */
	bool is_literal;
};

struct values {
	struct value *v;
	size_t n, cap;
};

static void add_value(struct guard *g, struct values *to, const char *text, bool is_literal)
{
	if (to->n == to->cap) {
		size_t cap = to->cap ? 2 * to->cap : 4;
		struct value *grown = arena_alloc(g->arena, cap * sizeof(*grown));

		if (to->n)
			memcpy(grown, to->v, to->n * sizeof(*grown));
		to->v = grown;
		to->cap = cap;
	}
	to->v[to->n++] = (struct value){ text, is_literal };
}

typedef enum tri matcher(const struct guard *g, const char *pattern, const struct value *v);

static enum tri match_path(const struct guard *g, const char *pattern, const struct value *v)
{
	const struct glob_base base = { .root = g->req->root, .home = g->req->home };

	if (!v->text)
		return !strcmp(pattern, "/**") || !strcmp(pattern, "**") ? TRI_YES : TRI_MAYBE;
	return glob_path(pattern, &base, v->text, v->is_literal);
}

static enum tri match_ref(const struct guard *g, const char *pattern, const struct value *v)
{
	(void)g;
	if (!v->text)
		return !strcmp(pattern, "*") || !strcmp(pattern, "**") ? TRI_YES : TRI_MAYBE;
	return glob_ref(pattern, v->text);
}

static enum tri match_host(const struct guard *g, const char *pattern, const struct value *v)
{
	(void)g;
	if (!v->text)
		return !strcmp(pattern, "*") ? TRI_YES : TRI_MAYBE;
	return glob_host(pattern, v->text);
}

static enum tri match_line(const struct guard *g, const char *pattern, const struct value *v)
{
	(void)g;
	return v->text && !strcmp(pattern, v->text) ? TRI_YES : TRI_NO;
}

static enum tri match_tool(const struct guard *g, const char *pattern, const struct value *v)
{
	(void)g;
	return glob_text(pattern, v->text, true);
}

static enum tri value_fit(const struct guard *g, const struct rule *r, enum rule_list l, matcher *match,
			  const struct value *v)
{
	const struct strv *list = &r->only.list[l];
	enum tri wanted = TRI_NO, unwanted = TRI_NO;
	bool has_wanted = false;

	for (size_t i = 0; i < list->n; i++) {
		const char *pattern = list->v[i];

		if (l != RULE_LINES && *pattern == '!') {
			unwanted = tri_or(unwanted, match(g, pattern + 1, v));
		} else {
			has_wanted = true;
			wanted = tri_or(wanted, match(g, pattern, v));
		}
	}
	return tri_and(has_wanted ? wanted : TRI_YES, tri_not(unwanted));
}

/* To restrict, one value is enough, and none could be any; to allow, there must be some, and all must fit. */
static enum tri values_fit(const struct guard *g, const struct rule *r, enum rule_list l, matcher *match,
			   const struct values *values)
{
	bool is_allow = r->decision == DECISION_ALLOW;
	enum tri all = is_allow ? TRI_YES : TRI_NO;

	if (!values->n)
		return is_allow ? TRI_NO : TRI_MAYBE;
	for (size_t i = 0; i < values->n; i++) {
		enum tri one = value_fit(g, r, l, match, &values->v[i]);

		all = is_allow ? tri_and(all, one) : tri_or(all, one);
	}
	return all;
}

/* --- paths --- */

/* Where the text of a path holds what only the running shell knows, it may lead anywhere. */
static bool is_known_path(const struct item *it)
{
	bool has_signs = it->subject && strpbrk(it->subject, "*?[\001");

	if (!it->subject || it->subject[0] != '/' || it->place == PLACE_UNKNOWN || it->place == PLACE_NONE)
		return false;
	return !has_signs || (it->place != PLACE_PROTECTED && it->place != PLACE_SECRET);
}

/* Deleting a directory deletes what a pattern names below it. */
static bool deletes_below(const struct guard *g, const struct rule *r, const struct item *it)
{
	const struct glob_base base = { .root = g->req->root, .home = g->req->home };
	const struct strv *list = &r->only.list[RULE_PATHS];

	if (r->decision == DECISION_ALLOW || it->class != EFFECT_FILE_DELETE || !is_known_path(it))
		return false;
	for (size_t i = 0; i < list->n; i++)
		if (*list->v[i] != '!' && glob_path_is_below(list->v[i], &base, it->subject))
			return true;
	return false;
}

static enum tri paths_fit(struct guard *g, const struct rule *r, const struct item *it)
{
	struct values values = { 0 };

	if (CLASS(it->class) & PATH_CLASSES)
		add_value(g, &values, is_known_path(it) ? it->subject : NULL, false);
	if (deletes_below(g, r, it))
		return TRI_YES;
	return values_fit(g, r, RULE_PATHS, match_path, &values);
}

/* --- refs --- */

static enum tri refs_fit(struct guard *g, const struct rule *r, const struct item *it)
{
	struct values values = { 0 };

	const struct guard_line *line = it->class == EFFECT_GIT_PUSH ? guard_line_of(g) : NULL;

	for (size_t i = 0; line && i < line->refs.n; i++)
		add_value(g, &values, line->refs.v[i].is_known ? line->refs.v[i].text : NULL, true);
	return values_fit(g, r, RULE_REFS, match_ref, &values);
}

/* --- hosts --- */

/* The host of a URL, of HOST:PORT, of USER@HOST:PATH; NULL: there is none. An unknown one has text NULL. */
static bool host_of(struct guard *g, const char *text, struct value *ret)
{
	const char *s = strstr(text, "://"), *end, *at;

	*ret = (struct value){ .is_literal = true };
	if (!s && !strpbrk(text, ".:@*\001") && strcmp(text, "localhost") != 0)
		return false;
	s = s ? s + 3 : text;
	end = s + strcspn(s, "/?#");
	for (at = end; at > s && at[-1] != '@'; at--)
		;
	s = at;
	if (*s == '[') {
		s++;
		end = s + strcspn(s, "]");
	} else {
		end = s + strcspn(s, ":/?#");
	}
	if (end > s && !memchr(s, '*', (size_t)(end - s)) && !memchr(s, '\001', (size_t)(end - s)))
		ret->text = arena_dup(g->arena, s, (size_t)(end - s));
	return true;
}

/* The smallest command of the line that @it stands in, or NULL. */
static const struct guard_command *command_around(struct guard *g, const struct item *it)
{
	const struct guard_line *line = guard_line_of(g);
	const struct guard_command *best = NULL;

	for (size_t i = 0; line && i < line->all.n; i++) {
		const struct guard_command *c = &line->all.v[i];

		if (c->start <= it->start && c->end >= it->end && (!best || c->end - c->start < best->end - best->start))
			best = c;
	}
	return best;
}

/* "curl" is said to reach out, and so is each address it is given: the first one's hosts are the others'. */
static void hosts_beside(struct guard *g, const struct item *it, struct values *to)
{
	const struct guard_command *c = command_around(g, it);
	struct value v;

	for (size_t i = 0; i < g->n; i++) {
		const struct item *o = &g->items[i];

		if (o->is_call || o->is_any || o->class != it->class || !o->subject)
			continue;
		if (c && (o->start < c->start || o->end > c->end))
			continue;
		if (host_of(g, o->subject, &v))
			add_value(g, to, v.text, true);
	}
	for (size_t i = 0; c && i < c->argv.n; i++)
		if (strstr(c->argv.v[i].text, "://") && host_of(g, c->argv.v[i].text, &v))
			add_value(g, to, v.text, true);
}

static enum tri hosts_fit(struct guard *g, const struct rule *r, const struct item *it)
{
	const struct guard_line *line = it->class == EFFECT_GIT_PUSH ? guard_line_of(g) : NULL;
	struct values values = { 0 };
	struct value v;

	if (it->class == EFFECT_GIT_PUSH) {
		for (size_t i = 0; line && i < line->remotes.n; i++) {
			const struct arg *a = &line->remotes.v[i];
			bool is_host = a->is_known && host_of(g, a->text, &v);

			add_value(g, &values, is_host ? v.text : NULL, true);
		}
	} else if (it->subject && host_of(g, it->subject, &v)) {
		add_value(g, &values, v.text, true);
	} else {
		hosts_beside(g, it, &values);
	}
	return values_fit(g, r, RULE_HOSTS, match_host, &values);
}

/* --- commands --- */

/* cd within the workspace, and what the mode that only looks allows. */
bool guard_is_harmless(struct guard *g, size_t i)
{
	const struct args *argv = &guard_line_of(g)->plain.v[i].argv;
	OWN(verdict) struct verdict v = { 0 };
	const char **words;

	if (g->harmless[i] >= 0)
		return g->harmless[i];
	g->harmless[i] = 0;
	words = arena_alloc(g->arena, (argv->n + 1) * sizeof(*words));
	for (size_t k = 0; k < argv->n; k++) {
		if (!argv->v[k].is_known || argv->v[k].may_split)
			return false;
		words[k] = argv->v[k].text;
	}
	if (!strcmp(words[0], "cd")) {
		const char *cwd = g->req->cwd ? g->req->cwd : g->req->root;

		g->harmless[i] = argv->n == 2 && g->req->root && !argv->v[1].is_glob && *words[1] != '-' &&
			path_under(place_resolve(g->arena, cwd, words[1]), g->req->root);
	} else {
		g->harmless[i] = !command_check_argv(&g->line_req, words, &v, NULL) && v.decision == DECISION_ALLOW;
	}
	return g->harmless[i];
}

static bool is_unwanted(const struct rule *r, size_t pattern)
{
	size_t own = r->command != NULL;

	return pattern >= own && r->only.list[RULE_COMMANDS].v[pattern - own][0] == '!';
}

static bool has_wanted(const struct rule *r)
{
	for (size_t p = 0; p < r->words_n; p++)
		if (!is_unwanted(r, p))
			return true;
	return false;
}

/* Could this command be one that is meant? One that surely is left out is not. */
static enum tri command_hit(const struct rule *r, const struct guard_command *c, bool has_any_wanted)
{
	enum tri hit = has_any_wanted ? TRI_NO : TRI_YES;

	for (size_t p = 0; p < r->words_n; p++) {
		if (!is_unwanted(r, p))
			hit = tri_or(hit, words_hit(&r->words[p], &c->argv));
		else if (words_cover(&r->words[p], &c->argv, NULL, 0, c->has_more))
			return TRI_NO;
	}
	return hit;
}

static enum tri commands_hit(const struct guard_line *line, const struct rule *r)
{
	bool wanted = has_wanted(r);
	/* "anything but" is about what is written; a wrapper around it is not another command. */
	const struct guard_commands *list = wanted || line->doubt ? &line->all : &line->plain;
	enum tri hit = line->is_cut ? TRI_MAYBE : TRI_NO;

	if (line->unreadable)
		return TRI_MAYBE;
	for (size_t i = 0; i < list->n && hit != TRI_YES; i++)
		hit = tri_or(hit, command_hit(r, &list->v[i], wanted));
	return hit;
}

static bool covers_one(struct guard *g, const struct rule *r, const struct guard_command *c, bool wanted)
{
	for (size_t p = 0; p < r->words_n; p++)
		if (!is_unwanted(r, p) && words_cover(&r->words[p], &c->argv, g->req->argv ? NULL : g->req->line,
						      g->req->len, c->has_more))
			return true;
	return !wanted;
}

/* Is all that runs either meant, plainly, or harmless - and nothing of it left out? */
static enum tri commands_cover(struct guard *g, const struct rule *r)
{
	const struct guard_line *line = guard_line_of(g);
	bool wanted = has_wanted(r);
	size_t covered = 0;

	if (line->unreadable || line->is_cut || line->doubt)
		return TRI_NO;
	for (size_t p = 0; p < r->words_n; p++)
		for (size_t i = 0; is_unwanted(r, p) && i < line->all.n; i++)
			if (words_hit(&r->words[p], &line->all.v[i].argv) != TRI_NO)
				return TRI_NO;
	for (size_t i = 0; i < line->plain.n; i++) {
		if (covers_one(g, r, &line->plain.v[i], wanted))
			covered++;
		else if (!guard_is_harmless(g, i))
			return TRI_NO;
	}
	return covered ? TRI_YES : TRI_NO;
}

static enum tri commands_fit(struct guard *g, const struct rule *r)
{
	const struct guard_line *line = guard_line_of(g);

	if (!line)
		return TRI_NO;
	return r->decision == DECISION_ALLOW ? commands_cover(g, r) : commands_hit(line, r);
}

/* --- the rest --- */

static enum tri lines_fit(struct guard *g, const struct rule *r)
{
	struct values values = { 0 };

	if (!g->text)
		return TRI_NO;
	/* A NUL in a line would make two lines look the same. */
	if (!g->req->argv && memchr(g->req->line, '\0', g->req->len))
		return r->decision == DECISION_ALLOW ? TRI_NO : TRI_MAYBE;
	add_value(g, &values, g->text, true);
	return values_fit(g, r, RULE_LINES, match_line, &values);
}

static enum tri cwd_fit(struct guard *g, const struct rule *r)
{
	struct values values = { 0 };

	add_value(g, &values, g->req->cwd, true);
	return values_fit(g, r, RULE_CWD, match_path, &values);
}

static enum tri tools_fit(struct guard *g, const struct rule *r)
{
	struct values values = { 0 };

	if (!g->req->tool)
		return TRI_NO;
	add_value(g, &values, g->req->tool, true);
	return values_fit(g, r, RULE_TOOLS, match_tool, &values);
}

static enum tri list_fit(struct guard *g, const struct rule *r, enum rule_list l, const struct item *it)
{
	if (it->is_any && l <= RULE_HOSTS)
		return r->decision == DECISION_ALLOW ? TRI_NO : TRI_MAYBE;
	switch (l) {
	case RULE_PATHS:
		return paths_fit(g, r, it);
	case RULE_REFS:
		return refs_fit(g, r, it);
	case RULE_HOSTS:
		return hosts_fit(g, r, it);
	case RULE_COMMANDS:
		return commands_fit(g, r);
	case RULE_LINES:
		return lines_fit(g, r);
	case RULE_CWD:
		return cwd_fit(g, r);
	default:
		return tools_fit(g, r);
	}
}

/* --- counts --- */

static bool is_about_call(const struct rule *r)
{
	const struct strv *list = r->only.list;

	return !r->classes && !list[RULE_PATHS].n && !list[RULE_REFS].n && !list[RULE_HOSTS].n;
}

/* Is the rule about such a thing at all? */
static bool is_about(const struct rule *r, const struct item *it)
{
	const struct strv *list = r->only.list;
	unsigned int class = CLASS(it->class);

	if (it->is_call || is_about_call(r))
		return is_about_call(r) && (it->is_call || r->decision == DECISION_ALLOW);
	if (it->is_any)
		return true;
	if (r->classes)
		return r->classes & class;
	return (!list[RULE_PATHS].n || class & PATH_CLASSES) && (!list[RULE_REFS].n || class & REF_CLASSES) &&
		(!list[RULE_HOSTS].n || class & HOST_CLASSES);
}

/* All lists but the count; the weakest of them in *ret_list. */
static enum tri lists_fit(struct guard *g, const struct rule *r, const struct item *it, enum rule_list *ret_list)
{
	enum tri all = TRI_YES;

	*ret_list = RULE_LIST_NUM;
	for (int l = 0; l < RULE_LIST_NUM; l++) {
		enum tri one;

		if (!r->only.list[l].n && !(l == RULE_COMMANDS && r->command))
			continue;
		one = list_fit(g, r, (enum rule_list)l, it);
		if (one < all) {
			all = one;
			*ret_list = (enum rule_list)l;
		}
		if (all == TRI_NO)
			break;
	}
	return all;
}

static size_t things_of(struct guard *g, const struct item *it, bool *ret_is_sure)
{
	const struct guard_line *line;

	if (it->is_any || (it->subject && strpbrk(it->subject, "*?[\001")) || it->place == PLACE_UNKNOWN)
		*ret_is_sure = false;
	if (it->class != EFFECT_GIT_PUSH)
		return 1;
	line = guard_line_of(g);
	for (size_t i = 0; line && i < line->refs.n; i++)
		*ret_is_sure &= line->refs.v[i].is_known;
	return line ? line->refs.n : 1;
}

static enum tri count_fit(struct guard *g, const struct rule *r)
{
	bool is_allow = r->decision == DECISION_ALLOW, is_sure = true;
	size_t n = 0;
	enum rule_list l;

	for (size_t i = 0; i < g->n; i++) {
		enum tri fits = is_about(r, &g->items[i]) ? lists_fit(g, r, &g->items[i], &l) : TRI_NO;

		if (fits == TRI_NO)
			continue;
		is_sure &= fits == TRI_YES;
		n += things_of(g, &g->items[i], &is_sure);
	}
	if (is_allow)
		return is_sure && n <= (size_t)r->only.max_count ? TRI_YES : TRI_NO;
	return n > (size_t)r->only.max_count ? TRI_YES : is_sure ? TRI_NO : TRI_MAYBE;
}

/* --- all of it --- */

static bool is_in_scope(const struct guard_request *req, const struct rule *r)
{
	switch (r->scope) {
	case RULE_SPACE:
		return req->space && !strcmp(r->scope_id, req->space);
	case RULE_AGENT:
		return req->agent && !strcmp(r->scope_id, req->agent);
	case RULE_WORKSPACE:
		return !strcmp(r->scope_id, "*") || (req->workspace && !strcmp(r->scope_id, req->workspace));
	default:
		return true;
	}
}

static void no_fit(struct guard *g, const struct item *it, enum rule_list l, struct fit *ret)
{
	const char *what = l == RULE_LIST_NUM ? "maxCount" : rule_list_name(l);

	if (l == RULE_COMMANDS && guard_line_of(g) && guard_line_of(g)->doubt)
		snprintf(ret->why, sizeof(ret->why), "commands: the line holds %s", guard_line_of(g)->doubt);
	else
		snprintf(ret->why, sizeof(ret->why), "%s: no fit for %s", what, item_words(g, it));
}

/* What a list is about, of one thing. */
static const char *const nouns[] = {
	[RULE_PATHS] = "path",	 [RULE_REFS] = "branch",   [RULE_HOSTS] = "host", [RULE_COMMANDS] = "words",
	[RULE_LINES] = "line",	 [RULE_CWD] = "directory", [RULE_TOOLS] = "tool", [RULE_LIST_NUM] = "number",
};

static void judge_fit(struct guard *g, const struct rule *r, const struct item *it, struct fit *ret)
{
	enum rule_list weakest;
	enum tri fits = lists_fit(g, r, it, &weakest);

	if (fits != TRI_NO && r->only.max_count >= 0) {
		enum tri count = count_fit(g, r);

		if (count < fits) {
			fits = count;
			weakest = RULE_LIST_NUM;
		}
	}
	if (it->is_any && r->decision == DECISION_ALLOW)
		fits = TRI_NO;
	ret->sure = fits;
	if (fits == TRI_NO) {
		ret->fate = GUARD_NO_FIT;
		no_fit(g, it, weakest, ret);
	} else if (fits == TRI_MAYBE && r->decision == DECISION_ALLOW) {
		ret->fate = GUARD_UNSURE;
		snprintf(ret->why, sizeof(ret->why), "%s, whose %s cannot be told", item_words(g, it), nouns[weakest]);
	} else {
		ret->fate = GUARD_DECIDES;
		if (fits == TRI_MAYBE)
			snprintf(ret->why, sizeof(ret->why), "%s, whose %s cannot be told", item_words(g, it), nouns[weakest]);
		else
			snprintf(ret->why, sizeof(ret->why), "%s", item_words(g, it));
	}
}

void guard_fit(struct guard *g, const struct rule *r, const struct item *it, struct fit *ret)
{
	*ret = (struct fit){ .fate = GUARD_OTHER_SCOPE };
	if (!is_in_scope(g->req, r)) {
		snprintf(ret->why, sizeof(ret->why), "it is for %s '%.100s'", rule_scope_name(r->scope), r->scope_id);
	} else if (r->expires_us && r->expires_us <= g->req->now_us) {
		ret->fate = GUARD_EXPIRED;
		snprintf(ret->why, sizeof(ret->why), "its time is over");
	} else if (!is_about(r, it)) {
		ret->fate = GUARD_OTHER_THING;
		snprintf(ret->why, sizeof(ret->why), "nothing it is about happens");
	} else {
		judge_fit(g, r, it, ret);
	}
}
