#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/own.h"
#include "sandbox/egress/config.h"

enum { LIST_MAX_BYTES = 4 << 20 };

static const struct egress_limits default_limits = {
	.connect_ms = 10 * 1000,
	.head_ms = 30 * 1000,
	.keep_alive_ms = 120 * 1000,
	.exchange_ms = 60 * 60 * 1000,	/* models think for long before the first byte */
	.tunnel_ms = 4 * 60 * 60 * 1000,
	.half_closed_ms = 10 * 60 * 1000,
	.linger_ms = 2 * 1000,
	.max_clients = 4000,
};

static const struct {
	const char *key;
	size_t offset;
} limit_keys[] = {
	{ "connectMs", offsetof(struct egress_limits, connect_ms) },
	{ "headMs", offsetof(struct egress_limits, head_ms) },
	{ "keepAliveMs", offsetof(struct egress_limits, keep_alive_ms) },
	{ "exchangeMs", offsetof(struct egress_limits, exchange_ms) },
	{ "tunnelMs", offsetof(struct egress_limits, tunnel_ms) },
	{ "halfClosedMs", offsetof(struct egress_limits, half_closed_ms) },
	{ "lingerMs", offsetof(struct egress_limits, linger_ms) },
	{ "maxClients", offsetof(struct egress_limits, max_clients) },
};

static int wrong(struct err *err, const char *key, const char *wanted)
{
	return err_set(err, ERR_INPUT, 0, "egress config: '%s' must be %s", key, wanted);
}

static int read_bool(const struct json *root, const char *key, int *ret, struct err *err)
{
	const struct json *j = json_get(root, key);

	return !j || json_bool(j, ret) == 0 ? 0 : wrong(err, key, "true or false");
}

/* --- rules --- */

static int read_list_file(struct domain_set *rules, enum domain_side side, const char *dir,
			  const char *name, struct err *err)
{
	OWN(buf) struct buf text = { 0 };
	char path[4096], file[64];

	if (!*name || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] ||
	    snprintf(file, sizeof(file), "domains-%s.txt", name) >= (int)sizeof(file) ||
	    snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
		return err_set(err, ERR_INPUT, 0, "egress config: '%s' cannot name a list", name);
	if (io_read_file(AT_FDCWD, path, LIST_MAX_BYTES, &text, err) < 0)
		return err_wrap(err, "egress list '%s'", name);
	return domain_add_lines(rules, side, text.data ? text.data : "", text.len, file, err);
}

static int read_lists(const struct json *root, struct domain_set *rules, struct err *err)
{
	const char *dir = json_str(json_get(root, "dataDir"));
	const struct json *lists = json_get(root, "lists");

	if (!dir || dir[0] != '/')
		return wrong(err, "dataDir", "an absolute path");
	if (lists && json_type(lists) != JSON_ARRAY)
		return wrong(err, "lists", "a list of names");
	if (read_list_file(rules, DOMAIN_DENY, dir, "denied", err) < 0)
		return -1;
	for (const struct json *j = json_first(lists); j; j = json_next(j)) {
		if (!json_str(j))
			return wrong(err, "lists", "a list of names");
		if (read_list_file(rules, DOMAIN_ALLOW, dir, json_str(j), err) < 0)
			return -1;
	}
	return 0;
}

/* A rule alone, or {"rule", "reason"}. */
static int read_rule(const struct json *j, enum domain_side side, const char *origin,
		     struct domain_set *rules, struct err *err)
{
	static const char *const known[] = { "rule", "reason", NULL };
	const char *rule = json_str(j), *reason = NULL;

	if (json_type(j) == JSON_OBJECT) {
		if (json_only(j, known, origin, err) < 0)
			return -1;
		rule = json_str(json_get(j, "rule"));
		reason = json_str(json_get(j, "reason"));
	}
	if (!rule)
		return wrong(err, origin, "a rule");
	return domain_add(rules, side, rule, origin, reason, err);
}

