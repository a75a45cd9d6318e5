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
	char *guest_home;		/* $HOME inside, "guestHome" */
	enum mode mode;
	struct strv protected_paths;	/* never writable, in any mode */
	struct strv runner_state_dirs;	/* writable in every mode */
	struct strv exec_grant_roots;	/* carried for macOS; Linux ignores them */
	struct strv deny_read;		/* literals and globs */
	struct strv allow_read;		/* beats an equal deny_read */
	struct strv deny_write;		/* literals and globs: the standard policy and --deny-write */
	struct strv allow_unix_sockets;
	struct spec_limits limits;
};

/* spec_add_bind() - append one; copies both paths. 0, or -1 out of memory */
int spec_add_bind(struct sandbox_spec *spec, const char *host, const char *guest, int read_only);

/**
 * spec_check() - Is it a spec an adapter may enforce?
 *
 * Clean absolute paths, no control bytes in ids, known globs, domain rules are
 * left to the egress reader. Return: 0, or -1 with @err (ERR_INPUT)
 */
int spec_check(const struct sandbox_spec *spec, struct err *err);

/* spec_from_json() - unknown fields are an error; the result passed spec_check() */
int spec_from_json(const struct json *j, struct sandbox_spec *ret, struct err *err);

/* spec_to_json() - caller's to json_free(); NULL when out of memory */
struct json *spec_to_json(const struct sandbox_spec *spec);

/* spec_canonical() - the canonical text, caller's to free(), and its digest */
char *spec_canonical(const struct sandbox_spec *spec, char ret_digest[DIGEST_HEX_SIZE]);

/**
 * spec_twins() - Add the link-resolved form beside every literal deny
 *
 * Globs (with * ? or [) stay as written; a path that does not resolve stays
 * as written. Sorts and drops repeats. Reads the disk.
 */
int spec_twins(struct sandbox_spec *spec, struct err *err);

void spec_done(struct sandbox_spec *spec);

static inline void own_spec(struct sandbox_spec *spec)
{
	spec_done(spec);
}

#endif
