/*
 * Groups are made in a tree of plain files that stands in for the kernel's: a
 * new directory gets the files, writes are logged and have the effects that
 * matter. At the end the real, empty hierarchy of this machine, if it has one.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "sandbox/cgroup.h"

#define BOTH "cpu memory pids"

/* --- the stand-in --- */

static struct {
	char top[64];			/* of the tree; groups are below top/cg */
	char log[1024];
	const char *fail;		/* file whose write fails, with ... */
	int fail_with;
	const char *type;		/* of a new group */
	int makes_fail_with;
	int stays_for;			/* kills until it is empty */
	int busy_for;			/* removals that find it busy */
	int has_kill, has_swap_file;
} fake;

static void put(int dir, const char *file, const char *text)
{
	OWN(fd) int fd = openat(dir, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static const char *const files[] = {
	"cgroup.type", "cgroup.procs", "cgroup.events", "cgroup.kill", "cgroup.controllers", "cgroup.subtree_control",
	"memory.max", "memory.high", "memory.swap.max", "memory.oom.group", "memory.events",
	"pids.max", "pids.current", "pids.events", "cpu.max",
};

static int fake_make(int dir, const char *name)
{
	OWN(fd) int new = -1;

	if (fake.makes_fail_with) {
		errno = fake.makes_fail_with;
		return -1;
	}
	if (mkdirat(dir, name, 0755) < 0)
		return -1;
	new = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put(new, "cgroup.type", fake.type);
	put(new, "cgroup.procs", "");
	put(new, "cgroup.events", "populated 0\nfrozen 0\n");
	if (fake.has_kill)
		put(new, "cgroup.kill", "");
	put(new, "memory.max", "max\n");
	if (fake.has_swap_file)
		put(new, "memory.swap.max", "max\n");
	put(new, "memory.oom.group", "0\n");
	put(new, "memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n");
	put(new, "pids.max", "max\n");
	put(new, "pids.current", "0\n");
	put(new, "pids.events", "max 0\n");
	return 0;
}

static int fake_write(int dir, const char *file, const char *text)
{
	size_t n = strlen(fake.log);

	if (fake.fail && !strcmp(file, fake.fail)) {
		errno = fake.fail_with;
		return -1;
	}
	if (faccessat(dir, file, F_OK, 0) < 0)
		return -1;
	snprintf(fake.log + n, sizeof(fake.log) - n, "%s=%s ", file, text);
	if (!strcmp(file, "cgroup.procs"))
		put(dir, "cgroup.events", "populated 1\nfrozen 0\n");
	if (!strcmp(file, "cgroup.kill") && --fake.stays_for < 0)
		put(dir, "cgroup.events", "populated 0\nfrozen 0\n");
	else
		put(dir, file, text);
	return 0;
}

static int fake_remove(int dir, const char *name)
{
	OWN(fd) int group = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (group < 0)
		return -1;
	if (--fake.busy_for >= 0) {
		errno = EBUSY;
		return -1;
	}
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		unlinkat(group, files[i], 0);
	return unlinkat(dir, name, AT_REMOVEDIR);
}

static const struct cgroup_ops fake_ops = { .make = fake_make, .write = fake_write, .remove = fake_remove };
static char proc_dir[128];
static struct cgroup_host host = { .proc = proc_dir, .root = fake.top, .ops = &fake_ops };

static int open_at_top(const char *path)
{
	char full[256];
	int fd;

	snprintf(full, sizeof(full), "%s/%s", fake.top, path);
	fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void put_at_top(const char *dir, const char *file, const char *text)
{
	OWN(fd) int fd = open_at_top(dir);

	put(fd, file, text);
}

static void make_at_top(const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", fake.top, path);
	assert_int_equal(mkdir(full, 0755), 0);
}

/* A group that stands already, with what it may have and what it passes on. */
static void group(const char *path, const char *has, const char *passes_on)
{
	make_at_top(path);
	put_at_top(path, "cgroup.controllers", has);
	put_at_top(path, "cgroup.subtree_control", passes_on);
	put_at_top(path, "cgroup.procs", "1\n");
}

static int exists(const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", fake.top, path);
	return access(full, F_OK) == 0;
}

#define V1 "30 20 0:25 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
#define V2 "31 20 0:26 / /cg rw,relatime - cgroup2 cgroup2 rw\n"

/* We are in slice/own. */
static int setup(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.type = "domain\n";
	fake.has_kill = fake.has_swap_file = 1;
	strcpy(fake.top, "/tmp/test-cgroup-XXXXXX");
	assert_non_null(mkdtemp(fake.top));
	assert_int_equal(chmod(fake.top, 0755), 0);
	snprintf(proc_dir, sizeof(proc_dir), "%s/proc", fake.top);
	make_at_top("proc");
	make_at_top("proc/self");
	put_at_top("proc/self", "cgroup", "3:memory:/x\n0::/slice/own\n");
	put_at_top("proc/self", "mountinfo", V1 V2);
	put_at_top("proc", "swaps", "Filename Type Size Used Priority\n");
	group("cg", BOTH, BOTH);
	group("cg/slice", BOTH "\n", BOTH "\n");
	group("cg/slice/own", BOTH "\n", "\n");
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", fake.top);
	return system(command);
}

static const struct cgroup_limits some = { .memory_bytes = 1 << 20, .pids = 50 };

static struct cgroup *make(const struct cgroup_limits *limits)
{
	struct err err = { 0 };
	struct cgroup *g = NULL;

	if (cgroup_make(&host, "agate-x", limits, &g, &err) < 0)
		fail_msg("%s", err.msg);
	return g;
}

static void refused(enum err_code code, const char *words)
{
	struct err err = { 0 };
	struct cgroup *g = NULL;

	assert_int_equal(cgroup_make(&host, "agate-x", &some, &g, &err), -1);
	assert_null(g);
	if (err.code != code || !strstr(err.msg, words))
		fail_msg("code %d: %s", err.code, err.msg);
	assert_false(exists("cg/slice/agate-x"));
	assert_false(exists("cg/slice/own/agate-x"));
}

/* --- where --- */

static void a_group_is_made_below_our_own_where_that_passes_controllers_on(void **state)
{
	struct cgroup *g;

	(void)state;
	put_at_top("cg/slice/own", "cgroup.subtree_control", "memory pids\n");
	g = make(&some);
	assert_true(exists("cg/slice/own/agate-x"));
	assert_string_equal(cgroup_path(g) + strlen(fake.top), "/cg/slice/own/agate-x");
	assert_int_equal(cgroup_end(g, NULL), 0);
	assert_false(exists("cg/slice/own/agate-x"));
}

static void else_it_is_made_beside_our_own(void **state)
{
	struct cgroup *g;

	(void)state;
	g = make(&some);
	assert_true(exists("cg/slice/agate-x"));
	assert_int_equal(cgroup_end(g, NULL), 0);
}

static void a_part_of_the_hierarchy_that_is_mounted_elsewhere_is_found(void **state)
{
	struct cgroup *g;

	(void)state;
	put_at_top("proc/self", "mountinfo", V1 "9 1 0:1 /other /no rw - cgroup2 c rw\n"
		   "31 20 0:26 /box /cg\\040here rw shared:1 - cgroup2 cgroup2 rw\n");
	put_at_top("proc/self", "cgroup", "0::/box/own\n");
	group("cg here", BOTH, BOTH);
	group("cg here/own", BOTH, "");
	g = make(&some);
	assert_true(exists("cg here/agate-x"));
	assert_int_equal(cgroup_end(g, NULL), 0);
}

static void above_the_mount_point_nothing_is_made(void **state)
{
	(void)state;
	put_at_top("proc/self", "cgroup", "0::/\n");
	put_at_top("cg", "cgroup.subtree_control", "\n");
	refused(ERR_MISSING, "not passed on");
}

static void a_host_without_a_place_is_told_why(void **state)
{
	static const struct { const char *dir, *file, *text, *words; } cases[] = {
		{ "proc/self", "cgroup", "3:memory:/x\n", "no cgroup v2" },
		{ "proc/self", "cgroup", "0::/../else\n", "out of view" },
		{ "proc/self", "cgroup", "0::/slice/gone\n", "cannot open" },
		{ "proc/self", "mountinfo", V1, "not mounted" },
		{ "proc/self", "mountinfo", "31 20 0:26 /box /cg rw - cgroup2 cgroup2 rw\n", "not mounted" },
		{ "cg/slice", "cgroup.subtree_control", "memory pidsx\n", "the pids controller is not passed on" },
		{ "cg/slice", "cgroup.controllers", "cpu\n", "the memory controller is not there" },
		{ "cg/slice/own", "cpu.max", "50000 100000\n", "under its cpu.max" },
		{ "cg/slice/own", "memory.max", "1000\n", "under its memory.max" },
		{ "cg/slice/own", "memory.high", "1000\n", "under its memory.high" },
		{ "cg/slice/own", "pids.max", "49\n", "under its pids.max" },
		{ "cg/slice/own", "pids.max", "\n", "under its pids.max" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		teardown(NULL);
		setup(NULL);
		put_at_top(cases[i].dir, cases[i].file, cases[i].text);
		refused(ERR_MISSING, cases[i].words);
		assert_string_equal(fake.log, "");
	}
}

static void limits_of_our_own_group_that_are_wider_do_not_matter(void **state)
{
	(void)state;
	put_at_top("cg/slice/own", "memory.max", "1048576\n");
	put_at_top("cg/slice/own", "memory.swap.max", "0\n");
	put_at_top("cg/slice/own", "pids.max", "4915\n");
	put_at_top("cg/slice/own", "cpu.max", "max 100000\n");
	assert_int_equal(cgroup_end(make(&some), NULL), 0);
}

static void without_a_limit_of_ours_one_of_our_own_group_would_be_lost(void **state)
{
	struct err err = { 0 };
	struct cgroup *g;

	(void)state;
	put_at_top("cg/slice/own", "memory.swap.max", "0\n");
	assert_int_equal(cgroup_make(&host, "agate-x", &(struct cgroup_limits){ .pids = 9 }, &g, &err), -1);
	assert_non_null(strstr(err.msg, "memory.swap.max"));
}

static void what_is_not_ours_to_write_is_left_alone(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(seteuid(65534), 0);
	refused(ERR_MISSING, "is not delegated to us");
	assert_int_equal(seteuid(0), 0);
	fake.makes_fail_with = EROFS;
	refused(ERR_MISSING, "Read-only");
}

static void a_name_is_a_name(void **state)
{
	static const char *const bad[] = { "", ".", "..", "a/b", "/a", ".x" };
	struct err err = { 0 };
	struct cgroup *g;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(cgroup_make(&host, bad[i], &some, &g, &err), -1);
}

/* --- what is written --- */

static void limits_are_written_before_anybody_is_in(void **state)
{
	struct err err = { 0 };
	struct cgroup *g;

	(void)state;
	g = make(&some);
	assert_int_equal(cgroup_enter(g, 77, &err), 0);
	assert_string_equal(fake.log, "memory.max=1048576 memory.swap.max=0 memory.oom.group=1 pids.max=50 cgroup.procs=77 ");
	assert_int_equal(cgroup_end(g, &err), 0);
	assert_false(exists("cg/slice/agate-x"));
}

static void a_limit_left_out_is_not_written(void **state)
{
	struct cgroup *g;

	(void)state;
	g = make(&(struct cgroup_limits){ .pids = 7 });
	assert_string_equal(fake.log, "memory.oom.group=1 pids.max=7 ");
	assert_int_equal(cgroup_end(g, NULL), 0);
}

static void without_swap_there_need_be_no_limit_on_it(void **state)
{
	(void)state;
	fake.has_swap_file = 0;
	assert_int_equal(cgroup_end(make(&some), NULL), 0);
	put_at_top("proc", "swaps", "Filename Type Size Used Priority\n/swap file 9 0 -2\n");
	refused(ERR_SYS, "memory.swap.max");
}

static void half_a_group_is_none(void **state)
{
	static const char *const at[] = { "memory.max", "memory.swap.max", "memory.oom.group", "pids.max" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(at); i++) {
		fake.fail = at[i];
		fake.fail_with = EACCES;
		refused(ERR_SYS, at[i]);
	}
	fake.fail = NULL;
	fake.type = "domain invalid\n";
	refused(ERR_MISSING, "not a domain");
	fake.type = "threaded\n";
	refused(ERR_MISSING, "not a domain");
}

static void a_group_of_that_name_is_not_taken_over(void **state)
{
	struct err err = { 0 };
	struct cgroup *g;

	(void)state;
	make_at_top("cg/slice/agate-x");
	assert_int_equal(cgroup_make(&host, "agate-x", &some, &g, &err), -1);
	assert_int_equal(err.code, ERR_SYS);
	assert_true(exists("cg/slice/agate-x"));
	assert_string_equal(fake.log, "");
}

static void a_process_that_may_not_be_moved_is_told(void **state)
{
	struct err err = { 0 };
	struct cgroup *g;

	(void)state;
	g = make(&some);
	fake.fail = "cgroup.procs";
	fake.fail_with = EACCES;
	assert_int_equal(cgroup_enter(g, 77, &err), -1);
	assert_non_null(strstr(err.msg, "cannot move process 77"));
	assert_int_equal(cgroup_end(g, NULL), 0);
}

/* --- what is counted --- */

static void counts_are_the_kernels(void **state)
{
	struct cgroup_counts c;
	struct cgroup *g;

	(void)state;
	g = make(&some);
	assert_int_equal(cgroup_look(g, &c), 0);
	assert_int_equal(c.oom_kills + c.refused + c.pids, 0);
	put_at_top("cg/slice/agate-x", "memory.events", "oom 9\noom_kill 3\noom_group_kill 1\n");
	put_at_top("cg/slice/agate-x", "pids.events", "max 12\n");
	put_at_top("cg/slice/agate-x", "pids.current", "50\n");
	assert_int_equal(cgroup_look(g, &c), 0);
	assert_int_equal(c.oom_kills, 3);
	assert_int_equal(c.refused, 12);
	assert_int_equal(c.pids, 50);
	cgroup_end(g, NULL);
}

static void a_controller_that_is_taken_away_is_noticed(void **state)
{
	struct cgroup_counts c;
	struct cgroup *g;
	char path[256];

	(void)state;
	g = make(&some);
	snprintf(path, sizeof(path), "%s/pids.events", cgroup_path(g));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(cgroup_look(g, &c), -1);
	cgroup_end(g, NULL);
}

/* --- the end --- */

static void who_does_not_die_at_once_is_killed_again(void **state)
{
	struct cgroup *g;

	(void)state;
	g = make(&some);
	assert_int_equal(cgroup_enter(g, 77, NULL), 0);
	fake.stays_for = 3;
	fake.busy_for = 2;
	assert_int_equal(cgroup_end(g, NULL), 0);
	assert_false(exists("cg/slice/agate-x"));
}

static void a_group_that_never_empties_is_left_after_a_second(void **state)
{
	struct err err = { 0 };
	struct cgroup *g;

	(void)state;
	g = make(&some);
	assert_int_equal(cgroup_enter(g, 77, NULL), 0);
	fake.stays_for = fake.busy_for = 1000000;
	assert_int_equal(cgroup_end(g, &err), -1);
	assert_int_equal(err.sys, EBUSY);
	assert_true(exists("cg/slice/agate-x"));
}

/* Before Linux 5.14. The child leaves no trace in a tree of plain files, so somebody has to write that it is gone. */
static void without_cgroup_kill_each_process_is_killed(void **state)
{
	struct cgroup *g;
	struct err err = { 0 };
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid) {
		alarm(20);
		for (;;)
			pause();
	}
	fake.has_kill = 0;
	g = make(&some);
	assert_int_equal(cgroup_enter(g, pid, NULL), 0);
	fake.busy_for = 1000000;
	assert_int_equal(cgroup_end(g, &err), -1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* --- what was left behind --- */

static int remove_left(const char *path, const char *name, struct err *err)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", fake.top, path);
	return cgroup_remove(&host, full, name, err);
}

static void what_a_dead_run_left_is_removed(void **state)
{
	struct err err = { 0 };
	OWN(fd) int slice = open_at_top("cg/slice");

	(void)state;
	assert_int_equal(fake_make(slice, "agate-old"), 0);
	put_at_top("cg/slice/agate-old", "cgroup.events", "populated 1\n");
	if (remove_left("cg/slice/agate-old", "agate-old", &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(fake.log, "cgroup.kill=1 ");
	assert_false(exists("cg/slice/agate-old"));
	assert_int_equal(remove_left("cg/slice/agate-old", "agate-old", &err), 0);
	assert_int_equal(remove_left("cg/gone/agate-old", "agate-old", &err), 0);
}

static void nothing_else_is_removed(void **state)
{
	struct err err = { 0 };

	(void)state;
	make_at_top("agate-old");
	make_at_top("cg/slice/other");
	assert_int_equal(remove_left("agate-old", "agate-old", &err), -1);
	assert_int_equal(remove_left("cg/slice/other", "agate-old", &err), -1);
	assert_int_equal(remove_left("cg/../agate-old", "agate-old", &err), -1);
	assert_int_equal(remove_left("cg", "cg", &err), -1);
	assert_int_equal(cgroup_remove(&host, "", "agate-old", &err), -1);
	assert_int_equal(cgroup_remove(&host, "agate-old", "agate-old", &err), -1);
	assert_true(exists("agate-old") && exists("cg/slice/other") && exists("cg"));
	assert_string_equal(fake.log, "");
}

static void the_trial_leaves_nothing(void **state)
{
	struct err err = { 0 };

	(void)state;
	if (cgroup_try(&host, &err) < 0)
		fail_msg("%s", err.msg);
	assert_non_null(strstr(fake.log, "pids.max=16 cgroup.procs="));
	fake.fail = "cgroup.procs";
	fake.fail_with = EOPNOTSUPP;
	assert_int_equal(cgroup_try(&host, &err), -1);
	fake.fail = NULL;
	fake.type = "";
	assert_int_equal(cgroup_try(&host, &err), -1);
}

/* --- for real --- */

/* The mount point of a cgroup2 hierarchy, or "". */
static void real_mount(char ret[256])
{
	FILE *f = fopen("/proc/self/mountinfo", "r");
	char line[1024];

	*ret = '\0';
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, " - cgroup2 ") && sscanf(line, "%*s %*s %*s / %255s", ret) == 1)
			break;
	if (f)
		fclose(f);
}

static void this_host_has_a_group_or_a_reason(void **state)
{
	struct err err = { 0 };

	(void)state;
	if (cgroup_try(&cgroup_here, &err) == 0) {
		print_message("a group with limits was made, entered and removed\n");
		return;
	}
	print_message("%s\n", err.msg);
	assert_int_equal(err.code, ERR_MISSING);
	assert_true(err.msg[0]);
}

/* No controller is needed for this: a group with a tree in it, killed and removed by the kernel. */
static void a_real_group_is_killed_and_removed(void **state)
{
	char mount[256], path[320], text[24];
	struct err err = { 0 };
	int dir, status;
	pid_t pid;

	(void)state;
	real_mount(mount);
	snprintf(path, sizeof(path), "%s/agate-test-%d", mount, (int)getpid());
	if (!mount[0] || mkdir(path, 0755) < 0) {
		print_message("skipped: no group may be made in '%s': %s\n", mount, strerror(errno));
		skip();
	}
	pid = fork();
	if (!pid) {
		alarm(20);
		for (;;)
			pause();
	}
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(text, sizeof(text), "%d", (int)pid);
	assert_int_equal(cgroup_here.ops->write(dir, "cgroup.procs", text), 0);
	close(dir);
	if (cgroup_remove(&cgroup_here, path, path + strlen(mount) + 1, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_group_is_made_below_our_own_where_that_passes_controllers_on),
		TEST(else_it_is_made_beside_our_own),
		TEST(a_part_of_the_hierarchy_that_is_mounted_elsewhere_is_found),
		TEST(above_the_mount_point_nothing_is_made),
		TEST(a_host_without_a_place_is_told_why),
		TEST(limits_of_our_own_group_that_are_wider_do_not_matter),
		TEST(without_a_limit_of_ours_one_of_our_own_group_would_be_lost),
		TEST(what_is_not_ours_to_write_is_left_alone),
		TEST(a_name_is_a_name),
		TEST(limits_are_written_before_anybody_is_in),
		TEST(a_limit_left_out_is_not_written),
		TEST(without_swap_there_need_be_no_limit_on_it),
		TEST(half_a_group_is_none),
		TEST(a_group_of_that_name_is_not_taken_over),
		TEST(a_process_that_may_not_be_moved_is_told),
		TEST(counts_are_the_kernels),
		TEST(a_controller_that_is_taken_away_is_noticed),
		TEST(who_does_not_die_at_once_is_killed_again),
		TEST(a_group_that_never_empties_is_left_after_a_second),
		TEST(without_cgroup_kill_each_process_is_killed),
		TEST(what_a_dead_run_left_is_removed),
		TEST(nothing_else_is_removed),
		TEST(the_trial_leaves_nothing),
		cmocka_unit_test(this_host_has_a_group_or_a_reason),
		cmocka_unit_test(a_real_group_is_killed_and_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
