#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "worktree/remove.h"

#define MAX_ROUNDS (1 << 20)	/* one a level; more only if somebody keeps adding */

/* A directory's own entry, without a link, without a mount. */
static int open_entry(int dirfd, const char *name)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, dirfd, name, &how, sizeof(how));
}

/* For reading, and so that entries can be taken out of it. */
static int open_dir(int dirfd, const char *name)
{
	OWN(fd) int at = open_entry(dirfd, name);
	char self[32];
	struct stat st;

	if (at < 0 || fstat(at, &st) < 0)
		return -1;
	if ((st.st_mode & 0700) != 0700) {
		snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
		if (chmod(self, 0700) < 0)
			return -1;
	}
	return openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* One run's counter for names that cannot collide with what is there. */
struct remover {
	int top;		/* where everything is moved up to */
	uint64_t moved;
};

static int failed(struct err *err, const char *name)
{
	return err_set(err, ERR_SYS, errno, "cannot remove '%s'", name);
}

/* A directory inside another: gone at once if empty, else moved up. */
static int lift(struct remover *r, int fd, const char *name, struct err *err)
{
	if (!unlinkat(fd, name, AT_REMOVEDIR) || errno == ENOENT)
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES)
		return failed(err, name);
	for (int tries = 0; tries < 1000; tries++) {
		OWN(fd) int inner = -1;
		char up[48];

		snprintf(up, sizeof(up), ".agate-rm-%llu", (unsigned long long)r->moved++);
		if (!renameat2(fd, name, r->top, up, RENAME_NOREPLACE))
			return 0;
		if (errno == EEXIST)
			continue;
		if (errno != EACCES)	/* a directory that cannot be written cannot get another parent */
			break;
		inner = open_dir(fd, name);
		if (inner < 0)
			break;
	}
	return failed(err, name);
}

/* Everything out of @fd (which is @r->top itself or an entry of it). */
static int empty(struct remover *r, int fd, int is_top, struct err *err)
{
	OWN(dir) DIR *d = fdopendir(fcntl(fd, F_DUPFD_CLOEXEC, 3));

	if (!d)
		return err_set(err, ERR_SYS, errno, "cannot read a directory");
	rewinddir(d);
	for (struct dirent *e; (e = readdir(d)); ) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (e->d_type != DT_DIR && (!unlinkat(fd, e->d_name, 0) || errno == ENOENT))
			continue;
		if (e->d_type != DT_DIR && errno != EISDIR)
			return failed(err, e->d_name);
		if (!is_top && lift(r, fd, e->d_name, err) < 0)
			return -1;
	}
	return 0;
}

/* Each round takes one level off whatever is left at the top. 1: something was there. */
static int round_of(struct remover *r, struct err *err)
{
	OWN(dir) DIR *d = fdopendir(fcntl(r->top, F_DUPFD_CLOEXEC, 3));
	int any = 0;

	if (!d)
		return err_set(err, ERR_SYS, errno, "cannot read a directory");
	rewinddir(d);
	for (struct dirent *e; (e = readdir(d)); ) {
		OWN(fd) int fd = -1;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		any = 1;
		if (!unlinkat(r->top, e->d_name, AT_REMOVEDIR) || errno == ENOENT)
			continue;
		fd = open_dir(r->top, e->d_name);
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0)
			return failed(err, e->d_name);
		if (empty(r, fd, 0, err) < 0)
			return -1;
		/* not empty yet: reading while removing may have skipped some; next round */
		if (unlinkat(r->top, e->d_name, AT_REMOVEDIR) < 0 && errno != ENOTEMPTY && errno != EEXIST)
			return failed(err, e->d_name);
	}
	return any;
}

int remove_tree(int dirfd, const char *name, struct err *err)
{
	struct remover r = { .top = open_dir(dirfd, name) };
	OWN(fd) int top = r.top;
	int more = 1;

	if (top < 0 && errno == ENOENT)
		return 0;
	if (top < 0 && errno == EXDEV)
		return err_set(err, ERR_BUSY, 0, "cannot remove '%s': it is a mount point", name);
	if (top < 0)
		return failed(err, name);
	if (empty(&r, top, 1, err) < 0)
		return -1;
	for (int i = 0; more > 0 && i < MAX_ROUNDS; i++)
		more = round_of(&r, err);
	if (more < 0)
		return -1;
	return unlinkat(dirfd, name, AT_REMOVEDIR) < 0 ? failed(err, name) : 0;
}
