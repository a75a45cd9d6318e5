/*
 * sandbox/init/ops_open.c - open, creat, openat, openat2
 *
 * The file is opened here, on the directory that was judged and without
 * following a last link, and the descriptor is put into the caller.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/init/broker.h"
#include "sandbox/init/later.h"
#include "sandbox/init/opening.h"
#include "sandbox/init/sys.h"

static int wants_write(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
}

#define TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)

static int is_tmpfile(int flags)
{
	return (flags & O_TMPFILE) == O_TMPFILE;
}

static int changes_something(int flags)
{
	return wants_write(flags) || (flags & O_CREAT) || is_tmpfile(flags);
}

static int makes(int flags)
{
	return (flags & (O_CREAT | TMPFILE_BIT)) != 0;
}

/*
 * What we add to the caller's flags: never wait, never gain a terminal, never
 * leak. A file made by this very call is nothing to wait for.
 */
int open_flags(int flags)
{
	int made_here = ((flags & O_CREAT) && (flags & O_EXCL)) || is_tmpfile(flags);

	return flags | (made_here ? 0 : O_NONBLOCK) | O_NOCTTY | O_CLOEXEC | O_LARGEFILE;
}

/*
 * Is it a program, or made to be one? It cannot be executed while it is open for
 * writing, so it must not stay so with us. One that is made a program later is
 * waited for then: see workers_settle().
 */
static int is_program(const struct opening *o, int fd)
{
	struct stat st;

	if ((o->flags & O_ACCMODE) == O_RDONLY)
		return 0;
	if ((o->flags & O_CREAT) && (o->flags & O_EXCL))
		return (o->mode & 0111) != 0;
	return !fstat(fd, &st) && S_ISREG(st.st_mode) && (st.st_mode & 0111);
}

/* Open the name that was judged. O_NOFOLLOW would do as well, but the caller would see it. */
int open_unfollowed(const struct opening *o, int used)
{
	char name[NAME_MAX + 2];

	/* O_DIRECTORY would do as well, and be seen too. */
	snprintf(name, sizeof(name), "%s%s", o->p->name, o->p->must_be_dir ? "/" : "");
	return sys_openat2(o->p->dir, name, (uint64_t)(used & OPEN_KNOWN), makes(used) ? o->mode : 0, RESOLVE_NO_SYMLINKS);
}

/* Hand @fd, opened with @used, over with the caller's own idea of blocking. */
struct answer open_give(const struct opening *o, int fd, int used)
{
	if ((used & O_NONBLOCK) && !(o->flags & O_NONBLOCK) &&
	    fcntl(fd, F_SETFL, used & ~O_NONBLOCK) < 0) {
		close(fd);
		return answer_errno(EIO);
	}
	return (struct answer){ .kind = ANSWER_FD, .fd = fd, .cloexec = (o->flags & O_CLOEXEC) != 0, .alone = is_program(o, fd) };
}

/* Would waiting help? For a FIFO's other end, or a lease's; a socket, which cannot be opened, stays one. */
static int may_come(int object, int err)
{
	struct stat st;

	return err == EWOULDBLOCK || (err == ENXIO && !fstat(object, &st) && S_ISFIFO(st.st_mode));
}

/* Open again what @object (O_PATH) is; it was judged. */
struct answer open_again(const struct opening *o, int object, int flags)
{
	char link[32];
	int fd, err, used = open_flags(flags & ~OPEN_FINDING);

	snprintf(link, sizeof(link), "self/fd/%d", object);
	if (makes(used) && take_umask(o->r) < 0)
		return answer_errno(ESRCH);
	fd = openat(o->r->b->proc, link, used, o->mode);
	if (fd >= 0)
		return open_give(o, fd, used);
	err = errno;
	/* A FIFO without a reader, or a lease being broken: outside, the caller would wait. */
	if (!(o->flags & O_NONBLOCK) && may_come(object, err))
		return open_later(o->r, object, used, (o->flags & O_CLOEXEC) != 0);
	return answer_errno(err);
}

/*
 * What goes on may find another path in memory than the one that was judged.
 * Landlock then keeps it from writing, but not from reading what only we hold:
 * by an open that could make a file and so was judged here, or by an openat2(2),
 * whose flags lie in memory too.
 */
static int must_act(const struct opening *o)
{
	return o->r->b->reads_by_pattern &&
	       ((o->flags & O_ACCMODE) == O_RDONLY || o->r->n->data.nr == SYS_openat2);
}

/*
 * A descriptor the command was given when it started (a log file as standard
 * error) may be opened again with the rights it has, not with more; what was
 * opened for appending stays so.
 */
static struct answer open_foreign(const struct opening *o)
{
	int have = o->p->foreign_flags, flags = o->flags;

