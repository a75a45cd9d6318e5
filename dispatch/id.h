/*
 * dispatch/id.h - names of runs
 *
 * "r", the time in milliseconds and 35 random bits, in digits and lower-case
 * letters without i, l, o and u: sorted as text they are sorted by time, they
 * can be read out loud, and fit a branch name, a path and a session id.
 */
#ifndef DISPATCH_ID_H
#define DISPATCH_ID_H

#include <stdint.h>

#define RUN_ID_SIZE 18	/* 17 characters and the NUL */

/* run_id_text() - the name for a time and random bits; pure */
void run_id_text(int64_t wall_us, uint64_t random, char ret[RUN_ID_SIZE]);

/* run_id_new() - a new one; 0, or -1 and errno when the system has no random bytes */
int run_id_new(char ret[RUN_ID_SIZE]);

/* run_id_is() - 1 if @word could be a run's name: nothing else becomes part of a path */
int run_id_is(const char *word);

#endif
