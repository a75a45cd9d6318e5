/*
 * Codex's rules: a file of calls in Starlark. What is read here is its plainest
 * part, calls with names, strings, lists and numbers; anything that would have to
 * be computed is refused.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "gates/guard.h"
#include "gates/import_rules.h"

#define MAX_DEPTH 8
#define MAX_ALTERNATIVES 64u	/* rules made of one pattern */
#define MAX_PROMPTS 190u

/* --- reading calls --- */

struct reader {
	const char *name;
	const char *s, *end;
	unsigned int line;
	struct err *err;
};

static int refuse(struct reader *r, const char *why)
{
	return err_set(r->err, ERR_INPUT, 0, "'%s': line %u: %s", r->name, r->line, why);
}

static void skip_space(struct reader *r)
{
	for (; r->s < r->end; r->s++) {
		if (*r->s == '#') {
			while (r->s + 1 < r->end && r->s[1] != '\n')
				r->s++;
		} else if (*r->s == '\n') {
			r->line++;
		} else if (!strchr(" \t\r", *r->s) || !*r->s) {
			return;
		}
	}
}

static int take(struct reader *r, char c)
{
	skip_space(r);
	if (r->s == r->end || *r->s != c)
		return 0;
	r->s++;
	return 1;
}

static int is_name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The name at the reader's place, in @ret; "" if there is none. */
static void read_name(struct reader *r, char *ret, size_t size)
{
	size_t n = 0;

	skip_space(r);
	if (r->s < r->end && isdigit((unsigned char)*r->s)) {
		ret[0] = '\0';
		return;
	}
	for (; r->s < r->end && is_name_byte(*r->s) && n + 1 < size; r->s++)
		ret[n++] = *r->s;
	ret[n] = '\0';
}

static int read_escape(struct reader *r, struct buf *b)
{
	static const char from[] = "nt\\\"'", to[] = "\n\t\\\"'";
	const char *at = r->s < r->end && *r->s ? strchr(from, *r->s) : NULL;

	if (!at)
		return refuse(r, "a string holds an escape that is not known here");
	r->s++;
	return buf_addc(b, to[at - from]);
}

static int read_string(struct reader *r, struct json *to, const char *key)
{
	OWN(buf) struct buf b = { 0 };
	char quote = *r->s;
	int is_long = r->s + 2 < r->end && r->s[1] == quote && r->s[2] == quote;

	buf_adds(&b, "");
	r->s += is_long ? 3 : 1;
	for (;;) {
		if (r->s == r->end || *r->s == '\0' || (*r->s == '\n' && !is_long))
			return refuse(r, "a string has no end");
		if (*r->s == quote && (!is_long || (r->s + 2 < r->end && r->s[1] == quote && r->s[2] == quote)))
			break;
		r->line += *r->s == '\n';
		if (*r->s == '\\') {
			r->s++;
			if (read_escape(r, &b) < 0)
				return -1;
		} else {
			buf_addc(&b, *r->s++);
		}
	}
	r->s += is_long ? 3 : 1;
	for (size_t i = 0, n; i < b.len; i += n)
		if (!(n = text_char(b.data + i, b.len - i)))
			return refuse(r, "a string is not UTF-8");
	return b.failed || !json_add_str(to, key, b.data) ? err_set(r->err, ERR_NOMEM, 0, "out of memory") : 0;
}

static int read_value(struct reader *r, struct json *to, const char *key, int depth);

static int read_list(struct reader *r, struct json *to, const char *key, int depth)
{
	struct json *list = json_add_array(to, key);

	if (!list)
		return err_set(r->err, ERR_NOMEM, 0, "out of memory");
	r->s++;
	while (!take(r, ']')) {
		if (read_value(r, list, NULL, depth + 1) < 0)
			return -1;
		if (take(r, ','))
			continue;
		if (!take(r, ']'))
			return refuse(r, "a list has no end");
		break;
	}
	return 0;
}

