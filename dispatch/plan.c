#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/plan.h"
#include "dispatch/request.h"
#include "dispatch/seam.h"
#include "sandbox/egress/ports.h"
#include "sandbox/policy.h"
#include "sandbox/spec.h"

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* --- where things are seen --- */

/* The workspace, as the command sees it. */
static const char *tree_of(const struct plan_facts *f)
{
	return f->is_bare ? f->workspace : f->original;
}

/* The private home, as the command sees it. */
static const char *home_of(const struct plan_facts *f)
{
	return f->is_bare ? f->run_home : f->home;
}

/* A path the user gave, as the command sees it: what lies in the original is in its copy. */
static char *seen_at(const struct plan_facts *f, const char *path)
{
	const char *rest = path + strlen(f->original);

	if (!f->is_bare || !path_under(path, f->original))
		return strdup(path);
	return *rest ? path_join(f->workspace, rest + strspn(rest, "/")) : strdup(f->workspace);
}

/* --- rules --- */

static const char *base_of(const struct plan_facts *f)
{
	return path_under(f->cwd, f->original) ? f->cwd : f->original;
}

/* Rules for the tree, written about the original. */
static char *join_seen(const struct plan_facts *f, const char *word)
{
	OWN(mem) char *path = path_join(base_of(f), word);

	return path ? seen_at(f, path) : NULL;
}

char *plan_rule(const struct plan_facts *f, const char *word)
{
	struct strv one = { 0 };
	char *rule;

	if (word[0] == '/')
		return seen_at(f, word);
	if (!strncmp(word, "**/", 3))
		return strdup(word);
	if (word[0] == '~' && (!word[1] || word[1] == '/'))
		return path_expand(word, f->home, "/");
	if (strchr(word, '/') || !strpbrk(word, "*?["))
		return join_seen(f, word);
	if (strv_addf(&one, "**/%s", word) < 0)
		return NULL;
	rule = TAKE(one.v[0]);
	one.n = 0;
	strv_done(&one);
	return rule;
}

static int add_rules(const struct plan_facts *f, const struct strv *words, struct strv *to)
{
	for (size_t i = 0; i < words->n; i++)
		if (strv_take(to, plan_rule(f, words->v[i])) < 0)
			return -1;
	return 0;
}

/* --- what must stay closed --- */

static int overlaps(const char *a, const char *b)
{
	return path_under(a, b) || path_under(b, a);
}

/* The state directory holds every run's record and tree: it is in no view. */
static int check_hidden(const struct plan_facts *f, const struct plan_bind *b, const char *option, struct err *err)
{
	if (!overlaps(b->host, f->state_dir))
		return 0;
	err_set(err, ERR_POLICY, 0, "may not show '%s' by %s: agate's own state is in '%s'", b->host, option,
		f->state_dir);
	return err_hint(err, "name what is needed in it, or move the state with AGATE_STATE_DIR");
}

static int check_write(const struct plan_facts *f, const struct plan_bind *b, struct err *err)
{
	if (check_hidden(f, b, "--write", err) < 0)
		return -1;
	for (size_t i = 0; f->originals && i < f->originals->n; i++) {
		if (!overlaps(b->host, f->originals->v[i]))
			continue;
		return err_set(err, ERR_POLICY, 0, "may not open '%s' by --write: '%s' is an original checkout, "
			       "which no run writes", b->host, f->originals->v[i]);
	}
	return 0;
}

/* What holds the workspace lies below it and is no matter; what lies in it would hide a part. */
static int check_guest(const struct plan_facts *f, const struct plan_bind *b, const char *option, struct err *err)
{
	if (!path_under(b->guest, f->original))
		return 0;
	return err_set(err, ERR_POLICY, 0, "may not show '%s' by %s: the run has its own copy of it", b->guest,
		       option);
}

/*
 * The innermost rule holds, so what is allowed again inside agate's own state
 * would be open wherever the state is in view.
 */
