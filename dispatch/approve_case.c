#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "db/policies.h"
#include "dispatch/approve_case.h"
#include "gates/redact.h"

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* --- bytes as JSON strings that can be had back --- */

static int add_bytes(struct json *to, const char *key, const char *bytes, size_t len)
{
	OWN(buf) struct buf b = { 0 };

	if (buf_adds(&b, "") < 0 || text_store(&b, bytes, len) < 0)
		return -1;
	return json_add_str(to, key, b.data) ? 0 : -1;
}

static int add_text(struct json *to, const char *key, const char *text)
{
	return text ? add_bytes(to, key, text, strlen(text)) : 0;
}

static int add_words(struct json *to, const char *key, const char *const words[])
{
	struct json *list = json_add_array(to, key);

	for (size_t i = 0; list && words[i]; i++)
		if (add_text(list, NULL, words[i]) < 0)
			return -1;
	return list ? 0 : -1;
}

/* --- the exact request --- */

static int add_command(struct json *to, const struct guard_request *req)
{
	if (req->argv)
		return add_words(to, "argv", req->argv);
	return req->line ? add_bytes(to, "line", req->line, req->len) : 0;
}

static int add_exact(struct json *to, const struct approve_case *c)
{
	const struct guard_request *req = c->req;

	if (add_command(to, req) < 0 || add_text(to, "tool", req->tool) < 0 || add_text(to, "input", c->input) < 0 ||
	    add_text(to, "cwd", req->cwd) < 0 || !json_add_str(to, "mode", mode_name(req->mode)) ||
	    add_text(to, "space", req->space) < 0 || add_text(to, "agent", req->agent) < 0 ||
	    add_text(to, "workspace", req->workspace) < 0 || add_text(to, "run", c->run_id) < 0 ||
	    add_text(to, "rules", c->rules) < 0)
		return -1;
	return 0;
}

static int check_line(const struct guard_request *req, struct err *err)
{
	if (!req->argv && req->line && memchr(req->line, '\0', req->len))
		return err_set(err, ERR_INPUT, 0, "nobody can be asked about a line that holds a NUL");
	return 0;
}

int case_digest(const struct approve_case *c, char ret[DIGEST_HEX_SIZE], struct err *err)
{
	OWN(json) struct json *j = json_new_object();
	OWN(mem) char *text = NULL;

	if (check_line(c->req, err) < 0)
		return -1;
	if (!j || add_exact(j, c) < 0 || !(text = json_print_canonical(j)))
		return no_memory(err);
	digest_hex(text, strlen(text), ret);
	return 0;
}

/* --- the question --- */

static int add_effects(struct json *to, const struct verdict *v)
{
	struct json *list = json_add_array(to, "effects");

	for (size_t i = 0; list && i < v->effects_n; i++) {
		const struct effect *e = &v->effects[i];
		struct json *j = json_add_object(list, NULL);

		if (!j || !json_add_str(j, "class", effect_class_name(e->class)) ||
		    !json_add_str(j, "place", effect_place_name(e->place)) || add_text(j, "subject", e->subject) < 0 ||
		    !json_add_int(j, "start", (int64_t)e->span_start) || !json_add_int(j, "end", (int64_t)e->span_end))
			return -1;
	}
	return list ? 0 : -1;
}

/* What the gate before said: needed to judge again. */
static int add_verdict(struct json *to, const struct verdict *v)
{
	struct json *j = json_add_object(to, "verdict");

	if (!j || !json_add_str(j, "decision", decision_name(v->decision)) || add_text(j, "rule", v->rule) < 0 ||
	    add_text(j, "reason", v->reason) < 0 || !json_add_int(j, "start", (int64_t)v->span_start) ||
	    !json_add_int(j, "end", (int64_t)v->span_end))
		return -1;
	return add_effects(j, v);
}

static int add_result(struct json *to, const struct guard_result *res, int is_masked)
{
	char classes[256];

	guard_classes(res->classes, classes, sizeof(classes));
	if (!json_add_str(to, "gate", res->gate) || add_text(to, "rule", res->name) < 0 ||
	    add_text(to, "reason", res->reason) < 0 || !json_add_str(to, "classes", classes) ||
	    !json_add_bool(to, "override", res->is_override) || !json_add_bool(to, "rememberable", res->may_remember && !is_masked))
		return -1;
	return 0;
}