static int read_word(struct reader *r, struct json *to, const char *key)
{
	char word[64];
	const struct json *done = NULL;

	read_name(r, word, sizeof(word));
	if (!strcmp(word, "True") || !strcmp(word, "False"))
		done = json_add_bool(to, key, word[0] == 'T');
	else if (!strcmp(word, "None"))
		done = json_add_null(to, key);
	else
		return refuse(r, "a value is neither a string nor a list");
	return done ? 0 : err_set(r->err, ERR_NOMEM, 0, "out of memory");
}

static int read_value(struct reader *r, struct json *to, const char *key, int depth)
{
	int failed;

	skip_space(r);
	if (depth > MAX_DEPTH)
		return refuse(r, "lists are nested too deeply");
	if (r->s == r->end)
		return refuse(r, "the file ends in the middle of a call");
	if (*r->s == '"' || *r->s == '\'')
		failed = read_string(r, to, key);
	else if (*r->s == '[')
		failed = read_list(r, to, key, depth);
	else
		failed = read_word(r, to, key);
	if (failed)
		return -1;
	skip_space(r);
	return r->s < r->end && strchr("+-*/%.[({|&<>=!?:\"'", *r->s) && *r->s ?
		refuse(r, "a value is computed, which is not done here") : 0;
}

/* "NAME(KEY = VALUE, ...)"; the values become members of @ret. */
static int read_call(struct reader *r, char *name, size_t size, struct json *ret)
{
	read_name(r, name, size);
	if (!*name || !take(r, '('))
		return refuse(r, "there is something else than a plain call");
	while (!take(r, ')')) {
		char key[64];

		read_name(r, key, sizeof(key));
		if (!*key || !take(r, '='))
			return refuse(r, "an argument has no name");
		if (json_get(ret, key))
			return refuse(r, "an argument is given twice");
		if (read_value(r, ret, key, 0) < 0)
			return -1;
		if (take(r, ','))
			continue;
		if (!take(r, ')'))
			return refuse(r, "a call has no end");
		break;
	}
	return 0;
}

/* --- rules --- */

struct codex {
	struct importing imp;
	struct reader reader;
	struct strv prompts;	/* patterns that ask */
	char entry[160];
};

static int no_memory(struct codex *c)
{
	return err_set(c->imp.err, ERR_NOMEM, 0, "out of memory");
}

static int get_decision(struct codex *c, const struct json *call, enum decision *ret)
{
	static const struct { const char *word; enum decision decision; } words[] = {
		{ "allow", DECISION_ALLOW }, { "prompt", DECISION_ASK }, { "forbidden", DECISION_DENY }, { "deny", DECISION_DENY },
	};
	const struct json *v = json_get(call, "decision");

	*ret = DECISION_ALLOW;
	if (!v)
		return 0;
	for (size_t i = 0; json_str(v) && i < ARRAY_LEN(words); i++) {
		if (!strcmp(json_str(v), words[i].word)) {
			*ret = words[i].decision;
			return 0;
		}
	}
	return refuse(&c->reader, "'decision' is none of allow, prompt, forbidden");
}

static void add_word(struct buf *b, const char *word)
{
	if (b->len)
		buf_addc(b, ' ');
	words_quote(b, word);
}

/* Every way through the alternatives of @item and what follows, behind @before. */
static int expand(struct codex *c, const struct json *item, const char *before, struct strv *ret)
{
	const struct json *first = json_type(item) == JSON_ARRAY ? json_first(item) : item;

	if (!item) {
		if (ret->n == MAX_ALTERNATIVES)
			return refuse(&c->reader, "a pattern has too many alternatives");
		return strv_add(ret, before) < 0 ? no_memory(c) : 0;
	}
	if (!first)
		return refuse(&c->reader, "a pattern holds an empty list");
	for (const struct json *j = first; j; j = first == item ? NULL : json_next(j)) {
		OWN(buf) struct buf b = { 0 };

		if (!json_str(j) || !*json_str(j))
			return refuse(&c->reader, "a pattern holds something else than words");
		buf_adds(&b, before);
		add_word(&b, json_str(j));
		if (b.failed)
			return no_memory(c);
		if (expand(c, json_next(item), b.data, ret) < 0)
			return -1;
	}
	return 0;
}

