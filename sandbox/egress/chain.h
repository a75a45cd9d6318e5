/*
 * sandbox/egress/chain.h - other proxies between the helper and the host
 *
 *	"parentProxy": {"url": URL, "authFile": PATH or "authEnv": NAME}
 *	"mitmProxy": [{"host": RULE, and as above}...]
 *	"noProxy": [RULE...]
 *
 * A URL is "http://[USER:PASSWORD@]HOST[:PORT]", or "unix:/PATH" for a proxy
 * that listens on a path. The file's first line, or this process's variable,
 * is "USER:PASSWORD". The first fitting mitmProxy takes a connection, else,
 * unless a noProxy rule fits, the parent. A rule (domain.h) without a port
 * fits every port; '*' fits everything. Loopback is never reached through
 * another proxy: there it would be another host's.
 *
 * Whether a run may reach a host is decided here all the same. But the other
 * proxy looks its name up, so what it resolves to is that proxy's to judge;
 * only addresses that are known here (literals, the hosts map) are judged here.
 */
#ifndef SANDBOX_EGRESS_CHAIN_H
#define SANDBOX_EGRESS_CHAIN_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/egress/domain.h"

struct buf;
struct err;
struct json;
struct loop;

struct chain_proxy {
	struct host host;
	uint16_t port;
	char *path;		/* of a unix socket, instead of these two; else NULL */
	char *authorization;	/* "Basic ...", or NULL; wiped when freed */
};

struct chain_via {
	struct domain_set hosts;
	struct chain_proxy proxy;
};

/* A zeroed struct: every host is connected to directly. */
struct chain {
	struct chain_via *mitm;
	size_t n_mitm;
	struct chain_proxy parent;
	int has_parent;
	struct domain_set direct;
};

/**
 * chain_parse() - Read the three members of @root (reads files and the environment)
 * @ret:	on success the caller's to chain_done()
 * @err:	ERR_INPUT, ERR_POLICY for a rule, ERR_NOTFOUND or ERR_SYS for a file; never a password
 *
 * Return: 0, or -1 with @ret untouched
 */
int chain_parse(const struct json *root, struct chain *ret, struct err *err);

/* chain_route() - the proxy through which @h is reached, or NULL */
const struct chain_proxy *chain_route(const struct chain *c, const struct host *h, uint16_t port);

/* chain_uses_paths() - 1 if a proxy listens on a path */
int chain_uses_paths(const struct chain *c);

void chain_done(struct chain *c);

/* --- CONNECT, from the client's side --- */

struct chain_shake;

enum chain_end {
	CHAIN_OK,
	CHAIN_REFUSED,		/* it answered with another status than 2xx */
	CHAIN_BROKE		/* the connection ended, or what came is no answer */
};

/**
 * chain_shake_start() - Ask a connected proxy for a tunnel to @h
 * @fd:		borrowed and watched until the end; then not a byte behind the answer has been read
 * @fn:		called once, from the loop and not from within this call; the shake is gone then
 *
 * Time-outs are the caller's. Return: NULL when out of memory; @fn is not called then
 */
struct chain_shake *chain_shake_start(struct loop *loop, int fd, const struct chain_proxy *p, const struct host *h,
				      uint16_t port, void (*fn)(void *cookie, enum chain_end end), void *cookie);

/* chain_shake_cancel() - NULL is fine; @fn is not called any more */
void chain_shake_cancel(struct chain_shake *s);

#endif
