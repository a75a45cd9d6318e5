/*
 * sandbox/root_only.c - what only root may read, below directories that all may
 *
 * Each entry has to be looked at anew for each run, since its bits may change
 * without a trace in the directory. So it is done with as few calls as there can
 * be, and may be done ahead by a thread beside the rest of a run's start.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/strv.h"
#include "sandbox/init/proto.h"
#include "sandbox/policy.h"

#define MAX_WALK 100000		/* entries below one system directory */
#define MAX_DEPTH 40
#define ENTRIES_SIZE 32768	/* bytes of names at a time */
#define AHEAD_MS 500		/* what was seen longer ago is not believed */

#define FIRST_USER_GROUP 1000	/* login.defs(5), GID_MIN */
#define USERS_GROUP 100		/* everybody's, where a distribution has it */
#define MAX_GROUPS 65536

/* Those that runner/ asks about: one that is missing here is looked through when it does. */
static const char *const guarded_dirs[] = { SECRET_ROOTS, NULL };

int policy_reads_more(void)
{
	int n = getgroups(0, NULL), more;
	OWN(mem) gid_t *groups = NULL;

	if (geteuid() == 0 || getegid() < FIRST_USER_GROUP)
		return 1;
	groups = n >= 0 && n <= MAX_GROUPS ? calloc((size_t)n + 1, sizeof(*groups)) : NULL;
	more = !groups || getgroups(n, groups) != n;
	for (int i = 0; !more && i < n; i++)
		more = groups[i] < FIRST_USER_GROUP && groups[i] != USERS_GROUP;
	return more;
}

/* --- the walk --- */

struct walk {
	struct strv *ret;
	struct err *err;
	char path[PATH_MAX];
	size_t len;
	unsigned int left;	/* entries we are willing to look at */
	char *entries[MAX_DEPTH + 1];	/* one room for names a level, made when it is reached */
};

static void own_walk(struct walk *w)
{
	for (size_t i = 0; i < ARRAY_LEN(w->entries); i++)
		free(w->entries[i]);
}

static int note(struct walk *w)
{
	return strv_add(w->ret, w->path) < 0 ? err_set(w->err, ERR_NOMEM, 0, "no memory for '%s'", w->path) : 0;
}

/* Others may not have it and we may: has to be hidden. */
static int is_ours_alone(int dirfd, const char *name, mode_t mode, int is_dir)
{
	mode_t others = is_dir ? 01 : 04;

	return !(mode & others) && faccessat(dirfd, name, is_dir ? X_OK : R_OK, AT_EACCESS) == 0;
}

static int walk_dir(struct walk *w, int fd, unsigned int depth);

/*
 * "/etc/shadow.lock" and "/etc/shadow.4711" hold a process number, and are there for
 * a moment, while an account is changed: what covered one would find nothing to cover.
 */
static int is_lock(const char *name, const struct stat *st)
{
	static const char *const files[] = { "passwd", "shadow", "group", "gshadow", "subuid", "subgid" };

	for (size_t i = 0; S_ISREG(st->st_mode) && st->st_size <= 12 && i < ARRAY_LEN(files); i++) {
		size_t n = strlen(files[i]);
		const char *end = name + n + 1;

		if (!strncmp(name, files[i], n) && name[n] == '.' && *end &&
		    (!strcmp(end, "lock") || !end[strspn(end, "0123456789")]))
			return 1;
	}
	return 0;
}

static int walk_entry(struct walk *w, int dirfd, const char *name, unsigned int depth)
{
	size_t old = w->len, n = strlen(name);
	OWN(fd) int fd = -1;
	struct stat st;
	int r = 0;

	if (!w->left-- || old + n + 2 > sizeof(w->path))
		return err_set(w->err, ERR_LIMIT, 0, "'%s' holds too much to look through", w->path);
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISLNK(st.st_mode))
		return 0;
	w->path[old] = '/';
	memcpy(w->path + old + 1, name, n + 1);
	w->len = old + 1 + n;
	if (!depth && is_lock(name, &st)) {
		r = 0;
	} else if (is_ours_alone(dirfd, name, st.st_mode, S_ISDIR(st.st_mode))) {
		r = note(w);
	} else if (S_ISDIR(st.st_mode)) {
		/* What we cannot open, a run of ours cannot either. */
		fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		r = fd < 0 ? 0 : walk_dir(w, fd, depth + 1);
	}
	w->len = old;
	w->path[old] = '\0';
	return r;
}

