/*
 * base/own.h - scope-bound owners
 *
 * A resource is declared together with the way it dies:
 *
 *	OWN(fd) int fd = open(...);
 *	...
 *	*ret_fd = fd_take(&fd);		success hands it out and disarms
 *
 * Each own_X() is NULL-safe and keeps errno.
 */
#ifndef BASE_OWN_H
#define BASE_OWN_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define OWN(how) __attribute__((cleanup(own_##how)))

/* TAKE(p) - give a pointer away: evaluates to it and leaves NULL behind */
#define TAKE(p) __extension__({ __typeof__(p) take_ = (p); (p) = NULL; take_; })

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static inline void own_fd(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

static inline int fd_take(int *fd)
{
	int f = *fd;

	*fd = -1;
	return f;
}

/* own_mem() - for anything from malloc(3); declare as OWN(mem) T *p */
static inline void own_mem(void *pp)
{
	int saved = errno;

	free(*(void **)pp);
	errno = saved;
}

static inline void own_file(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void own_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

#endif
