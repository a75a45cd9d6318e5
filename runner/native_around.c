/*
 * runner/native_around.c - a read-only directory shown without some of what it holds
 *
 * A mount over a file hides it for as long as that file keeps its name: the kernel
 * takes it away when somebody on the host puts another in its place. So a directory
 * with a credential in it is not shown and covered in part. A likeness of it stands
 * there, made for the run: links and small files are copied, the rest is bound in
 * entry by entry. What is replaced or made on the host beside that is never in view.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/own.h"
#include "base/path.h"
#include "runner/native.h"

#define MAX_ENTRIES 1000
#define MAX_MOUNTS 100		/* each takes bwrap longer the more there are */
#define MAX_COPY (64 * 1024)	/* bytes; what is larger is bound */

struct around {
	const struct strv *hidden;
	struct strv *words;
	unsigned int entries, mounts;	/* how many more there may be */
};

/* A directory on the way: the host's, the likeness of it, and where that is seen. */
struct level {
	int from, to;
	const char *host, *guest;
};

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

static int cannot_make(const char *host, struct err *err)
{
	return err_set(err, ERR_SYS, errno, "cannot make a likeness of '%s'", host);
}

static int is_hidden(const struct around *a, const char *guest)
{
	for (size_t i = 0; i < a->hidden->n; i++)
		if (path_under(guest, a->hidden->v[i]))
			return 1;
	return 0;
}

static int holds_hidden(const struct around *a, const char *guest)
{
	for (size_t i = 0; i < a->hidden->n; i++)
		if (path_under(a->hidden->v[i], guest))
			return 1;
	return 0;
}

/* One that is gone by the time it is bound leaves its mount point, empty. */
static int bind_entry(struct around *a, const char *host, const char *guest, struct err *err)
{
	if (!a->mounts--)
		return err_set(err, ERR_LIMIT, 0, "'%s' is one of over %d entries to be bound", host, MAX_MOUNTS);
	if (strv_add(a->words, "--ro-bind-try") < 0 || strv_add(a->words, host) < 0 || strv_add(a->words, guest) < 0)
		return no_memory(err);
	return 0;
}

/* 1: copied; 0: it is for binding */
static int copy_file(const struct level *l, const char *name, int to)
{
	OWN(fd) int fd = openat(l->from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	OWN(buf) struct buf text = { 0 };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > MAX_COPY ||
	    io_read_fd(fd, MAX_COPY, &text, NULL) < 0 || io_write_all(to, text.data, text.len) < 0)
		return 0;
	return !fchmod(to, st.st_mode & 0777) && !futimens(to, (struct timespec[]){ st.st_atim, st.st_mtim });
}

static int add_file(struct around *a, const struct level *l, const char *name, const char *host, const char *guest,
		    struct err *err)
{
	OWN(fd) int to = openat(l->to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (to < 0)
		return cannot_make(host, err);
	return copy_file(l, name, to) ? 0 : bind_entry(a, host, guest, err);
}

static int add_entries(struct around *a, const struct level *l, struct err *err);

static int add_dir(struct around *a, const struct level *l, const char *name, const char *host, const char *guest,
		   struct err *err)
{
	OWN(fd) int from = -1;
	OWN(fd) int to = -1;

	if (mkdirat(l->to, name, 0755) < 0)
		return cannot_make(host, err);
	if (!holds_hidden(a, guest))
		return bind_entry(a, host, guest, err);
	from = openat(l->from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0)	/* nothing to be seen in there */
		return 0;
	to = openat(l->to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0)
		return cannot_make(host, err);
	return add_entries(a, &(struct level){ from, to, host, guest }, err);
}

/* Its name is no secret: something stands there that a mask can be mounted over. */
static int stand_in(const struct level *l, const char *name, const char *host, mode_t mode, struct err *err)
{
	int r = S_ISDIR(mode) ? mkdirat(l->to, name, 0755) : S_ISLNK(mode) ? 0 : mknodat(l->to, name, S_IFREG, 0);

	return r < 0 ? cannot_make(host, err) : 0;
}

static int add_entry(struct around *a, const struct level *l, const char *name, struct err *err)
{
	OWN(mem) char *host = path_join(l->host, name);
	OWN(mem) char *guest = path_join(l->guest, name);
	char target[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (!host || !guest)
		return no_memory(err);
	if (fstatat(l->from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (!a->entries--)
		return err_set(err, ERR_LIMIT, 0, "'%s' is one of over %d entries", host, MAX_ENTRIES);
	if (is_hidden(a, guest))
		return stand_in(l, name, host, st.st_mode, err);
	if (S_ISDIR(st.st_mode))
		return add_dir(a, l, name, host, guest, err);
	if (!S_ISLNK(st.st_mode))
		return add_file(a, l, name, host, guest, err);
	n = readlinkat(l->from, name, target, sizeof(target) - 1);
	if (n < 0)
		return 0;
	target[n] = '\0';
	return symlinkat(target, l->to, name) < 0 ? cannot_make(host, err) : 0;
}

static int add_entries(struct around *a, const struct level *l, struct err *err)
{
	int fd = fcntl(l->from, F_DUPFD_CLOEXEC, 3);
	OWN(dir) DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return err_set(err, ERR_SYS, errno, "cannot read '%s'", l->host);
	}
	while (errno = 0, (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && add_entry(a, l, e->d_name, err) < 0)
			return -1;
	return errno ? err_set(err, ERR_SYS, errno, "cannot read '%s'", l->host) : 0;
}

int around_add(const struct around_place *p, const struct strv *hidden, struct strv *to, struct err *err)
{
	OWN(strv) struct strv words = { 0 };
	OWN(mem) char *likeness = path_join(p->run_dir, "around-XXXXXX");
	struct around a = { .hidden = hidden, .words = &words, .entries = MAX_ENTRIES, .mounts = MAX_MOUNTS };
	OWN(fd) int from = open(p->host, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	OWN(fd) int made = -1;

	if (from < 0)
		return err_set(err, ERR_SYS, errno, "cannot read '%s'", p->host);
	if (!likeness)
		return no_memory(err);
	if (!mkdtemp(likeness) || chmod(likeness, 0755) < 0)
		return cannot_make(p->host, err);
	made = open(likeness, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (made < 0)
		return cannot_make(p->host, err);
	if (strv_add(&words, "--ro-bind") < 0 || strv_add(&words, likeness) < 0 || strv_add(&words, p->guest) < 0)
		return no_memory(err);
	if (add_entries(&a, &(struct level){ from, made, p->host, p->guest }, err) < 0)
		return -1;
	return strv_copy(to, &words) < 0 ? no_memory(err) : 0;
}
