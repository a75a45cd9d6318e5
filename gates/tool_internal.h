/*
 * gates/tool_internal.h - what the files that judge tool calls share
 *
 *	tool.c		finding the row, the verdict, what the user allows or denies by name
 *	tool_table.c	the rows
 *	tool_path.c	paths, of tools and of a shell line's effects
 *	tool_url.c	a URL's host
 */
#ifndef GATES_TOOL_INTERNAL_H
#define GATES_TOOL_INTERNAL_H

#include "gates/place.h"
#include "gates/tool.h"

/* A call being judged. */
struct call {
	const struct tool_request *req;
	struct command_request as_command;	/* the same places, for place_of() */
	const struct tool_row *row;
	struct verdict *v;
};

typedef void tool_judge(struct call *c);

/*
 * A tool. Decisions are for chat where nothing holds the agent, for chat in our
 * sandbox, and for the modes that only look.
 */
struct tool_row {
	const char *names;		/* "TaskGet|TaskList" */
	tool_judge *judge;		/* looks at the input; NULL: only the decisions count */
	const char *fields;		/* all it may have, blank-separated; NULL: any */
	const char *subject;		/* the field that names what it acts on, or NULL */
	bool may_lack_subject;
	enum place_use use;		/* of a path */
	enum decision chat, held, looking;
	enum effect_class class;	/* of a call that is no path's or line's; FILE_READ: none */
	const char *why;		/* continues "'Artifact' " */
};

extern const struct tool_row tool_rows[];	/* ends with a row without names */

/* call_raise() - make the verdict this, if it is not as strict already */
void call_raise(struct call *c, enum decision d, const char *rule, const char *why, ...)
	__attribute__((format(printf, 4, 5)));

/* call_note() - add an effect; @subject may be NULL */
void call_note(struct call *c, enum effect_class class, enum effect_place place, const char *subject);

/* call_text() - a field that is text and not empty, else NULL */
const char *call_text(const struct call *c, const char *field);

/* --- tool_path.c --- */
tool_judge judge_file, judge_glob;

/* path_of_effect() - look again at a path that a shell line uses, with what the world knows */
void path_of_effect(struct call *c, const struct effect *e);

/* --- tool_url.c --- */

/**
 * url_host() - The host and port of an http or https URL
 * @ret_host:	the caller's to free()
 *
 * What two readers could take for different hosts is refused: a user name,
 * backslashes, blanks, control bytes, per cent signs.
 * Return: NULL, or a static line: what is wrong with it
 */
const char *url_host(const char *url, char **ret_host, uint16_t *ret_port);

/* judge_url() - a row whose subject is a URL */
tool_judge judge_url;

/* host_of_effect() - look again at a host that a shell line asks, if it can be told */
void host_of_effect(struct call *c, const struct effect *e);

/* --- tool.c, for the table --- */
tool_judge judge_shell, judge_agent, judge_monitor, judge_leave_plan, judge_question;

#endif
