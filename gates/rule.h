/*
 * gates/rule.h - guardrail rules: what somebody wants allowed, asked about or denied
 *
 * A rule names a scope, what it is about (classes of effects, or commands that
 * begin with certain words, or only constraints on the arguments), and a
 * decision. As JSON:
 *
 *	{"scope": "workspace", "scopeId": "/home/u/p", "class": "gitPush",
 *	 "constraint": {"refs": ["main", "release/v1"]}, "decision": "deny",
 *	 "enforcement": "hard", "expires": "2027-01-01T00:00:00Z",
 *	 "provenance": "user", "reason": "releases are made by hand",
 *	 "match": ["git push origin main"], "not_match": ["git push origin topic"]}
 *
 * agate-rules(5) tells what each field means, gates/guard.h what follows from all
 * of them together. Reading is strict: an unknown field or word, a pattern that
 * is none, or a rule about nothing is an error that says where. Pure.
 */
#ifndef GATES_RULE_H
#define GATES_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/strv.h"
#include "gates/command.h"
#include "gates/rule_words.h"

struct err;
struct json;

/* The nearer first. */
enum rule_scope {
	RULE_SPACE,		/* one conversation */
	RULE_AGENT,
	RULE_WORKSPACE,		/* one checkout, or "*" for every one */
	RULE_MANAGED,		/* the machine's owner; only tightens */
	RULE_REPOSITORY,	/* a file of the repository; only tightens, never written as a word */
	RULE_SCOPE_NUM
};

const char *rule_scope_name(enum rule_scope s);
int rule_scope_parse(const char *word, enum rule_scope *ret);	/* the first three and "managed" */

enum rule_enforcement {
	RULE_HARD,	/* holds */
	RULE_SOFT,	/* a denial that somebody who is asked may override */
	RULE_ADVISORY,	/* put on record, and nothing else */
	RULE_ENFORCEMENT_NUM
};

const char *rule_enforcement_name(enum rule_enforcement e);

/*
 * What it is held to; an empty list asks for nothing. In a list one pattern that
 * fits is enough, and one with "!" in front that fits is too much; a list of such
 * alone means "anything but". All lists have to fit.
 */
enum rule_list {
	RULE_PATHS, RULE_REFS, RULE_HOSTS,	/* gates/rule_glob.h */
	RULE_COMMANDS,				/* gates/rule_words.h */
	RULE_LINES,				/* the whole line, byte for byte; "!" is nothing special */
	RULE_CWD,				/* where it is run: path patterns */
	RULE_TOOLS,				/* the agent's tool: patterns of one word */
	RULE_LIST_NUM
};

/* rule_list_name() - "paths", ... as in JSON */
const char *rule_list_name(enum rule_list l);

struct rule_constraint {
	struct strv list[RULE_LIST_NUM];
	int64_t max_count;		/* things named; -1: any number */
};

#define RULE_ALL_CLASSES ((1u << EFFECT_NUM) - 1)

struct rule {
	int64_t id;			/* of a stored one; else 0 */
	enum rule_scope scope;
	char *scope_id;			/* "" where the scope has none */
	unsigned int classes;		/* bits of enum effect_class; 0: not about classes */
	char *command;			/* a pattern; NULL: not about commands */
	struct rule_constraint only;
	enum decision decision;
	enum rule_enforcement enforcement;
	int64_t expires_us;		/* 0: never */
	char *provenance;		/* "user", "remembered", ...; "" not said */
	char *reason;			/* "" none */
	struct strv match, not_match;	/* shell lines it must, and must not, apply to */
	char *place;			/* "rule 12", "'/etc/agate/policy.json': rule 3" */

	struct rule_words *words;	/* of .command, then of the commands list without their "!" */
	size_t words_n;
};

void rule_done(struct rule *r);

/* rule_is_constrained() - it says more than a class */
bool rule_is_constrained(const struct rule *r);

/* effect_class_parse() - 0, or -1 for a word that is no class */
int effect_class_parse(const char *word, enum effect_class *ret);

/**
 * rule_from_json() - Read one rule
 * @place:	where it stands, for messages and for explaining; copied
 * @ret:	the caller's to rule_done(); scope workspace with id "*" where it says none
 * @err:	ERR_INPUT: "PLACE: field 'decision': ..."; ERR_NOMEM
 */
int rule_from_json(const struct json *j, const char *place, struct rule *ret, struct err *err);

/* rule_set_scope() - give a rule that was read another scope; checks as rule_finish() does */
int rule_set_scope(struct rule *r, enum rule_scope scope, const char *id, struct err *err);

/* rule_to_json() - as it is read; the caller's to json_free(), NULL out of memory */
struct json *rule_to_json(const struct rule *r);

/* rule_body() - canonical text without scope, expiry and provenance: what is stored; NULL out of memory */
char *rule_body(const struct rule *r);

/* rule_add_pattern() - check @pattern and append it; for building rules */
int rule_add_pattern(struct rule *r, enum rule_list list, const char *pattern, struct err *err);

/* rule_finish() - check a rule that was built by hand, and read its patterns; as rule_from_json() does */
int rule_finish(struct rule *r, struct err *err);

/* --- sets --- */

/* A zeroed struct is a valid empty set. */
struct rule_set {
	struct rule *v;
	size_t n, cap;
	char problem[512];	/* not empty: something of it cannot be read, so all is denied */
};

void rule_set_done(struct rule_set *set);

/* rule_set_take() - append; owns *r afterwards, also on failure, and leaves it zeroed */
int rule_set_take(struct rule_set *set, struct rule *r, struct err *err);

/* rule_set_broken() - note why nothing may run; the first reason stays */
void rule_set_broken(struct rule_set *set, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What rule_set_read() makes of a file. */
enum rule_file {
	RULE_FILE_PLAIN,	/* as exported: each rule names its scope */
	RULE_FILE_MANAGED,	/* all of scope managed */
	RULE_FILE_REPOSITORY	/* all of the repository */
};

#define RULE_FILE_MAX_BYTES (1u << 20)
#define RULE_SET_MAX 2000u

/**
 * rule_set_read() - Read {"version": 1, "rules": [...]} and append its rules
 * @name:	the file, for messages
 *
 * Return: 0, or -1 with @err and the set as it was
 */
int rule_set_read(struct rule_set *set, const char *text, size_t len, const char *name, enum rule_file kind,
		  struct err *err);

/* rule_set_digest() - of everything that could change a verdict; 0, or -1 out of memory */
int rule_set_digest(const struct rule_set *set, char ret[DIGEST_HEX_SIZE]);

static inline void own_rule(struct rule *r)
{
	rule_done(r);
}

static inline void own_rule_set(struct rule_set *set)
{
	rule_set_done(set);
}

#endif
