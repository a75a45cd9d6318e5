/*
 * base/io.h - whole reads and writes, and descriptors over sockets
 */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stddef.h>
#include <sys/types.h>

struct buf;
struct err;

int io_write_all(int fd, const void *data, size_t len);	/* 0, or -1 and errno */

/* io_fill_std() - /dev/null for whichever of 0, 1, 2 is missing: the next file opened would take it; 0, or -1 */
int io_fill_std(void);

/* io_read_fd() - append everything until end of file, at most @max bytes (more: ERR_LIMIT) */
int io_read_fd(int fd, size_t max, struct buf *buf, struct err *err);

/* io_read_file() - the same for a path beneath @dirfd (or AT_FDCWD) */
int io_read_file(int dirfd, const char *path, size_t max, struct buf *buf, struct err *err);

/**
 * io_replace_file() - Write a file so that readers see the old or the new, never half
 * @mode:	permission bits of the new file, umask not applied
 *
 * Written beside it, synced, renamed over. A link at @path is replaced, not followed.
 */
int io_replace_file(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
		    struct err *err);

/* io_mkdirs() - mkdir -p of a clean path; new directories get @mode */
int io_mkdirs(const char *path, mode_t mode, struct err *err);

/* io_memfd() - a sealed-size memory file holding @data, read position 0, close-on-exec; or -1 */
int io_memfd(const char *name, const void *data, size_t len);

/* io_send_fds() - one message of @len > 0 bytes with @nfds <= 24 descriptors; 0, or -1 and errno */
int io_send_fds(int sock, const void *data, size_t len, const int *fds, size_t nfds);

/**
 * io_recv_fds() - Receive what io_send_fds() sent
 * @fds:	room for @max_fds; those received are close-on-exec and the caller's
 * @ret_nfds:	how many came
 *
 * Return: bytes read, 0 at end of file, -1 and errno (EMSGSIZE when data or
 * descriptors were cut off: then none are kept)
 */
ssize_t io_recv_fds(int sock, void *data, size_t len, int *fds, size_t max_fds, size_t *ret_nfds);

#endif
