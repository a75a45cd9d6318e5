#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/strv.h"
#include "sandbox/egress/route.h"

enum { SEGMENTS_MAX = 256 };

/* --- matching --- */

/* One segment, both without slashes. A star is any text; the last star is the one to retry from. */
static int match_segment(const char *pat, size_t pat_len, const char *s, size_t len)
{
	size_t p = 0, i = 0, star = SIZE_MAX, from = 0;

	while (i < len) {
		if (p < pat_len && pat[p] == '*') {
			star = p++;
			from = i;
		} else if (p < pat_len && pat[p] == s[i]) {
			p++;
			i++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			i = ++from;
		} else {
			return 0;
		}
	}
	while (p < pat_len && pat[p] == '*')
		p++;
	return p == pat_len;
}

/* The segment at @s, which stands behind a slash; NULL: there is none. */
static const char *next_segment(const char *s, size_t *ret_len)
{
	if (*s != '/')
		return NULL;
	*ret_len = strcspn(s + 1, "/");
	return s + 1;
}

int route_match(const char *pattern, const char *path)
{
	const char *retry_pattern = NULL, *retry_path = NULL;

	for (;;) {
		size_t pat_len = 0, len = 0;
		const char *pat = next_segment(pattern, &pat_len), *s = next_segment(path, &len);

		if (pat && pat_len == 2 && !memcmp(pat, "**", 2)) {
			pattern = pat + 2;
			retry_pattern = pattern;
			retry_path = path;
			continue;
		}
		if (!pat && !s)
			return 1;
		if (pat && s && match_segment(pat, pat_len, s, len)) {
			pattern = pat + pat_len;
			path = s + len;
			continue;
		}
		/* Let the last "**" take one segment more. */
		s = retry_path ? next_segment(retry_path, &len) : NULL;
		if (!s)
			return 0;
		retry_path = path = s + len;
		pattern = retry_pattern;
	}
}

/* --- paths --- */

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 32) >= 'a' && (c | 32) <= 'f')
		return (c | 32) - 'a' + 10;
	return -1;
}

/* Append @s decoded. 0, or -1 with @ret_why. */
static int decode(struct span s, struct buf *out, const char **ret_why)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.p[i];
		int high, low;

		if (c == '%') {
			high = i + 2 < s.len ? hex(s.p[i + 1]) : -1;
			low = i + 2 < s.len ? hex(s.p[i + 2]) : -1;
			if (high < 0 || low < 0) {
				*ret_why = "path with a broken escape";
				return -1;
			}
			c = (unsigned char)(high << 4 | low);
			i += 2;
			if (c == '/' || c == '\\' || c == '%' || c < ' ' || c == 0x7f) {
				*ret_why = "path with an escaped slash, backslash, percent sign or control byte";
				return -1;
			}
		} else if (c == '\\' || c <= ' ' || c == 0x7f) {
			*ret_why = "path with a backslash, blank or control byte";
			return -1;
		}
		buf_addc(out, (char)c);
	}
	return 0;
}

static int is_dots(const char *s, size_t len)
{
	return (len == 1 || len == 2) && s[0] == '.' && s[len - 1] == '.';
}

/* Decoded, is it a dot segment to some servers, but was not one as it was written? */
static int hides_dots(struct span raw, const char *s, size_t len)
{
	size_t name = len;

	for (size_t i = 0; i < len; i++) {
		if (s[i] == ';') {
			name = i;
			break;
		}
	}
	return is_dots(s, name) && !(raw.len == len && is_dots(raw.p, raw.len));
}

struct segments {
	struct span v[SEGMENTS_MAX];
	size_t n;
	int slash;	/* the path ends in one */
};

