#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/names.h"

/* How many directory entries names_tree() looks at before it gives up. */
#define TREE_MAX_ENTRIES 20000
#define TREE_MAX_DEPTH 64

static int fold(int c)
{
	return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

static int same(char a, char b, int folded)
{
	return a == b || (folded && fold((unsigned char)a) == fold((unsigned char)b));
}

/*
 * Match a bracket expression at g ("[...]"), whose end is at @end. Returns the
 * length of the expression, and whether @c is in it; 0 if it never closes.
 */
static size_t bracket(const char *g, const char *end, char c, int folded, int *ret_in)
{
	const char *p = g + 1;
	int negated = 0, in = 0, first = 1;

	if (p < end && (*p == '!' || *p == '^')) {
		negated = 1;
		p++;
	}
	for (; p < end && (first || *p != ']'); first = 0) {
		char lo = *p++, hi = lo;

		if (p + 1 < end && *p == '-' && p[1] != ']') {
			hi = p[1];
			p += 2;
		}
		if (((unsigned char)c >= (unsigned char)lo && (unsigned char)c <= (unsigned char)hi) ||
		    (folded && fold((unsigned char)c) >= fold((unsigned char)lo) &&
		     fold((unsigned char)c) <= fold((unsigned char)hi)))
			in = 1;
	}
	if (p >= end)
		return 0;
	*ret_in = in != negated;
	return (size_t)(p + 1 - g);
}

/* A plain byte at either end of a glob settles most comparisons. */
static int ends_differ(const char *glob, size_t glob_len, const char *s, size_t len, int folded)
{
	static const char special[] = "*?[]";

	if (!glob_len || !len)
		return 0;
	if (!memchr(special, glob[0], 4) && !same(glob[0], s[0], folded))
		return 1;
	return !memchr(special, glob[glob_len - 1], 4) && !same(glob[glob_len - 1], s[len - 1], folded);
}

/* One star is remembered at a time, so the cost is at most glob times name. */
int names_glob(const char *glob, size_t glob_len, const char *s, size_t len, int folded)
{
	const char *g = glob, *g_end = glob + glob_len, *s_end = s + len;
	const char *star = NULL, *star_s = NULL;

	if (ends_differ(glob, glob_len, s, len, folded))
		return 0;
	while (s < s_end) {
		size_t used = 0;
		int in = 0;

		if (g < g_end && *g == '*') {
			star = g++;
			star_s = s;
			continue;
		}
		if (g < g_end && *g == '?')
			used = 1;
		else if (g < g_end && *g == '[' && (used = bracket(g, g_end, *s, folded, &in)))
			used = in ? used : 0;
		else if (g < g_end && same(*g, *s, folded))
			used = 1;
		if (used) {
			g += used;
			s++;
		} else if (star) {
			g = star + 1;
			s = ++star_s;
		} else {
			return 0;
		}
	}
	while (g < g_end && *g == '*')
		g++;
	return g == g_end;
}

static int part_matches(const struct names *n, const struct name_part *p, const char *s, size_t len)
{
	if (p->kind == NAME_ANY_DEPTH)
		return 1;
	if (p->kind == NAME_GLOB)
		return names_glob(p->text, p->len, s, len, n->fold_case);
	if (p->len != len)
		return 0;
	if (!n->fold_case)
		return !memcmp(p->text, s, len);
	for (size_t i = 0; i < len; i++)
		if (!same(p->text[i], s[i], 1))
			return 0;
	return 1;
}

/* --- a rule as a small automaton: bit i set means parts before i are matched --- */

/* A "**" may match nothing, so whoever stands before it also stands behind it. */
static uint64_t closure(const struct name_rule *r, uint64_t states)
{
	for (size_t i = 0; i < r->n_parts; i++)
		if ((states >> i & 1) && r->parts[i].kind == NAME_ANY_DEPTH)
			states |= (uint64_t)1 << (i + 1);
	return states;
}

static uint64_t step(const struct names *n, const struct name_rule *r, uint64_t states,
		     const char *s, size_t len)
{
	uint64_t next = 0;

	/* Nearly always: still at the leading "**", and the name is not the one behind it. */
	if (states == r->start && r->parts[0].kind == NAME_ANY_DEPTH && !part_matches(n, &r->parts[1], s, len))
		return states;
	for (size_t i = 0; i < r->n_parts; i++) {
		if (!(states >> i & 1) || !part_matches(n, &r->parts[i], s, len))
			continue;
		next |= (uint64_t)1 << (r->parts[i].kind == NAME_ANY_DEPTH ? i : i + 1);
	}
	return closure(r, next);
}

static int accepts(const struct name_rule *r, uint64_t states)
{
	return states >> r->n_parts & 1;
}

/*
 * Standing at the very start through a leading "**" says nothing of where we
 * are; standing further in does.
 */
static uint64_t inside(const struct name_rule *r, uint64_t states)
{
	return states & ~r->start & ~((uint64_t)1 << r->n_parts);
}

void names_start(const struct names *n, uint64_t *ret)
{
	for (size_t i = 0; i < n->n; i++)
		ret[i] = n->rules[i].start;
}

const char *names_enter(const struct names *n, const uint64_t *from, const char *name, size_t len, uint64_t *ret)
{
	const struct name_rule *last = NULL;

	for (size_t i = 0; i < n->n; i++) {
		const struct name_rule *r = &n->rules[i];

		ret[i] = step(n, r, from[i], name, len);
		if (accepts(r, ret[i]))
			last = r;
	}
	return last && !last->is_exception ? last->text : NULL;
}

/* --- most paths are like no rule at all --- */

static unsigned int literal_bit(const char *s, size_t len)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint32_t)fold((unsigned char)s[i])) * 16777619u;
	return (h ^ h >> 16) % (64 * 64);
}

