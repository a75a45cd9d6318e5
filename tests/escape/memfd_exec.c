/*
 * A program in memory, a script by a descriptor, a program found again through
 * /proc: whatever is executed is as confined as what executed it.
 *
 * EXPECT: action=file-write-create target=*again.key
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/escape/attack.h"

static void again(int fd, char *const argv[], const char *what)
{
	char *env[] = { NULL };
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		fexecve(fd, argv, env);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	printf("%s: status %#x\n", what, (unsigned int)status);
	refused(status && WIFEXITED(status) && WEXITSTATUS(status) == 1 ? 0 : -1, "%s", what);
}

int main(int argc, char **argv)
{
	int self = open("/proc/self/exe", O_RDONLY);
	int mem = memfd_create("again", 0);
	char block[4096];
	ssize_t n;

	if (argc > 1)
		return put("again.key") >= 0 || put(".env") >= 0 ? 1 : 0;
	attack_begin();
	works(mem, "make a file in memory");
	while ((n = read(self, block, sizeof(block))) > 0)
		works(write(mem, block, (size_t)n), "copy the program there");
	works(fchmod(mem, 0755), "make it a program");
	works(fchmod(mem, 0700), "and once more");
	again(mem, (char *[]){ argv[0], (char *)"again", NULL }, "a program in memory");
	again(self, (char *[]){ argv[0], (char *)"again", NULL }, "a program by its descriptor");
	again(open("/bin/sh", O_RDONLY), (char *[]){ (char *)"sh", (char *)"-c",
	      (char *)"echo x > again.key && exit 1; echo x > .env && exit 1; exit 0", NULL }, "a shell");
	return attack_end();
}
