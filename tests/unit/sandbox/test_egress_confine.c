#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "sandbox/egress/confine.h"
#include "sandbox/egress/resolver.h"
#include "base/loop.h"
#include "test_egress_fixture.h"

#if defined(__SANITIZE_ADDRESS__)
#define SKIP_UNDER_SANITIZER() skip()
#else
#define SKIP_UNDER_SANITIZER() ((void)0)
#endif

/* --- one act in a process that is confined; its wait status --- */

/* What the act says becomes the exit status; 0: it went well, else an errno. */
static int act_confined(int (*act)(void), unsigned int needs)
{
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (confine_start(3, NULL) < 0 || confine_serve(needs, NULL) < 0)
			_exit(200);
		_exit(act());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

#define FAILED_WITH(e) ((e) << 8)
#define SAYS(call) ((call) < 0 ? errno : 0)

static int opens_a_file(void) { return SAYS(open("/etc/passwd", O_RDONLY)); }
static int makes_a_file(void) { return SAYS(open("/tmp/x", O_WRONLY | O_CREAT, 0600)); }
static int looks_at_a_path(void) { return SAYS(access("/etc", F_OK)); }
static int makes_a_thread(void)
{
	return SAYS(syscall(SYS_clone, CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD, 0));
}

static int opens_a_unix_socket(void) { return SAYS(socket(AF_UNIX, SOCK_STREAM, 0)); }
static int opens_netlink(void) { return SAYS(socket(AF_NETLINK, SOCK_RAW, 0)); }
static int opens_tcp(void) { return SAYS(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)); }
static int takes_memory(void) { return malloc(20 << 20) ? 0 : ENOMEM; }
static int takes_too_much(void) { return malloc((size_t)2 << 30) ? 0 : ENOMEM; }

static int maps_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? errno : 0;
}

static int runs_a_program(void) { return SAYS(execl("/bin/true", "true", (char *)NULL)); }
static int traces(void) { return SAYS(ptrace(PTRACE_TRACEME, 0, NULL, NULL)); }
static int signals(void) { return SAYS(kill(getppid(), 0)); }
static int reads_memory(void) { return SAYS(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0)); }

static void the_helper_has_sockets_and_memory_and_no_files(void **state)
{
	static const struct {
		int (*act)(void);
		unsigned int needs;
		int status;
	} rows[] = {
		{ opens_tcp, 0, 0 },
		{ takes_memory, 0, 0 },
		{ takes_too_much, 0, FAILED_WITH(ENOMEM) },
		{ opens_a_file, 0, FAILED_WITH(EPERM) },
		{ makes_a_file, 0, FAILED_WITH(EPERM) },
		{ looks_at_a_path, 0, FAILED_WITH(EPERM) },
		{ makes_a_thread, 0, FAILED_WITH(EPERM) },
		{ opens_a_unix_socket, 0, FAILED_WITH(EPERM) },
		{ opens_a_unix_socket, CONFINE_UNIX, 0 },
		{ opens_netlink, CONFINE_UNIX, FAILED_WITH(EPERM) },
		{ maps_code, 0, FAILED_WITH(EPERM) },
	};

	(void)state;
	SKIP_UNDER_SANITIZER();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (act_confined(rows[i].act, rows[i].needs) != rows[i].status)
			fail_msg("row %zu", i);
}

static void what_only_an_attack_does_ends_the_helper(void **state)
{
	int (*const acts[])(void) = { runs_a_program, traces, signals, reads_memory };

	(void)state;
	SKIP_UNDER_SANITIZER();
	for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
		int status = act_confined(acts[i], 0);

		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			fail_msg("act %zu: status %x", i, (unsigned int)status);
	}
}

static void a_confined_process_leaves_no_core(void **state)
{
	int status = act_confined(traces, 0);

	(void)state;
	assert_false(WIFSIGNALED(status) && WCOREDUMP(status));
}

/* --- the resolver --- */

struct heard {
	struct loop *loop;
	int answers, addresses, died;
};

