/*
 * tokens/scrub.h - the environment a run is allowed to see
 *
 * The result starts empty and gains only what is named here or by the user, so
 * a variable nobody thought of stays outside. Pure: no I/O, no globals.
 *
 *	kept from the parent	PATH LANG LANGUAGE LC_* TERM TZ COLORTERM NO_COLOR
 *	asked for by the user	--env NAME (copied if set), --env NAME=VALUE
 *	set by agate		HOME TMPDIR USER LOGNAME SHELL AGATE_RUN, the git
 *				identity, proxy variables, the caller's own
 */
#ifndef TOKENS_SCRUB_H
#define TOKENS_SCRUB_H

#include <stddef.h>
#include <stdint.h>

#include "base/strv.h"

struct err;

/* Borrowed for the call; a NULL string stands for what is said beside it. */
struct scrub_rules {
	const struct strv *wanted;	/* NAME or NAME=VALUE, in the user's words; NULL: none */
	const struct strv *visible;	/* clean paths PATH may lead into; NULL: anywhere */
	const char *home;		/* $HOME inside; must be given */
	const char *tmpdir;		/* "/tmp" */
	const char *user;		/* the parent's USER, else "agent" */
	const char *shell;		/* "/bin/sh" */
	const char *run_id;		/* AGATE_RUN; not set */
	const char *git_name;		/* author and committer; not set */
	const char *git_email;
	uint16_t http_port;		/* of the proxies, on the sandbox's own loopback; 0: not set */
	uint16_t socks_port;
	const char *proxy_credential;	/* "NAME:PASSWORD" they ask for, of letters and digits; NULL: none */
	const struct strv *own;		/* NAME=VALUE from agate itself, set last, any name; NULL: none */
};

/**
 * scrub_env() - Build a run's environment
 * @parent:	environ-style vector, ends in NULL
 * @ret_env:	on success the new vector sorted by name, the caller's to strv_done()
 *
 * A wanted name that the loader or an interpreter obeys (LD_PRELOAD, BASH_ENV,
 * NODE_OPTIONS, GIT_* and kin) is refused, not skipped: a request that asks for
 * it should be changed, not half followed. So is one that agate sets itself.
 *
 * Of PATH, entries that are relative, empty or not visible are dropped; if none
 * is left it is "/usr/local/bin:/usr/bin:/bin". A kept variable with a control
 * byte in it is dropped; in NAME=VALUE a value may have any bytes.
 *
 * Return: 0, or -1 with @err (ERR_POLICY for a refused name, ERR_USAGE for a
 * word that is none, ERR_INPUT, ERR_NOMEM), @ret_env untouched
 */
int scrub_env(const struct scrub_rules *rules, const char *const parent[],
	      struct strv *ret_env, struct err *err);

/*
 * scrub_refuses() - who obeys @name, so that it may not be passed: "the dynamic
 * loader obeys it"; NULL for a name that may
 */
const char *scrub_refuses(const char *name);

#endif
