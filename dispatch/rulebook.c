#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "db/policies.h"
#include "dispatch/rulebook.h"
#include "gates/guard.h"

/* --- files --- */

static void add_text(struct rule_set *set, int fd, const char *name, enum rule_file kind)
{
	OWN(buf) struct buf b = { 0 };
	struct err err = { 0 };

	buf_adds(&b, "");
	if (io_read_fd(fd, RULE_FILE_MAX_BYTES, &b, &err) < 0)
		rule_set_broken(set, "cannot read the rules in '%s': %s", name, err.msg);
	else if (rule_set_read(set, b.data, b.len, name, kind, &err) < 0)
		rule_set_broken(set, "%s", err.msg);
}

/* One that is not there is fine; one that is there has to be read. */
static void add_managed(struct rule_set *set, const char *path)
{
	OWN(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd >= 0)
		add_text(set, fd, path, RULE_FILE_MANAGED);
	else if (errno != ENOENT && errno != ENOTDIR)
		rule_set_broken(set, "cannot open the managed rules '%s': %s", path, strerror(errno));
}

/* The repository's files are not trusted: no links, no devices, no waiting. */
static int open_repository(const char *root)
{
	OWN(fd) int top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	OWN(fd) int dir = -1;
	struct stat st;

	if (top < 0 || fstatat(top, ".agate", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (!S_ISDIR(st.st_mode)) {
		/* A link may hide rules; a file of that name is somebody else's. */
		errno = S_ISLNK(st.st_mode) ? ELOOP : ENOENT;
		return -1;
	}
	dir = openat(top, ".agate", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return dir < 0 ? -1 : openat(dir, "policy.json", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

static void add_repository(struct rule_set *set, const char *root)
{
	OWN(fd) int fd = open_repository(root);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return;
	if (fd < 0)
		rule_set_broken(set, "cannot open the repository's rules '%s/%s': %s", root, RULEBOOK_REPOSITORY,
				strerror(errno));
	else if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		rule_set_broken(set, "the repository's rules '%s/%s' are no plain file", root, RULEBOOK_REPOSITORY);
	else
		add_text(set, fd, RULEBOOK_REPOSITORY, RULE_FILE_REPOSITORY);
}

/* --- the database --- */

int policy_rule(const struct policy_row *row, struct rule *ret, struct err *err)
{
	OWN(json) struct json *j = NULL;
	OWN(rule) struct rule r = { 0 };
	OWN(buf) struct buf id = { 0 };
	enum rule_scope scope;
	char place[32];

	snprintf(place, sizeof(place), "rule %lld", (long long)row->id);
	buf_adds(&id, "");
	if (json_parse(row->rule, strlen(row->rule), NULL, &j, err) < 0)
		return err_wrap(err, "%s", place);
	if (rule_from_json(j, place, &r, err) < 0)
		return -1;
	if (rule_scope_parse(row->scope, &scope) < 0 || scope > RULE_WORKSPACE)
		return err_set(err, ERR_INPUT, 0, "%s: no scope is called '%s'", place, row->scope);
	if (text_restore(&id, row->scope_id) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	free(r.provenance);
	r.provenance = strdup(row->provenance);
	if (!r.provenance)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	r.id = row->id;
	r.expires_us = row->expires_us;
	if (rule_set_scope(&r, scope, id.data, err) < 0)
		return -1;
	*ret = r;
	r = (struct rule){ 0 };
	return 0;
}

static int add_row(void *cookie, const struct policy_row *row)
{
	struct rule_set *set = cookie;
	struct rule r = { 0 };
	struct err err = { 0 };

	if (policy_rule(row, &r, &err) < 0 || rule_set_take(set, &r, &err) < 0)
		rule_set_broken(set, "%s", err.msg);
	return 0;
}

/* --- all of them --- */

void rulebook_load(struct db *db, const char *root, struct rulebook *ret)
{
	const char *further = getenv("AGATE_MANAGED_POLICY");
	struct rule_set *set = &ret->set;
	struct err err = { 0 };

	*ret = (struct rulebook){ 0 };
	add_managed(set, RULEBOOK_MANAGED);
	if (further && *further)
		add_managed(set, further);
	if (root)
		add_repository(set, root);
	if (policies_each(db, &(struct policy_filter){ 0 }, add_row, set, &err) < 0)
		rule_set_broken(set, "cannot read the rules: %s", err.msg);
	if (!set->problem[0] && rule_set_self_test(set, &err) < 0)
		rule_set_broken(set, "%s", err.msg);
	if (rule_set_digest(set, ret->digest) < 0)
		rule_set_broken(set, "out of memory");
}

void rulebook_done(struct rulebook *b)
{
	rule_set_done(&b->set);
}

/* --- the network of a whole run --- */

static int is_owners(const struct rule *r, const struct rule_owner *o)
{
	const char *const ids[] = { o->space, o->agent, o->workspace };

	if (r->scope > RULE_WORKSPACE)
		return 1;
	return (ids[r->scope] && !strcmp(r->scope_id, ids[r->scope])) ||
		(r->scope == RULE_WORKSPACE && !strcmp(r->scope_id, "*"));
}

/* Only hosts, and none of them "!". */
static int is_about_hosts_alone(const struct rule *r)
{
	const struct strv *hosts = &r->only.list[RULE_HOSTS];

	for (int l = 0; l < RULE_LIST_NUM; l++)
		if (l != RULE_HOSTS && r->only.list[l].n)
			return 0;
	for (size_t i = 0; i < hosts->n; i++)
		if (*hosts->v[i] == '!')
			return 0;
	return !r->command && r->only.max_count < 0;
}

const struct rule *rulebook_network(const struct rulebook *b, const struct rule_owner *owner, int64_t now_us,
				    struct strv *ret_hosts, int *ret_failed)
{
	const struct rule *off = NULL;

	*ret_failed = 0;
	for (size_t i = 0; i < b->set.n; i++) {
		const struct rule *r = &b->set.v[i];
		const struct strv *hosts = &r->only.list[RULE_HOSTS];
		int is_network = r->classes ? !!(r->classes & 1u << EFFECT_NETWORK_EGRESS) : hosts->n != 0;

		if (!is_network || r->decision != DECISION_DENY || r->enforcement != RULE_HARD || !is_owners(r, owner) ||
		    (r->expires_us && r->expires_us <= now_us) || !is_about_hosts_alone(r))
			continue;
		if (!hosts->n || strv_has(hosts, "*"))
			off = off ? off : r;
		else if (strv_copy(ret_hosts, hosts) < 0)
			*ret_failed = -1;
	}
	return off;
}
