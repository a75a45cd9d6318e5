#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "worktree/beneath.h"
#include "worktree/copy.h"
#include "worktree/copy_links.h"
#include "worktree/tree.h"

#define TRIES 3			/* a file that keeps changing is taken as it is, with a note */
#define LOOK_AT_DISK_EVERY 512	/* files */
#define BIG_FILE (1 << 20)

/*
 * Directories to do are a stack shared by the threads. Whoever takes one makes
 * everything in it, so a directory's times can be set as soon as it is done;
 * only its children list and its node are written by that thread.
 */
struct job {
	const struct copy_params *params;
	struct copy_ways ways;
	struct copy_links links;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct node **todo;
	size_t n_todo, cap_todo;
	unsigned int busy;		/* threads with a directory in hand */
	int is_over;
	struct err err;			/* of the first that failed */
	struct node **closed;		/* directories whose mode must wait: it would lock us out */
	size_t n_closed, cap_closed;
	struct copy_result result;
};

/* One thread's own. */
struct worker {
	struct job *job;
	struct buf path;		/* of the directory in hand */
	const struct node *dir;		/* the same */
	DIR *entries;			/* and opened: on both sides */
	int src, dst;
	uint64_t files, bytes, cloned;
	struct err err;
};

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

static int push(struct node ***v, size_t *n, size_t *cap, struct node *what)
{
	if (*n == *cap) {
		size_t want = *cap ? *cap * 2 : 64;
		struct node **w = reallocarray(*v, want, sizeof(struct node *));

		if (!w)
			return -1;
		*v = w;
		*cap = want;
	}
	(*v)[(*n)++] = what;
	return 0;
}

/* "'dir/name' <why>" among the notes. Always 1: noted, go on. */
static int note(struct worker *w, const char *name, const char *why, int sys)
{
	struct copy_result *r = &w->job->result;
	const char *dir = w->path.data ? w->path.data : "";

	pthread_mutex_lock(&w->job->lock);
	if (r->notes.n >= COPY_MAX_NOTES ||
	    strv_addf(&r->notes, "'%s%s%s' %s%s%s", dir, *dir ? "/" : "", name, why, sys ? ": " : "",
		      sys ? strerror(sys) : "") < 0)
		r->notes_dropped++;
	pthread_mutex_unlock(&w->job->lock);
	return 1;
}

static int hint_room(struct worker *w)
{
	return err_hint(&w->err, "free some space, or set AGATE_STATE_DIR to a directory on a larger disk");
}

/* The destination is ours alone: what is there already was listed twice, and is done. */
static int cannot_make(struct worker *w, const char *name, int sys)
{
	const char *dir = w->path.data ? w->path.data : "";

	if (sys == EEXIST)
		return 1;
	err_set(&w->err, sys == ENOSPC || sys == EDQUOT ? ERR_LIMIT : ERR_SYS, sys,
		"cannot copy '%s%s%s'", dir, *dir ? "/" : "", name);
	return w->err.code == ERR_LIMIT ? hint_room(w) : -1;
}

/* Keep some of the disk free: a full one breaks more than this run. */
static int enough_room(struct worker *w, uint64_t bytes)
{
	struct statvfs fs;
	uint64_t free_bytes, reserve;

	if (fstatvfs(w->job->params->dst_fd, &fs) < 0)
		return err_set(&w->err, ERR_SYS, errno, "cannot look at the free space");
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	reserve = (uint64_t)fs.f_blocks * fs.f_frsize / 50;
	if (reserve > (uint64_t)256 << 20)
		reserve = (uint64_t)256 << 20;
	if (free_bytes < reserve || free_bytes - reserve < bytes)
		err_set(&w->err, ERR_LIMIT, 0,
			"the disk is too full: %llu MiB free, %llu MiB of that are kept back",
			(unsigned long long)(free_bytes >> 20), (unsigned long long)(reserve >> 20));
	else if (fs.f_files && fs.f_favail < 1024)
		err_set(&w->err, ERR_LIMIT, 0, "the file system has no inodes left");
	else
		return 0;
	return hint_room(w);
}

