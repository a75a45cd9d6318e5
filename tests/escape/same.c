/*
 * No attack: what a run may do has to end as it does outside. The same random calls are made
 * in a scratch directory outside, by the host, and inside; what each returned and the tree
 * that came of it are compared, and the first difference is told.
 *
 * RUN: --read {other} --workspace copy
 * HOST: top=$(dirname "$ATTACK_HOST")/same; mkdir "$top"; cd "$top"
 * HOST: trap 'chmod -R u+rwx "$top"; rm -rf "$top" "$ATTACK_OTHER/same.log"' EXIT; trap 'exit 1' TERM
 * HOST: "$ATTACK_REPO/attack" ${SAME_FROM:-1} ${SAME_SEEDS:-24} >"$ATTACK_OTHER/same.log" || exit 1
 * HOST: echo ready
 * HOST: n=0; until find "$ATTACK_STATE" -name same-done 2>/dev/null | grep -q .; do n=$((n + 1)); [ $n -lt 400 ] || exit 1; sleep 0.05; done
 */
#include <dirent.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/xattr.h>

#include "tests/escape/attack.h"

#define STEPS 300	/* a seed */
#define ROUND 12	/* steps until it starts from its first directory again */
#define WAY_UP 30	/* directories above that one: more than a round can climb */
#define SLOTS 4

struct world {
	FILE *log;
	unsigned int seed, step;
	uint64_t random;
	int first;		/* the first directory, O_PATH */
	int dirs[SLOTS], files[SLOTS];
	int has_fifos;		/* then nothing is opened that could wait */
	char long_name[NAME_MAX + 2];
};

static unsigned int pick(struct world *w, unsigned int n)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (unsigned int)((w->random >> 11) % n);
}

/* One chance in @n. */
static int once_in(struct world *w, unsigned int n)
{
	return pick(w, n) == 0;
}

/* --- what is named --- */

static const char *const names[] = { "a", "b", "c", "d1", "d2", "d3", "l1", "l2", "l3", "x y", "\xc3\xa4", "-n" };

static const char *a_name(struct world *w)
{
	return names[pick(w, sizeof(names) / sizeof(names[0]))];
}

/* A path of nothing but slashes and dots before @name, @len bytes in all. */
static void fill(char *to, size_t len, const char *name)
{
	size_t n = strlen(name), i = 0;

	while (i + 2 + n <= len) {
		to[i++] = '.';
		to[i++] = '/';
	}
	while (i + n < len)
		to[i++] = '/';
	strcpy(to + i, name);
}

static void a_long_path(struct world *w, char *to)
{
	size_t len = pick(w, 3) + NAME_MAX - 1;	/* 254 to 256 bytes */

	switch (pick(w, 3)) {
	case 0:
		memset(to, 'x', len);
		to[len] = '\0';
		break;
	case 1:
		sprintf(to, "d1/%.*s", (int)len, w->long_name);
		break;
	default:
		fill(to, 4093 + pick(w, 4), "a");	/* 4095 is the most */
	}
}

static void a_path(struct world *w, char *to)
{
	static const char *const odd[] = { "", ".", "..", "./", "../", "d1/.", "d1/..", "d2/../a", "d1/./b", ".//a", "nope/a", "a/b",
					   "d1//", "d1/../d2/..", "l1/", "l1/.", "l2/..", "../n",
					   "/proc/self/cwd/a", "/proc/thread-self/cwd/d1/b", "/proc/self/cwd", "/proc/self/cwd/" };

	switch (pick(w, 16)) {
	case 0:
	case 1:
		strcpy(to, odd[pick(w, sizeof(odd) / sizeof(odd[0]))]);
		return;
	case 2:
		if (once_in(w, 3))
			a_long_path(w, to);
		else
			sprintf(to, "/proc/self/fd/%d", 100 + (int)pick(w, 2 * SLOTS));
		return;
	case 3:
	case 4:
	case 5:
		sprintf(to, "%s/%s", a_name(w), a_name(w));
		break;
	case 6:
		sprintf(to, "%s/%s/%s", a_name(w), a_name(w), a_name(w));
		break;
	default:
		strcpy(to, a_name(w));
	}
	if (once_in(w, 12))
		strcat(to, once_in(w, 2) ? "/" : "//");
}

/* A slot's descriptor, or one that says where we stand, or none. */
static int a_dir(struct world *w)
{
	unsigned int n = pick(w, 16);

	return n < 2 * SLOTS ? 100 + (int)(n % SLOTS) : n == 15 ? 99 : n == 14 ? 100 + SLOTS + (int)pick(w, SLOTS) : AT_FDCWD;
}

