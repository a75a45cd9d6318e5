/*
 * dispatch/plan.h - from what was asked and found out to a SandboxSpec
 *
 * Pure: no disk, no clock, no environment, so the same facts give the same spec
 * and the same digest. What has to be looked up is in struct plan_facts; the
 * link-resolved twins are added afterwards, by spec_twins().
 *
 * Where there are no mounts (is_bare) nothing can be shown elsewhere: the workspace
 * stands at its own path, what the user says of the original is meant for it, and
 * the private home is where it is.
 *
 * In the spec, binds go outer before inner: the private home, then what lies in
 * it, then the objects git borrows, then the workspace and its git directory.
 */
#ifndef DISPATCH_PLAN_H
#define DISPATCH_PLAN_H

#include <stddef.h>

#include "base/strv.h"

struct err;
struct run_request;
struct sandbox_spec;
struct seam;

/* A path of the host and where it is to be seen. */
struct plan_bind {
	const char *host;
	const char *guest;
};

/* All borrowed; all paths clean and absolute. */
struct plan_facts {
	const struct run_request *request;	/* settled */
	const char *run_id;
	const char *home;		/* the user's real one; also $HOME inside */
	const char *cwd;		/* where the user stands */
	const char *state_dir;
	const char *run_home;		/* host side of the private home */

	/* the workspace */
	const char *workspace;		/* host side; the original itself when in place */
	const char *original;		/* guest side */
	const char *gitdir;		/* host side of the private one, or NULL */
	const char *guest_gitdir;	/* where that is bound, or NULL */
	const char *source_gitdir;	/* of the original; NULL: no repository */
	int in_place;
	const struct plan_bind *objects;	/* read-only, for git */
	size_t n_objects;
	const struct strv *nested;	/* other git directories in the tree, relative; NULL: none */

	/* the host */
	const struct plan_bind *reads;	/* --read, resolved */
	size_t n_reads;
	const struct plan_bind *writes;	/* --write, resolved */
	size_t n_writes;
	const struct plan_bind *sockets;	/* --allow-unix-socket, resolved */
	size_t n_sockets;
	const struct strv *tool_roots;	/* read-only at the same path */
	const struct strv *tool_masks;	/* in them, not to be read */
	const struct strv *allow, *deny;	/* domain rules beside the request's; NULL: none */
	const struct strv *originals;	/* checkouts of all registered repositories */

	int is_bare;			/* no mounts: everything is seen where it is, so guest paths are host paths */
	const struct seam *seam;	/* NULL: nothing to add */
	const char *managed_host;	/* the file with its managed settings, host side; NULL: none */
};

/**
 * plan_spec() - Make the spec
 * @ret:	zeroed; on success the caller's to spec_done(). Not checked yet: spec_check()
 * @err:	ERR_POLICY when what was asked for would open what has to stay closed; ERR_NOMEM
 *
 * Seam settings below a directory the host may not have ("/etc/claude-code/x")
 * are an ordinary read-only bind; making its mount point is the adapter's work.
 */
int plan_spec(const struct plan_facts *f, struct sandbox_spec *ret, struct err *err);

/**
 * plan_rule() - A --deny-read or --deny-write word as a rule on guest paths
 *
 * "/x" and "** /x" stay; "~" is the home; a pattern without a slash holds at any
 * depth; everything else is taken from @cwd if that is in the workspace, else
 * from its root. Return: the caller's to free(); NULL when out of memory
 */
char *plan_rule(const struct plan_facts *f, const char *word);

#endif
