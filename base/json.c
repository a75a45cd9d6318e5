/*
 * cJSON is lenient: it takes raw control bytes, broken UTF-8, "01", repeated
 * keys, and cuts strings at \u0000. So the text is first read by a strict
 * scanner that builds nothing, then handed over. Printing is our own as well:
 * cJSON writes whole numbers above 2^31 with an exponent and rounds some.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"

#define MAX_BYTES_DEFAULT (16u * 1024 * 1024)
#define MAX_DEPTH_DEFAULT 64
#define MAX_DEPTH 500		/* the scanner recurses, and so does cJSON */
#define MAX_NUMBER_LEN 60	/* cJSON copies a number into 64 bytes */
#define EXACT_MAX 9007199254740992.0	/* 2^53 */

static cJSON *inner(const struct json *j)
{
	return (cJSON *)(size_t)j;
}

static struct json *outer(cJSON *c)
{
	return (struct json *)c;
}

/* --- the scanner --- */

struct scan {
	const char *start, *p, *end;
	unsigned int max_depth;
	struct err *err;
};

static int fail(struct scan *s, enum err_code code, const char *why)
{
	size_t line = 1;

	for (const char *p = s->start; p < s->p && p < s->end; p++)
		line += *p == '\n';
	return err_set(s->err, code, 0, "line %zu: %s", line, why);
}

static void skip_space(struct scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
		s->p++;
}

static int is_next(const struct scan *s, char c)
{
	return s->p < s->end && *s->p == c;
}

/* Four hex digits at *p into *ret; moves past them. */
static int hex4(struct scan *s, unsigned int *ret)
{
	unsigned int v = 0;

	for (int i = 0; i < 4; i++, s->p++) {
		unsigned char c = s->p < s->end ? (unsigned char)*s->p : 0;

		if (c >= '0' && c <= '9')
			v = v * 16 + (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v = v * 16 + ((c | 0x20) - 'a' + 10u);
		else
			return fail(s, ERR_INPUT, "bad \\u escape in a string");
	}
	*ret = v;
	return 0;
}

/* Behind "\u". */
static int scan_unicode(struct scan *s)
{
	unsigned int a, b;

	if (hex4(s, &a) < 0)
		return -1;
	if (!a)
		return fail(s, ERR_INPUT, "NUL in a string");
	if (a < 0xd800 || a > 0xdfff)
		return 0;
	if (a > 0xdbff || s->end - s->p < 2 || s->p[0] != '\\' || s->p[1] != 'u')
		return fail(s, ERR_INPUT, "half a surrogate pair in a string");
	s->p += 2;
	if (hex4(s, &b) < 0)
		return -1;
	return b >= 0xdc00 && b <= 0xdfff ? 0 : fail(s, ERR_INPUT, "half a surrogate pair in a string");
}

static int scan_escape(struct scan *s)
{
	char c = s->p < s->end ? *s->p : '\0';

	if (!c || !strchr("\"\\/bfnrtu", c))
		return fail(s, ERR_INPUT, "unknown escape in a string");
	s->p++;
	return c == 'u' ? scan_unicode(s) : 0;
}

static int scan_string(struct scan *s)
{
	if (!is_next(s, '"'))
		return fail(s, ERR_INPUT, "a string in double quotes expected");
	s->p++;
	while (s->p < s->end) {
		unsigned char c = (unsigned char)*s->p;
		size_t n;

		if (c == '"') {
			s->p++;
			return 0;
		}
		if (c < 0x20)
			return fail(s, ERR_INPUT, "control byte in a string");
		if (c == '\\') {
			s->p++;
			if (scan_escape(s) < 0)
				return -1;
			continue;
		}
		n = text_char(s->p, (size_t)(s->end - s->p));
		if (!n)
			return fail(s, ERR_INPUT, "a string is not valid UTF-8");
		s->p += n;
	}
	return fail(s, ERR_INPUT, "a string does not end");
}

/* At least one digit; moves past all of them. */
static int digits(struct scan *s)
{
	const char *from = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return s->p > from ? 0 : fail(s, ERR_INPUT, "malformed number");
}

static int scan_number(struct scan *s)
{
	const char *from = s->p;
	char copy[MAX_NUMBER_LEN + 1];

	if (is_next(s, '-'))
		s->p++;
	if (is_next(s, '0'))
		s->p++;
	else if (digits(s) < 0)
		return -1;
	if (is_next(s, '.')) {
		s->p++;
		if (digits(s) < 0)
			return -1;
	}
	if (is_next(s, 'e') || is_next(s, 'E')) {
		s->p++;
		if (is_next(s, '+') || is_next(s, '-'))
			s->p++;
		if (digits(s) < 0)
			return -1;
	}
	if (s->p - from > MAX_NUMBER_LEN)
		return fail(s, ERR_LIMIT, "a number has too many digits");
	memcpy(copy, from, (size_t)(s->p - from));
	copy[s->p - from] = '\0';
	return isfinite(strtod(copy, NULL)) ? 0 : fail(s, ERR_LIMIT, "a number is too large");
}

static int scan_value(struct scan *s, unsigned int depth);

/* Items of an array or members of an object, behind the opening bracket. */
static int scan_list(struct scan *s, char close, unsigned int depth)
{
	skip_space(s);
	if (is_next(s, close)) {
		s->p++;
		return 0;
	}
	for (;;) {
		skip_space(s);
		if (close == '}') {
			if (scan_string(s) < 0)
				return -1;
			skip_space(s);
			if (!is_next(s, ':'))
				return fail(s, ERR_INPUT, "':' expected");
			s->p++;
		}
		if (scan_value(s, depth) < 0)
			return -1;
		skip_space(s);
		if (is_next(s, close)) {
			s->p++;
			return 0;
		}
		if (!is_next(s, ','))
			return fail(s, ERR_INPUT, close == '}' ? "',' or '}' expected" : "',' or ']' expected");
		s->p++;
	}
}

static int scan_word(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n))
		return fail(s, ERR_INPUT, "a value expected");
	s->p += n;
	return 0;
}

