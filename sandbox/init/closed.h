/*
 * sandbox/init/closed.h - what a mount hides stays hidden when the mount goes
 *
 * A mount over a file is taken away by the kernel when somebody on the host puts
 * another file in its place, and what is made beside it has no mount at all. Where
 * the plan says so Landlock holds reading as well: granted to all that is in view but
 * what is to stay closed. Landlock can take nothing out of what it granted, so a
 * directory on the way to such a place is not granted itself but entry by entry, as
 * it stands; a file that comes later is in no grant.
 */
#ifndef SANDBOX_INIT_CLOSED_H
#define SANDBOX_INIT_CLOSED_H

#include "sandbox/init/proto.h"

/* closed_is_wanted() - 1 if LANDLOCK_ACCESS_FS_READ_FILE has to be handled with mounts too */
int closed_is_wanted(const struct blob_head *b);

/*
 * closed_grant() - grant it in @ruleset: in view, and for descriptors 0 to 2 as they were opened.
 * 0, or -1 and errno. What cannot be opened is not granted
 */
int closed_grant(const struct blob_head *b, int ruleset);

#endif
