/*
 * timeout: 60
 * What openat2 is to do lies in memory: changed from reading to writing, from one
 * file to another, while the call is judged. The same for where a socket is bound.
 */
#include <linux/openat2.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "tests/escape/attack.h"

enum { SECONDS = 4 };

static time_t end;
static volatile struct open_how how;
static struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = "plain/sock.aaa" };
static volatile long read_only;

static void *flip(void *cookie)
{
	(void)cookie;
	while (time(NULL) < end) {
		how.flags = O_WRONLY | O_TRUNC;
		memcpy(at.sun_path + 10, ".key", 4);
		how.flags = O_RDONLY;
		memcpy(at.sun_path + 10, ".aaa", 4);
	}
	return NULL;
}

static void *strike(void *cookie)
{
	(void)cookie;
	while (time(NULL) < end) {
		long fd = syscall(SYS_openat2, AT_FDCWD, ".env", &how, sizeof(how));
		int s = socket(AF_UNIX, SOCK_STREAM, 0);

		if (fd >= 0) {
			read_only++;
			pwn(fd);
		}
		if (s >= 0) {
			if (bind(s, (struct sockaddr *)&at, sizeof(at)) == 0)
				unlink("plain/sock.aaa");
			close(s);
		}
	}
	return NULL;
}

int main(void)
{
	pthread_t flipper[2], striker[4];
	char was[64] = "";
	int fd;

	attack_begin();
	end = time(NULL) + SECONDS;
	for (int i = 0; i < 2; i++)
		pthread_create(&flipper[i], NULL, flip, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&striker[i], NULL, strike, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(flipper[i], NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(striker[i], NULL);
	printf("%ld were opened for reading\n", read_only);
	works(read_only > 0 ? 0 : -1, "open .env for reading");
	fd = open(".env", O_RDONLY);
	works(read(fd, was, sizeof(was) - 1), "read .env");
	refused(strcmp(was, "TOKEN=real-secret\n") ? 0 : -1, "change .env");
	refused(faccessat(AT_FDCWD, "plain/sock.key", F_OK, AT_SYMLINK_NOFOLLOW), "plain/sock.key");
	return attack_end();
}
