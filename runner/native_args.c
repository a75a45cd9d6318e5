/*
 * runner/native_args.c - a SandboxSpec as a bubblewrap command line
 *
 * Only what is named here is in view. Order matters: later mounts lie over
 * earlier ones, so the system comes first, then the binds, then what must stay
 * read-only or unreadable among them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "base/path.h"
#include "runner/native.h"
#include "sandbox/egress/tls_trust.h"
#include "sandbox/egress/trust_java.h"
#include "sandbox/policy.h"
#include "sandbox/spec.h"

#define MAX_WAY 3000	/* entries: a few milliseconds */

struct args {
	const struct run_params *p;
	const struct sandbox_spec *spec;
	struct strv *to;
	struct kept_closed *kept;
	int failed;		/* out of memory on the way */
	int made_mask;
	unsigned int beside;	/* entries in the directories of @ways */
	struct strv ways;	/* directories on the way to what is kept closed */
	struct strv seals;	/* directories of ours to be made read-only once all is mounted, so that no chmod(2) opens them */
};

static void own_args(struct args *a)
{
	strv_done(&a->ways);
	strv_done(&a->seals);
}

static void add(struct args *a, const char *word)
{
	if (strv_add(a->to, word) < 0)
		a->failed = 1;
}

static void add2(struct args *a, const char *option, const char *one)
{
	add(a, option);
	add(a, one);
}

static void add3(struct args *a, const char *option, const char *one, const char *two)
{
	add2(a, option, one);
	add(a, two);
}

int is_glob(const char *rule)
{
	return strpbrk(rule, "*?[") != NULL;
}

/* --- where is a host path seen inside? --- */

char *guest_of(const struct sandbox_spec *spec, const char *host)
{
	const struct bind_mount *best = NULL;
	const char *rest;

	for (size_t i = 0; i < spec->n_binds; i++) {
		const struct bind_mount *m = &spec->binds[i];

		if (path_under(host, m->host_path) &&
		    (!best || strlen(m->host_path) >= strlen(best->host_path)))
			best = m;
	}
	if (!best)
		return NULL;
	rest = host + (strcmp(best->host_path, "/") ? strlen(best->host_path) : 0);
	return *rest ? path_join(best->guest_path, rest + strspn(rest, "/")) : strdup(best->guest_path);
}

/* --- the system --- */

static void add_namespaces(struct args *a)
{
	static const char *const words[] = {
		"--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-net", "--unshare-ipc",
		"--unshare-uts", "--unshare-cgroup-try", "--die-with-parent", "--cap-drop", "ALL",
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		add(a, words[i]);
}

/* /bin and its like are links on most systems and stay so. */
static void add_system_path(struct args *a, const char *path)
{
	char target[4096];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n > 0) {
		target[n] = '\0';
		add3(a, "--symlink", target, path);
	} else {
		add3(a, "--ro-bind", path, path);
	}
}

static int is_below_system(const char *path, const struct strv *system)
{
	for (size_t i = 0; i < system->n; i++)
		if (path_under(path, system->v[i]))
			return 1;
	return 0;
}

/* A file that is shown at the place of one of the host's, or at a place of its own. */
static int is_foreign(const struct bind_mount *m)
{
	struct stat st;

	return strcmp(m->host_path, m->guest_path) != 0 && !stat(m->host_path, &st) && !S_ISDIR(st.st_mode);
}

static int is_replaced(const struct args *a, const char *path)
{
	for (size_t i = 0; i < a->spec->n_binds; i++)
		if (!strcmp(a->spec->binds[i].guest_path, path) && is_foreign(&a->spec->binds[i]))
			return 1;
	return 0;
}

/*
 * A bind below a read-only system directory needs a mount point that is not there, or that
 * nobody on the host can replace, which would take the mount away. The directory's entries
 * are then bound one by one into an empty one.
 */
