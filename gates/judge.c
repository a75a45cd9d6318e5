#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "base/strv.h"
#include "gates/judge.h"

#define MAX_FINDINGS 256u
#define MAX_STEPS 20000u	/* commands walked, those of loops and functions each time */

static const char *const decision_names[] = { "allow", "ask", "deny" };
static_assert(ARRAY_LEN(decision_names) == DECISION_NUM, "a name for each decision");

static const char *const class_names[] = {
	"fileRead", "fileDelete", "fileWriteOutsideWorktree", "gitCommit", "gitPush", "prCreate", "prPublish",
	"vendorSyncWrite", "networkEgress", "secretAccess", "packageInstall", "processSpawn",
	"workspaceMutation",
	"enclosureControl",
};
static_assert(ARRAY_LEN(class_names) == EFFECT_NUM, "a name for each class");

static const char *const place_names[] = {
	"", "inside", "device", "temp", "system", "home", "outside", "protected", "secret", "unknown",
};
static_assert(ARRAY_LEN(place_names) == PLACE_NUM, "a name for each place");

const char *decision_name(enum decision d)
{
	assert(d < DECISION_NUM);
	return decision_names[d];
}

const char *effect_class_name(enum effect_class c)
{
	assert(c < EFFECT_NUM);
	return class_names[c];
}

const char *effect_place_name(enum effect_place p)
{
	assert(p < PLACE_NUM);
	return place_names[p];
}

void verdict_done(struct verdict *v)
{
	for (size_t i = 0; i < v->effects_n; i++)
		free(v->effects[i].subject);
	free(v->effects);
	v->effects = NULL;
	v->effects_n = 0;
}

/* --- arguments --- */

void args_add(struct judge *j, struct args *to, struct arg a)
{
	if (to->n == to->cap) {
		size_t cap = to->cap ? to->cap * 2 : 8;
		struct arg *grown = arena_alloc(j->arena, cap * sizeof(*grown));

		if (to->n)
			memcpy(grown, to->v, to->n * sizeof(*grown));
		to->v = grown;
		to->cap = cap;
	}
	to->v[to->n++] = a;
}

struct arg arg_of(const char *text, const struct arg *at)
{
	return (struct arg){ .text = text, .is_known = true, .start = at->start, .end = at->end };
}

struct args args_from(const struct args *of, size_t first)
{
	if (first >= of->n)
		return (struct args){ 0 };
	return (struct args){ .v = of->v + first, .n = of->n - first, .cap = of->n - first };
}

bool arg_is(const struct arg *a, const char *s)
{
	return a->is_known && !strcmp(a->text, s);
}

const char *arg_dir(struct judge *j, const struct arg *a)
{
	const char *hole = a->is_known ? NULL : strchr(a->text, PLACE_HOLE);

	return hole && hole > a->text + 1 && a->text[0] == '/' && hole[-1] == '/' ?
		arena_dup(j->arena, a->text, (size_t)(hole - 1 - a->text)) : "";
}

struct arg arg_filled(struct judge *j, const struct arg *a)
{
	struct arg ret = *a;
	char *text;

	if (a->is_known || !a->lacks_numbers || a->may_split || a->is_glob)
		return ret;
	text = arena_dup(j->arena, a->text, strlen(a->text));
	for (char *p = text; *p; p++)
		if (*p == PLACE_HOLE)
			*p = '1';
	ret.text = text;
	ret.is_known = true;
	return ret;
}

/* --- findings --- */

static bool is_repeat(const struct judge *j, const struct finding *f)
{
	for (const struct finding *o = j->first; o; o = o->next) {
		const char *a = o->effect.subject, *b = f->effect.subject;

		if (o->effect.class == f->effect.class && o->effect.place == f->effect.place &&
		    o->weight == f->weight && (a == b || (a && b && !strcmp(a, b))))
			return true;
	}
	return false;
}

