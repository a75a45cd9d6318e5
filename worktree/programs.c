/*
 * What git does with each key is from git-config(1) and gitattributes(5); that
 * the values below switch it off was tried with git 2.39.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "worktree/programs.h"

/*
 * Stands for an external diff: git 2.39 takes an empty name for a program. Seven arguments, one for what
 * is unmerged; a reader that has seen enough is no failure.
 */
#define PLAIN_DIFF "agate_diff() { trap '' PIPE; exec 2>/dev/null; [ $# -ge 7 ] || { echo \"* Unmerged path $1\"; return; }; " \
	"echo \"diff --git a/$1 b/$1\"; diff -u --label \"a/$1\" --label \"b/$1\" \"$2\" \"$5\"; :; }; agate_diff"

/* Which values name a program. */
enum names { ANY, BANG, PROGRAM, REMOTE, NONE };

/*
 * "*" stands for any part. The value is what git is told; NULL where it is enough
 * that no remote is spoken to, or that no pager is started. NONE goes along
 * with what else is off.
 */
static const struct row {
	const char *section, *sub, *key;
	enum names names;
	const char *off;
} rows[] = {
	{ "core", NULL, "fsmonitor", PROGRAM, "false" },
	{ "core", NULL, "hookspath", ANY, "/dev/null" },
	{ "core", NULL, "pager", PROGRAM, "cat" },
	{ "pager", NULL, "*", PROGRAM, "false" },
	{ "core", NULL, "sshcommand", ANY, "false" },
	{ "core", NULL, "gitproxy", ANY, NULL },
	{ "core", NULL, "alternaterefscommand", ANY, ":" },
	{ "diff", NULL, "external", ANY, PLAIN_DIFF },
	{ "diff", "*", "command", ANY, PLAIN_DIFF },
	{ "diff", "*", "textconv", ANY, "cat" },
	{ "diff", "*", "cachetextconv", NONE, "false" },
	{ "filter", "*", "clean", ANY, "" },
	{ "filter", "*", "smudge", ANY, "" },
	{ "filter", "*", "process", ANY, "" },
	{ "filter", "*", "required", NONE, "false" },
	{ "merge", "*", "driver", ANY, "false" },
	{ "gpg", NULL, "program", ANY, "false" },
	{ "gpg", "*", "program", ANY, "false" },
	{ "gpg", "*", "defaultkeycommand", ANY, "false" },
	{ "alias", NULL, "*", BANG, "!false" },
	{ "alias", "*", "command", BANG, "!false" },
	{ "hook", "*", "command", ANY, ":" },
	{ "man", "*", "cmd", ANY, "false" },
	{ "man", "*", "path", ANY, "false" },
	{ "browser", "*", "cmd", ANY, "false" },
	{ "browser", "*", "path", ANY, "false" },
	{ "remote", "*", "url", REMOTE, NULL },
	{ "remote", "*", "vcs", ANY, NULL },
	{ "remote", "*", "uploadpack", ANY, NULL },
};

/* What names a program, but one that everybody has or that is a word for yes and no. */
static const char *const tame[] = {
	"true", "false", "yes", "no", "on", "off", "1", "0", "", "cat", "more", "less", "less -R", "less -F", "less -X",
	"less -FRX", "less -FR", "less -RFX", "less -S",
};

/* git-lfs writes exactly these. */
static const struct {
	const char *key, *value;
} lfs[] = {
	{ "clean", "git-lfs clean -- %f" }, { "smudge", "git-lfs smudge -- %f" }, { "process", "git-lfs filter-process" },
	{ "required", "true" },
};

/* One assignment: the parts of its name, and its value. */
struct setting {
	const char *section, *sub, *key;	/* sub: NULL for none */
	const char *value;			/* NULL: no "=" */
};

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* --- what a setting means --- */

static int fits(const char *pattern, const char *part)
{
	if (!pattern || !part)
		return !pattern && !part;
	return !strcmp(pattern, "*") || !strcmp(pattern, part);
}

static int is_tame(const char *value)
{
	for (size_t i = 0; i < ARRAY_LEN(tame); i++)
		if (!strcasecmp(tame[i], value))
			return 1;
	return 0;
}

static int is_lfs(const struct setting *s)
{
	for (size_t i = 0; i < ARRAY_LEN(lfs); i++)
		if (!strcmp(s->section, "filter") && !strcmp(s->sub, "lfs") && !strcmp(s->key, lfs[i].key))
			return !strcmp(s->value ? s->value : "true", lfs[i].value);
	return 0;
}

/* "ext::COMMAND" and whatever else a helper program of git's is asked for. */
static int is_helper(const char *url)
{
	size_t n = strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");

	return n && !strncmp(url + n, "::", 2);
}

static int names_program(const struct row *row, const struct setting *s)
{
	const char *value = s->value ? s->value : "true";

	switch (row->names) {
	case BANG:
		return value[0] == '!';
	case PROGRAM:
		return !is_tame(value);
	case REMOTE:
		return is_helper(value);
	case ANY:
	case NONE:
		break;
	}
	return row->names == ANY && *value && !is_lfs(s);
}

