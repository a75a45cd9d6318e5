/*
 * What Linux decides for a spec, about files of the host: may the run read,
 * change, move or execute this one? Zones as runner/native_blob.c makes them,
 * verdicts as sandbox/init/judge.c and ops_name.c give them, names by
 * sandbox/names.h itself.
 *
 * A file of the host may be in view through a bind, or as part of the system,
 * and is not where another bind lies over it. What is in view nowhere can
 * neither be read nor changed.
 */
#ifndef TEST_SEATBELT_LINUX_H
#define TEST_SEATBELT_LINUX_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "base/path.h"
#include "sandbox/names.h"
#include "sandbox/spec.h"

struct lx {
	const struct sandbox_spec *spec;
	struct names names;
};

static inline void lx_init(struct lx *lx, const struct sandbox_spec *spec, int fold)
{
	*lx = (struct lx){ .spec = spec, .names.fold_case = fold };
	for (size_t i = 0; i < spec->deny_write.n; i++)
		assert_int_equal(names_add(&lx->names, spec->deny_write.v[i]), 0);
}

static inline void lx_done(struct lx *lx)
{
	names_done(&lx->names);
}

/* --- where is it seen? --- */

/* macOS's links; on Linux such a path would be the same place. */
static inline void lx_resolve(const char *path, char ret[4096])
{
	static const char *const links[] = { "/tmp", "/var", "/etc" };
	const char *prefix = "";

	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		if (path_under(path, links[i]))
			prefix = "/private";
	snprintf(ret, 4096, "%s%s", prefix, path);
}

/* Where @host is seen through bind @i: 1 and the path inside, or 0 */
static inline int lx_guest(const struct lx *lx, size_t i, const char *host, char ret[4096])
{
	const struct bind_mount *m = &lx->spec->binds[i];
	char here[4096], top[4096];
	const char *rest;

	lx_resolve(host, here);
	lx_resolve(m->host_path, top);
	if (!path_under(here, top))
		return 0;
	rest = here + (strcmp(top, "/") ? strlen(top) : (size_t)!here[1]);
	snprintf(ret, 4096, "%s%s", m->guest_path, rest);
	for (size_t j = 0; j < lx->spec->n_binds; j++)
		if (strlen(lx->spec->binds[j].guest_path) > strlen(m->guest_path) &&
		    path_under(ret, lx->spec->binds[j].guest_path))
			return 0;
	return 1;
}

static inline int lx_is_system(const struct lx *lx, const char *host)
{
	static const char *const dirs[] = { "/usr", "/bin", "/sbin", "/etc", "/opt", "/nix" };

	for (size_t j = 0; j < lx->spec->n_binds; j++)
		if (path_under(host, lx->spec->binds[j].guest_path))
			return 0;
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		if (path_under(host, dirs[i]))
			return 1;
	return !strcmp(host, "/") || !strcmp(host, "/dev/null") || !strcmp(host, "/dev/urandom");
}

/* --- reading --- */

/* Does the rule match exactly this path? By its parts, one after the other. */
static inline int lx_exactly(const char *rule, const char *path, size_t len, int fold)
{
	size_t r, p;

	rule += *rule == '/';
	if (len && *path == '/') {
		path++;
		len--;
	}
	if (!*rule || !len)
		return !len && (!*rule || !strcmp(rule, "**"));
	r = strcspn(rule, "/");
	for (p = 0; p < len && path[p] != '/'; p++)
		;
	if (r == 2 && !memcmp(rule, "**", 2))
		return lx_exactly(rule + r, path, len, fold) || lx_exactly(rule, path + p, len - p, fold);
	return names_glob(rule, r, path, p, fold) && lx_exactly(rule + r, path + p, len - p, fold);
}

static inline int lx_any(const struct strv *rules, const char *path, size_t len, int want_glob)
{
	for (size_t i = 0; i < rules->n; i++)
		if ((strpbrk(rules->v[i], "*?[") != NULL) == want_glob && lx_exactly(rules->v[i], path, len, 0))
			return 1;
	return 0;
}

