/*
 * sandbox/egress/tls_config.h - which connections are looked into, and what is done there
 *
 * Members of the helper's configuration:
 *
 *	"tlsTerminate": { "all": bool,			every host on port 443
 *			  "hosts": [RULE...],		those; without a port: 443
 *			  "excludeDomains": [RULE...],	never; without a port: every port
 *			  "extraCaCertPaths": [PATH...] }	believed as the host's roots are
 *	"routes": [{"host": RULE, "allow": [REQUEST...], "deny": [REQUEST...]}...]	route.h
 *	"credentials": [...]				credential.h
 *
 * A host with routes is looked into on every port, excluded or not: what is
 * neither TLS nor HTTP is refused to it. A host a credential is for is looked
 * into unless it is excluded, and then gets placeholders. No field is needed;
 * none of them: nothing is looked into, and no TLS library is loaded.
 */
#ifndef SANDBOX_EGRESS_TLS_CONFIG_H
#define SANDBOX_EGRESS_TLS_CONFIG_H

#include <stddef.h>

#include "base/strv.h"
#include "sandbox/egress/credential.h"
#include "sandbox/egress/route.h"

struct err;
struct json;

struct tls_config {
	int all;
	struct domain_set hosts, exclude;	/* deny rules: what matches is meant */
	struct strv extra;
	struct route_set routes;
	struct credential_set credentials;
};

/**
 * tls_config_parse() - Read the members above from @root
 * @secrets:	@len bytes, for credential_parse(); the caller's to wipe
 *
 * Return: 0, or -1 with @err and @ret to be freed by tls_config_done()
 */
int tls_config_parse(const struct json *root, const char *secrets, size_t len, struct tls_config *ret,
		     struct err *err);

/* tls_config_is_used() - 1 if any connection may be looked into */
int tls_config_is_used(const struct tls_config *c);

/* tls_config_looks() - 1 if a connection to @h on @port is looked into */
int tls_config_looks(const struct tls_config *c, const struct host *h, uint16_t port);

void tls_config_done(struct tls_config *c);

#endif
