#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "sandbox/egress/policy.h"

static const char *const words[] = {
	[REFUSAL_NONE] = "",
	[REFUSAL_NETWORK_OFF] = "network-off",
	[REFUSAL_DENY_RULE] = "blocked-by-denylist",
	[REFUSAL_NO_RULE] = "blocked-by-allowlist",
	[REFUSAL_PORT] = "blocked-by-allowlist",
	[REFUSAL_ADDRESS] = "blocked-resolved-address",
	[REFUSAL_MALFORMED] = "malformed-destination",
	[REFUSAL_ROUTE] = "blocked-by-route",
	[REFUSAL_OTHER_NAME] = "host-mismatch",
	[REFUSAL_LEAK] = "credential-leak",
	[REFUSAL_NOT_HTTP] = "not-http",
};
static_assert(ARRAY_LEN(words) == REFUSAL_NUM, "a word for each refusal");

const char *refusal_word(enum refusal r)
{
	assert(r < REFUSAL_NUM);
	return words[r];
}

static void deny(struct egress_verdict *ret, enum refusal why, const char *rule)
{
	*ret = (struct egress_verdict){ .why = why };
	snprintf(ret->rule, sizeof(ret->rule), "%s", rule);
}

static void by_deny_rule(const struct domain_rule *r, struct egress_verdict *ret)
{
	deny(ret, REFUSAL_DENY_RULE, r->text);
	snprintf(ret->reason, sizeof(ret->reason), "denied by the rule '%.200s' (%.100s)%s%.250s", r->text,
		 r->origin, r->reason ? ": " : "", r->reason ? r->reason : "");
}

/* The program learns that its name leads to a denied place, not to which. */
static void by_address_rule(const struct host *h, const struct domain_rule *r, struct egress_verdict *ret)
{
	deny(ret, REFUSAL_DENY_RULE, r->text);
	snprintf(ret->reason, sizeof(ret->reason), "'%s' resolves to an address that a rule denies (%.100s)%s%.200s",
		 h->text, r->origin, r->reason ? ": " : "", r->reason ? r->reason : "");
}

void policy_malformed(const char *why, struct egress_verdict *ret)
{
	deny(ret, REFUSAL_MALFORMED, "malformed-destination");
	snprintf(ret->reason, sizeof(ret->reason), "%s", why);
}

/* @v, of the rules alone, as a verdict with its reason. */
static void explain(const struct policy *p, const struct domain_verdict *v, uint16_t port,
		    struct egress_verdict *ret)
{
	if (v->answer == DOMAIN_DENIED) {
		by_deny_rule(v->rule, ret);
	} else if (!p->network_enabled) {
		deny(ret, REFUSAL_NETWORK_OFF, "network-off");
		snprintf(ret->reason, sizeof(ret->reason), "the network is off for this run");
	} else if (v->answer == DOMAIN_ALLOWED) {
		*ret = (struct egress_verdict){ .allowed = 1 };
		snprintf(ret->rule, sizeof(ret->rule), "%s", v->rule->text);
	} else if (v->answer == DOMAIN_OTHER_PORT && v->rule->port) {
		deny(ret, REFUSAL_PORT, v->rule->text);
		snprintf(ret->reason, sizeof(ret->reason), POLICY_OTHER_PORT "%.200s' allows port %u, not %u",
			 v->rule->text, v->rule->port, port);
	} else if (v->answer == DOMAIN_OTHER_PORT) {
		deny(ret, REFUSAL_PORT, v->rule->text);
		snprintf(ret->reason, sizeof(ret->reason),
			 POLICY_OTHER_PORT "%.200s' names no port and so allows 443, 80 and 22, not %u", v->rule->text,
			 port);
	} else {
		deny(ret, REFUSAL_NO_RULE, "egress-allowlist");
		snprintf(ret->reason, sizeof(ret->reason), "no rule allows it");
	}
}

