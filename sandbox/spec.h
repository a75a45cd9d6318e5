/*
 * sandbox/spec.h - SandboxSpec: everything a sandbox must hold, as plain data
 *
 * The canonical JSON of a spec (sorted by key) and its SHA-256 identify a
 * sandbox: a changed rule is another sandbox. Field names in JSON are the ones
 * cc_server uses. Building one is dispatch/plan's work; reading, checking and
 * printing live here. Pure but for spec_twins(), which asks the disk.
 */
#ifndef SANDBOX_SPEC_H
#define SANDBOX_SPEC_H

#include <stdint.h>

#include "base/digest.h"
#include "base/mode.h"
#include "base/strv.h"

struct err;
struct json;

/* A host path made visible inside. Both clean absolute paths. */
struct bind_mount {
	char *host_path;
	char *guest_path;
	int read_only;
};

/* 0: no limit of ours. */
struct spec_limits {
	int64_t wall_ms;
	int64_t cpu_ms;
	uint64_t memory_bytes;
	uint64_t file_bytes;	/* largest single file */
	uint64_t pids;
	uint64_t open_files;
};

struct sandbox_spec {
	char *session_id;		/* the run's id */
	char *workspace_id;
	char *agent_id;			/* may be NULL */
	struct bind_mount *binds;	/* in mount order, outer before inner */
	size_t n_binds;
	int network_enabled;		/* 0: listeners are up, nothing is allowed */
	struct strv egress_allow;	/* domain rules, "egressAllowlist" */
	struct strv egress_deny;	/* "deniedDomains": beats every allow */
	char *guest_workdir;		/* cwd of the command; NULL: first writable bind */
	char *guest_home;		/* $HOME inside, "guestHome"; NULL: the adapter's choice */
	enum mode mode;
	struct strv protected_paths;	/* never writable, in any mode */
	struct strv runner_state_dirs;	/* writable in every mode */
	struct strv exec_grant_roots;	/* carried for macOS; Linux ignores them */
	struct strv deny_read;		/* literals and globs */
	struct strv allow_read;		/* beats an equal deny_read */
	struct strv deny_write;		/* rules in sandbox/names.h's language; order counts: the last match wins */
	struct strv allow_unix_sockets;	/* as seen inside; a bind brings each into view */
	struct strv devices;		/* below /dev, shown as they are; "devices" */
	struct strv publish;		/* servers inside, as sandbox/egress/ports.h writes them */
	struct strv host_ports;		/* ports of the host's loopback for the run, the same */
	struct spec_limits limits;
};

/* spec_add_bind() - append one; copies both paths. 0, or -1 out of memory */
int spec_add_bind(struct sandbox_spec *spec, const char *host, const char *guest, int read_only);

/*
 * spec_bind_is_writable() - 1 if the mode leaves @bind (of @spec) writable: chat does,
 * the others only below a runner_state_dirs entry
 */
int spec_bind_is_writable(const struct sandbox_spec *spec, const struct bind_mount *bind);

/**
 * spec_check() - Is it a spec an adapter may enforce?
 *
 * Ids that can be part of a file name, clean absolute paths, text that JSON can
 * carry (UTF-8, no control bytes), rules names_add() takes, exceptions ("!") in
 * deny_write only, no guest path twice or hidden by a later one, nothing over
 * "/", "/dev" or "/proc", no writable bind of a protected path. Domain rules are
 * left to the egress reader.
 * Return: 0, or -1 with @err (ERR_INPUT, ERR_POLICY, ERR_LIMIT, ERR_NOMEM)
 */
int spec_check(const struct sandbox_spec *spec, struct err *err);

/**
 * spec_from_json() - Read one
 *
 * sessionId, workspaceId, bindMounts, networkEnabled and mode must be there, as
 * must all three fields of a bind mount; the rest may be left out. Unknown
 * fields are an error at every level. The result passed spec_check().
 * Return: 0, or -1 with @err and @ret untouched
 */
int spec_from_json(const struct json *j, struct sandbox_spec *ret, struct err *err);

/*
 * spec_to_json() - caller's to json_free(); NULL when out of memory
 *
 * In normal form, so that two specs that mean the same print the same: sets are
 * sorted, and in deny_write, where order counts, what may trade places is.
 */
struct json *spec_to_json(const struct sandbox_spec *spec);

/* spec_canonical() - the canonical text, caller's to free(), and its digest; NULL when out of memory */
char *spec_canonical(const struct sandbox_spec *spec, char ret_digest[DIGEST_HEX_SIZE]);

/**
 * spec_twins() - Add the link-resolved form beside every literal deny
 *
 * In deny_read, deny_write and protected_paths. Globs (with * ? or [) and
 * exceptions stay as written; a path that does not resolve stays as written.
 * Drops repeats, and sorts all but deny_write. Reads the disk.
 * Return: 0, or -1 with @err (ERR_NOMEM) and the lists reached so far done
 */
int spec_twins(struct sandbox_spec *spec, struct err *err);

/*
 * spec_rule_of_path() - the rule that matches exactly this path: "*", "?" and "["
 * put in brackets; caller's to free(), NULL when out of memory
 */
char *spec_rule_of_path(const char *path);

void spec_done(struct sandbox_spec *spec);

static inline void own_spec(struct sandbox_spec *spec)
{
	spec_done(spec);
}

#endif
