/*
 * tests/fuzz/fuzz_hook.c - any bytes as a hook's event: a verdict that can be told, or an error
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "dispatch/hook_event.h"
#include "gates/tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static char *real(void *cookie, const char *path)
{
	(void)cookie;
	return strlen(path) % 7 ? strdup(path) : NULL;
}

static const char *path_rule(void *cookie, const char *path, bool is_write)
{
	(void)cookie;
	return is_write && strlen(path) % 5 == 0 ? "**/five" : NULL;
}

static const struct tool_world world = { .real = real, .path_rule = path_rule };

/* One line of UTF-8 that a terminal and a record can take. */
static void check_text(const char *s)
{
	for (size_t left = strlen(s), n; left; s += n, left -= n) {
		n = text_char(s, left);
		if (!n || (unsigned char)*s < ' ' || *s == 0x7f)
			abort();
	}
}

static void check_answer(const struct verdict *v)
{
	OWN(json) struct json *answer = hook_answer(v->decision, v->reason);
	OWN(mem) char *text = json_print(answer);
	OWN(json) struct json *again = NULL;
	const char *said;

	if (!text || json_parse(text, strlen(text), NULL, &again, NULL) < 0)
		abort();
	said = json_str(json_get(json_get(again, "hookSpecificOutput"), "permissionDecision"));
	if (!said || strcmp(said, decision_name(v->decision)) != 0)
		abort();
}

static void judge(const struct hook_event *ev, enum mode mode, bool is_held, struct verdict *v)
{
	const struct tool_request req = {
		.tool = ev->tool, .input = ev->input, .mode = mode, .is_held = is_held, .workspace = "/w", .cwd = ev->cwd,
		.home = "/home/u", .world = &world,
	};
	struct err err = { 0 };

	if (tool_check(&req, v, &err) < 0 && (v->decision != DECISION_DENY || !err.msg[0]))
		abort();
	if (v->decision != DECISION_ALLOW && (!v->reason[0] || !v->rule[0]))
		abort();
	if (v->decision != DECISION_ALLOW && verdict_is_contained(v))
		abort();
	check_text(v->reason);
	check_answer(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	OWN(json) struct json *root = NULL;
	OWN(verdict) struct verdict chat = { 0 };
	OWN(verdict) struct verdict held = { 0 };
	OWN(verdict) struct verdict plan = { 0 };
	OWN(mem) char *line = NULL;
	char digest[DIGEST_HEX_SIZE];
	struct hook_event ev;
	struct err err = { 0 };

	if (hook_event_parse((const char *)data, len, &root, &ev, &err) < 0) {
		if (root || !err.code || !err.msg[0])
			abort();
		return 0;
	}
	judge(&ev, MODE_CHAT, false, &chat);
	judge(&ev, MODE_CHAT, true, &held);
	judge(&ev, MODE_PLAN, false, &plan);
	/* A sandbox lets more through, but for what needs a person; the modes that look only let less. */
	if (held.decision > chat.decision && strcmp(ev.tool, "AskUserQuestion") != 0)
		abort();
	if (plan.decision == DECISION_ALLOW && chat.decision == DECISION_DENY)
		abort();
	line = tool_line(ev.tool, ev.input);
	if (!line || hook_event_digest(&ev, MODE_CHAT, digest) < 0)
		abort();
	return 0;
}
