#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "sandbox/egress/chain.h"

enum {
	AUTH_MAX_BYTES = 1024,	/* "user:password" */
	HTTP_PORT = 80,
};

/* "user:password", wiped with its scope. */
struct secret {
	char text[AUTH_MAX_BYTES + 1];
	size_t len;
};

static void own_secret(struct secret *s)
{
	explicit_bzero(s, sizeof(*s));
}

/* --- proxies --- */

static void proxy_done(struct chain_proxy *p)
{
	if (p->authorization) {
		explicit_bzero(p->authorization, strlen(p->authorization));
		free(p->authorization);
	}
	free(p->path);
	*p = (struct chain_proxy){ 0 };
}

/* 0, or -1: it cannot be sent, or is no "user:password". */
static int set_authorization(struct chain_proxy *p, const struct secret *s)
{
	static const char scheme[] = "Basic ";
	size_t n = sizeof(scheme) - 1;

	for (size_t i = 0; i < s->len; i++)
		if (iscntrl((unsigned char)s->text[i]))
			return -1;
	if (!memchr(s->text, ':', s->len))
		return -1;
	p->authorization = malloc(n + TEXT_BASE64_SIZE(s->len));
	if (!p->authorization)
		return -1;
	memcpy(p->authorization, scheme, n);
	text_base64(s->text, s->len, p->authorization + n);
	return 0;
}

static int hex_value(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? (c | 0x20) - 'a' + 10 : -1;
}

/* The part of a URL in front of '@', with its %XX made plain. */
static int decode(const char *p, const char *end, struct secret *ret)
{
	for (; p < end; p++) {
		int c = (unsigned char)*p;

		if (ret->len == AUTH_MAX_BYTES)
			return -1;
		if (c == '%') {
			if (end - p < 3 || hex_value(p[1]) < 0 || hex_value(p[2]) < 0)
				return -1;
			c = hex_value(p[1]) << 4 | hex_value(p[2]);
			p += 2;
		}
		ret->text[ret->len++] = (char)c;
	}
	return 0;
}