static void explode(struct args *a, const char *dir)
{
	OWN(dir) DIR *d = opendir(dir);
	const struct dirent *e;

	add2(a, "--tmpfs", dir);
	while (d && (e = readdir(d))) {
		OWN(mem) char *path = NULL;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		path = path_join(dir, e->d_name);
		if (!path)
			a->failed = 1;
		else if (!is_replaced(a, path))
			add_system_path(a, path);
	}
}

/* The deepest directory above @guest that exists on the host, if @guest itself does not. */
static char *missing_below(const char *guest)
{
	char *at;

	if (!access(guest, F_OK))
		return NULL;
	for (at = path_parent(guest); at && access(at, F_OK);) {
		char *up = path_parent(at);

		free(at);
		at = up;
	}
	return at;
}

/* A private directory lives in memory: as much as the run may have, else a quarter of what there is. */
static void add_private(struct args *a, const char *dir)
{
	uint64_t size = a->spec->limits.memory_bytes;
	OWN(mem) char *text = NULL;

	if (!size)
		size = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 4;
	if (asprintf(&text, "%llu", (unsigned long long)size) < 0) {
		a->failed = 1;
		return;
	}
	add2(a, "--size", text);
	add2(a, "--tmpfs", dir);
}

static void add_system(struct args *a)
{
	OWN(strv) struct strv system = { 0 };
	OWN(strv) struct strv exploded = { 0 };

	if (policy_system_binds(&system) < 0)
		a->failed = 1;
	for (size_t i = 0; i < system.n; i++)
		add_system_path(a, system.v[i]);
	for (size_t i = 0; i < a->spec->n_binds; i++) {
		const char *guest = a->spec->binds[i].guest_path;
		OWN(mem) char *dir = is_below_system(guest, &system) ? missing_below(guest) : NULL;

		if (!dir && is_below_system(guest, &system) && is_foreign(&a->spec->binds[i]))
			dir = path_parent(guest);
		if (!dir || strv_has(&exploded, dir))
			continue;
		explode(a, dir);
		if (strv_add(&exploded, dir) < 0)
			a->failed = 1;
	}
	add2(a, "--dev", "/dev");
	for (size_t i = 0; i < a->spec->devices.n; i++)
		add3(a, "--dev-bind", a->spec->devices.v[i], a->spec->devices.v[i]);
	add2(a, "--proc", "/proc");
	add_private(a, "/dev/shm");
	add_private(a, "/tmp");
	add_private(a, "/var/tmp");
	add_private(a, "/run");
	add3(a, "--ro-bind", a->p->init_path, GUEST_INIT);
}

/*
 * Names are looked up at the run's own stub, whatever the host uses. Where
 * /etc/resolv.conf is a link into /run, its target is made in the private one.
 */
static int add_resolver(struct args *a, struct err *err)
{
	static const char text[] = "nameserver 127.0.0.1\noptions timeout:5 attempts:1\n";
	OWN(mem) char *host = NULL;
	OWN(mem) char *target = path_resolve("/etc/resolv.conf");
	OWN(fd) int fd = -1;
	struct stat st;

	if (asprintf(&host, "%s/resolv.conf", a->p->run_dir) < 0 || !target)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (lstat("/etc/resolv.conf", &st) < 0)
		return 0;	/* without one, 127.0.0.1 is what the library asks */
	fd = open(host, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || fchmod(fd, 0644) < 0 || io_write_all(fd, text, sizeof(text) - 1) < 0)
		return err_set(err, ERR_SYS, errno, "cannot write '%s'", host);
	if (S_ISREG(st.st_mode) || path_under(target, "/run"))
		add3(a, "--ro-bind", host, target);
	return 0;
}