char *case_line(const struct guard_request *req)
{
	struct buf b = { 0 };

	buf_adds(&b, "");
	if (req->argv) {
		for (size_t i = 0; req->argv[i]; i++) {
			if (i)
				buf_addc(&b, ' ');
			words_quote(&b, req->argv[i]);
		}
	} else if (req->line) {
		buf_add(&b, req->line, req->len);
	} else {
		buf_adds(&b, req->tool ? req->tool : "");
		for (size_t i = 0; i < req->verdict->effects_n; i++)
			if (req->verdict->effects[i].subject)
				buf_addf(&b, " %s", req->verdict->effects[i].subject);
	}
	return buf_steal(&b);
}

/* Without the words where they hold a secret; those of the effects and reasons are masked as well. */
static int add_request(struct json *to, const struct approve_case *c, int is_masked)
{
	struct guard_request req = *c->req;
	struct approve_case shown = *c;

	if (is_masked) {
		req.argv = NULL;
		req.line = NULL;
		shown.req = &req;
	}
	return add_exact(to, &shown) < 0 || add_text(to, "root", req.root) < 0 || add_text(to, "home", req.home) < 0 ? -1 : 0;
}

char *case_json(const struct approve_case *c, struct err *err)
{
	OWN(json) struct json *j = json_new_object();
	OWN(mem) char *command = case_line(c->req);
	size_t masked = 0;
	OWN(mem) char *shown = command ? redact_line(command, &masked) : NULL;
	struct json *request = j ? json_add_object(j, "request") : NULL;
	OWN(mem) char *whole = NULL;
	char *text = NULL;

	if (check_line(c->req, err) < 0)
		return NULL;
	if (request && shown && json_add_bool(j, "masked", masked != 0) && add_request(request, c, masked != 0) == 0 &&
	    add_text(j, "command", shown) == 0 && add_text(j, "toolUse", c->tool_use) == 0 &&
	    add_result(j, c->res, masked != 0) == 0 && (masked || add_verdict(j, c->req->verdict) == 0))
		whole = json_print(j);
	/* What is said of the words may repeat them. */
	text = whole && masked ? redact_line(whole, NULL) : TAKE(whole);
	if (!text)
		no_memory(err);
	return text;
}

/* --- reading it back --- */

static int bad(const char *what, struct err *err)
{
	return err_set(err, ERR_INPUT, 0, "the question on record has no '%s' that could be read", what);
}

/* The bytes of a string that add_bytes() wrote, kept in @r; NULL if there is none. */
static const char *get_text(struct approve_read *r, const struct json *from, const char *key, size_t *ret_len)
{
	const char *stored = json_str(json_get(from, key));
	OWN(buf) struct buf b = { 0 };

	if (!stored || buf_adds(&b, "") < 0 || text_restore(&b, stored) < 0 ||
	    strv_addn(&r->texts, b.data, b.len) < 0)
		return NULL;
	if (ret_len)
		*ret_len = b.len;
	return r->texts.v[r->texts.n - 1];
}

static int get_words(struct approve_read *r, const struct json *from)
{
	const struct json *list = json_get(from, "argv");

	for (const struct json *j = json_first(list); j; j = json_next(j)) {
		OWN(buf) struct buf b = { 0 };

		if (!json_str(j) || buf_adds(&b, "") < 0 || text_restore(&b, json_str(j)) < 0 ||
		    strv_addn(&r->argv, b.data, b.len) < 0)
			return -1;
	}
	if (list && !r->argv.n)
		return -1;
	r->req.argv = list ? (const char *const *)r->argv.v : NULL;
	return 0;
}

static int get_request(struct approve_read *r, const struct json *from, struct err *err)
{
	const char *mode = json_str(json_get(from, "mode"));
	struct guard_request *req = &r->req;

	if (!mode || mode_parse(mode, &req->mode) < 0)
		return bad("mode", err);
	if (get_words(r, from) < 0)
		return bad("argv", err);
	if (!req->argv)
		req->line = get_text(r, from, "line", &req->len);
	req->tool = get_text(r, from, "tool", NULL);
	req->cwd = get_text(r, from, "cwd", NULL);
	req->root = get_text(r, from, "root", NULL);
	req->home = get_text(r, from, "home", NULL);
	req->space = get_text(r, from, "space", NULL);
	req->agent = get_text(r, from, "agent", NULL);
	req->workspace = get_text(r, from, "workspace", NULL);
	return req->argv || req->line || req->tool ? 0 : bad("command", err);
}

static int find_name(const char *word, const char *(*name)(int), int n)
{
	for (int i = 0; word && i < n; i++)
		if (!strcmp(word, name(i)))
			return i;
	return -1;
}

static const char *class_name(int i)
{
	return effect_class_name((enum effect_class)i);
}

static const char *place_name(int i)
{
	return effect_place_name((enum effect_place)i);
}

static const char *verdict_name(int i)
{
	return decision_name((enum decision)i);
}

