#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "gates/place.h"
#include "gates/rule_glob.h"

#define MAX_PARTS 128u
#define MAX_BYTES 4096u

/* --- one word --- */

/* The length of the sign at @p: "*", "[...]", "\x" or one byte. */
static size_t sign_len(const char *p)
{
	const char *end;

	if (*p == '\\' && p[1])
		return 2;
	if (*p != '[')
		return *p ? 1 : 0;
	end = p + 1;
	end += *end == '!' || *end == '^';
	end += *end == ']';
	end = strchr(end, ']');
	return end ? (size_t)(end - p) + 1 : 1;
}

static bool in_list(const char *list, size_t len, unsigned char c)
{
	const char *p = list + 1, *end = list + len - 1;
	bool negated = *p == '!' || *p == '^', found = false;

	for (p += negated; p < end; p++) {
		unsigned char low = (unsigned char)*p, high = low;

		if (p + 2 < end && p[1] == '-') {
			high = (unsigned char)p[2];
			p += 2;
		}
		found |= c >= low && c <= high;
	}
	return found != negated;
}

/* Does the one-byte sign at @p fit @c? */
static bool fits_byte(const char *p, size_t len, char c)
{
	if (*p == '\\' && len == 2)
		return p[1] == c;
	if (*p == '?')
		return true;
	if (*p == '[' && len > 2)
		return in_list(p, len, (unsigned char)c);
	return *p == c;
}

/* Goes back to the last star only, which is enough. */
static bool fits(const char *p, const char *s)
{
	const char *star = NULL, *retry = NULL;

	while (*s) {
		size_t n = sign_len(p);

		if (*p == '*') {
			star = ++p;
			retry = s;
		} else if (n && fits_byte(p, n, *s)) {
			p += n;
			s++;
		} else if (star) {
			p = star;
			s = ++retry;
		} else {
			return false;
		}
	}
	return p[strspn(p, "*")] == '\0';
}

static const char pattern_signs[] = "*?[\\", unknown_signs[] = { '*', '?', '[', PLACE_HOLE, '\0' };

/* The bytes behind the last sign of @signs or "]". */
static const char *plain_end(const char *s, const char *signs)
{
	const char *end = s + strlen(s);

	while (end > s && !strchr(signs, end[-1]) && end[-1] != ']')
		end--;
	return end;
}

static bool may_begin_alike(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return !memcmp(a, b, a_len < b_len ? a_len : b_len);
}

static bool may_end_alike(const char *a, const char *b)
{
	size_t a_len = strlen(a), b_len = strlen(b), n = a_len < b_len ? a_len : b_len;

	return !memcmp(a + a_len - n, b + b_len - n, n);
}

enum tri glob_text(const char *pattern, const char *text, bool is_literal)
{
	if (is_literal || !strpbrk(text, unknown_signs))
		return fits(pattern, text) ? TRI_YES : TRI_NO;
	if (pattern[0] && pattern[strspn(pattern, "*")] == '\0')
		return TRI_YES;
	if (!may_begin_alike(pattern, strcspn(pattern, pattern_signs), text, strcspn(text, unknown_signs)) ||
	    !may_end_alike(plain_end(pattern, pattern_signs), plain_end(text, unknown_signs)))
		return TRI_NO;
	return TRI_MAYBE;
}

/* --- paths --- */

struct parts {
	char text[MAX_BYTES];
	const char *v[MAX_PARTS];
	size_t n;
};

/* Take @s apart behind what is there; false when it is too long to look at. */
static bool add_parts(struct parts *to, size_t *used, const char *s)
{
	size_t len = strlen(s);
	char *at = to->text + *used;

	if (len >= MAX_BYTES - *used)
		return false;
	memcpy(at, s, len + 1);
	*used += len + 1;
	while (*at) {
		size_t n = strcspn(at, "/");
		bool is_last = !at[n];

		at[n] = '\0';
		if (n && strcmp(at, ".") != 0) {
			if (to->n == MAX_PARTS)
				return false;
			to->v[to->n++] = at;
		}
		at += n + !is_last;
	}
	return true;
}

