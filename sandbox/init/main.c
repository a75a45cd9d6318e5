#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/init/init.h"

int main(int argc, char *argv[])
{
	if (argc > 4 && !strcmp(argv[1], "stage") && !strcmp(argv[3], "--"))
		return stage_main(atoi(argv[2]), argv + 4);
	if (argc == 3 && !strcmp(argv[1], "broker"))
		return broker_main(atoi(argv[2]));
	if (argc > 5 && !strcmp(argv[1], "bare") && !strcmp(argv[4], "--"))
		return bare_main(atoi(argv[2]), atoi(argv[3]), argv + 5);
	fputs("agate-init: part of agate; it is started by `agate run`\n", stderr);
	return 125;
}
