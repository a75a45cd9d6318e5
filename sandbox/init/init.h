/*
 * sandbox/init/init.h - the roles of agate-init
 *
 *	agate-init guard BWRAP ARGV0 ARGS...		becomes bwrap, deaf to Ctrl-C
 *	agate-init stage CTL -- CMD ARGS...	inside, before the command
 *	agate-init broker CTL				outside the pid namespace
 *
 * CTL is a descriptor number.
 */
#ifndef SANDBOX_INIT_INIT_H
#define SANDBOX_INIT_INIT_H

int stage_main(int ctl, char *const argv[]);	/* returns only on failure */
int broker_main(int ctl);

#endif
