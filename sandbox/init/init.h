/*
 * sandbox/init/init.h - the roles of agate-init
 *
 *	agate-init stage CTL -- CMD ARGS...	inside, before the command
 *	agate-init broker CTL				outside the pid namespace
 *	agate-init bare CTL BROKERCTL -- CMD ARGS...	both, without namespaces
 *
 * CTL and BROKERCTL are descriptor numbers.
 */
#ifndef SANDBOX_INIT_INIT_H
#define SANDBOX_INIT_INIT_H

#include <sys/types.h>

int stage_main(int ctl, char *const argv[]);	/* returns only on failure */
int broker_main(int ctl);
/* bare_main() - becomes the broker, after it forked the stage: so it is an ancestor of all the command starts */
int bare_main(int ctl, int broker_ctl, char *const argv[]);
/* broker_bare() - the broker's part of that; @child: the stage */
void broker_bare(int ctl, pid_t child) __attribute__((noreturn));

#endif
