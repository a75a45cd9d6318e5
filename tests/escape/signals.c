/*
 * timeout: 60
 * Calls interrupted by signals all the time: none may slip through. Ordinary ones
 * must come true where the handler asks for restarting; else they may say EINTR.
 */
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "tests/escape/attack.h"

enum { SECONDS = 4 };

static volatile long bells;

static void bell(int signum)
{
	(void)signum;
	bells++;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = bell };
	struct itimerval every = { { 0, 150 }, { 0, 150 } };
	time_t end = time(NULL) + SECONDS;
	long fine = 0, interrupted = 0, n = 0;

	attack_begin();
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (time(NULL) < end) {
		if (n == 2000) {
			sa.sa_flags = SA_RESTART;
			sigaction(SIGALRM, &sa, NULL);
		}
		int fd = open(spell("plain/s%ld", n % 50), O_WRONLY | O_CREAT, 0644);

		if (fd >= 0)
			fine++;
		else if (errno == EINTR && !(sa.sa_flags & SA_RESTART))
			interrupted++;
		else
			works(-1, "make an ordinary file under signals");
		if (fd >= 0)
			close(fd);
		if (put(".env.signal") >= 0 || truncate(".env", 0) == 0 || rename("README", "r.key") == 0)
			attack_succeeded = 1;
		n++;
	}
	every = (struct itimerval){ 0 };
	setitimer(ITIMER_REAL, &every, NULL);
	printf("%ld signals, %ld made, %ld interrupted\n", bells, fine, interrupted);
	works(fine > 0 ? 0 : -1, "make any file under signals");
	return attack_end();
}
