/*
 * A small evaluator of Seatbelt profiles: reads the s-expressions and gives the
 * verdict on one access, the last matching rule deciding. It knows exactly the
 * words our profiles use; any other fails the test. Expressions are those of
 * regcomp(3) in the C locale, so bytes are bytes.
 *
 * It is a model of sandbox(7), not the thing itself.
 */
#ifndef TEST_SEATBELT_EVAL_H
#define TEST_SEATBELT_EVAL_H

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

/* --- s-expressions --- */

struct sexp {
	enum { SEXP_LIST, SEXP_WORD, SEXP_TEXT } kind;
	char *text;
	struct sexp *kid;
	size_t n;
	regex_t *regex;	/* compiled when first asked */
};

static inline void sexp_done(struct sexp *s)
{
	for (size_t i = 0; i < s->n; i++)
		sexp_done(&s->kid[i]);
	if (s->regex)
		regfree(s->regex);
	free(s->regex);
	free(s->kid);
	free(s->text);
}

static inline const char *sexp_space(const char *p)
{
	for (;;) {
		p += strspn(p, " \t\n");
		if (*p != ';')
			return p;
		p += strcspn(p, "\n");
	}
}

static inline const char *sexp_text(const char *p, struct sexp *s)
{
	size_t n = 0;

	s->kind = SEXP_TEXT;
	s->text = malloc(strlen(p) + 1);
	for (p++; *p != '"'; p++) {
		if (*p == '\\')
			p++;
		if (!*p)
			fail_msg("a string does not end");
		s->text[n++] = *p;
	}
	s->text[n] = '\0';
	return p + 1;
}

static inline const char *sexp_read(const char *p, struct sexp *s)
{
	memset(s, 0, sizeof(*s));
	if (*p == '"')
		return sexp_text(p, s);
	if (*p != '(') {
		size_t n = strcspn(p, " \t\n()\";");

		if (!n)
			fail_msg("not an expression: %.40s", p);
		s->kind = SEXP_WORD;
		s->text = strndup(p, n);
		return p + n;
	}
	for (p = sexp_space(p + 1); *p != ')'; p = sexp_space(p)) {
		struct sexp kid;

		if (!*p)
			fail_msg("a list does not end");
		p = sexp_read(p, &kid);
		s->kid = realloc(s->kid, (s->n + 1) * sizeof(*s->kid));
		s->kid[s->n++] = kid;
	}
	return p + 1;
}

static inline const char *sexp_head(const struct sexp *s)
{
	if (s->kind != SEXP_LIST || !s->n || s->kid[0].kind != SEXP_WORD)
		fail_msg("a list without a word in front");
	return s->kid[0].text;
}

static inline const char *sexp_arg(const struct sexp *s, size_t i)
{
	if (i >= s->n || s->kid[i].kind == SEXP_LIST)
		fail_msg("'%s' lacks its value", sexp_head(s));
	return s->kid[i].text;
}

/* --- profiles --- */

struct sb_profile {
	struct sexp all;
};

struct sb_access {
	const char *op;
	const char *path;	/* files, and sockets in the file system */
	const char *type;	/* of a file: "REGULAR-FILE", "DIRECTORY", "SYMLINK" */
	const char *remote;	/* network: "localhost:80" */
};

static inline void sb_load(struct sb_profile *p, const char *text)
{
	struct sexp rule;

	memset(p, 0, sizeof(*p));
	for (text = sexp_space(text); *text; text = sexp_space(text)) {
		const char *head;

		text = sexp_read(text, &rule);
		head = sexp_head(&rule);
		if (!strcmp(head, "version")) {
			assert_string_equal(sexp_arg(&rule, 1), "1");
		} else if (strcmp(head, "allow") != 0 && strcmp(head, "deny") != 0) {
			fail_msg("what is '%s'?", head);
		}
		p->all.kid = realloc(p->all.kid, (p->all.n + 1) * sizeof(rule));
		p->all.kid[p->all.n++] = rule;
	}
}

static inline void sb_done(struct sb_profile *p)
{
	sexp_done(&p->all);
}

