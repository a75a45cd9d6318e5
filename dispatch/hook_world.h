/*
 * dispatch/hook_world.h - what the tool gate is told about this host
 *
 * The rules on names, the links of the file system and the domain rules live in
 * sandbox/ and on the disk, where gates/ does not look; here they are brought
 * together for struct tool_world. A run hands in the rules of its spec; beside an
 * agent that somebody else started, the standard policy stands for them.
 */
#ifndef DISPATCH_HOOK_WORLD_H
#define DISPATCH_HOOK_WORLD_H

#include "base/strv.h"
#include "gates/tool.h"
#include "sandbox/names.h"

struct egress_config;
struct err;
struct hook_event;
struct hook_world;
struct place;

struct hook_world {
	struct tool_world ops;		/* its cookie is this struct: do not copy it */
	struct names deny_write, deny_read;
	struct strv notes, logs;	/* for struct tool_request */
	char *data;			/* shipped domain lists; NULL: none */
	const struct strv *allow_domain, *deny_domain;	/* borrowed */
	int network_enabled;
	struct egress_config *egress;	/* read when a host is first asked for */
	char problem[256];		/* why that failed: every host is denied */
};

/**
 * hook_world_init() - Nothing is known yet
 * @allow_domain, @deny_domain: domain rules; borrowed until hook_world_done(); may be NULL
 * @data:	where the shipped lists are; may be NULL: then every host is denied
 */
int hook_world_init(struct hook_world *w, const struct strv *allow_domain, const struct strv *deny_domain,
		    const char *data, int network_enabled, struct err *err);

/* hook_world_rules() - append rules in sandbox/names.h's language; ERR_POLICY for one that is none */
int hook_world_rules(struct hook_world *w, const struct strv *deny_write, const struct strv *deny_read,
		     struct err *err);

/* hook_world_links() - from now on links are followed on the disk: where no sandbox of ours is */
void hook_world_links(struct hook_world *w);

/**
 * hook_world_standard() - The standard policy for a workspace that is no copy
 * @workspace:	clean, links followed; the settings of its .git are kept from being written
 */
int hook_world_standard(struct hook_world *w, const struct place *place, const char *workspace, struct err *err);

/**
 * hook_world_agent() - What the agent keeps for itself: its plans, and this session's results
 * @config_dir:	the agent's own, clean
 * @transcript:	of this session; NULL: not known
 */
int hook_world_agent(struct hook_world *w, const char *config_dir, const char *transcript, struct err *err);

void hook_world_done(struct hook_world *w);

/* hook_real() - @path with all links followed, those that lead nowhere too; the caller's to free(), or NULL */
char *hook_real(const char *path);

static inline void own_hook_world(struct hook_world *w)
{
	hook_world_done(w);
}

#endif