static int is_like_key(const struct names *n, const char *s, size_t len)
{
	unsigned int bit = literal_bit(s, len);

	if (n->keys.literals[bit / 64] >> (bit % 64) & 1)
		return 1;
	for (size_t i = 0; i < n->keys.n_globs; i++)
		if (part_matches(n, n->keys.globs[i], s, len))
			return 1;
	return 0;
}

/* 0 if no rule can deny @path or a directory it lies in. */
static int may_be_denied(const struct names *n, const char *path)
{
	while (*(path += strspn(path, "/"))) {
		size_t len = strcspn(path, "/");

		if (is_like_key(n, path, len))
			return 1;
		path += len;
	}
	return 0;
}

/* The part that says most: a literal, else a pattern, of several the last. */
static const struct name_part *key_part(const struct name_rule *r)
{
	const struct name_part *best = NULL;

	for (size_t i = 0; i < r->n_parts; i++) {
		const struct name_part *p = &r->parts[i];

		if (p->kind == NAME_LITERAL || (p->kind == NAME_GLOB && (!best || best->kind == NAME_GLOB)))
			best = p;
	}
	return best;
}

/* Take note of what a path must hold for @r to deny it. 0, or -1 when out of memory */
static int note_key(struct names *n, const struct name_rule *r)
{
	const struct name_part *key = key_part(r), **globs;
	unsigned int bit;

	if (r->is_exception)
		return 0;
	if (key->kind == NAME_LITERAL) {
		bit = literal_bit(key->text, key->len);
		n->keys.literals[bit / 64] |= (uint64_t)1 << (bit % 64);
		return 0;
	}
	globs = realloc(n->keys.globs, (n->keys.n_globs + 1) * sizeof(*globs));
	if (!globs)
		return -1;
	n->keys.globs = globs;
	globs[n->keys.n_globs++] = key;
	return 0;
}

const char *names_denied(const struct names *n, const char *path)
{
	uint64_t states[NAMES_MAX_RULES];

	if (!may_be_denied(n, path))
		return NULL;
	names_start(n, states);
	while (*(path += strspn(path, "/"))) {
		size_t len = strcspn(path, "/");
		const char *rule = names_enter(n, states, path, len, states);

		if (rule)
			return rule;
		path += len;
	}
	return NULL;
}

