#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "sandbox/egress/credential.h"

enum {
	SCRATCH_BYTES = 128 << 10,	/* of one request; reserved at once, so that no secret is left in a smaller block */
	HTTPS_PORT = 443,
};

/* Where clients put credentials: in these alone a placeholder becomes a secret, and in a rule's own. */
static const char *const fields[] = {
	"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Private-Token", "X-Auth-Token",
};

/* --- reading --- */

static int wrong(struct err *err, size_t i, const char *what)
{
	return err_set(err, ERR_INPUT, 0, "egress config: credentials[%zu]: %s", i, what);
}

static int read_hosts(const struct json *list, size_t i, struct domain_set *ret, struct err *err)
{
	char origin[48];

	snprintf(origin, sizeof(origin), "credentials[%zu]", i);
	if (json_type(list) != JSON_ARRAY || !json_count(list))
		return wrong(err, i, "'hosts' must be a list of hosts");
	for (const struct json *j = json_first(list); j; j = json_next(j)) {
		if (!json_str(j))
			return wrong(err, i, "'hosts' must be a list of hosts");
		if (domain_add(ret, DOMAIN_DENY, json_str(j), origin, NULL, err) < 0)
			return -1;
	}
	for (size_t k = 0; k < ret->n; k++) {
		if (ret->v[k].kind == DOMAIN_ANY)
			return wrong(err, i, "a secret for every host would be none");
		if (!ret->v[k].port)
			ret->v[k].port = HTTPS_PORT;
	}
	return 0;
}

static int is_field_text(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return 0;
	return 1;
}

static int is_field_name(const char *s)
{
	return *s && !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")];
}

/* "Bearer {}" */
static int read_header(const struct json *j, size_t i, struct credential *c, struct err *err)
{
	static const char *const known[] = { "name", "template", NULL };
	const char *name = json_str(json_get(j, "name")), *template = json_str(json_get(j, "template"));
	const char *hole;

	if (json_only(j, known, "egress config: credentials: header", err) < 0)
		return -1;
	if (!json_get(j, "template"))
		template = "{}";
	hole = template ? strstr(template, "{}") : NULL;
	if (!name || !is_field_name(name) || !hole || strstr(hole + 2, "{}") || !is_field_text(template))
		return wrong(err, i, "'header' must have a name, and {} once in its template");
	c->field = strdup(name);
	c->before = strndup(template, (size_t)(hole - template));
	c->behind = strdup(hole + 2);
	return c->field && c->before && c->behind ? 0 : err_set(err, ERR_NOMEM, 0, "out of memory");
}

static int read_basic(const struct json *j, size_t i, struct credential *c, struct err *err)
{
	static const char *const known[] = { "username", NULL };
	const char *user = json_str(json_get(j, "username"));

	if (json_only(j, known, "egress config: credentials: basic", err) < 0)
		return -1;
	if (!user || !is_field_text(user) || strchr(user, ':'))
		return wrong(err, i, "'basic' must have a user name without a colon");
	c->field = strdup("Authorization");
	c->user = strdup(user);
	return c->field && c->user ? 0 : err_set(err, ERR_NOMEM, 0, "out of memory");
}

static int read_one(const struct json *j, size_t i, struct credential *c, struct err *err)
{
	static const char *const known[] = { "id", "hosts", "placeholder", "header", "basic", NULL };
	const char *id = json_str(json_get(j, "id")), *placeholder = json_str(json_get(j, "placeholder"));
	const struct json *header = json_get(j, "header"), *basic = json_get(j, "basic");

	if (json_type(j) != JSON_OBJECT)
		return wrong(err, i, "must be an object");
	if (json_only(j, known, "egress config: credentials", err) < 0)
		return -1;
	if (!id || !*id)
		return wrong(err, i, "'id' is missing");
	if (!placeholder || strlen(placeholder) < CREDENTIAL_PLACEHOLDER_MIN || !is_field_text(placeholder))
		return wrong(err, i, "'placeholder' is missing or too short");
	if (header && basic)
		return wrong(err, i, "either 'header' or 'basic'");
	c->id = strdup(id);
	c->placeholder = strdup(placeholder);
	if (!c->id || !c->placeholder)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if ((header && read_header(header, i, c, err) < 0) || (basic && read_basic(basic, i, c, err) < 0))
		return -1;
	return read_hosts(json_get(j, "hosts"), i, &c->hosts, err);
}

