/*
 * sandbox/egress/confine.h - what the helper gives up before it hears outside bytes
 *
 *	helper		sockets, memory, the clock. No files, no programs, no other process,
 *			no threads. It parses what the program inside sends, and holds secrets.
 *	resolver	files beneath /etc and the libraries, to read; sockets; threads. It
 *			parses what name servers send, and holds nothing. (resolver.h)
 *
 * A call that only an attack makes ends the process; any other that is not
 * listed fails with EPERM. Landlock closes the files a second time where the
 * kernel has it. Builds with a sanitizer, which needs more than that, go
 * without the filter and the memory limit.
 */
#ifndef SANDBOX_EGRESS_CONFINE_H
#define SANDBOX_EGRESS_CONFINE_H

struct err;

/**
 * confine_start() - Before anything else: descriptors, signals, limits, no dumps
 * @keep_fd:	the one descriptor above 2 that stays open
 *
 * Should: be the first thing the process does. Mustn't: be followed by exec.
 * Return: 0, or -1 with @err
 */
int confine_start(int keep_fd, struct err *err);

enum confine_need {
	CONFINE_UNIX = 1,	/* connects to sockets with a path: a proxy of the configuration */
};

/**
 * confine_serve() - After the configuration was read, before the first connection
 * @needs:	enum confine_need, or 0
 *
 * Should: take away all that serving does not need. Mustn't: come before a
 * library is loaded or a file is read; run while there are threads.
 * Return: 0, or -1 with @err
 */
int confine_serve(unsigned int needs, struct err *err);

/**
 * confine_resolver() - The same for the process that looks names up, right behind its fork
 * @keep_fd:	the one descriptor above 2 that stays open
 */
int confine_resolver(int keep_fd, struct err *err);

#endif