static mode_t a_mode(struct world *w)
{
	static const mode_t modes[] = { 0644, 0600, 0777, 0, 0444, 0755, 02755, 01777, 04755, 07777, 0100644, 0170000, 02644, 0200 };

	return modes[pick(w, sizeof(modes) / sizeof(modes[0]))];
}

/* --- telling --- */

static void tell_path(struct world *w, const char *path)
{
	if (strlen(path) > 60)
		fprintf(w->log, " %.8s...%zu", path, strlen(path));
	else
		fprintf(w->log, " \"%s\"", path);
}

static void tell_end(struct world *w, long rc)
{
	/* A name that is too long, where nothing can be looked up: either may be told. */
	if (rc < 0)
		fprintf(w->log, " = %s\n", strerrorname_np(errno == ENAMETOOLONG ? EACCES : errno));
	else
		fprintf(w->log, " = %ld\n", rc);
}

static void tell(struct world *w, const char *call)
{
	fprintf(w->log, "%u.%u %s", w->seed, w->step, call);
}

/* --- opening --- */

static int some_flags(struct world *w)
{
	static const int more[] = { O_CREAT, O_CREAT, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_NOFOLLOW, O_DIRECTORY, O_CLOEXEC,
				    O_NONBLOCK, O_NOATIME, O_SYNC, O_DSYNC, O_TMPFILE, O_PATH };
	static const int mode[] = { O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY, O_RDWR, O_RDONLY, O_WRONLY, O_ACCMODE };
	int flags = mode[pick(w, sizeof(mode) / sizeof(mode[0]))];

	for (unsigned int n = pick(w, 5); n; n--)
		flags |= more[pick(w, sizeof(more) / sizeof(more[0]) - (once_in(w, 4) ? 0 : 2))];
	return w->has_fifos ? flags | O_NONBLOCK : flags;
}

/* What came of an open, which then is kept in a slot. */
static void keep_open(struct world *w, int fd, int asked)
{
	struct stat st;
	int slot = 100 + (int)pick(w, SLOTS), flags;

	if (fd < 0)
		return;
	flags = fcntl(fd, F_GETFL) & ~(asked & O_NOFOLLOW);
	if (fstat(fd, &st) < 0)
		return;
	fprintf(w->log, "  flags %o %d", flags, fcntl(fd, F_GETFD));
	if (!S_ISCHR(st.st_mode))
		fprintf(w->log, " mode %o", st.st_mode);
	if (S_ISREG(st.st_mode))
		fprintf(w->log, " size %lld links %d", (long long)st.st_size, (int)st.st_nlink);
	if (S_ISREG(st.st_mode) && !(flags & O_PATH) && (flags & O_ACCMODE) != O_RDONLY)
		fprintf(w->log, " written %zd", write(fd, "written", 1 + w->step % 7));
	fprintf(w->log, "\n");
	dup3(fd, S_ISDIR(st.st_mode) ? slot : slot + SLOTS, O_CLOEXEC);
	close(fd);
}

static void do_open(struct world *w, char *path)
{
	struct { uint64_t flags, mode, resolve, more; } how = { 0 };
	static const uint64_t resolves[] = { 0, 0, 0, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS, RESOLVE_IN_ROOT,
					     RESOLVE_NO_XDEV, 0x100 };
	int kind = (int)pick(w, 6), flags = some_flags(w), dir = a_dir(w), lowest = fcntl(0, F_DUPFD, 3), fd;
	mode_t mode = a_mode(w);
	struct stat st;

	close(lowest);
	kind = kind == 1 && w->has_fifos ? 0 : kind;
	flags &= kind > 3 ? ~O_PATH : -1;	/* where the broker opens all, it has no such openat2(2) */
	how.flags = (unsigned int)flags;
	how.mode = flags & (O_CREAT | __O_TMPFILE) || once_in(w, 8) ? mode & 07777 : 0;
	how.resolve = resolves[pick(w, sizeof(resolves) / sizeof(resolves[0]))];
	how.more = once_in(w, 16);
	/* With conditions the broker goes no way through /proc/self. */
	if (path[0] == '/' || (how.resolve == RESOLVE_IN_ROOT && strstr(path, "..")))
		how.resolve = 0;
	/* Nor does it make what a link leads to. */
	if ((flags & O_CREAT) && !fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode))
		how.resolve = 0;
	tell(w, kind == 0 ? "open" : kind == 1 ? "creat" : kind < 4 ? "openat" : "openat2");
	fprintf(w->log, " %d", dir);
	tell_path(w, path);
	fprintf(w->log, " %o %o", flags, mode);
	if (kind > 3)
		fprintf(w->log, " %llo %llx %llx", (unsigned long long)how.mode, (unsigned long long)how.resolve, (unsigned long long)how.more);
	fd = (int)(kind == 0 ? syscall(SYS_open, path, flags, mode) : kind == 1 ? syscall(SYS_creat, path, mode) :
		   kind < 4 ? syscall(SYS_openat, dir, path, flags, mode) :
			      syscall(SYS_openat2, dir, path, &how, once_in(w, 4) ? sizeof(how) : sizeof(how) - 8));
	tell_end(w, fd < 0 ? fd : fd - lowest);
	keep_open(w, fd, flags);
}

