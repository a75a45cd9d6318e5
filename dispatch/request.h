/*
 * dispatch/request.h - what somebody asks a run to be, before anything exists
 *
 * The same names on the command line, in a JSON request and in a batch line.
 * A request is checked whole before anything is created: unknown fields, words
 * that are none, options that contradict one another, and what this build
 * cannot do are all refused here, each with its reason. Paths are as given;
 * resolving them is the first step of the run.
 */
#ifndef DISPATCH_REQUEST_H
#define DISPATCH_REQUEST_H

#include <stdint.h>

#include "base/mode.h"
#include "base/strv.h"
#include "dispatch/options.h"

struct err;
struct json;

/* The order is that of the words in request.c, asserted there. */
enum agent_kind { AGENT_BASH, AGENT_CLAUDE, AGENT_ACP, AGENT_NUM };
enum sandbox_wish { SANDBOX_ON, SANDBOX_OFF, SANDBOX_REQUIRE, SANDBOX_NUM };
enum network_rule { NETWORK_ALLOW, NETWORK_ASK, NETWORK_DENY, NETWORK_NUM };
enum approver { APPROVE_NONE, APPROVE_TTY, APPROVE_DB, APPROVE_NUM };
enum workspace_wish {
	WISH_AUTO, WISH_SNAPSHOT, WISH_REFLINK, WISH_OVERLAY, WISH_COPY, WISH_WORKTREE,
	WISH_IN_PLACE, WISH_NUM
};
enum fate { FATE_AUTO, FATE_KEEP, FATE_DISCARD };	/* of the workspace, when the run is over */

/* Words of the request as they are in JSON. */
const char *agent_name(enum agent_kind a);
const char *sandbox_wish_name(enum sandbox_wish s);
const char *network_rule_name(enum network_rule n);
const char *workspace_wish_name(enum workspace_wish w);

struct run_request {
	char *repo;		/* NULL: around the current directory */
	int mode;		/* enum mode */
	int agent;		/* enum agent_kind, or -1: tell by the command */
	int sandbox;		/* enum sandbox_wish, or -1 until request_settle() */
	int network;		/* enum network_rule */
	struct strv allow_domain;
	struct strv deny_domain;
	struct strv read;
	struct strv write;
	struct strv unix_socket;
	struct strv device;
	struct strv deny_read;
	struct strv allow_read;
	struct strv deny_write;
	struct strv publish;	/* [ADDRESS:]PORT[:PORT] */
	struct strv host_port;	/* ports of the host's loopback */
	char *hosts;		/* file for the egress helper; NULL: the system's resolver */
	struct strv env;	/* NAME or NAME=VALUE */
	int workspace;		/* enum workspace_wish */
	char *workspace_id;	/* NULL: a new one */
	int64_t timeout_ms;	/* 0: none */
	uint64_t memory_bytes;	/* 0: no limit of ours, as the next two */
	uint64_t pids;
	int64_t cpu_ms;
	int fate;		/* enum fate */
	int json;		/* NDJSON events on stdout */
	int approve;		/* enum approver; -1: the terminal, if there is one */
	int64_t approve_timeout_ms;	/* 0: approve.h's */
	int verbose;
	int net_log;		/* report allowed connections too */
	int audit_reads;	/* put refused reads on record */
	struct strv command;	/* at least one word once settled */
};

/* The rows of a request; ends like every table of options. */
extern const struct opt request_rows[];

/* request_init() - the defaults */
void request_init(struct run_request *req);
void request_done(struct run_request *req);

/**
 * request_from_json() - Read a request object over what @req holds already
 *
 * Fields are named like the options; "command" is a list of words.
 */
int request_from_json(const struct json *j, struct run_request *req, struct err *err);

/* request_shown() - append the command's words with their secrets masked, for records; 0, or -1 out of memory */
int request_shown(const struct run_request *req, struct strv *ret);

/* request_to_json() - as request_from_json() reads it, but without the values of --env and the command's secrets; NULL out of memory */
struct json *request_to_json(const struct run_request *req);

/**
 * request_settle() - Fill in what was left open and check the whole
 * @sandbox_env:	$AGATE_SANDBOX, else $CC_SERVER_SANDBOX, or NULL
 *
 * Pure. Recognises the agent by its command, and refuses contradictions and
 * what is not built. Return: 0, or -1 with @err (ERR_USAGE)
 */
int request_settle(struct run_request *req, const char *sandbox_env, struct err *err);

static inline void own_request(struct run_request *req)
{
	request_done(req);
}

#endif
