/*
 * dispatch/cmd_rules.h - what the files of `agate rules` share
 */
#ifndef DISPATCH_CMD_RULES_H
#define DISPATCH_CMD_RULES_H

#include "dispatch/cli.h"
#include "dispatch/desk.h"
#include "gates/rule.h"
#include "worktree/repo.h"

struct json;

extern const struct command cmd_rules_add, cmd_rules_list, cmd_rules_rm, cmd_rules_explain, cmd_rules_test,
	cmd_rules_import, cmd_rules_export;

/* Whose rules: --scope and --id, as every command of them has it. */
struct rules_whose {
	int scope;	/* enum rule_scope, -1: not said */
	char *id;	/* NULL: not said */
};

extern const char *const rules_scope_words[];	/* of the scopes that can be stored, in their order */

/**
 * rules_settle() - Fill in what was left open
 * @ret_id:	for a workspace the checkout around here, links followed; the caller's to free()
 *
 * The other scopes have no default: ERR_USAGE.
 */
int rules_settle(const struct rules_whose *w, const struct desk *desk, enum rule_scope *ret_scope, char **ret_id,
		 struct err *err);

/* rules_root() - the checkout around @dir, or the current directory; @ret is the caller's to repo_done() */
int rules_root(const struct desk *desk, const char *dir, struct repo *ret, struct err *err);

/* rules_store() - into the database; ERR_BUSY with the number there is in *ret_id */
int rules_store(struct desk *desk, const struct rule *r, const char *provenance, int64_t *ret_id, struct err *err);

/* rules_words() - "deny gitPush, refs main": append */
void rules_words(struct buf *b, const struct rule *r);

/* rules_json() - a rule with its number, place and whether it still holds; NULL out of memory */
struct json *rules_json(const struct rule *r);

#endif
