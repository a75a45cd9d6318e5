/*
 * timeout: 60
 * The path in memory changed by one thread while another's call on it is being
 * judged: what was looked at has to be what is done.
 */
#include <pthread.h>
#include <time.h>

#include "tests/escape/attack.h"

enum { SECONDS = 5 };

static time_t end;
static char path[32] = "flip/aaaa";
static char onto[32] = "flip/bbbb";
static volatile long made;

static void *flip(void *cookie)
{
	(void)cookie;
	while (time(NULL) < end) {
		memcpy(path + 5, ".env", 4);
		memcpy(onto + 5, ".env", 4);
		memcpy(path + 5, "aaaa", 4);
		memcpy(onto + 5, "bbbb", 4);
	}
	return NULL;
}

static void *strike(void *cookie)
{
	long way = (long)cookie;

	while (time(NULL) < end) {
		long rc = way == 0 ? put(path) :
			  way == 1 ? rename("flip/source", onto) :
			  way == 2 ? link("flip/source", onto) :
			  way == 3 ? symlink("../README", onto) : mkdir(path, 0755);

		if (rc >= 0)
			made++;
		if (way == 1)
			put("flip/source");
		unlink("flip/bbbb");
		rmdir("flip/aaaa");
	}
	return NULL;
}

int main(void)
{
	pthread_t flipper[3], striker[5];

	attack_begin();
	works(mkdir("flip", 0755), "make a directory");
	works(put("flip/source"), "make an ordinary file");
	end = time(NULL) + SECONDS;
	for (int i = 0; i < 3; i++)
		pthread_create(&flipper[i], NULL, flip, NULL);
	for (long i = 0; i < 5; i++)
		pthread_create(&striker[i], NULL, strike, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(flipper[i], NULL);
	for (int i = 0; i < 5; i++)
		pthread_join(striker[i], NULL);
	printf("%ld acts went where they may\n", made);
	works(made > 0 ? 0 : -1, "act on the path while it is an ordinary one");
	refused(faccessat(AT_FDCWD, "flip/.env", F_OK, AT_SYMLINK_NOFOLLOW), "flip/.env");
	return attack_end();
}
