/*
 * runner/native_around.c - a read-only directory shown without some of what it holds
 *
 * A mount over a file hides it for as long as that file keeps its name: the kernel
 * takes it away when somebody on the host puts another in its place. So a directory
 * with a credential in it is not shown and covered in part. An empty one of the run's
 * own stands there, and what may be seen is bound into it, entry by entry; what is
 * replaced or made on the host beside that is never in view.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "base/path.h"
#include "runner/native.h"

/* Each is a mount, which takes bwrap longer the more there are. */
#define MAX_ENTRIES 400

struct around {
	const struct strv *hidden;
	struct strv *to;
	unsigned int left;
};

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
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

static int add_words(const struct around *a, const char *option, const char *one, const char *two, struct err *err)
{
	if (strv_add(a->to, option) < 0 || strv_add(a->to, one) < 0 || (two && strv_add(a->to, two) < 0))
		return no_memory(err);
	return 0;
}

static int add_entries(struct around *a, int fd, const char *host, const char *guest, struct err *err);

/* One that is gone by the time it is bound is no matter. */
static int add_entry(struct around *a, int dir, const char *name, const char *host, const char *guest, struct err *err)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);
	struct stat st;

	if (!a->left--)
		return err_set(err, ERR_LIMIT, 0, "'%s' is one of over %d entries", host, MAX_ENTRIES);
	if (n >= 0) {
		target[n] = '\0';
		return add_words(a, "--symlink", target, guest, err);
	}
	if (holds_hidden(a, guest)) {
		int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)	/* nothing to be seen in there */
			return 0;
		return add_words(a, "--dir", guest, NULL, err) < 0 ? (close(fd), -1) : add_entries(a, fd, host, guest, err);
	}
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return add_words(a, "--ro-bind-try", host, guest, err);
}

/* Takes @fd. */
static int add_entries(struct around *a, int fd, const char *host, const char *guest, struct err *err)
{
	OWN(dir) DIR *d = fdopendir(fd);
	const struct dirent *e;

	if (!d) {
		close(fd);
		return no_memory(err);
	}
	while (errno = 0, (e = readdir(d))) {
		OWN(mem) char *from = NULL;
		OWN(mem) char *at = NULL;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		from = path_join(host, e->d_name);
		at = path_join(guest, e->d_name);
		if (!from || !at)
			return no_memory(err);
		if (!is_hidden(a, at) && add_entry(a, dirfd(d), e->d_name, from, at, err) < 0)
			return -1;
	}
	return errno ? err_set(err, ERR_SYS, errno, "cannot read '%s'", host) : 0;
}

int around_add(const char *host, const char *guest, const struct strv *hidden, struct strv *to, struct strv *seals,
	       struct err *err)
{
	OWN(strv) struct strv words = { 0 };
	struct around a = { .hidden = hidden, .to = &words, .left = MAX_ENTRIES };
	int fd = open(host, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, ERR_SYS, errno, "cannot read '%s'", host);
	if (add_words(&a, "--tmpfs", guest, NULL, err) < 0) {
		close(fd);
		return -1;
	}
	if (add_entries(&a, fd, host, guest, err) < 0)
		return -1;
	return strv_copy(to, &words) < 0 || strv_add(seals, guest) < 0 ? no_memory(err) : 0;
}