static int has_off(const struct programs *p, const char *key)
{
	for (size_t i = 0; i < p->off.n; i += 2)
		if (!strcmp(p->off.v[i], key))
			return 1;
	return 0;
}

static int add_off(struct programs *p, const char *key, const char *value)
{
	return has_off(p, key) ? 0 : strv_add(&p->off, key) < 0 || strv_add(&p->off, value) < 0 ? -1 : 0;
}

static char *full_name(const struct setting *s, const char *key)
{
	OWN(buf) struct buf b = { 0 };

	buf_adds(&b, s->section);
	if (s->sub)
		buf_addf(&b, ".%s", s->sub);
	buf_addf(&b, ".%s", key);
	return buf_steal(&b);
}

/* A filter that is off must not be missed, and what an empty textconv makes is not to be kept. */
static int add_companion(struct programs *p, const struct row *row, const struct setting *s)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		OWN(mem) char *name = NULL;

		if (rows[i].names != NONE || strcmp(rows[i].section, row->section) != 0 || !s->sub)
			continue;
		name = full_name(s, rows[i].key);
		if (!name || add_off(p, name, rows[i].off) < 0)
			return -1;
	}
	return 0;
}

static int take(struct programs *p, const struct setting *s, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		OWN(mem) char *name = NULL;

		if (!fits(row->section, s->section) || !fits(row->sub, s->sub) || !fits(row->key, s->key) ||
		    !names_program(row, s))
			continue;
		name = full_name(s, s->key);
		if (!name)
			return no_memory(err);
		if (strv_has(&p->keys, name))
			return 0;
		if (p->keys.n >= PROGRAMS_MAX)
			return err_set(err, ERR_LIMIT, 0, "the git configuration names more than %d programs", PROGRAMS_MAX);
		if (strv_add(&p->keys, name) < 0 || (row->off && add_off(p, name, row->off) < 0) ||
		    add_companion(p, row, s) < 0)
			return no_memory(err);
		return 0;
	}
	return 0;
}

static int is_include(const struct setting *s)
{
	return s->value && *s->value && !strcmp(s->key, "path") &&
		(!strcmp(s->section, "include") || !strcmp(s->section, "includeif"));
}

/* --- git's grammar: config.c, get_base_var() and on --- */

struct reader {
	const char *at, *end;
	struct buf section, sub, key, value;
	int has_section, has_sub;
};

