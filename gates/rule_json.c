/*
 * Rules as JSON, and sets of them as files.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "gates/rule.h"

static const char *const rule_fields[] = {
	"scope", "scopeId", "class", "command", "constraint", "decision", "enforcement", "expires", "provenance",
	"reason", "match", "not_match", NULL,
};
static const char *const constraint_fields[] = {
	"paths", "refs", "hosts", "commands", "lines", "cwd", "tools", "maxCount", NULL,
};

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* --- reading --- */

static int bad_field(const char *field, const char *why, struct err *err)
{
	return err_set(err, ERR_INPUT, 0, "field '%s' %s", field, why);
}

static int get_text(const struct json *j, const char *field, char **ret, struct err *err)
{
	const struct json *v = json_get(j, field);

	if (!v)
		return 0;
	if (!json_str(v))
		return bad_field(field, "must be a string", err);
	if (strlen(json_str(v)) > 4096)
		return bad_field(field, "is too long", err);
	*ret = strdup(json_str(v));
	return *ret ? 0 : no_memory(err);
}

static int get_list(const struct json *j, const char *field, struct strv *ret, struct err *err)
{
	const struct json *v = json_get(j, field);

	if (!v)
		return 0;
	if (json_type(v) != JSON_ARRAY || !json_count(v))
		return bad_field(field, "must be a list that is not empty", err);
	return json_strv(v, ret) < 0 ? bad_field(field, "must be a list of strings", err) : 0;
}

static int get_constraint(const struct json *j, struct rule_constraint *ret, struct err *err)
{
	const struct json *c = json_get(j, "constraint"), *count = json_get(c, "maxCount");

	ret->max_count = -1;
	if (!c)
		return 0;
	if (json_type(c) != JSON_OBJECT || !json_count(c))
		return bad_field("constraint", "must be an object that is not empty", err);
	if (json_only(c, constraint_fields, "constraint", err) < 0)
		return -1;
	for (int l = 0; l < RULE_LIST_NUM; l++)
		if (get_list(c, rule_list_name((enum rule_list)l), &ret->list[l], err) < 0)
			return -1;
	if (count && (json_int(count, &ret->max_count) < 0 || ret->max_count < 0))
		return bad_field("maxCount", "must be a whole number from 0 up", err);
	return 0;
}

static int add_class(const char *word, unsigned int *classes, struct err *err)
{
	enum effect_class c;

	if (!word || effect_class_parse(word, &c) < 0)
		return err_set(err, ERR_INPUT, 0, "field 'class': '%s' is no class of effects", word ? word : "?");
	*classes |= 1u << c;
	return 0;
}

static int get_classes(const struct json *j, unsigned int *ret, struct err *err)
{
	const struct json *v = json_get(j, "class");

	if (!v)
		return 0;
	if (json_str(v))
		return add_class(json_str(v), ret, err);
	if (json_type(v) != JSON_ARRAY || !json_count(v))
		return bad_field("class", "must be a string or a list that is not empty", err);
	for (const struct json *i = json_first(v); i; i = json_next(i))
		if (add_class(json_str(i), ret, err) < 0)
			return -1;
	return 0;
}

static int get_decision(const struct json *j, struct rule *r, struct err *err)
{
	const char *word = json_str(json_get(j, "decision"));

	for (int d = 0; word && d < DECISION_NUM; d++) {
		if (!strcmp(word, decision_name((enum decision)d))) {
			r->decision = (enum decision)d;
			return 0;
		}
	}
	return bad_field("decision", "must be allow, ask or deny", err);
}

static int get_enforcement(const struct json *j, struct rule *r, struct err *err)
{
	const struct json *v = json_get(j, "enforcement");

	for (int e = 0; json_str(v) && e < RULE_ENFORCEMENT_NUM; e++) {
		if (!strcmp(json_str(v), rule_enforcement_name((enum rule_enforcement)e))) {
			r->enforcement = (enum rule_enforcement)e;
			return 0;
		}
	}
	return v ? bad_field("enforcement", "must be hard, soft or advisory", err) : 0;
}