static void on_resolved(void *cookie, const struct ip *list, size_t n)
{
	struct heard *h = cookie;

	(void)list;
	h->answers++;
	h->addresses += (int)n;
	if (h->answers == 200)
		loop_stop(h->loop);
}

static void on_died(void *cookie)
{
	struct heard *h = cookie;

	h->died = 1;
	loop_stop(h->loop);
}

static void on_too_late(void *cookie)
{
	loop_stop(((struct heard *)cookie)->loop);
}

static void names_are_looked_up_in_a_process_that_may_only_read_what_that_takes(void **state)
{
	struct heard h = { 0 };
	struct err err = { 0 };
	struct resolver *r = resolver_start(&err);
	struct watch *late;

	(void)state;
	assert_non_null(r);
	h.loop = loop_new(&err);
	assert_int_equal(resolver_attach(r, h.loop, on_died, &h), 0);
	late = loop_timer(h.loop, WAIT_S * 1000, 0, on_too_late, &h);
	/* More than may be on their way at once, and some that nobody waits for any more. */
	for (int i = 0; i < 200; i++) {
		assert_non_null(resolver_ask(r, "localhost", on_resolved, &h));
		look_up_cancel(resolver_ask(r, "localhost", on_resolved, &h));
	}
	loop_run(h.loop);
	assert_int_equal(h.answers, 200);
	assert_true(h.addresses >= 200);
	assert_false(h.died);
	watch_end(late);
	resolver_free(r);
	loop_free(h.loop);
}

/* The first child of @pid, or 0. */
static pid_t child_of(pid_t pid)
{
	OWN(dir) DIR *d = opendir("/proc");
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		char path[300], text[512] = "";
		OWN(file) FILE *f = NULL;
		int parent = 0;

		snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		f = fopen(path, "r");
		if (f && fgets(text, sizeof(text), f) && strrchr(text, ')') &&
		    sscanf(strrchr(text, ')'), ") %*c %d", &parent) == 1 && parent == pid)
			return atoi(e->d_name);
	}
	return 0;
}

static void the_end_of_the_resolver_ends_the_helper_with_a_reason(void **state)
{
	struct proxy p;
	OWN(child_json) struct json *msg = NULL;
	int status = -1;

	(void)state;
	proxy_start(&p, "");
	expect_ready(&p);
	assert_true(child_of(p.pid) > 0);
	kill(child_of(p.pid), SIGKILL);
	msg = hear(&p);
	assert_string_equal(member(msg, "type"), "error");
	assert_string_equal(member(msg, "reason"), "egress: the process that looks names up has ended");
	assert_int_equal(waitpid(p.pid, &status, 0), p.pid);
	assert_int_equal(status, 3 << 8);
	close(p.control);
}

/* Is there no such process any more, or a zombie of whoever adopted it? */
static int is_gone(pid_t pid)
{
	char path[64], text[512] = "";
	OWN(file) FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	return !f || !fgets(text, sizeof(text), f) || !strrchr(text, ')') || strrchr(text, ')')[2] == 'Z';
}

static void the_resolver_ends_with_the_helper(void **state)
{
	struct proxy p;
	pid_t child;
	int i;

	(void)state;
	proxy_start(&p, "");
	expect_ready(&p);
	child = child_of(p.pid);
	assert_true(child > 0);
	proxy_stop(&p);
	for (i = 0; i < WAIT_S * 100 && !is_gone(child); i++)
		usleep(10000);
	assert_true(is_gone(child));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_helper_has_sockets_and_memory_and_no_files),
		cmocka_unit_test(what_only_an_attack_does_ends_the_helper),
		cmocka_unit_test(a_confined_process_leaves_no_core),
		cmocka_unit_test(names_are_looked_up_in_a_process_that_may_only_read_what_that_takes),
		cmocka_unit_test(the_end_of_the_resolver_ends_the_helper_with_a_reason),
		cmocka_unit_test(the_resolver_ends_with_the_helper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
