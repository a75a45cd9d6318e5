#include <signal.h>
#include <stddef.h>

#include "base/signals.h"

static uint32_t ignored;

void signals_note(void)
{
	struct sigaction a;

	ignored = 0;
	for (int n = 1; n < 32; n++)
		if (!sigaction(n, NULL, &a) && a.sa_handler == SIG_IGN)
			ignored |= (uint32_t)1 << n;
}

uint32_t signals_ignored(void)
{
	return ignored;
}