static int check_allow_read(const struct plan_facts *f, const char *word, struct err *err)
{
	OWN(mem) char *rule = plan_rule(f, word);

	if (!rule)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	/* Without mounts the run's own tree is seen there, too. */
	if (path_under(rule, f->state_dir) && !(f->is_bare && path_under(rule, f->workspace))) {
		err_set(err, ERR_POLICY, 0, "may not show '%s' by --allow-read: agate's own state is in '%s'", word,
			f->state_dir);
		return err_hint(err, "move the state with AGATE_STATE_DIR");
	}
	if (!strpbrk(rule, "*?[") || !(f->is_bare || (f->in_place && path_under(f->state_dir, f->original))))
		return 0;
	err_set(err, ERR_POLICY, 0, "may not take the pattern '%s' for --allow-read: agate's own state is in view here", word);
	return err_hint(err, "name the path, or move the state with AGATE_STATE_DIR");
}

static int check_asked(const struct plan_facts *f, struct err *err)
{
	for (size_t i = 0; i < f->request->allow_read.n; i++)
		if (check_allow_read(f, f->request->allow_read.v[i], err) < 0)
			return -1;
	for (size_t i = 0; i < f->n_sockets; i++)
		if (check_hidden(f, &f->sockets[i], "--allow-unix-socket", err) < 0 ||
		    check_guest(f, &f->sockets[i], "--allow-unix-socket", err) < 0)
			return -1;
	for (size_t i = 0; i < f->n_reads; i++)
		if (check_hidden(f, &f->reads[i], "--read", err) < 0 ||
		    check_guest(f, &f->reads[i], "--read", err) < 0)
			return -1;
	for (size_t i = 0; i < f->n_writes; i++)
		if (check_write(f, &f->writes[i], err) < 0 || check_guest(f, &f->writes[i], "--write", err) < 0)
			return -1;
	return 0;
}

/* --- binds --- */

/* What lies in the workspace is in its copy already. */
static int add_same(const struct plan_facts *f, const struct strv *paths, struct sandbox_spec *spec)
{
	for (size_t i = 0; paths && i < paths->n; i++)
		if (!path_under(paths->v[i], f->original) &&
		    spec_add_bind(spec, paths->v[i], paths->v[i], 1) < 0)
			return -1;
	return 0;
}

static int add_pairs(struct sandbox_spec *spec, const struct plan_bind *b, size_t n, int read_only)
{
	for (size_t i = 0; i < n; i++)
		if (spec_add_bind(spec, b[i].host, b[i].guest, read_only) < 0)
			return -1;
	return 0;
}

/* A socket is shown at its place, and may be connected to there. */
static int add_sockets(const struct plan_facts *f, struct sandbox_spec *spec)
{
	for (size_t i = 0; i < f->n_sockets; i++)
		if (strv_add(&spec->allow_unix_sockets, f->sockets[i].guest) < 0)
			return -1;
	return add_pairs(spec, f->sockets, f->n_sockets, 1);
}

static int by_guest(const void *a, const void *b)
{
	return strcmp(((const struct bind_mount *)a)->guest_path, ((const struct bind_mount *)b)->guest_path);
}

static void free_bind(struct bind_mount *b)
{
	free(b->host_path);
	free(b->guest_path);
}

/*
 * Outer before inner, which byte order gives; of two at one place the one that
 * was asked for by name stands, and that is the later one.
 */
static void order_binds(struct sandbox_spec *spec)
{
	size_t kept = 0;

	for (size_t i = 0; i < spec->n_binds; i++) {
		size_t j = i + 1;

		while (j < spec->n_binds && strcmp(spec->binds[j].guest_path, spec->binds[i].guest_path) != 0)
			j++;
		if (j < spec->n_binds)
			free_bind(&spec->binds[i]);
		else
			spec->binds[kept++] = spec->binds[i];
	}
	spec->n_binds = kept;
	if (kept)
		qsort(spec->binds, kept, sizeof(*spec->binds), by_guest);
}

/* Alternates name them where they are shown. */
static int add_objects(const struct plan_facts *f, struct sandbox_spec *spec)
{
	for (size_t i = 0; i < f->n_objects; i++)
		if (spec_add_bind(spec, f->objects[i].host, f->is_bare ? f->objects[i].host : f->objects[i].guest, 1) < 0)
			return -1;
	return 0;
}

/* Without mounts it has been moved to its place. Shown on its own all the same, so that it stays there. */
static int add_gitdir(const struct plan_facts *f, int read_only, struct sandbox_spec *spec)
{
	OWN(mem) char *moved = NULL;

	if (!f->gitdir)
		return 0;
	if (!f->is_bare)
		return spec_add_bind(spec, f->gitdir, f->guest_gitdir, read_only);
	moved = path_join(f->workspace, ".git");
	return moved ? spec_add_bind(spec, moved, moved, read_only) : -1;
}

