/*
 * sandbox/init/later.h - calls that wait: for a FIFO's other end, a lease, a server with many clients
 *
 * A worker must never block; a thread of its own does the waiting
 * and gives up when the caller does.
 */
#ifndef SANDBOX_INIT_LATER_H
#define SANDBOX_INIT_LATER_H

#include <sys/socket.h>

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

/* truncate_later() - truncate @object (O_PATH, stays the caller's) to @len once open(2) with @flags does not wait */
struct answer truncate_later(const struct request *r, int object, int flags, off_t len);

/**
 * connect_later() - Connect @sock while the server's queue is full, for two seconds at most
 * @sock:	a copy of the caller's socket; becomes the thread's, also on failure
 * @flags:	its O_* flags, which it gets back; it is non-blocking until then
 * @object:	the server's socket, O_PATH, stays the caller's; or -1, and @a is its address
 *
 * Return: ANSWER_LATER, or an errno
 */
struct answer connect_later(const struct request *r, int sock, int flags, int object, const struct sockaddr *a,
			    socklen_t len);
/* object_address() - @object's address for who stands in the host's /proc; its length */
socklen_t object_address(int object, struct sockaddr_storage *ret);

/* send_fd() - put @fd into the caller as the call's result; 0, or -1 and errno */
int send_fd(int notify, uint64_t id, int fd, int cloexec);
/* put_fd() - put @fd into the caller, which is answered later; its number there, or -1 and errno */
int put_fd(int notify, uint64_t id, int fd, int cloexec);
/* send_errno() - end the call with @err */
void send_errno(int notify, uint64_t id, int err);

#endif