/* --- one entry: 0 made, 1 noted and left out, -1 w->err --- */

static int set_times(int fd, const struct stat *st)
{
	const struct timespec t[2] = { st->st_atim, st->st_mtim };

	return futimens(fd, t);
}

/* The bytes, again when they changed under us. @st becomes what was copied. */
static int fill(struct worker *w, const char *name, int src, int dst, struct stat *st, int *ret_cloned)
{
	for (int i = 0; i < TRIES; i++) {
		struct stat now;

		if (i && ftruncate(dst, 0) < 0)
			return cannot_make(w, name, errno);
		if (copy_data(&w->job->ways, src, st, dst, ret_cloned) < 0) {
			if (errno == ENOTSUP && w->job->params->sharing == COPY_MUST_SHARE) {
				err_set(&w->err, ERR_MISSING, 0,
					"cannot share the blocks of '%s': the file system cannot", name);
				return err_hint(&w->err, "use --workspace auto");
			}
			if (errno == EIO || errno == EACCES || errno == ESTALE || errno == EISDIR)
				return note(w, name, "cannot be read", errno);
			return cannot_make(w, name, errno);
		}
		if (fstat(src, &now) < 0 || (now.st_mtim.tv_nsec == st->st_mtim.tv_nsec &&
		    now.st_mtim.tv_sec == st->st_mtim.tv_sec && now.st_size == st->st_size))
			return 0;
		*st = now;
	}
	note(w, name, "was being written while it was copied", 0);
	return 0;
}

static int make_file(struct worker *w, struct node *n, int src, struct stat *st)
{
	mode_t mode = st->st_mode & 01777;
	OWN(fd) int dst = beneath_open(w->dst, n->name, O_WRONLY | O_CREAT | O_EXCL, (mode & 0777) | 0200);
	struct stat made;
	int cloned = 0, r;

	if (dst < 0)
		return cannot_make(w, n->name, errno);
	if ((st->st_size >= BIG_FILE || w->files % LOOK_AT_DISK_EVERY == 0) &&
	    enough_room(w, st->st_size >= BIG_FILE && w->job->ways.sharing != COPY_MUST_SHARE ?
			(uint64_t)st->st_blocks * 512 : 0) < 0)
		return -1;
	r = fill(w, n->name, src, dst, st, &cloned);
	if (r) {
		unlinkat(w->dst, n->name, 0);
		return r;
	}
	copy_xattrs(&w->job->ways, src, dst);
	/* the umask mostly leaves the mode alone; read-only waits until its attributes are set */
	if (set_times(dst, st) < 0 || fstat(dst, &made) < 0 ||
	    ((made.st_mode & 07777) != mode && (fchmod(dst, mode) < 0 || fstat(dst, &made) < 0)))
		return cannot_make(w, n->name, errno);
	n->copy = stamp_of(&made);
	n->orig = stamp_of(st);
	w->bytes += (uint64_t)made.st_size;
	w->cloned += (uint64_t)cloned;
	return 0;
}

