/*
 * dispatch/hook_event.h - a PreToolUse event of Claude Code, read and answered
 *
 * The same object reaches us in two ways: on the standard input of a command
 * hook, and inside a hook_callback on the control channel of a run. Reading is
 * strict about what a verdict rests on, and lets fields pass that are only told.
 * What cannot be read is denied by whoever reads it. Pure.
 */
#ifndef DISPATCH_HOOK_EVENT_H
#define DISPATCH_HOOK_EVENT_H

#include <stddef.h>

#include "base/digest.h"
#include "base/mode.h"
#include "gates/command.h"

struct err;
struct json;

#define HOOK_MAX_BYTES (1024u * 1024)
#define HOOK_MAX_DEPTH 64u

/* Texts are the JSON's, and live as long as it. */
struct hook_event {
	const char *tool;		/* tool_name */
	const struct json *input;	/* tool_input, an object */
	const char *tool_use;		/* tool_use_id; NULL: not said */
	const char *session;		/* session_id; NULL: not said */
	const char *transcript;		/* transcript_path, clean; NULL: not said */
	const char *cwd;		/* clean and absolute */
	int only_plans;			/* the agent's own permission mode is "plan" */
};

/**
 * hook_event_read() - Read an event
 * @j:		the object; borrowed for as long as @ret is used
 * @err:	ERR_INPUT: "the event's 'cwd' is ..."
 */
int hook_event_read(const struct json *j, struct hook_event *ret, struct err *err);

/**
 * hook_event_parse() - The same from bytes
 * @ret_root:	what @ret points into, the caller's to json_free()
 * @err:	also ERR_LIMIT: over HOOK_MAX_BYTES or HOOK_MAX_DEPTH
 */
int hook_event_parse(const char *text, size_t len, struct json **ret_root, struct hook_event *ret,
		     struct err *err);

/* hook_event_digest() - of the exact call: tool, input, directory and mode; 0, or -1 out of memory */
int hook_event_digest(const struct hook_event *ev, enum mode mode, char ret[DIGEST_HEX_SIZE]);

/**
 * hook_answer() - What Claude obeys: hookSpecificOutput with a permissionDecision
 * @reason:	one line, told to the agent; empty or NULL: none
 *
 * Return: the caller's to json_free(); NULL when out of memory
 */
struct json *hook_answer(enum decision d, const char *reason);

#endif
