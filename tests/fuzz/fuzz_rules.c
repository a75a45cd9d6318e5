/*
 * tests/fuzz/fuzz_rules.c - rules from outside, and a line judged by them
 *
 * The input is a file of rules, a NUL, and a shell line; the first byte says whose
 * file it is. What reads must mean the same when it is written and read again; no
 * rules lift what was denied or what a mode denies; a denial of everything denies.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "gates/guard.h"
#include "gates/import_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char deny_all[] = "{\"version\":1,\"rules\":[{\"class\":\"fileDelete\",\"decision\":\"deny\"},"
			       "{\"command\":\"**\",\"decision\":\"deny\"}]}";

static void check_again(const struct rule *r)
{
	OWN(json) struct json *j = rule_to_json(r);
	OWN(mem) char *body = rule_body(r);
	OWN(mem) char *again = NULL;
	OWN(rule) struct rule read = { 0 };
	struct err err = { 0 };

	if (!j || !body)
		abort();
	if (rule_from_json(j, "again", &read, &err) < 0)
		abort();
	again = rule_body(&read);
	if (!again || strcmp(body, again) != 0)
		abort();
}

static enum decision judge(const struct rule_set *set, const char *line, size_t len, enum mode mode, enum decision *before)
{
	const struct command_request q = { .line = line, .len = len, .mode = mode, .workspace = "/w", .home = "/home/u" };
	OWN(verdict) struct verdict v = { 0 };
	OWN(guard_result) struct guard_result res = { 0 };
	const struct guard_request req = { .mode = mode, .space = "s", .agent = "bash", .workspace = "/w", .line = line,
					   .len = len, .root = "/w", .cwd = "/w", .home = "/home/u", .verdict = &v,
					   .now_us = 1796000000000000 };

	command_check(&q, &v, NULL);
	*before = v.decision;
	guard_judge(&req, set, &res);
	if (res.decision != DECISION_ALLOW && (!res.reason[0] || !res.name[0]))
		abort();
	if (res.span_start > res.span_end || res.span_end > len || res.notes_n != set->n)
		abort();
	if (res.decision == DECISION_ASK && res.may_remember) {
		for (int e = 0; e < GUARD_EXTENT_NUM; e++) {
			OWN(rule) struct rule r = { 0 };

			if (!guard_remember(&req, &res, (enum guard_extent)e, DECISION_ALLOW, &r, NULL))
				check_again(&r);
		}
	}
	return res.decision;
}

static void check_line(struct rule_set *set, const char *line, size_t len)
{
	enum decision before, after;

	for (int m = 0; m < 2; m++) {
		enum mode mode = m ? MODE_PLAN : MODE_CHAT;

		after = judge(set, line, len, mode, &before);
		if (after < before && (before == DECISION_DENY || mode == MODE_PLAN))
			abort();
	}
}

static void check_set(const char *text, size_t len, enum rule_file kind, const char *line, size_t line_len)
{
	OWN(rule_set) struct rule_set set = { 0 };
	struct err err = { 0 };
	enum decision before;

	if (rule_set_read(&set, text, len, "f", kind, &err) < 0) {
		if (!err.msg[0] || set.n)
			abort();
		return;
	}
	for (size_t i = 0; i < set.n; i++)
		check_again(&set.v[i]);
	if (set.n > 64)
		return;
	rule_set_self_test(&set, NULL);
	check_line(&set, line, line_len);
	if (rule_set_read(&set, deny_all, strlen(deny_all), "d", RULE_FILE_PLAIN, &err) < 0)
		abort();
	if (judge(&set, "rm a", 4, MODE_CHAT, &before) != DECISION_DENY)
		abort();
}

static void check_import(const char *text, size_t len, int is_codex)
{
	const struct import_where where = { .name = "f", .base = "/w", .scope = RULE_WORKSPACE, .scope_id = "*" };
	OWN(rule_set) struct rule_set set = { 0 };
	OWN(import_report) struct import_report report = { 0 };
	struct err err = { 0 };
	int r = is_codex ? import_codex(text, len, &where, &set, &report, &err) :
		import_claude(text, len, &where, &set, &report, &err);

	if (r < 0 && !err.msg[0])
		abort();
	for (size_t i = 0; i < set.n; i++)
		check_again(&set.v[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *text = (const char *)data + 1, *end;

	if (!len--)
		return 0;
	end = memchr(text, '\0', len);
	switch (*data) {
	case 'c':
		check_import(text, len, 0);
		break;
	case 'x':
		check_import(text, len, 1);
		break;
	default:
		if (end && len - (size_t)(end - text) < 4096)
			check_set(text, (size_t)(end - text), *data == 'm' ? RULE_FILE_MANAGED : *data == 'r' ?
				  RULE_FILE_REPOSITORY : RULE_FILE_PLAIN, end + 1, len - (size_t)(end - text) - 1);
	}
	return 0;
}
