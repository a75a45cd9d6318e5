/*
 * timeout: 60
 * Where names do not matter (the private /tmp) a call is let go on as it is: the
 * path is changed to a guarded one just then.
 */
#include <pthread.h>
#include <time.h>

#include "tests/escape/attack.h"

enum { SECONDS = 5 };

static time_t end;
static char path[4200], guarded[4200], harmless[4200], seed[4200];
static volatile long made;

static void *flip(void *cookie)
{
	(void)cookie;
	while (time(NULL) < end) {
		memcpy(path, guarded, sizeof(guarded));
		memcpy(path, harmless, sizeof(harmless));
	}
	return NULL;
}

static void *strike(void *cookie)
{
	long way = (long)cookie;

	while (time(NULL) < end) {
		long rc = way == 0 ? put(path) :
			  way == 1 ? rename(seed, path) :
			  way == 2 ? truncate(path, 1) :
			  way == 3 ? unlink(path) : link(seed, path);

		if (rc >= 0)
			made++;
		if (way == 1)
			put(seed);
	}
	return NULL;
}

int main(void)
{
	pthread_t flipper[3], striker[5];
	char was[64] = "";
	int fd;

	attack_begin();
	snprintf(guarded, sizeof(guarded), "%s/.env", told("ATTACK_REPO"));
	snprintf(harmless, sizeof(harmless), "%s/harmless", told("TMPDIR"));
	snprintf(seed, sizeof(seed), "%s/seed", told("TMPDIR"));
	memcpy(path, harmless, sizeof(harmless));
	works(put(seed), "make a file in /tmp");
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
	works(made > 0 ? 0 : -1, "act on the path while it lies in /tmp");
	fd = open(".env", O_RDONLY);
	works(read(fd, was, sizeof(was) - 1), "read .env");
	refused(strcmp(was, "TOKEN=real-secret\n") ? 0 : -1, "change .env");
	return attack_end();
}