static int add_binds(const struct plan_facts *f, struct sandbox_spec *spec)
{
	int read_only = mode_is_readonly((enum mode)f->request->mode);

	if (spec_add_bind(spec, f->run_home, home_of(f), 0) < 0 || add_same(f, f->tool_roots, spec) < 0 ||
	    (f->seam && add_same(f, &f->seam->roots, spec) < 0) ||
	    add_pairs(spec, f->reads, f->n_reads, 1) < 0 || add_pairs(spec, f->writes, f->n_writes, 0) < 0 ||
	    add_sockets(f, spec) < 0 || strv_copy(&spec->devices, &f->request->device) < 0 ||
	    add_objects(f, spec) < 0 || spec_add_bind(spec, f->workspace, tree_of(f), read_only) < 0)
		return -1;
	if (add_gitdir(f, read_only, spec) < 0)
		return -1;
	if (f->managed_host && spec_add_bind(spec, f->managed_host, f->seam->managed_guest, 1) < 0)
		return -1;
	order_binds(spec);
	return 0;
}

/* --- denials --- */

/* Git directories the run did not make: the original's in place, and others in the tree. */
static int add_git_dirs(const struct plan_facts *f, struct strv *deny_write)
{
	if (f->in_place && f->source_gitdir && policy_git_dir(f->source_gitdir, deny_write) < 0)
		return -1;
	for (size_t i = 0; f->nested && i < f->nested->n; i++) {
		OWN(mem) char *path = path_join(tree_of(f), f->nested->v[i]);

		if (!path || policy_git_dir(path, deny_write) < 0)
			return -1;
	}
	return 0;
}

/* A home that holds writable parts of the real one is not private any more. */
static int has_real_home(const struct plan_facts *f)
{
	for (size_t i = 0; i < f->n_writes; i++)
		if (overlaps(f->writes[i].guest, f->home))
			return 1;
	return 0;
}

static int add_write_denials(const struct plan_facts *f, struct strv *deny_write)
{
	if (policy_standard_denies(deny_write) < 0)
		return -1;
	if (has_real_home(f) && policy_home_writes(f->home, deny_write) < 0)
		return -1;
	/* Where the private home is not at the place of the real one, it stays private. */
	if ((f->is_bare || !has_real_home(f)) && policy_private_home(home_of(f), deny_write) < 0)
		return -1;
	for (size_t i = 0; f->seam && i < f->seam->writes.n; i++)
		if (strv_addf(deny_write, "!%s", f->seam->writes.v[i]) < 0)
			return -1;
	/* Last, since the last match wins: what is never to be opened, and the user's own words. */
	return add_git_dirs(f, deny_write) < 0 || add_rules(f, &f->request->deny_write, deny_write) < 0 ? -1 : 0;
}

/* What was asked for by its own name is shown even where it is a secret. */
static int add_consent(const struct plan_bind *b, size_t n, struct sandbox_spec *spec)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < spec->deny_read.n; j++)
			if (path_under(b[i].guest, spec->deny_read.v[j]) && !strv_has(&spec->allow_read, b[i].guest) &&
			    strv_add(&spec->allow_read, b[i].guest) < 0)
				return -1;
	return 0;
}

/* What is the run's own lies in the state directory, and is seen there where there are no mounts. */
static int add_own_places(const struct plan_facts *f, struct strv *allow_read)
{
	if (!f->is_bare)
		return 0;
	if (strv_add(allow_read, f->run_home) < 0)
		return -1;
	return f->in_place ? 0 : strv_add(allow_read, f->workspace);
}

