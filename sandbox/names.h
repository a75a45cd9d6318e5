/*
 * sandbox/names.h - write-deny rules by path and name, decided on text alone
 *
 * The glob language: a rule is a path of parts; "*" and "?" match within a
 * part, "[abc]" and "[!abc]" one byte of it, "**" as a whole part any number of
 * parts. A rule starts with "/" or "**" "/". "!" in front makes an exception to
 * the rules before it (last match wins). A rule that names a directory covers
 * all below it.
 *
 * Compiled into both programs: the supervisor checks rules with it, the broker
 * decides with it. Libc only, no I/O but names_tree(), no globals. Bytes are
 * bytes; names need not be UTF-8.
 */
#ifndef SANDBOX_NAMES_H
#define SANDBOX_NAMES_H

#include <stddef.h>
#include <stdint.h>

#define NAMES_MAX_PARTS 60	/* of one rule: the matcher keeps its states in one word */
#define NAMES_MAX_RULES 4096	/* of one list: it keeps those words on the stack */

enum name_kind { NAME_LITERAL, NAME_GLOB, NAME_ANY_DEPTH };

struct name_part {
	enum name_kind kind;
	const char *text;	/* into the rule's own copy */
	size_t len;
};

struct name_rule {
	char *text;		/* as written: shown to people as the rule that decided */
	char *copy;
	int is_exception;
	uint64_t start;		/* the states before any part */
	size_t n_parts;
	struct name_part *parts;
};

/*
 * One part of each rule but exceptions: the one that says most. A rule denies
 * a path only where a name in it is like that part, and few names are: so most
 * paths are known to be allowed without looking at the rules.
 */
struct name_keys {
	uint64_t literals[64];	/* bits, by a hash of the name without case */
	const struct name_part **globs;	/* of rules that have no literal */
	size_t n_globs;
};

struct names {
	struct name_rule *rules;
	size_t n;
	int fold_case;		/* compare ASCII letters without case */
	struct name_keys keys;
};

/* names_add() - compile one more rule. 0, or -1 and errno: EINVAL not a rule, E2BIG, ENOMEM */
int names_add(struct names *n, const char *text);

/**
 * names_denied() - Is this path, or a directory it lies in, denied?
 * @path:	clean absolute path
 *
 * Return: the text of the rule that decided (lives as long as @n), or NULL
 */
const char *names_denied(const struct names *n, const char *path);

/*
 * names_unreadable() - the same where the more specific wins: of the rules for this path and the
 * directories it lies in, the deepest decides, and of those at one place the last. So what is
 * allowed again inside a denied directory is.
 */
const char *names_unreadable(const struct names *n, const char *path);

/*
 * names_start(), names_enter() - the same part by part, for who walks a tree
 *
 * @ret and @from hold one word a rule; they may be the same array. names_enter()
 * answers the rule that denies the path made longer by @name, or NULL; below a
 * denied path everything is, so there is no need to go on.
 */
void names_start(const struct names *n, uint64_t *ret);
const char *names_enter(const struct names *n, const uint64_t *from, const char *name, size_t len, uint64_t *ret);

/**
 * names_heads() - Would something below @path be denied by where @path is?
 * @path:	not denied itself
 *
 * True for "/w/.claude" under the rule "** /.claude/commands": a link placed
 * there would bring foreign content under the rule's path.
 * Return: that rule's text, or NULL
 */
const char *names_heads(const struct names *n, const char *path);

/**
 * names_tree() - Would the tree at @dirfd hold a denied path if it stood at @path?
 * @dirfd:	the directory, open for reading or O_PATH; stays the caller's
 * @path:	where it is or will be; not denied itself
 * @ret_rule:	the rule that decided
 *
 * Only rules that span the border are looked for: what lies wholly inside was
 * judged when it was made.
 * Return: 1 and *ret_rule if so; 0 if not; -1 when it could not be found out
 * (errno; E2BIG when the tree is too large to look through): treat as denied
 */
int names_tree(const struct names *n, int dirfd, const char *path, const char **ret_rule);

/* names_glob() - match one part; @fold compares ASCII letters without case */
int names_glob(const char *glob, size_t glob_len, const char *s, size_t len, int fold);

void names_done(struct names *n);

#endif
