/*
 * gates/command.h - what a shell line would do, and whether its mode lets it
 *
 * A line is read by two readers that must agree, its commands are looked up in
 * tables that say what each word of them reads, writes, deletes, runs or
 * fetches, and the mode decides over the effects found. Deny beats ask beats
 * allow. What cannot be read, or is in no table, has an unknown effect: the
 * read-only modes refuse it, chat lets the sandbox hold it.
 *
 * Pure: no I/O, no clock, no writes. Whether a path exists is not asked; paths
 * are judged as text against the workspace, the current directory and home. A
 * verdict is therefore half of plan mode; the read-only view is the other half.
 */
#ifndef GATES_COMMAND_H
#define GATES_COMMAND_H

#include <stddef.h>

#include "base/mode.h"

struct err;
struct strv;

/* Over any of these a line is denied unread. */
#define COMMAND_MAX_BYTES (128u * 1024)
#define COMMAND_MAX_DEPTH 64u		/* brackets, substitutions, nested shells */
#define COMMAND_MAX_COMMANDS 1000u	/* simple commands, those in nested shells too */

enum decision { DECISION_ALLOW, DECISION_ASK, DECISION_DENY, DECISION_NUM };	/* a greater one wins */

/* decision_name() - "allow", "ask" or "deny" */
const char *decision_name(enum decision d);

/*
 * The thirteen classes that guardrail rules speak of, and plain reading, which
 * no rule is about. A write inside the workspace is WORKSPACE_MUTATION; code
 * whose effects cannot be read (a script, an interpreter, a program in no
 * table) is PROCESS_SPAWN.
 */
enum effect_class {
	EFFECT_FILE_READ,
	EFFECT_FILE_DELETE,
	EFFECT_FILE_WRITE_OUTSIDE,
	EFFECT_GIT_COMMIT,
	EFFECT_GIT_PUSH,
	EFFECT_PR_CREATE,
	EFFECT_PR_PUBLISH,
	EFFECT_VENDOR_SYNC_WRITE,
	EFFECT_NETWORK_EGRESS,
	EFFECT_SECRET_ACCESS,
	EFFECT_PACKAGE_INSTALL,
	EFFECT_PROCESS_SPAWN,
	EFFECT_WORKSPACE_MUTATION,
	EFFECT_ENCLOSURE_CONTROL,
	EFFECT_NUM
};

/* effect_class_name() - "fileRead", "fileDelete", "fileWriteOutsideWorktree", ... as in the rules */
const char *effect_class_name(enum effect_class c);

enum effect_place {
	PLACE_NONE,		/* not about a path */
	PLACE_INSIDE,		/* in the workspace, or below a granted root */
	PLACE_DEVICE,		/* /dev/null, /dev/stdout and kin: nothing is kept */
	PLACE_TEMP,		/* /tmp, /var/tmp, /dev/shm */
	PLACE_SYSTEM,		/* /usr, /etc, /proc ... without their secrets */
	PLACE_HOME,		/* below home, but no secret and nothing later sessions obey */
	PLACE_OUTSIDE,		/* any other place of the host */
	PLACE_PROTECTED,	/* a name no run may write: .env, keys, git hooks, an original checkout ... */
	PLACE_SECRET,		/* credentials, wherever they lie */
	PLACE_UNKNOWN,		/* the path holds a part only the running shell knows */
	PLACE_NUM
};

/* effect_place_name() - "inside", "outside", ...; "" for PLACE_NONE */
const char *effect_place_name(enum effect_place p);

struct effect {
	enum effect_class class;
	enum effect_place place;
	char *subject;			/* path, host, ref or program; NULL where there is none */
	size_t span_start, span_end;	/* bytes of the line it comes from; end is exclusive */
};

struct verdict {
	enum decision decision;
	char reason[256];            /* one line for a person; empty only on ALLOW; control bytes masked */
	char rule[64];               /* which rule decided: "deny-list sudo", "plan unknown program", ... */
	size_t span_start, span_end; /* what the reason is about, bytes of the line; end is exclusive */
	struct effect *effects;      /* in the order found, repeats dropped, cut at some 256; the verdict's */
	size_t effects_n;
};

/* verdict_done() - free what a verdict holds; zeroed and done verdicts are fine */
void verdict_done(struct verdict *v);

struct command_request {
	const char *line;		/* what bash would be given; need not end in NUL */
	size_t len;
	enum mode mode;
	const char *workspace;		/* clean absolute path; NULL: nothing counts as inside */
	const char *cwd;		/* clean absolute path; NULL: the workspace */
	const char *home;		/* clean absolute path; NULL: "~" and $HOME are unknown */
	const struct strv *read_roots;	/* more clean absolute paths that may be read, or NULL */
	const struct strv *write_roots;	/* more that may be read and written, or NULL */
	const struct strv *protected;   /* clean absolute paths never written (original checkouts), or NULL */
};

/**
 * command_check() - Judge a shell line
 * @req:	borrowed for the call
 * @ret:	always filled, from the start with a denial; the caller's to verdict_done()
 * @err:	on -1, what is wrong with the request
 *
 * A failure to decide (unreadable line, a limit, no memory) is a verdict, not
 * an error. The empty line is allowed.
 *
 * Return: 0, or -1 when the request itself is broken (ERR_USAGE: no line, an
 * unclean path); *ret is a denial then, too
 */
int command_check(const struct command_request *req, struct verdict *ret, struct err *err);

/**
 * command_check_argv() - Judge a program and its arguments as execve(2) would get them
 * @req:	its line and len are not used
 * @argv:	ends in NULL; words are literal and no shell reads them, but what
 *		they run in turn ("bash -c STRING", "env X=1 CMD") is looked into
 * @ret:	as above; spans count bytes in the words joined by single blanks
 *
 * Return: as command_check(); an empty @argv is ERR_USAGE
 */
int command_check_argv(const struct command_request *req, const char *const argv[],
		       struct verdict *ret, struct err *err);

static inline void own_verdict(struct verdict *v)
{
	verdict_done(v);
}

#endif
