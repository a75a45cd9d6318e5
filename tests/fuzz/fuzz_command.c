/*
 * Shell lines from outside, in every mode, and as an argument vector. Whatever
 * comes, the verdict is whole: a decision, a reason where it is no, a span
 * within the line. A read-only mode never allows what chat refuses, and no mode
 * decides twice in two ways.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "gates/command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Set when the grammar ran out of its time, which a busy machine can make of any line. */
static int was_slow;

static enum decision decide(struct command_request *req, enum mode mode)
{
	OWN(verdict) struct verdict v = { 0 };
	struct err err;

	req->mode = mode;
	if (command_check(req, &v, &err))
		abort();
	if (v.span_start > v.span_end || v.span_end > req->len || strlen(v.reason) >= sizeof(v.reason))
		abort();
	if ((v.decision == DECISION_ALLOW) != !v.reason[0])
		abort();
	for (size_t i = 0; i < v.effects_n; i++)
		if (v.effects[i].span_end > req->len || v.effects[i].class >= EFFECT_NUM)
			abort();
	was_slow |= strstr(v.reason, "takes too long") != NULL;
	return v.decision;
}

/* The same bytes as words, cut at blanks. */
static void decide_words(struct command_request *req, const uint8_t *data, size_t len)
{
	OWN(mem) char *text = malloc(len + 1);
	OWN(verdict) struct verdict v = { 0 };
	const char *argv[32];
	struct err err;
	size_t n = 0;

	if (!text)
		return;
	memcpy(text, data, len);
	text[len] = '\0';
	for (char *w = strtok(text, " "); w && n + 1 < ARRAY_LEN(argv); w = strtok(NULL, " "))
		argv[n++] = w;
	argv[n] = NULL;
	if (n && command_check_argv(req, argv, &v, &err))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct command_request req = {
		.line = (const char *)data, .len = len, .workspace = "/home/u/proj", .home = "/home/u",
	};
	enum decision chat, plan;

	was_slow = 0;
	chat = decide(&req, MODE_CHAT);
	plan = decide(&req, MODE_PLAN);
	if ((plan < chat || plan != decide(&req, MODE_REVIEW) || chat != decide(&req, MODE_CHAT)) &&
	    !was_slow)
		abort();
	decide_words(&req, data, len);
	return 0;
}