static int read_rules(const struct json *root, const char *key, enum domain_side side,
		      struct domain_set *rules, struct err *err)
{
	const struct json *list = json_get(root, key);
	unsigned int i = 0;

	if (list && json_type(list) != JSON_ARRAY)
		return wrong(err, key, "a list of rules");
	for (const struct json *j = json_first(list); j; j = json_next(j), i++) {
		char origin[32];

		snprintf(origin, sizeof(origin), "%s[%u]", key, i);
		if (read_rule(j, side, origin, rules, err) < 0)
			return -1;
	}
	return 0;
}

/* --- addresses --- */

static int read_host(const struct json *j, struct host_entry *e, struct err *err)
{
	const char *name = json_key(j), *why;
	struct host h;

	if (host_parse(name, strlen(name), &h, &why) < 0)
		return err_set(err, ERR_INPUT, 0, "egress config: host '%s': %s", name, why);
	if (h.is_address)
		return err_set(err, ERR_INPUT, 0, "egress config: host '%s' is an address and needs none", name);
	if (json_type(j) != JSON_ARRAY || !json_count(j))
		return wrong(err, name, "a list of addresses");
	e->name = strdup(h.text);
	e->ip = calloc(json_count(j), sizeof(*e->ip));
	if (!e->name || !e->ip)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	for (const struct json *a = json_first(j); a; a = json_next(a)) {
		if (!json_str(a) || ip_parse(json_str(a), &e->ip[e->n]) < 0)
			return err_set(err, ERR_INPUT, 0, "egress config: host '%s': '%s' is not an IP address",
				       name, json_str(a) ? json_str(a) : "");
		e->n++;
	}
	return 0;
}

static int read_hosts(const struct json *root, struct policy *p, struct err *err)
{
	const struct json *hosts = json_get(root, "hosts");

	if (!hosts)
		return 0;
	if (json_type(hosts) != JSON_OBJECT)
		return wrong(err, "hosts", "an object of names and addresses");
	p->hosts = calloc(json_count(hosts) + 1, sizeof(*p->hosts));
	if (!p->hosts)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	for (const struct json *j = json_first(hosts); j; j = json_next(j))
		if (read_host(j, &p->hosts[p->n_hosts++], err) < 0)
			return -1;
	return 0;
}

static int read_ranges(const struct json *root, const char *key, struct cidr **ret, size_t *ret_n,
		       struct err *err)
{
	const struct json *list = json_get(root, key);

	if (!list)
		return 0;
	if (json_type(list) != JSON_ARRAY)
		return wrong(err, key, "a list of address ranges");
	*ret = calloc(json_count(list) + 1, sizeof(**ret));
	if (!*ret)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	for (const struct json *j = json_first(list); j; j = json_next(j))
		if (!json_str(j) || cidr_parse(json_str(j), &(*ret)[(*ret_n)++]) < 0)
			return err_set(err, ERR_POLICY, 0, "egress config: %s: '%s' is not an address range", key,
				       json_str(j) ? json_str(j) : "");
	return 0;
}

/* --- the rest --- */

static int read_limits(const struct json *root, struct egress_limits *ret, struct err *err)
{
	const char *known[ARRAY_LEN(limit_keys) + 1] = { 0 };
	const struct json *limits = json_get(root, "limits");

	if (!limits)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(limit_keys); i++)
		known[i] = limit_keys[i].key;
	if (json_type(limits) != JSON_OBJECT)
		return wrong(err, "limits", "an object");
	if (json_only(limits, known, "egress config: limits", err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(limit_keys); i++) {
		const struct json *j = json_get(limits, limit_keys[i].key);
		int64_t v;

		if (!j)
			continue;
		if (json_int(j, &v) < 0 || v < 1 || v > INT32_MAX)
			return wrong(err, limit_keys[i].key, "a whole number above 0");
		*(int64_t *)(void *)((char *)ret + limit_keys[i].offset) = v;
	}
	return 0;
}

