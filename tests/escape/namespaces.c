/*
 * A user namespace of one's own brings rights: none may be made or entered.
 *
 * EXPECT: action=syscall-unshare|syscall-clone|syscall-setns target=*
 */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/escape/attack.h"

int main(void)
{
	static const int kinds[] = { CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC,
				     CLONE_NEWUTS, CLONE_NEWCGROUP };
	static const char *const names[] = { "user", "mnt", "pid", "net", "ipc", "uts", "cgroup" };
	unsigned long long args[16] = { 0 };

	attack_begin();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		pid_t pid;
		int fd;

		refused(unshare(kinds[i]), "unshare %s", names[i]);
		pid = (pid_t)syscall(SYS_clone, kinds[i] | SIGCHLD, 0, 0, 0, 0);
		if (pid == 0)
			_exit(0);
		refused(pid, "clone a new %s", names[i]);
		fd = open(spell("/proc/1/ns/%s", names[i]), O_RDONLY);
		if (fd >= 0)
			refused(setns(fd, 0), "enter %s of process 1", names[i]);
		fd = open(spell("/proc/self/ns/%s", names[i]), O_RDONLY);
		if (fd >= 0 && i != 0)
			refused(setns(fd, 0), "enter the own %s again", names[i]);
	}
	args[0] = CLONE_NEWUSER;
	args[4] = SIGCHLD;
	long rc = syscall(SYS_clone3, args, 64);
	if (rc == 0)
		_exit(0);
	refused(rc, "clone3 a new user namespace");
	return attack_end();
}