/* The names of one reading; @e is as the kernel wrote it, so each record is aligned. */
static int walk_entries(struct walk *w, int fd, char *e, size_t len, unsigned int depth)
{
	for (size_t at = 0; at < len;) {
		const struct dirent64 *d = (const void *)(e + at);

		at += d->d_reclen;
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") || d->d_type == DT_LNK)
			continue;	/* a link is as readable as what it leads to */
		if (walk_entry(w, fd, d->d_name, depth) < 0)
			return -1;
	}
	return 0;
}

static int walk_dir(struct walk *w, int fd, unsigned int depth)
{
	ssize_t n;

	if (depth > MAX_DEPTH)
		return err_set(w->err, ERR_LIMIT, 0, "'%s' is too deep to look through", w->path);
	if (!w->entries[depth] && !(w->entries[depth] = malloc(ENTRIES_SIZE)))
		return err_set(w->err, ERR_NOMEM, 0, "no memory for '%s'", w->path);
	while ((n = getdents64(fd, w->entries[depth], ENTRIES_SIZE)) > 0)
		if (walk_entries(w, fd, w->entries[depth], (size_t)n, depth) < 0)
			return -1;
	return n < 0 ? err_set(w->err, ERR_SYS, errno, "cannot read '%s'", w->path) : 0;
}

static mode_t mode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : st.st_mode;
}

static int look_through(const char *root, struct strv *ret, struct err *err)
{
	__attribute__((cleanup(own_walk))) struct walk w = { .ret = ret, .err = err, .left = MAX_WALK };
	OWN(fd) int fd = -1;

	w.len = strlen(root);
	if (w.len >= sizeof(w.path))
		return err_set(err, ERR_LIMIT, 0, "'%s' is longer than a path can be", root);
	memcpy(w.path, root, w.len + 1);
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES
			? 0 : err_set(err, ERR_SYS, errno, "cannot read '%s'", root);
	return is_ours_alone(AT_FDCWD, root, mode_of(fd), 1) ? note(&w) : walk_dir(&w, fd, 0);
}

/* --- ahead --- */

/* What was found by policy_look_ahead(), taken by whoever asks first. */
static struct look {
	int is_done;
	int64_t began_ms;
	struct strv found;
} looks[ARRAY_LEN(guarded_dirs) - 1];

void policy_look_ahead(void)
{
	for (size_t i = 0; guarded_dirs[i] && policy_reads_more(); i++) {
		struct look *l = &looks[i];
		struct err why;		/* whoever needs it will meet it */

		strv_done(&l->found);
		l->began_ms = clock_mono_ms();
		l->is_done = !look_through(guarded_dirs[i], &l->found, &why);
	}
}

/* 1: @ret has what was found ahead; 0: somebody has to look now; -1: out of memory */
static int take_ahead(const char *root, struct strv *ret)
{
	int r = 0;

	for (size_t i = 0; guarded_dirs[i]; i++) {
		struct look *l = &looks[i];

		if (strcmp(root, guarded_dirs[i]))
			continue;
		if (l->is_done && clock_mono_ms() - l->began_ms <= AHEAD_MS)
			r = strv_copy(ret, &l->found) < 0 ? -1 : 1;
		l->is_done = 0;
		strv_done(&l->found);
	}
	return r;
}

int policy_root_only_files(const char *root, struct strv *ret, struct err *err)
{
	OWN(strv) struct strv found = { 0 };
	int r = take_ahead(root, &found);

	if (!r && look_through(root, &found, err) < 0)
		return -1;
	return r < 0 || strv_copy(ret, &found) < 0 ? err_set(err, ERR_NOMEM, 0, "no memory for '%s'", root) : 0;
}
