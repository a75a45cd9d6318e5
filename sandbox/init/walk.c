/*
 * sandbox/init/walk.c - from a path in the caller's words to a place
 *
 * The fast way is one openat2(2) of the parent that refuses links. Where a link
 * is met, the path is walked part by part on descriptors, so that nothing the
 * command changes meanwhile can lead us elsewhere than to what we then judge:
 * the verdict is on the path of the descriptor we act on, asked of the kernel.
 *
 * Two things in /proc look different from here. "self" and "thread-self" must
 * mean the caller, not us. And the magic links (fd/3, cwd, root) are followed
 * with our rights, so what they lead to is only used if it belongs to this
 * mount namespace; anything else is "foreign": a descriptor the command was
 * given when it started.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "sandbox/init/broker.h"
#include "sandbox/init/sys.h"

#define MAX_LINKS 40	/* as the kernel */

struct walker {
	const struct request *r;
	unsigned int flags;
	int links;
	struct place *at;		/* at->dir is where we stand */
	char base[PATH_MAX];		/* where that was when we started; "" when unknown */
	char rest[2 * PATH_MAX];	/* what is still to be walked */
};

/* Without writing the long arrays: they are most of it, and few walks need them. */
static void place_init(struct place *p)
{
	p->dir = p->object = p->foreign_flags = -1;
	p->dir_is_lent = p->foreign = p->must_be_dir = 0;
	p->name[0] = p->path[0] = '\0';
	p->zone = NULL;
	p->denied = NULL;
}

static void walker_init(struct walker *w, const struct request *r, unsigned int flags, struct place *at)
{
	w->r = r;
	w->flags = flags;
	w->links = 0;
	w->at = at;
	w->base[0] = w->rest[0] = '\0';
	place_init(at);
}

void place_done(struct place *p)
{
	if (p->dir >= 0 && !p->dir_is_lent)
		close(p->dir);
	if (p->object >= 0)
		close(p->object);
	p->dir = p->object = -1;
}

int fd_path(const struct broker *b, int fd, char ret[PATH_MAX])
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "self/fd/%d", fd);
	n = readlinkat(b->proc, link, ret, PATH_MAX);
	if (n < 0)
		return -1;
	if (n >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	ret[n] = '\0';
	return 0;
}

/* --- does a descriptor belong to our mount namespace? --- */

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int mounts_load(struct broker *b)
{
	FILE *f;
	char *line = NULL;
	size_t cap = 0;
	int fd = openat(b->proc, "self/mountinfo", O_RDONLY | O_CLOEXEC);

	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f)
		return -1;
	while (getline(&line, &cap, f) > 0) {
		uint64_t *m = realloc(b->mounts, (b->n_mounts + 1) * sizeof(*m));

		if (!m)
			break;
		b->mounts = m;
		m[b->n_mounts++] = strtoull(line, NULL, 10);
	}
	free(line);
	fclose(f);
	qsort(b->mounts, b->n_mounts, sizeof(*b->mounts), by_value);
	return b->n_mounts ? 0 : -1;
}

int is_ours(const struct broker *b, uint64_t mount)
{
	return bsearch(&mount, b->mounts, b->n_mounts, sizeof(*b->mounts), by_value) != NULL;
}

/* The mount's id, or 0, which none has. */
static uint64_t mount_of(int dir, const char *path)
{
	struct statx st;

	return !statx(dir, path, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &st) && (st.stx_mask & STATX_MNT_ID) ?
	       st.stx_mnt_id : 0;
}

static int fd_is_ours(const struct broker *b, int fd)
{
	return is_ours(b, mount_of(fd, ""));
}

/* --- deeper than a path can say --- */

/*
 * Reached by relative calls, a place may have no path we could judge. It needs
 * none where the whole mount is private and nothing is asked of names: no
 * other zone stands on it, and no rule on reading could match.
 */
