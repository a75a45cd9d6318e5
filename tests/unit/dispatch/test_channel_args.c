/*
 * claude's command line taken apart: the prompt, the formats, and what is
 * handed on as it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "dispatch/channel_args.h"

/* Words divided by "|". */
static void split(char *text, const char *argv[], size_t max)
{
	size_t n = 0;

	for (char *p = text; p && n + 1 < max;) {
		argv[n++] = p;
		p = strchr(p, '|');
		if (p)
			*p++ = '\0';
	}
	argv[n] = NULL;
}

static int take(const char *text, int is_terminal, struct channel_ask *ask, struct err *err)
{
	char copy[512];
	const char *argv[64];

	snprintf(copy, sizeof(copy), "%s", text);
	split(copy, argv, ARRAY_LEN(argv));
	return channel_args(*text ? argv : argv + 1, is_terminal, ask, err);
}

static void join(const struct strv *words, char *to, size_t size)
{
	size_t n = 0;

	to[0] = '\0';
	for (size_t i = 0; i < words->n; i++)
		n += (size_t)snprintf(to + n, size - n, "%s%s", i ? "|" : "", words->v[i]);
}

static void the_prompt_and_the_formats_are_found(void **state)
{
	static const struct {
		const char *words, *prompt;
		enum channel_format format;
		int verbose;
		const char *rest;
	} cases[] = {
		{ "-p|do it", "do it", CHANNEL_TEXT, 0, "" },
		{ "do it|-p", "do it", CHANNEL_TEXT, 0, "" },
		{ "-p|do it|--output-format|stream-json|--verbose", "do it", CHANNEL_STREAM, 1, "" },
		{ "--print|--output-format=json|do it", "do it", CHANNEL_JSON, 0, "" },
		{ "-p|--model|opus|do it|--max-turns=3", "do it", CHANNEL_TEXT, 0, "--model|opus|--max-turns=3" },
		{ "-p|do it|--allowedTools|Bash|Read", "do it", CHANNEL_TEXT, 0, "--allowedTools|Bash|Read" },
		{ "-p|--allowedTools|Bash|do it", NULL, CHANNEL_TEXT, 0, "--allowedTools|Bash|do it" },
		{ "-p|--allowedTools=Bash|do it", NULL, CHANNEL_TEXT, 0, "--allowedTools=Bash|do it" },
		{ "-p|--allowed-tools|Bash|--|do it", "do it", CHANNEL_TEXT, 0, "--allowed-tools|Bash" },
		{ "-p|--resume|abc|do it", "do it", CHANNEL_TEXT, 0, "--resume|abc" },
		{ "-p|-rabc|do it", "do it", CHANNEL_TEXT, 0, "-rabc" },
		{ "-p|-c|do it", "do it", CHANNEL_TEXT, 0, "-c" },
		{ "-p|--resume|--verbose|do it", "do it", CHANNEL_TEXT, 1, "--resume" },
		{ "-p|--setting-sources=|--strict-mcp-config|do it", "do it", CHANNEL_TEXT, 0, "--setting-sources=|--strict-mcp-config" },
		{ "-p|--setting-sources||do it", "do it", CHANNEL_TEXT, 0, "--setting-sources|" },
		{ "-p|--system-prompt|-x|do it", "do it", CHANNEL_TEXT, 0, "--system-prompt|-x" },
		{ "-p|--|-do it", "-do it", CHANNEL_TEXT, 0, "" },
		{ "-p|do it|and more", "do it", CHANNEL_TEXT, 0, "" },
		{ "-p|--input-format|text|do it", "do it", CHANNEL_TEXT, 0, "" },
		{ "-p|doctor", "doctor", CHANNEL_TEXT, 0, "" },
		{ "-p", NULL, CHANNEL_TEXT, 0, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(channel_ask) struct channel_ask ask = { 0 };
		struct err err = { 0 };
		char rest[512];

		if (take(cases[i].words, 1, &ask, &err) < 0)
			fail_msg("%s: %s", cases[i].words, err.msg);
		assert_int_equal(ask.is_print, 1);
		if (cases[i].prompt && (!ask.prompt || strcmp(ask.prompt, cases[i].prompt) != 0))
			fail_msg("%s: the prompt is '%s'", cases[i].words, ask.prompt ? ask.prompt : "(none)");
		if (!cases[i].prompt)
			assert_null(ask.prompt);
		assert_int_equal(ask.format, cases[i].format);
		assert_int_equal(ask.verbose, cases[i].verbose);
		join(&ask.rest, rest, sizeof(rest));
		assert_string_equal(rest, cases[i].rest);
	}
}

static void what_is_not_known_or_leads_elsewhere_is_refused(void **state)
{
	static const struct { const char *words; enum err_code code; } cases[] = {
		{ "-p|x|--no-such-option", ERR_POLICY }, { "-p|x|--worktree", ERR_POLICY }, { "-p|x|--bg", ERR_POLICY },
		{ "-p|x|--cloud|y", ERR_POLICY }, { "-p|x|--remote-control", ERR_POLICY }, { "-p|x|-w", ERR_POLICY },
		{ "-p|x|--input-format|stream-json", ERR_POLICY }, { "-p|x|--replay-user-messages", ERR_POLICY },
		{ "-pc|x", ERR_POLICY }, { "-p|x|-Z", ERR_POLICY }, { "-p|x|--mode", ERR_POLICY },
		{ "-p|x|--output-format|xml", ERR_USAGE }, { "-p|x|--output-format", ERR_USAGE },
		{ "-p|x|--output-format|stream-json", ERR_USAGE }, { "-p|x|--model", ERR_USAGE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct channel_ask ask = { 0 };
		struct err err = { 0 };

		if (!take(cases[i].words, 1, &ask, &err))
			fail_msg("taken: %s", cases[i].words);
		if (err.code != cases[i].code)
			fail_msg("%s: %s", cases[i].words, err.msg);
		assert_null(ask.prompt);
	}
}

static void claude_talks_only_on_a_terminal(void **state)
{
	static const struct { const char *words; int is_terminal, is_print; } cases[] = {
		{ "", 1, 0 }, { "do it", 1, 0 }, { "", 0, 1 }, { "do it", 0, 1 }, { "--model|opus", 0, 1 },
		{ "doctor", 0, 0 }, { "mcp|list", 0, 0 }, { "--version", 0, 0 }, { "-h", 0, 0 }, { "--|-p", 1, 0 },
		{ "--no-such-option", 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(channel_ask) struct channel_ask ask = { 0 };
		struct err err = { 0 };

		if (take(cases[i].words, cases[i].is_terminal, &ask, &err) < 0)
			fail_msg("%s: %s", cases[i].words, err.msg);
		if (ask.is_print != cases[i].is_print)
			fail_msg("%s", cases[i].words);
	}
}

static void the_users_own_servers_are_noted(void **state)
{
	OWN(channel_ask) struct channel_ask ask = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(take("-p|x|--mcp-config|servers.json", 1, &ask, &err), 0);
	assert_int_equal(ask.has_servers, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_prompt_and_the_formats_are_found),
		cmocka_unit_test(what_is_not_known_or_leads_elsewhere_is_refused),
		cmocka_unit_test(claude_talks_only_on_a_terminal),
		cmocka_unit_test(the_users_own_servers_are_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