/* --- all other calls --- */

static void do_name(struct world *w, char *path)
{
	static const mode_t kinds[] = { S_IFREG, 0, S_IFSOCK, S_IFIFO, S_IFCHR, S_IFDIR };
	int dir = a_dir(w), kind = (int)pick(w, 7);
	mode_t mode = a_mode(w) & 07777;
	static const char *const targets[] = { "a", "d1", "d2/b", "nowhere", "l1", "l2", "..", ".", "d1/", "../n", "/nowhere/a" };
	const char *target = targets[pick(w, sizeof(targets) / sizeof(targets[0]))];

	tell(w, kind < 3 ? "mkdirat" : kind < 5 ? "symlinkat" : "mknodat");
	fprintf(w->log, " %d", dir);
	tell_path(w, path);
	fprintf(w->log, " %o %s", mode, target);
	if (kind < 3) {
		tell_end(w, mkdirat(dir, path, once_in(w, 2) ? mode | 0700 : mode));
	} else if (kind < 5) {
		tell_end(w, symlinkat(target, dir, path));
	} else {
		mode_t type = kinds[pick(w, 6)];

		fprintf(w->log, " %o", type);
		tell_end(w, type == S_IFIFO && !w->has_fifos ? 0 : mknodat(dir, path, type | mode, type == S_IFCHR));
	}
}

static void do_two(struct world *w, char *path)
{
	static const unsigned int how[] = { 0, 0, 0, 0, 1, 2, 3, 6, 8 };
	char other[PATH_MAX + 16];
	int from = a_dir(w), to = a_dir(w), is_link = once_in(w, 2);
	unsigned int flags = how[pick(w, sizeof(how) / sizeof(how[0]))];
	static const int link_how[] = { 0, 0, 0, AT_SYMLINK_FOLLOW, AT_SYMLINK_FOLLOW, 1 };
	int link_flags = link_how[pick(w, sizeof(link_how) / sizeof(link_how[0]))];

	long r;

	a_path(w, other);
	if (path[0] == '/' && (!is_link || link_flags != AT_SYMLINK_FOLLOW))
		strcpy(path, "a");
	if (other[0] == '/' || strlen(path) > NAME_MAX)
		strcpy(other, "b");
	tell(w, is_link ? "linkat" : "renameat2");
	fprintf(w->log, " %d", from);
	tell_path(w, path);
	fprintf(w->log, " %d", to);
	tell_path(w, other);
	fprintf(w->log, " %x", is_link ? (unsigned int)link_flags : flags);
	r = is_link ? linkat(from, path, to, other, link_flags) : syscall(SYS_renameat2, from, path, to, other, flags);
	/* Where several things are wrong, which one is told is not worth having alike. */
	if (r < 0 && (strchr(path, '/') || strchr(other, '/')))
		fprintf(w->log, " failed\n");
	else
		tell_end(w, r);
}

static void do_remove(struct world *w, char *path)
{
	static const int how[] = { 0, 0, AT_REMOVEDIR, 1 };
	int dir = a_dir(w), flags = how[pick(w, 4)];

	if (path[0] == '/')
		strcpy(path, "a");
	tell(w, "unlinkat");
	fprintf(w->log, " %d", dir);
	tell_path(w, path);
	fprintf(w->log, " %x", flags);
	tell_end(w, unlinkat(dir, path, flags));
}