/* Split at slashes and take dot segments away. */
static int split(struct span path, struct segments *ret, const char **ret_why)
{
	size_t at = 0;

	while (at < path.len) {
		const char *s = path.p + at + 1, *slash;
		size_t left = path.len - at - 1, len;

		slash = memchr(s, '/', left);
		len = slash ? (size_t)(slash - s) : left;
		at += 1 + len;
		ret->slash = !len || is_dots(s, len);
		if (!len && at < path.len) {
			*ret_why = "path with an empty segment";
			return -1;
		}
		if (!len || (len == 1 && is_dots(s, len)))
			continue;
		if (is_dots(s, len) && !ret->n--) {
			*ret_why = "path that leads above its root";
			return -1;
		} else if (is_dots(s, len)) {
			continue;
		}
		if (ret->n == SEGMENTS_MAX) {
			*ret_why = "path with too many segments";
			return -1;
		}
		ret->v[ret->n++] = (struct span){ s, len };
	}
	return 0;
}

static int put_segment(struct span raw, struct buf *sent, struct buf *judged, const char **ret_why)
{
	size_t from = judged->len + 1;

	buf_addc(sent, '/');
	buf_add(sent, raw.p, raw.len);
	buf_addc(judged, '/');
	if (decode(raw, judged, ret_why) < 0)
		return -1;
	if (judged->failed || !hides_dots(raw, judged->data + from, judged->len - from))
		return 0;
	*ret_why = "path with an escaped dot segment";
	return -1;
}

int route_path(struct span path, struct buf *sent, struct buf *judged, const char **ret_why)
{
	const char *query = path.len ? memchr(path.p, '?', path.len) : NULL;
	struct span p = { path.p, query ? (size_t)(query - path.p) : path.len };
	struct segments s = { .n = 0 };

	*ret_why = "out of memory";
	if (p.len && p.p[0] != '/') {
		*ret_why = "target that is no path";
		return -1;
	}
	if (split(p, &s, ret_why) < 0)
		return -1;
	for (size_t i = 0; i < s.n; i++)
		if (put_segment(s.v[i], sent, judged, ret_why) < 0)
			return -1;
	if (!s.n || s.slash) {
		buf_addc(sent, '/');
		buf_addc(judged, '/');
	}
	if (query)
		buf_add(sent, query, path.len - p.len);
	return sent->failed || judged->failed ? -1 : 0;
}

/* --- rules --- */

static int is_token(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!((s[i] >= 'A' && s[i] <= 'Z') || (s[i] >= 'a' && s[i] <= 'z') || s[i] == '-' || s[i] == '_'))
			return 0;
	return len > 0;
}

/* A method, a blank, a path. */
static int read_pattern(const char *text, const char *origin, struct route_pattern *ret, struct err *err)
{
	size_t n = strcspn(text, " ");
	const char *path = text[n] ? text + n + 1 : "";
	const char *why = NULL;

	if (!(n == 1 && text[0] == '*') && !is_token(text, n))
		why = "a method in front, or \"*\", and a blank are wanted";
	else if (path[0] != '/')
		why = "a path that begins with a slash is wanted";
	else if (strpbrk(path, "%?#\\ "))
		why = "a path has no escapes, no query and no blanks here";
	else if (strstr(path, "//") || strstr(path, "/./") || strstr(path, "/../"))
		why = "a path has no empty and no dot segments";
	for (const char *s = path; !why && (s = strstr(s, "**")); s += 2)
		if (s[-1] != '/' || (s[2] && s[2] != '/'))
			why = "\"**\" stands for whole segments";
	if (why)
		return err_set(err, ERR_POLICY, 0, "%s: '%s': %s", origin, text, why);
	ret->text = strdup(text);
	ret->method = strndup(text, n);
	ret->path = strdup(path);
	return ret->text && ret->method && ret->path ? 0 : err_set(err, ERR_NOMEM, 0, "out of memory");
}

static int read_patterns(const struct strv *from, const char *origin, struct route_pattern **ret, size_t *ret_n,
			 struct err *err)
{
	*ret = calloc(from->n + 1, sizeof(**ret));
	if (!*ret)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	for (size_t i = 0; i < from->n; i++)
		if (read_pattern(from->v[i], origin, &(*ret)[(*ret_n)++], err) < 0)
			return -1;
	return 0;
}

