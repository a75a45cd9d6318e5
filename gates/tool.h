/*
 * gates/tool.h - what an agent's tool call would do, and whether its mode lets it
 *
 * An agent acts through tools: a name and a JSON object. Those of Claude Code
 * stand in a table that says which field is a shell line, which a path, which a
 * host; a tool in no table, and a field nobody knows, is refused, since what it
 * does cannot be told. Lines are judged by gates/command.h; paths and hosts with
 * what the caller knows of this host (struct tool_world), so that the rules for
 * them are in one place.
 *
 * Where agate's sandbox holds the agent (is_held), what is merely outside is left
 * to it, as with shell lines. Where nothing does (a hook beside an agent that
 * somebody else started), the same is asked about.
 *
 * Pure but for what struct tool_world does.
 */
#ifndef GATES_TOOL_H
#define GATES_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gates/command.h"

struct err;
struct json;
struct strv;

/* May a host be reached? */
enum tool_host { TOOL_HOST_ALLOWED, TOOL_HOST_UNKNOWN, TOOL_HOST_DENIED };

/* What only the caller can tell. A function that is NULL has nothing to say. */
struct tool_world {
	/*
	 * Where the path leads with all links followed, those to nowhere too; it need
	 * not exist. The caller's to free(); NULL: cannot be told, and so denied.
	 */
	char *(*real)(void *cookie, const char *path);
	/* The rule that keeps this clean path from being written, or read, or NULL; lives as long as @cookie. */
	const char *(*path_rule)(void *cookie, const char *path, bool is_write);
	/* @host: as in the URL; @ret_why gets one line, from the start empty. NULL: every host is unknown. */
	enum tool_host (*host)(void *cookie, const char *host, uint16_t port, char *ret_why, size_t size);
	void *cookie;
};

/* All borrowed; all paths clean and absolute, links followed where @world has real(). */
struct tool_request {
	const char *tool;		/* "Bash", "mcp__server__name" */
	const struct json *input;	/* an object */
	enum mode mode;
	bool is_held;			/* agate's sandbox is around the agent */
	const char *workspace, *cwd, *home;	/* as in struct command_request */
	const struct strv *read_roots, *write_roots, *protected;	/* likewise; NULL: none */
	const struct strv *notes;	/* where the agent keeps its own plans: may be written in every mode; or NULL */
	const struct strv *logs;	/* where it keeps results too long for an answer: may be read; or NULL */
	const struct strv *allow;	/* tools, and "mcp__server" for all of a server: need no question; or NULL */
	const struct strv *deny;	/* beats allow; or NULL */
	const struct tool_world *world;	/* NULL: nothing is known */
};

/**
 * tool_check() - Judge a tool call
 * @ret:	always filled, from the start with a denial; the caller's to
 *		verdict_done(). Spans count bytes of the shell line, where there is one.
 * @err:	on -1, what is wrong with the request
 *
 * A failure to decide is a verdict, not an error.
 * Return: 0, or -1 when the request itself is broken; *ret is a denial then, too
 */
int tool_check(const struct tool_request *req, struct verdict *ret, struct err *err);

/**
 * tool_line() - A call as one line for the record: the shell line, or "Write /w/a.c"
 *
 * Return: the caller's to free(); NULL when out of memory
 */
char *tool_line(const char *tool, const struct json *input);

/**
 * verdict_is_contained() - 1 if all it would do stays in the workspace
 *
 * Reading there and in the system, writing there and in temporary places, and
 * nothing else: no program whose effects are not known, no network, no remote.
 */
int verdict_is_contained(const struct verdict *v);

#endif
