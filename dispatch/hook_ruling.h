/*
 * dispatch/hook_ruling.h - one tool call judged, with all that its record needs
 */
#ifndef DISPATCH_HOOK_RULING_H
#define DISPATCH_HOOK_RULING_H

#include "base/digest.h"
#include "base/event.h"
#include "dispatch/feed.h"
#include "gates/command.h"

struct err;
struct hook_event;
struct hook_world;
struct strv;

/* What does not change from one call to the next. All borrowed; paths clean, NULL where there is none. */
struct ruling_facts {
	enum mode mode;
	int is_held;		/* agate's sandbox is around the agent */
	const char *workspace, *home;
	const struct strv *read_roots, *write_roots, *protected;
	const struct strv *allow, *deny;	/* tools by name */
	const struct hook_world *world;
};

struct ruling {
	struct verdict verdict;
	enum mode mode;			/* what it was judged by */
	const char *gate;		/* "command" or "tool", static */
	const char *tool_use;		/* the event's; may be NULL */
	char *line;			/* the call in one line */
	char *classes;			/* of its effects: "fileRead,gitPush"; may be empty */
	char digest[DIGEST_HEX_SIZE];
};

/**
 * ruling_make() - Judge the call of an event
 * @ret:	always filled, from the start with a denial; the caller's to ruling_done()
 *
 * An agent that itself only plans is judged as in plan mode, whatever the mode.
 * Return: 0, or -1 with @err when the event is no call (ERR_USAGE) or memory ran
 * out: *ret is a denial then
 */
int ruling_make(const struct ruling_facts *f, const struct hook_event *ev, struct ruling *ret, struct err *err);

/* ruling_judgement(), ruling_violation() - for the records, borrowing from @r */
struct judgement ruling_judgement(const struct ruling *r);
struct violation ruling_violation(const struct ruling *r);

void ruling_done(struct ruling *r);

static inline void own_ruling(struct ruling *r)
{
	ruling_done(r);
}

#endif
