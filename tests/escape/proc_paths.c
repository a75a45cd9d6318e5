/*
 * Paths that lead through /proc: the process's own root, its working directory,
 * the same of its thread, its parent and of process 1.
 *
 * EXPECT: action=file-write-create target=*root.key
 * EXPECT: action=file-write-create target=*cwd.key
 */
#include <sys/wait.h>

#include "tests/escape/attack.h"

static void through(const char *who, const char *repo)
{
	refused(put(spell("/proc/%s/root%s/root.key", who, repo)), "make through /proc/%s/root", who);
	refused(put(spell("/proc/%s/cwd/cwd.key", who)), "make through /proc/%s/cwd", who);
	refused(put(spell("/proc/%s/cwd/linkdir/../.env", who)), "overwrite through /proc/%s/cwd", who);
}

int main(void)
{
	const char *repo = told("ATTACK_REPO");
	pid_t child;

	attack_begin();
	through("self", repo);
	through("thread-self", repo);
	through(spell("%d", getpid()), repo);
	through(spell("%d/task/%d", getpid(), getpid()), repo);
	through(spell("%d", getppid()), repo);
	through("1", repo);
	child = fork();
	if (child == 0) {
		works(chdir("keys"), "change directory");
		refused(put("/proc/self/cwd/child.key"), "make through a child's /proc/self/cwd");
		refused(put(spell("/proc/%d/cwd/parent.key", getppid())), "make through its parent's cwd");
		works(put("/proc/self/cwd/child.txt"), "make an ordinary file through /proc/self/cwd");
		works(access("child.txt", F_OK), "find it in the child's own directory");
		_exit(attack_end());
	}
	int status = 0;
	waitpid(child, &status, 0);
	if (status)
		return WEXITSTATUS(status);
	return attack_end();
}
