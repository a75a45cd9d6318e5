/*
 * gates/rule_glob.h - do the patterns of a rule fit what a line names?
 *
 * What a line names is not always known: "src/$x" or "*.c" may be many things.
 * So there are three answers, and who asks says what the middle one means.
 *
 *	paths	*  ?  [abc]  [!abc] within a part, ** any number of parts; a pattern
 *		that names a directory covers what is below it
 *		/a/b	from the root of the file system
 *		~/a	from home
 *		a/b	from the workspace; so is ./a
 *		a	at any depth, wherever; so is ** /a (without the blank)
 *	refs	the same signs, and all of them match "/", too; refs/heads/ may be left out
 *	hosts	example.com that name, *.example.com names below it at any depth and not
 *		itself, a.*.b exactly one label, * every host - as the egress rules have it
 *
 * A backslash makes the sign behind it an ordinary one. Pure, and bounded by the
 * product of the two lengths.
 */
#ifndef GATES_RULE_GLOB_H
#define GATES_RULE_GLOB_H

#include <stdbool.h>

enum tri { TRI_NO, TRI_MAYBE, TRI_YES };

static inline enum tri tri_and(enum tri a, enum tri b)
{
	return a < b ? a : b;
}

static inline enum tri tri_or(enum tri a, enum tri b)
{
	return a > b ? a : b;
}

static inline enum tri tri_not(enum tri a)
{
	return (enum tri)(TRI_YES - a);
}

/**
 * glob_text() - One word against a pattern of one word
 * @is_literal:	false: "*", "?", "[" and PLACE_HOLE in @text stand for what is not known
 */
enum tri glob_text(const char *pattern, const char *text, bool is_literal);

/* What relative patterns and "~" start from; either may be NULL: what depends on it is TRI_MAYBE. */
struct glob_base {
	const char *root, *home;
};

/* glob_path() - @path is clean and absolute; @is_literal as above */
enum tri glob_path(const char *pattern, const struct glob_base *base, const char *path, bool is_literal);

/* glob_path_is_below() - true if what @pattern names lies below @path for sure */
bool glob_path_is_below(const char *pattern, const struct glob_base *base, const char *path);

/* glob_ref() - @ref is "main", "refs/heads/main" or "refs/tags/v1" */
enum tri glob_ref(const char *pattern, const char *ref);

enum tri glob_host(const char *pattern, const char *host);

/*
 * glob_bad_path() and kin - what is wrong with a pattern, as words that go behind
 * "pattern 'x' ", or NULL when it is fine
 */
const char *glob_bad_path(const char *pattern);
const char *glob_bad_ref(const char *pattern);
const char *glob_bad_host(const char *pattern);

#endif