static int scan_value(struct scan *s, unsigned int depth)
{
	skip_space(s);
	if (s->p == s->end)
		return fail(s, ERR_INPUT, "the text ends too early");
	switch (*s->p) {
	case '{':
	case '[':
		if (depth >= s->max_depth)
			return fail(s, ERR_LIMIT, "nested too deeply");
		return scan_list(s, *s->p++ == '{' ? '}' : ']', depth + 1);
	case '"':
		return scan_string(s);
	case 't':
		return scan_word(s, "true");
	case 'f':
		return scan_word(s, "false");
	case 'n':
		return scan_word(s, "null");
	default:
		if (*s->p != '-' && (*s->p < '0' || *s->p > '9'))
			return fail(s, ERR_INPUT, "a value expected");
		return scan_number(s);
	}
}

static int scan_document(struct scan *s)
{
	if (scan_value(s, 0) < 0)
		return -1;
	skip_space(s);
	return s->p == s->end ? 0 : fail(s, ERR_INPUT, "something follows the document");
}

/* --- repeated keys --- */

static int by_key(const void *a, const void *b)
{
	return strcmp((*(cJSON *const *)a)->string, (*(cJSON *const *)b)->string);
}

/* Members of @obj sorted by key, the caller's to free(); NULL out of memory. */
static cJSON **sorted(const cJSON *obj, size_t *ret_n)
{
	size_t n = 0;
	cJSON **v;

	for (const cJSON *c = obj->child; c; c = c->next)
		n++;
	v = calloc(n + 1, sizeof(cJSON *));
	if (!v)
		return NULL;
	n = 0;
	for (cJSON *c = obj->child; c; c = c->next)
		v[n++] = c;
	qsort(v, n, sizeof(cJSON *), by_key);
	*ret_n = n;
	return v;
}

static int check_own_keys(const cJSON *obj, struct err *err)
{
	OWN(mem) cJSON **v = NULL;
	OWN(buf) struct buf word = { 0 };
	size_t n;

	if (!obj->child || !obj->child->next)
		return 0;
	v = sorted(obj, &n);
	if (!v)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	for (size_t i = 1; i < n; i++) {
		if (strcmp(v[i - 1]->string, v[i]->string))
			continue;
		json_quote(&word, v[i]->string, strlen(v[i]->string));
		return err_set(err, ERR_INPUT, 0, "key %s appears twice", word.data ? word.data : "");
	}
	return 0;
}

