#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "worktree/owner.h"

void owner_begin(const struct stat *like)
{
	if (geteuid())
		return;
	setfsgid(like->st_gid);	/* first: without uid 0 it would not be allowed */
	setfsuid(like->st_uid);
}

void owner_end(void)
{
	if (geteuid())
		return;
	setfsuid(0);
	setfsgid(getegid());
}