static int add_read_denials(const struct plan_facts *f, struct sandbox_spec *spec)
{
	if ((f->n_reads || f->n_writes || f->request->audit_reads) &&
	    policy_home_secrets(f->home, &spec->deny_read) < 0)
		return -1;
	if (f->tool_masks && strv_copy(&spec->deny_read, f->tool_masks) < 0)
		return -1;
	/* It may lie in a system directory, or in the workspace that is used in place. */
	if (strv_add(&spec->deny_read, f->state_dir) < 0 || add_own_places(f, &spec->allow_read) < 0)
		return -1;
	if (add_rules(f, &f->request->deny_read, &spec->deny_read) < 0 ||
	    add_rules(f, &f->request->allow_read, &spec->allow_read) < 0)
		return -1;
	return add_consent(f->reads, f->n_reads, spec) < 0 || add_consent(f->sockets, f->n_sockets, spec) < 0 ?
		-1 : add_consent(f->writes, f->n_writes, spec);
}

/* In place, the original is the workspace, and what was asked for by name. */
static int add_protected(const struct plan_facts *f, struct strv *to)
{
	for (size_t i = 0; f->originals && i < f->originals->n; i++)
		if (!f->in_place || strcmp(f->originals->v[i], f->original) != 0)
			if (strv_add(to, f->originals->v[i]) < 0)
				return -1;
	return 0;
}

/* --- the rest --- */

static int add_names(const struct plan_facts *f, struct sandbox_spec *spec)
{
	const struct run_request *req = f->request;

	spec->session_id = strdup(f->run_id);
	spec->workspace_id = strdup(req->workspace_id ? req->workspace_id : f->run_id);
	spec->agent_id = strdup(agent_name((enum agent_kind)req->agent));
	spec->guest_workdir = seen_at(f, base_of(f));
	spec->guest_home = strdup(home_of(f));
	if (!spec->session_id || !spec->workspace_id || !spec->agent_id || !spec->guest_workdir ||
	    !spec->guest_home)
		return -1;
	/* The private home stays writable where the workspace is not. */
	return strv_add(&spec->runner_state_dirs, home_of(f));
}

/* In the one spelling, so that the same ports give the same digest. */
static int add_ports(const struct run_request *req, struct sandbox_spec *spec, struct err *err)
{
	for (size_t i = 0; i < req->publish.n; i++) {
		struct publish_rule rule;
		char text[PORTS_TEXT_SIZE];

		if (ports_parse_publish(req->publish.v[i], &rule, err) < 0)
			return -1;
		ports_show_publish(&rule, text);
		if (strv_add(&spec->publish, text) < 0)
			return no_memory(err);
	}
	for (size_t i = 0; i < req->host_port.n; i++) {
		uint16_t port;

		if (ports_parse_host(req->host_port.v[i], &port, err) < 0)
			return -1;
		if (strv_addf(&spec->host_ports, "%u", port) < 0)
			return no_memory(err);
	}
	return 0;
}

static int add_network(const struct plan_facts *f, struct sandbox_spec *spec)
{
	spec->network_enabled = f->request->network != NETWORK_DENY;
	if ((f->allow && strv_copy(&spec->egress_allow, f->allow) < 0) ||
	    (f->deny && strv_copy(&spec->egress_deny, f->deny) < 0))
		return -1;
	return strv_copy(&spec->egress_allow, &f->request->allow_domain) < 0 ||
		strv_copy(&spec->egress_deny, &f->request->deny_domain) < 0 ? -1 : 0;
}

int plan_spec(const struct plan_facts *f, struct sandbox_spec *ret, struct err *err)
{
	const struct run_request *req = f->request;
	OWN(spec) struct sandbox_spec spec = { .mode = (enum mode)req->mode };

	if (check_asked(f, err) < 0)
		return -1;
	if (f->is_bare && f->managed_host)
		return err_set(err, ERR_POLICY, 0, "cannot put the agent's managed settings at '%s': without namespaces "
			       "nothing can be shown there", f->seam->managed_guest);
	spec.limits.wall_ms = req->timeout_ms;
	spec.limits.cpu_ms = req->cpu_ms;
	spec.limits.memory_bytes = req->memory_bytes;
	spec.limits.pids = req->pids;
	if (add_ports(req, &spec, err) < 0)
		return -1;
	if (add_names(f, &spec) < 0 || add_network(f, &spec) < 0 || add_binds(f, &spec) < 0 ||
	    add_write_denials(f, &spec.deny_write) < 0 || add_read_denials(f, &spec) < 0 ||
	     add_protected(f, &spec.protected_paths) < 0)
		return no_memory(err);
	*ret = spec;
	spec = (struct sandbox_spec){ 0 };
	return 0;
}