const char *names_unreadable(const struct names *n, const char *path)
{
	uint64_t states[NAMES_MAX_RULES];
	const struct name_rule *decides = NULL;

	if (!may_be_denied(n, path))
		return NULL;
	names_start(n, states);
	while (*(path += strspn(path, "/"))) {
		size_t len = strcspn(path, "/");

		for (size_t i = 0; i < n->n; i++) {
			states[i] = step(n, &n->rules[i], states[i], path, len);
			if (accepts(&n->rules[i], states[i]))
				decides = &n->rules[i];
		}
		path += len;
	}
	return decides && !decides->is_exception ? decides->text : NULL;
}

/*
 * Where rule @r stands after all of @path. Goes on behind a place it accepts: who
 * asks knows that @path is not denied, so an exception lifted that place, and
 * the rule may begin anew below it.
 */
static uint64_t run(const struct names *n, const struct name_rule *r, const char *path)
{
	uint64_t states = r->start;

	while (states && *(path += strspn(path, "/"))) {
		size_t len = strcspn(path, "/");

		states = step(n, r, states, path, len);
		path += len;
	}
	return states;
}

const char *names_heads(const struct names *n, const char *path)
{
	for (size_t i = 0; i < n->n; i++) {
		const struct name_rule *r = &n->rules[i];

		if (!r->is_exception && inside(r, run(n, r, path)))
			return r->text;
	}
	return NULL;
}

/* --- looking through a tree for what a rule would deny --- */

struct search {
	const struct names *names;
	const struct name_rule *rule;
	char path[PATH_MAX];
	size_t len;
	unsigned int budget;
	const char *found;
};

static int search_dir(struct search *s, int dirfd, uint64_t states, unsigned int depth);

