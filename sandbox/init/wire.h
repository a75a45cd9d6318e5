/*
 * sandbox/init/wire.h - sending, receiving and reading the blob, for both roles
 */
#ifndef SANDBOX_INIT_WIRE_H
#define SANDBOX_INIT_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/init/proto.h"

/* wire_send() - one message with @nfds <= NET_FDS_MAX descriptors; 0, or -1 and errno */
int wire_send(int sock, const void *msg, size_t len, const int *fds, size_t nfds);

/* wire_recv() - bytes read, 0 at end of file, -1; exactly @want_fds descriptors or it is an error */
ssize_t wire_recv(int sock, void *msg, size_t len, int *fds, size_t want_fds);

/* wire_fail() - tell the supervisor and end this process with status 125 */
void wire_fail(int sock, int sys, int is_exec, const char *what) __attribute__((noreturn));

/**
 * wire_blob() - Map and check the plan
 * @fd:	the memory file; closed on success
 *
 * Every offset is inside and every text ends inside. Return: the blob (never
 * unmapped), or NULL and errno
 */
const struct blob_head *wire_blob(int fd);

/* wire_text() - the text at @off of a checked blob */
static inline const char *wire_text(const struct blob_head *b, uint32_t off)
{
	return (const char *)b + off;
}

#endif
