/*
 * timeout: 60
 * The working directory, shared by all threads, changed by one while the others
 * create by bare names.
 */
#include <pthread.h>
#include <time.h>

#include "tests/escape/attack.h"

enum { SECONDS = 4 };

static time_t end;
static int plain, hooks;
static volatile long made;

static void *flip(void *cookie)
{
	(void)cookie;
	while (time(NULL) < end) {
		if (fchdir(hooks) < 0 || fchdir(plain) < 0)
			works(-1, "change directory");
	}
	return NULL;
}

static void *strike(void *cookie)
{
	(void)cookie;
	while (time(NULL) < end) {
		if (put("pre-push") >= 0)
			made++;
		if (rename("seed", "post-commit") == 0)
			made++;
		if (symlink("seed", "post-merge") == 0)
			made++;
		unlinkat(plain, "pre-push", 0);
		unlinkat(plain, "post-merge", 0);
		renameat(plain, "post-commit", plain, "seed");
	}
	return NULL;
}

int main(void)
{
	static const char *const names[] = { "pre-push", "post-commit", "post-merge" };
	pthread_t flipper[2], striker[4];

	attack_begin();
	works(put("plain/seed"), "make an ordinary file");
	plain = open("plain", O_PATH | O_DIRECTORY);
	hooks = open(".git/hooks", O_PATH | O_DIRECTORY);
	end = time(NULL) + SECONDS;
	for (int i = 0; i < 2; i++)
		pthread_create(&flipper[i], NULL, flip, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&striker[i], NULL, strike, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(flipper[i], NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(striker[i], NULL);
	printf("%ld acts went where they may\n", made);
	works(made > 0 ? 0 : -1, "act in the ordinary directory");
	for (int i = 0; i < 3; i++)
		refused(faccessat(hooks, names[i], F_OK, AT_SYMLINK_NOFOLLOW), "the hook %s", names[i]);
	return attack_end();
}
