#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "gates/guard_fit.h"
#include "gates/guard_judge.h"

static const char *const fate_names[] = {
	"other scope", "expired", "nothing it is about", "does not fit", "cannot be told", "advises", "outranked", "agrees",
	"decides",
};
static_assert(ARRAY_LEN(fate_names) == GUARD_FATE_NUM, "a name for each fate");

const char *guard_fate_name(enum guard_fate f)
{
	assert(f < GUARD_FATE_NUM);
	return fate_names[f];
}

void guard_result_done(struct guard_result *r)
{
	free(r->notes);
	*r = (struct guard_result){ 0 };
}

void guard_classes(unsigned int classes, char *ret, size_t size)
{
	size_t n = 0;

	ret[0] = '\0';
	for (int c = 0; c < EFFECT_NUM; c++)
		if (classes & 1u << c && n < size)
			n += (size_t)snprintf(ret + n, size - n, "%s%s", n ? "," : "",
					      effect_class_name((enum effect_class)c));
}

/* --- which of the rules that apply goes first --- */

enum tier { TIER_MANAGED, TIER_REPOSITORY, TIER_STORED, TIER_NUM };

static enum tier tier_of(const struct rule *r)
{
	return r->scope == RULE_MANAGED ? TIER_MANAGED : r->scope == RULE_REPOSITORY ? TIER_REPOSITORY : TIER_STORED;
}

/* Far scopes have a great number. */
static int distance(const struct rule *r)
{
	if (r->scope == RULE_WORKSPACE && !strcmp(r->scope_id, "*"))
		return RULE_WORKSPACE + 1;
	return r->scope <= RULE_WORKSPACE ? (int)r->scope : 0;
}

/* One more than the words that a rule which is only about commands asks for; 0 for others. */
static size_t command_length(const struct rule *r)
{
	size_t most = 0;

	for (size_t i = 0; !r->classes && i < r->words_n; i++) {
		const struct strv *words = &r->words[i].words;
		size_t n = 1;

		for (size_t k = 0; k < words->n; k++)
			n += strcmp(words->v[k], "**") != 0;
		most = n > most ? n : most;
	}
	return most;
}

static bool is_remembered(const struct rule *r)
{
	return !strcmp(r->provenance, "remembered");
}

/* Is @a stronger than @b? Guard.h, point 2. */
static bool goes_before(const struct rule *a, const struct rule *b)
{
	if (distance(a) != distance(b))
		return distance(a) < distance(b);
	if (is_remembered(a) != is_remembered(b))
		return is_remembered(a);
	if (rule_is_constrained(a) != rule_is_constrained(b))
		return rule_is_constrained(a);
	if (command_length(a) && command_length(b) && command_length(a) != command_length(b))
		return command_length(a) > command_length(b);
	return a->decision > b->decision;
}

static bool is_hard_denial(const struct rule *r)
{
	return r->decision == DECISION_DENY && r->enforcement == RULE_HARD;
}

static const struct rule *stronger(const struct rule *best, const struct rule *r)
{
	if (!best)
		return r;
	if (is_hard_denial(best) != is_hard_denial(r))
		return is_hard_denial(r) ? r : best;
	return goes_before(r, best) ? r : best;
}

/* What a rule comes to when it wins. */
static enum decision outcome(const struct rule *r)
{
	if (!r)
		return DECISION_ALLOW;
	return r->decision == DECISION_DENY && r->enforcement == RULE_SOFT ? DECISION_ASK : r->decision;
}

/* --- what became of each rule --- */

