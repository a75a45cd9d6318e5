/*
 * Sockets of the host: one whose directory the run may read, and an abstract one.
 *
 * RUN: --read {host}
 * EXPECT: action=unix-connect target=*host.sock
 */
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/escape/attack.h"

static long reach(const char *name, size_t len, int type)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type, 0);

	if (fd < 0)
		return -1;
	memcpy(at.sun_path, name, len);
	return connect(fd, (struct sockaddr *)&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
}

int main(void)
{
	const char *path = spell("%s/host.sock", told("ATTACK_HOST"));
	const char *abstract = spell("@%s", told("ATTACK_ABSTRACT"));
	char hidden[200];
	size_t len = strlen(abstract);

	attack_begin();
	works(access(path, F_OK), "see the socket that --read shows");
	refused(reach(path, strlen(path) + 1, SOCK_STREAM), "reach a socket of the host");
	refused(reach(path, strlen(path) + 1, SOCK_DGRAM), "reach it by datagrams");
	works(symlink(path, "s"), "make a link to it");
	refused(reach("s", 2, SOCK_STREAM), "reach it through a link");
	memcpy(hidden, abstract, len);
	hidden[0] = 0;
	refused(reach(hidden, len, SOCK_STREAM), "reach an abstract socket of the host");
	return attack_end();
}
