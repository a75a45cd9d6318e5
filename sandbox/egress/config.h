/*
 * sandbox/egress/config.h - what the supervisor tells the helper at its start
 *
 *	{ "run": ID, "networkEnabled": bool, "dataDir": DIR,
 *	  "lists": ["baseline", "github"],	files DIR/domains-NAME.txt, allowed
 *	  "allow": [RULE...],
 *	  "deny": [RULE or {"rule": RULE, "reason": TEXT}...],
 *	  "hosts": {NAME: [ADDRESS...]},	looked at before DNS; consent to these addresses
 *	  "allowResolved": [RANGE...],		private ranges that allowed names may resolve to
 *	  "denyResolved": [RANGE...],		ranges that no name may resolve to
 *	  "netLog": bool,
 *	  "proxyCredential": "NAME:PASSWORD",	who uses the proxies has to say it
 *	  "tlsTerminate": {...}, "routes": [...], "credentials": [...],	tls_config.h
 *	  "parentProxy": {...}, "mitmProxy": [...], "noProxy": [RULE...],	chain.h
 *	  "publish": [{"address", "port", "inside"}...],	publish.h
 *	  "hostPorts": [PORT...],		host_port.h
 *	  "limits": { "connectMs": ... } }
 *
 * Only "run", "networkEnabled" and "dataDir" must be there. Unknown fields are
 * an error. Behind the JSON and a NUL stand the secrets of the credentials, each
 * with a NUL behind it. DIR/domains-denied.txt is always read: it beats every allow rule.
 */
#ifndef SANDBOX_EGRESS_CONFIG_H
#define SANDBOX_EGRESS_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/egress/chain.h"
#include "sandbox/egress/host_port.h"
#include "sandbox/egress/policy.h"
#include "sandbox/egress/publish.h"
#include "sandbox/egress/tls_config.h"

struct err;

/* Milliseconds without progress until something is given up; a second more may pass. */
struct egress_limits {
	int64_t connect_ms;	/* "connectMs": looking up, and again connecting */
	int64_t head_ms;	/* "headMs": a request's head, a SOCKS greeting */
	int64_t keep_alive_ms;	/* "keepAliveMs": between two requests */
	int64_t exchange_ms;	/* "exchangeMs": waiting for an answer or the next part of a body */
	int64_t tunnel_ms;	/* "tunnelMs": a silent tunnel */
	int64_t half_closed_ms;	/* "halfClosedMs": the same when one side has said all it had to say */
	int64_t linger_ms;	/* "lingerMs": reading what a refused client still sends */
	int64_t max_clients;	/* "maxClients": connections at once; more wait in the backlog */
};

struct egress_config {
	char *run;
	int net_log;
	char *proxy_credential;	/* NULL: none is wanted */
	struct policy policy;
	struct chain chain;
	struct tls_config tls;
	struct publish_config publish;
	struct host_ports host_ports;
	struct egress_limits limits;
};

/**
 * config_parse() - Read the whole configuration and the lists it names (reads the disk)
 * @text:	JSON of @len bytes, and secrets, which are the caller's to wipe
 * @ret:	on success the caller's to config_done()
 * @err:	ERR_INPUT, ERR_POLICY for a rule, ERR_NOTFOUND or ERR_SYS for a list
 *
 * Return: 0, or -1 with @ret untouched
 */
int config_parse(const char *text, size_t len, struct egress_config *ret, struct err *err);

void config_done(struct egress_config *cfg);

static inline void own_config(struct egress_config *cfg)
{
	config_done(cfg);
}

#endif