static int check_keys(const cJSON *c, struct err *err)
{
	if (cJSON_IsObject(c) && check_own_keys(c, err) < 0)
		return -1;
	for (const cJSON *k = c->child; k; k = k->next)
		if (k->child && check_keys(k, err) < 0)
			return -1;
	return 0;
}

/* --- reading --- */

int json_parse(const char *text, size_t len, const struct json_limits *limits,
	       struct json **ret, struct err *err)
{
	size_t max_bytes = limits && limits->max_bytes ? limits->max_bytes : MAX_BYTES_DEFAULT;
	unsigned int max_depth = limits && limits->max_depth ? limits->max_depth : MAX_DEPTH_DEFAULT;
	struct scan scan = { .start = text, .p = text, .end = text + len, .err = err,
			     .max_depth = max_depth < MAX_DEPTH ? max_depth : MAX_DEPTH };
	OWN(json) struct json *root = NULL;

	if (len > max_bytes)
		return err_set(err, ERR_LIMIT, 0, "more than %zu bytes", max_bytes);
	if (scan_document(&scan) < 0)
		return -1;
	root = outer(cJSON_ParseWithLength(text, len));
	if (!root)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (check_keys(inner(root), err) < 0)
		return -1;
	*ret = TAKE(root);
	return 0;
}

int json_parse_file(const char *path, const struct json_limits *limits,
		    struct json **ret, struct err *err)
{
	size_t max = limits && limits->max_bytes ? limits->max_bytes : MAX_BYTES_DEFAULT;
	OWN(buf) struct buf text = { .max = max + 32768 };

	if (io_read_file(AT_FDCWD, path, max, &text, err) < 0)
		return -1;
	if (json_parse(text.data ? text.data : "", text.len, limits, ret, err) < 0)
		return err_wrap(err, "'%s'", path);
	return 0;
}

enum json_type json_type(const struct json *j)
{
	/* Raw nodes are whole numbers too large for a double: see json_add_int(). */
	static const struct { int type; enum json_type ours; } types[] = {
		{ cJSON_NULL, JSON_NULL }, { cJSON_False, JSON_BOOL }, { cJSON_True, JSON_BOOL },
		{ cJSON_Number, JSON_NUMBER }, { cJSON_Raw, JSON_NUMBER }, { cJSON_String, JSON_STRING },
		{ cJSON_Array, JSON_ARRAY }, { cJSON_Object, JSON_OBJECT },
	};

	for (size_t i = 0; j && i < ARRAY_LEN(types); i++)
		if ((inner(j)->type & 0xff) == types[i].type)
			return types[i].ours;
	return JSON_NONE;
}

static int is_container(const struct json *j)
{
	return json_type(j) == JSON_OBJECT || json_type(j) == JSON_ARRAY;
}

const struct json *json_get(const struct json *obj, const char *key)
{
	return json_type(obj) == JSON_OBJECT ? outer(cJSON_GetObjectItemCaseSensitive(inner(obj), key)) : NULL;
}

const struct json *json_at(const struct json *arr, size_t i)
{
	const struct json *item = json_type(arr) == JSON_ARRAY ? json_first(arr) : NULL;

	while (item && i--)
		item = json_next(item);
	return item;
}

size_t json_count(const struct json *j)
{
	size_t n = 0;

	for (const struct json *item = json_first(j); item; item = json_next(item))
		n++;
	return n;
}

const struct json *json_first(const struct json *j)
{
	return is_container(j) ? outer(inner(j)->child) : NULL;
}

const struct json *json_next(const struct json *item)
{
	return item ? outer(inner(item)->next) : NULL;
}

const char *json_key(const struct json *item)
{
	return item ? inner(item)->string : NULL;
}

const char *json_str(const struct json *j)
{
	return json_type(j) == JSON_STRING ? inner(j)->valuestring : NULL;
}

int json_bool(const struct json *j, int *ret)
{
	if (json_type(j) != JSON_BOOL)
		return -1;
	*ret = cJSON_IsTrue(inner(j)) ? 1 : 0;
	return 0;
}

