#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/lookup.h"
#include "dispatch/place.h"
#include "sandbox/names.h"

#define MAX_PATH_FILE 65536

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* --- programs --- */

static char *if_program(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return NULL;
	return realpath(path, NULL);
}

char *lookup_program(const char *name, const char *path, const char *cwd)
{
	if (strchr(name, '/')) {
		OWN(mem) char *full = path_join(cwd, name);

		return full ? if_program(full) : NULL;
	}
	while (path && *path) {
		size_t n = strcspn(path, ":");
		OWN(mem) char *dir = n ? strndup(path, n) : strdup(cwd);
		OWN(mem) char *full = dir && dir[0] == '/' ? path_join(dir, name) : NULL;
		char *found = full ? if_program(full) : NULL;

		if (found)
			return found;
		path += n + (path[n] == ':');
	}
	return NULL;
}

/* --- binds --- */

static int add_bind(struct bind_list *l, const char *word, const struct place *place, const char *option,
		    struct err *err)
{
	OWN(mem) char *guest = path_expand(word, place->home, place->cwd);
	OWN(mem) char *host = guest ? realpath(guest, NULL) : NULL;

	if (!guest)
		return no_memory(err);
	if (!host)
		return err_set(err, ERR_NOTFOUND, errno, "cannot show '%s' by %s", word, option);
	if (strv_take(&l->words, TAKE(host)) < 0 || strv_take(&l->words, TAKE(guest)) < 0)
		return no_memory(err);
	return 0;
}

int lookup_binds(const struct strv *paths, const struct place *place, const char *option,
		 struct bind_list *ret, struct err *err)
{
	OWN(bind_list) struct bind_list l = { 0 };

	for (size_t i = 0; i < paths->n; i++)
		if (add_bind(&l, paths->v[i], place, option, err) < 0)
			return -1;
	l.bind = calloc(paths->n + 1, sizeof(*l.bind));
	if (!l.bind)
		return no_memory(err);
	for (; l.n < paths->n; l.n++)
		l.bind[l.n] = (struct plan_bind){ l.words.v[2 * l.n], l.words.v[2 * l.n + 1] };
	*ret = l;
	l = (struct bind_list){ 0 };
	return 0;
}

int lookup_sockets(const struct strv *paths, const struct place *place, struct bind_list *ret, struct err *err)
{
	OWN(bind_list) struct bind_list l = { 0 };
	struct stat st;

	if (lookup_binds(paths, place, "--allow-unix-socket", &l, err) < 0)
		return -1;
	for (size_t i = 0; i < l.n; i++) {
		if (stat(l.bind[i].host, &st) < 0)
			return err_set(err, ERR_NOTFOUND, errno, "cannot show '%s' by --allow-unix-socket", paths->v[i]);
		if (!S_ISSOCK(st.st_mode)) {
			err_set(err, ERR_INPUT, 0, "'%s' is not a socket, so --allow-unix-socket is no use for it", paths->v[i]);
			return err_hint(err, "name the socket itself, as in /run/postgresql/.s.PGSQL.5432; --read shows files");
		}
	}
	*ret = l;
	l = (struct bind_list){ 0 };
	return 0;
}

/* --- devices --- */

/* Memory, disks, terminals, keyboards, and what is the sandbox's own: never a run's. */
static const char *const closed_devices[] = {
	"/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/tty*", "/dev/console", "/dev/pts", "/dev/ptmx",
	"/dev/vcs*", "/dev/hvc*", "/dev/uinput", "/dev/uhid", "/dev/input", "/dev/hidraw*", "/dev/shm", "/dev/mqueue",
	"/dev/fd", "/dev/std*", "/dev/block", "/dev/disk", "/dev/mapper", "/dev/loop*", "/dev/cuse", "/dev/fuse",
	"/dev/btrfs-control", "/dev/autofs", "/dev/userfaultfd", "/dev/vhost*", "/dev/vfio", "/dev/cpu", "/dev/bus",
	"/dev/char", "/dev/watchdog*", "/dev/rtc*", "/dev/snapshot", "/dev/tpm*",
};