static int get_scope(const struct json *j, struct rule *r, struct err *err)
{
	const struct json *v = json_get(j, "scope");

	r->scope = RULE_WORKSPACE;
	if (v && (!json_str(v) || rule_scope_parse(json_str(v), &r->scope) < 0))
		return bad_field("scope", "must be space, agent, workspace or managed", err);
	if (get_text(j, "scopeId", &r->scope_id, err) < 0)
		return -1;
	if (!r->scope_id && r->scope == RULE_WORKSPACE && !(r->scope_id = strdup("*")))
		return no_memory(err);
	return 0;
}

static int get_expiry(const struct json *j, struct rule *r, struct err *err)
{
	const struct json *v = json_get(j, "expires");

	if (v && (!json_str(v) || clock_parse(json_str(v), &r->expires_us) < 0 || r->expires_us <= 0))
		return bad_field("expires", "must be a time like 2027-01-31T12:00:00Z", err);
	return 0;
}

static int read_rule(const struct json *j, const char *place, struct rule *r, struct err *err)
{
	if (json_type(j) != JSON_OBJECT)
		return err_set(err, ERR_INPUT, 0, "must be an object");
	r->place = strdup(place);
	if (!r->place)
		return no_memory(err);
	if (json_only(j, rule_fields, "rule", err) < 0 || get_scope(j, r, err) < 0 ||
	    get_classes(j, &r->classes, err) < 0 || get_text(j, "command", &r->command, err) < 0 ||
	    get_constraint(j, &r->only, err) < 0 || get_decision(j, r, err) < 0 || get_enforcement(j, r, err) < 0 ||
	    get_expiry(j, r, err) < 0 || get_text(j, "provenance", &r->provenance, err) < 0 ||
	    get_text(j, "reason", &r->reason, err) < 0 || get_list(j, "match", &r->match, err) < 0 ||
	    get_list(j, "not_match", &r->not_match, err) < 0)
		return -1;
	return rule_finish(r, err);
}

int rule_from_json(const struct json *j, const char *place, struct rule *ret, struct err *err)
{
	OWN(rule) struct rule r = { 0 };

	if (read_rule(j, place, &r, err) < 0)
		return err_wrap(err, "%s", place);
	*ret = r;
	r = (struct rule){ 0 };
	return 0;
}

/* --- writing --- */

static int add_classes(struct json *to, unsigned int classes)
{
	struct json *list = json_add_array(to, "class");

	for (int c = 0; list && c < EFFECT_NUM; c++)
		if (classes & 1u << c && !json_add_str(list, NULL, effect_class_name((enum effect_class)c)))
			return -1;
	return list ? 0 : -1;
}

static int add_constraint(struct json *to, const struct rule *r)
{
	const struct rule_constraint *c = &r->only;
	struct json *j;
	size_t given = c->max_count >= 0;

	for (int l = 0; l < RULE_LIST_NUM; l++)
		given += c->list[l].n;
	if (!given)
		return 0;
	j = json_add_object(to, "constraint");
	for (int l = 0; j && l < RULE_LIST_NUM; l++)
		if (c->list[l].n && !json_add_strv(j, rule_list_name((enum rule_list)l), &c->list[l]))
			return -1;
	return j && (c->max_count < 0 || json_add_int(j, "maxCount", c->max_count)) ? 0 : -1;
}

static int add_body(struct json *j, const struct rule *r)
{
	if ((r->classes && add_classes(j, r->classes) < 0) || (r->command && !json_add_str(j, "command", r->command)) ||
	    add_constraint(j, r) < 0 || !json_add_str(j, "decision", decision_name(r->decision)) ||
	    (r->decision != DECISION_ALLOW && !json_add_str(j, "enforcement", rule_enforcement_name(r->enforcement))) ||
	    (*r->reason && !json_add_str(j, "reason", r->reason)) ||
	    (r->match.n && !json_add_strv(j, "match", &r->match)) ||
	    (r->not_match.n && !json_add_strv(j, "not_match", &r->not_match)))
		return -1;
	return 0;
}

static int add_origin(struct json *j, const struct rule *r)
{
	char text[CLOCK_TEXT_SIZE];

	/* A repository's rules read back as anybody's: it is the file that says whose they are. */
	if (r->scope != RULE_REPOSITORY && !json_add_str(j, "scope", rule_scope_name(r->scope)))
		return -1;
	if (*r->scope_id && !json_add_str(j, "scopeId", r->scope_id))
		return -1;
	if (r->expires_us) {
		clock_text(r->expires_us, text);
		if (!json_add_str(j, "expires", text))
			return -1;
	}
	return *r->provenance && !json_add_str(j, "provenance", r->provenance) ? -1 : 0;
}

