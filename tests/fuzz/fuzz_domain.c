/*
 * Lists of domain rules and hosts from outside. A host that is read has one
 * spelling; a rule that is loaded fits what it was made of, and a deny rule of
 * the same text beats it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "sandbox/egress/domain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void try_host(const char *text, size_t len)
{
	struct host h, again;
	const char *why;
	uint16_t port;

	if (host_port_parse(text, len, 443, &h, &port, &why) < 0)
		return;
	if (host_parse(h.text, strlen(h.text), &again, &why) < 0 || strcmp(h.text, again.text) ||
	    h.is_address != again.is_address)
		abort();
}

/* The rule's own host, with a label in the place of a star. */
static void try_rule(const struct domain_set *set, const struct domain_rule *r)
{
	char text[HOST_TEXT_SIZE * 3];
	struct domain_verdict v;
	struct host h;
	const char *why;

	snprintf(text, sizeof(text), "%s%s%s", r->kind == DOMAIN_BELOW || r->kind == DOMAIN_ANY ? "x" : "",
		 r->kind == DOMAIN_ANY ? "" : r->name, r->kind == DOMAIN_MIDDLE ? "x" : "");
	if (r->tail)
		strncat(text, r->tail, sizeof(text) - strlen(text) - 1);
	/* With the label it may have become too long for a name. */
	if (host_parse(text, strlen(text), &h, &why) < 0)
		return;
	domain_judge(set, &h, r->port ? r->port : 443, &v);
	if (v.answer == DOMAIN_UNKNOWN || v.answer == DOMAIN_OTHER_PORT)
		abort();
	if (r->side == DOMAIN_DENY && v.answer != DOMAIN_DENIED)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	OWN(domain) struct domain_set set = { 0 };
	const char *text = (const char *)data;
	struct err err;

	try_host(text, len);
	domain_add_lines(&set, len && text[0] == '!' ? DOMAIN_DENY : DOMAIN_ALLOW, text, len, "list", &err);
	if (len && text[0] == '!')
		domain_add_lines(&set, DOMAIN_DENY, text + 1, len - 1, "list", &err);
	for (size_t i = 0; i < set.n && i < 64; i++)
		try_rule(&set, &set.v[i]);
	return 0;
}
