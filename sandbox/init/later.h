/*
 * sandbox/init/later.h - opens that wait: a FIFO without a peer, a lease
 *
 * A worker must never block in an open; a thread of its own does the waiting
 * and gives up when the caller does.
 */
#ifndef SANDBOX_INIT_LATER_H
#define SANDBOX_INIT_LATER_H

#include "sandbox/init/broker.h"

/**
 * open_later() - Open @object when it can be opened
 * @object:	O_PATH, stays the caller's
 * @flags:	for open(2), O_NONBLOCK among them; the file is blocking when handed over
 *
 * Return: ANSWER_LATER, or an errno
 */
struct answer open_later(const struct request *r, int object, int flags, int cloexec);

/* read_later() - hand @fd, a FIFO open for reading without O_NONBLOCK in mind, over once somebody writes; takes @fd */
struct answer read_later(const struct request *r, int fd, int cloexec);

/* send_fd() - put @fd into the caller as the call's result; 0, or -1 and errno */
int send_fd(int notify, uint64_t id, int fd, int cloexec);
/* put_fd() - put @fd into the caller, which is answered later; its number there, or -1 and errno */
int put_fd(int notify, uint64_t id, int fd, int cloexec);
/* send_errno() - end the call with @err */
void send_errno(int notify, uint64_t id, int err);

#endif
