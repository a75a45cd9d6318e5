#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/parse.h"
#include "dispatch/options.h"

const struct opt *opts_each(const struct opts *opts, const struct opt *prev)
{
	int next = !prev;

	for (int g = 0; g < OPT_GROUPS && opts->group[g]; g++) {
		for (const struct opt *o = opts->group[g]; o->name; o++) {
			if (next)
				return o;
			next = o == prev;
		}
	}
	return NULL;
}

const struct opt *opts_find(const struct opts *opts, const char *name, size_t len)
{
	for (const struct opt *o = opts_each(opts, NULL); o; o = opts_each(opts, o))
		if (strlen(o->name) == len && !memcmp(o->name, name, len))
			return o;
	return NULL;
}

/* How many letters must be put in, left out or changed; gives up above @most. */
static size_t slips(const char *a, const char *b, size_t most)
{
	size_t row[65], la = strlen(a), lb = strlen(b);

	if (la > 64 || lb > 64)
		return most + 1;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t up = row[j], best = corner + (a[i - 1] != b[j - 1]);

			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (up + 1 < best)
				best = up + 1;
			corner = up;
			row[j] = best;
		}
	}
	return row[lb];
}

const char *nearest(const char *word, const char *const candidates[], size_t n)
{
	const char *best = NULL;
	size_t least = strlen(word) > 3 ? 3 : 2;

	for (size_t i = 0; i < n; i++) {
		size_t d = slips(word, candidates[i], least);

		if (d < least) {
			least = d;
			best = candidates[i];
		}
	}
	return best;
}

static int unknown_option(const struct opts *opts, const char *word, size_t len, struct err *err)
{
	const char *names[128], *near;
	size_t n = 0;

	for (const struct opt *o = opts_each(opts, NULL); o && n < ARRAY_LEN(names); o = opts_each(opts, o))
		names[n++] = o->name;
	OWN(mem) char *given = strndup(word, len);
	near = given ? nearest(given, names, n) : NULL;
	err_set(err, ERR_USAGE, 0, "unknown option '--%s'", given ? given : word);
	if (near)
		err_hint(err, "did you mean --%s?", near);
	return -1;
}

static void *slot(const struct opt *o, void *values)
{
	return (char *)values + o->at;
}

static void list_words(const struct opt *o, char *ret, size_t size)
{
	size_t n = 0;

	ret[0] = '\0';
	for (size_t i = 0; o->words[i] && n < size; i++)
		n += (size_t)snprintf(ret + n, size - n, "%s%s", i ? ", " : "", o->words[i]);
}

static int set_word(const struct opt *o, const char *word, int *ret, struct err *err)
{
	char all[160];

	for (int i = 0; o->words[i]; i++) {
		if (!strcmp(o->words[i], word)) {
			*ret = i;
			return 0;
		}
	}
	list_words(o, all, sizeof(all));
	return err_set(err, ERR_USAGE, 0, "'%s' is none of: %s", word, all);
}

static int set_text(char **ret, const char *word, struct err *err)
{
	char *copy = strdup(word);

	if (!copy)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	free(*ret);
	*ret = copy;
	return 0;
}

/* Give option @o the value @word (NULL for a flag). The error does not name the option yet. */
static int set(const struct opt *o, const char *word, void *values, struct err *err)
{
	void *to = slot(o, values);

	if (o->check && o->check(word, err) < 0)
		return -1;
	switch (o->kind) {
	case OPT_FLAG:
		*(int *)to = o->value ? o->value : 1;
		return 0;
	case OPT_WORD:
		return set_word(o, word, to, err);
	case OPT_TEXT:
		return set_text(to, word, err);
	case OPT_LIST:
		return strv_add(to, word) < 0 ? err_set(err, ERR_NOMEM, 0, "out of memory") : 0;
	case OPT_DURATION:
		if (parse_duration_ms(word, to) < 0 || *(int64_t *)to <= 0)
			return err_set(err, ERR_USAGE, 0, "'%s' is no duration like 90, 1500ms or 2h30m", word);
		return 0;
	case OPT_SIZE:
		if (parse_size_bytes(word, to) < 0 || !*(uint64_t *)to)
			return err_set(err, ERR_USAGE, 0, "'%s' is no size like 4096, 512K or 2G", word);
		return 0;
	case OPT_COUNT:
		if (parse_uint(word, UINT32_MAX, to) < 0 || !*(uint64_t *)to)
			return err_set(err, ERR_USAGE, 0, "'%s' is no number from 1 up", word);
		return 0;
	}
	return err_set(err, ERR_USAGE, 0, "no such kind of option");
}

/* Read the option at argv[0]; returns how many words it took, or -1. */
static int one_option(const struct opts *opts, char *const argv[], void *values, struct err *err)
{
	const char *name = argv[0] + 2, *eq = strchr(name, '='), *word = eq ? eq + 1 : argv[1];
	size_t len = eq ? (size_t)(eq - name) : strlen(name);
	const struct opt *o = opts_find(opts, name, len);

	if (!o)
		return unknown_option(opts, name, len, err);
	if (o->kind == OPT_FLAG) {
		if (eq)
			return err_set(err, ERR_USAGE, 0, "option '--%s' takes no value", o->name);
		word = NULL;
	} else if (!word) {
		return err_set(err, ERR_USAGE, 0, "option '--%s' needs a value", o->name);
	}
	if (set(o, word, values, err) < 0)
		return err_wrap(err, "option '--%s'", o->name);
	return o->kind == OPT_FLAG || eq ? 1 : 2;
}

int opts_parse(const struct opts *opts, char *const argv[], unsigned int flags, void *values,
	       struct strv *operands, int *ret_help, struct err *err)
{
	int over = 0;

