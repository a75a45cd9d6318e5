#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/hook_world.h"
#include "dispatch/place.h"
#include "sandbox/egress/config.h"
#include "sandbox/policy.h"
#include "sandbox/spec.h"

#define MAX_LINKS 40	/* as the kernel has it */

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* --- links --- */

/* Where the link at @path points, as text; NULL with errno 0 when it is none. */
static char *read_link(const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	OWN(mem) char *dir = NULL;

	if (n <= 0) {
		errno = errno == EINVAL || errno == ENOENT || errno == ENOTDIR ? 0 : errno;
		return NULL;
	}
	target[n] = '\0';
	dir = path_parent(path);
	return dir ? path_join(dir, target) : NULL;
}

/* path_resolve() stops at a link to nowhere, and writing through one makes a file there. */
char *hook_real(const char *path)
{
	OWN(mem) char *at = path_resolve(path);

	for (int i = 0; at && i < MAX_LINKS; i++) {
		char *next = read_link(at);
		int failed = errno;

		if (!next)
			return failed ? NULL : TAKE(at);
		free(at);
		at = path_resolve(next);
		free(next);
	}
	return NULL;
}

static char *real(void *cookie, const char *path)
{
	(void)cookie;
	return hook_real(path);
}

/* --- names --- */

static const char *path_rule(void *cookie, const char *path, bool is_write)
{
	const struct hook_world *w = cookie;
	const char *rule = names_denied(&w->deny_read, path);

	return !rule && is_write ? names_denied(&w->deny_write, path) : rule;
}

static int add_names(struct names *names, const struct strv *rules, struct err *err)
{
	for (size_t i = 0; rules && i < rules->n; i++)
		if (names_add(names, rules->v[i]) < 0)
			return errno == ENOMEM ? no_memory(err) :
				err_set(err, ERR_POLICY, 0, "'%s' is no rule for paths", rules->v[i]);
	return 0;
}

int hook_world_rules(struct hook_world *w, const struct strv *deny_write, const struct strv *deny_read,
		     struct err *err)
{
	return add_names(&w->deny_write, deny_write, err) < 0 ? -1 : add_names(&w->deny_read, deny_read, err);
}

static int add_literal(struct strv *to, const char *path)
{
	OWN(mem) char *rule = spec_rule_of_path(path);

	return rule ? strv_add(to, rule) : -1;
}

/* What judges it is not the agent's to see or change: the state as a whole, or, around a run's workspace, its records. */
static int add_own(const struct place *place, const char *workspace, struct strv *deny_write, struct strv *deny_read)
{
	static const char *const records[] = { "agate.db", "agate.db-wal", "agate.db-shm", "agate.db.lock", "originals" };

	if (add_literal(deny_write, "/etc/agate") < 0)
		return -1;
	if (!path_under(workspace, place->state))
		return add_literal(deny_read, place->state);
	for (size_t i = 0; i < ARRAY_LEN(records); i++) {
		OWN(mem) char *path = path_join(place->state, records[i]);

		if (!path || add_literal(deny_read, path) < 0)
			return -1;
	}
	return 0;
}

/* A rule for a directory around the workspace would close the workspace itself. */
static void drop_around(struct strv *rules, const char *workspace)
{
	size_t kept = 0;

	for (size_t i = 0; i < rules->n; i++)
		if (rules->v[i][0] == '/' && path_under(workspace, rules->v[i]))
			free(rules->v[i]);
		else
			rules->v[kept++] = rules->v[i];
	rules->n = kept;
	if (rules->v)
		rules->v[kept] = NULL;
}

int hook_world_standard(struct hook_world *w, const struct place *place, const char *workspace, struct err *err)
{
	OWN(strv) struct strv deny_write = { 0 };
	OWN(strv) struct strv deny_read = { 0 };
	OWN(mem) char *gitdir = path_join(workspace, ".git");

	if (!gitdir || policy_standard_denies(&deny_write) < 0 || policy_git_dir(gitdir, &deny_write) < 0 ||
	    policy_home_writes(place->home, &deny_write) < 0 || policy_home_secrets(place->home, &deny_read) < 0 ||
	    add_own(place, workspace, &deny_write, &deny_read) < 0)
		return no_memory(err);
	drop_around(&deny_write, workspace);
	drop_around(&deny_read, workspace);
	return hook_world_rules(w, &deny_write, &deny_read, err);
}

/* --- hosts: judged as the egress helper would --- */