int json_int(const struct json *j, int64_t *ret)
{
	double d;

	if (!j || !cJSON_IsNumber(inner(j)))
		return -1;
	d = inner(j)->valuedouble;
	if (!(d > -EXACT_MAX && d < EXACT_MAX) || d != trunc(d))
		return -1;
	*ret = (int64_t)d;
	return 0;
}

int json_strv(const struct json *j, struct strv *ret)
{
	if (json_type(j) != JSON_ARRAY)
		return -1;
	for (const struct json *s = json_first(j); s; s = json_next(s))
		if (!json_str(s))
			return -1;
	for (const struct json *s = json_first(j); s; s = json_next(s))
		if (strv_add(ret, json_str(s)) < 0)
			return -1;
	return 0;
}

static int is_known(const char *key, const char *const known[])
{
	for (; *known; known++)
		if (!strcmp(key, *known))
			return 1;
	return 0;
}

int json_only(const struct json *obj, const char *const known[], const char *what, struct err *err)
{
	if (json_type(obj) != JSON_OBJECT)
		return err_set(err, ERR_INPUT, 0, "%s: an object expected", what);
	for (const struct json *m = json_first(obj); m; m = json_next(m))
		if (!is_known(json_key(m), known))
			return err_set(err, ERR_INPUT, 0, "%s: unknown field '%s'", what, json_key(m));
	return 0;
}

/* --- building --- */

struct json *json_new_object(void)
{
	return outer(cJSON_CreateObject());
}

struct json *json_new_array(void)
{
	return outer(cJSON_CreateArray());
}

/* Put @item below @to; frees it where that is not to be. */
static struct json *add(struct json *to, const char *key, cJSON *item)
{
	enum json_type want = key ? JSON_OBJECT : JSON_ARRAY;

	if (item && json_type(to) == want &&
	    (key ? cJSON_AddItemToObject(inner(to), key, item) : cJSON_AddItemToArray(inner(to), item)))
		return outer(item);
	cJSON_Delete(item);
	return NULL;
}

struct json *json_add_object(struct json *to, const char *key)
{
	return add(to, key, cJSON_CreateObject());
}

struct json *json_add_array(struct json *to, const char *key)
{
	return add(to, key, cJSON_CreateArray());
}

/* Append @s with each byte that is no part of a UTF-8 character replaced. */
static int add_clean(struct buf *b, const char *s, size_t len)
{
	const unsigned char *u = (const unsigned char *)s;

	for (size_t i = 0, n; i < len; i += n ? n : 1) {
		n = text_char(u + i, len - i);
		if ((n ? buf_add(b, u + i, n) : buf_adds(b, "\xef\xbf\xbd")) < 0)
			return -1;
	}
	return buf_add(b, "", 0);
}

struct json *json_add_str(struct json *to, const char *key, const char *value)
{
	OWN(buf) struct buf clean = { 0 };

	if (!value)
		return json_add_null(to, key);
	if (add_clean(&clean, value, strlen(value)) < 0)
		return NULL;
	return add(to, key, cJSON_CreateString(clean.data));
}

struct json *json_add_int(struct json *to, const char *key, int64_t value)
{
	char text[24];

	if (value > -(int64_t)EXACT_MAX && value < (int64_t)EXACT_MAX)
		return add(to, key, cJSON_CreateNumber((double)value));
	snprintf(text, sizeof(text), "%lld", (long long)value);
	return add(to, key, cJSON_CreateRaw(text));
}

struct json *json_add_bool(struct json *to, const char *key, int value)
{
	return add(to, key, cJSON_CreateBool(value));
}

struct json *json_add_null(struct json *to, const char *key)
{
	return add(to, key, cJSON_CreateNull());
}

struct json *json_add_strv(struct json *to, const char *key, const struct strv *sv)
{
	OWN(json) struct json *list = json_new_array();

	for (size_t i = 0; i < sv->n; i++)
		if (!json_add_str(list, NULL, sv->v[i]))
			return NULL;
	return add(to, key, inner(TAKE(list)));
}

struct json *json_add_copy(struct json *to, const char *key, const struct json *what)
{
	return add(to, key, what ? cJSON_Duplicate(inner(what), 1) : NULL);
}

/* --- writing --- */

