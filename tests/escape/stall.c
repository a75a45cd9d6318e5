/*
 * timeout: 60
 * Calls that wait for ever, in numbers: whoever acts on their behalf must neither
 * wait with them, nor keep them from being killed.
 */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/escape/attack.h"

enum { WAITING = 200 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void leased(void)
{
	int fd = open("plain/leased", O_RDONLY | O_CREAT, 0644);

	signal(SIGIO, SIG_IGN);
	if (fd < 0 || fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
		printf("note: no lease: %s\n", strerror(errno));
}

int main(void)
{
	pid_t pids[WAITING];
	double start;

	attack_begin();
	works(mkfifo("plain/pipe", 0644), "make a pipe");
	leased();
	for (int i = 0; i < WAITING; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			int fd = i % 4 ? open("plain/pipe", O_WRONLY) : open("plain/leased", O_RDWR);

			(void)fd;
			pause();
			_exit(0);
		}
	}
	usleep(300 * 1000);
	start = now();
	for (int i = 0; i < 200; i++)
		works(put(spell("plain/beside%d", i)), "make an ordinary file beside %d that wait", WAITING);
	refused(put(".env"), "overwrite .env beside them");
	printf("200 files beside %d waiting calls: %.2f s\n", WAITING, now() - start);
	works(now() - start < 5 ? 0 : -1, "make them in time");
	start = now();
	for (int i = 0; i < WAITING; i++)
		kill(pids[i], SIGKILL);
	for (int i = 0; i < WAITING; i++)
		waitpid(pids[i], NULL, 0);
	printf("killed in %.2f s\n", now() - start);
	works(now() - start < 5 ? 0 : -1, "kill them in time");
	return attack_end();
}
