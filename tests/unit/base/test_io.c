#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"

static char dir[] = "/tmp/agate-io-XXXXXX";
static int dirfd_;

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dirfd_ < 0 ? -1 : 0;
}

static int remove_dir(void **state)
{
	(void)state;
	close(dirfd_);
	return rmdir(dir);
}

static void missing_standard_descriptors_are_filled_and_no_other_is_left(void **state)
{
	pid_t pid = fork();
	int status = -1;

	(void)state;
	if (!pid) {
		int next = dup(STDERR_FILENO);

		close(next);
		close(STDIN_FILENO);
		close(STDERR_FILENO);
		_exit(io_fill_std() < 0 || fcntl(STDIN_FILENO, F_GETFD) < 0 || fcntl(STDERR_FILENO, F_GETFD) < 0 ||
		      fcntl(next, F_GETFD) >= 0);
	}
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	assert_int_equal(status, 0);
}

static void a_replaced_file_is_whole_and_has_its_mode(void **state)
{
	OWN(buf) struct buf b = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(io_replace_file(dirfd_, "f", "one", 3, 0640, NULL), 0);
	assert_int_equal(io_replace_file(dirfd_, "f", "two!", 4, 0604, NULL), 0);
	assert_int_equal(io_read_file(dirfd_, "f", 100, &b, NULL), 0);
	assert_string_equal(b.data, "two!");
	assert_int_equal(fstatat(dirfd_, "f", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0604);
	assert_int_equal(unlinkat(dirfd_, "f", 0), 0);
}

static void a_link_is_replaced_and_not_followed(void **state)
{
	OWN(buf) struct buf b = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(io_replace_file(dirfd_, "target", "keep", 4, 0600, NULL), 0);
	assert_int_equal(symlinkat("target", dirfd_, "f"), 0);
	assert_int_equal(io_replace_file(dirfd_, "f", "new", 3, 0600, NULL), 0);
	assert_int_equal(fstatat(dirfd_, "f", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(io_read_file(dirfd_, "target", 100, &b, NULL), 0);
	assert_string_equal(b.data, "keep");
	unlinkat(dirfd_, "f", 0);
	unlinkat(dirfd_, "target", 0);
}

static void reading_has_a_bound_and_tells_what_is_missing(void **state)
{
	OWN(buf) struct buf b = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(io_replace_file(dirfd_, "f", "12345", 5, 0600, NULL), 0);
	assert_int_equal(io_read_file(dirfd_, "f", 4, &b, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_string_equal(err.msg, "'f': more than 4 bytes");
	buf_clear(&b);
	assert_int_equal(io_read_file(dirfd_, "f", 5, &b, &err), 0);
	assert_string_equal(b.data, "12345");
	unlinkat(dirfd_, "f", 0);
	assert_int_equal(io_read_file(dirfd_, "f", 5, &b, &err), -1);
	assert_int_equal(err.code, ERR_NOTFOUND);
	assert_string_equal(err.msg, "cannot open 'f': No such file or directory");
}

static void directories_are_made_all_the_way(void **state)
{
	char path[64], file[80];
	struct err err = { 0 };
	struct stat st;

	(void)state;
	snprintf(path, sizeof(path), "%s/a/b/c", dir);
	assert_int_equal(io_mkdirs(path, 0700, NULL), 0);
	assert_int_equal(io_mkdirs(path, 0700, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(io_replace_file(AT_FDCWD, "/dev/null/x", "", 0, 0600, &err), -1);
	snprintf(file, sizeof(file), "%s/f", path);
	assert_int_equal(io_replace_file(AT_FDCWD, file, "", 0, 0600, NULL), 0);
	assert_int_equal(io_mkdirs(file, 0700, &err), -1);
	unlink(file);
	for (int i = 0; i < 3; i++) {
		rmdir(path);
		*strrchr(path, '/') = '\0';
	}
}

static void a_memory_file_cannot_change(void **state)
{
	OWN(fd) int fd = io_memfd("test", "data", 4);
	char back[8] = "";

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(read(fd, back, sizeof(back)), 4);
	assert_string_equal(back, "data");
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void descriptors_travel_over_a_socket(void **state)
{
	int sv[2], p[2], got[2], sent[2];
	size_t n = 0;
	char data[8];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	sent[0] = p[0];
	sent[1] = p[1];
	assert_int_equal(io_send_fds(sv[0], "hi", 2, sent, 2), 0);
	assert_int_equal(io_recv_fds(sv[1], data, sizeof(data), got, 2, &n), 2);
	assert_int_equal(n, 2);
	assert_memory_equal(data, "hi", 2);
	assert_true(fcntl(got[0], F_GETFD) & FD_CLOEXEC);
	assert_int_equal(write(got[1], "x", 1), 1);
	assert_int_equal(read(p[0], data, 1), 1);
	close(got[0]);
	close(got[1]);

	/* More than there is room for: none are kept. */
	assert_int_equal(io_send_fds(sv[0], "hi", 2, sent, 2), 0);
	assert_int_equal(io_recv_fds(sv[1], data, sizeof(data), got, 1, &n), -1);
	assert_int_equal(errno, EMSGSIZE);
	assert_int_equal(n, 0);
	assert_int_equal(io_send_fds(sv[0], "long message", 12, NULL, 0), 0);
	assert_int_equal(io_recv_fds(sv[1], data, sizeof(data), got, 1, &n), -1);
	assert_int_equal(errno, EMSGSIZE);

	assert_int_equal(io_send_fds(sv[0], "", 0, NULL, 0), -1);
	close(sv[0]);
	assert_int_equal(io_recv_fds(sv[1], data, sizeof(data), got, 1, &n), 0);
	assert_int_equal(io_send_fds(sv[1], "x", 1, NULL, 0), -1);	/* and no SIGPIPE */
	close(sv[1]);
	close(p[0]);
	close(p[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missing_standard_descriptors_are_filled_and_no_other_is_left),
		cmocka_unit_test(a_replaced_file_is_whole_and_has_its_mode),
		cmocka_unit_test(a_link_is_replaced_and_not_followed),
		cmocka_unit_test(reading_has_a_bound_and_tells_what_is_missing),
		cmocka_unit_test(directories_are_made_all_the_way),
		cmocka_unit_test(a_memory_file_cannot_change),
		cmocka_unit_test(descriptors_travel_over_a_socket),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
