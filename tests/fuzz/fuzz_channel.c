/*
 * tests/fuzz/fuzz_channel.c - any bytes from an agent: exact answers, or a talk that is broken off once
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "dispatch/channel_internal.h"
#include "dispatch/hook_event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct side {
	struct channel *ch;
	int broken;
	unsigned int asked;
};

static void asked(void *cookie, uint64_t id, const struct hook_event *ev)
{
	struct side *s = cookie;

	if (s->broken || !ev->tool || !ev->cwd || !ev->tool_use || json_type(ev->input) != JSON_OBJECT)
		abort();
	/* Some at once, some never. */
	if (s->asked++ % 3)
		channel_answer(s->ch, id, (enum decision)(s->asked % DECISION_NUM), "why");
}

static void withdrawn(void *cookie, uint64_t id)
{
	(void)cookie;
	(void)id;
}

/* Whole lines of JSON, and no answer that an agent could take for none. */
static void to_agent(void *cookie, const char *data, size_t len)
{
	const struct side *s = cookie;
	OWN(json) struct json *j = NULL;
	const struct json *response, *inner;
	const char *type, *word;

	if (s->broken || !len || data[len - 1] != '\n' || memchr(data, '\n', len - 1) ||
	    json_parse(data, len, &(struct json_limits){ .max_depth = 400 }, &j, NULL) < 0)
		abort();
	type = json_str(json_get(j, "type"));
	if (!type || strcmp(type, "control_response") != 0)
		return;
	response = json_get(j, "response");
	if (!strcmp(json_str(json_get(response, "subtype")), "error"))
		return;
	inner = json_get(response, "response");
	word = json_str(json_get(json_get(inner, "hookSpecificOutput"), "permissionDecision"));
	if (!word)
		word = json_str(json_get(inner, "behavior"));
	if (!word || (strcmp(word, "allow") != 0 && strcmp(word, "deny") != 0))
		abort();
}

static void to_user(void *cookie, const char *data, size_t len)
{
	(void)data;
	if (((const struct side *)cookie)->broken || !len)
		abort();
}

static void hang_up(void *cookie)
{
	if (((const struct side *)cookie)->broken)
		abort();
}

static void broken(void *cookie, const char *what, const struct err *why)
{
	struct side *s = cookie;

	(void)what;
	if (s->broken++ || !why->msg[0])
		abort();
}

static void timer(void *cookie, uint64_t ms)
{
	(void)cookie;
	(void)ms;
}

static const struct channel_ops ops = { asked, withdrawn, to_agent, to_user, hang_up, broken, timer };

/* The first byte says which format, and whether the beginning was a good one. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char greeted[] =
		"{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"agate-initialize\"}}\n"
		"{\"type\":\"system\",\"subtype\":\"init\",\"cwd\":\"/w\",\"permissionMode\":\"default\",\"apiKeySource\":\"none\"}\n";
	unsigned int how = len ? data[0] : 0;
	struct side s = { 0 };
	const struct channel_ask ask = { .format = how % CHANNEL_FORMAT_NUM, .verbose = how & 8 };
	const struct channel_params p = {
		.ask = &ask, .prompt = "p", .permission_mode = "default", .ops = &ops, .cookie = &s,
	};
	OWN(channel) struct channel *ch = channel_new(&p);

	if (!ch || len > 1 << 16)
		return 0;
	s.ch = ch;
	channel_start(ch);
	if (how & 16)
		channel_read(ch, greeted, sizeof(greeted) - 1);
	for (size_t i = 1; i < len; i += 700)
		channel_read(ch, (const char *)data + i, len - i < 700 ? len - i : 700);
	if (how & 32)
		channel_timeout(ch);
	channel_end(ch);
	if (s.broken && channel_is_done(ch))
		abort();
	return 0;
}