/* Copy the secrets where they will stay. */
static int keep_secrets(struct credential_set *set, const char *secrets, size_t len, struct err *err)
{
	size_t at = 0;

	if (len && secrets[len - 1])
		return err_set(err, ERR_INPUT, 0, "egress config: a secret is cut off");
	set->size = len ? len : 1;
	set->pages = mmap(NULL, set->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (set->pages == MAP_FAILED) {
		set->pages = NULL;
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	}
	if (mlock(set->pages, set->size) < 0) {
		err_set(err, ERR_SYS, errno, "egress: cannot lock memory for credentials");
		return err_hint(err, "raise the limit on locked memory (ulimit -l)");
	}
	madvise(set->pages, set->size, MADV_DONTDUMP);
	if (len)
		memcpy(set->pages, secrets, len);
	for (size_t i = 0; i < set->n; i++) {
		if (at >= len || !set->pages[at] || !is_field_text(set->pages + at))
			return wrong(err, i, "its secret is missing, empty, or has bytes no header may have");
		set->v[i].secret = set->pages + at;
		at += strlen(set->pages + at) + 1;
	}
	if (at != len)
		return err_set(err, ERR_INPUT, 0, "egress config: there are more secrets than credentials");
	return mprotect(set->pages, set->size, PROT_READ) < 0 ?
		       err_set(err, ERR_SYS, errno, "egress: cannot protect credentials") : 0;
}

int credential_parse(const struct json *list, const char *secrets, size_t len, struct credential_set *ret,
		     struct err *err)
{
	if (list && json_type(list) != JSON_ARRAY)
		return err_set(err, ERR_INPUT, 0, "egress config: 'credentials' must be a list");
	if (!json_count(list))
		return len ? err_set(err, ERR_INPUT, 0, "egress config: there are more secrets than credentials") : 0;
	ret->v = calloc(json_count(list), sizeof(*ret->v));
	if (!ret->v)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	for (const struct json *j = json_first(list); j; j = json_next(j)) {
		ret->n++;
		if (read_one(j, ret->n - 1, &ret->v[ret->n - 1], err) < 0)
			return -1;
	}
	return keep_secrets(ret, secrets, len, err);
}

void credential_done(struct credential_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		struct credential *c = &set->v[i];

		free(c->id);
		domain_done(&c->hosts);
		free(c->placeholder);
		free(c->field);
		free(c->before);
		free(c->behind);
		free(c->user);
	}
	free(set->v);
	if (set->pages) {
		if (mprotect(set->pages, set->size, PROT_READ | PROT_WRITE) == 0)
			explicit_bzero(set->pages, set->size);
		munmap(set->pages, set->size);
	}
	*set = (struct credential_set){ 0 };
}

void credential_wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf_done(b);
}

/* --- judging and putting in --- */

static int is_for(const struct credential *c, const struct host *h, uint16_t port)
{
	struct domain_verdict v;

	domain_judge(&c->hosts, h, port, &v);
	return v.answer == DOMAIN_DENIED;
}

int credential_applies(const struct credential_set *set, const struct host *h, uint16_t port)
{
	for (size_t i = 0; i < set->n; i++)
		if (is_for(&set->v[i], h, port))
			return 1;
	return 0;
}

/* The part of an Authorization field behind "Basic", or nothing. */
static struct span basic_part(const struct http_field *f)
{
	struct span v = f->value;

	if ((!span_is(f->name, "Authorization") && !span_is(f->name, "Proxy-Authorization")) || v.len < 6 ||
	    strncasecmp(v.p, "Basic ", 6))
		return (struct span){ 0 };
	v.p += 6;
	v.len -= 6;
	while (v.len && *v.p == ' ') {
		v.p++;
		v.len--;
	}
	return v;
}

int credential_equal(const void *bytes, size_t len, const char *wanted)
{
	const unsigned char *p = bytes;
	size_t n = strlen(wanted);
	unsigned char differ = len != n;

	for (size_t i = 0; i < len; i++)
		differ |= (unsigned char)(p[i] ^ (unsigned char)wanted[n ? i % n : 0]);
	return !differ;
}

int credential_is_basic(const struct http_field *f, const char *wanted)
{
	OWN(buf) struct buf plain = { 0 };
	struct span basic = f ? basic_part(f) : (struct span){ 0 };

	return basic.len && text_base64_decode(basic.p, basic.len, &plain) == 0 &&
	       credential_equal(plain.data ? plain.data : "", plain.len, wanted);
}

static int has(struct span s, const char *what)
{
	return s.len && memmem(s.p, s.len, what, strlen(what)) != NULL;
}

/* Where in a field a placeholder stands. */
enum place { NOWHERE, PLAIN, BASIC };

static enum place find_in(const struct http_field *f, const char *placeholder)
{
	OWN(buf) struct buf plain = { 0 };
	struct span basic = basic_part(f);

	if (has(f->value, placeholder))
		return PLAIN;
	if (basic.len && text_base64_decode(basic.p, basic.len, &plain) == 0 && has((struct span){ plain.data, plain.len }, placeholder))
		return BASIC;
	return NOWHERE;
}

/* Append @s with each @placeholder replaced. */
static void replace(struct span s, const struct credential *c, struct buf *out)
{
	size_t n = strlen(c->placeholder);

	for (;;) {
		const char *at = s.len ? memmem(s.p, s.len, c->placeholder, n) : NULL;

		buf_add(out, s.p ? s.p : "", at ? (size_t)(at - s.p) : s.len);
		if (!at)
			return;
		buf_adds(out, c->secret);
		s.len -= (size_t)(at - s.p) + n;
		s.p = at + n;
	}
}