static void do_attribute(struct world *w, char *path)
{
	struct timespec ts[2] = { { .tv_sec = 1000000000 + w->step, .tv_nsec = 5 }, { .tv_sec = 1000000000 + 2 * w->step } };
	int dir = a_dir(w), fd = 100 + SLOTS + (int)pick(w, SLOTS), kind = (int)pick(w, 12), flags = once_in(w, 3) ? AT_SYMLINK_NOFOLLOW : 0;
	long long length = pick(w, 9000) - 10;
	mode_t mode = a_mode(w) | (once_in(w, 2) ? 0600 : 0);

	if (path[0] == '/')
		flags = 0;
	tell(w, "attribute");
	fprintf(w->log, " %d %d %d", kind, dir, fd);
	tell_path(w, path);
	fprintf(w->log, " %o %x %lld", mode, flags, length);
	switch (kind) {
	case 0: tell_end(w, chmod(path, mode)); break;
	case 1: tell_end(w, syscall(SYS_fchmodat, dir, path, mode)); break;
	case 2: tell_end(w, fchmod(fd, mode)); break;
	case 3: tell_end(w, truncate(path, length)); break;
	case 4: tell_end(w, ftruncate(fd, length)); break;
	case 5:
	case 6: tell_end(w, utimensat(dir, path, ts, flags)); break;
	case 7: tell_end(w, futimens(fd, ts)); break;
	case 8: tell_end(w, flags ? lsetxattr(path, "user.x", "y", 1, 0) : setxattr(path, "user.x", "y", 1, 0)); break;
	case 9: tell_end(w, once_in(w, 2) ? fsetxattr(fd, "user.z", "y", 1, XATTR_CREATE) : fremovexattr(fd, "user.z")); break;
	case 10: tell_end(w, removexattr(path, "user.x")); break;
	default: tell_end(w, fchownat(dir, path, mode & 0200 ? geteuid() : (uid_t)-1, mode & 04000 ? 12345 : getegid(), flags)); break;
	}
}

static void do_stand(struct world *w, char *path)
{
	int kind = (int)pick(w, 4), dir = 100 + (int)pick(w, SLOTS);
	mode_t mask = once_in(w, 2) ? 022 : a_mode(w) & 0277;

	tell(w, "stand");
	fprintf(w->log, " %d %d", kind, dir);
	tell_path(w, path);
	fprintf(w->log, " %o", mask);
	tell_end(w, kind == 0 ? chdir(path) : kind == 1 ? fchdir(dir) : (long)umask(mask));
}

static void look(struct world *w, char *path)
{
	struct stat st = { 0 };
	int r = fstatat(a_dir(w), path, &st, AT_SYMLINK_NOFOLLOW);

	tell(w, "stat");
	tell_path(w, path);
	fprintf(w->log, " %o", r < 0 ? 0 : st.st_mode);
	tell_end(w, r);
}

/* --- a seed --- */

static void start_round(struct world *w)
{
	umask(022);
	fchmod(w->first, 0755);
	if (fchdir(w->first) < 0)
		fprintf(w->log, "lost the first directory\n");
	for (int i = 0; i < SLOTS; i++)
		dup3(w->first, 100 + i, O_CLOEXEC);
}

static void step(struct world *w)
{
	static void (*const acts[])(struct world *, char *) = { do_open, do_open, do_open, do_open, do_open, do_name, do_name, do_two, do_two,
								do_remove, do_attribute, do_attribute, do_attribute, do_stand, look };
	char path[PATH_MAX + 16];
	unsigned int act;

	if (w->step % ROUND == 0)
		start_round(w);
	a_path(w, path);
	act = pick(w, sizeof(acts) / sizeof(acts[0]));
	/* The links of /proc are nobody's to make, move and change, and each side says so in its way. */
	if (act > 4 && act < 10 && (!strcmp(path, "/proc/self/cwd") || !strcmp(path, "/proc/self/cwd/")))
		strcpy(path, "a");
	acts[act](w, path);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void tell_content(struct world *w, int dir, const char *name)
{
	unsigned char bytes[16384];
	int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
	unsigned int sum = 0;

	for (ssize_t i = 0; i < n; i++)
		sum = sum * 31 + bytes[i];
	fprintf(w->log, " read %zd %x", n, sum);
	if (fd >= 0)
		close(fd);
}

static void tell_tree(struct world *w, int dir, const char *at)
{
	struct dirent **list;
	int n = scandirat(dir, ".", &list, NULL, by_name);

	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;
		char path[2 * PATH_MAX], to[256] = "";
		struct stat st;
		int sub;

		if (!strcmp(name, ".") || !strcmp(name, "..") || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		snprintf(path, sizeof(path), "%.4000s/%.255s", at, name);
		fprintf(w->log, "%u tree %s %o", w->seed, path, st.st_mode);
		if (!S_ISDIR(st.st_mode))
			fprintf(w->log, " links %d", (int)st.st_nlink);
		if (st.st_mtim.tv_sec < 1500000000)
			fprintf(w->log, " time %lld", (long long)st.st_mtim.tv_sec);
		if (S_ISLNK(st.st_mode) && readlinkat(dir, name, to, sizeof(to) - 1) > 0)
			fprintf(w->log, " to %s", to);
		if (S_ISREG(st.st_mode))
			tell_content(w, dir, name);
		fprintf(w->log, "\n");
		sub = S_ISDIR(st.st_mode) ? openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW) : -1;
		if (sub >= 0) {
			tell_tree(w, sub, path);
			close(sub);
		}
	}
	for (int i = 0; i < n; i++)
		free(list[i]);
	if (n >= 0)
		free(list);
}

