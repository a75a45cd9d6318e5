/*
 * dispatch/channel_judge.h - the judge of a run's tool calls
 *
 * Each call is held against the tool gate and the rules as they are now; what
 * they ask about waits for a person while the run goes on. What was decided is on
 * disk before it is told.
 */
#ifndef DISPATCH_CHANNEL_JUDGE_H
#define DISPATCH_CHANNEL_JUDGE_H

#include <stdint.h>

#include "gates/command.h"

struct channel_judge;
struct err;
struct hook_event;
struct run;

/**
 * channel_judge_new()
 * @run:	with its spec and its loop; borrowed until channel_judge_free()
 * @decided:	called once for each question that was not withdrawn, perhaps
 *		before channel_judge_asked() returns; never with DECISION_ASK
 */
int channel_judge_new(struct run *run,
		      void (*decided)(void *cookie, uint64_t id, enum decision d, const char *reason), void *cookie,
		      struct channel_judge **ret, struct err *err);

/* channel_judge_asked() - @id: the caller's name for it; @ev is borrowed for the call */
void channel_judge_asked(struct channel_judge *j, uint64_t id, const struct hook_event *ev);

/* channel_judge_withdrawn() - nobody waits for that answer any more */
void channel_judge_withdrawn(struct channel_judge *j, uint64_t id);

void channel_judge_free(struct channel_judge *j);	/* NULL is fine; open questions are withdrawn */

#endif