/* Both halves fit what SOCKS5 and Basic authentication can carry. */
static int read_proxy_credential(const struct json *j, char **ret, struct err *err)
{
	const char *s = json_str(j), *colon = s ? strchr(s, ':') : NULL;

	if (!j)
		return 0;
	if (!colon || colon == s || !colon[1] || colon - s > 255 || strlen(colon + 1) > 255)
		return wrong(err, "proxyCredential", "a name, a colon and a password");
	*ret = strdup(s);
	return *ret ? 0 : err_set(err, ERR_NOMEM, 0, "out of memory");
}

static int read_all(const struct json *root, struct egress_config *cfg, struct err *err)
{
	static const char *const known[] = { "run", "networkEnabled", "dataDir", "lists", "allow", "deny", "hosts",
					     "allowResolved", "denyResolved", "netLog", "publish", "hostPorts",
					     "parentProxy", "mitmProxy", "noProxy", "tlsTerminate", "routes",
					     "credentials", "proxyCredential", "limits", NULL };
	struct policy *p = &cfg->policy;
	const char *run = json_str(json_get(root, "run"));

	if (json_type(root) != JSON_OBJECT)
		return err_set(err, ERR_INPUT, 0, "egress config: an object is wanted");
	if (json_only(root, known, "egress config", err) < 0)
		return -1;
	if (!run)
		return wrong(err, "run", "the run's id");
	if (!json_get(root, "networkEnabled"))
		return wrong(err, "networkEnabled", "true or false");
	cfg->run = strdup(run);
	if (!cfg->run)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (read_bool(root, "networkEnabled", &p->network_enabled, err) < 0 ||
	    read_bool(root, "netLog", &cfg->net_log, err) < 0 ||
	    read_proxy_credential(json_get(root, "proxyCredential"), &cfg->proxy_credential, err) < 0 ||
	    read_lists(root, &p->rules, err) < 0 ||
	    read_rules(root, "allow", DOMAIN_ALLOW, &p->rules, err) < 0 ||
	    read_rules(root, "deny", DOMAIN_DENY, &p->rules, err) < 0 || read_hosts(root, p, err) < 0 ||
	    read_ranges(root, "allowResolved", &p->allow_resolved, &p->n_allow_resolved, err) < 0 ||
	    read_ranges(root, "denyResolved", &p->deny_resolved, &p->n_deny_resolved, err) < 0)
		return -1;
	if (chain_parse(root, &cfg->chain, err) < 0 ||
	    publish_parse(json_get(root, "publish"), &cfg->publish, err) < 0 ||
	    host_port_read(json_get(root, "hostPorts"), &cfg->host_ports, err) < 0)
		return -1;
	return read_limits(root, &cfg->limits, err);
}

int config_parse(const char *text, size_t len, struct egress_config *ret, struct err *err)
{
	OWN(config) struct egress_config cfg = { .limits = default_limits };
	OWN(json) struct json *root = NULL;

	size_t json_len = strnlen(text, len), rest = json_len < len ? json_len + 1 : len;

	if (json_parse(text, json_len, NULL, &root, err) < 0)
		return err_wrap(err, "egress config");
	if (read_all(root, &cfg, err) < 0 || tls_config_parse(root, text + rest, len - rest, &cfg.tls, err) < 0)
		return -1;
	*ret = cfg;
	cfg = (struct egress_config){ 0 };
	return 0;
}

void config_done(struct egress_config *cfg)
{
	free(cfg->run);
	if (cfg->proxy_credential)
		explicit_bzero(cfg->proxy_credential, strlen(cfg->proxy_credential));
	free(cfg->proxy_credential);
	policy_done(&cfg->policy);
	chain_done(&cfg->chain);
	tls_config_done(&cfg->tls);
	*cfg = (struct egress_config){ 0 };
}
