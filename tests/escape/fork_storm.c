/*
 * Many short processes, each by its own kind of fork, each trying at once.
 *
 * EXPECT: action=file-write-create target=*.env.[0-9]*
 */
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>

#include "tests/escape/attack.h"

enum { ROUNDS = 20, WIDTH = 16 };

static int child(int n)
{
	return put(spell(".env.%d", n)) >= 0 || put("linkfile") >= 0 || put(spell("keys/%d.key", n)) >= 0 ? 1 :
	       put(spell("plain/%d.txt", n)) < 0 ? 2 : 0;
}

int main(void)
{
	attack_begin();
	for (int round = 0; round < ROUNDS; round++) {
		int status;

		for (int i = 0; i < WIDTH; i++)
			if (fork() == 0)
				_exit(child(round * WIDTH + i));
		while (wait(&status) > 0) {
			if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
				attack_succeeded = 1;
			else if (status)
				attack_broken = 1;
		}
	}
	printf("%d processes tried\n", ROUNDS * WIDTH);
	return attack_end();
}
