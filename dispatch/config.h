/*
 * dispatch/config.h - the user's own settings: $AGATE_CONFIG, or agate/config.json where XDG has it
 *
 *	{ "allowedDomains": [RULE...], "deniedDomains": [RULE...],	as --allow-domain, --deny-domain
 *	  "credentials": [{
 *		"name": NAME,			the variable that holds the placeholder inside
 *		"provider": "anthropic" | "openai" | "github",	fills in what is not said:
 *		"hosts": [RULE...], "placeholder": PREFIX, "header": {...}, "basic": {...},
 *		"from": {"env": NAME} | {"file": PATH} | {"command": [WORD...]}
 *	  }...],
 *	  "tlsTerminate": {...}, "routes": [...],	sandbox/egress/tls_config.h
 *	  "parentProxy": {...}, "mitmProxy": [...], "noProxy": [...] }	sandbox/egress/chain.h
 *	also "ignoreViolations": {...}	dispatch/ignore.h
 *
 * Nothing must be there; unknown members are an error, and so is a file that
 * somebody else can write. The secrets are read here, kept in locked pages
 * that no dump has, handed to the egress helper, and wiped.
 *
 * A credential for github.com forbids pushing there by a request rule: pushes
 * go through the push gate. A "routes" entry for github.com replaces that rule.
 */
#ifndef DISPATCH_CONFIG_H
#define DISPATCH_CONFIG_H

#include <stddef.h>

#include "base/strv.h"

struct err;
struct json;
struct place;

struct user_config {
	struct strv allow, deny;	/* domain rules */
	struct json *egress;		/* members for the egress helper; NULL: none */
	struct strv names;		/* of variables that hold placeholders */
	int looks_into_tls;
	struct json *file;		/* the whole, as read */
	char *secrets;			/* locked; each with a NUL behind it */
	size_t secrets_len;
};

/**
 * user_config_load() - Read and check the file; no secret yet
 * @ret:	on success the caller's to user_config_free(); empty when there is no file
 * @err:	ERR_INPUT, ERR_POLICY; ERR_NOTFOUND when $AGATE_CONFIG names none
 */
int user_config_load(const struct place *place, struct user_config *ret, struct err *err);

/**
 * user_config_reveal() - Read the secrets and make placeholders for them
 * @env:	appended: NAME=PLACEHOLDER of each credential, and where to find whom to believe
 * @err:	names the credential and its source, never what it gave
 *
 * May run the commands that the file names, each for CONFIG_COMMAND_MS at most.
 */
int user_config_reveal(struct user_config *c, const struct place *place, struct strv *env, struct err *err);

#define CONFIG_COMMAND_MS 30000

/* user_config_wipe() - the secrets were handed over; fine twice */
void user_config_wipe(struct user_config *c);

void user_config_free(struct user_config *c);

#endif