static const struct zone *zone_of_mount(const struct broker *b, int fd)
{
	const struct zone *found = NULL;
	uint64_t id = mount_of(fd, "");

	if (!id || b->bare || b->reads.n)
		return NULL;
	for (size_t i = 0; i < b->n_zones; i++) {
		const char *path = b->zones[i].path + strspn(b->zones[i].path, "/");

		if (mount_of(b->root, path) != id)
			continue;
		if (found || (b->zones[i].kind != ZONE_NATIVE && b->zones[i].kind != ZONE_PRIVATE))
			return NULL;
		found = &b->zones[i];
	}
	return found;
}

/* After fd_path(@fd) failed: 0 with a path for the record, or -1 and its errno. */
static int settle_deep(const struct walker *w, int fd)
{
	struct place *p = w->at;
	int err = errno;

	p->zone = err == ENAMETOOLONG ? zone_of_mount(w->r->b, fd) : NULL;
	if (p->zone)
		snprintf(p->path, sizeof(p->path), "%s/.../%s", p->zone->path, p->name);
	errno = err;
	return p->zone ? 0 : -1;
}

/* --- the last part --- */

/* Stand on the object itself instead of a name in a directory. */
static int settle_on_object(struct walker *w, int fd)
{
	struct place *p = w->at;

	p->object = fd;
	p->name[0] = '\0';
	if (fd_path(w->r->b, fd, p->path) < 0)
		return settle_deep(w, fd);
	p->zone = NULL;
	if (p->path[0] == '/' && fd_is_ours(w->r->b, fd))
		p->zone = zone_of(w->r->b, p->path);
	else
		p->foreign = 1;
	return 0;
}

static int take_name(struct place *p, const char *name, size_t len)
{
	if (len > NAME_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(p->name, name, len);
	p->name[len] = '\0';
	return 0;
}

/* Put the last name behind the path of the directory we stand in. */
static int settle(struct walker *w, const char *name, size_t len)
{
	struct place *p = w->at;
	size_t n;

	if (take_name(p, name, len) < 0)
		return -1;
	if (fd_path(w->r->b, p->dir, p->path) < 0)
		return settle_deep(w, p->dir);
	n = strlen(p->path);
	if (n == 1)
		n = 0;
	if (n + len + 2 > sizeof(p->path)) {
		errno = ENAMETOOLONG;
		return settle_deep(w, p->dir);
	}
	p->path[n] = '/';
	memcpy(p->path + n + 1, p->name, len + 1);
	p->zone = zone_of(w->r->b, p->path);
	return 0;
}

/* --- links --- */

/* Put @text in front of what is still to be walked. */
static int prepend(struct walker *w, const char *text, size_t len, const char *rest)
{
	char joined[sizeof(w->rest)];
	size_t rest_len = strlen(rest);

	if (len + rest_len + 2 > sizeof(joined)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(joined, text, len);
	joined[len] = '/';
	memcpy(joined + len + 1, rest, rest_len + 1);
	/* A last part keeps its form: "a" must not become "a/". */
	if (!rest_len)
		joined[len] = '\0';
	memcpy(w->rest, joined, sizeof(joined));
	return 0;
}

/* From here on the walk stands on @fd, which becomes the place's. */
static int step_to(struct walker *w, int fd)
{
	if (!w->at->dir_is_lent)
		close(w->at->dir);
	w->at->dir = fd;
	w->at->dir_is_lent = 0;
	return 0;
}

/* A rule may name the link's own path, whatever it points to. */
static void note_denied(struct walker *w, const char *dir, const char *name, const char *rest)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s%s%s", strcmp(dir, "/") ? dir : "", name,
			 *rest ? "/" : "", rest);

	if (n > 0 && (size_t)n < sizeof(path) && !w->at->denied) {
		const struct zone *z = zone_of(w->r->b, path);

		if (z && z->kind == ZONE_WRITE)
			w->at->denied = names_denied(&w->r->b->names, path);
	}
}

/* Is @dir the caller's own /proc/PID/fd? Only there do its descriptor numbers mean anything. */
static int is_own_fd_dir(const struct request *r, const char *dir)
{
	pid_t tgid, inner_tgid, inner_tid;
	char own[64], by_task[64];

	if (target_ids(r, &tgid, &inner_tgid, &inner_tid) < 0)
		return 0;
	snprintf(own, sizeof(own), "/proc/%d/fd", (int)inner_tgid);
	snprintf(by_task, sizeof(by_task), "/proc/%d/task/%d/fd", (int)inner_tgid, (int)inner_tid);
	return !strcmp(dir, own) || !strcmp(dir, by_task);
}

