/*
 * worktree/beneath.h - open, make and look at things below a directory, never through a link
 *
 * openat2(2) with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS does the work. Paths
 * are relative, "" is the directory itself, and may be longer than PATH_MAX:
 * they are walked in pieces, so a deep tree is nothing special.
 */
#ifndef WORKTREE_BENEATH_H
#define WORKTREE_BENEATH_H

#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

struct buf;
struct err;

/* beneath_open() - a descriptor (close-on-exec is added), or -1 and errno; ELOOP or EXDEV: a link was in the way */
int beneath_open(int dirfd, const char *path, int flags, mode_t mode);

/* beneath_dir() - @path as a readable directory */
int beneath_dir(int dirfd, const char *path);

/**
 * beneath_parent() - The directory @path lies in, opened, and its last part
 * @ret_name:	points into @path
 *
 * Return: a descriptor good for *at() calls (O_PATH), or -1 and errno
 */
int beneath_parent(int dirfd, const char *path, const char **ret_name);

/* beneath_stat() - lstat(2) of @path; 0, or -1 and errno */
int beneath_stat(int dirfd, const char *path, struct stat *ret);

/**
 * beneath_regular() - Open a regular file for reading without ever blocking
 * @ret_st:	its fstat(2); may be NULL
 *
 * Return: a descriptor, or -1 and errno (ELOOP for a link, EINVAL for any
 * other kind of file)
 */
int beneath_regular(int dirfd, const char *path, struct stat *ret_st);

/* beneath_read() - append a regular file's bytes; ERR_NOTFOUND, ERR_LIMIT over @max, ERR_INPUT for a link or no file */
int beneath_read(int dirfd, const char *path, size_t max, struct buf *out, struct err *err);

/* beneath_link() - append a symbolic link's target; 0, or -1 and errno */
int beneath_link(int dirfd, const char *path, struct buf *out);

/* beneath_put() - write a new file with its missing parents (0755) below @dirfd; an existing one is an error */
int beneath_put(int dirfd, const char *path, const void *data, size_t len, struct err *err);

/* beneath_mkdirs() - mkdir -p of @path below @dirfd */
int beneath_mkdirs(int dirfd, const char *path, struct err *err);

#endif
