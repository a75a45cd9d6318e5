/*
 * base/json.h - strict reading and writing of JSON
 *
 * A wrapper around cJSON that adds what outside bytes need: limits on size and
 * depth, valid UTF-8 only, no NUL, no trailing bytes, no repeated keys, numbers
 * exact as int64 where asked. The rest of agate sees only struct json.
 *
 * A node belongs to its root; json_free() takes a root. Getters take NULL and
 * answer NULL/-1, so a look-up can be chained.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "base/strv.h"

struct buf;
struct err;
struct json;	/* in truth a cJSON */

struct json_limits {
	size_t max_bytes;	/* 0: 16 MiB */
	unsigned int max_depth;	/* 0: 64; never over 500 */
};

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT, JSON_NONE };

/**
 * json_parse() - Read one whole document
 * @limits:	NULL for the defaults
 * @ret:	on success the root, the caller's to json_free()
 * @err:	ERR_INPUT ("line 3: ..."), ERR_LIMIT or ERR_NOMEM
 */
int json_parse(const char *text, size_t len, const struct json_limits *limits,
	       struct json **ret, struct err *err);
int json_parse_file(const char *path, const struct json_limits *limits,
		    struct json **ret, struct err *err);

/* --- reading --- */
enum json_type json_type(const struct json *j);		/* JSON_NONE for NULL */
const struct json *json_get(const struct json *obj, const char *key);
const struct json *json_at(const struct json *arr, size_t i);
size_t json_count(const struct json *j);		/* members or items; 0 for others */
const struct json *json_first(const struct json *j);	/* walk an array or object */
const struct json *json_next(const struct json *item);
const char *json_key(const struct json *item);		/* of an object's member, else NULL */
const char *json_str(const struct json *j);		/* NULL unless a string; lives as long as the root */
int json_bool(const struct json *j, int *ret);		/* 0, or -1 if it is not a boolean */
int json_int(const struct json *j, int64_t *ret);	/* 0, or -1 if not a whole number below 2^53 */
int json_strv(const struct json *j, struct strv *ret);	/* appends an array of strings; -1 if it is not one */

/**
 * json_only() - Refuse fields nobody knows
 * @known:	ends in NULL
 * @what:	named in the error: "request: unknown field 'foo'"
 */
int json_only(const struct json *obj, const char *const known[], const char *what, struct err *err);

/*
 * --- building ---
 *
 * Each returns the new node (owned by its parent) or NULL when out of memory or
 * @to is NULL or of the wrong type, so calls can be chained. @key is for objects
 * and NULL for arrays; adding one key twice is the caller's mistake.
 */
struct json *json_new_object(void);
struct json *json_new_array(void);
struct json *json_add_object(struct json *to, const char *key);	/* key NULL: append to an array */
struct json *json_add_array(struct json *to, const char *key);
struct json *json_add_str(struct json *to, const char *key, const char *value);	/* NULL value: null; bad UTF-8 is replaced */
struct json *json_add_int(struct json *to, const char *key, int64_t value);
struct json *json_add_bool(struct json *to, const char *key, int value);
struct json *json_add_null(struct json *to, const char *key);
struct json *json_add_strv(struct json *to, const char *key, const struct strv *sv);
struct json *json_add_copy(struct json *to, const char *key, const struct json *what);

/* --- writing: control bytes come out as \u00xx, so a line is safe on a terminal --- */
char *json_print(const struct json *j);			/* one line, members as added; caller's to free() */
char *json_print_canonical(const struct json *j);	/* one line, members sorted by key at all depths */
char *json_print_pretty(const struct json *j);
int json_quote(struct buf *b, const char *s, size_t len);	/* append a quoted JSON string; bad UTF-8 → U+FFFD */

void json_free(struct json *root);

static inline void own_json(struct json **j)
{
	json_free(*j);
}

#endif
