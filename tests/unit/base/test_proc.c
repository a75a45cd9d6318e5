#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/proc.h"

static void we_are_alive_whatever_our_name(void **state)
{
	struct proc_id id;

	(void)state;
	prctl(PR_SET_NAME, ") Z 1 (x");
	assert_int_equal(proc_identify(0, &id, NULL), 0);
	assert_int_equal(id.pid, getpid());
	assert_true(id.start > 0);
	assert_int_equal(proc_look(&id), PROC_ALIVE);
}

static void another_start_time_is_another_process(void **state)
{
	struct proc_id id;

	(void)state;
	assert_int_equal(proc_identify(0, &id, NULL), 0);
	id.start--;
	assert_int_equal(proc_look(&id), PROC_DEAD);
}

static void another_boot_is_over_but_another_namespace_may_go_on(void **state)
{
	struct proc_id id, old;

	(void)state;
	assert_int_equal(proc_identify(0, &id, NULL), 0);
	old = id;
	old.boot[0] = old.boot[0] == 'a' ? 'b' : 'a';
	assert_int_equal(proc_look(&old), PROC_DEAD);
	strcpy(strchr(id.boot, '/'), "/1");
	assert_int_equal(proc_look(&id), PROC_UNKNOWN);
}

static void a_zombie_is_dead(void **state)
{
	struct proc_id id;
	struct err err = { 0 };
	pid_t pid = fork();

	(void)state;
	if (!pid)
		pause();
	assert_int_equal(proc_identify(pid, &id, NULL), 0);
	assert_int_equal(proc_look(&id), PROC_ALIVE);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_look(&id), PROC_DEAD);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(proc_look(&id), PROC_DEAD);
	assert_int_equal(proc_identify(pid, &id, &err), -1);
	assert_int_equal(err.code, ERR_NOTFOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(we_are_alive_whatever_our_name),
		cmocka_unit_test(another_start_time_is_another_process),
		cmocka_unit_test(another_boot_is_over_but_another_namespace_may_go_on),
		cmocka_unit_test(a_zombie_is_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
