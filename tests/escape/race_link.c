/*
 * timeout: 60
 * A last name that is an ordinary file one moment and a link to .env the next,
 * swapped by threads while others open it for writing.
 */
#include <linux/fs.h>
#include <pthread.h>
#include <time.h>

#include "tests/escape/attack.h"

enum { THREADS = 4, SECONDS = 5 };

static time_t end;
static volatile long made;

static void *swap(void *cookie)
{
	(void)cookie;
	while (time(NULL) < end)
		syscall(SYS_renameat2, AT_FDCWD, "here", AT_FDCWD, "there", RENAME_EXCHANGE);
	return NULL;
}

static void *strike(void *cookie)
{
	static const int ways[THREADS] = { O_WRONLY, O_RDWR | O_CREAT, O_WRONLY | O_TRUNC, O_WRONLY | O_APPEND };
	int way = ways[(long)cookie];

	while (time(NULL) < end) {
		if (pwn(open("here", way, 0644)) >= 0)
			made++;
		if ((long)cookie == 1 && truncate("here", 2) == 0)
			made++;
	}
	return NULL;
}

int main(void)
{
	pthread_t swapper[THREADS], striker[THREADS];
	char was[64] = "";
	int fd;

	attack_begin();
	works(put("here"), "make an ordinary file");
	works(symlink(".env", "there"), "make a link to .env");
	end = time(NULL) + SECONDS;
	for (long i = 0; i < THREADS; i++) {
		pthread_create(&swapper[i], NULL, swap, NULL);
		pthread_create(&striker[i], NULL, strike, (void *)i);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(swapper[i], NULL);
		pthread_join(striker[i], NULL);
	}
	printf("%ld writes went where they may\n", made);
	works(made > 0 ? 0 : -1, "write the name while it is a file");
	fd = open(".env", O_RDONLY);
	works(read(fd, was, sizeof(was) - 1), "read .env");
	refused(strcmp(was, "TOKEN=real-secret\n") ? 0 : -1, "change .env");
	return attack_end();
}