void judge_note(struct judge *j, const struct arg *at, enum effect_class class, enum effect_place place,
		const char *subject, enum weight weight, const char *rule, const char *why, ...)
{
	struct finding *f = ARENA_NEW(j->arena, struct finding);
	char text[sizeof(((struct verdict *)0)->reason)] = "";
	va_list ap;

	f->effect = (struct effect){ .class = class, .place = place };
	f->effect.subject = subject ? arena_dup(j->arena, subject, strlen(subject)) : NULL;
	f->effect.span_start = j->has_span ? j->span_start : at ? at->start : 0;
	f->effect.span_end = j->has_span ? j->span_end : at ? at->end : j->len;
	f->weight = weight;
	f->rule = rule;
	/* Enough is enough, but a heavier one always has room. */
	if (is_repeat(j, f) || (j->n_findings >= MAX_FINDINGS && weight <= j->heaviest))
		return;
	j->heaviest = weight > j->heaviest ? weight : j->heaviest;
	/* What is harmless is no reason. */
	if (weight != HARMLESS) {
		va_start(ap, why);
		vsnprintf(text, sizeof(text), why, ap);
		va_end(ap);
	}
	f->why = arena_dup(j->arena, text, strlen(text));
	*(j->last ? &j->last->next : &j->first) = f;
	j->last = f;
	j->n_findings++;
}

bool judge_step(struct judge *j)
{
	if (++j->steps <= MAX_STEPS)
		return true;
	judge_note(j, NULL, EFFECT_PROCESS_SPAWN, PLACE_NONE, NULL, REFUSED, "limit",
		   "the line takes too many steps to follow");
	return false;
}

void judge_unknown(struct judge *j, const char *who, const struct arg *at, const char *what)
{
	judge_note(j, at, EFFECT_PROCESS_SPAWN, PLACE_NONE, who, CHANGES, "unknown effect", "'%s' %s", who,
		   what);
}

void judge_code(struct judge *j, const char *who, const struct arg *name, const struct arg *at,
		const char *what)
{
	if (at ? at->is_network : j->sh.feed == FEED_NETWORK)
		judge_note(j, at ? at : name, EFFECT_PROCESS_SPAWN, PLACE_NONE, who, ASKS, "ask list",
			   "'%s' runs what was fetched from the network", who);
	else
		judge_unknown(j, who, at ? at : name, what);
}

/* What a use of a path means, by where it lies. */
struct path_rule {
	enum weight weight;
	const char *rule;
	const char *what;	/* behind the path */
};

static const struct path_rule look_rules[PLACE_NUM] = {
	[PLACE_SECRET] = { CHANGES, "secret", ", where credentials are kept" },
};

static const struct path_rule read_rules[PLACE_NUM] = {
	[PLACE_HOME] = { CHANGES, "outside", ", which lies outside the workspace" },
	[PLACE_OUTSIDE] = { CHANGES, "outside", ", which lies outside the workspace" },
	[PLACE_SECRET] = { REFUSED, "secret", ", where credentials are kept" },
};

static const struct path_rule write_rules[PLACE_NUM] = {
	[PLACE_INSIDE] = { CHANGES, "write", "" },
	[PLACE_TEMP] = { CHANGES, "write", "" },
	[PLACE_HOME] = { CHANGES, "write", "" },
	[PLACE_UNKNOWN] = { CHANGES, "write", "" },
	[PLACE_SYSTEM] = { REFUSED, "outside", ", which belongs to the system" },
	[PLACE_OUTSIDE] = { REFUSED, "outside", ", which lies outside the workspace" },
	[PLACE_PROTECTED] = { REFUSED, "protected", ", which no run may change" },
	[PLACE_SECRET] = { REFUSED, "secret", ", where credentials are kept" },
};

static const struct {
	const struct path_rule *rules;
	const char *verb;
} uses[] = {
	[USE_LOOK] = { look_rules, "looks at" },
	[USE_READ] = { read_rules, "reads" },
	[USE_WRITE] = { write_rules, "writes" },
	[USE_DELETE] = { write_rules, "deletes" },
	[USE_MOVE] = { write_rules, "moves" },
};

static enum effect_class class_of(enum place_use use, enum effect_place place)
{
	if (use == USE_DELETE)
		return EFFECT_FILE_DELETE;
	if (place == PLACE_SECRET && (use == USE_LOOK || use == USE_READ))
		return EFFECT_SECRET_ACCESS;
	if (use == USE_LOOK || use == USE_READ || place == PLACE_DEVICE)
		return EFFECT_FILE_READ;
	return place == PLACE_INSIDE || place == PLACE_UNKNOWN || place == PLACE_PROTECTED
		? EFFECT_WORKSPACE_MUTATION : EFFECT_FILE_WRITE_OUTSIDE;
}

static bool is_inside(const struct judge *j, const char *path)
{
	return j->req->workspace && path_under(path, j->req->workspace);
}

