/*
 * A process that takes itself out of its session, its group and its parents, to
 * live on after the run. The runner looks for it.
 */
#include <signal.h>
#include <sys/prctl.h>

#include "tests/escape/attack.h"

int main(void)
{
	attack_begin();
	for (int i = 0; i < 3; i++) {
		if (fork() != 0)
			continue;
		setsid();
		if (fork() != 0)
			_exit(0);
		for (int s = 1; s < 32; s++)
			signal(s, SIG_IGN);
		prctl(PR_SET_PDEATHSIG, 0);
		for (int fd = 0; fd < 64; fd++)
			close(fd);
		sleep(45);
		_exit(0);
	}
	usleep(100 * 1000);
	return attack_end();
}