/* An example as a shell line; NULL with nothing set out of memory, "" for what is none. */
static char *example_line(const struct json *j)
{
	struct buf b = { 0 };

	buf_adds(&b, json_str(j) ? json_str(j) : "");
	if (json_type(j) == JSON_ARRAY)
		for (const struct json *w = json_first(j); w; w = json_next(w))
			add_word(&b, json_str(w) ? json_str(w) : "");
	return buf_steal(&b);
}

static int example_holds(const struct rule *r, const char *line, int should_match)
{
	struct rule alone = *r;
	char *one[2] = { (char *)(size_t)line, NULL };
	const struct strv list = { .v = one, .n = 1 }, none = { 0 };

	alone.match = should_match ? list : none;
	alone.not_match = should_match ? none : list;
	return !rule_self_test(&alone, NULL);
}

/*
 * Examples that hold are kept as the rule's own. Where ours finds more than
 * Codex's exact words would, one that must not match may not hold; one that must
 * match has to.
 */
static int take_examples(struct codex *c, const struct json *call, const char *field, int should_match, struct rule *r)
{
	const struct json *list = json_get(call, field);

	if (list && json_type(list) != JSON_ARRAY)
		return refuse(&c->reader, "'match' and 'not_match' must be lists");
	for (const struct json *j = json_first(list); j; j = json_next(j)) {
		OWN(mem) char *line = example_line(j);

		if (!line)
			return no_memory(c);
		if (!*line)
			return refuse(&c->reader, "an example is empty");
		if (example_holds(r, line, should_match)) {
			if (strv_add(should_match ? &r->match : &r->not_match, line) < 0)
				return no_memory(c);
		} else if (should_match && r->decision == DECISION_ALLOW) {
			/* Narrower than Codex: the example is asked about. */
			if (import_note(&c->imp, IMPORT_STRICTER, line, "an example of what is allowed, which is not here") < 0)
				return -1;
		} else if (should_match) {
			return refuse(&c->reader, "an example that must match does not");
		} else if (import_note(&c->imp, IMPORT_STRICTER, line, "an example of what is left alone, which is meant here") < 0) {
			return -1;
		}
	}
	return 0;
}

static int add_patterns(struct codex *c, const struct strv *patterns, struct rule *r)
{
	for (size_t i = 0; i < patterns->n; i++) {
		if (rule_add_pattern(r, RULE_COMMANDS, patterns->v[i], c->imp.err) < 0)
			return -1;
		if (r->decision == DECISION_ASK && strv_add(&c->prompts, patterns->v[i]) < 0)
			return no_memory(c);
	}
	for (size_t i = 0; r->decision == DECISION_ALLOW && i < c->prompts.n; i++) {
		OWN(buf) struct buf b = { 0 };

		buf_addf(&b, "!%s", c->prompts.v[i]);
		if (b.failed)
			return no_memory(c);
		if (rule_add_pattern(r, RULE_COMMANDS, b.data, c->imp.err) < 0)
			return -1;
	}
	return 0;
}

static int set_reason(struct codex *c, const struct json *call, struct rule *r)
{
	const char *why = json_str(json_get(call, "justification"));

	if (!why)
		return 0;
	r->reason = strndup(why, 1000);
	return r->reason ? 0 : no_memory(c);
}

/* The examples need the patterns read, which ends the making of a rule: so it is made twice. */
static int build(struct codex *c, const struct json *call, enum decision d, const struct strv *patterns, struct rule *ret)
{
	if (import_begin(&c->imp, c->entry, d, ret) < 0 || add_patterns(c, patterns, ret) < 0)
		return -1;
	return set_reason(c, call, ret);
}