/* How many bytes from @u on stand in a JSON string as they are. */
static size_t plain_bytes(const unsigned char *u, size_t len)
{
	size_t n = 0;

	while (n < len && u[n] >= 0x20 && u[n] < 0x7f && u[n] != '"' && u[n] != '\\')
		n++;
	return n;
}

int json_quote(struct buf *b, const char *s, size_t len)
{
	static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
	const unsigned char *u = (const unsigned char *)s;

	buf_addc(b, '"');
	for (size_t i = 0, n; i < len; i += n ? n : 1) {
		const char *known;

		n = plain_bytes(u + i, len - i);
		if (n) {	/* nearly all of it, nearly always */
			buf_add(b, u + i, n);
			continue;
		}
		known = u[i] ? strchr(plain, u[i]) : NULL;
		n = text_char(u + i, len - i);
		if (known)
			buf_add(b, (char[]){ '\\', letter[known - plain] }, 2);
		else if (u[i] < 0x20 || u[i] == 0x7f)
			buf_addf(b, "\\u%04x", u[i]);
		else if (n == 2 && u[i] == 0xc2 && u[i + 1] < 0xa0)	/* C1: terminals act on them */
			buf_addf(b, "\\u%04x", u[i + 1]);
		else if (!n)
			buf_adds(b, "\xef\xbf\xbd");
		else
			buf_add(b, u + i, n);
	}
	return buf_addc(b, '"');
}

enum style { PLAIN, CANONICAL, PRETTY };

static void print_number(struct buf *b, double d)
{
	if (d == trunc(d) && fabs(d) < EXACT_MAX)
		buf_addf(b, "%lld", (long long)d);
	else
		buf_addf(b, "%.17g", d);
}

static void newline(struct buf *b, enum style style, int depth)
{
	if (style == PRETTY)
		buf_addf(b, "\n%*s", depth * 2, "");
}

static void print_value(struct buf *b, const cJSON *c, enum style style, int depth);

static void print_members(struct buf *b, const cJSON *c, enum style style, int depth)
{
	OWN(mem) cJSON **v = NULL;
	const cJSON *k = c->child;
	size_t n = 0;

	if (style == CANONICAL && cJSON_IsObject(c) && !(v = sorted(c, &n))) {
		b->failed = 1;
		return;
	}
	for (size_t i = 0; v ? i < n : k != NULL; i++) {
		const cJSON *m = v ? v[i] : k;

		if (i)
			buf_addc(b, ',');
		newline(b, style, depth + 1);
		if (cJSON_IsObject(c)) {
			json_quote(b, m->string, strlen(m->string));
			buf_adds(b, style == PRETTY ? ": " : ":");
		}
		print_value(b, m, style, depth + 1);
		k = m->next;
	}
	if (c->child)
		newline(b, style, depth);
}

static void print_value(struct buf *b, const cJSON *c, enum style style, int depth)
{
	switch (c->type & 0xff) {
	case cJSON_Object:
	case cJSON_Array:
		buf_addc(b, cJSON_IsObject(c) ? '{' : '[');
		print_members(b, c, style, depth);
		buf_addc(b, cJSON_IsObject(c) ? '}' : ']');
		return;
	case cJSON_String:
		json_quote(b, c->valuestring, strlen(c->valuestring));
		return;
	case cJSON_Raw:
		buf_adds(b, c->valuestring);
		return;
	case cJSON_Number:
		print_number(b, c->valuedouble);
		return;
	case cJSON_True:
	case cJSON_False:
		buf_adds(b, cJSON_IsTrue(c) ? "true" : "false");
		return;
	default:
		buf_adds(b, "null");
	}
}

static char *print(const struct json *j, enum style style)
{
	OWN(buf) struct buf b = { 0 };

	if (!j)
		return NULL;
	print_value(&b, inner(j), style, 0);
	return buf_steal(&b);
}

char *json_print(const struct json *j)
{
	return print(j, PLAIN);
}

char *json_print_canonical(const struct json *j)
{
	return print(j, CANONICAL);
}

char *json_print_pretty(const struct json *j)
{
	return print(j, PRETTY);
}

void json_free(struct json *root)
{
	cJSON_Delete(inner(root));
}
