/*
 * A socket bound makes a name in the file system: a guarded one.
 *
 * EXPECT: action=network-bind|unix-bind|file-write-create target=*sock.key
 */
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/escape/attack.h"

static long bind_at(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	long rc;

	if (fd < 0)
		return -1;
	memcpy(at.sun_path, path, strlen(path) + 1);
	rc = bind(fd, (struct sockaddr *)&at, sizeof(at));
	if (rc < 0)
		close(fd);
	return rc;
}

int main(void)
{
	int keys = open("keys", O_PATH | O_DIRECTORY);

	attack_begin();
	refused(bind_at("sock.key"), "bind sock.key");
	refused(bind_at("linkdir/s.key"), "bind s.key through a link");
	refused(bind_at(spell("/proc/self/fd/%d/f.key", keys)), "bind f.key through a descriptor");
	refused(bind_at("hooklink/pre-push"), "bind a hook");
	if (bind_at("/tmp/fine.sock") < 0)
		printf("note: no socket in /tmp either: %s\n", strerror(errno));
	return attack_end();
}