void policy_judge(const struct policy *p, const struct host *h, uint16_t port, struct egress_verdict *ret)
{
	struct domain_verdict v;

	domain_judge(&p->rules, h, port, &v);
	explain(p, &v, port, ret);
}

void policy_judge_name(const struct policy *p, const struct host *h, struct egress_verdict *ret)
{
	struct domain_verdict v;

	domain_judge_name(&p->rules, h, &v);
	explain(p, &v, 0, ret);
}

void policy_judge_host_port(const struct policy *p, uint16_t port, struct egress_verdict *ret)
{
	static const struct host hosts[] = {
		{ .text = "localhost" },
		{ .text = "127.0.0.1", .is_address = 1, .ip = { AF_INET, { 127, 0, 0, 1 } } },
		{ .text = "::1", .is_address = 1, .ip = { AF_INET6, { [15] = 1 } } },
	};

	*ret = (struct egress_verdict){ .allowed = 1, .rule = "host-port" };
	for (size_t i = 0; ret->allowed && i < ARRAY_LEN(hosts); i++) {
		struct domain_verdict v;

		domain_judge(&p->rules, &hosts[i], port, &v);
		if (v.answer == DOMAIN_DENIED || !p->network_enabled)
			explain(p, &v, port, ret);
	}
}

const struct host_entry *policy_mapped(const struct policy *p, const struct host *h)
{
	for (size_t i = 0; !h->is_address && i < p->n_hosts; i++)
		if (!strcmp(p->hosts[i].name, h->text))
			return &p->hosts[i];
	return NULL;
}

static int listed(const struct cidr *c, size_t n, const struct ip *ip)
{
	for (size_t i = 0; i < n; i++)
		if (cidr_has(&c[i], ip))
			return 1;
	return 0;
}

/* Did somebody who may say so write this address? */
static int has_consent(const struct policy *p, const struct host *h, const struct ip *ip)
{
	const struct host_entry *e = policy_mapped(p, h);

	if (h->is_address)
		return ip_equal(&h->ip, ip);
	for (size_t i = 0; e && i < e->n; i++)
		if (ip_equal(&e->ip[i], ip))
			return 1;
	return 0;
}

static int may_be_listed(enum address_class c)
{
	return c == ADDRESS_PRIVATE || c == ADDRESS_SHARED || c == ADDRESS_RESERVED;
}

void policy_judge_address(const struct policy *p, const struct host *h, const struct ip *ip,
			  uint16_t port, int is_own, struct egress_verdict *ret)
{
	const struct domain_rule *r = domain_denies(&p->rules, ip, port);
	enum address_class c = address_class(ip);

	if (is_own && c < ADDRESS_OWN && c != ADDRESS_LOOPBACK)
		c = ADDRESS_OWN;
	if (listed(p->deny_resolved, p->n_deny_resolved, ip))
		c = ADDRESS_LISTED;
	if (r && (h->is_address || c != ADDRESS_METADATA)) {
		if (h->is_address)
			by_deny_rule(r, ret);
		else
			by_address_rule(h, r, ret);
		return;
	}
	if (c == ADDRESS_PUBLIC || (address_may_consent(c) && has_consent(p, h, ip)) ||
	    (may_be_listed(c) && listed(p->allow_resolved, p->n_allow_resolved, ip))) {
		*ret = (struct egress_verdict){ .allowed = 1 };
		return;
	}
	deny(ret, REFUSAL_ADDRESS, "resolved-address");
	snprintf(ret->reason, sizeof(ret->reason), "'%s' %s %s", h->text,
		 h->is_address ? "is" : "resolves to", address_class_words(c));
}

void policy_done(struct policy *p)
{
	domain_done(&p->rules);
	for (size_t i = 0; i < p->n_hosts; i++) {
		free(p->hosts[i].name);
		free(p->hosts[i].ip);
	}
	free(p->hosts);
	free(p->deny_resolved);
	free(p->allow_resolved);
	*p = (struct policy){ 0 };
}
