/*
 * io_uring does what system calls do, without the calls. Refused without a row:
 * every start of Node asks for it.
 */
#include "tests/escape/attack.h"

int main(void)
{
	char params[256] = { 0 };

	attack_begin();
	refused(syscall(425, 8, params), "io_uring_setup");
	refused(syscall(426, 0, 1, 0, 0, NULL, 0), "io_uring_enter");
	refused(syscall(427, 0, 0, NULL, 0), "io_uring_register");
	return attack_end();
}
