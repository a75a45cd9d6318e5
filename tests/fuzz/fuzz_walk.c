/*
 * tests/fuzz/fuzz_walk.c - a path from a caller, against the kernel's own walk of it
 *
 * First byte: bit 0 a last link is followed, bit 1 the path is made of parts
 * below (a byte each) instead of being the text itself, bit 2 openat2(2)
 * conditions from the second byte (two of them exclude each other); the third byte says where the caller stands.
 *
 * What is found must be the object the kernel finds, lie inside, and have the
 * path it is judged by; what does not exist yet must be where the kernel would
 * make it; and what the kernel finds may only be refused for a reason that is told.
 */
#include <stdint.h>

#include "sandbox/init/sys.h"
#include "tests/fuzz/world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static char long_name[NAME_MAX + 1], longer_name[NAME_MAX + 2], dots[1001];

static const char *const parts[] = {
	"a", "b", "f", "/", "..", ".", "//", "new", "up", "abs", "self", "dangling", "dangling_new", "loop1", "loop2",
	"to_file", "proc_cwd", "proc_root", "proc_fd", "proc", "thread-self", "task", "cwd", "root", "exe", "1", "fd", "0",
	"c0", "c10", "c39", "c45", "slash", "here", "gone", "deep", "\n", "\xff\xfe", " ", "...",
	long_name, longer_name, dots, "to_long", "to_dots", "slashes",
};

/* Where the caller stands: directories, then descriptors of ours. */
static const char *const stands[] = { "/", "/a", "/a/b", "/gone", "/deep", "/proc" };
static int handles[4];

static void make_link(const char *to, const char *name)
{
	MUST(symlink(to, name));
}

static void make_chain(void)
{
	for (int i = 0; i <= 45; i++) {
		char name[16], to[16];

		snprintf(name, sizeof(name), "/c%d", i);
		snprintf(to, sizeof(to), "%s%d", i ? "c" : "a/b", i - 1);
		make_link(i ? to : "a/b", name);
	}
}