/* Append "Basic " and @plain, which may hold a secret and is wiped. */
static void put_basic(struct buf *plain, struct buf *out)
{
	size_t size = TEXT_BASE64_SIZE(plain->len);
	char *to;

	buf_adds(out, "Basic ");
	to = plain->failed ? NULL : buf_room(out, size);
	if (to) {
		text_base64(plain->data ? plain->data : "", plain->len, to);
		buf_grew(out, size - 1);
	} else {
		out->failed = 1;
	}
	credential_wipe(plain);
}

static int reserve(struct buf *b)
{
	b->max = SCRATCH_BYTES;
	return buf_room(b, SCRATCH_BYTES / 2) ? 0 : -1;
}

/* The value of @f with the secret in it, in @scratch, which does not move. */
static void swap(const struct credential *c, struct http_field *f, enum place where, struct buf *scratch)
{
	size_t from = scratch->len;

	if (where == PLAIN) {
		replace(f->value, c, scratch);
	} else {
		OWN(buf) struct buf plain = { 0 };
		struct span basic = basic_part(f);
		struct buf secret = { 0 };

		text_base64_decode(basic.p, basic.len, &plain);
		if (reserve(&secret) < 0)
			scratch->failed = 1;
		replace((struct span){ plain.data, plain.len }, c, &secret);
		put_basic(&secret, scratch);
	}
	if (!scratch->failed)
		f->value = (struct span){ scratch->data + from, scratch->len - from };
}

static int may_carry(const struct credential *c, const struct http_field *f)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (span_is(f->name, fields[i]))
			return 1;
	return c->field && span_is(f->name, c->field);
}

static void refuse(const struct credential *c, const char *why, struct egress_verdict *ret)
{
	*ret = (struct egress_verdict){ .why = REFUSAL_LEAK };
	snprintf(ret->rule, sizeof(ret->rule), "credential-leak");
	snprintf(ret->reason, sizeof(ret->reason), "the request carries the placeholder of the credential '%.100s', %s",
		 c->id, why);
}

/* 0, or -1 with @ret when its placeholder goes astray. */
static int put_one(const struct credential *c, int mine, int secure, struct http_head *head, struct buf *scratch,
		   struct egress_verdict *ret)
{
	const char *astray = !mine ? "which is for another host" : !secure ? "which is sent over TLS alone" : NULL;

	if (astray && has(head->target, c->placeholder)) {
		refuse(c, astray, ret);
		return -1;
	}
	for (size_t i = 0; i < head->n_fields; i++) {
		enum place where = find_in(&head->field[i], c->placeholder);

		if (!where)
			continue;
		if (astray) {
			refuse(c, astray, ret);
			return -1;
		}
		if (may_carry(c, &head->field[i]))
			swap(c, &head->field[i], where, scratch);
	}
	return 0;
}

/* The rule's own field, for a request that has none. */
static void add_field(const struct credential *c, struct http_head *head, struct buf *scratch)
{
	size_t from = scratch->len;

	if (!c->field || http_find(head, c->field) || head->n_fields == HTTP_FIELDS_MAX)
		return;
	if (c->user) {
		struct buf plain = { 0 };

		if (reserve(&plain) < 0)
			scratch->failed = 1;
		buf_adds(&plain, c->user);
		buf_addc(&plain, ':');
		buf_adds(&plain, c->secret);
		put_basic(&plain, scratch);
	} else {
		buf_adds(scratch, c->before);
		buf_adds(scratch, c->secret);
		buf_adds(scratch, c->behind);
	}
	if (!scratch->failed)
		head->field[head->n_fields++] = (struct http_field){
			{ c->field, strlen(c->field) }, { scratch->data + from, scratch->len - from } };
}

void credential_put(const struct credential_set *set, const struct host *h, uint16_t port, int secure,
		    struct http_head *head, struct buf *scratch, struct egress_verdict *ret)
{
	*ret = (struct egress_verdict){ .allowed = 1 };
	scratch->max = SCRATCH_BYTES;
	if (set->n && !buf_room(scratch, SCRATCH_BYTES - 1))
		scratch->failed = 1;
	for (size_t i = 0; i < set->n; i++) {
		int mine = is_for(&set->v[i], h, port);

		if (put_one(&set->v[i], mine, secure, head, scratch, ret) < 0)
			return;
		if (mine && secure)
			add_field(&set->v[i], head, scratch);
	}
	if (!scratch->failed)
		return;
	*ret = (struct egress_verdict){ .why = REFUSAL_LEAK };
	snprintf(ret->rule, sizeof(ret->rule), "credential");
	snprintf(ret->reason, sizeof(ret->reason), "the credential does not fit into the request");
}
