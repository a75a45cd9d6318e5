/*
 * sandbox/init/judge.c - what may be done at a place
 *
 * The zone decides first (is this part of the tree writable at all?), then the
 * name rules. Both look at the resolved path alone, so the verdict is the same
 * whatever trick a path played to get there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/init/broker.h"

const struct zone *zone_of(const struct broker *b, const char *path)
{
	const struct zone *best = NULL;

	for (size_t i = 0; i < b->n_zones; i++) {
		const struct zone *z = &b->zones[i];

		if (best && z->len < best->len)
			continue;
		/* "/" has length 0 here, so that every path lies below it. */
		if (!strncmp(path, z->path, z->len) && (path[z->len] == '/' || !path[z->len] || !z->len))
			best = z;
	}
	return best;
}

int holds_zone(const struct broker *b, const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < b->n_zones; i++)
		if (!strncmp(b->zones[i].path, path, len) &&
		    (b->zones[i].path[len] == '/' || !b->zones[i].path[len]))
			return 1;
	return 0;
}

int is_native(const struct place *p)
{
	return p->zone && (p->zone->kind == ZONE_NATIVE || p->zone->kind == ZONE_DEV);
}

static int is_digits(const char *s, size_t n)
{
	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (s[i] < '0' || s[i] > '9')
			return 0;
	return 1;
}

/*
 * Files of /proc/PID and /proc/PID/task/TID that programs write about
 * themselves and that reach nothing else. "mem" is not among them: opened by
 * us it would carry our rights.
 */
static int is_own_proc_file(const char *path)
{
	static const char *const files[] = { "comm", "oom_score_adj", "oom_adj", "coredump_filter",
					     "timerslack_ns", "clear_refs", "autogroup" };
	const char *p = path + strlen("/proc/");
	size_t n = strcspn(p, "/");

	if (strncmp(path, "/proc/", 6) || !is_digits(p, n) || p[n] != '/')
		return 0;
	p += n + 1;
	if (!strncmp(p, "task/", 5)) {
		p += 5;
		n = strcspn(p, "/");
		if (!is_digits(p, n) || p[n] != '/')
			return 0;
		p += n + 1;
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (!strcmp(p, files[i]))
			return 1;
	return 0;
}

int proc_is_closed(const struct broker *b, const char *path)
{
	const char *p = path + strlen("/proc/");
	size_t n;

	if (strncmp(path, "/proc/", 6))
		return 0;
	n = strcspn(p, "/");
	if (!is_digits(p, n))
		return 0;
	/* Pid 1 is bwrap's, outside the command's Landlock domain. Without namespaces all others are in view. */
	return b->bare ? !target_is_ours(b, (pid_t)strtol(p, NULL, 10)) : n == 1 && *p == '1';
}

/* Where no mount keeps things out of view, we must not reach for them in the command's place. */
static const char *judge_view(const struct broker *b, const char *path)
{
	const struct zone *z = zone_of(b, path);

	if (!z || z->kind == ZONE_HIDDEN)
		return z ? z->rule : "outside the sandbox";
	return z->kind == ZONE_PROC && proc_is_closed(b, path) ? "/proc of other processes" : NULL;
}

const char *judge_read(const struct broker *b, const char *path)
{
	const char *rule = NULL;

	if (path[0] != '/')
		return NULL;
	if (b->bare)
		rule = judge_view(b, path);
	return rule ? rule : names_unreadable(&b->reads, path);
}

const char *judge_place_read(const struct broker *b, const struct place *p)
{
	if (p->foreign)	/* in no tree of ours, so in nobody's view */
		return p->path[0] == '/' ? names_unreadable(&b->reads, p->path) : NULL;
	return judge_read(b, p->path);
}

/* What a user shows by a bind lies in a zone of its own, and is shown whatever its mode. */
static int is_in_secret_root(const struct broker *b, const char *path)
{
	static const char *const roots[] = { SECRET_ROOTS };
	const struct zone *z = zone_of(b, path);

	for (size_t i = 0; z && z->kind == ZONE_READ && i < sizeof(roots) / sizeof(roots[0]); i++) {
		size_t len = strlen(roots[i]);

		if (!strncmp(path, roots[i], len) && path[len] == '/' && (!z->len || !strcmp(z->path, roots[i])))
			return 1;
	}
	return 0;
}

/* The directory @p lies in; of what was reached without a name, by its path. */
static int stat_parent(const struct broker *b, const struct place *p, struct stat *ret)
{
	const char *slash = strrchr(p->path, '/');
	char dir[PATH_MAX];

	if (p->name[0])
		return fstat(p->dir, ret);
	if (!slash)
		return -1;
	memcpy(dir, p->path, (size_t)(slash - p->path) + 1);
	dir[slash - p->path + 1] = '\0';
	return fstatat(b->root, dir, ret, 0);
}

static int is_for_others(const struct broker *b, const struct place *p, int fd)
{
	struct stat st;

	if (stat_parent(b, p, &st) < 0 || !(st.st_mode & S_IXOTH) || fstat(fd, &st) < 0)
		return 0;
	return S_ISDIR(st.st_mode) || (st.st_mode & S_IROTH);
}

const char *judge_secret(const struct broker *b, const struct place *p, int fd)
{
	if (!b->blob->reads_more || !is_in_secret_root(b, p->path) || is_for_others(b, p, fd))
		return NULL;
	return "only root may read it";
}

int leads_into_view(const struct broker *b, const struct place *p)
{
	struct stat st;

	return b->bare && p->name[0] && p->zone && p->zone->kind == ZONE_HIDDEN &&
	       !fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode);
}

/* A terminal made inside is on a file system of the run's own. */
static int is_hosts_node(const struct broker *b, const struct place *p)
{
	return p->zone && p->zone->kind == ZONE_DEV && (b->bare || strncmp(p->path, "/dev/pts/", 9));
}

int judge_attributes(const struct request *r, const struct place *p, const char **ret_rule)
{
	if (!p->denied && is_hosts_node(r->b, p)) {
		*ret_rule = "/dev";
		return EPERM;
	}
	return judge_write(r, p, ret_rule);
}

int judge_write(const struct request *r, const struct place *p, const char **ret_rule)
{
	/* A rule met on the way holds whatever the zone. */
	if (p->denied) {
		*ret_rule = p->denied;
		return EACCES;
	}
	if (!p->zone) {
		*ret_rule = "outside the sandbox";
		return EACCES;
	}
	switch (p->zone->kind) {
	case ZONE_HIDDEN:
		*ret_rule = p->zone->rule;
		return EACCES;
	case ZONE_READ:
		*ret_rule = p->zone->rule;
		return EROFS;
	case ZONE_PROC:
		*ret_rule = "/proc";
		return is_own_proc_file(p->path) && !proc_is_closed(r->b, p->path) ? 0 : EACCES;
	case ZONE_WRITE:
		*ret_rule = names_denied(&r->b->names, p->path);
		return *ret_rule ? EACCES : 0;
	case ZONE_NATIVE:
	case ZONE_PRIVATE:
	case ZONE_DEV:
		return 0;
	case ZONE_NUM:
		break;
	}
	*ret_rule = "no rule for this place";
	return EACCES;
}