void judge_path(struct judge *j, const char *who, const struct arg *a, enum place_use use)
{
	const char *path = place_resolve(j->arena, j->sh.cwd, a->text);
	enum effect_place place = place_of(j->req, path, use);
	const struct path_rule *rule = &uses[use].rules[place];
	enum weight weight = rule->weight;

	/* Secrets of the workspace itself are the sandbox's to guard where a run may write. */
	if (place == PLACE_SECRET && use == USE_READ && (path[0] != '/' || is_inside(j, path)))
		weight = CHANGES;
	/* What programs keep below ~/.cache and kin is their own; the rest of home is the user's. */
	if (place == PLACE_HOME && weight == CHANGES && uses[use].rules == write_rules &&
	    !place_is_dot_home(j->req, path))
		weight = ASKS;
	if (place == PLACE_DEVICE && (use == USE_DELETE || use == USE_MOVE))
		weight = REFUSED;
	judge_note(j, a, class_of(use, place), place, path, weight, rule->rule ? rule->rule : "",
		   "'%s' %s '%s'%s", who, uses[use].verb, a->text, rule->what ? rule->what : "");
}

/* --- verdicts --- */

static void set_reason(struct verdict *v, const char *text)
{
	size_t n = 0;

	for (; *text && n + 1 < sizeof(v->reason); text++) {
		unsigned char c = (unsigned char)*text;

		/* The shell's own knowledge shows as "..."; other control bytes as "?". */
		if (c == PLACE_HOLE && n + 4 < sizeof(v->reason)) {
			memcpy(v->reason + n, "...", 3);
			n += 3;
		} else {
			v->reason[n++] = c < ' ' || c == 0x7f ? '?' : (char)c;
		}
	}
	/* Do not leave half a character at the cut. */
	while (*text && n && ((unsigned char)v->reason[n - 1] & 0xc0) == 0x80)
		n--;
	v->reason[n] = '\0';
}

static void refuse(struct verdict *v, enum decision d, const char *rule, size_t start, size_t end,
		   const char *why)
{
	v->decision = d;
	snprintf(v->rule, sizeof(v->rule), "%s", rule);
	v->span_start = start;
	v->span_end = end > start ? end : start;
	set_reason(v, why);
}

/* The finding that decides: in a read-only mode the first with any weight, else the heaviest. */
static const struct finding *deciding(const struct judge *j)
{
	const struct finding *best = NULL;

	for (const struct finding *f = j->first; f; f = f->next) {
		if (f->weight == HARMLESS)
			continue;
		if (mode_is_readonly(j->req->mode))
			return f;
		if (f->weight > CHANGES && (!best || f->weight > best->weight))
			best = f;
	}
	return best;
}

/* Hand the findings over to the caller's memory; false when there is none. */
static bool copy_effects(const struct judge *j, struct verdict *v)
{
	if (!j->n_findings)
		return true;
	v->effects = calloc(j->n_findings, sizeof(*v->effects));
	if (!v->effects)
		return false;
	for (const struct finding *f = j->first; f; f = f->next) {
		struct effect *e = &v->effects[v->effects_n];

		*e = f->effect;
		if (f->effect.subject) {
			e->subject = strdup(f->effect.subject);
			if (!e->subject)
				return false;
			for (char *c = e->subject; *c; c++)
				*c = *c == PLACE_HOLE ? '*' : *c;
		}
		v->effects_n++;
	}
	return true;
}

static void conclude(struct judge *j, struct verdict *v)
{
	const struct finding *f = deciding(j);
	const char *mode = mode_name(j->req->mode);

	if (!copy_effects(j, v)) {
		refuse(v, DECISION_DENY, "no memory", 0, 0, "out of memory");
	} else if (!f) {
		refuse(v, DECISION_ALLOW, "", 0, 0, "");
	} else if (mode_is_readonly(j->req->mode)) {
		refuse(v, DECISION_DENY, arena_printf(j->arena, "%s: %s", mode, f->rule),
		       f->effect.span_start, f->effect.span_end,
		       arena_printf(j->arena, "%s mode only looks, and %s", mode, f->why));
	} else {
		refuse(v, f->weight == REFUSED ? DECISION_DENY : DECISION_ASK,
		       arena_printf(j->arena, "%s: %s", mode, f->rule), f->effect.span_start,
		       f->effect.span_end, f->why);
	}
}

static void conclude_unreadable(struct judge *j, const struct shell_problem *p, struct verdict *v)
{
	bool may_ask = !mode_is_readonly(j->req->mode) && !p->is_limit;

	refuse(v, may_ask ? DECISION_ASK : DECISION_DENY, p->is_limit ? "limit" : "unreadable", p->start,
	       p->end, arena_printf(j->arena, "cannot read the line: %s", p->why));
}

