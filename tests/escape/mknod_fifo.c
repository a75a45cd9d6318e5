/*
 * Guarded names as pipes, plain nodes and devices.
 *
 * EXPECT: action=file-write-create target=*.env.fifo
 */
#include <sys/sysmacros.h>

#include "tests/escape/attack.h"

int main(void)
{
	int keys = open("keys", O_PATH | O_DIRECTORY);

	attack_begin();
	refused(mkfifo(".env.fifo", 0644), "make a pipe .env.fifo");
	refused(mkfifoat(keys, "p.key", 0644), "make a pipe keys/p.key");
	refused(mknod("n.pem", S_IFREG | 0644, 0), "make a node n.pem");
	refused(mknod("s.key", S_IFSOCK | 0644, 0), "make a socket node s.key");
	refused(mknod("memory", S_IFCHR | 0666, makedev(1, 1)), "make a device");
	refused(mknod("disk", S_IFBLK | 0666, makedev(254, 0)), "make a disk");
	works(mkfifo("plain/pipe", 0644), "make an ordinary pipe");
	works(unlink("plain/pipe"), "remove it");
	return attack_end();
}
