/*
 * dispatch/channel.h - the control channel of a printing claude, as a machine without I/O
 *
 * claude -p --input-format stream-json --output-format stream-json --verbose
 * --permission-prompt-tool stdio says on its output, a JSON object a line, what
 * happens, and asks before each call of a tool, those of its subagents too, for a
 * hook that was registered when the talk began. The answers are exact: to claude
 * an error or an empty object means that the tool may run.
 *
 *	channel_start()		"initialize" goes out; the prompt only when it was taken,
 *				so that no call can come before somebody is asked
 *	asked()			each call; the answer may come later
 *	broken()		the talk is not what it must be, and the run has to end: a
 *				result of a call nobody was asked about or that was denied,
 *				another permission mode, servers or keys nobody gave it, a
 *				line that cannot be read
 *	hang_up()		its last turn is over: end of file ends the session
 *
 * The user gets what the same command line would have printed without us.
 */
#ifndef DISPATCH_CHANNEL_H
#define DISPATCH_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "dispatch/channel_args.h"
#include "gates/command.h"

struct channel;
struct err;
struct hook_event;

#define CHANNEL_LINE_MAX (32u * 1024 * 1024)	/* bytes of one line from the agent */

struct channel_ops {
	/* A call waits for channel_answer(id); @ev is borrowed for the call. May be answered at once. */
	void (*asked)(void *cookie, uint64_t id, const struct hook_event *ev);
	/* The agent gave up on that question; an answer would be ignored. */
	void (*withdrawn)(void *cookie, uint64_t id);
	void (*to_agent)(void *cookie, const char *data, size_t len);
	void (*to_user)(void *cookie, const char *data, size_t len);
	void (*hang_up)(void *cookie);
	/* Once, and nothing is called after it. @what: the call it is about, or NULL. */
	void (*broken)(void *cookie, const char *what, const struct err *why);
	/* Call channel_timeout() in so many milliseconds; replaces an earlier wish, 0: none any more. */
	void (*timer)(void *cookie, uint64_t ms);
};

struct channel_params {
	const struct channel_ask *ask;	/* the formats; borrowed, as the next */
	const char *prompt;
	const char *permission_mode;	/* that claude was started in */
	const struct channel_ops *ops;
	void *cookie;
};

/* channel_new() - NULL when out of memory */
struct channel *channel_new(const struct channel_params *p);
void channel_free(struct channel *ch);

/* channel_start() - the agent's process runs: speak first */
void channel_start(struct channel *ch);

/* channel_read() - bytes the agent wrote to its standard output */
void channel_read(struct channel *ch, const char *data, size_t len);

/* channel_answer() - what may happen with a call; ASK counts as a denial. An unknown @id is ignored. */
void channel_answer(struct channel *ch, uint64_t id, enum decision d, const char *reason);

/* channel_timeout() - the time wished for is up */
void channel_timeout(struct channel *ch);

/* channel_end() - the agent's output has ended: what is kept back for the user goes out */
void channel_end(struct channel *ch);

/* channel_is_done() - 1 if the talk ended as it should: a result came, and then the end was ours */
int channel_is_done(const struct channel *ch);

/* channel_has_failed() - 1 if the last result says that it is an error */
int channel_has_failed(const struct channel *ch);

static inline void own_channel(struct channel **ch)
{
	channel_free(*ch);
}

#endif
