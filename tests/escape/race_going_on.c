/*
 * timeout: 60
 * RUN: --deny-read *.env
 * Calls that are let go on read their path once more: from private places, where all is
 * allowed, to what may not be read, while they are judged; a look by O_PATH turned into
 * a reading one; and from a pipe, whose mode nobody minds, to a protected file's.
 */
#include <linux/openat2.h>
#include <pthread.h>
#include <time.h>

#include "tests/escape/attack.h"

enum { SECONDS = 5 };

static time_t end;
static char path[4096], plain[4096], denied[4096], empty[4096], secret[4096];
static volatile struct open_how how;
static int pipe_end;
static volatile long opened, got;

static void *flip(void *cookie)
{
	size_t len = strlen(plain);

	(void)cookie;
	while (time(NULL) < end) {
		memcpy(path, denied, len);
		how.flags = O_RDONLY;
		empty[0] = '/';
		memcpy(path, plain, len);
		how.flags = O_PATH;
		empty[0] = '\0';
	}
	return NULL;
}

static void look(long fd)
{
	char text[32] = "";

	if (fd < 0)
		return;
	opened++;
	if (read((int)fd, text, sizeof(text) - 1) > 0 && !strncmp(text, "TOKEN", 5))
		got++;
	close((int)fd);
}

static void *strike(void *cookie)
{
	(void)cookie;
	while (time(NULL) < end) {
		look(open(path, O_RDONLY | O_CREAT, 0600));
		look(syscall(SYS_openat2, AT_FDCWD, ".env", &how, sizeof(how)));
		syscall(452 /* fchmodat2 */, pipe_end, empty, 0777, AT_EMPTY_PATH);
		syscall(SYS_fchownat, pipe_end, empty, getuid(), getgid(), AT_EMPTY_PATH);
	}
	return NULL;
}

int main(void)
{
	pthread_t flipper[2], striker[4];
	struct stat was, is;
	int ends[2];

	attack_begin();
	works(pipe(ends), "pipe");
	pipe_end = ends[0];
	works(stat(".env", &was), "look at .env");
	if (!getcwd(secret, sizeof(secret) - 8))
		return 2;
	strcat(secret, "/.env");
	/* Two of the same length: below the private directory, and ".///...//.env". */
	snprintf(plain, sizeof(plain), "%s/plain", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	memset(denied, '/', strlen(plain));
	denied[0] = '.';
	memcpy(denied + strlen(plain) - 4, ".env", 4);
	strcpy(empty + 1, secret + 1);
	end = time(NULL) + SECONDS;
	for (int i = 0; i < 2; i++)
		pthread_create(&flipper[i], NULL, flip, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&striker[i], NULL, strike, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(flipper[i], NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(striker[i], NULL);
	printf("%ld were opened\n", opened);
	works(opened > 0 ? 0 : -1, "open what is private");
	refused(got ? 0 : -1, "read .env (%ld times)", got);
	works(stat(".env", &is), "look at .env again");
	refused(is.st_mode == was.st_mode ? -1 : 0, "change the mode of .env");
	return attack_end();
}
