/*
 * runner/native_early.c - masks that are mounted before bwrap, not by it
 *
 * bwrap reads the whole mount table once for each bind, and parses it. Who may mount by itself, as
 * root may, makes a mount namespace of its own before bwrap, with the masks in it;
 * what bwrap then binds of the system's directories brings them along, read-only as
 * those are, and locked like all mounts that come from a namespace of more rights.
 * What of the host no run sees anyway is dropped there: that makes the table shorter.
 *
 * Only a mask that nothing else in the command line touches is taken: it hides what
 * one bind of a system directory shows at its own path, and no other bind shows that
 * or anything in it, nor is anything mounted above, below or over it.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/own.h"
#include "base/path.h"
#include "runner/native.h"

#define SYS "/sys"
#define EMPTY_DIR "mode=0000,size=4k,nr_inodes=2"

/* The options args_build() uses, by how many words follow. Two: the second is where it is seen. */
static const struct option {
	const char *word;
	int words;
	int is_bind;
} options[] = {
	{ "--ro-bind", 2, 1 }, { "--bind", 2, 1 }, { "--dev-bind", 2, 1 },
	{ "--ro-bind-try", 2, 1 }, { "--bind-try", 2, 1 }, { "--dev-bind-try", 2, 1 },
	{ "--symlink", 2, 0 }, { "--tmpfs", 1, 0 }, { "--dir", 1, 0 }, { "--dev", 1, 0 }, { "--proc", 1, 0 },
	{ "--remount-ro", 1, 0 }, { "--size", 1, 0 }, { "--perms", 1, 0 }, { "--cap-drop", 1, 0 }, { "--chdir", 1, 0 },
	{ "--unshare-user", 0, 0 }, { "--disable-userns", 0, 0 }, { "--unshare-pid", 0, 0 }, { "--unshare-net", 0, 0 },
	{ "--unshare-ipc", 0, 0 }, { "--unshare-uts", 0, 0 }, { "--unshare-cgroup-try", 0, 0 },
	{ "--die-with-parent", 0, 0 },
};

static const struct option *find_option(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (!strcmp(options[i].word, word))
			return &options[i];
	return NULL;
}

/* Where what the option at @at makes is seen; "" where it makes nothing. */
static const char *place_of(char *const *at, const struct option *o)
{
	static const char *const none[] = { "--size", "--perms", "--cap-drop", "--chdir" };

	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		if (!strcmp(o->word, none[i]))
			return "";
	return o->words ? at[o->words] : "";
}

/* The end of bwrap's options, -1 if one of them is not known here. */
static ssize_t end_of_options(const struct strv *argv)
{
	size_t i = 1;

	while (i < argv->n && strcmp(argv->v[i], "--")) {
		const struct option *o = find_option(argv->v[i]);

		if (!o || i + (size_t)o->words >= argv->n)
			return -1;
		i += 1 + (size_t)o->words;
	}
	return (ssize_t)i;
}

static int touch(const char *one, const char *other)
{
	return path_under(one, other) || path_under(other, one);
}

/* "--ro-bind /etc /etc", of a real directory */
static int is_system_bind(char *const *at, const char *mask)
{
	static const char *const dirs[] = { SECRET_ROOTS };
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		if (!strcmp(at[0], "--ro-bind") && !strcmp(at[1], dirs[i]) && !strcmp(at[2], dirs[i]) &&
		    path_under(mask, dirs[i]))
			return lstat(dirs[i], &st) == 0 && S_ISDIR(st.st_mode);
	return 0;
}

/*
 * Is the mask whose option stands at @own alone with the bind that shows what it
 * hides? @seal: "--remount-ro" of the same path is a part of it.
 */
static int is_alone(const struct strv *argv, size_t end, size_t own, const char *path, int seal)
{
	int shown = 0;

	for (size_t i = 1; i < end;) {
		const struct option *o = find_option(argv->v[i]);
		char *const *at = argv->v + i;

		i += 1 + (size_t)o->words;
		if (at == argv->v + own || (seal && !strcmp(at[0], "--remount-ro") && !strcmp(at[1], path)))
			continue;
		if (o->is_bind && is_system_bind(at, path))
			shown++;
		else if ((o->is_bind && touch(path, at[1])) || (*place_of(at, o) && touch(path, place_of(at, o))))
			return 0;
	}
	return shown == 1;
}

static int shows_sys(const struct strv *argv, size_t end)
{
	for (size_t i = 1; i < end;) {
		const struct option *o = find_option(argv->v[i]);

		if (o->is_bind && touch(argv->v[i + 1], SYS))
			return 1;
		i += 1 + (size_t)o->words;
	}
	return 0;
}