static int read_unix(const char *path, struct chain_proxy *p)
{
	if (path[0] != '/' || strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return -1;
	p->path = strdup(path);
	/* What a request names in its Host field is the destination; this is for errors alone. */
	p->host = (struct host){ .text = "localhost" };
	return p->path ? 0 : -1;
}

static int read_url(const char *url, struct chain_proxy *p, struct secret *auth)
{
	static const char http[] = "http://";
	const char *at, *host, *end, *why;

	if (!strncmp(url, "unix:", 5))
		return read_unix(url + 5, p);
	if (strncmp(url, http, sizeof(http) - 1))
		return -1;
	host = url + sizeof(http) - 1;
	end = host + strcspn(host, "/?#");
	if (*end && strcmp(end, "/"))
		return -1;
	at = memrchr(host, '@', (size_t)(end - host));
	if (at && decode(host, at, auth) < 0)
		return -1;
	host = at ? at + 1 : host;
	return host_port_parse(host, (size_t)(end - host), HTTP_PORT, &p->host, &p->port, &why);
}

static int auth_from_file(const char *path, struct secret *ret, struct err *err)
{
	struct buf text = { 0 };
	int r = io_read_file(AT_FDCWD, path, AUTH_MAX_BYTES, &text, err);

	if (r == 0) {
		ret->len = text.data ? strcspn(text.data, "\r\n") : 0;
		memcpy(ret->text, text.data ? text.data : "", ret->len);
	}
	if (text.data)
		explicit_bzero(text.data, text.cap);
	buf_done(&text);
	return r < 0 ? err_wrap(err, "cannot use the proxy's credentials") : 0;
}

/* At most one of the two may be there. */
static int read_auth(const struct json *j, const char *what, struct secret *ret, struct err *err)
{
	const char *file = json_str(json_get(j, "authFile")), *env = json_str(json_get(j, "authEnv"));
	const char *value = env ? getenv(env) : NULL;

	if ((json_get(j, "authFile") && !file) || (json_get(j, "authEnv") && !env) || (file && env) ||
	    ((file || env) && ret->len))
		return err_set(err, ERR_INPUT, 0, "egress config: %s: credentials come from one place, "
			       "named by a text", what);
	if (file)
		return auth_from_file(file, ret, err);
	if (!env)
		return 0;
	if (!value || strlen(value) > AUTH_MAX_BYTES)
		return err_set(err, ERR_INPUT, 0, "egress config: %s: variable '%s' is not set, or too long", what, env);
	ret->len = strlen(value);
	memcpy(ret->text, value, ret->len);
	return 0;
}

static int read_proxy(const struct json *j, const char *what, struct chain_proxy *ret, struct err *err)
{
	const char *url = json_str(json_get(j, "url"));
	OWN(secret) struct secret auth = { .len = 0 };
	struct chain_proxy p = { 0 };

	/* The URL may hold a password, so it is not repeated. */
	if (!url || read_url(url, &p, &auth) < 0) {
		proxy_done(&p);
		return err_set(err, ERR_INPUT, 0, "egress config: %s: 'url' must be http://HOST:PORT or unix:/PATH", what);
	}
	if (read_auth(j, what, &auth, err) < 0) {
		proxy_done(&p);
		return -1;
	}
	if (auth.len && set_authorization(&p, &auth) < 0) {
		proxy_done(&p);
		return err_set(err, ERR_INPUT, 0, "egress config: %s: credentials must be USER:PASSWORD", what);
	}
	*ret = p;
	return 0;
}

/* --- the configuration --- */

static int read_parent(const struct json *root, struct chain *c, struct err *err)
{
	static const char *const known[] = { "url", "authFile", "authEnv", NULL };
	const struct json *j = json_get(root, "parentProxy");

	if (!j)
		return 0;
	if (json_type(j) != JSON_OBJECT)
		return err_set(err, ERR_INPUT, 0, "egress config: 'parentProxy' must be an object");
	if (json_only(j, known, "egress config: parentProxy", err) < 0 ||
	    read_proxy(j, "parentProxy", &c->parent, err) < 0)
		return -1;
	c->has_parent = 1;
	return 0;
}

/* As of a deny rule: without a port, every port. */
static int add_rule(struct domain_set *set, const struct json *j, const char *origin, struct err *err)
{
	if (!json_str(j))
		return err_set(err, ERR_INPUT, 0, "egress config: '%s' must be a rule", origin);
	return domain_add(set, DOMAIN_DENY, json_str(j), origin, NULL, err);
}

static int read_mitm(const struct json *root, struct chain *c, struct err *err)
{
	static const char *const known[] = { "host", "url", "authFile", "authEnv", NULL };
	const struct json *list = json_get(root, "mitmProxy");

	if (!list)
		return 0;
	if (json_type(list) != JSON_ARRAY)
		return err_set(err, ERR_INPUT, 0, "egress config: 'mitmProxy' must be a list");
	c->mitm = calloc(json_count(list) + 1, sizeof(*c->mitm));
	if (!c->mitm)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	for (const struct json *j = json_first(list); j; j = json_next(j)) {
		struct chain_via *via = &c->mitm[c->n_mitm];
		char origin[48];

		snprintf(origin, sizeof(origin), "mitmProxy[%zu]", c->n_mitm++);
		if (json_type(j) != JSON_OBJECT)
			return err_set(err, ERR_INPUT, 0, "egress config: '%s' must be an object", origin);
		if (json_only(j, known, origin, err) < 0 ||
		    add_rule(&via->hosts, json_get(j, "host"), origin, err) < 0 ||
		    read_proxy(j, origin, &via->proxy, err) < 0)
			return -1;
	}
	return 0;
}

static int read_direct(const struct json *root, struct chain *c, struct err *err)
{
	const struct json *list = json_get(root, "noProxy");
	unsigned int i = 0;

	if (list && json_type(list) != JSON_ARRAY)
		return err_set(err, ERR_INPUT, 0, "egress config: 'noProxy' must be a list of rules");
	for (const struct json *j = json_first(list); j; j = json_next(j), i++) {
		char origin[32];

		snprintf(origin, sizeof(origin), "noProxy[%u]", i);
		if (add_rule(&c->direct, j, origin, err) < 0)
			return -1;
	}
	return 0;
}

int chain_parse(const struct json *root, struct chain *ret, struct err *err)
{
	struct chain c = { 0 };

	if (read_parent(root, &c, err) < 0 || read_mitm(root, &c, err) < 0 || read_direct(root, &c, err) < 0) {
		chain_done(&c);
		return -1;
	}
	*ret = c;
	return 0;
}

void chain_done(struct chain *c)
{
	for (size_t i = 0; i < c->n_mitm; i++) {
		domain_done(&c->mitm[i].hosts);
		proxy_done(&c->mitm[i].proxy);
	}
	free(c->mitm);
	proxy_done(&c->parent);
	domain_done(&c->direct);
	*c = (struct chain){ 0 };
}

/* --- the way --- */

static int fits(const struct domain_set *set, const struct host *h, uint16_t port)
{
	struct domain_verdict v;

	domain_judge(set, h, port, &v);
	return v.answer == DOMAIN_DENIED;	/* they are held as deny rules */
}

/* RFC 6761 has the names below localhost as well. */
static int is_loopback(const struct host *h)
{
	const char *dot = strrchr(h->text, '.');

	if (h->is_address)
		return address_class(&h->ip) == ADDRESS_LOOPBACK;
	return !strcmp(dot ? dot + 1 : h->text, "localhost");
}

const struct chain_proxy *chain_route(const struct chain *c, const struct host *h, uint16_t port)
{
	if (is_loopback(h))
		return NULL;
	for (size_t i = 0; i < c->n_mitm; i++)
		if (fits(&c->mitm[i].hosts, h, port))
			return &c->mitm[i].proxy;
	return c->has_parent && !fits(&c->direct, h, port) ? &c->parent : NULL;
}

int chain_uses_paths(const struct chain *c)
{
	int uses = c->parent.path != NULL;

	for (size_t i = 0; i < c->n_mitm; i++)
		uses |= c->mitm[i].proxy.path != NULL;
	return uses;
}
