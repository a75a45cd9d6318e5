#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "sandbox/egress/domain.h"
#include "sandbox/egress/idna.h"

enum { RULE_TEXT_MAX = 1024 };

/* https, http and git over ssh: what a rule that names no port means. */
static const uint16_t default_ports[] = { 443, 80, 22 };

/* --- reading --- */

static void free_rule(struct domain_rule *r)
{
	free(r->name);
	free(r->tail);
	free(r->text);
	free(r->origin);
	free(r->reason);
}

static void own_rule(struct domain_rule *r)
{
	free_rule(r);
}

/* What people write instead of a host, and what to tell them. */
static const char *not_a_host(const char *s)
{
	if (strstr(s, "://"))
		return "a host is wanted, not a URL";
	if (strchr(s, '/'))
		return "a host is wanted, without a path or a range";
	if (strchr(s, '@'))
		return "a host is wanted, without a user";
	if (strpbrk(s, " \t\r\n\v\f"))
		return "blank inside the rule";
	if (s[0] == '.')
		return "leading dot; write '*.name' for all names below it";
	if (s[0] != '[' && strchr(s, ':') != strrchr(s, ':'))
		return "an IPv6 address must stand in brackets, its port behind them";
	return NULL;
}

/* Cut ":port" off @s. NULL, or what is wrong. */
static const char *take_port(char *s, uint16_t *ret)
{
	char *colon = s[0] == '[' ? strchr(s, ']') : strchr(s, ':');

	if (colon && *colon == ']')
		colon++;
	if (!colon || !*colon)
		return NULL;
	if (*colon != ':' || port_parse(colon + 1, strlen(colon + 1), ret) < 0)
		return "malformed port, 1 to 65535 are possible";
	*colon = '\0';
	return NULL;
}

static size_t labels_in(const char *s)
{
	size_t n = 1;

	for (; *s; s++)
		n += *s == '.';
	return n;
}

/* @name without its star must be a name; stars stand for "x" here. */
static const char *check_name(const char *name, char plain[HOST_TEXT_SIZE])
{
	struct host h;
	const char *why;

	if (host_parse(name, strlen(name), &h, &why) < 0)
		return why;
	if (h.is_address)
		return "a '*' has no place in an address";
	memcpy(plain, h.text, HOST_TEXT_SIZE);
	return NULL;
}

/* "*.example.com" */
static const char *read_below(struct domain_rule *r, const char *s)
{
	char plain[HOST_TEXT_SIZE];
	const char *why = check_name(s + 2, plain);

	if (why)
		return why;
	if (r->side == DOMAIN_ALLOW && labels_in(plain) < 2)
		return "a '*.' needs at least two labels behind it to allow";
	r->kind = DOMAIN_BELOW;
	r->name = malloc(strlen(plain) + 2);
	if (r->name) {
		r->name[0] = '.';
		strcpy(r->name + 1, plain);
	}
	return NULL;
}

/* "bedrock.*.amazonaws.com": @star is in the middle of @s. */
static const char *read_middle(struct domain_rule *r, char *s, char *star)
{
	char plain[HOST_TEXT_SIZE];
	const char *why;
	size_t front = (size_t)(star - s);

	if (star[1] == '\0')
		return "a '*' cannot be the last label";
	if (star[-1] != '.' || star[1] != '.')
		return "a '*' must be a whole label";
	*star = 'x';
	why = check_name(s, plain);
	if (why)
		return why;
	if (r->side == DOMAIN_ALLOW && labels_in(plain + front) < 3)
		return "a '*' in the middle needs at least two labels behind it to allow";
	r->kind = DOMAIN_MIDDLE;
	r->name = strndup(plain, front);
	r->tail = strdup(plain + front + 1);
	return NULL;
}

static const char *read_plain(struct domain_rule *r, const char *s)
{
	struct host h;
	const char *why;

	if (host_parse(s, strlen(s), &h, &why) < 0)
		return why;
	r->kind = h.is_address ? DOMAIN_ADDRESS : DOMAIN_EXACT;
	r->ip = h.ip;
	r->name = strdup(h.text);
	return NULL;
}