/* A root's bytes are no signs. */
static bool add_root(struct parts *to, size_t *used, const char *root)
{
	return !strpbrk(root, pattern_signs) && add_parts(to, used, root);
}

static bool pattern_parts(const char *pattern, const struct glob_base *base, struct parts *ret)
{
	size_t used = 0;

	ret->n = 0;
	if (pattern[0] == '/')
		return add_parts(ret, &used, pattern);
	if (pattern[0] == '~' && (!pattern[1] || pattern[1] == '/'))
		return base->home && add_root(ret, &used, base->home) && add_parts(ret, &used, pattern + 1);
	if (!strchr(pattern, '/') && strcmp(pattern, ".") != 0)
		return add_parts(ret, &used, "**") && add_parts(ret, &used, pattern);
	if (!strncmp(pattern, "**/", 3))
		return add_parts(ret, &used, pattern);
	return base->root && add_root(ret, &used, base->root) && add_parts(ret, &used, pattern);
}

/*
 * row[j]: do the pattern's parts from here on fit the path's from j on? Filled
 * from the pattern's end, one row a part. No parts left fit anything: a pattern
 * covers what is below.
 */
static enum tri match_parts(const struct parts *pattern, const struct parts *path, bool is_literal)
{
	enum tri row[MAX_PARTS + 1];

	for (size_t j = 0; j <= path->n; j++)
		row[j] = TRI_YES;
	for (size_t i = pattern->n; i-- > 0;) {
		bool is_deep = !strcmp(pattern->v[i], "**");
		enum tri right = TRI_NO;	/* this row, one place further on */

		for (size_t j = path->n + 1; j-- > 0;) {
			enum tri here;

			if (is_deep)
				here = tri_or(row[j], right);
			else if (j == path->n)
				here = TRI_NO;
			else
				here = tri_and(glob_text(pattern->v[i], path->v[j], is_literal), row[j + 1]);
			/* row[j + 1] is not needed any more once row[j] was made from it. */
			if (j < path->n)
				row[j + 1] = right;
			right = here;
		}
		row[0] = right;
	}
	return row[0];
}

/* A part such as ".*" or one that is all hole may also be "..", which leads anywhere. */
static bool may_go_up(const struct parts *path)
{
	for (size_t j = 0; j < path->n; j++) {
		const char *s = path->v[j];

		if (strchr(s, PLACE_HOLE) || (s[0] == '.' && s[1] && strchr("*?[.", s[1]) && strpbrk(s, unknown_signs)))
			return true;
	}
	return false;
}

enum tri glob_path(const char *pattern, const struct glob_base *base, const char *path, bool is_literal)
{
	struct parts want, have;
	size_t used = 0;

	if (!strcmp(pattern, "/**") || !strcmp(pattern, "**"))
		return TRI_YES;
	have.n = 0;
	if (!pattern_parts(pattern, base, &want) || !add_parts(&have, &used, path))
		return TRI_MAYBE;
	if (!is_literal && may_go_up(&have))
		return TRI_MAYBE;
	return match_parts(&want, &have, is_literal);
}

bool glob_path_is_below(const char *pattern, const struct glob_base *base, const char *path)
{
	struct parts want, have;
	size_t used = 0, n = 0;

	have.n = 0;
	if (!pattern_parts(pattern, base, &want) || !add_parts(&have, &used, path))
		return false;
	while (n < want.n && n < have.n && !strpbrk(want.v[n], pattern_signs) && !strcmp(want.v[n], have.v[n]))
		n++;
	return n == have.n && n < want.n && strcmp(want.v[n], "**") != 0;
}

/* --- refs --- */

static const char *short_ref(const char *ref)
{
	return !strncmp(ref, "refs/heads/", 11) ? ref + 11 : ref;
}