/* A directory whose path is longer than any call could say. */
static void make_deep(void)
{
	MUST(mkdir("/deep", 0755));
	MUST(chdir("/deep"));
	for (int i = 0; i < 18; i++) {
		MUST(mkdir(long_name, 0755));
		MUST(chdir(long_name));
	}
	world_write("f", "deep");
	MUST(handles[3] = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
	MUST(chdir("/"));
}

static void build(void *unused)
{
	char text[3000];

	(void)unused;
	MUST(mkdir("/a", 0755));
	MUST(mkdir("/a/b", 0755));
	MUST(mkdir("/gone", 0755));
	world_write("/f", "f");
	world_write("/a/f", "af");
	world_write("/a/b/f", "abf");
	make_link("..", "/a/up");
	make_link("../..", "/a/b/up");
	make_link("/a", "/a/abs");
	make_link(".", "/a/self");
	make_link("nowhere/x", "/dangling");
	make_link("a/b/new", "/dangling_new");
	make_link("/b/../dangling_new", "/a/dangling");
	make_link("loop2", "/loop1");
	make_link("a/../loop1", "/loop2");
	make_link("a/b/f", "/to_file");
	make_link("/proc/self/cwd", "/proc_cwd");
	make_link("/proc/self/root", "/proc_root");
	make_link("/proc/self/fd/0", "/proc_fd");
	make_link("a/", "/slash");
	make_link("////a//b///", "/slashes");
	make_link(".", "/here");
	make_link(long_name, "/to_long");
	memset(text, '/', sizeof(text));
	memcpy(text + sizeof(text) - 2, "a", 2);
	make_link(text, "/to_dots");
	make_chain();
	MUST(handles[0] = open("/a", O_PATH | O_DIRECTORY | O_CLOEXEC));
	MUST(handles[1] = open("/gone", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	MUST(handles[2] = open("/f", O_RDONLY | O_CLOEXEC));
	make_deep();
}

/* --- the two answers --- */

struct question {
	char text[PATH_MAX];
	int at;
	unsigned int flags;
	uint64_t resolve;
	int through_proc;	/* may be: what other processes are is told differently there */
	int through_fd;		/* may be: which descriptor has which number changes as we look */
};

static int same(int a, int b)
{
	struct stat x, y;

	MUST(fstat(a, &x));
	MUST(fstat(b, &y));
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void wrong(const struct question *q, const struct place *p, const char *what)
{
	fprintf(stderr, "%s: '%s' at %d, flags %u, resolve %lx; place '%s' name '%s' object %d foreign %d\n", what, q->text,
		q->at, q->flags, (unsigned long)q->resolve, p ? p->path : "", p ? p->name : "", p ? p->object : -1,
		p ? p->foreign : 0);
	abort();
}

static int is_link(int fd)
{
	struct stat st;

	MUST(fstat(fd, &st));
	return S_ISLNK(st.st_mode);
}

/* The path it is judged by must lead to it. Gone ones have none, and long ones are refused elsewhere. */
static void check_path(const struct question *q, const struct place *p, int object)
{
	struct stat st;
	int fd;

	if (p->foreign || (p->dir >= 0 && !fstat(p->dir, &st) && !st.st_nlink) || (!fstat(object, &st) && !st.st_nlink))
		return;
	if (p->path[0] != '/')
		wrong(q, p, "no path");
	fd = sys_openat2(AT_FDCWD, p->path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0, 0);
	if (fd < 0 && (q->through_fd || q->through_proc))
		return;	/* a thread's directory hides from listings, not from us; a descriptor's number is reused */
	if (fd < 0 || !same(fd, object))
		wrong(q, p, "the path is another's");
	close(fd);
}

static void check_object(const struct question *q, const struct place *p, int mine, int kernel)
{
	if (!q->through_fd && !same(mine, kernel))
		wrong(q, p, "another object than the kernel's");
	if (p->name[0] && (q->flags & WALK_FOLLOW) && is_link(mine))
		wrong(q, p, "a link that should be followed");
	check_path(q, p, mine);
}

/* The kernel makes the file: where we said it would be? */
static void check_making(const struct question *q, const struct place *p)
{
	int made, mine;

	made = openat(q->at, q->text, O_CREAT | O_WRONLY | O_CLOEXEC | (q->flags & WALK_FOLLOW ? 0 : O_EXCL), 0600);
	if (made < 0) {
		if (!p->must_be_dir && !q->through_proc && errno != ENOENT)
			wrong(q, p, "the kernel cannot make it");
		return;
	}
	mine = openat(p->dir, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (mine < 0 || !same(mine, made))
		wrong(q, p, "made elsewhere");
	check_path(q, p, mine);
	MUST(unlinkat(p->dir, p->name, 0));
	close(mine);
	close(made);
}

static void check_found(const struct question *q, const struct place *p, int kernel, int err)
{
	int mine = p->object >= 0 ? p->object : openat(p->dir, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (p->object >= 0 && p->name[0])
		wrong(q, p, "an object and a name");
	if (strchr(p->name, '/') || !strcmp(p->name, ".") || !strcmp(p->name, ".."))
		wrong(q, p, "no name");
	if (mine >= 0 && kernel >= 0)
		check_object(q, p, mine, kernel);
	else if (mine >= 0 && !(err == ENOTDIR && p->must_be_dir) && !q->through_fd)
		wrong(q, p, "found what the kernel does not");
	else if (mine < 0 && kernel >= 0)
		wrong(q, p, "not there, but the kernel finds it");
	else if (mine < 0 && !q->resolve && err == ENOENT)
		check_making(q, p);
	if (mine >= 0 && mine != p->object)
		close(mine);
}

static void check_refused(const struct question *q, int err)
{
	if (err == ENAMETOOLONG || (err == EACCES && q->through_proc) || (q->resolve && (err == EXDEV || err == ELOOP)))
		return;
	if (q->through_fd || (q->through_proc && err == ENOENT))
		return;
	fprintf(stderr, "%s: ", strerror(err));
	wrong(q, NULL, "refused, but the kernel finds it");
}

/* One for all inputs, so that what it remembers from one may be wrong for the next. */
static struct worker *the_worker(void)
{
	static struct worker w;

	if (!w.b)
		worker_init(&w, &broker);
	return &w;
}

/* As a worker walks, which is its caller here: put its working directory back. */
static int walk_as_ourselves(const struct question *q, struct place *p)
{
	static uint64_t asked;
	const struct seccomp_notif none = { .id = ++asked };
	const struct request r = { .b = &broker, .w = the_worker(), .n = &none, .tid = (pid_t)syscall(SYS_gettid) };
	int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), found, why;

	MUST(here);
	found = walk(&r, q->at, q->text, q->flags, q->resolve, p);
	why = errno;
	MUST(stand_briefly(&r, here));
	close(here);
	errno = why;
	return found;
}

static void ask(void *arg)
{
	const struct question *q = arg;
	struct place p;
	int kernel, err, found, why;

	kernel = sys_openat2(q->at, q->text, O_PATH | O_CLOEXEC | (q->flags & WALK_FOLLOW ? 0 : O_NOFOLLOW), 0, q->resolve);
	err = errno;
	found = walk_as_ourselves(q, &p);
	why = errno;
	if (!found)
		check_found(q, &p, kernel, err);
	else if (kernel >= 0)
		check_refused(q, why);
	place_done(&p);
	if (kernel >= 0)
		close(kernel);
}

/* --- from the input --- */

static void read_text(struct question *q, const uint8_t *data, size_t len, int by_parts)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		const char one[2] = { (char)data[i], '\0' };
		const char *part = by_parts ? parts[(data[i] & 127) % (sizeof(parts) / sizeof(parts[0]))] : one;

		if (!by_parts && !data[i])
			break;
		/* Bit 7: without a slash behind it. */
		if (n + strlen(part) + 2 > sizeof(q->text))
			break;
		n += (size_t)sprintf(q->text + n, "%s%s", part, by_parts && !(data[i] & 128) ? "/" : "");
	}
}

static void stand(void *arg)
{
	struct question *q = arg;
	int where = q->at;

	q->at = AT_FDCWD;
	if (where < 6)
		MUST(chdir(stands[where]));
	else
		q->at = handles[where % 4];
	ask(q);
	MUST(chdir("/"));
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static struct zone zones[] = {
		{ .kind = ZONE_READ, .path = "/", .len = 0, .rule = "r" }, { .kind = ZONE_WRITE, .path = "/a", .len = 2, .rule = "w" },
		{ .kind = ZONE_PROC, .path = "/proc", .len = 5, .rule = "p" },
	};

	(void)argc;
	(void)argv;
	memset(long_name, 'n', NAME_MAX);
	memset(longer_name, 'n', NAME_MAX + 1);
	for (size_t i = 0; i < sizeof(dots) - 1; i++)
		dots[i] = i % 2 ? '/' : '.';
	broker.zones = zones;
	broker.n_zones = sizeof(zones) / sizeof(zones[0]);
	if (names_add(&broker.names, "/a/b/up") < 0)
		abort();
	if (world_start(1) == 0)
		world_do(build, NULL);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct question q = { .at = 0 };

	if (world.stands != 1 || len < 4)
		return 0;
	q.flags = data[0] & 1 ? WALK_FOLLOW : 0;
	q.resolve = data[0] & 4 ? data[1] & 31 : 0;
	if (q.resolve & RESOLVE_BENEATH)
		q.resolve &= ~(uint64_t)RESOLVE_IN_ROOT;
	q.at = data[2] % 10;
	read_text(&q, data + 3, len - 3, data[0] & 2);
	/* Standing in /proc, or in a tree that has links there, any name may lead through it. */
	q.through_proc = strstr(q.text, "proc") || q.at == 5;
	q.through_fd = q.through_proc && strstr(q.text, "fd");
	if (q.text[0])
		world_do(stand, &q);
	return 0;
}