/* What @s, without blanks around it, says. NULL, or what is wrong with it. */
static const char *read_rule(struct domain_rule *r, const char *s)
{
	char host[RULE_TEXT_MAX], ascii[RULE_TEXT_MAX], *star;
	const char *why = not_a_host(s);

	strcpy(host, s);
	if (!why)
		why = take_port(host, &r->port);
	if (!why && idna_to_ascii(host, ascii, sizeof(ascii), &why) == 0)
		why = NULL;
	if (why)
		return why;
	star = strchr(ascii, '*');
	if (!star)
		return read_plain(r, ascii);
	if (strchr(star + 1, '*'))
		return "more than one '*'";
	if (!strcmp(ascii, "*")) {
		r->kind = DOMAIN_ANY;
		r->name = strdup("*");
		return r->side == DOMAIN_DENY ? NULL : "a lone '*' can only deny";
	}
	if (star > ascii)
		return read_middle(r, ascii, star);
	return star[1] == '.' ? read_below(r, ascii) : "a '*' must be a whole label";
}

static int append(struct domain_set *set, struct domain_rule *r)
{
	if (set->n == set->cap) {
		size_t cap = set->cap ? set->cap * 2 : 64;
		struct domain_rule *v = reallocarray(set->v, cap, sizeof(*v));

		if (!v)
			return -1;
		set->v = v;
		set->cap = cap;
	}
	set->v[set->n++] = *r;
	*r = (struct domain_rule){ 0 };
	return 0;
}

