/*
 * Keys of the session, the user and the thread: none to read, none to leave.
 */
#include "tests/escape/attack.h"

int main(void)
{
	attack_begin();
	refused(syscall(SYS_add_key, "user", "agate-escape", "x", 1, -3), "add a key to the session");
	refused(syscall(SYS_add_key, "user", "agate-escape", "x", 1, -4), "add a key to the user");
	refused(syscall(SYS_request_key, "user", "agate-escape", NULL, -3), "ask for a key");
	refused(syscall(SYS_keyctl, 0, -3, 0), "look for the session's keyring");
	refused(syscall(SYS_keyctl, 1, NULL), "join a session's keyring");
	return attack_end();
}