static int copy_file(struct worker *w, struct node *n)
{
	struct stat st;
	OWN(fd) int src = beneath_regular(w->src, n->name, &st);
	int first = 1, r;

	if (src < 0 && errno == EINVAL)
		return note(w, n->name, "changed its type while it was copied", 0);
	if (src < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		return cannot_make(w, n->name, errno);
	if (src < 0)
		return note(w, n->name, "cannot be read", errno);
	if (st.st_nlink > 1) {
		pthread_mutex_lock(&w->job->lock);
		first = copy_links_see(&w->job->links, &st, n);
		pthread_mutex_unlock(&w->job->lock);
		if (first < 0)
			return no_memory(&w->err);
	}
	if (!first) {
		n->copy = n->orig = stamp_of(&st);	/* made later, as a link */
		return 0;
	}
	r = make_file(w, n, src, &st);
	if (r && st.st_nlink > 1) {
		pthread_mutex_lock(&w->job->lock);
		copy_links_forget(&w->job->links, n);
		pthread_mutex_unlock(&w->job->lock);
	}
	return r;
}

static int copy_link(struct worker *w, struct node *n, const struct stat *st)
{
	const struct timespec t[2] = { st->st_atim, st->st_mtim };
	char target[4096];
	ssize_t len = readlinkat(w->src, n->name, target, sizeof(target) - 1);
	struct stat made;

	if (len < 0)
		return note(w, n->name, "cannot be read", errno);
	target[len] = '\0';
	if (symlinkat(target, w->dst, n->name) < 0 ||
	    utimensat(w->dst, n->name, t, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fstatat(w->dst, n->name, &made, AT_SYMLINK_NOFOLLOW) < 0)
		return cannot_make(w, n->name, errno);
	n->copy = stamp_of(&made);
	n->orig = stamp_of(st);
	return 0;
}

static int copy_fifo(struct worker *w, struct node *n, const struct stat *st)
{
	struct stat made;

	/* No need to care for the umask: nothing is in a FIFO, and the directory is private. */
	if (mkfifoat(w->dst, n->name, st->st_mode & 0777) < 0 ||
	    fchmodat(w->dst, n->name, st->st_mode & 0777, 0) < 0 ||
	    fstatat(w->dst, n->name, &made, AT_SYMLINK_NOFOLLOW) < 0)
		return cannot_make(w, n->name, errno);
	n->copy = stamp_of(&made);
	n->orig = stamp_of(st);
	return 0;
}

static int is_excluded(const struct copy_params *p, const struct stat *st)
{
	for (size_t i = 0; i < p->n_exclude; i++)
		if (p->exclude[i].dev == st->st_dev && p->exclude[i].ino == st->st_ino)
			return 1;
	return 0;
}

/* Made now, filled when its turn comes; writable for us until then. */
static int copy_dir(struct worker *w, struct node *n, const struct stat *st)
{
	if (is_excluded(w->job->params, st))
		return note(w, n->name, "is agate's own and was left out", 0);
	if (mkdirat(w->dst, n->name, 0700) < 0)
		return cannot_make(w, n->name, errno);
	n->copy = n->orig = stamp_of(st);
	return 0;
}

static int copy_entry(struct worker *w, struct node *n, unsigned char type)
{
	struct stat st;

	if (type == DT_REG)
		return copy_file(w, n);
	if (fstatat(w->src, n->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 1 : note(w, n->name, "cannot be looked at", errno);
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return copy_file(w, n);
	case S_IFDIR:
		return copy_dir(w, n, &st);
	case S_IFLNK:
		return copy_link(w, n, &st);
	case S_IFIFO:
		return copy_fifo(w, n, &st);
	case S_IFSOCK:
		return note(w, n->name, "is a socket and was left out", 0);
	default:
		return note(w, n->name, "is a device and was left out", 0);
	}
}

/* --- one directory --- */

static int see_git(struct worker *w, const struct node *n)
{
	const char *dir = w->path.data ? w->path.data : "";
	int r;

	if (strcmp(n->name, ".git"))
		return 0;
	pthread_mutex_lock(&w->job->lock);
	r = strv_addf(&w->job->result.nested, "%s%s.git", dir, *dir ? "/" : "");
	pthread_mutex_unlock(&w->job->lock);
	return r < 0 ? no_memory(&w->err) : 0;
}

/* Only links get this far: of anything else a second one could not be made. */
static void drop_twin(void *cookie, struct node *n)
{
	struct worker *w = cookie;

	pthread_mutex_lock(&w->job->lock);
	copy_links_forget(&w->job->links, n);
	pthread_mutex_unlock(&w->job->lock);
	tree_free(n);
}

static int copy_entries(struct worker *w, struct node *dir, DIR *d)
{
	struct dirent *e;

	for (errno = 0; (e = readdir(d)); errno = 0) {
		struct node *n;
		int r;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    (w->job->params->skip_git && !dir->parent && !strcmp(e->d_name, ".git")))
			continue;
		n = node_new(dir, e->d_name);
		if (!n)
			return no_memory(&w->err);
		r = copy_entry(w, n, e->d_type);
		if (!r)
			r = see_git(w, n);
		if (!r && node_append(dir, n) < 0)
			r = no_memory(&w->err);
		if (r)
			free(n);
		if (r < 0)
			return -1;
		w->files += !r;
	}
	if (errno)
		note(w, ".", "cannot be read to its end", errno);
	node_sort(dir, drop_twin, w);
	return 0;
}

static int later(struct worker *w, struct node *dir)
{
	struct job *j = w->job;
	int r;

	pthread_mutex_lock(&j->lock);
	r = push(&j->closed, &j->n_closed, &j->cap_closed, dir);
	pthread_mutex_unlock(&j->lock);
	return r < 0 ? no_memory(&w->err) : 0;
}

/* The directory has all its entries: give it its attributes. */
static int finish_dir(struct worker *w, struct node *dir, const struct stat *st)
{
	mode_t mode = st->st_mode & 07777;

	dir->copy = dir->orig = stamp_of(st);
	copy_xattrs(&w->job->ways, w->src, w->dst);
	if (fchmod(w->dst, mode | 0700) < 0 || set_times(w->dst, st) < 0)
		return cannot_make(w, ".", errno);
	return (mode & 0700) == 0700 ? 0 : later(w, dir);
}

/* A directory nobody may read stays empty but keeps its mode. */
static int leave_empty(struct worker *w, struct node *dir, int sys)
{
	note(w, "", "cannot be read", sys);
	return later(w, dir);
}

static void let_go(struct worker *w)
{
	if (w->entries)
		closedir(w->entries);
	own_fd(&w->dst);
	w->entries = NULL;
	w->dst = -1;
	w->dir = NULL;
}

/*
 * Take @dir in hand. From its parent, if that is what we had in hand: a chain
 * of directories would else be walked from its root for every link of it.
 */
static int grab(struct worker *w, const struct node *dir)
{
	const struct copy_params *p = w->job->params;
	int near = w->dir && w->dir == dir->parent, src, dst, saved;

	src = near ? beneath_dir(w->src, dir->name) : beneath_dir(p->src_fd, w->path.data);
	saved = errno;
	dst = src < 0 ? -1 : near ? beneath_dir(w->dst, dir->name) : beneath_dir(p->dst_fd, w->path.data);
	if (src >= 0)
		saved = errno;
	let_go(w);
	w->src = src;
	w->dst = dst;
	w->entries = src < 0 ? NULL : fdopendir(src);
	w->dir = dir;
	if (src >= 0 && !w->entries)
		close(src);
	errno = saved;
	return src;
}

static int copy_into(struct worker *w, struct node *dir)
{
	struct stat st;

	if (node_path(dir, &w->path) < 0)
		return no_memory(&w->err);
	if (grab(w, dir) < 0) {
		w->dir = NULL;
		return errno == EMFILE ? cannot_make(w, "", errno) : leave_empty(w, dir, errno);
	}
	if (!w->entries)
		return no_memory(&w->err);
	if (w->dst < 0 || fstat(w->src, &st) < 0)
		return cannot_make(w, "", errno);
	if (copy_entries(w, dir, w->entries) < 0)
		return -1;
	return finish_dir(w, dir, &st);
}

/* --- the threads --- */

static struct node *take(struct job *j)
{
	struct node *n = NULL;

	pthread_mutex_lock(&j->lock);
	while (!j->is_over && !j->n_todo && j->busy)
		pthread_cond_wait(&j->more, &j->lock);
	if (!j->is_over && j->n_todo) {
		n = j->todo[--j->n_todo];
		j->busy++;
	}
	pthread_mutex_unlock(&j->lock);
	return n;
}

/*
 * @dir is done. Its directories are put on the stack, but for one that this
 * thread goes on with: whoever is in the parent reaches it fastest.
 */
static struct node *give_back(struct worker *w, struct node *dir, int r)
{
	struct job *j = w->job;
	struct node *next = NULL;

	pthread_mutex_lock(&j->lock);
	for (size_t i = 0; !r && i < dir->n_child; i++) {
		if (!S_ISDIR(dir->child[i]->copy.mode))
			continue;
		if (next && push(&j->todo, &j->n_todo, &j->cap_todo, next) < 0)
			r = no_memory(&w->err);
		next = dir->child[i];
	}
	if (r < 0 && !j->is_over) {
		j->is_over = 1;
		j->err = w->err;
	}
	if (j->is_over)
		next = NULL;
	if (!next)
		j->busy--;
	if (!next || j->n_todo)
		pthread_cond_broadcast(&j->more);
	pthread_mutex_unlock(&j->lock);
	return next;
}

static void *work(void *cookie)
{
	struct worker w = { .job = cookie, .src = -1, .dst = -1 };
	struct copy_result *r = &w.job->result;
	struct node *dir;

	while ((dir = take(w.job)))
		while (dir)
			dir = give_back(&w, dir, copy_into(&w, dir));
	pthread_mutex_lock(&w.job->lock);
	r->files += w.files;
	r->bytes += w.bytes;
	r->cloned += w.cloned;
	pthread_mutex_unlock(&w.job->lock);
	let_go(&w);
	buf_done(&w.path);
	return NULL;
}

/* The other thread must not take our process's signals. */
static void work_with_two(struct job *j)
{
	sigset_t all, old;
	pthread_t other;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&other, NULL, work, j);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	work(j);
	if (!r)
		pthread_join(other, NULL);
}

/* Deepest first: a closed parent would hide its children from us. */
static int close_dirs(struct job *j, struct err *err)
{
	OWN(buf) struct buf path = { 0 };

	for (size_t i = j->n_closed; i--; ) {
		struct node *n = j->closed[i];
		const char *name;
		OWN(fd) int dir = -1;

		if (!n->parent)
			continue;	/* the root stays open: it is a mount's source */
		if (node_path(n, &path) < 0)
			return no_memory(err);
		dir = beneath_parent(j->params->dst_fd, path.data, &name);
		if (dir < 0 || fchmodat(dir, name, n->orig.mode & 07777, 0) < 0)
			return err_set(err, ERR_SYS, errno, "cannot set the mode of '%s'", path.data);
	}
	return 0;
}

static void own_job(struct job *j)
{
	pthread_mutex_destroy(&j->lock);
	pthread_cond_destroy(&j->more);
	copy_links_done(&j->links);
	free(j->todo);
	free(j->closed);
	copy_result_done(&j->result);
}

int copy_tree(const struct copy_params *params, struct copy_result *ret, struct err *err)
{
	OWN(job) struct job j = { .params = params };
	struct worker w = { .job = &j };
	struct stat st;

	pthread_mutex_init(&j.lock, NULL);
	pthread_cond_init(&j.more, NULL);
	if (fstat(params->src_fd, &st) < 0)
		return err_set(err, ERR_SYS, errno, "cannot look at the source");
	j.ways.sharing = params->sharing;
	j.ways.dev = st.st_dev;
	j.result.root = node_new(NULL, "");
	if (!j.result.root || push(&j.todo, &j.n_todo, &j.cap_todo, j.result.root) < 0)
		return no_memory(err);
	if (enough_room(&w, 0) < 0) {
		*err = w.err;
		return -1;
	}
	work_with_two(&j);
	if (j.is_over) {
		*err = j.err;
		return -1;
	}
	if (copy_links_make(&j.links, params, &j.result, err) < 0 || close_dirs(&j, err) < 0)
		return -1;
	strv_sort_unique(&j.result.nested);
	*ret = j.result;
	j.result = (struct copy_result){ 0 };
	return 0;
}

void copy_result_done(struct copy_result *r)
{
	tree_free(r->root);
	strv_done(&r->nested);
	strv_done(&r->notes);
	*r = (struct copy_result){ 0 };
}
