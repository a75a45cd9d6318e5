/*
 * sandbox/policy.h - the standard policy: what no run may write or see, as data
 *
 * Tables of rules with a reason each, and functions that append them to the
 * lists of a SandboxSpec. The rules are in the language of sandbox/names.h; the
 * last match wins, so what a user denies goes behind what is appended here.
 * The first half is pure; the second asks the disk about this host.
 */
#ifndef SANDBOX_POLICY_H
#define SANDBOX_POLICY_H

#include <stddef.h>

#include "base/strv.h"

struct err;

struct policy_rule {
	const char *rule;
	const char *reason;	/* one line for a person */
};

/* policy_write_rules() - the standard write denials and their exceptions, in order */
const struct policy_rule *policy_write_rules(size_t *ret_n);

/*
 * policy_reason() - why the standard policy has this rule (text as
 * names_denied() returns it); NULL for a rule that is not from here
 */
const char *policy_reason(const char *rule);

/*
 * All that append return 0, or -1 when out of memory with some appended.
 */

/**
 * policy_standard_denies() - The rules every run has, everywhere it can write
 *
 * What stays possible: git clone and git init (hooks of the template end in
 * ".sample"), the run's own .git/config, index and refs. A checkout that was
 * there at the start gets policy_git_dir() beside these.
 */
int policy_standard_denies(struct strv *deny_write);

/**
 * policy_private_home() - Let tools keep their settings in a home that is the run's own
 * @home:	$HOME inside; must not be, or hold, a writable bind of the real home
 *
 * Exceptions for git config --global, npm config and the agents' own files,
 * which nobody outside reads. Shell start-up files stay denied.
 */
int policy_private_home(const char *home, struct strv *deny_write);

/**
 * policy_package_files() - Let package managers unpack keys and certificates
 *
 * Not part of the standard policy. Many packages ship *.pem and *.key as test
 * data; beside code from the same package they protect nothing. Exceptions for
 * node_modules, site-packages, Go's module cache and Cargo's registry; .env
 * stays denied there too.
 */
int policy_package_files(struct strv *deny_write);

/**
 * policy_git_dir() - Literal denials for a git directory the run did not make
 * @gitdir:	clean absolute path of ".git", of a bare repository, or of one below
 *		.git/modules or .git/worktrees, as the run sees it
 *
 * Its configuration, hooks, attributes and pointers, each of which can make the
 * user's own git run a program.
 */
int policy_git_dir(const char *gitdir, struct strv *deny_write);

/*
 * policy_home_secrets(), policy_home_writes() - literals below the real @home
 *
 * For a run that sees part of it by --read or --write. A private home needs
 * neither: it has none of these, and may make its own.
 */
int policy_home_secrets(const char *home, struct strv *deny_read);
int policy_home_writes(const char *home, struct strv *deny_write);

/* policy_is_secret() - 1 if @rel, below a home, is one of the home's secrets or lies in one */
int policy_is_secret(const char *rel);

/* --- this host --- */

/*
 * policy_system_binds() - top directories a run reads: /usr, /etc and their kin, as far as
 * they exist. Where one is a link ("/bin" to "usr/bin"), make that link instead.
 */
int policy_system_binds(struct strv *ret);

/**
 * policy_tool_roots() - What to bind read-only so that tools below the home work
 * @home:	the real home, clean
 * @path:	the value of PATH; may be NULL
 * @ret_roots:	appended: clean paths to bind at the same path, none below another
 * @ret_masks:	appended: what inside them holds credentials, there or not, to be denied for reading
 *
 * By a table: only directories known to belong to a tool are bound, and of each
 * as little as it runs on. Of ~/.local/bin and ~/bin also what their links point
 * to, unless that is a secret. A PATH entry nobody knows is not bound.
 */
int policy_tool_roots(const char *home, const char *path, struct strv *ret_roots, struct strv *ret_masks);

/*
 * policy_reads_more() - 1 if we may read what other users may not: root, or a member of a
 * system group. If not, policy_root_only_files() can be spared.
 */
int policy_reads_more(void);

/**
 * policy_root_only_files() - What we may read but others may not
 * @root:	a directory about to be bound read-only: "/etc"
 * @ret:	appended: files, and directories nobody else may enter
 *
 * For root, and in a privileged group, these have to be hidden inside. Links are
 * not followed. Takes a few milliseconds a thousand files.
 * Return: 0, or -1 with @err: ERR_LIMIT when the tree is too large to look
 * through (then do not bind it), ERR_SYS, ERR_NOMEM
 */
int policy_root_only_files(const char *root, struct strv *ret, struct err *err);

/**
 * policy_look_ahead() - Look through /etc and /opt now, if policy_reads_more()
 *
 * For a thread that has nothing else to do. The next policy_root_only_files() of each
 * takes what was found, once, and only while that is half a second old at the most:
 * bits may change without a trace. Never at the same time as that.
 */
void policy_look_ahead(void);

/*
 * policy_may_fold() - 1 if names in the directory @path may be compared without case: it says so
 * itself (ext4's and f2fs' casefold), or its file system is of a kind that does, or it cannot be told
 */
int policy_may_fold(const char *path);

#endif
