/*
 * dispatch/hook_ruling.h - one tool call judged, with all that its record needs
 *
 * First by the tool gate, then by the rules that hold now: they may tighten, and
 * answer what the gate would ask about. What is told and recorded of a call holds
 * none of its secrets.
 */
#ifndef DISPATCH_HOOK_RULING_H
#define DISPATCH_HOOK_RULING_H

#include "base/digest.h"
#include "base/event.h"
#include "dispatch/feed.h"
#include "dispatch/rulebook.h"
#include "gates/command.h"
#include "gates/guard.h"

struct db;
struct err;
struct hook_event;
struct hook_world;
struct strv;

/* What does not change from one call to the next. All borrowed; paths clean, NULL where there is none. */
struct ruling_facts {
	enum mode mode;
	int is_held;		/* agate's sandbox is around the agent */
	const char *workspace, *home;
	const char *root;	/* the checkout whose rules hold: the workspace, or what it is a copy of */
	const char *space;	/* the conversation, as rules name it */
	const struct strv *read_roots, *write_roots, *protected;
	const struct strv *allow, *deny;	/* tools by name */
	const struct hook_world *world;
	struct db *db;		/* where the rules are */
	int ask_network;	/* whatever reaches out has to be asked about */
};

struct ruling {
	enum decision decision;
	const char *gate;		/* who decided, static: "command", "tool" or "guard" */
	enum mode mode;			/* what it was judged by */
	struct verdict verdict;		/* the tool gate's */
	struct rulebook book;
	struct guard_request request;	/* borrows from the event and the facts */
	struct guard_result result;
	const char *tool_use;		/* the event's; may be NULL */
	char *line;			/* the call in one line, secrets masked */
	int is_masked;			/* then spans would point elsewhere */
	char classes[256];		/* of its effects: "fileDelete,gitPush"; may be empty */
	char action[64];		/* of the refusal: "command-deny", "guard-gitPush" */
	char digest[DIGEST_HEX_SIZE];
};

/**
 * ruling_make() - Judge the call of an event
 * @ret:	always filled, from the start with a denial; the caller's to
 *		ruling_done(). It points into itself: do not copy it.
 *
 * An agent that itself only plans is judged as in plan mode, whatever the mode.
 * Return: 0, or -1 with @err when the event is no call (ERR_USAGE) or memory ran
 * out: *ret is a denial then
 */
int ruling_make(const struct ruling_facts *f, const struct hook_event *ev, struct ruling *ret, struct err *err);

/* ruling_reason() - one line, why; "" when it is allowed without a word */
const char *ruling_reason(const struct ruling *r);

/* ruling_judgement(), ruling_violation() - for the records, borrowing from @r */
struct judgement ruling_judgement(const struct ruling *r);
struct violation ruling_violation(const struct ruling *r);

void ruling_done(struct ruling *r);

static inline void own_ruling(struct ruling *r)
{
	ruling_done(r);
}

#endif