/* The next byte, with CRLF as one; -1 at the end. */
static int next(struct reader *r)
{
	if (r->at == r->end)
		return -1;
	if (*r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n')
		r->at++;
	return (unsigned char)*r->at++;
}

static int peek(const struct reader *r)
{
	struct reader copy = *r;

	return next(&copy);
}

static void skip_line(struct reader *r)
{
	int c;

	do
		c = next(r);
	while (c != -1 && c != '\n');
}

static int is_name(int c)
{
	return c != -1 && (isalnum(c) || c == '-');
}

/* Behind `[section `: "sub"], with \x for x. 0, or -1 where git finds none. */
static int read_sub(struct reader *r)
{
	int c;

	while ((c = next(r)) == ' ' || c == '\t')
		;
	if (c != '"')
		return -1;
	while ((c = next(r)) != '"') {
		if (c == '\\')
			c = next(r);
		if (c == -1 || c == '\n')
			return -1;
		buf_addc(&r->sub, (char)c);
	}
	r->has_sub = 1;
	return next(r) == ']' ? 0 : -1;
}

/* `[section.Sub]` is an old form, all in lower case. */
static void split_old(struct reader *r)
{
	char *dot = r->section.data ? strchr(r->section.data, '.') : NULL;

	if (!dot)
		return;
	buf_adds(&r->sub, dot + 1);
	r->section.len = (size_t)(dot - r->section.data);
	*dot = '\0';
	r->has_sub = 1;
}

static int read_header(struct reader *r)
{
	int c;

	buf_clear(&r->section);
	buf_clear(&r->sub);
	r->has_section = r->has_sub = 0;
	buf_adds(&r->section, "");
	buf_adds(&r->sub, "");
	for (;;) {
		c = next(r);
		if (c == ']')
			break;
		if (c == ' ' || c == '\t') {
			if (read_sub(r) < 0)
				return -1;
			break;
		}
		if (!is_name(c) && c != '.')
			return -1;
		buf_addc(&r->section, (char)tolower(c));
	}
	split_old(r);
	r->has_section = 1;
	return 0;
}

/* Up to the end of the line, or of the lines it goes on over. */
static void read_value(struct reader *r)
{
	int quoted = 0, commented = 0, c;
	size_t blanks = 0;

	buf_clear(&r->value);
	buf_adds(&r->value, "");
	while ((c = next(r)) != -1 && c != '\n') {
		if (commented)
			continue;
		if (!quoted && isspace(c)) {
			blanks += r->value.len > 0;
			continue;
		}
		if (!quoted && (c == '#' || c == ';')) {
			commented = 1;
			continue;
		}
		for (; blanks; blanks--)
			buf_addc(&r->value, ' ');
		if (c == '"') {
			quoted = !quoted;
			continue;
		}
		if (c == '\\') {
			c = next(r);
			if (c == '\n')
				continue;
			if (c == -1)
				return;
			c = c == 't' ? '\t' : c == 'n' ? '\n' : c == 'b' ? '\b' : c;
		}
		buf_addc(&r->value, (char)c);
	}
}

/* `key`, `key = value`: in r->key and r->value; *ret_has_value. -1: no such line. */
static int read_key(struct reader *r, int *ret_has_value)
{
	int c;

	buf_clear(&r->key);
	while (is_name(peek(r)))
		buf_addc(&r->key, (char)tolower(next(r)));
	while ((c = peek(r)) == ' ' || c == '\t')
		next(r);
	*ret_has_value = c == '=';
	if (c != '=' && c != '\n' && c != -1)
		return -1;
	next(r);
	if (c == '=')
		read_value(r);
	return 0;
}

static int read_setting(struct reader *r, struct programs *p, struct strv *includes, struct err *err)
{
	struct setting s = { 0 };
	int has_value;

	if (read_key(r, &has_value) < 0) {
		skip_line(r);
		return 0;
	}
	if (!r->has_section)
		return 0;
	if (r->section.failed || r->sub.failed || r->key.failed || r->value.failed)
		return no_memory(err);
	s = (struct setting){ r->section.data, r->has_sub ? r->sub.data : NULL, r->key.data, has_value ? r->value.data : NULL };
	if (is_include(&s))
		return strv_add(includes, s.value) < 0 ? no_memory(err) : 0;
	return take(p, &s, err);
}

static int scan(struct reader *r, struct programs *p, struct strv *includes, struct err *err)
{
	int c;

	if (r->end - r->at >= 3 && !memcmp(r->at, "\xef\xbb\xbf", 3))
		r->at += 3;
	while ((c = peek(r)) != -1) {
		if (isspace(c))
			next(r);
		else if (c == '[') {
			next(r);
			/* git ends here; who knows what another version does */
			if (read_header(r) < 0 && r->at[-1] != '\n')
				skip_line(r);
		} else if (!isalpha(c))
			skip_line(r);
		else if (read_setting(r, p, includes, err) < 0)
			return -1;
	}
	return 0;
}

int programs_scan(struct programs *p, const char *text, size_t len, struct strv *ret_includes, struct err *err)
{
	struct reader r = { .at = text, .end = text + len };
	int result = scan(&r, p, ret_includes, err);

	buf_done(&r.section);
	buf_done(&r.sub);
	buf_done(&r.key);
	buf_done(&r.value);
	return result;
}

void programs_done(struct programs *p)
{
	strv_done(&p->keys);
	strv_done(&p->off);
}

/* --- what git is told --- */

/* These need no name to be switched off, whether the repository names them or not. */
static const char *const always[][2] = {
	{ "core.fsmonitor", "false" }, { "core.hooksPath", "/dev/null" }, { "core.pager", "cat" },
	{ "log.showSignature", "false" }, { "gpg.program", "false" }, { "gpg.ssh.program", "false" },
	{ "gpg.x509.program", "false" }, { "gpg.openpgp.program", "false" }, { "core.sshCommand", "false" },
	{ "safe.bareRepository", "explicit" }, { "help.format", "man" }, { "man.viewer", "man" }, { "help.autoCorrect", "0" },
	{ "gc.auto", "0" }, { "maintenance.auto", "false" },
};

static const char *const words[] = {
	"GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat", "GIT_EDITOR=:", "GIT_SEQUENCE_EDITOR=:", "GIT_TERMINAL_PROMPT=0",
	"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_SSH_COMMAND=false", "GIT_ASKPASS=false",
	"GIT_CONFIG_GLOBAL=/dev/null", NULL,
};

static int add_pair(struct strv *env, size_t *n, const char *key, const char *value)
{
	size_t i = (*n)++;

	return strv_addf(env, "GIT_CONFIG_KEY_%zu=%s", i, key) < 0 ||
		strv_addf(env, "GIT_CONFIG_VALUE_%zu=%s", i, value) < 0 ? -1 : 0;
}

int programs_env(const struct programs *p, struct strv *ret)
{
	size_t n = 0;

	if (strv_copyv(ret, words) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(always); i++)
		if (add_pair(ret, &n, always[i][0], always[i][1]) < 0)
			return -1;
	for (size_t i = 0; i + 1 < p->off.n; i += 2)
		if (add_pair(ret, &n, p->off.v[i], p->off.v[i + 1]) < 0)
			return -1;
	return strv_addf(ret, "GIT_CONFIG_COUNT=%zu", n);
}