static int prefix_rule(struct codex *c, const struct json *call)
{
	static const char *const known[] = { "pattern", "decision", "justification", "match", "not_match", NULL };
	const struct json *pattern = json_get(call, "pattern");
	OWN(strv) struct strv patterns = { 0 };
	OWN(rule) struct rule r = { 0 };
	OWN(rule) struct rule tried = { 0 };
	enum decision d;

	if (json_only(call, known, "prefix_rule", NULL) < 0)
		return refuse(&c->reader, "prefix_rule has an argument that is not known");
	if (json_type(pattern) != JSON_ARRAY || !json_count(pattern))
		return refuse(&c->reader, "prefix_rule has no pattern");
	if (get_decision(c, call, &d) < 0 || expand(c, json_first(pattern), "", &patterns) < 0)
		return -1;
	if (c->prompts.n + patterns.n > MAX_PROMPTS)
		return refuse(&c->reader, "there are too many patterns");
	if (build(c, call, d, &patterns, &tried) < 0 || rule_finish(&tried, c->imp.err) < 0 ||
	    build(c, call, d, &patterns, &r) < 0 || take_examples(c, call, "match", 1, &tried) < 0 ||
	    take_examples(c, call, "not_match", 0, &tried) < 0)
		return -1;
	if (strv_copy(&r.match, &tried.match) < 0 || strv_copy(&r.not_match, &tried.not_match) < 0)
		return no_memory(c);
	if (import_end(&c->imp, &r) < 0)
		return -1;
	if (d == DECISION_ALLOW)
		return import_note(&c->imp, IMPORT_SAME, c->entry, "");
	return import_note(&c->imp, IMPORT_STRICTER, c->entry,
			   "it also finds the command in nested shells, behind wrappers and behind options");
}

static int network_rule(struct codex *c, const struct json *call)
{
	const char *host = json_str(json_get(call, "host"));
	OWN(rule) struct rule r = { 0 };
	enum decision d;

	if (get_decision(c, call, &d) < 0)
		return -1;
	if (!host || glob_bad_host(host))
		return import_note(&c->imp, d == DECISION_ALLOW ? IMPORT_LEFT_OUT : IMPORT_LOST, c->entry,
				   "its host is no host here");
	if (d == DECISION_ALLOW)
		return import_note(&c->imp, IMPORT_LEFT_OUT, c->entry, "see agate run --allow-domain");
	if (import_begin(&c->imp, c->entry, d, &r) < 0)
		return -1;
	r.classes = 1u << EFFECT_NETWORK_EGRESS;
	if (set_reason(c, call, &r) < 0 || rule_add_pattern(&r, RULE_HOSTS, host, c->imp.err) < 0 ||
	    import_end(&c->imp, &r) < 0)
		return -1;
	return import_note(&c->imp, IMPORT_SAME, c->entry, "");
}

static int one_call(struct codex *c, const char *name, const struct json *call)
{
	OWN(mem) char *shown = json_print(call);

	if (!shown)
		return no_memory(c);
	snprintf(c->entry, sizeof(c->entry), "%.32s %.100s", name, shown);
	if (!strcmp(name, "prefix_rule"))
		return prefix_rule(c, call);
	if (!strcmp(name, "network_rule"))
		return network_rule(c, call);
	if (!strcmp(name, "host_executable"))
		return import_note(&c->imp, IMPORT_LEFT_OUT, c->entry, "a rule that allows knows a command by its name alone");
	return import_note(&c->imp, IMPORT_LOST, c->entry, "there is no such rule here");
}

static int each_call(struct codex *c, int only_prompts)
{
	while (skip_space(&c->reader), c->reader.s < c->reader.end) {
		OWN(json) struct json *call = json_new_object();
		char name[64];
		const char *word;

		if (!call)
			return no_memory(c);
		if (read_call(&c->reader, name, sizeof(name), call) < 0)
			return -1;
		word = json_str(json_get(call, "decision"));
		/* Those that ask come first: allowances have to leave out what they mean. */
		if ((word && !strcmp(word, "prompt")) == only_prompts && one_call(c, name, call) < 0)
			return -1;
	}
	return 0;
}

int import_codex(const char *text, size_t len, const struct import_where *where, struct rule_set *set,
		 struct import_report *report, struct err *err)
{
	struct codex c = { .imp = { where, "import codex", set, report, err } };
	int failed = 0;

	if (len > RULE_FILE_MAX_BYTES)
		return err_set(err, ERR_LIMIT, 0, "'%s' is larger than %u bytes", where->name, RULE_FILE_MAX_BYTES);
	for (int round = 0; round < 2 && !failed; round++) {
		c.reader = (struct reader){ .name = where->name, .s = text, .end = text + len, .line = 1, .err = err };
		failed = each_call(&c, !round);
	}
	strv_done(&c.prompts);
	return failed ? -1 : 0;
}
