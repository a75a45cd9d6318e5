#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/hook_event.h"

/* A text that must be there, or may be missing; what is there and no text is never taken. */
static int text(const struct json *j, const char *field, int is_needed, const char **ret, struct err *err)
{
	const struct json *value = json_get(j, field);

	*ret = json_str(value);
	if (!value || (json_type(value) == JSON_NULL && !is_needed))
		return is_needed ? err_set(err, ERR_INPUT, 0, "the event has no '%s'", field) : 0;
	if (!*ret || !**ret)
		return err_set(err, ERR_INPUT, 0, "the event's '%s' is no text", field);
	return 0;
}

static int read_places(const struct json *j, struct hook_event *ev, struct err *err)
{
	if (text(j, "cwd", 1, &ev->cwd, err) < 0 || text(j, "transcript_path", 0, &ev->transcript, err) < 0)
		return -1;
	if (!path_is_clean(ev->cwd))
		return err_set(err, ERR_INPUT, 0, "the event's 'cwd' is not a clean absolute path: '%s'", ev->cwd);
	if (ev->transcript && !path_is_clean(ev->transcript))
		ev->transcript = NULL;
	return 0;
}

int hook_event_read(const struct json *j, struct hook_event *ret, struct err *err)
{
	struct hook_event ev = { 0 };
	const char *event, *mode;

	if (json_type(j) != JSON_OBJECT)
		return err_set(err, ERR_INPUT, 0, "the event is no object");
	if (text(j, "hook_event_name", 1, &event, err) < 0)
		return -1;
	if (strcmp(event, "PreToolUse") != 0)
		return err_set(err, ERR_INPUT, 0, "the event is '%s', and only PreToolUse can be judged", event);
	if (text(j, "tool_name", 1, &ev.tool, err) < 0 || text(j, "tool_use_id", 0, &ev.tool_use, err) < 0 ||
	    text(j, "session_id", 0, &ev.session, err) < 0 || text(j, "permission_mode", 0, &mode, err) < 0 ||
	    read_places(j, &ev, err) < 0)
		return -1;
	ev.input = json_get(j, "tool_input");
	if (json_type(ev.input) != JSON_OBJECT)
		return err_set(err, ERR_INPUT, 0, "the event's 'tool_input' is %s", ev.input ? "no object" : "missing");
	ev.only_plans = mode && !strcmp(mode, "plan");
	*ret = ev;
	return 0;
}

int hook_event_parse(const char *bytes, size_t len, struct json **ret_root, struct hook_event *ret,
		     struct err *err)
{
	const struct json_limits limits = { .max_bytes = HOOK_MAX_BYTES, .max_depth = HOOK_MAX_DEPTH };
	OWN(json) struct json *j = NULL;

	if (json_parse(bytes, len, &limits, &j, err) < 0)
		return err_wrap(err, "cannot read the event");
	if (hook_event_read(j, ret, err) < 0)
		return -1;
	*ret_root = TAKE(j);
	return 0;
}

int hook_event_digest(const struct hook_event *ev, enum mode mode, char ret[DIGEST_HEX_SIZE])
{
	OWN(json) struct json *j = json_new_object();
	OWN(mem) char *canonical = NULL;

	if (!j || !json_add_str(j, "tool", ev->tool) || !json_add_copy(j, "input", ev->input) ||
	    !json_add_str(j, "cwd", ev->cwd) || !json_add_str(j, "mode", mode_name(mode)))
		return -1;
	canonical = json_print_canonical(j);
	if (!canonical)
		return -1;
	digest_hex(canonical, strlen(canonical), ret);
	return 0;
}

struct json *hook_answer(enum decision d, const char *reason)
{
	OWN(json) struct json *j = json_new_object();
	struct json *out = json_add_object(j, "hookSpecificOutput");

	if (!out || !json_add_str(out, "hookEventName", "PreToolUse") ||
	    !json_add_str(out, "permissionDecision", decision_name(d)) ||
	    (reason && *reason && !json_add_str(out, "permissionDecisionReason", reason)))
		return NULL;
	return TAKE(j);
}