static void patterns_done(struct route_pattern *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(p[i].text);
		free(p[i].method);
		free(p[i].path);
	}
	free(p);
}

static void own_rule(struct route_rule *r)
{
	domain_done(&r->host);
	patterns_done(r->allow, r->n_allow);
	patterns_done(r->deny, r->n_deny);
}

int route_add(struct route_set *set, const char *host, const struct strv *allow, const struct strv *deny,
	      const char *origin, struct err *err)
{
	OWN(rule) struct route_rule r = { .n_allow = 0 };
	struct route_rule *v = realloc(set->v, (set->n + 1) * sizeof(*v));

	if (!v)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	set->v = v;
	/* As a deny rule it means every port; what it matches is no denial yet. */
	if (domain_add(&r.host, DOMAIN_DENY, host, origin, NULL, err) < 0)
		return -1;
	if (r.host.v[0].kind == DOMAIN_ANY)
		return err_set(err, ERR_POLICY, 0, "%s: '%s' names every host: name each", origin, host);
	if (read_patterns(allow, origin, &r.allow, &r.n_allow, err) < 0 ||
	    read_patterns(deny, origin, &r.deny, &r.n_deny, err) < 0)
		return -1;
	set->v[set->n++] = r;
	r = (struct route_rule){ .n_allow = 0 };
	return 0;
}

void route_done(struct route_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		own_rule(&set->v[i]);
	free(set->v);
	*set = (struct route_set){ 0 };
}

/* --- judging --- */

static int names(const struct route_rule *r, const struct host *h, uint16_t port)
{
	struct domain_verdict v;

	domain_judge(&r->host, h, port, &v);
	return v.answer == DOMAIN_DENIED;
}

int route_applies(const struct route_set *set, const struct host *h, uint16_t port)
{
	for (size_t i = 0; i < set->n; i++)
		if (names(&set->v[i], h, port))
			return 1;
	return 0;
}

static int is_method(const char *pattern, struct span method)
{
	size_t n = strlen(pattern);

	if (!strcmp(pattern, "*") || (n == method.len && !memcmp(pattern, method.p, n)))
		return 1;
	return !strcmp(pattern, "GET") && method.len == 4 && !memcmp(method.p, "HEAD", 4);
}

static const struct route_pattern *find(const struct route_pattern *p, size_t n, struct span method, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (is_method(p[i].method, method) && route_match(p[i].path, path))
			return &p[i];
	return NULL;
}

static void refuse(struct egress_verdict *ret, const char *rule)
{
	*ret = (struct egress_verdict){ .why = REFUSAL_ROUTE };
	snprintf(ret->rule, sizeof(ret->rule), "%s", rule);
}

void route_judge(const struct route_set *set, const struct host *h, uint16_t port, struct span method,
		 const char *path, struct egress_verdict *ret)
{
	const struct route_pattern *allowed = NULL, *denied;
	int applies = 0;

	*ret = (struct egress_verdict){ .allowed = 1 };
	for (size_t i = 0; i < set->n; i++) {
		const struct route_rule *r = &set->v[i];

		if (!names(r, h, port))
			continue;
		applies = 1;
		denied = find(r->deny, r->n_deny, method, path);
		if (denied) {
			refuse(ret, denied->text);
			snprintf(ret->reason, sizeof(ret->reason), "a request rule denies it: '%.200s'", denied->text);
			return;
		}
		if (!allowed)
			allowed = find(r->allow, r->n_allow, method, path);
	}
	if (!applies || allowed)
		return;
	refuse(ret, "route");
	snprintf(ret->reason, sizeof(ret->reason), "no request rule allows %.*s '%.200s'",
		 (int)(method.len < 32 ? method.len : 32), method.p, path);
}