/* Is @fd open for something, and is that @object? */
static int is_open_on(int fd, int object)
{
	struct stat is, wanted;
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && !(flags & O_PATH) && !fstat(fd, &is) && !fstat(object, &wanted) &&
	       is.st_dev == wanted.st_dev && is.st_ino == wanted.st_ino;
}

/*
 * A copy of the caller's descriptor @number, by which it reached @object, if it is open on that; else -1.
 * What is at the number can have changed since, and /proc/PID/fd may show another thread's table than the caller's.
 */
static int take_open(const struct request *r, int number, int object)
{
	for (int first = 0; first < 2; first++) {
		int fd = first ? target_take_first_fd(r, number) : target_take_fd(r, number);

		if (fd >= 0 && is_open_on(fd, object))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

/* What the caller may do with foreign @object: as much as by the descriptor it has of it. O_* flags, or -1 */
static int given_flags(const struct request *r, int number, int object)
{
	int fd = take_open(r, number, object), flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);

	if (fd >= 0)
		close(fd);
	return flags;
}

/*
 * Without mounts, what the command was given when it started (a log file as
 * standard error) lies in the same tree as all that is out of view. Nobody opens
 * anything there after the start, but by O_PATH, which opens nothing; so a
 * descriptor that is open for something was given.
 */
static void take_given(struct walker *w, int number)
{
	struct place *p = w->at;
	int fd = take_open(w->r, number, p->object);

	if (fd < 0)
		return;
	if (fd_path(w->r->b, fd, p->path) < 0) {
		close(fd);
		return;
	}
	close(p->object);
	p->object = fd;
	p->zone = NULL;
	p->foreign = 1;
	p->foreign_flags = fcntl(fd, F_GETFL);
}

/*
 * A magic link of /proc/PID: let the kernel take us to its object, with our
 * rights: so only of processes the command may look into.
 * Returns 1 when the walk ends on the object, 0 to go on from it, -1.
 */
static int follow_magic(struct walker *w, const char *dir, const char *name, const char *rest)
{
	int fd;

	if (proc_is_closed(w->r->b, dir)) {
		errno = EACCES;
		return -1;
	}
	fd = openat(w->at->dir, name, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (*rest) {
		if (!fd_is_ours(w->r->b, fd)) {
			close(fd);
			errno = EACCES;
			return -1;
		}
		strcpy(w->rest, rest);
		return step_to(w, fd);
	}
	if (settle_on_object(w, fd) < 0)
		return -1;
	if (w->at->foreign && is_own_fd_dir(w->r, dir))
		w->at->foreign_flags = given_flags(w->r, atoi(name), w->at->object);
	if (w->at->zone && w->at->zone->kind == ZONE_HIDDEN && is_own_fd_dir(w->r, dir))
		take_given(w, atoi(name));
	return 1;
}

/* "self" and "thread-self" of /proc, as the caller means them. */
static int follow_self(struct walker *w, int is_thread, const char *rest)
{
	pid_t tgid, inner_tgid, inner_tid;
	char text[64];
	int n;

	if (target_ids(w->r, &tgid, &inner_tgid, &inner_tid) < 0)
		return -1;
	n = is_thread ? snprintf(text, sizeof(text), "%d/task/%d", (int)inner_tgid, (int)inner_tid) :
			snprintf(text, sizeof(text), "%d", (int)inner_tgid);
	return prepend(w, text, (size_t)n, rest);
}

/* The link @name in the directory we stand on, open as @fd. As follow_magic(). */
static int follow(struct walker *w, int fd, const char *name, const char *rest)
{
	char dir[PATH_MAX], text[PATH_MAX];
	struct statfs fs;
	ssize_t n;

	if (++w->links > MAX_LINKS) {
		errno = ELOOP;
		return -1;
	}
	if (fd_path(w->r->b, w->at->dir, dir) < 0 || fstatfs(fd, &fs) < 0)
		return -1;
	if (fs.f_type == PROC_SUPER_MAGIC) {
		if (!strcmp(dir, "/proc") && !strcmp(name, "self"))
			return follow_self(w, 0, rest);
		if (!strcmp(dir, "/proc") && !strcmp(name, "thread-self"))
			return follow_self(w, 1, rest);
		if (strcmp(dir, "/proc"))
			return follow_magic(w, dir, name, rest);
	}
	n = readlinkat(fd, "", text, sizeof(text));
	if (n <= 0 || n >= (ssize_t)sizeof(text)) {
		errno = n < 0 ? errno : ENAMETOOLONG;
		return -1;
	}
	note_denied(w, dir, name, rest);
	if (prepend(w, text, (size_t)n, rest) < 0)
		return -1;
	if (text[0] == '/')
		return step_to(w, openat(w->r->b->root, ".", O_PATH | O_CLOEXEC));
	return 0;
}

/* --- part by part --- */

/*
 * One part of the path. Returns 1 when the place is found, 0 to go on, -1.
 * @last: nothing but slashes follows.
 */
static int walk_part(struct walker *w, const char *name, int last, const char *rest)
{
	struct stat st;
	int fd, r;

	if (!strcmp(name, ".") && !last) {
		strcpy(w->rest, rest);
		return 0;
	}
	if (last && strcmp(name, ".") && strcmp(name, "..") && !(w->flags & WALK_FOLLOW) &&
	    (!w->at->must_be_dir || (w->flags & WALK_NAME)))
		return settle(w, name, strlen(name)) < 0 ? -1 : 1;
	fd = openat(w->at->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT && last ? (settle(w, name, strlen(name)) < 0 ? -1 : 1) : -1;
	if (fstat(fd, &st) < 0) {
		close(fd);
		return -1;
	}
	if (S_ISLNK(st.st_mode)) {
		r = follow(w, fd, name, rest);
		close(fd);
		return r;
	}
	if (last && (!strcmp(name, ".") || !strcmp(name, "..")))
		return settle_on_object(w, fd) < 0 ? -1 : 1;
	if (last && w->at->must_be_dir && !(w->flags & WALK_NAME) && !S_ISDIR(st.st_mode)) {
		close(fd);
		errno = ENOTDIR;
		return -1;
	}
	if (last) {
		close(fd);
		return settle(w, name, strlen(name)) < 0 ? -1 : 1;
	}
	if (!S_ISDIR(st.st_mode)) {
		close(fd);
		errno = ENOTDIR;
		return -1;
	}
	strcpy(w->rest, rest);
	return step_to(w, fd);
}

static int walk_parts(struct walker *w)
{
	char part[NAME_MAX + 1], rest[sizeof(w->rest)];

	for (;;) {
		const char *p = w->rest + strspn(w->rest, "/");
		size_t len = strcspn(p, "/");
		int r;

		if (!len) {	/* the path ended on the directory we stand on */
			int fd = openat(w->at->dir, ".", O_PATH | O_CLOEXEC);

			return fd < 0 ? -1 : settle_on_object(w, fd);
		}
		if (len > NAME_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(part, p, len);
		part[len] = '\0';
		p += len;
		if (*p && !p[strspn(p, "/")])
			w->at->must_be_dir = 1;
		p += strspn(p, "/");
		strcpy(rest, p);
		r = walk_part(w, part, !*p, rest);
		if (r)
			return r < 0 ? -1 : 0;
	}
}

/* --- the two ways --- */

/*
 * Split @path into what is opened as the parent and the last part. Returns 0
 * when it has no plain last part (".", "..", "/"), so that the slow way must
 * look.
 */
static int split(const char *path, char parent[PATH_MAX], const char **ret_name, size_t *ret_len)
{
	size_t len = strlen(path);
	const char *slash;

	if (!len || path[len - 1] == '/')	/* "//" is "/", and nothing behind it */
		return 0;
	slash = strrchr(path, '/');
	*ret_name = slash ? slash + 1 : path;
	*ret_len = len - (size_t)(*ret_name - path);
	if (**ret_name == '.' && (*ret_len == 1 || (*ret_len == 2 && (*ret_name)[1] == '.')))
		return 0;
	memcpy(parent, path, (size_t)(*ret_name - path));
	parent[*ret_name - path] = '\0';
	return 1;
}

/*
 * @path from the directory @base as clean text; right as long as no part is a
 * link. 0 where text does not do: with "..", or too long, or @base is "".
 */
static int path_join(const char *base, const char *path, char *ret)
{
	size_t n = strlen(base);

	if (base[0] != '/' || n >= PATH_MAX)
		return 0;
	memcpy(ret, base, n + 1);
	n = n == 1 ? 0 : n;	/* of "/" nothing is kept */
	while (*(path += strspn(path, "/"))) {
		size_t len = strcspn(path, "/");

		if (path[0] == '.' && (len == 1 || (len == 2 && path[1] == '.')))
			return 0;
		if (len > NAME_MAX || n + len + 2 > PATH_MAX)
			return 0;
		ret[n++] = '/';
		memcpy(ret + n, path, len);
		n += len;
		ret[n] = '\0';
		path += len;
	}
	return 1;
}

const char *path_rest(const char *text)
{
	return text + strspn(text, "/");
}

int walk_text(const struct request *r, int at, const char *text, char *ret_path)
{
	char base[PATH_MAX] = "/";
	size_t len = strlen(text);
	int fd = r->b->root;

	if (!len || text[len - 1] == '/' || (text[0] != '/' && (fd = base_find(r, at, base)) < 0))
		return -1;
	return path_join(base, text, ret_path) ? fd : -1;
}

/* 0 if @name in @dir may be reached so, or is not there */
static int meets(int dir, const char *name, uint64_t resolve)
{
	int fd = sys_openat2(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0, resolve);

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	close(fd);
	return 0;
}

/*
 * Settle on the last name of @path, whose parent was reached without a link: then the
 * text itself says where it is, and the kernel need not be asked again.
 */
static int settle_by_text(struct walker *w, const char *path, const char *name, size_t len)
{
	struct place *p = w->at;

	if (!path_join(w->base, path, p->path))
		return settle(w, name, len);
	if (take_name(p, name, len) < 0)
		return -1;
	p->zone = zone_of(w->r->b, p->path);
	return 0;
}

/* The parent in one system call; 1 found, 0 a link is in the way, -1 and errno. */
static int walk_fast(struct walker *w, const char *path)
{
	char parent[PATH_MAX];
	struct stat st;
	const char *name;
	size_t len;
	int fd;

	if (!split(path, parent, &name, &len))
		return 0;
	if (*parent) {
		fd = sys_openat2(w->at->dir, parent, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS);
		if (fd < 0)
			return errno == ELOOP ? 0 : -1;
		step_to(w, fd);
	}
	if ((w->flags & WALK_FOLLOW) &&
	    !fstatat(w->at->dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode)) {
		memcpy(w->rest, name, len + 1);
		return walk_parts(w) < 0 ? -1 : 1;
	}
	return settle_by_text(w, path, name, len) < 0 ? -1 : 1;
}

/* --- on conditions of openat2(2) --- */

/* The rules that name links on the way: the kernel does not say which it followed. */
static int note_links(struct walker *w, int at, const char *path, uint64_t resolve)
{
	struct place seen;
	int r;

	if (resolve & RESOLVE_NO_SYMLINKS)
		return 0;
	r = walk(w->r, at, path, w->flags, 0, &seen);
	w->at->denied = r < 0 ? NULL : seen.denied;
	place_done(&seen);
	return r;
}

/* What there is at @path, from where we stand. */
static int settle_on_whole(struct walker *w, const char *path, uint64_t resolve)
{
	int fd = sys_openat2(w->at->dir, path, O_PATH | O_CLOEXEC, 0, resolve);

	return fd < 0 ? -1 : settle_on_object(w, fd);
}

/* The kernel goes the way. 0, or -1 and errno. */
static int walk_on_conditions(struct walker *w, int at, const char *path, uint64_t resolve)
{
	char text[PATH_MAX], parent[PATH_MAX];
	size_t len = strlen(path);
	const char *name;
	int fd;

	/* The kernel would follow our own magic links, not the caller's. */
	resolve |= RESOLVE_NO_MAGICLINKS;
	memcpy(text, path, len + 1);
	if (w->flags & WALK_NAME)
		for (; len > 1 && text[len - 1] == '/'; w->at->must_be_dir = 1)
			text[--len] = '\0';
	if ((w->flags & WALK_FOLLOW) || !split(text, parent, &name, &len))
		return settle_on_whole(w, text, resolve) < 0 || note_links(w, at, path, resolve) < 0 ? -1 : 0;
	if (*parent) {
		fd = sys_openat2(w->at->dir, parent, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, resolve);
		if (fd < 0)
			return -1;
		step_to(w, fd);
	}
	/* They hold for the last part as well, which may be where something is mounted. */
	return meets(w->at->dir, name, resolve) < 0 || settle(w, name, len) < 0 || note_links(w, at, path, resolve) < 0 ? -1 : 0;
}

/* Where @path begins, which stays open without us. */
static int find_base(struct walker *w, int at, const char *path)
{
	w->at->dir_is_lent = 1;
	if (path[0] == '/') {
		strcpy(w->base, "/");
		w->at->dir = w->r->b->root;
	} else {
		w->at->dir = base_find(w->r, at, w->base);
	}
	return w->at->dir < 0 ? -1 : 0;
}

static int walk_from(struct walker *w, int at, const char *path, uint64_t resolve)
{
	int r;

	if (find_base(w, at, path) < 0)
		return -1;
	if (path[0] == '/' && (resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT))) {
		errno = EXDEV;
		return -1;
	}
	if (resolve)
		return walk_on_conditions(w, at, path, resolve);
	r = walk_fast(w, path[0] == '/' && path[1] != '\0' ? path + strspn(path, "/") : path);
	if (r)
		return r < 0 ? -1 : 0;
	if (snprintf(w->rest, sizeof(w->rest), "%s", path) >= (int)sizeof(w->rest)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return walk_parts(w);
}

int walk(const struct request *r, int at, const char *path, unsigned int flags, uint64_t resolve,
	 struct place *ret)
{
	struct walker w;

	walker_init(&w, r, flags, ret);
	if (!*path) {
		if (flags & WALK_EMPTY)
			return walk_fd(r, at, ret);
		errno = ENOENT;
		return -1;
	}
	return walk_from(&w, at, path, resolve);
}

int walk_fd(const struct request *r, int at, struct place *ret)
{
	struct walker w;
	char link[48];
	int fd;

	walker_init(&w, r, 0, ret);
	if (at == AT_FDCWD)
		snprintf(link, sizeof(link), "%d/cwd", (int)r->tid);
	else
		snprintf(link, sizeof(link), "%d/fd/%d", (int)r->tid, at);
	fd = openat(r->b->proc, link, O_PATH | O_CLOEXEC);
	if (fd < 0) {
		if (errno == ENOENT)
			errno = EBADF;
		return -1;
	}
	if (settle_on_object(&w, fd) < 0)
		return -1;
	if (ret->foreign && at != AT_FDCWD)
		ret->foreign_flags = given_flags(r, at, ret->object);
	return 0;
}

int walk_lexical(const struct request *r, int at, const char *path, char *ret, size_t size)
{
	char base[PATH_MAX] = "";
	size_t len = 0;

	if (path[0] != '/' && (base_find(r, at, base) < 0 || !base[0]))
		return -1;
	if (strlen(base) + strlen(path) + 2 > size)
		return -1;
	for (int i = 0; i < 2; i++) {
		const char *p = i ? path : base;

		while (*(p += strspn(p, "/"))) {
			size_t n = strcspn(p, "/");

			if (n == 2 && !strncmp(p, "..", 2)) {
				while (len && ret[--len] != '/')
					;
			} else if (n != 1 || *p != '.') {
				ret[len++] = '/';
				memcpy(ret + len, p, n);
				len += n;
			}
			p += n;
		}
	}
	ret[len] = '\0';
	return 0;
}
