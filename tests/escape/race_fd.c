/*
 * timeout: 60
 * One descriptor number that is an ordinary directory one moment and a guarded
 * one the next, by dup2, while other threads create beneath it.
 */
#include <pthread.h>
#include <time.h>

#include "tests/escape/attack.h"

enum { SECONDS = 4 };

static time_t end;
static int plain, hooks, slot;
static volatile long made;

static void *flip(void *cookie)
{
	(void)cookie;
	while (time(NULL) < end) {
		dup2(hooks, slot);
		dup2(plain, slot);
	}
	return NULL;
}

static void *strike(void *cookie)
{
	(void)cookie;
	while (time(NULL) < end) {
		if (put_at(slot, "post-rewrite") >= 0)
			made++;
		if (mkdirat(slot, "pre-push", 0755) >= 0)
			made++;
		unlinkat(plain, "pre-push", AT_REMOVEDIR);
	}
	return NULL;
}

int main(void)
{
	pthread_t flipper[2], striker[4];

	attack_begin();
	plain = open("plain", O_PATH | O_DIRECTORY);
	hooks = open(".git/hooks", O_PATH | O_DIRECTORY);
	slot = dup(plain);
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
	works(made > 0 ? 0 : -1, "act beneath the descriptor while it is an ordinary directory");
	refused(faccessat(hooks, "post-rewrite", F_OK, 0), "the hook post-rewrite");
	refused(faccessat(hooks, "pre-push", F_OK, 0), "the hook pre-push");
	return attack_end();
}
