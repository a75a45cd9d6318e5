#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"

struct fixture {
	struct loop *loop;
	struct watch *watch, *other;
	int calls, status, signum;
	unsigned int ready;
};

static void count(void *cookie)
{
	struct fixture *f = cookie;

	f->calls++;
}

static void end_own(void *cookie)
{
	struct fixture *f = cookie;

	f->calls++;
	watch_end(f->watch);
	f->watch = NULL;
}

static void stop(void *cookie)
{
	struct fixture *f = cookie;

	f->calls++;
	loop_stop(f->loop);
}

static void a_timer_without_repeat_ends_itself(void **state)
{
	struct fixture f = { .loop = loop_new(NULL) };

	(void)state;
	assert_non_null(loop_timer(f.loop, 1, 0, count, &f));
	assert_int_equal(loop_run(f.loop), 0);
	assert_int_equal(f.calls, 1);
	loop_free(f.loop);
}

static void a_callback_may_end_its_own_watch(void **state)
{
	struct fixture f = { .loop = loop_new(NULL) };

	(void)state;
	f.watch = loop_timer(f.loop, 1, 1, end_own, &f);
	assert_int_equal(loop_run(f.loop), 0);
	assert_int_equal(f.calls, 1);
	f.watch = loop_timer(f.loop, 1, 0, end_own, &f);
	assert_int_equal(loop_run(f.loop), 0);
	assert_int_equal(f.calls, 2);
	loop_free(f.loop);
}

static void end_other(void *cookie)
{
	struct fixture *f = cookie;

	watch_end(f->other);
	f->other = NULL;
}

static void an_ended_watch_is_not_called_again(void **state)
{
	struct fixture f = { .loop = loop_new(NULL) };

	(void)state;
	/* Both are due in one turn of the loop. */
	assert_non_null(loop_timer(f.loop, 5, 0, end_other, &f));
	f.other = loop_timer(f.loop, 5, 0, count, &f);
	usleep(20000);
	assert_int_equal(loop_run(f.loop), 0);
	assert_int_equal(f.calls, 0);
	watch_end(NULL);
	loop_free(f.loop);
}

static void stopping_leaves_the_rest_for_the_next_run(void **state)
{
	struct fixture f = { .loop = loop_new(NULL) };

	(void)state;
	f.watch = loop_timer(f.loop, 1, 1, stop, &f);
	assert_int_equal(loop_run(f.loop), 1);
	assert_int_equal(loop_run(f.loop), 1);
	assert_int_equal(f.calls, 2);
	loop_free(f.loop);	/* ends the timer */
}

static void note_ready(void *cookie, int fd, unsigned int ready)
{
	struct fixture *f = cookie;
	char c;

	f->calls++;
	f->ready |= ready;
	if ((ready & LOOP_READ) && read(fd, &c, 1) == 1)
		return;
	watch_end(f->watch);
	f->watch = NULL;
}