static void note(struct guard_note *to, enum guard_fate fate, const char *why)
{
	if (to->rule && fate <= to->fate && to->why[0])
		return;
	to->fate = fate;
	snprintf(to->why, sizeof(to->why), "%s", why);
	for (char *c = to->why; *c; c++)
		*c = (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c;
}

void guard_judge_item(struct judging *d, const struct item *it, struct item_result *ret)
{
	*ret = (struct item_result){ 0 };
	for (size_t i = 0; i < d->set->n; i++) {
		const struct rule *r = &d->set->v[i];
		struct fit fit;

		guard_fit(&d->g, r, it, &fit);
		if (fit.fate == GUARD_DECIDES && r->enforcement == RULE_ADVISORY)
			fit.fate = GUARD_ADVISES;
		else if (fit.fate == GUARD_DECIDES)
			fit.fate = GUARD_OUTRANKED;	/* until it is seen to decide */
		if (d->notes)
			note(&d->notes[i], fit.fate, fit.why);
		if (fit.fate == GUARD_OUTRANKED)
			ret->winner[tier_of(r)] = stronger(ret->winner[tier_of(r)], r);
	}
	for (int t = 0; t < TIER_NUM; t++) {
		enum decision o = outcome(ret->winner[t]);

		if (o > ret->decision) {
			ret->decision = o;
			ret->rule = ret->winner[t];
		}
	}
	ret->is_allowed = ret->decision == DECISION_ALLOW && ret->winner[TIER_STORED];
	if (ret->is_allowed)
		ret->rule = ret->winner[TIER_STORED];
}

/* --- modes that only look --- */

/* Without enclosureControl and the others the run could not be told from one that may write. */
static const unsigned int looking_denies =
	1u << EFFECT_FILE_DELETE | 1u << EFFECT_FILE_WRITE_OUTSIDE | 1u << EFFECT_GIT_COMMIT | 1u << EFFECT_GIT_PUSH |
	1u << EFFECT_PR_CREATE | 1u << EFFECT_PR_PUBLISH | 1u << EFFECT_VENDOR_SYNC_WRITE | 1u << EFFECT_PACKAGE_INSTALL |
	1u << EFFECT_WORKSPACE_MUTATION | 1u << EFFECT_PROCESS_SPAWN | 1u << EFFECT_ENCLOSURE_CONTROL;

static bool mode_denies(const struct guard_request *req, const struct item *it)
{
	return !it->is_call && mode_is_readonly(req->mode) && (it->is_any || looking_denies & 1u << it->class);
}

/* --- all of it together --- */

static void say(struct guard_result *res, enum decision d, const char *gate, const char *name, const char *reason)
{
	res->decision = d;
	res->gate = gate;
	snprintf(res->name, sizeof(res->name), "%s", name);
	snprintf(res->reason, sizeof(res->reason), "%s", reason);
	for (char *c = res->reason; *c; c++)
		*c = (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c;
}

static void say_item(struct guard_result *res, const struct item *it)
{
	res->has_class = !it->is_call && !it->is_any;
	res->class = it->class;
	res->span_start = it->start;
	res->span_end = it->end;
}

static const char *verb(const struct rule *r)
{
	return r->decision == DECISION_DENY ? r->enforcement == RULE_SOFT ? "denies, softly," : "denies" :
		r->decision == DECISION_ASK ? "asks about" : "allows";
}

static void say_rule(struct judging *d, struct guard_result *res, const struct item *it, const struct item_result *ir)
{
	const struct rule *r = ir->rule;
	const char *text;
	struct fit fit;

	guard_fit(&d->g, r, it, &fit);
	text = arena_printf(d->g.arena, "%.80s %s %.160s%s%s", r->place, verb(r), fit.why, *r->reason ? ": " : "", r->reason);
	say(res, ir->decision, "guard", r->place, text);
	say_item(res, it);
	res->rule = r;
	res->is_override = r->decision == DECISION_DENY && ir->decision == DECISION_ASK;
	/* What the owner or the repository asks has to be asked each time. */
	res->may_remember = ir->decision == DECISION_ASK && tier_of(r) == TIER_STORED;
}

static void say_mode(struct judging *d, struct guard_result *res, const struct item *it)
{
	const char *mode = mode_name(d->g.req->mode);

	say(res, DECISION_DENY, "guard", arena_printf(d->g.arena, "%s: %s", mode, effect_class_name(it->class)),
	    arena_printf(d->g.arena, "%s mode only looks, and this is %s", mode, item_words(&d->g, it)));
	say_item(res, it);
	res->rule = NULL;
	res->is_override = res->may_remember = false;
}

/* The strictest of all items, the first of equals; the first rule that allows where nothing is stricter. */
static void judge_items(struct judging *d, struct guard_result *res)
{
	const struct rule *allows = NULL;

	say(res, DECISION_ALLOW, "guard", "", "");
	for (size_t i = 0; i < d->g.n; i++) {
		const struct item *it = &d->g.items[i];
		struct item_result *ir = &d->results[i];

		guard_judge_item(d, it, ir);
		if (!it->is_call && !item_is_read(it))
			res->classes |= 1u << it->class;
		if (ir->decision > res->decision)
			say_rule(d, res, it, ir);
		if (mode_denies(d->g.req, it) && res->decision < DECISION_DENY)
			say_mode(d, res, it);
		if (ir->is_allowed && !allows)
			allows = ir->rule;
	}
	if (res->decision == DECISION_ALLOW && allows) {
		res->rule = allows;
		snprintf(res->name, sizeof(res->name), "%s", allows->place);
	}
}

static void say_verdict(const struct guard_request *req, struct guard_result *res)
{
	const struct verdict *v = req->verdict;

	say(res, v->decision, "command", v->rule, v->reason[0] ? v->reason : "the gate gave no reason");
	res->span_start = v->span_start;
	res->span_end = v->span_end;
	res->rule = NULL;
	res->has_class = res->is_override = false;
	/* What has to be asked because it cannot be read is no matter for rules. */
	res->may_remember = v->decision == DECISION_ASK;
}

static void combine(struct judging *d, struct guard_result *res)
{
	const struct guard_request *req = d->g.req;
	const struct verdict *v = req->verdict;

	if (v->decision == DECISION_DENY || (v->decision == DECISION_ASK && res->decision == DECISION_ALLOW)) {
		const struct rule *by = v->decision == DECISION_ASK ? guard_settles(d) : NULL;

		if (!by) {
			say_verdict(req, res);
			return;
		}
		res->is_settled = true;
		res->rule = by;
		snprintf(res->name, sizeof(res->name), "%s", by->place);
	} else if (v->decision == DECISION_ASK && res->decision == DECISION_ASK) {
		/* Two questions in one: who says yes says it to both. */
		say(res, DECISION_ASK, "guard", arena_printf(d->g.arena, "%s", res->name),
		    arena_printf(d->g.arena, "%.120s; and %.120s", res->reason, v->reason));
	}
}

/* The winners of all items decide, agree, or were outranked. */
static void finish_notes(struct judging *d, struct guard_result *res)
{
	for (size_t i = 0; i < d->set->n; i++) {
		struct guard_note *n = &res->notes[i];

		if (n->fate != GUARD_OUTRANKED)
			continue;
		if (n->rule == res->rule)
			n->fate = GUARD_DECIDES;
		else if (res->rule && outcome(n->rule) == res->decision)
			n->fate = GUARD_AGREES;
	}
}

/* Runs with the arena's way out set. */
static void judge_all(struct arena *a, const struct guard_request *req, const struct rule_set *set, const char *text,
		      struct guard_result *ret)
{
	struct judging *d = ARENA_NEW(a, struct judging);

	d->set = set;
	d->notes = ret->notes;
	guard_open(&d->g, a, req, text);
	d->results = arena_alloc(a, d->g.n * sizeof(*d->results));
	judge_items(d, ret);
	combine(d, ret);
	d->notes = NULL;
	finish_notes(d, ret);
}

char *guard_text(const struct guard_request *req)
{
	struct buf b = { 0 };

	if (!req->argv)
		return strndup(req->line ? req->line : "", req->line ? req->len : 0);
	buf_adds(&b, "");
	for (size_t i = 0; req->argv[i]; i++) {
		if (i)
			buf_addc(&b, ' ');
		words_quote(&b, req->argv[i]);
	}
	return buf_steal(&b);
}

static void deny(struct guard_result *ret, const char *name, const char *why)
{
	say(ret, DECISION_DENY, "guard", name, why);
	ret->rule = NULL;
	ret->has_class = ret->is_override = ret->is_settled = ret->may_remember = false;
}

void guard_judge(const struct guard_request *req, const struct rule_set *set, struct guard_result *ret)
{
	OWN(mem) char *text = guard_text(req);
	struct arena arena = { 0 };

	*ret = (struct guard_result){ 0 };
	deny(ret, "undecided", "the rules did not come to a decision");
	if (set->problem[0]) {
		deny(ret, "malformed", set->problem);
		return;
	}
	if (!req->workspace) {
		deny(ret, "no workspace", "it cannot be told which workspace this is, and so which rules hold");
		return;
	}
	ret->notes = calloc(set->n + 1, sizeof(*ret->notes));
	if (!text || !ret->notes) {
		deny(ret, "no memory", "out of memory");
		return;
	}
	ret->notes_n = set->n;
	for (size_t i = 0; i < set->n; i++)
		ret->notes[i].rule = &set->v[i];
	if (setjmp(arena.out))
		deny(ret, "limit", "judging it by the rules takes more memory than a decision may");
	else
		judge_all(&arena, req, set, req->argv || req->line ? text : NULL, ret);
	arena_done(&arena);
}