	/* Pipes, sockets and memory files lie outside Landlock's reach and outside the tree. */
	if (o->p->path[0] != '/')
		return must_act(o) ? open_again(o, o->p->object, flags) : answer_continue();
	if (have < 0 || ((have & O_ACCMODE) != O_RDWR && (have & O_ACCMODE) != (flags & O_ACCMODE)))
		return refuse(o->r, ACT_WRITE_DATA, o->p, "not opened for this by the user", EACCES);
	if (have & O_APPEND)
		flags = (flags | O_APPEND) & ~O_TRUNC;
	return open_again(o, o->p->object, flags);
}

/*
 * It is there, and is only to be read, for all that it could have been made: the kernel
 * keeps what it would keep from any reader. Where it does not, as from any reader.
 */
static struct answer open_existing(const struct opening *o)
{
	return must_act(o) ? read_place(o) : answer_continue();
}

static int is_dir(int object)
{
	struct stat st;

	return !fstat(object, &st) && S_ISDIR(st.st_mode);
}

/* The place is an object without a name of ours: a directory itself, or behind a magic link. */
static struct answer open_object(const struct opening *o)
{
	const char *rule;
	int err;

	if (o->p->foreign)
		return open_foreign(o);
	if (is_native(o->p) && !must_act(o))
		return answer_continue();
	if ((o->flags & O_CREAT) && (o->flags & O_EXCL))
		return answer_errno(EEXIST);
	if (!is_tmpfile(o->flags) && changes_something(o->flags) && is_dir(o->p->object))
		return answer_errno(EISDIR);
	if (!wants_write(o->flags))
		return open_existing(o);
	err = judge_write(o->r, o->p, &rule);
	if (err)
		return refuse(o->r, ACT_WRITE_DATA, o->p, rule, err);
	return open_again(o, o->p->object, o->flags);
}

/* Judged "no": but only what would have changed something is a refusal. */
static struct answer open_denied(const struct opening *o, const char *rule, int err)
{
	struct stat st;
	int exists = !fstatat(o->p->dir, o->p->name, &st, AT_SYMLINK_NOFOLLOW);

	if (!exists && errno != ENOENT)
		return answer_errno(errno);
	if (!exists && (!(o->flags & O_CREAT) || o->p->zone->kind == ZONE_PROC))	/* nobody makes anything in /proc */
		return answer_errno(ENOENT);
	if (exists && (o->flags & O_CREAT) && (o->flags & O_EXCL))
		return answer_errno(EEXIST);
	if (exists && S_ISLNK(st.st_mode))	/* followed first, if it may be; it is itself not for writing */
		return answer_errno((o->flags & O_NOFOLLOW) && (o->flags & O_DIRECTORY) ? ENOTDIR : ELOOP);
	if (exists && S_ISDIR(st.st_mode) && !is_tmpfile(o->flags))
		return answer_errno(EISDIR);
	if (exists && !wants_write(o->flags))
		return open_existing(o);
	return refuse(o->r, exists && !is_tmpfile(o->flags) ? ACT_WRITE_DATA : ACT_WRITE_CREATE,
		      o->p, rule, err);
}

/* A FIFO nobody reads, or a lease: wait for it elsewhere. */
static struct answer open_waiting(const struct opening *o, int err)
{
	struct answer a;
	int object = openat(o->p->dir, o->p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (object < 0)
		return answer_errno(errno);
	a = may_come(object, err) ?
	    open_later(o->r, object, open_flags(o->flags & ~OPEN_FINDING), (o->flags & O_CLOEXEC) != 0) : answer_errno(err);
	close(object);
	return a;
}

/* The kernel goes on by itself, unless a last link leads to where it may not. */
static struct answer open_native(const struct opening *o)
{
	struct stat st;

	if (o->may_be_link && !fstatat(o->p->dir, o->p->name, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode))
		return answer_errno(ELOOP);
	return answer_continue();
}

static struct answer open_name(const struct opening *o)
{
	const char *rule = NULL;
	int err, fd, used;