/*
 * The deepest path that is named as it is decides, an allowance beating an equal
 * denial; patterns that match deeper are stronger, and among them the denial.
 */
static inline int lx_read_denied(const struct lx *lx, const char *guest)
{
	const struct sandbox_spec *spec = lx->spec;
	int denied = 0, deny_deeper = 0, allow_deeper = 0;

	for (size_t len = 1; len <= strlen(guest); len++) {
		int deny, allow, deny_glob, allow_glob;

		if (guest[len] != '/' && guest[len])
			continue;
		deny = lx_any(&spec->deny_read, guest, len, 0);
		allow = lx_any(&spec->allow_read, guest, len, 0);
		deny_glob = lx_any(&spec->deny_read, guest, len, 1);
		allow_glob = lx_any(&spec->allow_read, guest, len, 1);
		if (deny || allow) {
			denied = deny && !allow && !allow_glob;
			deny_deeper = allow_deeper = 0;
		} else {
			deny_deeper |= deny_glob;
			allow_deeper |= allow_glob;
		}
	}
	return deny_deeper ? 1 : allow_deeper ? 0 : denied;
}

static inline int lx_reads(const struct lx *lx, const char *host)
{
	char guest[4096];

	for (size_t i = 0; i < lx->spec->n_binds; i++)
		if (lx_guest(lx, i, host, guest) && !lx_read_denied(lx, guest))
			return 1;
	return lx_is_system(lx, host) && !lx_read_denied(lx, host);
}

/* --- writing --- */

/* Below the bind, is it masked, or allowed again in what is? Both are read-only mounts. */
static inline int lx_masked(const struct lx *lx, const char *top, const char *guest)
{
	const struct sandbox_spec *spec = lx->spec;

	if (lx_read_denied(lx, top))
		return 1;
	for (size_t len = strlen(top) + 1; len <= strlen(guest); len++) {
		if (guest[len] != '/' && guest[len])
			continue;
		if (lx_any(&spec->deny_read, guest, len, 1))
			return 1;
		if (lx_any(&spec->deny_read, guest, len, 0) && !lx_any(&spec->allow_read, guest, len, 0) &&
		    !lx_any(&spec->allow_read, guest, len, 1))
			return 1;
	}
	return 0;
}

static inline int lx_under(const char *path, const char *dir)
{
	char a[4096], b[4096];

	lx_resolve(path, a);
	lx_resolve(dir, b);
	return path_under(a, b);
}

/* As lx_reads(), and not in a writable bind but below execGrantRoots, which Linux itself does not look at. */
static inline int lx_executes(const struct lx *lx, const char *host)
{
	const struct strv *roots = &lx->spec->exec_grant_roots;
	char guest[4096];

	for (size_t i = 0; i < lx->spec->n_binds; i++) {
		if (!lx_guest(lx, i, host, guest) || lx_read_denied(lx, guest))
			continue;
		if (!spec_bind_is_writable(lx->spec, &lx->spec->binds[i]))
			return 1;
		for (size_t k = 0; k < roots->n; k++)
			if (path_under(guest, roots->v[k]) || lx_under(host, roots->v[k]))
				return 1;
	}
	return lx_is_system(lx, host) && strcmp(host, "/") != 0 && !lx_read_denied(lx, host);
}

static inline int lx_protected(const struct lx *lx, const char *host)
{
	for (size_t i = 0; i < lx->spec->protected_paths.n; i++)
		if (lx_under(host, lx->spec->protected_paths.v[i]))
			return 1;
	return 0;
}

/* judge_write(): the path inside through the bind that makes it writable, or 0 */
static inline int lx_writable(const struct lx *lx, const char *host, char guest[4096])
{
	for (size_t i = 0; i < lx->spec->n_binds; i++) {
		const struct bind_mount *m = &lx->spec->binds[i];

		if (spec_bind_is_writable(lx->spec, m) && lx_guest(lx, i, host, guest) &&
		    !lx_protected(lx, host) && !lx_masked(lx, m->guest_path, guest) &&
		    !names_denied(&lx->names, guest))
			return 1;
	}
	return !strcmp(host, "/dev/null");
}

