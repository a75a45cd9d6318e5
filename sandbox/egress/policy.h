/*
 * sandbox/egress/policy.h - may this run reach that place?
 *
 * Asked twice for each connection: for the host a program names, before
 * anything is looked up, and for each address the name resolved to. A denied
 * rule beats all; then an address of a class that outside names have no
 * business with is dropped. What counts as consent to such an address:
 *
 *	- an allow rule that is that very address;
 *	- the hosts map: a person wrote which address the name has;
 *	- for private, shared and reserved ranges also "allowResolved".
 *
 * An allowed name alone is none: its owner decides what it resolves to, and
 * could point it at the database next door. Nothing is consent to cloud
 * metadata. Pure.
 */
#ifndef SANDBOX_EGRESS_POLICY_H
#define SANDBOX_EGRESS_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/egress/domain.h"

/* A name and the addresses somebody gave it: tests, split DNS. */
struct host_entry {
	char *name;	/* plain, as struct host has it */
	struct ip *ip;
	size_t n;
};

struct policy {
	int network_enabled;	/* 0: nothing is allowed, whatever the rules say */
	struct domain_set rules;
	struct host_entry *hosts;
	size_t n_hosts;
	struct cidr *deny_resolved, *allow_resolved;
	size_t n_deny_resolved, n_allow_resolved;
};

enum refusal {
	REFUSAL_NONE,
	REFUSAL_NETWORK_OFF,
	REFUSAL_DENY_RULE,
	REFUSAL_NO_RULE,
	REFUSAL_PORT,		/* the host is allowed, on other ports */
	REFUSAL_ADDRESS,	/* what the name resolves to */
	REFUSAL_MALFORMED,	/* no host at all, or not the one it says */
	REFUSAL_ROUTE,		/* the host is allowed, this request to it is not */
	REFUSAL_OTHER_NAME,	/* TLS or a request names another host than the connection */
	REFUSAL_LEAK,		/* a credential's placeholder on its way to a host it is not for */
	REFUSAL_NOT_HTTP,	/* what cannot be looked at, to a host with request rules */
	REFUSAL_NUM
};

#define VERDICT_RULE_SIZE 280
#define VERDICT_REASON_SIZE 640

struct egress_verdict {
	int allowed;
	enum refusal why;
	char rule[VERDICT_RULE_SIZE];		/* what decided: a rule as written, or a fixed word */
	char reason[VERDICT_REASON_SIZE];	/* one line a person understands; empty if allowed */
};

/* How the reason of REFUSAL_PORT begins, for whoever reads it back from the record */
#define POLICY_OTHER_PORT "the rule '"

/* refusal_word() - "blocked-by-allowlist": for machines */
const char *refusal_word(enum refusal r);

/* policy_judge() - the host as a program names it */
void policy_judge(const struct policy *p, const struct host *h, uint16_t port, struct egress_verdict *ret);

/* policy_judge_name() - a name that is looked up: allowed if it is on any port */
void policy_judge_name(const struct policy *p, const struct host *h, struct egress_verdict *ret);

/*
 * policy_judge_host_port() - a port of this host's loopback that somebody gave to
 * the run: allowed unless the network is off or a deny rule names it
 */
void policy_judge_host_port(const struct policy *p, uint16_t port, struct egress_verdict *ret);

/* policy_mapped() - the addresses somebody gave this name, or NULL */
const struct host_entry *policy_mapped(const struct policy *p, const struct host *h);

/**
 * policy_judge_address() - One address that @h, already allowed, leads to
 * @is_own:	it is an address of this host
 */
void policy_judge_address(const struct policy *p, const struct host *h, const struct ip *ip,
			  uint16_t port, int is_own, struct egress_verdict *ret);

/* policy_malformed() - the verdict on what is no host */
void policy_malformed(const char *why, struct egress_verdict *ret);

void policy_done(struct policy *p);

#endif
