/*
 * Guarded files emptied without being opened for writing.
 *
 * EXPECT: action=file-write-data target=*.env
 */
#include "tests/escape/attack.h"

int main(void)
{
	int key = open("keys/server.key", O_RDONLY);

	attack_begin();
	refused(truncate(".env", 0), "truncate .env");
	refused(truncate("linkfile", 3), "truncate it through a link");
	refused(truncate("keys/server.key", 1 << 20), "lengthen a key");
	refused(truncate(spell("/proc/self/fd/%d", key), 0), "truncate a key as /proc/self/fd");
	refused(open(".env", O_RDONLY | O_TRUNC), "open .env for reading, emptied");
	refused(open("keys/cert.pem", O_RDONLY | O_TRUNC | O_CREAT, 0600), "the same with O_CREAT");
	refused(syscall(SYS_fallocate, key, 0, 0, 4096), "fallocate a key");
	works(put("plain/file.txt"), "write an ordinary file");
	works(truncate("plain/file.txt", 2), "truncate an ordinary file");
	return attack_end();
}
