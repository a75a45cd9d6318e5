/*
 * dispatch/hook_net.h - whatever ends this process is a denial
 *
 * To Claude Code a hook that exits with any status but 0 and 2, is killed, takes
 * too long or says something odd has no opinion, and the tool runs. So from the
 * first line of main() on every way out leads here, to exit status 2, which
 * blocks: a catchable signal, a crash, a stack that ran over, the time being up,
 * a stray exit(3) or return from main(). Only hook_net_answered() leaves with 0.
 *
 * SIGKILL and SIGSTOP cannot be caught, and a program that is not there cannot
 * answer: the hook's command line ends in "|| exit 2" for those.
 */
#ifndef DISPATCH_HOOK_NET_H
#define DISPATCH_HOOK_NET_H

#include <stddef.h>

#define HOOK_NET_SECONDS 5	/* then the time is up; Claude's own limit must be longer */

/* hook_net_up() - call it once, first of all */
void hook_net_up(void);

/* hook_net_deny() - "agate: denied: REASON" on stderr, exit status 2. @reason has no control bytes */
_Noreturn void hook_net_deny(const char *reason);

/**
 * hook_net_answered() - An answer in JSON on stdout, or none (@len 0), and exit status 0
 *
 * If it cannot be written, or stdout is a place where nobody reads it, a denial.
 */
_Noreturn void hook_net_answered(const char *answer, size_t len);

#endif
