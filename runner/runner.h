/*
 * runner/runner.h - start a command as a SandboxSpec says, through an adapter
 *
 * Adapters: native (bubblewrap, agate-init, the broker, the egress helper), bare
 * (native's second layout: the same without namespaces, weaker, see
 * doc/SECURITY.md) and none (the same events and environment, no confinement). The spec is the whole
 * contract, so another adapter needs no new policy.
 *
 * Life of a run: start() asks ops->commit and returns at once; ops->started, output, violation
 * and at last ops->ended come from the loop, ended exactly once and after the
 * last byte of output. runner_kill() may be called at any time before that.
 */
#ifndef RUNNER_RUNNER_H
#define RUNNER_RUNNER_H

#include <stddef.h>
#include <stdint.h>

#include "base/event.h"

struct err;
struct json;
struct loop;
struct sandbox_spec;
struct runner_run;

enum backend { BACKEND_NONE, BACKEND_NATIVE, BACKEND_MICROVM, BACKEND_NUM };

const char *backend_name(enum backend b);
/* backend_parse() - NULL and unknown words are none, "docker" is native, as the seeds have it */
enum backend backend_parse(const char *word);

enum run_state { RUN_CREATED, RUN_WARM, RUN_ACTIVE, RUN_SUSPENDED, RUN_DESTROYED, RUN_ERROR, RUN_STATE_NUM };
const char *run_state_name(enum run_state s);

/* How a run ended. */
enum end_kind {
	END_EXITED,	/* status is the command's */
	END_SIGNALED,	/* status is the signal that ended it */
	END_TIMEOUT,	/* we killed it at its wall time */
	END_KILLED,	/* somebody asked for it: runner_kill() */
	END_NO_COMMAND,	/* the command could not be executed; err says why */
	END_FAILED,	/* agate could not set it up or lost a helper; err says why */
	END_LIMIT,	/* a resource limit ended it; err says which */
	END_NUM
};

struct run_end {
	enum end_kind kind;
	int status;
	const struct err *err;	/* borrowed for the call; NULL unless the kind says so */
};

struct run_ops {
	/*
	 * Called once, by start(), when nothing but its return keeps the command from running: the
	 * processes around it may be there, and wait. -1: start() fails with its @err. NULL: nothing to do.
	 */
	int (*commit)(void *cookie, struct err *err);
	void (*started)(void *cookie, int64_t pid);	/* the command runs; host pid, 0 unknown */
	/* @stream 1 or 2; only when io.capture is set */
	void (*output)(void *cookie, int stream, const char *data, size_t len);
	void (*violation)(void *cookie, const struct violation *v);
	void (*event)(void *cookie, const struct event *ev);	/* egress connections, warnings */
	void (*ended)(void *cookie, const struct run_end *end);
};

/*
 * The proxies' listening sockets where they stand on the host's own loopback: the
 * environment has to name their ports before anything is started.
 */
struct run_proxies {
	int fd[2];		/* HTTP, SOCKS */
	uint16_t port[2];
	char credential[48];	/* "NAME:PASSWORD", of letters and digits: other users of the host reach them too */
};

struct run_params {
	const struct sandbox_spec *spec;	/* borrowed until ended */
	char *const *argv;			/* the command, ends in NULL; looked up on the PATH inside */
	char *const *env;			/* its whole environment, ends in NULL */
	int capture;				/* 0: our own descriptors 0 to 2 are the command's; 1: output through ops->output */
	int input;				/* what becomes its standard input; 0: our own */
	const char *hosts_file;			/* name → address for the egress helper; may be NULL */
	const char *run_dir;			/* private directory of this run, host side */
	const char *agate_path;			/* our own binary and agate-init, absolute */
	const char *init_path;
	const char *data_dir;			/* the shipped domain lists; NULL: none */
	uint32_t ignored_signals;		/* bit n: signal n was ignored when we were started: the command inherits it */
	struct run_proxies proxies;		/* of runner->listen(), the descriptors borrowed */
	int audit_reads;			/* record refused reads everywhere, at a cost for each open */
	int net_log;				/* report allowed connections as events */
	const struct json *egress;		/* more members of the egress helper's configuration; NULL: none */
	const char *secrets;			/* of its credentials, each with a NUL behind it; borrowed until started */
	size_t secrets_len;
	int looks_into_tls;			/* it will make an authority: the command gets RUN_TRUST_GUEST first */
	const struct run_ops *ops;
	void *cookie;
};

struct runner {
	enum backend backend;
	int has_view;	/* 1: what is bound may be seen at another path than its own */
	int is_bare;	/* 1: no namespaces: private directories are at paths below run_dir, RUN_TMP among them */
	/* listen: the proxies' sockets, the caller's to close; NULL: the adapter has them on well-known ports, or none */
	int (*listen)(struct run_proxies *ret, struct err *err);
	/* probe: 0 usable here; -1 err says what is missing and hints how to get it */
	int (*probe)(struct err *err);
	int (*start)(struct loop *loop, const struct run_params *p, struct runner_run **ret, struct err *err);
	void (*kill)(struct runner_run *run, int signum);	/* deliver; SIGKILL ends the whole tree */
	void (*free)(struct runner_run *run);			/* after ended, or to abandon: kills */
};

/* Where the certificates to believe are, inside, when TLS is looked into. */
#define RUN_TRUST_GUEST "/run/agate/ca.pem"
#define RUN_TRUST_JAVA_GUEST "/run/agate/ca.jks"

/* $TMPDIR of a bare run, below run_dir; made by the adapter */
#define RUN_TMP "tmp"

/* In run_dir, while the run has a control group: its path. And what the group is called, by the run's id. */
#define RUN_GROUP "cgroup"
#define RUN_GROUP_FORM "agate-%.60s"
#define RUN_GROUP_NAME 80

extern const struct runner runner_native, runner_bare, runner_none;

/**
 * runner_choose() - The adapter for a wish
 * @wish:	"on": native where the host offers it, else none; "require" or an
 *		explicit backend: that or fail; "off": none
 *
 * Native is the layout with namespaces where they can be had, else the bare
 * one. AGATE_LAYOUT=2 in the environment asks for the bare one; it is for tests.
 *
 * @ret_note:	one line for the boot message, static or kept inside
 */
int runner_choose(const char *wish, const struct runner **ret, const char **ret_note, struct err *err);

#endif
