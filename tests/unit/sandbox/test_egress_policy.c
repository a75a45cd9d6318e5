#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "sandbox/egress/policy.h"

static void own_policy(struct policy *p)
{
	policy_done(p);
}

static struct host host(const char *text)
{
	struct host h;
	const char *why;

	if (host_parse(text, strlen(text), &h, &why) < 0)
		fail_msg("'%s': %s", text, why);
	return h;
}

static struct ip ip(const char *text)
{
	struct ip a = { 0 };

	assert_int_equal(ip_parse(text, &a), 0);
	return a;
}

static void rule(struct policy *p, enum domain_side side, const char *text, const char *reason)
{
	struct err err;

	if (domain_add(&p->rules, side, text, side == DOMAIN_DENY ? "deny[0]" : "allow[0]", reason, &err) < 0)
		fail_msg("%s", err.msg);
}

/* A policy that allows git.example and the literal 10.9.9.9, and maps near.example to 127.0.0.1. */
static void make(struct policy *p)
{
	*p = (struct policy){ .network_enabled = 1 };
	rule(p, DOMAIN_ALLOW, "git.example", NULL);
	rule(p, DOMAIN_ALLOW, "near.example", NULL);
	rule(p, DOMAIN_ALLOW, "10.9.9.9", NULL);
	rule(p, DOMAIN_ALLOW, "168.63.129.16", NULL);
	rule(p, DOMAIN_DENY, "192.0.2.66", "a sinkhole");
	p->hosts = calloc(1, sizeof(*p->hosts));
	p->n_hosts = 1;
	p->hosts[0].name = strdup("near.example");
	p->hosts[0].ip = calloc(2, sizeof(struct ip));
	p->hosts[0].n = 2;
	p->hosts[0].ip[0] = ip("127.0.0.1");
	p->hosts[0].ip[1] = ip("169.254.169.254");
	p->allow_resolved = calloc(1, sizeof(struct cidr));
	p->n_allow_resolved = 1;
	assert_int_equal(cidr_parse("10.20.0.0/16", p->allow_resolved), 0);
	p->deny_resolved = calloc(1, sizeof(struct cidr));
	p->n_deny_resolved = 1;
	assert_int_equal(cidr_parse("93.184.0.0/16", p->deny_resolved), 0);
}

static void a_resolved_address_needs_a_fitting_class_or_consent(void **state)
{
	static const struct {
		const char *host, *ip;
		int is_own, allowed;
		const char *reason;
	} table[] = {
		{ "git.example", "8.8.8.8", 0, 1, "" },
		{ "git.example", "8.8.8.8", 1, 0, "'git.example' resolves to an address of this host" },
		{ "git.example", "127.0.0.1", 1, 0, "'git.example' resolves to a loopback address" },
		{ "git.example", "::1", 1, 0, "'git.example' resolves to a loopback address" },
		{ "git.example", "10.9.9.9", 0, 0, "'git.example' resolves to a private address" },
		{ "git.example", "64:ff9b::10.9.9.9", 0, 0, "'git.example' resolves to a private address" },
		{ "git.example", "10.20.1.1", 0, 1, "" },
		{ "git.example", "10.20.1.1", 1, 0, "'git.example' resolves to an address of this host" },
		{ "git.example", "169.254.169.254", 0, 0, "'git.example' resolves to a cloud metadata address" },
		{ "git.example", "93.184.216.34", 0, 0, "'git.example' resolves to an address of a denied range" },
		{ "git.example", "192.0.2.66", 0, 0,
		  "'git.example' resolves to an address that a rule denies (deny[0]): a sinkhole" },
		{ "git.example", "64:ff9b::192.0.2.66", 0, 0,
		  "'git.example' resolves to an address that a rule denies (deny[0]): a sinkhole" },
		{ "192.0.2.66", "192.0.2.66", 0, 0, "denied by the rule '192.0.2.66' (deny[0]): a sinkhole" },
		{ "near.example", "127.0.0.1", 1, 1, "" },
		{ "near.example", "127.0.0.2", 1, 0, "'near.example' resolves to a loopback address" },
		{ "near.example", "169.254.169.254", 0, 0, "'near.example' resolves to a cloud metadata address" },
		{ "10.9.9.9", "10.9.9.9", 0, 1, "" },
		{ "10.9.9.9", "10.9.9.9", 1, 1, "" },
		{ "168.63.129.16", "168.63.129.16", 0, 0, "'168.63.129.16' is a cloud metadata address" },
	};
	OWN(policy) struct policy p;

	(void)state;
	make(&p);
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct host h = host(table[i].host);
		struct ip a = ip(table[i].ip);
		struct egress_verdict v;

		policy_judge_address(&p, &h, &a, 443, table[i].is_own, &v);
		if (v.allowed != table[i].allowed || strcmp(v.reason, table[i].reason))
			fail_msg("%s at %s: %d '%s'", table[i].host, table[i].ip, v.allowed, v.reason);
	}
}

static void a_refusal_says_which_rule_and_why(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		const char *rule, *reason, *word;
	} table[] = {
		{ "git.example", 443, "git.example", "", "" },
		{ "git.example", 8080, "git.example",
		  "the rule 'git.example' names no port and so allows 443, 80 and 22, not 8080", "blocked-by-allowlist" },
		{ "other.example", 443, "egress-allowlist", "no rule allows it", "blocked-by-allowlist" },
		{ "192.0.2.66", 443, "192.0.2.66", "denied by the rule '192.0.2.66' (deny[0]): a sinkhole",
		  "blocked-by-denylist" },
	};
	OWN(policy) struct policy p;

	(void)state;
	make(&p);
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct host h = host(table[i].host);
		struct egress_verdict v;

		policy_judge(&p, &h, table[i].port, &v);
		assert_string_equal(v.rule, table[i].rule);
		assert_string_equal(v.reason, table[i].reason);
		assert_string_equal(refusal_word(v.why), table[i].word);
	}
}

static void with_the_network_off_nothing_is_allowed(void **state)
{
	OWN(policy) struct policy p;
	struct egress_verdict v;
	struct host h = host("git.example");

	(void)state;
	make(&p);
	p.network_enabled = 0;
	policy_judge(&p, &h, 443, &v);
	assert_false(v.allowed);
	assert_string_equal(v.rule, "network-off");
	assert_string_equal(v.reason, "the network is off for this run");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_resolved_address_needs_a_fitting_class_or_consent),
		cmocka_unit_test(a_refusal_says_which_rule_and_why),
		cmocka_unit_test(with_the_network_off_nothing_is_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