/* Look at one entry; @states are those before its name. */
static int search_entry(struct search *s, int dirfd, const char *name, uint64_t states, unsigned int depth)
{
	size_t old = s->len, len = strlen(name);
	int fd, r = 0;

	states = step(s->names, s->rule, states, name, len);
	if (!inside(s->rule, states) && !accepts(s->rule, states))
		return 0;
	if (s->len + len + 2 > sizeof(s->path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	s->path[s->len++] = '/';
	memcpy(s->path + s->len, name, len + 1);
	s->len += len;
	if (accepts(s->rule, states) && (s->found = names_denied(s->names, s->path)))
		r = 1;
	if (!r && inside(s->rule, states)) {
		fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0) {
			r = search_dir(s, fd, states, depth + 1);
			close(fd);
		} else if (errno != ENOTDIR && errno != ELOOP && errno != ENOENT) {
			r = -1;
		}
	}
	s->len = old;
	s->path[old] = '\0';
	return r;
}

/* If the only ways on are literal names, the one to look for; else NULL. */
static const struct name_part *single_literal(const struct name_rule *r, uint64_t states)
{
	const struct name_part *only = NULL;

	for (size_t i = 0; i < r->n_parts; i++) {
		if (!(states >> i & 1))
			continue;
		if (only || r->parts[i].kind != NAME_LITERAL)
			return NULL;
		only = &r->parts[i];
	}
	return only;
}

static int search_dir(struct search *s, int dirfd, uint64_t states, unsigned int depth)
{
	const struct name_part *only = s->names->fold_case ? NULL : single_literal(s->rule, states);
	struct dirent *e;
	struct stat st;
	DIR *dir;
	int fd, r = 0;

	if (depth > TREE_MAX_DEPTH) {
		errno = E2BIG;
		return -1;
	}
	if (only) {
		char name[NAME_MAX + 1];

		if (only->len > NAME_MAX)
			return 0;
		memcpy(name, only->text, only->len);
		name[only->len] = '\0';
		if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
		return search_entry(s, dirfd, name, states, depth);
	}
	fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	while (!r && (errno = 0, e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (!s->budget--) {
			errno = E2BIG;
			r = -1;
		} else {
			r = search_entry(s, fd, e->d_name, states, depth);
		}
	}
	if (!e && errno)
		r = -1;
	closedir(dir);
	return r;
}

int names_tree(const struct names *n, int dirfd, const char *path, const char **ret_rule)
{
	struct search s = { .names = n, .budget = TREE_MAX_ENTRIES };

	s.len = strlen(path);
	if (s.len >= sizeof(s.path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (size_t i = 0; i < n->n; i++) {
		uint64_t states;
		int r;

		s.rule = &n->rules[i];
		if (s.rule->is_exception)
			continue;
		states = inside(s.rule, run(n, s.rule, path));
		if (!states)
			continue;
		memcpy(s.path, path, s.len + 1);
		r = search_dir(&s, dirfd, states, 0);
		if (r) {
			*ret_rule = r > 0 ? s.found : s.rule->text;
			return r;
		}
	}
	return 0;
}

/* --- building --- */

static int has_glob(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (s[i] == '*' || s[i] == '?' || s[i] == '[')
			return 1;
	return 0;
}

/* Cut @r->copy into parts; 0, or -1 with errno. */
static int cut_parts(struct name_rule *r, char *p)
{
	while (*(p += strspn(p, "/"))) {
		struct name_part *part = &r->parts[r->n_parts];
		size_t len = strcspn(p, "/");

		if (r->n_parts == NAMES_MAX_PARTS) {
			errno = E2BIG;
			return -1;
		}
		if ((len == 1 && p[0] == '.') || (len == 2 && p[0] == '.' && p[1] == '.')) {
			errno = EINVAL;
			return -1;
		}
		part->text = p;
		part->len = len;
		part->kind = len == 2 && !memcmp(p, "**", 2) ? NAME_ANY_DEPTH :
			     has_glob(p, len) ? NAME_GLOB : NAME_LITERAL;
		p += len;
		r->n_parts++;
	}
	/* "dir/" and "dir/" "**" both mean dir and all below: the rule is dir itself. */
	while (r->n_parts > 1 && r->parts[r->n_parts - 1].kind == NAME_ANY_DEPTH)
		r->n_parts--;
	if (!r->n_parts || (r->n_parts == 1 && r->parts[0].kind == NAME_ANY_DEPTH)) {
		errno = EINVAL;
		return -1;
	}
	return 0;
}

static void rule_done(struct name_rule *r)
{
	free(r->text);
	free(r->copy);
	free(r->parts);
}

int names_add(struct names *n, const char *text)
{
	struct name_rule *rules, r = { .is_exception = text[0] == '!' };
	const char *body = text + r.is_exception;

	if (body[0] != '/' && strncmp(body, "**/", 3)) {
		errno = EINVAL;
		return -1;
	}
	if (n->n == NAMES_MAX_RULES) {
		errno = E2BIG;
		return -1;
	}
	r.text = strdup(text);
	r.copy = strdup(body);
	r.parts = calloc(NAMES_MAX_PARTS, sizeof(*r.parts));
	rules = realloc(n->rules, (n->n + 1) * sizeof(*rules));
	if (rules)
		n->rules = rules;
	if (!r.text || !r.copy || !r.parts || !rules) {
		rule_done(&r);
		errno = ENOMEM;
		return -1;
	}
	if (cut_parts(&r, r.copy) < 0) {
		int saved = errno;

		rule_done(&r);
		errno = saved;
		return -1;
	}
	r.start = closure(&r, 1);
	n->rules[n->n] = r;
	if (note_key(n, &r) < 0) {
		rule_done(&r);
		errno = ENOMEM;
		return -1;
	}
	n->n++;
	return 0;
}

void names_done(struct names *n)
{
	for (size_t i = 0; i < n->n; i++)
		rule_done(&n->rules[i]);
	free(n->rules);
	free(n->keys.globs);
	*n = (struct names){ 0 };
}
