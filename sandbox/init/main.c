#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/init/init.h"

/*
 * Keys typed at the terminal go to every process of the foreground group. They
 * are the command's to answer: if bwrap died of one, it would take the command
 * along before it could. What is ignored stays so across exec; the stage undoes it.
 */
static int guard_main(char *const argv[])
{
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	execv(argv[0], argv + 1);
	perror(argv[0]);
	return 125;
}

int main(int argc, char *argv[])
{
	if (argc > 4 && !strcmp(argv[1], "stage") && !strcmp(argv[3], "--"))
		return stage_main(atoi(argv[2]), argv + 4);
	if (argc == 3 && !strcmp(argv[1], "broker"))
		return broker_main(atoi(argv[2]));
	if (argc > 5 && !strcmp(argv[1], "bare") && !strcmp(argv[4], "--"))
		return bare_main(atoi(argv[2]), atoi(argv[3]), argv + 5);
	if (argc > 3 && !strcmp(argv[1], "guard"))
		return guard_main(argv + 2);
	fputs("agate-init: part of agate; it is started by `agate run`\n", stderr);
	return 125;
}
