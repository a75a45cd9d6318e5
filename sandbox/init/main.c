#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/init/init.h"

int main(int argc, char *argv[])
{
	if (argc > 5 && !strcmp(argv[1], "stage") && !strcmp(argv[4], "--"))
		return stage_main(atoi(argv[2]), atoi(argv[3]), argv + 5);
	if (argc == 3 && !strcmp(argv[1], "broker"))
		return broker_main(atoi(argv[2]));
	fputs("agate-init: part of agate; it is started by `agate run`\n", stderr);
	return 125;
}
