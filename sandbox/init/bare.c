/*
 * sandbox/init/bare.c - the layout without namespaces: one process, then two
 *
 * What is started becomes the broker after it forked the stage. So it is an
 * ancestor of all the command starts: it may read their memory and take their
 * descriptors where Yama lets only ancestors, and what they leave behind comes
 * to it. It ends with the command's status.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sandbox/init/init.h"
#include "sandbox/init/wire.h"

/* Should: end with the broker, whatever ends that. */
static int become_stage(int ctl, int broker_ctl, pid_t broker, char *const argv[])
{
	close(broker_ctl);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != broker)
		wire_fail(ctl, errno, 0, "tie the command to the broker");
	return stage_main(ctl, argv);
}

/* Should: leave the terminal, the output and the directory to the command. */
static int step_aside(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -1;
	for (int fd = 0; fd <= 2; fd++)
		if (dup2(null, fd) < 0)
			return -1;
	close(null);
	return setsid() < 0 || chdir("/") < 0 ? -1 : 0;
}

int bare_main(int ctl, int broker_ctl, char *const argv[])
{
	pid_t broker = getpid(), child;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		wire_fail(ctl, errno, 0, "become the run's reaper");
	child = fork();
	if (child < 0)
		wire_fail(ctl, errno, 0, "start the stage");
	if (!child)
		return become_stage(ctl, broker_ctl, broker, argv);
	close(ctl);
	if (step_aside() < 0)
		wire_fail(broker_ctl, errno, 0, "leave the command's session");
	broker_bare(broker_ctl, child);
}