	if (is_native(o->p) && !must_act(o))
		return open_native(o);
	if (!strcmp(o->p->path, "/dev/tty"))
		return open_terminal(o);
	if (o->p->must_be_dir && (o->flags & O_CREAT))
		return answer_errno(faccessat(o->p->dir, ".", X_OK, AT_EACCESS) < 0 ? errno : EISDIR);
	err = judge_write(o->r, o->p, &rule);
	if (err)
		return open_denied(o, rule, err);
	if (((o->flags & O_CREAT) || is_tmpfile(o->flags)) && take_umask(o->r) < 0)
		return answer_errno(ESRCH);
	used = open_flags(o->flags);
	fd = open_unfollowed(o, used);
	if (fd >= 0)
		return open_give(o, fd, used);
	if ((errno == ENXIO || errno == EWOULDBLOCK) && !(o->flags & O_NONBLOCK))
		return open_waiting(o, errno);
	return answer_errno(errno);
}

/* --- the short way --- */

/* Those that openat2(2) does not know mean nothing to openat(2); some ask for more than one name. */
static int is_plain(int flags)
{
	return !(flags & ~(OPEN_KNOWN & ~(O_DIRECTORY | O_TMPFILE | O_ASYNC))) && (flags & O_ACCMODE) != O_ACCMODE;
}

/* May clean @path be opened so, in a directory where it is for us to do? */
static int may_open(const struct opening *o, const char *path)
{
	const struct broker *b = o->r->b;
	const struct zone *zone = zone_of(b, path);

	if (!zone || (zone->kind != ZONE_WRITE && zone->kind != ZONE_PRIVATE))
		return 0;
	if (zone->kind == ZONE_WRITE && names_denied(&b->names, path))
		return 0;
	return (o->flags & O_ACCMODE) == O_WRONLY || !judge_read(b, path);
}

/*
 * For nearly all: where no part is a link, the text says where the file is. It is
 * judged before anything is looked up, and one system call that goes by that text
 * finds, makes and opens it. Returns 0, with nothing done, when it is not so
 * plain, or is to be refused: the long way knows why.
 */
static int open_directly(const struct opening *o, int at, const char *text, struct answer *ret)
{
	char path[PATH_MAX];
	int from = walk_text(o->r, at, text, path), used = open_flags(o->flags), fd;

	if (from < 0 || !may_open(o, path) || !target_alive(o->r) || ((o->flags & O_CREAT) && take_umask(o->r) < 0))
		return 0;
	fd = sys_openat2(from, path_rest(text), (uint64_t)used, o->flags & O_CREAT ? o->mode : 0, RESOLVE_NO_SYMLINKS);
	if (fd >= 0)
		*ret = open_give(o, fd, used);
	else if (errno == ENOENT || errno == EEXIST || errno == EACCES || errno == EISDIR || errno == ENOTDIR)
		*ret = answer_errno(errno);
	else
		return 0;	/* a link, or a FIFO, or a lease */
	return 1;
}

/*
 * Flags that make no sense together, as the kernel finds before it looks at the path. O_CREAT with
 * O_DIRECTORY made a file, and failed, before kernel 6.4.
 */
static int is_nonsense(int flags)
{
	if ((flags & O_CREAT) && (flags & O_DIRECTORY))
		return 1;
	return (flags & TMPFILE_BIT) && (!(flags & O_DIRECTORY) || (flags & O_ACCMODE) == O_RDONLY);
}

/* O_PATH means a look only, and the kernel ignores nearly all other flags with it. */
struct answer do_open(const struct request *r, int at, uint64_t path, uint64_t flags, uint64_t mode,
		      uint64_t resolve)
{
	int keeps_link = (flags & O_NOFOLLOW) || ((flags & O_CREAT) && (flags & O_EXCL));
	unsigned int how = flags & O_CREAT ? WALK_NAME : 0;
	struct opening o = { .r = r, .flags = (int)flags, .mode = (mode_t)mode & 07777 };
	struct request told = *r;
	struct answer direct;
	const char *rule;
	char text[PATH_MAX];

	/* We cannot hand such a descriptor over. Who asks by openat2(2), with flags in memory, has openat(2). */
	if (flags & O_PATH)
		return r->b->reads_by_pattern && r->n->data.nr == SYS_openat2 ? answer_errno(ENOSYS) : answer_continue();
	if (is_nonsense(o.flags))
		return answer_errno(EINVAL);
	if (target_text(r->tid, path, text, sizeof(text)) < 0)
		return answer_errno(errno);
	told.given = text;
	o.r = &told;
	if (!changes_something(o.flags))
		return open_read(&o, at, text, resolve);
	if (!resolve && is_plain(o.flags) && open_directly(&o, at, text, &direct))
		return direct;
	for (int i = 0; i < OPEN_ATTEMPTS; i++) {
		__attribute__((cleanup(own_place))) struct place p;
		struct answer a;

		/* Few last parts are links: look for one only when the open says so. */
		o.may_be_link = !keeps_link && !i;
		if (walk(&told, at, text, how | (!keeps_link && i ? WALK_FOLLOW : 0), resolve, &p) < 0)
			return answer_errno(errno);
		if (!target_alive(r))
			return answer_errno(EINTR);
		o.p = &p;
		if (o.may_be_link && leads_into_view(r->b, &p))
			continue;
		rule = (flags & O_ACCMODE) == O_WRONLY ? NULL : judge_place_read(r->b, &p);
		if (rule)
			return refuse(&told, ACT_READ_DATA, &p, rule, EACCES);
		a = p.name[0] ? open_name(&o) : open_object(&o);
		/* It became a link since we looked: look again. */
		if (a.kind != ANSWER_ERRNO || a.err != ELOOP || keeps_link)
			return a;
	}
	return answer_errno(ELOOP);
}