enum tri glob_ref(const char *pattern, const char *ref)
{
	return fits(short_ref(pattern), short_ref(ref)) ? TRI_YES : TRI_NO;
}

/* --- hosts --- */

/* Without the dot a full name may end in. */
static size_t host_len(const char *host)
{
	size_t n = strlen(host);

	return n > 1 && host[n - 1] == '.' ? n - 1 : n;
}

enum tri glob_host(const char *pattern, const char *host)
{
	const char *star = strchr(pattern, '*');
	size_t n = host_len(host), p = host_len(pattern), before, after;

	if (!star)
		return n == p && !strncasecmp(pattern, host, n) ? TRI_YES : TRI_NO;
	if (p == 1)
		return TRI_YES;
	before = (size_t)(star - pattern);
	after = p - before - 1;
	if (n <= before + after || strncasecmp(pattern, host, before) != 0 ||
	    strncasecmp(star + 1, host + n - after, after) != 0)
		return TRI_NO;
	if (!before)
		return TRI_YES;
	return memchr(host + before, '.', n - before - after) ? TRI_NO : TRI_YES;
}

/* --- are they patterns at all? --- */

static const char *bad_signs(const char *p)
{
	if (!*p)
		return "is empty";
	if (strlen(p) >= MAX_BYTES / 2)
		return "is too long";
	for (const char *c = p; *c; c++)
		if (iscntrl((unsigned char)*c))
			return "holds a control byte";
	for (size_t n; *p; p += n) {
		n = sign_len(p);
		if (*p == '[' && n == 1)
			return "has a '[' that nothing closes";
		if (*p == '\\' && n == 1)
			return "ends in a backslash";
		if (*p == '[' && memchr(p, '/', n))
			return "has a '/' between brackets";
	}
	return NULL;
}

const char *glob_bad_path(const char *pattern)
{
	const char *why = bad_signs(pattern);
	size_t parts = 1;

	if (why)
		return why;
	for (const char *p = pattern; *p; p += strcspn(p, "/"), p += *p == '/') {
		size_t n = strcspn(p, "/");

		if (n == 2 && !strncmp(p, "..", 2))
			return "has a part '..'";
		if (n > 2 && !strncmp(p, "**", 2) && strspn(p, "*") == n)
			return "has a part of more than two stars";
		parts++;
	}
	if (parts > MAX_PARTS / 2)
		return "has too many parts";
	return pattern[0] == '~' && pattern[1] && pattern[1] != '/' ? "names somebody's home; only '~/' is known" : NULL;
}

const char *glob_bad_ref(const char *pattern)
{
	const char *why = bad_signs(pattern);

	if (why)
		return why;
	return strpbrk(pattern, " :^~") ? "holds a sign no ref has" : NULL;
}

static bool is_label_byte(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_';
}

static bool is_address(const char *s)
{
	const char *colon = strchr(s, ':');

	return colon && strchr(colon + 1, ':') && strspn(s, "0123456789abcdefABCDEF:.") == strlen(s);
}

const char *glob_bad_host(const char *pattern)
{
	const char *star = strchr(pattern, '*');
	size_t n = host_len(pattern), in_label = 0;

	if (!*pattern || n > 253)
		return *pattern ? "is too long" : "is empty";
	if (!strcmp(pattern, "*") || is_address(pattern))
		return NULL;
	if (star && strchr(star + 1, '*'))
		return "has more than one star";
	for (size_t i = 0; i < n; i++) {
		char c = pattern[i];
		bool alone = (!i || pattern[i - 1] == '.') && pattern[i + 1] == '.' && i + 2 < n;

		if (c == '*' && !alone)
			return "has a star that is no whole label in front or in the middle";
		if (c == '.' && !in_label)
			return "has an empty label";
		if (c != '.' && c != '*' && !is_label_byte(c))
			return "is no host like example.com or *.example.com";
		in_label = c == '.' ? 0 : in_label + 1;
	}
	return in_label ? NULL : "has an empty label";
}