static int check_roots(const char *what, const struct strv *roots, struct err *err)
{
	for (size_t i = 0; roots && i < roots->n; i++)
		if (!path_is_clean(roots->v[i]))
			return err_set(err, ERR_USAGE, 0, "%s '%s' is not a clean absolute path", what,
				       roots->v[i]);
	return 0;
}

static int check_request(const struct command_request *req, struct err *err)
{
	const struct { const char *what, *path; } paths[] = {
		{ "workspace", req->workspace }, { "current directory", req->cwd }, { "home", req->home },
	};

	if (req->mode < 0 || req->mode >= MODE_NUM)
		return err_set(err, ERR_USAGE, 0, "no such mode");
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (paths[i].path && !path_is_clean(paths[i].path))
			return err_set(err, ERR_USAGE, 0, "%s '%s' is not a clean absolute path",
				       paths[i].what, paths[i].path);
	if (check_roots("read root", req->read_roots, err) ||
	    check_roots("write root", req->write_roots, err))
		return -1;
	return check_roots("protected path", req->protected, err);
}

static struct judge *judge_new(struct arena *a, const struct command_request *req)
{
	struct judge *j = ARENA_NEW(a, struct judge);

	j->arena = a;
	j->req = req;
	j->lim.max_depth = COMMAND_MAX_DEPTH;
	j->lim.max_commands = COMMAND_MAX_COMMANDS;
	j->sh.cwd = req->cwd ? req->cwd : req->workspace;
	return j;
}

/* Runs with the arena's way out set, so that running out of memory ends here. */
static void check_line(struct arena *a, const struct command_request *req, struct verdict *ret)
{
	struct judge *j = judge_new(a, req);
	struct shell_problem problem = { 0 };
	struct node *script;

	j->len = req->len;
	if (shell_parse(a, req->line, req->len, false, &j->lim, &script, &problem)) {
		conclude_unreadable(j, &problem, ret);
		return;
	}
	walk_node(j, script);
	conclude(j, ret);
}

static void check_words(struct arena *a, const struct command_request *req, const char *const argv[],
			struct verdict *ret)
{
	struct judge *j = judge_new(a, req);
	struct args args = { 0 };
	size_t at = 0;

	for (; *argv; argv++) {
		size_t n = strlen(*argv);

		args_add(j, &args,
			 (struct arg){ .text = *argv, .is_known = true, .start = at, .end = at + n });
		at += n + 1;
	}
	j->len = at - 1;
	run_argv(j, &args);
	conclude(j, ret);
}

static void deny_at_first(struct verdict *ret)
{
	*ret = (struct verdict){ .decision = DECISION_DENY };
	refuse(ret, DECISION_DENY, "undecided", 0, 0, "the gate did not come to a verdict");
}

static int check(const struct command_request *req, const char *const argv[], struct verdict *ret)
{
	struct arena arena = { 0 };

	if (setjmp(arena.out)) {
		verdict_done(ret);
		refuse(ret, DECISION_DENY, "limit", 0, 0, "the line takes more memory than a verdict may");
	} else if (argv) {
		check_words(&arena, req, argv, ret);
	} else {
		check_line(&arena, req, ret);
	}
	arena_done(&arena);
	return 0;
}

int command_check(const struct command_request *req, struct verdict *ret, struct err *err)
{
	deny_at_first(ret);
	if (!req->line)
		return err_set(err, ERR_USAGE, 0, "no line to check");
	if (check_request(req, err))
		return -1;
	if (req->len > COMMAND_MAX_BYTES) {
		refuse(ret, DECISION_DENY, "limit", 0, req->len, "the line is too long");
		return 0;
	}
	return check(req, NULL, ret);
}

int command_check_argv(const struct command_request *req, const char *const argv[], struct verdict *ret,
		       struct err *err)
{
	size_t len = 0;

	deny_at_first(ret);
	if (!argv || !argv[0])
		return err_set(err, ERR_USAGE, 0, "no command to check");
	if (check_request(req, err))
		return -1;
	for (size_t i = 0; argv[i]; i++)
		len += strlen(argv[i]) + 1;
	if (len > COMMAND_MAX_BYTES) {
		refuse(ret, DECISION_DENY, "limit", 0, len, "the command is too long");
		return 0;
	}
	return check(req, argv, ret);
}
