#include <stdio.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "sandbox/egress/tls_config.h"

enum { HTTPS_PORT = 443 };

static int wrong(struct err *err, const char *key, const char *wanted)
{
	return err_set(err, ERR_INPUT, 0, "egress config: '%s' must be %s", key, wanted);
}

/* @port: of rules without one; 0: every port */
static int read_rules(const struct json *list, const char *key, uint16_t port, struct domain_set *ret,
		      struct err *err)
{
	if (list && json_type(list) != JSON_ARRAY)
		return wrong(err, key, "a list of hosts");
	for (const struct json *j = json_first(list); j; j = json_next(j)) {
		if (!json_str(j))
			return wrong(err, key, "a list of hosts");
		if (domain_add(ret, DOMAIN_DENY, json_str(j), key, NULL, err) < 0)
			return -1;
		if (!ret->v[ret->n - 1].port)
			ret->v[ret->n - 1].port = port;
	}
	return 0;
}

static int read_terminate(const struct json *j, struct tls_config *c, struct err *err)
{
	static const char *const known[] = { "all", "hosts", "excludeDomains", "extraCaCertPaths", NULL };

	if (!j)
		return 0;
	if (json_type(j) != JSON_OBJECT)
		return wrong(err, "tlsTerminate", "an object");
	if (json_only(j, known, "egress config: tlsTerminate", err) < 0)
		return -1;
	if (json_get(j, "all") && json_bool(json_get(j, "all"), &c->all) < 0)
		return wrong(err, "tlsTerminate.all", "true or false");
	if (json_get(j, "extraCaCertPaths") && json_strv(json_get(j, "extraCaCertPaths"), &c->extra) < 0)
		return wrong(err, "tlsTerminate.extraCaCertPaths", "a list of paths");
	for (size_t i = 0; i < c->extra.n; i++)
		if (c->extra.v[i][0] != '/')
			return wrong(err, "tlsTerminate.extraCaCertPaths", "a list of absolute paths");
	if (read_rules(json_get(j, "hosts"), "tlsTerminate.hosts", HTTPS_PORT, &c->hosts, err) < 0)
		return -1;
	return read_rules(json_get(j, "excludeDomains"), "tlsTerminate.excludeDomains", 0, &c->exclude, err);
}

static int read_patterns(const struct json *j, const char *key, struct strv *ret, struct err *err)
{
	const struct json *list = json_get(j, key);

	return !list || json_strv(list, ret) == 0 ? 0 : wrong(err, "routes", "rules with lists of requests");
}

static int read_route(const struct json *j, size_t i, struct route_set *ret, struct err *err)
{
	static const char *const known[] = { "host", "allow", "deny", NULL };
	OWN(strv) struct strv allow = { 0 };
	OWN(strv) struct strv deny = { 0 };
	char origin[32];

	snprintf(origin, sizeof(origin), "routes[%zu]", i);
	if (json_type(j) != JSON_OBJECT || !json_str(json_get(j, "host")))
		return wrong(err, origin, "an object with a host");
	if (json_only(j, known, origin, err) < 0 || read_patterns(j, "allow", &allow, err) < 0 ||
	    read_patterns(j, "deny", &deny, err) < 0)
		return -1;
	return route_add(ret, json_str(json_get(j, "host")), &allow, &deny, origin, err);
}

static int read_routes(const struct json *list, struct route_set *ret, struct err *err)
{
	size_t i = 0;

	if (list && json_type(list) != JSON_ARRAY)
		return wrong(err, "routes", "a list of rules");
	for (const struct json *j = json_first(list); j; j = json_next(j))
		if (read_route(j, i++, ret, err) < 0)
			return -1;
	return 0;
}

int tls_config_parse(const struct json *root, const char *secrets, size_t len, struct tls_config *ret,
		     struct err *err)
{
	if (read_terminate(json_get(root, "tlsTerminate"), ret, err) < 0 ||
	    read_routes(json_get(root, "routes"), &ret->routes, err) < 0)
		return -1;
	return credential_parse(json_get(root, "credentials"), secrets, len, &ret->credentials, err);
}

int tls_config_is_used(const struct tls_config *c)
{
	return c->all || c->hosts.n || c->routes.n || c->credentials.n;
}

static int matches(const struct domain_set *set, const struct host *h, uint16_t port)
{
	struct domain_verdict v;

	domain_judge(set, h, port, &v);
	return v.answer == DOMAIN_DENIED;
}

int tls_config_looks(const struct tls_config *c, const struct host *h, uint16_t port)
{
	if (route_applies(&c->routes, h, port))
		return 1;
	if (matches(&c->exclude, h, port))
		return 0;
	return (c->all && port == HTTPS_PORT) || matches(&c->hosts, h, port) ||
	       credential_applies(&c->credentials, h, port);
}

void tls_config_done(struct tls_config *c)
{
	domain_done(&c->hosts);
	domain_done(&c->exclude);
	strv_done(&c->extra);
	route_done(&c->routes);
	credential_done(&c->credentials);
}