	*ret_help = 0;
	while (*argv) {
		const char *w = *argv;

		if (!over && !strcmp(w, "--")) {
			over = 1;
			argv++;
		} else if (!over && (!strcmp(w, "--help") || !strcmp(w, "-h"))) {
			*ret_help = 1;
			return 0;
		} else if (!over && w[0] == '-' && w[1] == '-') {
			int took = one_option(opts, argv, values, err);

			if (took < 0)
				return -1;
			argv += took;
		} else if (!over && w[0] == '-' && w[1]) {
			return err_set(err, ERR_USAGE, 0, "unknown option '%s'", w);
		} else {
			if (strv_add(operands, w) < 0)
				return err_set(err, ERR_NOMEM, 0, "out of memory");
			over |= !!(flags & OPTS_STOP);
			argv++;
		}
	}
	return 0;
}

static int set_list_json(const struct opt *o, const struct json *j, void *values, struct err *err)
{
	if (json_type(j) != JSON_ARRAY)
		return err_set(err, ERR_INPUT, 0, "must be a list of strings");
	for (const struct json *i = json_first(j); i; i = json_next(i)) {
		if (!json_str(i))
			return err_set(err, ERR_INPUT, 0, "must be a list of strings");
		if (set(o, json_str(i), values, err) < 0)
			return -1;
	}
	return 0;
}

static int set_json(const struct opt *o, const struct json *j, void *values, struct err *err)
{
	char number[24];
	int64_t n;
	int on;

	if (o->kind == OPT_LIST)
		return set_list_json(o, j, values, err);
	if (o->kind == OPT_FLAG) {
		if (json_bool(j, &on) < 0)
			return err_set(err, ERR_INPUT, 0, "must be true or false");
		return on ? set(o, NULL, values, err) : 0;
	}
	if (json_str(j))
		return set(o, json_str(j), values, err);
	if (o->kind == OPT_TEXT || o->kind == OPT_WORD)
		return err_set(err, ERR_INPUT, 0, "must be a string");
	if (json_int(j, &n) < 0 || n <= 0)
		return err_set(err, ERR_INPUT, 0, "must be a string or a whole number from 1 up");
	snprintf(number, sizeof(number), "%lld", (long long)n);
	return set(o, number, values, err);
}

int opts_from_json(const struct opts *opts, const struct json *obj, const char *also,
		   const char *what, void *values, struct err *err)
{
	if (json_type(obj) != JSON_OBJECT)
		return err_set(err, ERR_INPUT, 0, "%s: must be a JSON object", what);
	for (const struct json *m = json_first(obj); m; m = json_next(m)) {
		const char *key = json_key(m);
		const struct opt *o = opts_find(opts, key, strlen(key));

		if (also && !strcmp(key, also))
			continue;
		if (!o || o->argv_only)
			return err_set(err, ERR_INPUT, 0, "%s: unknown field '%s'", what, key);
		if (set_json(o, m, values, err) < 0) {
			if (err->code == ERR_USAGE)
				err->code = ERR_INPUT;
			return err_wrap(err, "%s: field '%s'", what, key);
		}
	}
	return 0;
}

static struct json *add_json(const struct opt *o, const void *at, struct json *to)
{
	char ms[24];

	switch (o->kind) {
	case OPT_FLAG:
		return *(const int *)at != (o->value ? o->value : 1) ? to : json_add_bool(to, o->name, 1);
	case OPT_WORD:
		return *(const int *)at < 0 ? to : json_add_str(to, o->name, o->words[*(const int *)at]);
	case OPT_TEXT:
		return *(char *const *)at ? json_add_str(to, o->name, *(char *const *)at) : to;
	case OPT_LIST:
		return ((const struct strv *)at)->n ? json_add_strv(to, o->name, at) : to;
	case OPT_DURATION:
		snprintf(ms, sizeof(ms), "%lldms", (long long)*(const int64_t *)at);
		return *(const int64_t *)at ? json_add_str(to, o->name, ms) : to;
	case OPT_SIZE:
	case OPT_COUNT:
		return *(const uint64_t *)at ? json_add_int(to, o->name, (int64_t)*(const uint64_t *)at) : to;
	}
	return NULL;
}

int opts_to_json(const struct opts *opts, const void *values, struct json *to)
{
	for (const struct opt *o = opts_each(opts, NULL); o; o = opts_each(opts, o))
		if (!o->argv_only && !add_json(o, (const char *)values + o->at, to))
			return -1;
	return 0;
}

/* "--mode chat|review|plan|orchestrate" */
static void head(const struct opt *o, struct buf *b)
{
	buf_addf(b, "  --%s", o->name);
	if (o->kind == OPT_WORD)
		for (size_t i = 0; o->words[i]; i++)
			buf_addf(b, "%c%s", i ? '|' : ' ', o->words[i]);
	else if (o->arg)
		buf_addf(b, " %s", o->arg);
}

void opts_help(const struct opts *opts, struct buf *b)
{
	const size_t column = 26;

	for (const struct opt *o = opts_each(opts, NULL); o; o = opts_each(opts, o)) {
		size_t from = b->len, wide;

		head(o, b);
		wide = b->len - from;
		if (wide + 2 > column) {
			buf_addc(b, '\n');
			wide = 0;
		}
		buf_addf(b, "%*s%s\n", (int)(column - wide), "", o->help);
	}
	buf_addf(b, "  %-*s%s\n", (int)column - 2, "--help", "this text");
}

void opts_done(const struct opts *opts, void *values)
{
	for (const struct opt *o = opts_each(opts, NULL); o; o = opts_each(opts, o)) {
		if (o->kind == OPT_LIST) {
			strv_done(slot(o, values));
		} else if (o->kind == OPT_TEXT) {
			char **text = slot(o, values);

			free(*text);
			*text = NULL;
		}
	}
}
