/*
 * timeout: 60
 * Calls that wait for ever, in numbers: whoever acts on their behalf must neither
 * wait with them, nor keep them from being killed.
 */
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/escape/attack.h"

enum { WAITING = 200, CLIENTS = 40 };

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

/* More clients than anybody can serve at a time wait for a server that does not take them. */
static void crowded(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX, .sun_path = "plain/server" };
	int server = socket(AF_UNIX, SOCK_STREAM, 0);
	pid_t pids[CLIENTS];
	double start;

	works(bind(server, (struct sockaddr *)&to, sizeof(to)), "bind a server");
	works(listen(server, 0), "listen");
	for (int i = 0; i < CLIENTS; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&to, sizeof(to));
			pause();
			_exit(0);
		}
	}
	usleep(100 * 1000);
	start = now();
	for (int i = 0; i < 20; i++)
		works(put(spell("plain/crowd%d", i)), "make an ordinary file beside clients that wait");
	printf("20 files beside %d waiting clients: %.2f s\n", CLIENTS, now() - start);
	works(now() - start < 1 ? 0 : -1, "make them in time");
	for (int i = 0; i < CLIENTS; i++)
		kill(pids[i], SIGKILL);
	for (int i = 0; i < CLIENTS; i++)
		waitpid(pids[i], NULL, 0);
	close(server);
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
			int fd = i % 8 == 1 ? truncate("plain/leased", 0) :
				 i % 4 ? open("plain/pipe", O_WRONLY) : open("plain/leased", O_RDWR);

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
	crowded();
	return attack_end();
}
