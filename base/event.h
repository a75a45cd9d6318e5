/*
 * base/event.h - what happened in a run: the event and the violation record
 *
 * Events flow from whoever notices to a sink; dispatch/ puts the sinks in
 * (database, NDJSON, terminal). Names are the ones people see in JSON.
 */
#ifndef BASE_EVENT_H
#define BASE_EVENT_H

#include <stdint.h>

#include "base/mode.h"

struct json;

/* Which part of agate refused. */
enum layer {
	LAYER_FILE, LAYER_NETWORK, LAYER_UNIX, LAYER_EXEC, LAYER_SYSCALL,
	LAYER_COMMAND, LAYER_GUARD, LAYER_PUSH, LAYER_TOKEN, LAYER_NUM
};
const char *layer_name(enum layer l);
int layer_parse(const char *word, enum layer *ret);

/*
 * A refusal, told in the words of the act. Strings are borrowed for the call
 * and may hold any bytes but NUL; whoever shows them masks control bytes.
 * NULL where a thing is not known.
 */
struct violation {
	enum layer layer;
	const char *action;	/* "file-write-create", "network-outbound": design.md section 5 */
	const char *target;	/* path, host:port or command, as the program gave it */
	const char *resolved;	/* the same as agate understood it; NULL if equal */
	const char *rule;	/* what decided: a glob, a list's name, a mode */
	const char *reason;	/* one plain line; may be NULL */
	const char *syscall;	/* "openat"; NULL where there was none */
	const char *comm;	/* program name, 15 bytes, as the kernel knows it */
	const char *exe;	/* its file inside the sandbox */
	const char *command_id;	/* which command of the run; NULL: the first */
	const char *raw;	/* the command line of what was refused; or the line in which somebody told us */
	int64_t pid;		/* as the host counts; 0 unknown */
	int64_t count;		/* how often, at least 1 */
};

/*
 * Everything else that happens: "run.started", "workspace.ready", "stdout"...
 * @data is borrowed for the call and may be NULL.
 */
struct event {
	const char *type;
	const struct json *data;	/* an object, its members beside run, seq, ts, type */
};

struct event_sink {
	/* Both must not fail visibly: a sink that cannot record marks itself and ends the run. */
	void (*event)(struct event_sink *sink, const struct event *ev);
	void (*violation)(struct event_sink *sink, const struct violation *v);
};

#endif
