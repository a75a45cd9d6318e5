#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/parse.h"
#include "base/strv.h"
#include "sandbox/egress/host.h"
#include "sandbox/egress/host_port.h"
#include "sandbox/egress/ports.h"
#include "sandbox/init/proto.h"

static_assert(HOST_PORTS_MAX == PROTO_HOST_PORTS, "the plan has room for each");

static int read_port(const char *text, size_t len, uint64_t least, uint16_t *ret)
{
	char word[8];
	uint64_t v;

	if (!len || len >= sizeof(word))
		return -1;
	memcpy(word, text, len);
	word[len] = '\0';
	if (parse_uint(word, 65535, &v) < 0 || v < least)
		return -1;
	*ret = (uint16_t)v;
	return 0;
}

/* --- a published port --- */

static int no_rule(const char *text, struct err *err)
{
	err_set(err, ERR_INPUT, 0, "cannot publish '%s': that is no [ADDRESS:]PORT[:PORT]", text);
	return err_hint(err, "8080, 8080:3000 and 127.0.0.1:8080:3000 are some");
}

static int read_address(const char *text, size_t len, struct ip *ret)
{
	char word[64];

	if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	if (len >= sizeof(word))
		return -1;
	memcpy(word, text, len);
	word[len] = '\0';
	return ip_parse(strcmp(word, "localhost") != 0 ? word : "127.0.0.1", ret);
}

/* How long the address in front is; 0: there is none. */
static size_t address_len(const char *text)
{
	const char *bracket = text[0] == '[' ? strstr(text, "]:") : NULL;
	size_t n = strcspn(text, ":");

	if (bracket)
		return (size_t)(bracket + 1 - text);
	return text[n] && strspn(text, "0123456789") < n ? n : 0;
}

int ports_parse_publish(const char *text, struct publish_rule *ret, struct err *err)
{
	struct publish_rule r = { .ip = { .family = AF_INET, .b = { 127, 0, 0, 1 } } };
	size_t address = address_len(text), n;
	const char *at = text + (address ? address + 1 : 0);

	if (address && read_address(text, address, &r.ip) < 0)
		return no_rule(text, err);
	if (address_class(&r.ip) != ADDRESS_LOOPBACK) {
		err_set(err, ERR_POLICY, 0, "may not publish '%s': '%.*s' is not a loopback address", text, (int)address,
			text);
		return err_hint(err, "use 127.0.0.1 or [::1]; something else can pass it on from there");
	}
	n = strcspn(at, ":");
	if (read_port(at, n, 0, &r.port) < 0)
		return no_rule(text, err);
	r.inside = r.port;
	if (at[n] && read_port(at + n + 1, strlen(at + n + 1), 1, &r.inside) < 0)
		return no_rule(text, err);
	if (!r.inside) {
		err_set(err, ERR_INPUT, 0, "cannot publish '%s': the server's own port has to be said", text);
		return err_hint(err, "0:3000 publishes port 3000 on any free one");
	}
	*ret = r;
	return 0;
}

void ports_show_publish(const struct publish_rule *rule, char ret[PORTS_TEXT_SIZE])
{
	struct host h;

	host_from_ip(&rule->ip, &h);
	snprintf(ret, PORTS_TEXT_SIZE, rule->ip.family == AF_INET6 ? "[%.45s]:%u:%u" : "%.45s:%u:%u", h.text, rule->port,
		 rule->inside);
}

/* --- a port of the host --- */

int ports_parse_host(const char *text, uint16_t *ret, struct err *err)
{
	if (read_port(text, strlen(text), 1, ret) < 0)
		return err_set(err, ERR_INPUT, 0, "cannot reach '%s': a port is a number from 1 to 65535", text);
	return 0;
}

/* --- together --- */

/* What stands in a run's namespace already. */
static const struct { uint16_t port; const char *what; } taken[] = {
	{ PROXY_HTTP_PORT, "the run's HTTP proxy" },
	{ PROXY_SOCKS_PORT, "the run's SOCKS proxy" },
	{ TRANSPARENT_PORT, "the run's way out" },
	{ 53, "the run's name server" },
};

static const char *taken_by(uint16_t port)
{
	for (size_t i = 0; i < ARRAY_LEN(taken); i++)
		if (taken[i].port == port)
			return taken[i].what;
	return NULL;
}

static int check_host(const struct strv *list, uint16_t ret[HOST_PORTS_MAX], struct err *err)
{
	if (list->n > HOST_PORTS_MAX)
		return err_set(err, ERR_LIMIT, 0, "cannot reach %zu ports of the host: %d are the most", list->n,
			       HOST_PORTS_MAX);
	for (size_t i = 0; i < list->n; i++) {
		if (ports_parse_host(list->v[i], &ret[i], err) < 0)
			return -1;
		if (taken_by(ret[i]))
			return err_set(err, ERR_POLICY, 0, "cannot reach port %u of the host: inside, that is %s", ret[i],
				       taken_by(ret[i]));
		for (size_t j = 0; j < i; j++)
			if (ret[j] == ret[i])
				return err_set(err, ERR_INPUT, 0, "port %u of the host is asked for twice", ret[i]);
	}
	return 0;
}

static int is_same_place(const struct publish_rule *a, const struct publish_rule *b)
{
	return a->port && a->port == b->port && ip_equal(&a->ip, &b->ip);
}

int ports_check(const struct strv *publish, const struct strv *host, struct err *err)
{
	struct publish_rule rule[PUBLISH_MAX];
	uint16_t reached[HOST_PORTS_MAX];

	if (publish->n > PUBLISH_MAX)
		return err_set(err, ERR_LIMIT, 0, "cannot publish %zu ports: %d are the most", publish->n, PUBLISH_MAX);
	if (check_host(host, reached, err) < 0)
		return -1;
	for (size_t i = 0; i < publish->n; i++) {
		if (ports_parse_publish(publish->v[i], &rule[i], err) < 0)
			return -1;
		if (taken_by(rule[i].inside))
			return err_set(err, ERR_POLICY, 0, "may not publish '%s': inside, port %u is %s", publish->v[i],
				       rule[i].inside, taken_by(rule[i].inside));
		for (size_t j = 0; j < host->n; j++)
			if (reached[j] == rule[i].inside)
				return err_set(err, ERR_INPUT, 0, "cannot publish '%s': inside, port %u leads to the host's",
					       publish->v[i], rule[i].inside);
		for (size_t j = 0; j < i; j++)
			if (is_same_place(&rule[i], &rule[j]))
				return err_set(err, ERR_INPUT, 0, "'%s' and '%s' are published at one place", publish->v[j],
					       publish->v[i]);
	}
	return 0;
}