static char *egress_text(const struct hook_world *w)
{
	OWN(json) struct json *j = json_new_object();
	struct json *lists = json_add_array(j, "lists");

	if (!lists || !json_add_str(j, "run", "hook") || !json_add_bool(j, "networkEnabled", w->network_enabled) ||
	    !json_add_str(j, "dataDir", w->data) || !json_add_str(lists, NULL, "baseline") ||
	    !json_add_str(lists, NULL, "github") ||
	    (w->allow_domain && !json_add_strv(j, "allow", w->allow_domain)) ||
	    (w->deny_domain && !json_add_strv(j, "deny", w->deny_domain)))
		return NULL;
	return json_print(j);
}

static void read_egress(struct hook_world *w)
{
	OWN(mem) char *text = w->data ? egress_text(w) : NULL;
	struct err err = { 0 };

	w->egress = calloc(1, sizeof(*w->egress));
	if (!w->data)
		err_set(&err, ERR_MISSING, 0, "the shipped lists of domains are not there");
	else if (!text || !w->egress)
		no_memory(&err);
	else if (!config_parse(text, strlen(text), w->egress, &err))
		return;
	free(w->egress);
	w->egress = NULL;
	snprintf(w->problem, sizeof(w->problem), "no host can be judged: %.200s", err.msg);
}

/* What a rule denies, what leads inside, and what is no host are no question for anybody. */
static enum tool_host weigh(const struct egress_verdict *v, char *ret_why, size_t size)
{
	if (v->allowed)
		return TOOL_HOST_ALLOWED;
	snprintf(ret_why, size, "%.*s", (int)size - 1, v->reason);
	return v->why == REFUSAL_NO_RULE || v->why == REFUSAL_PORT ? TOOL_HOST_UNKNOWN : TOOL_HOST_DENIED;
}

static enum tool_host host(void *cookie, const char *name, uint16_t port, char *ret_why, size_t size)
{
	struct hook_world *w = cookie;
	struct egress_verdict by_rule = { 0 }, by_address = { .allowed = 1 };
	struct host h;
	const char *why;

	if (host_parse(name, strlen(name), &h, &why) < 0) {
		snprintf(ret_why, size, "%s", why);
		return TOOL_HOST_DENIED;
	}
	if (!w->egress && !w->problem[0])
		read_egress(w);
	if (!w->egress) {
		snprintf(ret_why, size, "%s", w->problem);
		return TOOL_HOST_DENIED;
	}
	policy_judge(&w->egress->policy, &h, port, &by_rule);
	/* Somebody wrote a rule for the very address, or it has to be a public one. */
	if (h.is_address && !by_rule.allowed)
		by_address.allowed = address_class(&h.ip) == ADDRESS_PUBLIC;
	if (by_address.allowed)
		return weigh(&by_rule, ret_why, size);
	snprintf(ret_why, size, "'%s' is %s", name, address_class_words(address_class(&h.ip)));
	return TOOL_HOST_DENIED;
}

/* --- the whole --- */

int hook_world_init(struct hook_world *w, const struct strv *allow_domain, const struct strv *deny_domain,
		    const char *data, int network_enabled, struct err *err)
{
	*w = (struct hook_world){
		.ops = { .path_rule = path_rule, .host = host, .cookie = w }, .allow_domain = allow_domain,
		.deny_domain = deny_domain, .network_enabled = network_enabled,
	};
	w->data = data ? strdup(data) : NULL;
	return data && !w->data ? no_memory(err) : 0;
}

void hook_world_links(struct hook_world *w)
{
	w->ops.real = real;
}

int hook_world_agent(struct hook_world *w, const char *config_dir, const char *transcript, struct err *err)
{
	OWN(mem) char *plans = path_join(config_dir, "plans");
	OWN(mem) char *projects = path_join(config_dir, "projects");
	size_t n = transcript ? strlen(transcript) : 0;

	if (!plans || !projects || strv_add(&w->notes, plans) < 0)
		return no_memory(err);
	/* "projects/NAME/SESSION.jsonl" is the transcript, "projects/NAME/SESSION/" what goes with it. */
	if (n > 6 && !strcmp(transcript + n - 6, ".jsonl") && path_under(transcript, projects) &&
	    strv_addn(&w->logs, transcript, n - 6) < 0)
		return no_memory(err);
	return 0;
}

void hook_world_done(struct hook_world *w)
{
	names_done(&w->deny_write);
	names_done(&w->deny_read);
	strv_done(&w->notes);
	strv_done(&w->logs);
	free(w->data);
	if (w->egress)
		config_done(w->egress);
	free(w->egress);
	*w = (struct hook_world){ 0 };
}
