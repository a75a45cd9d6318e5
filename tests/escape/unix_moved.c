/*
 * A socket of the host in a directory that the run may write: given another name, or moved,
 * to where sockets are the run's own.
 *
 * RUN: --write {host}
 */
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/escape/attack.h"

static long reach(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	strcpy(at.sun_path, path);
	return connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&at, sizeof(at));
}

int main(void)
{
	const char *host = told("ATTACK_HOST");

	attack_begin();
	refused(link(spell("%s/host.sock", host), "linked"), "give it a name in the workspace");
	refused(reach("linked"), "reach it there");
	refused(rename(spell("%s/host.sock", host), "moved"), "move it to the workspace");
	refused(reach("moved"), "reach it there");
	refused(syscall(SYS_renameat2, AT_FDCWD, spell("%s/host.sock", host), AT_FDCWD, "README", 2), "exchange it for a file");
	refused(reach("README"), "reach it there");
	return attack_end();
}
