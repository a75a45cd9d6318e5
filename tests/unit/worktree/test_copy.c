/* timeout: 300 */
#include "tests/unit/worktree/fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "worktree/copy.h"
#include "worktree/tree.h"

static int open_temp(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", T, name);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int copy(enum copy_sharing sharing, struct copy_result *r, struct err *err)
{
	OWN(fd) int src = open_temp("src");
	OWN(fd) int dst = open_temp("dst");
	struct copy_params p = { .src_fd = src, .dst_fd = dst, .sharing = sharing };

	return copy_tree(&p, r, err);
}

static void sizes_around_every_boundary_are_copied_whole(void **state)
{
	OWN(copy_result) struct copy_result r = { 0 };
	struct err err = { 0 };

	(void)state;
	SH("mkdir src dst && cd src && for s in 0 1 4095 4096 65535 65536 65537 131072 1048575 1048577 3000001; do head -c $s /dev/urandom >f$s; done"
	   "&& truncate -s 1M hole && printf x | dd of=hole bs=1 seek=500000 conv=notrunc status=none && truncate -s 200000 allhole");
	if (copy(COPY_MAY_SHARE, &r, &err) < 0)
		fail_msg("%s", err.msg);
	SH("diff -r src dst");
	assert_int_equal(r.files, 13);
}

static void user_attributes_come_along(void **state)
{
	OWN(copy_result) struct copy_result r = { 0 };
	struct err err = { 0 };
	char path[128], value[8];

	(void)state;
	SH("mkdir src dst && echo x >src/f && mkdir src/d");
	snprintf(path, sizeof(path), "%s/src/f", T);
	if (setxattr(path, "user.k", "v", 1, 0) < 0)
		skip();
	snprintf(path, sizeof(path), "%s/src/d", T);
	assert_int_equal(setxattr(path, "user.d", "w", 1, 0), 0);
	SH("chmod 444 src/f");
	assert_int_equal(copy(COPY_MAY_SHARE, &r, &err), 0);
	snprintf(path, sizeof(path), "%s/dst/f", T);
	assert_int_equal(getxattr(path, "user.k", value, sizeof(value)), 1);
	snprintf(path, sizeof(path), "%s/dst/d", T);
	assert_int_equal(getxattr(path, "user.d", value, sizeof(value)), 1);
}

/* Names that come, go, grow and change their kind while we copy. */
static void churn(const char *dir)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || chdir(dir) < 0)
		_exit(1);
	for (unsigned int i = 0;; i++) {
		char a[16], b[16];
		int fd;

		snprintf(a, sizeof(a), "f%u", i % 97);
		snprintf(b, sizeof(b), "f%u", (i * 7) % 97);
		unlink(a);
		rmdir(a);
		if (i % 5 == 0)
			mkdir(a, 0755);
		else if (i % 5 == 1)
			(void)!symlink("/etc/passwd", a);
		else if (i % 5 == 2)
			mkfifo(a, 0644);
		else if (i % 5 == 3)
			(void)!rename(b, a);
		fd = open(b, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0644);
		if (fd >= 0) {
			(void)!write(fd, "more and more", 13);
			close(fd);
		}
	}
}

static void a_tree_that_changes_meanwhile_does_no_harm(void **state)
{
	char path[128];
	pid_t pid;

	(void)state;
	SH("mkdir src dst && cd src && for i in $(seq 97); do echo $i >f$i; done");
	snprintf(path, sizeof(path), "%s/src", T);
	pid = fork();
	if (!pid)
		churn(path);
	for (int i = 0; i < 60; i++) {
		OWN(copy_result) struct copy_result r = { 0 };
		struct err err = { 0 };
		int rc = copy(COPY_MAY_SHARE, &r, &err);

		if (rc < 0) {
			kill(pid, SIGKILL);
			fail_msg("%s", err.msg);
		}
		SH("rm -rf dst && mkdir dst");
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void blocks_that_must_be_shared_and_cannot_are_an_error(void **state)
{
	OWN(copy_result) struct copy_result r = { 0 };
	struct err err = { 0 };

	(void)state;
	SH("mkdir src dst && echo x >src/f");
	if (!copy(COPY_MUST_SHARE, &r, &err)) {
		assert_int_equal(r.cloned, 1);
		return;
	}
	assert_int_equal(err.code, ERR_MISSING);
	assert_string_equal(err.msg, "cannot share the blocks of 'f': the file system cannot");
	assert_string_equal(err.hint, "use --workspace auto");
}

static void a_write_that_fails_ends_the_copy_with_the_reason(void **state)
{
	OWN(copy_result) struct copy_result r = { 0 };
	struct rlimit old, low;
	struct err err = { 0 };
	int rc;

	(void)state;
	SH("mkdir -p src/d dst && head -c 300000 /dev/urandom >src/d/big && for i in $(seq 50); do echo $i >src/f$i; done");
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	low = old;
	low.rlim_cur = 100000;
	setrlimit(RLIMIT_FSIZE, &low);
	rc = copy(COPY_NO_SHARE, &r, &err);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(rc, -1);
	assert_string_equal(err.msg, "cannot copy 'd/big': File too large");
	assert_null(r.root);
}

static void what_cannot_be_read_is_noted_and_left_out(void **state)
{
	OWN(copy_result) struct copy_result r = { 0 };
	struct err err = { 0 };

	(void)state;
	if (!geteuid())
		skip();
	SH("mkdir -p src/shut/in dst && echo x >src/f && chmod 0 src/f && chmod 0 src/shut && echo y >src/g");
	assert_int_equal(copy(COPY_MAY_SHARE, &r, &err), 0);
	strv_sort_unique(&r.notes);
	assert_int_equal(r.notes.n, 2);
	assert_string_equal(r.notes.v[0], "'f' cannot be read: Permission denied");
	assert_string_equal(r.notes.v[1], "'shut/' cannot be read: Permission denied");
	assert_sh("g\nshut", "ls dst");
}

static void hard_links_of_many_files_stay_links(void **state)
{
	OWN(copy_result) struct copy_result r = { 0 };
	struct err err = { 0 };
	const struct node *n;

	(void)state;
	SH("mkdir -p src/a/b src/c dst && cd src && for i in $(seq 200); do echo $i >a/f$i; ln a/f$i a/b/g$i; ln a/f$i c/h$i; done && touch -d 2001-01-01 a a/b c");
	assert_int_equal(copy(COPY_MAY_SHARE, &r, &err), 0);
	SH("cd dst && for i in $(seq 200); do test a/f$i -ef a/b/g$i -a a/f$i -ef c/h$i; done && test $(stat -c %%Y a) = $(stat -c %%Y ../src/a) -a $(stat -c %%Y c) = $(stat -c %%Y ../src/c)");
	n = tree_find(r.root, "c/h7", 4);
	assert_int_equal(n->copy.ino, tree_find(r.root, "a/f7", 4)->copy.ino);
	assert_int_equal(n->copy.ctime_ns, tree_find(r.root, "a/b/g7", 6)->copy.ctime_ns);
}

int main(void)
{
#define U(name) cmocka_unit_test_setup_teardown(name, make_temp, remove_temp)
	const struct CMUnitTest tests[] = {
		U(sizes_around_every_boundary_are_copied_whole),
		U(user_attributes_come_along),
		U(a_tree_that_changes_meanwhile_does_no_harm),
		U(blocks_that_must_be_shared_and_cannot_are_an_error),
		U(a_write_that_fails_ends_the_copy_with_the_reason),
		U(what_cannot_be_read_is_noted_and_left_out),
		U(hard_links_of_many_files_stay_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