struct taking {
	const struct strv *argv;
	size_t end;
	const char *run_dir;
	struct strv *slim;
	struct early *early;
};

/* A file of the run's own over a file of the system's. */
static int is_early_file(const struct taking *t, size_t i)
{
	char *const *at = t->argv->v + i;
	struct stat st;

	return !strcmp(at[0], "--ro-bind") && path_under(at[1], t->run_dir) && strcmp(at[1], t->run_dir) &&
	       !lstat(at[1], &st) && S_ISREG(st.st_mode) && !lstat(at[2], &st) && S_ISREG(st.st_mode) &&
	       is_alone(t->argv, t->end, i, at[2], 0);
}

/* "--perms 0000 --tmpfs DIR" */
static int is_early_dir(const struct taking *t, size_t i)
{
	char *const *at = t->argv->v + i;
	struct stat st;

	return i + 3 < t->end && !strcmp(at[0], "--perms") && !strcmp(at[1], "0000") && !strcmp(at[2], "--tmpfs") &&
	       !lstat(at[3], &st) && S_ISDIR(st.st_mode) && is_alone(t->argv, t->end, i + 2, at[3], 1);
}

static int is_early_seal(const struct taking *t, size_t i)
{
	return !strcmp(t->argv->v[i], "--remount-ro") && strv_has(&t->early->dirs, t->argv->v[i + 1]);
}

/* How many words at @i are spared; 0: none. */
static int take(const struct taking *t, size_t i)
{
	char *const *at = t->argv->v + i;

	if (is_early_file(t, i))
		return strv_add(&t->early->files, at[1]) < 0 || strv_add(&t->early->files, at[2]) < 0 ? -1 : 3;
	if (is_early_dir(t, i))
		return strv_add(&t->early->dirs, at[3]) < 0 ? -1 : 4;
	return is_early_seal(t, i) ? 2 : 0;
}

int early_take(const struct strv *argv, const char *run_dir, struct strv *ret_argv, struct early *ret)
{
	ssize_t end = end_of_options(argv);
	struct taking t = { .argv = argv, .end = end < 0 ? 0 : (size_t)end, .run_dir = run_dir, .slim = ret_argv,
			    .early = ret };

	ret->drops_sys = end > 0 && !shows_sys(argv, t.end);
	for (size_t i = 0; i < argv->n;) {
		const struct option *o = i && i < t.end ? find_option(argv->v[i]) : NULL;
		int n = o ? take(&t, i) : 0;

		if (n < 0)
			return -1;
		for (int left = n ? 0 : 1 + (o ? o->words : 0); left > 0; left--)
			if (strv_add(ret_argv, argv->v[i++]) < 0)
				return -1;
		i += (size_t)n;
	}
	return 0;
}

/* In the child, which shares our memory: system calls alone. */
static int early_mount(void *cookie)
{
	const struct early *e = cookie;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return -1;
	for (size_t i = 0; i + 1 < e->files.n; i += 2)
		if (mount(e->files.v[i], e->files.v[i + 1], NULL, MS_BIND, NULL) < 0)
			return -1;
	for (size_t i = 0; i < e->dirs.n; i++)
		if (mount("tmpfs", e->dirs.v[i], "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, EMPTY_DIR) < 0)
			return -1;
	if (e->drops_sys)
		umount2(SYS, MNT_DETACH);	/* it may be no mount */
	return 0;
}

void early_done(struct early *e)
{
	strv_done(&e->files);
	strv_done(&e->dirs);
}

/*
 * Keys typed at the terminal go to every process of the foreground group. They
 * are the command's to answer: if bwrap died of one, it would take the command
 * along before it could. What is ignored stays so across exec; the stage undoes it.
 */
#define TYPED_SIGNALS (1u << SIGINT | 1u << SIGQUIT)

struct watch *early_spawn(struct loop *loop, struct spawn *sp, const struct strv *argv, const char *run_dir,
			  void (*exited)(void *cookie, int status, int signum), void *cookie, pid_t *ret_pid,
			  struct err *err)
{
	OWN(strv) struct strv slim = { 0 };
	struct early early = { 0 };
	struct watch *w = NULL;

	sp->ignored = TYPED_SIGNALS;
	if (geteuid() == 0 && !early_take(argv, run_dir, &slim, &early)) {
		sp->argv = slim.v;
		sp->prepare = early_mount;
		sp->prepare_cookie = &early;
		w = loop_spawn(loop, sp, exited, cookie, ret_pid, NULL);
	}
	early_done(&early);
	sp->argv = argv->v;
	sp->prepare = NULL;
	return w ? w : loop_spawn(loop, sp, exited, cookie, ret_pid, err);
}
