#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/place.h"

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

static const char *absolute_env(const char *name)
{
	const char *v = getenv(name);

	return v && v[0] == '/' ? v : NULL;
}

static int find_home(char **ret, struct err *err)
{
	const char *home = absolute_env("HOME");

	if (!home) {
		const struct passwd *pw = getpwuid(getuid());

		home = pw && pw->pw_dir && pw->pw_dir[0] == '/' ? pw->pw_dir : NULL;
	}
	if (!home)
		return err_set(err, ERR_NOTFOUND, 0, "cannot tell the home directory: HOME is not set and the "
			       "user has none");
	*ret = path_join("/", home);
	return *ret ? 0 : no_memory(err);
}

static int find_cwd(char **ret, struct err *err)
{
	*ret = getcwd(NULL, 0);
	if (!*ret || (*ret)[0] != '/')
		return err_set(err, ERR_SYS, errno ? errno : ENOENT, "cannot tell the current directory");
	return 0;
}

/* Ours, a real directory, and nobody else's to look into. */
static int check_state(const char *dir, struct err *err)
{
	OWN(fd) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, ERR_SYS, errno, "cannot open the state directory '%s'", dir);
	if (st.st_uid != geteuid())
		return err_set(err, ERR_POLICY, 0, "cannot use the state directory '%s': it belongs to user %u", dir,
			       (unsigned int)st.st_uid);
	if ((st.st_mode & 07777) != 0700 && fchmod(fd, 0700) < 0)
		return err_set(err, ERR_SYS, errno, "cannot make the state directory '%s' private", dir);
	return 0;
}

static int find_state(struct place *p, struct err *err)
{
	const char *own = getenv("AGATE_STATE_DIR"), *xdg = absolute_env("XDG_STATE_HOME");
	OWN(mem) char *wish = own && *own ? path_join(p->cwd, own) :
		xdg ? path_join(xdg, "agate") : path_join(p->home, ".local/state/agate");

	if (!wish)
		return no_memory(err);
	if (io_mkdirs(wish, 0700, err) < 0)
		return err_wrap(err, "cannot make the state directory '%s'", wish);
	p->state = path_resolve(wish);
	if (!p->state)
		return no_memory(err);
	if (check_state(p->state, err) < 0)
		return -1;
	p->runs = path_join(p->state, "runs");
	p->db = path_join(p->state, "agate.db");
	if (!p->runs || !p->db)
		return no_memory(err);
	return io_mkdirs(p->runs, 0700, err);
}

/* The first of @below beneath our program's directory that is there; NULL if none. */
static char *beside(const char *self, const char *const below[])
{
	OWN(mem) char *dir = path_parent(self);

	for (size_t i = 0; dir && below[i]; i++) {
		OWN(mem) char *path = path_join(dir, below[i]);

		if (path && !access(path, F_OK))
			return TAKE(path);
	}
	return NULL;
}

static int find_self(struct place *p, struct err *err)
{
	static const char *const inits[] = { "agate-init", "../lib/agate/agate-init", NULL };
	static const char *const datas[] = { "../share/agate", "../data", NULL };
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n <= 0)
		return err_set(err, ERR_SYS, errno, "cannot tell where this program is");
	path[n] = '\0';
	p->self = strdup(path);
	if (!p->self)
		return no_memory(err);
	p->init = beside(p->self, inits);
	p->data = beside(p->self, datas);
	return 0;
}

int place_find(struct place *ret, struct err *err)
{
	OWN(place) struct place p = { 0 };

	if (find_home(&p.home, err) < 0 || find_cwd(&p.cwd, err) < 0 || find_state(&p, err) < 0 ||
	    find_self(&p, err) < 0)
		return -1;
	*ret = p;
	p = (struct place){ 0 };
	return 0;
}

char *place_run_dir(const struct place *p, const char *run_id)
{
	return path_join(p->runs, run_id);
}

void place_done(struct place *p)
{
	char **all[] = { &p->home, &p->cwd, &p->state, &p->runs, &p->db, &p->self, &p->init, &p->data };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		free(*all[i]);
		*all[i] = NULL;
	}
}
