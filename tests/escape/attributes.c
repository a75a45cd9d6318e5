/*
 * Modes, owners, times and extended attributes of guarded files: a hook made
 * executable, a key made readable for all.
 *
 * EXPECT: action=file-write-mode|file-write-attr|file-write-data target=*.env
 */
#include <sys/xattr.h>

#include "tests/escape/attack.h"

int main(void)
{
	int fd = open(".env", O_RDONLY), path = open("keys/server.key", O_PATH);
	struct timespec times[2] = { { 1, 0 }, { 1, 0 } };

	attack_begin();
	refused(chmod(".env", 0777), "change the mode of .env");
	refused(fchmod(fd, 0777), "change it by a descriptor");
	refused(fchmodat(AT_FDCWD, "linkfile", 0777, 0), "change it through a link");
	refused(chmod(spell("/proc/self/fd/%d", path), 0777), "change the mode of a key by /proc");
	refused(utimensat(AT_FDCWD, "keys/server.key", times, 0), "change the times of a key");
	refused(futimens(fd, times), "change the times of .env by a descriptor");
	refused(setxattr(".env", "user.x", "1", 1, 0), "give .env an attribute");
	refused(fsetxattr(fd, "user.x", "1", 1, 0), "give it one by a descriptor");
	refused(chown(".env", getuid(), getgid()), "change the owner of .env");
	works(put("plain/file.txt"), "make an ordinary file");
	works(chmod("plain/file.txt", 0755), "change its mode");
	works(utimensat(AT_FDCWD, "plain/file.txt", times, 0), "change its times");
	return attack_end();
}