static int add(struct domain_set *set, enum domain_side side, const char *text, size_t len,
	       const char *origin, const char *reason, struct err *err)
{
	OWN(rule) struct domain_rule r = { .side = side };
	const char *why;

	while (len && (*text == ' ' || *text == '\t'))
		text++, len--;
	while (len && strchr(" \t\r", text[len - 1]))
		len--;
	if (!len || len >= RULE_TEXT_MAX / 2 || memchr(text, '\0', len))
		return err_set(err, ERR_POLICY, 0, "%s: rule is empty or too long", origin);
	r.text = strndup(text, len);
	r.origin = strdup(origin);
	r.reason = reason ? strdup(reason) : NULL;
	why = r.text ? read_rule(&r, r.text) : NULL;
	if (why)
		return err_set(err, ERR_POLICY, 0, "%s: rule '%s': %s", origin, r.text, why);
	if (!r.text || !r.name || !r.origin || (reason && !r.reason) ||
	    (r.kind == DOMAIN_MIDDLE && !r.tail) || append(set, &r) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return 0;
}

int domain_add(struct domain_set *set, enum domain_side side, const char *text,
	       const char *origin, const char *reason, struct err *err)
{
	return add(set, side, text, strlen(text), origin, reason, err);
}

/* The comment from '#' to the end of a line, without blanks around it; NULL if it is empty. */
static char *comment_of(const char *hash, const char *end)
{
	while (hash < end && strchr("# \t", *hash))
		hash++;
	while (end > hash && strchr(" \t\r", end[-1]))
		end--;
	return end > hash ? strndup(hash, (size_t)(end - hash)) : NULL;
}

int domain_add_lines(struct domain_set *set, enum domain_side side, const char *text, size_t len,
		     const char *origin, struct err *err)
{
	const char *end = text + len;
	unsigned int number = 1;

	for (const char *line = text, *next; line < end; line = next, number++) {
		const char *nl = memchr(line, '\n', (size_t)(end - line)), *hash, *stop;
		OWN(mem) char *reason = NULL;
		OWN(mem) char *where = NULL;

		stop = nl ? nl : end;
		next = nl ? nl + 1 : end;
		hash = memchr(line, '#', (size_t)(stop - line));
		if (hash)
			reason = comment_of(hash, stop);
		if (hash)
			stop = hash;
		while (stop > line && strchr(" \t\r", stop[-1]))
			stop--;
		if (stop == line)
			continue;
		if (asprintf(&where, "%s:%u", origin, number) < 0)
			return err_set(err, ERR_NOMEM, 0, "out of memory");
		if (add(set, side, line, (size_t)(stop - line), where, reason, err) < 0)
			return -1;
	}
	return 0;
}

void domain_done(struct domain_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		free_rule(&set->v[i]);
	free(set->v);
	*set = (struct domain_set){ 0 };
}

/* --- judging --- */

static int ends_with(const char *s, size_t len, const char *tail)
{
	size_t n = strlen(tail);

	return len > n && !memcmp(s + len - n, tail, n);
}

static int fits_middle(const struct domain_rule *r, const char *name, size_t len)
{
	size_t front = strlen(r->name), back = strlen(r->tail);

	return len > front + back && !memcmp(name, r->name, front) && ends_with(name, len, r->tail) &&
	       !memchr(name + front, '.', len - front - back);
}

static int fits(const struct domain_rule *r, const struct host *h)
{
	size_t len = strlen(h->text);

	switch (r->kind) {
	case DOMAIN_ANY:
		return 1;
	case DOMAIN_ADDRESS:
		return h->is_address && ip_equal(&r->ip, &h->ip);
	case DOMAIN_EXACT:
		return !h->is_address && !strcmp(h->text, r->name);
	case DOMAIN_BELOW:
		return !h->is_address && ends_with(h->text, len, r->name);
	case DOMAIN_MIDDLE:
		return !h->is_address && fits_middle(r, h->text, len);
	}
	return 0;
}

static int fits_port(const struct domain_rule *r, uint16_t port)
{
	if (r->port)
		return r->port == port;
	if (r->side == DOMAIN_DENY)
		return 1;
	for (size_t i = 0; i < ARRAY_LEN(default_ports); i++)
		if (default_ports[i] == port)
			return 1;
	return 0;
}

const struct domain_rule *domain_denies(const struct domain_set *set, const struct ip *ip, uint16_t port)
{
	struct ip inner;
	int has_inner = address_inner(ip, &inner);

	for (size_t i = 0; i < set->n; i++) {
		const struct domain_rule *r = &set->v[i];

		if (r->side == DOMAIN_DENY && r->kind == DOMAIN_ADDRESS && fits_port(r, port) &&
		    (ip_equal(&r->ip, ip) || (has_inner && ip_equal(&r->ip, &inner))))
			return r;
	}
	return NULL;
}

void domain_judge(const struct domain_set *set, const struct host *h, uint16_t port,
		  struct domain_verdict *ret)
{
	struct domain_verdict v = { .answer = DOMAIN_UNKNOWN };

	if (h->is_address)
		v.rule = domain_denies(set, &h->ip, port);
	for (size_t i = 0; !v.rule && i < set->n; i++) {
		const struct domain_rule *r = &set->v[i];

		if (r->side == DOMAIN_DENY && fits(r, h) && fits_port(r, port))
			v.rule = r;
	}
	if (v.rule)
		v.answer = DOMAIN_DENIED;
	for (size_t i = 0; v.answer > DOMAIN_DENIED && i < set->n; i++) {
		const struct domain_rule *r = &set->v[i];

		if (r->side == DOMAIN_DENY || !fits(r, h))
			continue;
		v.answer = fits_port(r, port) ? DOMAIN_ALLOWED : DOMAIN_OTHER_PORT;
		v.rule = r;
	}
	*ret = v;
}

/* Look for a port, of those @r, an allow rule, speaks of, on which @h is to be had. */
static void try_ports(const struct domain_set *set, const struct domain_rule *r, const struct host *h,
		      struct domain_verdict *v)
{
	for (size_t i = 0; i < (r->port ? 1 : ARRAY_LEN(default_ports)); i++) {
		domain_judge(set, h, r->port ? r->port : default_ports[i], v);
		if (v->answer == DOMAIN_ALLOWED)
			return;
	}
}

void domain_judge_name(const struct domain_set *set, const struct host *h, struct domain_verdict *ret)
{
	struct domain_verdict v = { .answer = DOMAIN_UNKNOWN };

	for (size_t i = 0; v.answer != DOMAIN_ALLOWED && i < set->n; i++) {
		const struct domain_rule *r = &set->v[i];

		if (r->side == DOMAIN_ALLOW && fits(r, h))
			try_ports(set, r, h, &v);
	}
	/* No rule allows it; one may deny it and say why. */
	for (size_t i = 0; v.answer == DOMAIN_UNKNOWN && i < set->n; i++) {
		const struct domain_rule *r = &set->v[i];

		if (r->side == DOMAIN_DENY && !r->port && fits(r, h))
			v = (struct domain_verdict){ .answer = DOMAIN_DENIED, .rule = r };
	}
	*ret = v;
}
