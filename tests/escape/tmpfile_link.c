/*
 * A file without a name, filled, then given a guarded one by each form of linkat.
 *
 * EXPECT: action=file-write-link|file-write-create target=*.env.tmp
 */
#include "tests/escape/attack.h"

int main(void)
{
	int fd = open(".", O_TMPFILE | O_RDWR, 0644);
	int keys = open("keys", O_TMPFILE | O_RDWR, 0644);

	attack_begin();
	if (fd < 0) {
		printf("note: O_TMPFILE is refused as such: %s\n", strerror(errno));
		fd = open("plain/source.txt", O_CREAT | O_RDWR, 0644);
	}
	works(write(fd, canary(), 5), "fill the file");
	refused(linkat(AT_FDCWD, spell("/proc/self/fd/%d", fd), AT_FDCWD, ".env.tmp", AT_SYMLINK_FOLLOW),
		"name it .env.tmp through /proc");
	refused(linkat(fd, "", AT_FDCWD, ".env.tmp", AT_EMPTY_PATH), "name it .env.tmp by an empty path");
	refused(linkat(AT_FDCWD, spell("/proc/self/fd/%d", fd), AT_FDCWD, "keys/n.key", AT_SYMLINK_FOLLOW),
		"name it keys/n.key");
	refused(linkat(AT_FDCWD, spell("/proc/self/fd/%d", fd), AT_FDCWD, "hooklink/post-merge", AT_SYMLINK_FOLLOW),
		"name it as a hook through a link");
	if (keys >= 0)
		refused(linkat(keys, "", AT_FDCWD, "keys/n.pem", AT_EMPTY_PATH), "name another keys/n.pem");
	return attack_end();
}
