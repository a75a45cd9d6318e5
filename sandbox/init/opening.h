/*
 * sandbox/init/opening.h - what the two ways of opening share: to change, and to read
 */
#ifndef SANDBOX_INIT_OPENING_H
#define SANDBOX_INIT_OPENING_H

#include <fcntl.h>

#include "sandbox/init/broker.h"

#define OPEN_ATTEMPTS 8	/* a last part that keeps turning into a link is a game being played */

/* What openat2(2) knows beside O_PATH; flags that openat(2) does not know it passes over. */
#define OPEN_KNOWN (O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK | O_SYNC | O_ASYNC | O_DIRECT | \
		    0100000 /* O_LARGEFILE */ | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC | O_TMPFILE)

/* Flags that make no sense on an object that is already found. */
#define OPEN_FINDING (O_CREAT | O_EXCL | O_NOFOLLOW)

struct opening {
	const struct request *r;
	int flags;
	mode_t mode;
	struct place *p;
	int may_be_link;	/* a last link is to be followed and was not looked for yet: ELOOP asks for it */
};

/* open_flags() - the caller's flags and ours */
int open_flags(int flags);
/* open_give() - hand @fd, opened with @used, over with the caller's own idea of blocking; takes @fd */
struct answer open_give(const struct opening *o, int fd, int used);
/* open_unfollowed() - open the name of @o with @used; ELOOP for a link */
int open_unfollowed(const struct opening *o, int used);
/* open_again() - open what @object (O_PATH, judged) is, with the caller's @flags */
struct answer open_again(const struct opening *o, int object, int flags);

/* open_terminal() - /dev/tty: the caller's terminal, which is not ours to open by that name (ops_read.c) */
struct answer open_terminal(const struct opening *o);
/* read_place() - open the place of @o, which was judged, to read what is there (ops_read.c) */
struct answer read_place(const struct opening *o);
/* open_read() - an open that changes nothing (ops_read.c) */
struct answer open_read(struct opening *o, int at, const char *text, uint64_t resolve);

#endif
