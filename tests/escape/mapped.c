/*
 * Guarded files changed through memory, or by calls that copy between files.
 */
#include <sys/mman.h>
#include <sys/sendfile.h>

#include "tests/escape/attack.h"

int main(void)
{
	int env = open(".env", O_RDONLY), from = open("README", O_RDONLY);
	int pipes[2];

	attack_begin();
	works(env, "open .env for reading");
	refused(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, env, 0) == MAP_FAILED ? -1 : 0, "map .env for writing");
	void *view = mmap(NULL, 4096, PROT_READ, MAP_SHARED, env, 0);
	works(view == MAP_FAILED ? -1 : 0, "map .env for reading");
	refused(mprotect(view, 4096, PROT_READ | PROT_WRITE), "make that writable");
	refused(copy_file_range(from, NULL, env, NULL, 4, 0), "copy a range into it");
	refused(sendfile(env, from, NULL, 4), "send a file into it");
	works(pipe(pipes), "make a pipe");
	works(write(pipes[1], "x", 1), "fill it");
	refused(splice(pipes[0], NULL, env, NULL, 1, 0), "splice the pipe into it");
	refused(syscall(SYS_ioctl, env, 0x40049409UL, from), "clone another file into it");
	refused(fchmod(env, 0666) < 0 ? -1 : pwn(open(".env", O_WRONLY)), "open it after a change of mode");
	return attack_end();
}