static inline int sb_regex(struct sexp *s, const char *path)
{
	if (!s->regex) {
		s->regex = calloc(1, sizeof(*s->regex));
		if (regcomp(s->regex, sexp_arg(s, 1), REG_EXTENDED | REG_NOSUB))
			fail_msg("not an expression: %s", sexp_arg(s, 1));
	}
	return !regexec(s->regex, path, 0, NULL, 0);
}

static inline int sb_matches(struct sexp *s, const struct sb_access *a);

static inline int sb_all(struct sexp *s, const struct sb_access *a, int want)
{
	if (s->n < 2)
		fail_msg("'%s' of nothing", sexp_head(s));
	for (size_t i = 1; i < s->n; i++)
		if (sb_matches(&s->kid[i], a) != want)
			return 0;
	return 1;
}

static inline int sb_remote(struct sexp *s, const struct sb_access *a)
{
	assert_string_equal(sexp_arg(s, 1), "tcp");
	return a->remote && !strcmp(sexp_arg(s, 2), a->remote);
}

static inline int sb_matches(struct sexp *s, const struct sb_access *a)
{
	const char *head = sexp_head(s);

	if (!strcmp(head, "literal"))
		return a->path && !strcmp(a->path, sexp_arg(s, 1));
	if (!strcmp(head, "subpath"))
		return a->path && path_under(a->path, sexp_arg(s, 1));
	if (!strcmp(head, "regex"))
		return a->path && sb_regex(s, a->path);
	if (!strcmp(head, "vnode-type"))
		return a->type && !strcmp(a->type, sexp_arg(s, 1));
	if (!strcmp(head, "require-all"))
		return sb_all(s, a, 1);
	if (!strcmp(head, "require-any"))
		return !sb_all(s, a, 0);
	if (!strcmp(head, "remote"))
		return sb_remote(s, a);
	/* Of no access that the tests ask about. */
	if (!strcmp(head, "extension") || !strcmp(head, "target") || !strcmp(head, "global-name") ||
	    !strcmp(head, "ipc-posix-name"))
		return 0;
	fail_msg("what is '%s'?", head);
	return 0;
}

/* "file-write*" covers "file-write-data"; "default" everything. */
static inline int sb_covers(const char *rule_op, const char *op)
{
	size_t n = strlen(rule_op);

	if (!strcmp(rule_op, "default"))
		return 1;
	if (n && rule_op[n - 1] == '*')
		return !strncmp(rule_op, op, n - 1);
	return !strcmp(rule_op, op);
}

/* 1 if the rule is about this access. Operations are words, what follows are filters; any of them will do. */
static inline int sb_applies(struct sexp *rule, const struct sb_access *a)
{
	int covers = 0;
	size_t i = 1;

	for (; i < rule->n && rule->kid[i].kind == SEXP_WORD; i++)
		covers |= sb_covers(rule->kid[i].text, a->op);
	if (i == 1)
		fail_msg("a rule about nothing");
	if (i == rule->n)
		return covers;
	for (; covers && i < rule->n; i++)
		if (sb_matches(&rule->kid[i], a))
			return 1;
	return 0;
}

/* 1 allowed, 0 denied */
static inline int sb_allows(struct sb_profile *p, const struct sb_access *a)
{
	for (size_t i = p->all.n; i-- > 0;) {
		struct sexp *rule = &p->all.kid[i];
		const char *head = sexp_head(rule);

		if (strcmp(head, "version") != 0 && sb_applies(rule, a))
			return !strcmp(head, "allow");
	}
	return 0;
}

static inline int sb_file(struct sb_profile *p, const char *op, const char *path, const char *type)
{
	const struct sb_access a = { .op = op, .path = path, .type = type };

	return sb_allows(p, &a);
}

/* A rename takes a name away and makes another. */
static inline int sb_rename(struct sb_profile *p, const char *from, const char *to, const char *type)
{
	return sb_file(p, "file-write-unlink", from, type) && sb_file(p, "file-write-create", to, type);
}

#endif
