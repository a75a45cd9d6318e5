/*
 * Characters pushed into a terminal's input are typed for whoever reads next.
 * The kernel looks at 32 bits of the number; so must a filter.
 */
#include <sys/ioctl.h>

#include "tests/escape/attack.h"

int main(void)
{
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	int n, slave = -1, unlock = 0;
	char c = 'x';

	attack_begin();
	if (master >= 0 && ioctl(master, TIOCSPTLCK, &unlock) == 0 && ioctl(master, TIOCGPTN, &n) == 0)
		slave = open(spell("/dev/pts/%d", n), O_RDWR | O_NOCTTY);
	printf("a terminal of its own: %s\n", slave >= 0 ? "yes" : "no");
	for (int fd = -1; fd < 3; fd++) {
		int at = fd < 0 ? slave : fd;

		refused(ioctl(at, TIOCSTI, &c), "push a character into %d", at);
		refused(syscall(SYS_ioctl, at, TIOCSTI | 1UL << 32, &c), "push one with a high bit");
		refused(syscall(SYS_ioctl, at, TIOCSTI | ~0UL << 32, &c), "push one with all high bits");
		refused(ioctl(at, TIOCLINUX, &c), "paste into the console %d", at);
	}
	return attack_end();
}
