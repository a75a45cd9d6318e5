/*
 * dispatch/exit.h - what the exit status of agate means
 *
 * A run ends with its command's own status; the numbers here are the ones agate
 * adds. They are those of timeout(1), env(1) and the shells, so that a script
 * that knows one knows all.
 */
#ifndef DISPATCH_EXIT_H
#define DISPATCH_EXIT_H

enum {
	EXIT_OK = 0,
	EXIT_ASK = 3,		/* `agate check`: somebody has to be asked */
	EXIT_TIMEOUT = 124,	/* the run's wall time was up */
	EXIT_FAILED = 125,	/* agate itself failed, wrong usage included */
	EXIT_DENIED = 126,	/* a gate denied */
	EXIT_NO_COMMAND = 127,	/* no such command */
	EXIT_SIGNAL = 128,	/* plus the number of the signal that ended it */
};

#endif
