/*
 * base/signals.h - the signals our caller had us ignore
 *
 * nohup(1), and shells that start jobs in the background, tell a program what
 * to ignore before it starts. What we run should be told the same, but by then
 * handlers of our own are in place: so it is noted first of all.
 */
#ifndef BASE_SIGNALS_H
#define BASE_SIGNALS_H

#include <stdint.h>

void signals_note(void);	/* once, at the start of main() */

/* signals_ignored() - bit n: signal n was ignored then; 0 if it was never noted */
uint32_t signals_ignored(void);

#endif
