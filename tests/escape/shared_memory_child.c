/*
 * A child that shares the parent's memory (vfork, CLONE_VM), and one that shares
 * all but is another process: whose path, whose directory?
 */
#include <sched.h>
#include <sys/wait.h>

#include "tests/escape/attack.h"

static char stack[64 * 1024] __attribute__((aligned(16)));

static int child(void *cookie)
{
	(void)cookie;
	if (chdir("keys") < 0)
		return 2;
	return put("vm.key") >= 0 || put("../.env") >= 0 ? 1 : put("vm.txt") < 0 ? 2 : 0;
}

int main(void)
{
	static const int kinds[] = { CLONE_VM, CLONE_VM | CLONE_VFORK, CLONE_VM | CLONE_FILES };

	attack_begin();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		int status = 0;
		pid_t pid = clone(child, stack + sizeof(stack), kinds[i] | SIGCHLD, NULL);

		works(pid, "clone with %#x", kinds[i]);
		if (pid < 0)
			continue;
		works(waitpid(pid, &status, 0), "wait");
		if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
			attack_succeeded = 1;
		else if (status)
			attack_broken = 1;
	}
	return attack_end();
}
