/*
 * sandbox/init/ops_peer.c - calls that concern another process, where no namespace hides the others
 *
 * Numbers are arguments, not memory, so the call can go on by itself once we
 * know whose it is. Signals and tracing are Landlock's.
 */
#include <errno.h>
#include <stdio.h>

#include "sandbox/init/broker.h"

static struct answer refuse_peer(const struct request *r, uint64_t pid)
{
	struct request told = *r;
	char text[32];

	snprintf(text, sizeof(text), "%d", (int)pid);
	told.given = text;
	return refuse(&told, ACT_SYSCALL, NULL, "it concerns a process outside the run", EPERM);
}

struct answer do_peer(const struct request *r, uint64_t pid)
{
	if ((int)pid <= 0 || target_is_ours(r->b, (pid_t)pid))
		return answer_continue();	/* the caller itself, or a number the kernel refuses */
	return refuse_peer(r, pid);
}

/* Groups and users hold others than the run's own processes. */
struct answer do_peer_kind(const struct request *r, uint64_t kind, uint64_t of_process, uint64_t pid)
{
	return (int)kind == (int)of_process ? do_peer(r, pid) : refuse_peer(r, pid);
}
