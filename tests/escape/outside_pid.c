/*
 * Processes of the host: seen, signalled, traced, read, their descriptors taken.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "tests/escape/attack.h"

static int processes_seen(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int n = 0;

	while (proc && (e = readdir(proc)))
		n += e->d_name[0] >= '1' && e->d_name[0] <= '9';
	if (proc)
		closedir(proc);
	return n;
}

int main(void)
{
	int pid = atoi(told("ATTACK_PID"));
	char byte;
	struct iovec here = { &byte, 1 }, there = { (void *)0x400000, 1 };
	long fd;

	attack_begin();
	if (pid > 20) {
		refused(kill(pid, 0), "signal the runner");
		refused(ptrace(PTRACE_ATTACH, pid, 0, 0), "trace the runner");
		refused(ptrace(PTRACE_SEIZE, pid, 0, 0), "seize the runner");
		refused(process_vm_readv(pid, &here, 1, &there, 1, 0), "read the runner's memory");
		if (!bare())
			refused(syscall(SYS_pidfd_open, pid, 0), "open the runner");
		if (!bare())
			refused(access(spell("/proc/%d", pid), F_OK), "see the runner");
	}
	refused(ptrace(PTRACE_ATTACH, 1, 0, 0), "trace process 1");
	refused(open("/proc/1/mem", O_RDWR), "open the memory of process 1");
	refused(open("/proc/1/environ", O_RDONLY) < 0 ? -1 :
		read(open("/proc/1/environ", O_RDONLY), &byte, 1) > 0 ? 0 : -1, "read the environment of process 1");
	fd = open("/proc/1/environ", O_RDONLY | O_CREAT, 0600);
	refused(fd < 0 ? -1 : read((int)fd, &byte, 1) > 0 ? 0 : -1, "read it by a call that could make files");
	refused(open("/proc/1/mem", O_RDONLY | O_CREAT, 0600), "open the memory of process 1 so");
	fd = syscall(SYS_pidfd_open, 1, 0);
	if (fd >= 0)
		for (int i = 0; i < 20; i++)
			refused(syscall(SYS_pidfd_getfd, fd, i, 0), "take descriptor %d of process 1", i);
	printf("%d processes in sight\n", processes_seen());
	if (!bare())
		refused(processes_seen() > 6 ? 0 : -1, "see processes of the host");
	return attack_end();
}
