/*
 * tests/unit/gates/guard_fixture.h - rules as text, and a line judged by them
 */
#ifndef TESTS_UNIT_GATES_GUARD_FIXTURE_H
#define TESTS_UNIT_GATES_GUARD_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "gates/guard.h"

#define NOW ((int64_t)1796000000 * 1000000)	/* in November 2026 */


/* Scopes of the request below. */
#define SPACE "\"scope\":\"space\",\"scopeId\":\"s1\","
#define AGENT "\"scope\":\"agent\",\"scopeId\":\"claude\","
#define HERE "\"scope\":\"workspace\",\"scopeId\":\"/w\","
#define EVERYWHERE "\"scope\":\"workspace\",\"scopeId\":\"*\","
#define ALLOW "\"decision\":\"allow\""
#define ASK "\"decision\":\"ask\""
#define DENY "\"decision\":\"deny\""
#define SOFT ",\"enforcement\":\"soft\""
#define ADVISORY ",\"enforcement\":\"advisory\""
#define CLASS(c) "\"class\":\"" c "\","
#define COMMAND(c) "\"command\":\"" c "\","
#define ONLY(list, pattern) "\"constraint\":{\"" list "\":[\"" pattern "\"]},"

/* --- a request as the table means it --- */

struct world {
	struct rule_set set;
	struct verdict verdict;
	struct guard_request req;
	struct guard_result res;
};

static inline void add_rules(struct rule_set *set, const char *rules, enum rule_file kind)
{
	char text[4096], name[] = "t.json";
	struct err err = { 0 };
	size_t before = set->n;

	snprintf(text, sizeof(text), "{\"version\":1,\"rules\":[%s]}", rules ? rules : "");
	if (rule_set_read(set, text, strlen(text), name, kind, &err) < 0)
		fail_msg("%s\n%s", err.msg, text);
	for (size_t i = before; i < set->n; i++)
		set->v[i].id = kind == RULE_FILE_PLAIN ? (int64_t)i + 1 : 0;
}

static inline void judge(struct world *w, const char *line, enum mode mode)
{
	const struct command_request q = { .line = line, .len = strlen(line), .mode = mode, .workspace = "/w",
					   .home = "/home/u" };
	struct err err = { 0 };

	assert_int_equal(command_check(&q, &w->verdict, &err), 0);
	w->req.mode = mode;
	w->req.line = line;
	w->req.len = strlen(line);
	w->req.verdict = &w->verdict;
	guard_judge(&w->req, &w->set, &w->res);
}

static inline void open_world(struct world *w)
{
	*w = (struct world){ .req = { .space = "s1", .agent = "claude", .workspace = "/w", .root = "/w", .cwd = "/w",
				      .home = "/home/u", .now_us = NOW } };
}

static inline void close_world(struct world *w)
{
	guard_result_done(&w->res);
	verdict_done(&w->verdict);
	rule_set_done(&w->set);
}

static inline enum decision decide(const char *line, enum mode mode, const struct rule_set *set, enum decision *ret_before)
{
	const struct command_request q = { .line = line, .len = strlen(line), .mode = mode, .workspace = "/w",
					   .home = "/home/u" };
	OWN(verdict) struct verdict v = { 0 };
	OWN(guard_result) struct guard_result res = { 0 };
	const struct guard_request req = { .mode = mode, .space = "s1", .agent = "claude", .workspace = "/w", .root = "/w",
					   .cwd = "/w", .home = "/home/u", .now_us = NOW, .line = line, .len = q.len,
					   .verdict = &v };
	struct err err = { 0 };

	assert_int_equal(command_check(&q, &v, &err), 0);
	guard_judge(&req, set, &res);
	*ret_before = v.decision;
	if (res.decision == DECISION_ALLOW)
		assert_string_equal(res.reason, "");
	else if (!res.reason[0] || !res.name[0] || res.span_start > res.span_end || res.span_end > q.len)
		fail_msg("'%s': reason '%s', name '%s', span [%zu,%zu)", line, res.reason, res.name, res.span_start,
			 res.span_end);
	return res.decision;
}

/* \n, \t and \\ as files of cases have them */
static inline void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] && strchr("nt\\", s[1])) {
			s++;
			*to++ = *s == 'n' ? '\n' : *s == 't' ? '\t' : '\\';
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

#endif
