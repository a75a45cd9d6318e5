/*
 * sandbox/egress/flow.h - one direction of a connection, moved inside the kernel
 *
 * Bytes go from socket to socket through a pipe with splice(2) and never come
 * to user space. A pipe is borrowed only while it holds something, so an idle
 * flow costs no descriptors and no memory. Where no pipe is to be had, bytes
 * are copied.
 */
#ifndef SANDBOX_EGRESS_FLOW_H
#define SANDBOX_EGRESS_FLOW_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define PIPES_KEPT 16

/* Empty pipes for the next flow. A zeroed struct is an empty pool. */
struct pipes {
	int fd[PIPES_KEPT][2];
	size_t n;
	int no_splice;		/* copy instead; set when the kernel cannot, or by a test */
};
void pipes_done(struct pipes *pool);

#define FLOW_TO_THE_END UINT64_MAX

struct flow {
	int from, to;		/* non-blocking sockets, borrowed */
	int pipe[2];		/* -1 while nothing is held */
	size_t held;		/* bytes in the pipe */
	struct buf early;	/* bytes to send before any that are moved */
	uint64_t left;		/* bytes still to take, or FLOW_TO_THE_END */
	uint64_t moved;		/* bytes taken so far */
	int ended;		/* @from has said all it had to say */
};

enum flow_state {
	FLOW_WANTS_READ,	/* until @from is readable */
	FLOW_WANTS_WRITE,	/* until @to is writable */
	FLOW_AGAIN,		/* enough for one turn; whatever waits is ready already */
	FLOW_DONE,		/* all is delivered; ->ended tells if @from ended or ->left came down to 0 */
	FLOW_FROM_BROKE,	/* @from was reset; what it sent before is delivered */
	FLOW_TO_BROKE		/* @to takes no more */
};

void flow_init(struct flow *f, int from, int to, uint64_t left);

/* flow_move() - move what can be moved without waiting, up to a fair share */
enum flow_state flow_move(struct flow *f, struct pipes *pool);

/* flow_done() - give up what is held; the sockets stay */
void flow_done(struct flow *f, struct pipes *pool);

#endif