static void a_descriptor_is_told_ready_until_its_peer_closes(void **state)
{
	struct fixture f = { .loop = loop_new(NULL) };
	int sv[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	f.watch = loop_fd(f.loop, sv[0], LOOP_READ | LOOP_HUP, note_ready, &f);
	assert_non_null(f.watch);
	assert_int_equal(fcntl(sv[0], F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(write(sv[1], "ab", 2), 2);
	close(sv[1]);
	assert_int_equal(loop_run(f.loop), 0);
	assert_int_equal(f.calls, 3);
	assert_int_equal(f.ready, LOOP_READ | LOOP_HUP);
	close(sv[0]);
	loop_free(f.loop);
}

static void a_pipe_without_a_reader_is_told_to_its_writer(void **state)
{
	struct fixture f = { .loop = loop_new(NULL) };
	int p[2];

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	f.watch = loop_fd(f.loop, p[1], LOOP_WRITE, note_ready, &f);
	close(p[0]);
	assert_int_equal(loop_run(f.loop), 0);
	assert_true(f.ready & LOOP_HUP);
	close(p[1]);
	loop_free(f.loop);
}

static void resume(void *cookie)
{
	struct fixture *f = cookie;

	assert_int_equal(f->calls, 0);
	watch_events(f->watch, LOOP_READ);
}

static void a_paused_descriptor_is_silent(void **state)
{
	struct fixture f = { .loop = loop_new(NULL) };
	int p[2];

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	assert_int_equal(write(p[1], "a", 1), 1);
	close(p[1]);
	f.watch = loop_fd(f.loop, p[0], 0, note_ready, &f);
	assert_non_null(loop_timer(f.loop, 30, 0, resume, &f));
	assert_int_equal(loop_run(f.loop), 0);
	assert_int_equal(f.calls, 2);
	close(p[0]);
	loop_free(f.loop);
}

static void a_regular_file_cannot_be_watched(void **state)
{
	struct fixture f = { .loop = loop_new(NULL) };
	OWN(fd) int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_null(loop_fd(f.loop, fd, LOOP_READ, note_ready, &f));
	assert_int_equal(errno, EPERM);
	assert_null(loop_fd(f.loop, -1, LOOP_READ, note_ready, &f));
	loop_free(f.loop);
}

static void note_signal(void *cookie, int signum)
{
	struct fixture *f = cookie;

	f->signum = signum;
	watch_end(f->watch);
}

static void a_signal_arrives_in_the_loop(void **state)
{
	struct fixture f = { .loop = loop_new(NULL) };

	(void)state;
	f.watch = loop_signal(f.loop, SIGUSR1, note_signal, &f);
	kill(getpid(), SIGUSR1);
	assert_int_equal(loop_run(f.loop), 0);
	assert_int_equal(f.signum, SIGUSR1);
	loop_free(f.loop);
}

static void wait_a_little(void *cookie)
{
	struct fixture *f = cookie;

	usleep(30000);
	f->status = 42;
}

static void work_runs_beside_the_loop(void **state)
{
	struct fixture f = { .loop = loop_new(NULL) };

	(void)state;
	assert_non_null(loop_work(f.loop, wait_a_little, count, &f));
	assert_int_equal(loop_run(f.loop), 0);
	assert_int_equal(f.status, 42);
	assert_int_equal(f.calls, 1);
	loop_free(f.loop);
}

static void ending_work_keeps_its_done_from_being_called(void **state)
{
	struct fixture f = { .loop = loop_new(NULL) };

	(void)state;
	watch_end(loop_work(f.loop, wait_a_little, count, &f));
	loop_free(f.loop);	/* waits for what had begun */
	assert_int_equal(f.calls, 0);
}

static void note_list(void *cookie, const struct addrinfo *list, int eai)
{
	struct fixture *f = cookie;

	f->calls++;
	f->status = eai;
	f->signum = list ? list->ai_family : 0;
}

static void a_literal_address_is_resolved(void **state)
{
	struct fixture f = { .loop = loop_new(NULL) };

	(void)state;
	assert_non_null(loop_resolve(f.loop, "127.0.0.1", 80, note_list, &f));
	assert_int_equal(loop_run(f.loop), 0);
	assert_int_equal(f.status, 0);
	assert_int_equal(f.signum, AF_INET);
	assert_non_null(loop_resolve(f.loop, "no such name", 80, note_list, &f));
	assert_int_equal(loop_run(f.loop), 0);
	assert_int_equal(f.calls, 2);
	assert_int_not_equal(f.status, 0);
	watch_end(loop_resolve(f.loop, "127.0.0.1", 80, note_list, &f));
	assert_int_equal(loop_run(f.loop), 0);
	assert_int_equal(f.calls, 2);
	loop_free(f.loop);
}

/* --- children --- */

static void note_exit(void *cookie, int status, int signum)
{
	struct fixture *f = cookie;

	f->calls++;
	f->status = status;
	f->signum = signum;
}

/* Run sh -c @script with its stdout in @out, to its end. */
static void run_sh(struct fixture *f, const char *script, char *out, size_t size, struct spawn sp)
{
	char *argv[] = { (char []){ "sh" }, (char []){ "-c" }, strdup(script), NULL };
	int p[2], fds[] = { -1, -1, -1, -1, -1, -1 };
	ssize_t n;
	pid_t pid = 0;

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	fds[1] = p[1];
	fds[2] = 2;
	fds[4] = 2;	/* upwards: it has to be copied aside first */
	fds[5] = p[1];
	sp.file = "sh";
	sp.argv = argv;
	sp.fds = fds;
	if (!sp.nfds)
		sp.nfds = 3;
	assert_non_null(loop_spawn(f->loop, &sp, note_exit, f, &pid, NULL));
	assert_true(pid > 0);
	close(p[1]);
	assert_int_equal(loop_run(f->loop), 0);
	n = read(p[0], out, size - 1);
	out[n > 0 ? n : 0] = '\0';
	close(p[0]);
	free(argv[2]);
}

static void a_childs_end_is_told(void **state)
{
	struct fixture f = { .loop = loop_new(NULL) };
	char out[256];

	(void)state;
	run_sh(&f, "exit 7", out, sizeof(out), (struct spawn){ 0 });
	assert_int_equal(f.status, 7);
	assert_int_equal(f.signum, 0);
	run_sh(&f, "kill -TERM $$", out, sizeof(out), (struct spawn){ 0 });
	assert_int_equal(f.status, 0);
	assert_int_equal(f.signum, SIGTERM);
	loop_free(f.loop);
}

static void a_child_has_the_descriptors_named_and_no_other(void **state)
{
	struct fixture f = { .loop = loop_new(NULL) };
	int leak = dup(1), high = fcntl(1, F_DUPFD, 20);	/* neither is close-on-exec */
	char out[256];

	(void)state;
	run_sh(&f, "for i in $(seq 0 40); do [ -e /proc/self/fd/$i ] && printf '%s ' $i; done; "
		   "readlink /proc/self/fd/0; echo five >&5",
	       out, sizeof(out), (struct spawn){ .nfds = 6 });
	assert_string_equal(out, "0 1 2 4 5 /dev/null\nfive\n");
	close(leak);
	close(high);
	loop_free(f.loop);
}

static void a_child_gets_its_environment_directory_and_session(void **state)
{
	char *const env[] = { (char []){ "A=b" }, (char []){ "PATH=/usr/bin:/bin" }, NULL };
	struct fixture f = { .loop = loop_new(NULL) };
	char out[256];

	(void)state;
	run_sh(&f, "echo $A $HOME; pwd; [ \"$(cut -d' ' -f6 /proc/self/stat)\" = $$ ] && echo leader",
	       out, sizeof(out), (struct spawn){ .env = env, .cwd = "/usr", .new_session = 1 });
	assert_string_equal(out, "b\n/usr\nleader\n");
	loop_free(f.loop);
}

static void a_child_ignores_what_it_is_told_to_and_nothing_else(void **state)
{
	struct fixture f = { .loop = loop_new(NULL) };
	char out[256];

	(void)state;
	signal(SIGUSR2, SIG_IGN);
	run_sh(&f, "kill -INT $$; echo lives; kill -USR2 $$; echo not", out, sizeof(out),
	       (struct spawn){ .ignored = 1u << SIGINT });
	assert_string_equal(out, "lives\n");
	assert_int_equal(f.signum, SIGUSR2);
	signal(SIGUSR2, SIG_DFL);
	loop_free(f.loop);
}

static int prepare(void *cookie)
{
	if (*(const int *)cookie < 0) {
		errno = EXDEV;
		return -1;
	}
	return chdir("/usr");
}

static void a_child_is_prepared_or_not_started(void **state)
{
	struct fixture f = { .loop = loop_new(NULL) };
	char *argv[] = { (char []){ "true" }, NULL };
	const int fds[] = { -1, -1, -1 };
	int how = 0;
	struct spawn sp = { .file = "true", .argv = argv, .fds = fds, .nfds = 3, .prepare = prepare, .prepare_cookie = &how };
	struct err err = { 0 };
	char out[64];
	pid_t pid = 0;

	(void)state;
	run_sh(&f, "pwd", out, sizeof(out), (struct spawn){ .cwd = "/", .prepare = prepare, .prepare_cookie = &how });
	assert_string_equal(out, "/usr\n");
	how = -1;
	assert_null(loop_spawn(f.loop, &sp, note_exit, &f, &pid, &err));
	assert_int_equal(err.sys, EXDEV);
	loop_free(f.loop);
}

static void descriptors_may_change_places(void **state)
{
	char *argv[] = { (char []){ "sh" }, (char []){ "-c" }, (char []){ "echo one; echo two >&2" }, NULL };
	struct fixture f = { .loop = loop_new(NULL) };
	int one[2], two[2], fds[] = { -1, 2, 1 }, old[2] = { dup(1), dup(2) };
	struct spawn sp = { .file = "sh", .argv = argv, .fds = fds, .nfds = 3 };
	char out[16] = "", errors[16] = "";
	pid_t pid = 0;

	(void)state;
	assert_int_equal(pipe2(one, O_CLOEXEC), 0);
	assert_int_equal(pipe2(two, O_CLOEXEC), 0);
	fcntl(old[0], F_SETFD, FD_CLOEXEC);
	fcntl(old[1], F_SETFD, FD_CLOEXEC);
	dup2(one[1], 1);
	dup2(two[1], 2);
	assert_non_null(loop_spawn(f.loop, &sp, note_exit, &f, &pid, NULL));
	dup2(old[0], 1);
	dup2(old[1], 2);
	assert_int_equal(loop_run(f.loop), 0);
	assert_true(read(one[0], errors, sizeof(errors) - 1) > 0);
	assert_true(read(two[0], out, sizeof(out) - 1) > 0);
	assert_string_equal(out, "one\n");
	assert_string_equal(errors, "two\n");
	for (int i = 0; i < 2; i++) {
		close(one[i]);
		close(two[i]);
		close(old[i]);
	}
	loop_free(f.loop);
}

static void our_environment_stays_ours(void **state)
{
	char *const env[] = { (char []){ "PATH=/usr/bin:/bin" }, NULL };
	struct fixture f = { .loop = loop_new(NULL) };
	char **ours = environ;
	char out[64];

	(void)state;
	run_sh(&f, "echo a", out, sizeof(out), (struct spawn){ .env = env });
	assert_ptr_equal(environ, ours);
	loop_free(f.loop);
}

static void a_child_that_cannot_enter_its_directory_is_an_error(void **state)
{
	struct fixture f = { .loop = loop_new(NULL) };
	char *argv[] = { (char []){ "true" }, NULL };
	const int fds[] = { -1, -1, -1 };
	struct spawn sp = { .file = "true", .argv = argv, .fds = fds, .nfds = 3, .cwd = "/no/such/place" };
	pid_t pid = 0;

	(void)state;
	assert_null(loop_spawn(f.loop, &sp, note_exit, &f, &pid, NULL));
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);	/* nothing is left of it */
	loop_free(f.loop);
}

static void a_program_that_is_not_there_is_an_error(void **state)
{
	struct fixture f = { .loop = loop_new(NULL) };
	char *argv[] = { (char []){ "x" }, NULL };
	const int fds[] = { -1, -1, -1 };
	struct spawn sp = { .file = "/no/such/program", .argv = argv, .fds = fds, .nfds = 3 };
	struct err err = { 0 };
	pid_t pid = -5;

	(void)state;
	assert_null(loop_spawn(f.loop, &sp, note_exit, &f, &pid, &err));
	assert_string_equal(err.msg, "cannot start '/no/such/program': No such file or directory");
	assert_int_equal(pid, -5);
	assert_int_equal(loop_run(f.loop), 0);
	assert_int_equal(f.calls, 0);
	loop_free(f.loop);
}

static void a_forgotten_child_is_reaped_in_silence(void **state)
{
	struct fixture f = { .loop = loop_new(NULL) };
	char *argv[] = { (char []){ "sleep" }, (char []){ "0.05" }, NULL };
	const int fds[] = { -1, -1, -1 };
	struct spawn sp = { .file = "sleep", .argv = argv, .fds = fds, .nfds = 3 };
	pid_t pid = 0;

	(void)state;
	watch_end(loop_spawn(f.loop, &sp, note_exit, &f, &pid, NULL));
	assert_int_equal(loop_run(f.loop), 0);	/* does not wait for it */
	assert_int_equal(kill(pid, 0), 0);
	assert_non_null(loop_timer(f.loop, 300, 0, count, &f));
	assert_int_equal(loop_run(f.loop), 0);
	assert_int_equal(f.calls, 1);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	loop_free(f.loop);
}

static int bound(void **state)
{
	(void)state;
	alarm(30);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_timer_without_repeat_ends_itself),
		cmocka_unit_test(a_callback_may_end_its_own_watch),
		cmocka_unit_test(an_ended_watch_is_not_called_again),
		cmocka_unit_test(stopping_leaves_the_rest_for_the_next_run),
		cmocka_unit_test(a_descriptor_is_told_ready_until_its_peer_closes),
		cmocka_unit_test(a_pipe_without_a_reader_is_told_to_its_writer),
		cmocka_unit_test(a_paused_descriptor_is_silent),
		cmocka_unit_test(a_regular_file_cannot_be_watched),
		cmocka_unit_test(a_signal_arrives_in_the_loop),
		cmocka_unit_test(work_runs_beside_the_loop),
		cmocka_unit_test(ending_work_keeps_its_done_from_being_called),
		cmocka_unit_test(a_literal_address_is_resolved),
		cmocka_unit_test(a_childs_end_is_told),
		cmocka_unit_test(a_child_has_the_descriptors_named_and_no_other),
		cmocka_unit_test(a_child_gets_its_environment_directory_and_session),
		cmocka_unit_test(a_child_ignores_what_it_is_told_to_and_nothing_else),
		cmocka_unit_test(a_child_is_prepared_or_not_started),
		cmocka_unit_test(descriptors_may_change_places),
		cmocka_unit_test(our_environment_stays_ours),
		cmocka_unit_test(a_child_that_cannot_enter_its_directory_is_an_error),
		cmocka_unit_test(a_program_that_is_not_there_is_an_error),
		cmocka_unit_test(a_forgotten_child_is_reaped_in_silence),
	};

	return cmocka_run_group_tests(tests, bound, NULL);
}
