/*
 * dispatch/seam.h - what an agent of a kind needs to be launched safely
 *
 * A plain command ("bash") is launched as it is. An agent with settings, hooks
 * and flags of its own could switch the mediation off again or take it from the
 * repository, so its seam knows which of its arguments to refuse, which to add,
 * and what to put where inside. Pure; one table per agent.
 */
#ifndef DISPATCH_SEAM_H
#define DISPATCH_SEAM_H

#include "base/mode.h"
#include "base/strv.h"
#include "dispatch/channel_args.h"

struct err;
struct run_request;

/* What a seam adds to a run. */
struct seam {
	struct strv argv;	/* the command as it is executed inside */
	struct strv env;	/* NAME=VALUE; what --env gives comes before it */
	struct strv roots;	/* host directories the program needs, read-only at the same path */
	struct strv writes;	/* rules, without "!": files of its own in the private home that the policy would refuse */
	char *managed;		/* text of the settings no repository can touch; NULL: none */
	const char *managed_guest;	/* where it has to be inside, static; NULL: nowhere */
	struct channel_ask channel;	/* is_print: it is spoken with over its standard input and output */
};

/* What was found out about the command. */
struct seam_facts {
	const char *program;	/* argv[0] as found: absolute, links followed; NULL if not found */
	const char *guest_home;
	const char *home;	/* the user's */
	int is_terminal;	/* our standard input and output are one, and so the agent's */
};

/* seam_check() - may the command have these arguments? 0, or -1 with @err (ERR_POLICY) */
int seam_check(const struct run_request *req, struct err *err);

/**
 * seam_make() - How to launch it
 * @ret:	on success the caller's to seam_done()
 * @err:	ERR_NOTFOUND when an agent's program is not there; ERR_NOMEM
 */
int seam_make(const struct run_request *req, const struct seam_facts *facts, struct seam *ret,
	      struct err *err);

void seam_done(struct seam *s);

/**
 * program_root() - The directory a program needs to run, so that it can be bound
 * @program:	absolute, links followed
 *
 * The outermost node_modules around it, else its directory.
 * Return: the caller's to free(); NULL when out of memory
 */
char *program_root(const char *program);

/* --- one a kind; seam.c has the table --- */

int claude_check(const struct run_request *req, struct err *err);
int claude_make(const struct run_request *req, const struct seam_facts *facts, struct seam *ret,
		struct err *err);

static inline void own_seam(struct seam *s)
{
	seam_done(s);
}

#endif
