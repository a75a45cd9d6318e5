/*
 * timeout: 60
 * A name that is a directory one moment and a link to a guarded one the next,
 * swapped by threads while others create through it.
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
	const char *name = spell("here/%s", (const char *)cookie);

	while (time(NULL) < end)
		if (put(name) >= 0)
			made++;
	return NULL;
}

int main(void)
{
	static const char *const aims[THREADS] = { "post-commit", "pre-push", "post-merge", "pre-rebase" };
	pthread_t swapper[THREADS], striker[THREADS];

	attack_begin();
	works(mkdir("here", 0755), "make a directory");
	works(symlink(".git/hooks", "there"), "make a link to the hooks");
	end = time(NULL) + SECONDS;
	for (int i = 0; i < THREADS; i++) {
		pthread_create(&swapper[i], NULL, swap, NULL);
		pthread_create(&striker[i], NULL, strike, (void *)(unsigned long)aims[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(swapper[i], NULL);
		pthread_join(striker[i], NULL);
	}
	printf("%ld creations went where they may\n", made);
	works(made > 0 ? 0 : -1, "create through the name while it is a directory");
	for (int i = 0; i < THREADS; i++)
		refused(access(spell(".git/hooks/%s", aims[i]), F_OK), "the hook %s", aims[i]);
	return attack_end();
}
