/*
 * The same calls by other doors: the 32-bit table through int 0x80, the x32
 * numbers, and numbers with bits set that the kernel ignores.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/escape/attack.h"

#ifdef __x86_64__
static long int80(long nr, long a, long b, long c)
{
	long rc;

	__asm__ volatile("int $0x80" : "=a"(rc) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
	return rc;
}

/* A child tries, since being killed for it is as good as being refused. */
static void in_child(const char *what, int way, char *low)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		long fd = way == 0 ? int80(5, (long)low, O_WRONLY | O_CREAT, 0644) :
			  way == 1 ? syscall(SYS_open | 0x40000000, low, O_WRONLY | O_CREAT, 0644) :
				     syscall((long)(SYS_open | 1UL << 32), low, O_WRONLY | O_CREAT, 0644);
		_exit(pwn(fd) >= 0 ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	errno = EPERM;
	refused(WIFEXITED(status) && WEXITSTATUS(status) == 1 ? 0 : -1, "%s", what);
}
#endif

int main(void)
{
	attack_begin();
#ifdef __x86_64__
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	strcpy(low, ".env.compat");
	in_child("open of the 32-bit table", 0, low);
	in_child("open of the x32 numbers", 1, low);
	in_child("open with a high bit", 2, low);
#else
	unavailable("other doors are known for x86_64 alone");
#endif
	return attack_end();
}