struct json *rule_to_json(const struct rule *r)
{
	OWN(json) struct json *j = json_new_object();

	return j && !add_origin(j, r) && !add_body(j, r) ? TAKE(j) : NULL;
}

char *rule_body(const struct rule *r)
{
	OWN(json) struct json *j = json_new_object();

	return j && !add_body(j, r) ? json_print_canonical(j) : NULL;
}

/* --- files --- */

void rule_set_broken(struct rule_set *set, const char *fmt, ...)
{
	va_list ap;

	if (set->problem[0])
		return;
	va_start(ap, fmt);
	vsnprintf(set->problem, sizeof(set->problem), fmt, ap);
	va_end(ap);
}

/* The file decides whose rules these are, not they themselves. */
static int adopt(const struct json *j, struct rule *r, enum rule_file kind, struct err *err)
{
	static const enum rule_scope scopes[] = {
		[RULE_FILE_MANAGED] = RULE_MANAGED, [RULE_FILE_REPOSITORY] = RULE_REPOSITORY,
	};

	if (kind == RULE_FILE_PLAIN)
		return r->scope == RULE_MANAGED ?
			err_set(err, ERR_INPUT, 0, "%s: scope 'managed' is for /etc/agate/policy.json", r->place) : 0;
	if (json_get(j, "scopeId") || (json_get(j, "scope") && r->scope != scopes[kind]))
		return err_set(err, ERR_INPUT, 0, "%s: a rule of this file may not name a scope", r->place);
	return rule_set_scope(r, scopes[kind], "", err);
}

static int read_rules(struct rule_set *set, const struct json *root, const char *name, enum rule_file kind,
		      struct err *err)
{
	static const char *const known[] = { "version", "description", "rules", NULL };
	const struct json *list = json_get(root, "rules");
	int64_t version, number = 1;

	if (json_type(root) != JSON_OBJECT)
		return err_set(err, ERR_INPUT, 0, "'%s': must hold an object", name);
	if (json_only(root, known, "file of rules", err) < 0)
		return err_wrap(err, "'%s'", name);
	if (json_int(json_get(root, "version"), &version) < 0 || version != 1)
		return err_set(err, ERR_INPUT, 0, "'%s': field 'version' must be 1", name);
	if (json_type(list) != JSON_ARRAY)
		return err_set(err, ERR_INPUT, 0, "'%s': field 'rules' must be a list", name);
	for (const struct json *j = json_first(list); j; j = json_next(j), number++) {
		OWN(rule) struct rule r = { 0 };
		char place[600];

		snprintf(place, sizeof(place), "'%.500s': rule %lld", name, (long long)number);
		if (rule_from_json(j, place, &r, err) < 0 || adopt(j, &r, kind, err) < 0 ||
		    rule_set_take(set, &r, err) < 0)
			return -1;
	}
	return 0;
}

int rule_set_read(struct rule_set *set, const char *text, size_t len, const char *name, enum rule_file kind,
		  struct err *err)
{
	const struct json_limits limits = { .max_bytes = RULE_FILE_MAX_BYTES, .max_depth = 8 };
	OWN(json) struct json *root = NULL;
	size_t before = set->n;

	if (json_parse(text, len, &limits, &root, err) < 0)
		return err_wrap(err, "'%s'", name);
	if (!read_rules(set, root, name, kind, err))
		return 0;
	while (set->n > before)
		rule_done(&set->v[--set->n]);
	return -1;
}

static int add_digest_text(struct buf *b, const struct rule *r)
{
	OWN(mem) char *body = rule_body(r);

	if (!body)
		return -1;
	return buf_addf(b, "%d %zu:%s %lld %zu:%s\n", (int)r->scope, strlen(r->scope_id), r->scope_id,
			(long long)r->expires_us, strlen(body), body);
}

int rule_set_digest(const struct rule_set *set, char ret[DIGEST_HEX_SIZE])
{
	OWN(buf) struct buf b = { 0 };

	buf_addf(&b, "%zu:%s\n", strlen(set->problem), set->problem);
	for (size_t i = 0; i < set->n; i++)
		if (add_digest_text(&b, &set->v[i]) < 0)
			return -1;
	if (b.failed)
		return -1;
	digest_hex(b.data, b.len, ret);
	return 0;
}
