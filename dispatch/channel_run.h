/*
 * dispatch/channel_run.h - the control channel of a run: its socket, its judge, its records
 *
 * What dispatch/channel.h is without I/O, here gets a pair of sockets, the loop,
 * the judge of tool calls, the rules, whoever can be asked, and the run's feed.
 * Each decision is on disk before it is answered.
 */
#ifndef DISPATCH_CHANNEL_RUN_H
#define DISPATCH_CHANNEL_RUN_H

#include <stddef.h>

struct channel_run;
struct err;
struct run;

/**
 * channel_run_open() - Get ready, before the agent is started
 * @run:	with its spec and its loop; borrowed until channel_run_free()
 * @err:	ERR_USAGE when nobody said what claude is to do
 *
 * Reads the rest of the prompt from standard input, where something waits there.
 */
int channel_run_open(struct run *run, struct channel_run **ret, struct err *err);

/* channel_run_input() - the descriptor that is to be the agent's standard input */
int channel_run_input(const struct channel_run *c);

/* channel_run_started() - the agent has that descriptor, and runs */
void channel_run_started(struct channel_run *c);

/* channel_run_output() - what the agent wrote; @stream 1 or 2 */
void channel_run_output(struct channel_run *c, int stream, const char *data, size_t len);

/**
 * channel_run_ended() - the agent is gone, and its output with it
 * @status:	its exit status, or -1 if it has none
 *
 * May decide how the run ends: one that says 0 and has not answered has failed.
 */
void channel_run_ended(struct channel_run *c, int status);

void channel_run_free(struct channel_run *c);	/* NULL is fine */

#endif