static void *run_seed(void *arg)
{
	struct world *w = arg;

	if (w->seed % 4 == 3 && unshare(CLONE_FS | CLONE_FILES) < 0)
		fprintf(w->log, "cannot be a thread of its own\n");
	for (w->step = 0; w->step < STEPS; w->step++)
		step(w);
	start_round(w);
	tell_tree(w, w->first, ".");
	for (int i = 100; i < 100 + 2 * SLOTS; i++)
		close(i);
	return NULL;
}

/* The first directory of a seed, below many. */
static int make_first(unsigned int seed)
{
	char name[16];

	snprintf(name, sizeof(name), "s%u", seed);
	if (mkdir(name, 0755) < 0 || chdir(name) < 0)
		return -1;
	for (int i = 0; i < WAY_UP; i++)
		if (mkdir("n", 0755) < 0 || chdir("n") < 0)
			return -1;
	return open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int play(FILE *log, unsigned int seed)
{
	struct world w = { .log = log, .seed = seed, .random = seed * 0x9e3779b97f4a7c15u + 1, .has_fifos = seed % 2 };
	int home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pthread_t t;

	memset(w.long_name, 'y', sizeof(w.long_name) - 1);
	w.first = make_first(seed);
	if (home < 0 || w.first < 0)
		return -1;
	fprintf(log, "seed %u\n", seed);
	if (seed % 4 < 2) {
		run_seed(&w);
	} else {
		if (pthread_create(&t, NULL, run_seed, &w))
			return -1;
		pthread_join(t, NULL);
	}
	close(w.first);
	return fchdir(home) < 0 || close(home) < 0 ? -1 : 0;
}

/* --- both sides --- */

/* Nobody inside has a capability, not even root. */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	return (int)syscall(SYS_capset, &head, none);
}

static int outside(unsigned int from, unsigned int n)
{
	if (drop_capabilities() < 0)
		return 2;
	printf("%u %u\n", from, n);
	for (unsigned int seed = from; seed < from + n; seed++)
		if (play(stdout, seed) < 0)
			return 2;
	return fflush(stdout) ? 2 : 0;
}

#define LINE (3 * PATH_MAX)

/* To the next seed: what comes after a difference follows from it. */
static char *skip(FILE *f, char *line)
{
	char *got = line;

	while (got && strncmp(got, "seed ", 5) != 0)
		got = fgets(line, LINE, f);
	return got;
}

/* The first line of each seed that differs. */
static void compare(FILE *was, FILE *is)
{
	static char a[LINE], b[LINE], before[LINE];
	char *outer = fgets(a, sizeof(a), was), *inner = fgets(b, sizeof(b), is);

	while (outer || inner) {
		if (!outer || !inner || strcmp(a, b) != 0) {
			printf("after    %soutside: %sinside:  %s", before, outer ? a : "nothing\n", inner ? b : "nothing\n");
			errno = 0;
			works(-1, "do as outside");
			outer = skip(was, outer);
			inner = skip(is, inner);
			before[0] = '\0';
			continue;
		}
		strcpy(before, a);
		outer = fgets(a, sizeof(a), was);
		inner = fgets(b, sizeof(b), is);
	}
}

static void inside(void)
{
	FILE *was = fopen(spell("%s/same.log", told("ATTACK_OTHER")), "r"), *is = fopen("same-log", "w+");
	unsigned int from, n;

	works(was && is && fscanf(was, "%u %u\n", &from, &n) == 2 ? 0 : -1, "read what was done outside");
	works(mkdir("same", 0755), "make a directory");
	if (attack_broken || chdir("same") < 0)
		return;
	for (unsigned int seed = from; seed < from + n; seed++)
		works(play(is, seed), "begin with seed %u", seed);
	rewind(is);
	compare(was, is);
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return outside((unsigned int)atoi(argv[1]), (unsigned int)atoi(argv[2]));
	attack_begin();
	inside();
	if (chdir(attack_start) < 0)
		return 2;
	works(open("same-done", O_WRONLY | O_CREAT, 0644), "say that it is done");
	return attack_end();
}