static inline int lx_writes(const struct lx *lx, const char *host)
{
	char guest[4096];

	return lx_writable(lx, host, guest);
}

/* holds_zone(): mounts, and what they lie in, stay */
static inline int lx_holds_zone(const struct lx *lx, const char *host, const char *guest)
{
	for (size_t i = 0; i < lx->spec->n_binds; i++)
		if (path_under(lx->spec->binds[i].guest_path, guest))
			return 1;
	for (size_t i = 0; i < lx->spec->protected_paths.n; i++)
		if (lx_under(lx->spec->protected_paths.v[i], host))
			return 1;
	return 0;
}

/*
 * names_heads(), but that one takes a path for denied as soon as the same rule
 * matches above it, even where an exception lifts that.
 */
static inline int lx_heads(const struct lx *lx, const char *path)
{
	for (size_t i = 0; i < lx->names.n; i++) {
		const struct name_rule *r = &lx->names.rules[i];
		const char *lead = r->text;
		char head[4096];

		if (r->is_exception)
			continue;
		while (!strncmp(lead, "**/", 3) || !strncmp(lead, "/**/", 4))
			lead += *lead == '/' ? 3 : 2;
		/* Every beginning of the rule that is more than the leading "**". */
		for (const char *end = lead + 1; (end = strchr(end, '/')); end++) {
			snprintf(head, sizeof(head), "%.*s", (int)(end - r->text), r->text);
			if (lx_exactly(head, path, strlen(path), lx->names.fold_case))
				return 1;
		}
	}
	return 0;
}

/* What holds a mount exists. */
static inline int lx_creates(const struct lx *lx, const char *host, const char *type)
{
	char guest[4096];

	return lx_writable(lx, host, guest) && !lx_holds_zone(lx, host, guest) &&
		(strcmp(type, "SYMLINK") || !lx_heads(lx, guest));
}

static inline int lx_unlinks(const struct lx *lx, const char *host)
{
	char guest[4096];

	return lx_writable(lx, host, guest) && !lx_holds_zone(lx, host, guest);
}

/* A directory that holds @file, for names_tree(). */
static inline int lx_tree(const char *file, char root[64])
{
	char part[512];
	int dir, fd;

	snprintf(root, 64, "/tmp/agate-seatbelt-XXXXXX");
	assert_non_null(mkdtemp(root));
	dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (const char *s = file; (s = strchr(s, '/')); s++) {
		snprintf(part, sizeof(part), "%.*s", (int)(s - file), file);
		mkdirat(dir, part, 0700);
	}
	fd = openat(dir, file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	return dir;
}

/* judge_arrival() of a directory with @holds in it */
static inline int lx_may_hold(const struct lx *lx, const char *from, const char *to, const char *holds)
{
	char root[64], command[96];
	const char *rule;
	int dir = lx_tree(holds, root);
	int found = names_tree(&lx->names, dir, to, &rule) || names_tree(&lx->names, dir, from, &rule);

	close(dir);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	assert_int_equal(system(command), 0);
	return !found;
}

/* @holds: a file in the directory that moves, or NULL */
static inline int lx_renames(const struct lx *lx, const char *from, const char *to, const char *type,
			     const char *holds)
{
	char guest_from[4096], guest_to[4096];

	if (!lx_writable(lx, from, guest_from) || !lx_writable(lx, to, guest_to) ||
	    lx_holds_zone(lx, from, guest_from) || lx_holds_zone(lx, to, guest_to))
		return 0;
	if (!strcmp(type, "SYMLINK") && lx_heads(lx, guest_to))
		return 0;
	return !holds || lx_may_hold(lx, guest_from, guest_to, holds);
}

#endif