static int is_closed_device(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(closed_devices); i++) {
		size_t n = strcspn(path + strlen("/dev/"), "/") + strlen("/dev/");
		const char *rule = closed_devices[i];

		if (names_glob(rule, strlen(rule), path, n, 0))
			return 1;
	}
	return 0;
}

static int check_device(const char *path, struct err *err)
{
	OWN(mem) char *real = realpath(path, NULL);
	struct stat st;

	if (strncmp(path, "/dev/", 5) || !path_is_clean(path))
		return err_set(err, ERR_INPUT, 0, "'%s' is not a path below /dev, so --device is no use for it", path);
	if (is_closed_device(path)) {
		err_set(err, ERR_POLICY, 0, "may not show '%s' by --device: it opens more of the machine than a run may have", path);
		return err_hint(err, "name a device that is for computing, as /dev/nvidia0 or /dev/dri");
	}
	if (!real || stat(real, &st) < 0)
		return err_set(err, ERR_NOTFOUND, errno, "cannot show '%s' by --device", path);
	if (strcmp(real, path))
		return err_set(err, ERR_INPUT, 0, "'%s' leads to '%s': name that one for --device", path, real);
	return S_ISCHR(st.st_mode) || S_ISDIR(st.st_mode) ? 0 :
		err_set(err, ERR_POLICY, 0, "may not show '%s' by --device: it is neither a character device nor a directory",
			path);
}

int lookup_devices(const struct strv *paths, struct err *err)
{
	for (size_t i = 0; i < paths->n; i++)
		if (check_device(paths->v[i], err) < 0)
			return -1;
	return 0;
}

void bind_list_done(struct bind_list *l)
{
	free(l->bind);
	strv_done(&l->words);
	*l = (struct bind_list){ 0 };
}

/* --- registered originals --- */

static char *originals_dir(const struct place *place)
{
	return path_join(place->state, "originals");
}

int originals_add(const struct place *place, const char *root, struct err *err)
{
	OWN(mem) char *dir = originals_dir(place);
	OWN(mem) char *file = NULL;
	char name[DIGEST_HEX_SIZE];

	digest_hex(root, strlen(root), name);
	file = dir ? path_join(dir, name) : NULL;
	if (!file)
		return no_memory(err);
	if (!access(file, F_OK))
		return 0;
	if (io_mkdirs(dir, 0700, err) < 0 ||
	    io_replace_file(AT_FDCWD, file, root, strlen(root), 0600, err) < 0)
		return err_wrap(err, "cannot register '%s'", root);
	return 0;
}

/* A file that is named wrongly, or half written, is none of ours; one that cannot be read is an error. */
static int add_original(int dirfd, const char *name, struct strv *ret, struct err *err)
{
	OWN(buf) struct buf b = { 0 };
	char want[DIGEST_HEX_SIZE];

	if (io_read_file(dirfd, name, MAX_PATH_FILE, &b, err) < 0)
		return -1;
	digest_hex(b.data ? b.data : "", b.len, want);
	if (strcmp(want, name) != 0 || access(b.data, F_OK) < 0)
		return 0;
	return strv_add(ret, b.data) < 0 ? no_memory(err) : 0;
}

int originals_list(const struct place *place, struct strv *ret, struct err *err)
{
	OWN(mem) char *path = originals_dir(place);
	OWN(dir) DIR *dir = path ? opendir(path) : NULL;
	const struct dirent *e;

	if (!path)
		return no_memory(err);
	if (!dir)
		return errno == ENOENT ? 0 : err_set(err, ERR_SYS, errno, "cannot look up the registered "
						     "checkouts in '%s'", path);
	while (errno = 0, (e = readdir(dir))) {
		if (strlen(e->d_name) == DIGEST_HEX_SIZE - 1 &&
		    add_original(dirfd(dir), e->d_name, ret, err) < 0)
			return -1;
	}
	if (errno)
		return err_set(err, ERR_SYS, errno, "cannot look up the registered checkouts in '%s'", path);
	strv_sort_unique(ret);
	return 0;
}