static int get_span(const struct json *from, size_t *ret_start, size_t *ret_end)
{
	int64_t start, end;

	if (json_int(json_get(from, "start"), &start) < 0 || json_int(json_get(from, "end"), &end) < 0 || start < 0 ||
	    end < start)
		return -1;
	*ret_start = (size_t)start;
	*ret_end = (size_t)end;
	return 0;
}

static int get_effects(struct approve_read *r, const struct json *list, struct err *err)
{
	struct verdict *v = &r->verdict;

	v->effects = calloc(json_count(list) + 1, sizeof(*v->effects));
	if (!v->effects)
		return no_memory(err);
	for (const struct json *j = json_first(list); j; j = json_next(j)) {
		struct effect *e = &v->effects[v->effects_n];
		int class = find_name(json_str(json_get(j, "class")), class_name, EFFECT_NUM);
		int place = find_name(json_str(json_get(j, "place")), place_name, PLACE_NUM);
		const char *subject = get_text(r, j, "subject", NULL);

		if (class < 0 || place < 0 || get_span(j, &e->span_start, &e->span_end) < 0)
			return bad("effects", err);
		e->class = (enum effect_class)class;
		e->place = (enum effect_place)place;
		e->subject = subject ? strdup(subject) : NULL;
		if (subject && !e->subject)
			return no_memory(err);
		v->effects_n++;
	}
	return 0;
}

static int get_verdict(struct approve_read *r, const struct json *from, struct err *err)
{
	struct verdict *v = &r->verdict;
	int decision = find_name(json_str(json_get(from, "decision")), verdict_name, DECISION_NUM);
	const char *rule = get_text(r, from, "rule", NULL), *reason = get_text(r, from, "reason", NULL);

	if (decision < 0 || !rule || !reason || get_span(from, &v->span_start, &v->span_end) < 0)
		return bad("verdict", err);
	v->decision = (enum decision)decision;
	memcpy(v->rule, rule, strnlen(rule, sizeof(v->rule) - 1));
	memcpy(v->reason, reason, strnlen(reason, sizeof(v->reason) - 1));
	return get_effects(r, json_get(from, "effects"), err);
}

int case_read(const char *text, struct approve_read *ret, struct err *err)
{
	int is_masked = 0;

	*ret = (struct approve_read){ 0 };
	if (json_parse(text, strlen(text), NULL, &ret->root, err) < 0)
		return -1;
	json_bool(json_get(ret->root, "masked"), &is_masked);
	if (is_masked) {
		case_read_done(ret);
		return err_set(err, ERR_POLICY, 0, "cannot remember this: it holds a secret, and was not kept");
	}
	if (get_request(ret, json_get(ret->root, "request"), err) < 0 ||
	    get_verdict(ret, json_get(ret->root, "verdict"), err) < 0) {
		case_read_done(ret);
		return -1;
	}
	ret->req.verdict = &ret->verdict;
	ret->req.now_us = clock_wall_us();
	return 0;
}

void case_read_done(struct approve_read *r)
{
	verdict_done(&r->verdict);
	json_free(r->root);
	strv_done(&r->argv);
	strv_done(&r->texts);
	*r = (struct approve_read){ 0 };
}

/* --- remembering --- */

/* When it cannot be told, it does. */
static int holds_secret(const char *text)
{
	size_t masked = 1;
	OWN(mem) char *shown = redact_line(text, &masked);

	return !shown || masked;
}

int case_remember(const struct guard_request *req, const struct guard_result *asked, enum guard_extent extent,
		  enum decision decision, int64_t ttl_ms, const char *by, struct approve_memory *ret,
		  struct policy_row *ret_row, struct err *err)
{
	*ret = (struct approve_memory){ 0 };
	if (guard_remember(req, asked, extent, decision, &ret->rule, err) < 0)
		return -1;
	ret->body = rule_body(&ret->rule);
	if (!ret->body || holds_secret(ret->body)) {
		int no_body = !ret->body;

		case_memory_done(ret);
		return no_body ? no_memory(err) :
			err_set(err, ERR_POLICY, 0, "cannot remember this: the rule would hold a secret");
	}
	*ret_row = (struct policy_row){
		.scope = rule_scope_name(ret->rule.scope), .scope_id = ret->rule.scope_id, .rule = ret->body,
		.provenance = ret->rule.provenance, .created_by = by,
		.expires_us = clock_wall_us() + (ttl_ms ? ttl_ms : APPROVE_MEMORY_MS) * 1000,
	};
	return 0;
}

void case_memory_done(struct approve_memory *m)
{
	rule_done(&m->rule);
	free(m->body);
	*m = (struct approve_memory){ 0 };
}
