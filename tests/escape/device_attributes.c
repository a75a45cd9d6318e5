/*
 * Mode, owner and times of device nodes. They are the host's: a run that root starts
 * would shut /dev/null to everybody.
 *
 * EXPECT: action=file-write-mode target=/dev/full
 */
#include <sys/xattr.h>

#include "tests/escape/attack.h"

/* Whatever the calls said: is the node as it was? Put right if not. */
static void is_as_before(const struct stat *was)
{
	struct stat now;

	if (stat("/dev/full", &now) < 0)
		_exit(99);
	refused(now.st_mode == was->st_mode && now.st_mtime == was->st_mtime && now.st_gid == was->st_gid ? -1 : 0,
		"change the host's node");
	if (now.st_mode != was->st_mode)
		chmod("/dev/full", was->st_mode & 07777);
}

int main(void)
{
	struct timespec times[2] = { { 1, 0 }, { 1, 0 } };
	struct stat was;
	int fd = open("/dev/full", O_RDWR), path = open("/dev/full", O_PATH);

	attack_begin();
	if (fd < 0 || fstat(fd, &was) < 0)
		_exit(99);
	refused(chmod("/dev/full", 0640), "change the mode of a node");
	refused(fchmod(fd, 0640), "change it by a descriptor");
	refused(fchmod(fd, 0777), "make it a program by a descriptor");
	refused(chmod(spell("/proc/self/fd/%d", path), 0640), "change it by /proc");
	refused(fchmodat(AT_FDCWD, "/dev/../dev/full", 0640, 0), "change it by a longer path");
	refused(utimensat(AT_FDCWD, "/dev/full", times, 0), "change its times");
	refused(futimens(fd, times), "change its times by a descriptor");
	refused(chown("/dev/full", getuid(), getgid()), "change its owner");
	refused(fchown(fd, getuid(), getgid()), "change its owner by a descriptor");
	refused(setxattr("/dev/full", "user.x", "1", 1, 0), "give it an attribute");
	refused(fsetxattr(fd, "user.x", "1", 1, 0), "give it an attribute by a descriptor");
	is_as_before(&was);
	works(open("/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0644), "write to /dev/null");
	works(open("/dev/zero", O_RDWR), "open /dev/zero");
	refused(write(fd, "x", 1), "write to /dev/full, which is full");
	return attack_end();
}
