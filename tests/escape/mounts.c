/*
 * Mounts put over, under, away, or made writable.
 */
#include <sys/mount.h>

#include "tests/escape/attack.h"

int main(void)
{
	attack_begin();
	refused(mount("none", "/tmp", "tmpfs", 0, NULL), "mount a tmpfs");
	refused(mount("plain", "keys", NULL, MS_BIND, NULL), "bind one directory over another");
	refused(mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL), "remount /usr writable");
	refused(mount(NULL, "/", NULL, MS_REMOUNT, NULL), "remount / writable");
	refused(mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL), "share the mounts");
	refused(mount("none", "/proc", "proc", 0, NULL), "mount another proc");
	refused(umount2(".git", MNT_DETACH), "take .git's mount away");
	refused(umount2("/proc", MNT_DETACH), "take /proc away");
	refused(syscall(SYS_open_tree, AT_FDCWD, "/", 1U), "clone the tree of mounts");
	refused(syscall(SYS_fsopen, "tmpfs", 0), "open a file system");
	refused(syscall(SYS_move_mount, AT_FDCWD, ".git", AT_FDCWD, "plain", 0), "move a mount");
	refused(syscall(SYS_mount_setattr, AT_FDCWD, "/usr", 0, (unsigned long long[4]){ 0, 1 }, 32), "set a mount's attributes");
	refused(syscall(SYS_pivot_root, ".", "."), "change the root for all");
	refused(chroot("plain"), "change the own root");
	return attack_end();
}