/* An empty file of the run, seen inside at @guest and at those of @places that are there. */
static int add_trust_file(struct args *a, const char *name, const char *guest, const char *const *places, struct err *err)
{
	OWN(mem) char *host = NULL;
	OWN(fd) int fd = -1;
	struct stat st;

	if (asprintf(&host, "%s/%s", a->p->run_dir, name) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	fd = open(host, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_set(err, ERR_SYS, errno, "cannot write '%s'", host);
	add3(a, "--ro-bind", host, guest);
	for (; *places; places++)
		if (lstat(*places, &st) == 0 && S_ISREG(st.st_mode))
			add3(a, "--ro-bind", host, *places);
	return 0;
}

/*
 * What the command is to believe, written when the egress helper has made its
 * authority. Programs that know no variable for it look where the system has it.
 */
static int add_trust(struct args *a, struct err *err)
{
	if (!a->p->looks_into_tls)
		return 0;
	if (add_trust_file(a, TRUST_FILE, RUN_TRUST_GUEST, trust_places(), err) < 0)
		return -1;
	return add_trust_file(a, TRUST_JAVA_FILE, RUN_TRUST_JAVA_GUEST, trust_java_places(), err);
}

/* --- the binds --- */

/*
 * Does @guest lie where the run makes files of its own? They have to be readable, so
 * all in there is, to Landlock, which can take nothing away below what it granted.
 */
static int is_in_own_place(const struct args *a, const char *guest)
{
	static const char *const private_dirs[] = { "/tmp", "/var/tmp", "/run", "/dev", "/proc" };

	for (size_t i = 0; i < ARRAY_LEN(private_dirs); i++)
		if (path_under(guest, private_dirs[i]))
			return 1;
	for (size_t i = 0; i < a->spec->n_binds; i++)
		if (spec_bind_is_writable(a->spec, &a->spec->binds[i]) && path_under(guest, a->spec->binds[i].guest_path))
			return 1;
	return 0;
}

/* Is @guest, below @m, in a writable bind that lies over it? Then it is not of @m. */
static int is_in_writable(const struct args *a, const struct bind_mount *m, const char *guest)
{
	for (size_t i = 0; i < a->spec->n_binds; i++) {
		const struct bind_mount *w = &a->spec->binds[i];

		if (spec_bind_is_writable(a->spec, w) && path_under(w->guest_path, m->guest_path) &&
		    path_under(guest, w->guest_path))
			return 1;
	}
	return 0;
}

/* What the rules hide inside @m, whether it is there by now or not. */
static void find_hidden_in(struct args *a, const struct bind_mount *m, struct strv *ret)
{
	const struct strv *deny = &a->spec->deny_read;

	for (size_t i = 0; i < deny->n; i++)
		if (path_under(deny->v[i], m->guest_path) && strcmp(deny->v[i], m->guest_path) && !is_glob(deny->v[i]) &&
		    !strv_has(&a->spec->allow_read, deny->v[i]) && !is_in_writable(a, m, deny->v[i]) &&
		    strv_add(ret, deny->v[i]) < 0)
			a->failed = 1;
}

/* A directory with a credential in it is shown around that; where this takes too much the broker has to hold it. */
static int add_around(struct args *a, const struct bind_mount *m, const struct strv *hidden, struct err *err)
{
	const struct around_place place = { a->p->run_dir, m->host_path, m->guest_path };
	struct err why = { 0 };

	if (!around_add(&place, hidden, a->to, &why))
		return 0;
	if (why.code == ERR_NOMEM) {
		if (err)
			*err = why;
		return -1;
	}
	a->kept->by_name = 1;
	add3(a, "--ro-bind", m->host_path, m->guest_path);
	return 0;
}

static int add_binds(struct args *a, struct err *err)
{
	for (size_t i = 0; i < a->spec->n_binds; i++) {
		const struct bind_mount *m = &a->spec->binds[i];
		int writable = spec_bind_is_writable(a->spec, m);
		OWN(strv) struct strv hidden = { 0 };

		if (!writable && is_in_own_place(a, m->guest_path))
			find_hidden_in(a, m, &hidden);
		if (!hidden.n)
			add3(a, writable ? "--bind" : "--ro-bind", m->host_path, m->guest_path);
		else if (add_around(a, m, &hidden, err) < 0)
			return -1;
	}
	return 0;
}

/* The bind that shows @guest, the innermost; NULL for the system's directories. */
static const struct bind_mount *bind_of(const struct sandbox_spec *spec, const char *guest)
{
	const struct bind_mount *best = NULL;

	for (size_t i = 0; i < spec->n_binds; i++) {
		const struct bind_mount *m = &spec->binds[i];

		if (path_under(guest, m->guest_path) &&
		    (!best || strlen(m->guest_path) >= strlen(best->guest_path)))
			best = m;
	}
	return best;
}

static int is_shown_writable(const struct args *a, const char *guest)
{
	const struct bind_mount *m = bind_of(a->spec, guest);

	return m && spec_bind_is_writable(a->spec, m);
}

/*
 * A protected path that a writable bind brings into view is bound again,
 * read-only. A writable bind inside one cannot be mended: the spec contradicts
 * itself.
 */
static int add_protected(struct args *a, struct err *err)
{
	for (size_t i = 0; i < a->spec->protected_paths.n; i++) {
		const char *path = a->spec->protected_paths.v[i];
		OWN(mem) char *guest = NULL;

		for (size_t j = 0; j < a->spec->n_binds; j++) {
			const struct bind_mount *m = &a->spec->binds[j];

			if (spec_bind_is_writable(a->spec, m) && path_under(m->host_path, path))
				return err_set(err, ERR_POLICY, 0, "may not bind '%s' writable: it is in '%s', which is protected",
					       m->host_path, path);
		}
		guest = guest_of(a->spec, path);
		if (guest && is_shown_writable(a, guest) && !access(path, F_OK))
			add3(a, "--ro-bind", path, guest);
	}
	return 0;
}

/* --- what must not be read --- */

/* An empty file without any permission bits, to be bound over secrets. */
static int mask_file(struct args *a, char ret[4096], struct err *err)
{
	int fd;

	if (snprintf(ret, 4096, "%s/mask", a->p->run_dir) >= 4096)
		return err_set(err, ERR_SYS, ENAMETOOLONG, "cannot make a mask in '%s'", a->p->run_dir);
	if (a->made_mask)
		return 0;
	unlink(ret);
	fd = open(ret, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (fd < 0)
		return err_set(err, ERR_SYS, errno, "cannot make '%s'", ret);
	close(fd);
	a->made_mask = 1;
	return 0;
}

/* Does the spec allow reading something inside the denied @dir? */
static int has_grant_inside(const struct args *a, const char *dir)
{
	for (size_t i = 0; i < a->spec->allow_read.n; i++)
		if (path_under(a->spec->allow_read.v[i], dir))
			return 1;
	return 0;
}

/*
 * Mask @host as seen at @guest. Nothing there: nothing to hide, and no mount
 * point to leave behind. A directory that may be passed through but not listed
 * leads to what is allowed again inside.
 */
static int add_mask(struct args *a, const char *host, const char *guest, struct err *err)
{
	char file[4096];
	struct stat st;

	if (lstat(host, &st) < 0 || S_ISLNK(st.st_mode))
		return 0;	/* what a link points to has a rule of its own */
	if (S_ISDIR(st.st_mode)) {
		add2(a, "--perms", has_grant_inside(a, guest) ? "0111" : "0000");
		add2(a, "--tmpfs", guest);
		if (strv_add(&a->seals, guest) < 0)
			a->failed = 1;
		return 0;
	}
	if (mask_file(a, file, err) < 0)
		return -1;
	add3(a, "--ro-bind", file, guest);
	return 0;
}

/* Host path of what is seen at @guest, or @guest itself for the system's directories. */
static char *host_of(const struct sandbox_spec *spec, const char *guest)
{
	const struct bind_mount *m = bind_of(spec, guest);
	const char *rest;

	if (!m)
		return strdup(guest);
	rest = guest + strlen(m->guest_path);
	return *rest ? path_join(m->host_path, rest + strspn(rest, "/")) : strdup(m->host_path);
}

static int is_in_view(const struct args *a, const char *path, const struct strv *system)
{
	for (size_t i = 0; i < a->spec->n_binds; i++)
		if (path_under(path, a->spec->binds[i].guest_path))
			return 1;
	return is_below_system(path, system);
}

/* What a directory on the way to something closed holds. */
static unsigned int count_entries(const char *dir)
{
	OWN(dir) DIR *d = opendir(dir);
	unsigned int n = 0;

	while (d && n <= MAX_WAY && readdir(d))
		n++;
	return n;
}

/*
 * Landlock is told of every entry beside the way to what is kept closed. Where they are
 * too many the broker has to hold it all.
 */
static void measure_way(struct args *a, const char *guest)
{
	char *dir = path_parent(guest);

	while (dir && strcmp(dir, "/") != 0 && !strv_has(&a->ways, dir)) {
		OWN(mem) char *host = host_of(a->spec, dir);
		char *up = path_parent(dir);

		if (host)
			a->beside += count_entries(host);
		if (!host || strv_take(&a->ways, dir) < 0)
			a->failed = 1;
		if (!host)
			free(dir);
		dir = up;
	}
	if (!dir)
		a->failed = 1;
	free(dir);
	if (a->beside > MAX_WAY)
		a->kept->too_far = a->kept->by_name = 1;
}

static void keep(struct args *a, struct strv *list, const char *guest)
{
	if (is_in_own_place(a, guest))
		return;
	if (strv_add(list, guest) < 0)
		a->failed = 1;
	measure_way(a, guest);
}

/* What only root may read stays so when root, or a member of a system group, runs agate. */
static int add_root_only(struct args *a, struct err *err)
{
	static const char *const roots[] = { SECRET_ROOTS };
	OWN(strv) struct strv hidden = { 0 };

	if (!policy_reads_more())
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		struct err why = { 0 };

		if (access(roots[i], F_OK) || !policy_root_only_files(roots[i], &hidden, &why))
			continue;
		if (why.code != ERR_LIMIT) {
			if (err)
				*err = why;
			return -1;
		}
		/* Too large to look through: none of it, then. */
		if (strv_add(&hidden, roots[i]) < 0)
			a->failed = 1;
	}
	for (size_t i = 0; i < hidden.n; i++) {
		keep(a, &a->kept->root_only, hidden.v[i]);
		if (add_mask(a, hidden.v[i], hidden.v[i], err) < 0)
			return -1;
	}
	return 0;
}

/* A literal entry of denyRead or allowRead. */
struct read_rule {
	const char *path;
	size_t depth;
	int is_grant;
};

static size_t depth_of(const char *path)
{
	size_t n = 0;

	for (; *path; path++)
		n += *path == '/';
	return n;
}

static int by_depth(const void *one, const void *other)
{
	const struct read_rule *a = one, *b = other;

	return a->depth < b->depth ? -1 : a->depth > b->depth;
}

/* Outer ones first, so that each mount lands on what the rules around it left. */
static size_t collect_read_rules(const struct sandbox_spec *spec, struct read_rule *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < spec->deny_read.n; i++)	/* the broker holds patterns */
		if (!is_glob(spec->deny_read.v[i]) && !strv_has(&spec->allow_read, spec->deny_read.v[i]))
			ret[n++] = (struct read_rule){ spec->deny_read.v[i], depth_of(spec->deny_read.v[i]), 0 };
	for (size_t i = 0; i < spec->allow_read.n; i++)
		if (!is_glob(spec->allow_read.v[i]))
			ret[n++] = (struct read_rule){ spec->allow_read.v[i], depth_of(spec->allow_read.v[i]), 1 };
	qsort(ret, n, sizeof(*ret), by_depth);
	return n;
}

/* Is the place of the @at-th rule hidden by those around it? The innermost says. */
static int is_hidden(const struct read_rule *rules, size_t at)
{
	for (size_t i = at; i-- > 0;)
		if (path_under(rules[at].path, rules[i].path))
			return !rules[i].is_grant;
	return 0;
}

/* Show again what lies in a hidden tree; as writable as the bind it belongs to. */
static int add_grant(struct args *a, const char *guest, struct err *err)
{
	const struct bind_mount *m = bind_of(a->spec, guest);
	OWN(mem) char *host = host_of(a->spec, guest);

	if (!host)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	keep(a, &a->kept->shown, guest);
	if (!access(host, F_OK))
		add3(a, m && spec_bind_is_writable(a->spec, m) ? "--bind" : "--ro-bind", host, guest);
	return 0;
}

/* Does it lie in something writable that others write too? There neither mounts nor Landlock keep anything closed. */
static int is_open_to_host(const struct args *a, const char *guest)
{
	for (size_t i = 0; i < a->spec->n_binds; i++) {
		const struct bind_mount *m = &a->spec->binds[i];

		if (spec_bind_is_writable(a->spec, m) && path_under(guest, m->guest_path) &&
		    !path_under(m->host_path, a->p->run_dir))
			return 1;
	}
	return 0;
}

static int add_denial(struct args *a, const char *guest, const struct strv *system, struct err *err)
{
	OWN(mem) char *host = NULL;

	if (!is_in_view(a, guest, system))
		return 0;
	keep(a, &a->kept->named, guest);
	if (is_open_to_host(a, guest))
		a->kept->by_name = 1;
	host = host_of(a->spec, guest);
	return host ? add_mask(a, host, guest, err) : err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* Denied, allowed again inside, denied again in there: the most specific rule wins. */
static int add_read_rules(struct args *a, struct err *err)
{
	OWN(mem) struct read_rule *rules = calloc(a->spec->deny_read.n + a->spec->allow_read.n + 1, sizeof(*rules));
	OWN(strv) struct strv system = { 0 };
	size_t n;

	if (!rules || policy_system_binds(&system) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (add_root_only(a, err) < 0)
		return -1;
	n = collect_read_rules(a->spec, rules);
	for (size_t i = 0; i < n; i++) {
		if (is_hidden(rules, i) != rules[i].is_grant)
			continue;	/* as it should be already */
		if ((rules[i].is_grant ? add_grant(a, rules[i].path, err) : add_denial(a, rules[i].path, &system, err)) < 0)
			return -1;
	}
	return 0;
}

static void add_seals(struct args *a)
{
	for (size_t i = 0; i < a->seals.n; i++)
		add2(a, "--remount-ro", a->seals.v[i]);
}

/* --- all of it --- */

const char *workdir_of(const struct sandbox_spec *spec)
{
	if (spec->guest_workdir)
		return spec->guest_workdir;
	for (size_t i = 0; i < spec->n_binds; i++)
		if (!spec->binds[i].read_only)
			return spec->binds[i].guest_path;
	return "/";
}

static void add_command(struct args *a)
{
	char number[16];

	add2(a, "--chdir", workdir_of(a->spec));
	add2(a, "--", GUEST_INIT);
	add(a, "stage");
	snprintf(number, sizeof(number), "%d", STAGE_CTL_FD);
	add(a, number);
	add(a, "--");
	for (char *const *word = a->p->argv; *word; word++)
		add(a, *word);
}

int args_build(const struct run_params *p, struct strv *ret, struct kept_closed *ret_kept, struct err *err)
{
	__attribute__((cleanup(own_args))) struct args a = { .p = p, .spec = p->spec, .to = ret, .kept = ret_kept };

	add(&a, "bwrap");
	add_namespaces(&a);
	add_system(&a);
	if (add_resolver(&a, err) < 0 || add_trust(&a, err) < 0)
		return -1;
	if (add_binds(&a, err) < 0 || add_protected(&a, err) < 0 || add_read_rules(&a, err) < 0)
		return -1;
	add_seals(&a);
	add_command(&a);
	if (a.failed)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return 0;
}
