/*
 * Descriptors left open by whoever started agate, or by agate itself.
 */
#include "tests/escape/attack.h"

int main(void)
{
	struct stat st;

	attack_begin();
	for (int fd = 3; fd < 1024; fd++)
		if (fstat(fd, &st) == 0) {
			char target[4096] = "";
			ssize_t n = readlink(spell("/proc/self/fd/%d", fd), target, sizeof(target) - 1);

			(void)n;
			refused(0, "descriptor %d is open: %s", fd, target);
		}
	refused(openat(3, ".", O_RDONLY), "open a directory beneath descriptor 3");
	return attack_end();
}
