/*
 * A file of the host that is the command's standard input, opened for reading, is opened
 * again for more. What the descriptor at its number allows is that of another: of a thread
 * with a table of its own, or of one that is put there between two looks.
 *
 * STDIN: {host}/secret.txt
 * EXPECT: action=file-write-data target=*secret.txt
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "tests/escape/attack.h"

#define TURNS 5000

static atomic_int stop;

/* Opens /proc/self/fd/@number for writing; -1 if that was refused, or was another file than the host's. */
static long write_to_given(int number)
{
	char where[4096] = "";
	int fd = open(spell("/proc/self/fd/%d", number), O_WRONLY);

	if (fd < 0)
		return -1;
	if (readlink(spell("/proc/thread-self/fd/%d", fd), where, sizeof(where) - 1) < 0 || !strstr(where, "secret.txt")) {
		close(fd);
		errno = EACCES;
		return -1;
	}
	return pwn(fd);
}

static void *by_own_table(void *arg)
{
	int *mine = arg;

	works(unshare(CLONE_FILES), "take a table of descriptors of its own");
	works(dup2(*mine, 0), "put a file that may be written there");
	refused(write_to_given(0), "open what the process has at that number");
	refused(put("/dev/stdin"), "open it as standard input");
	return NULL;
}

static void *swap(void *arg)
{
	int *fds = arg;

	while (!stop) {
		dup2(fds[0], 50);
		dup2(fds[1], 50);
	}
	return NULL;
}

static void by_swapping(int mine)
{
	int fds[] = { 0, mine }, nothing = open("/proc/self/fd/0", O_PATH);
	long got = -1;
	pthread_t t;

	pthread_create(&t, NULL, swap, fds);
	for (int i = 0; i < TURNS && got < 0; i++)
		got = write_to_given(50);
	stop = 1;
	pthread_join(t, NULL);
	refused(got, "open it while another takes its number");
	refused(write_to_given(nothing), "open it by a descriptor that is open for nothing");
}

int main(void)
{
	int mine = open("mine", O_RDWR | O_CREAT, 0644);
	pthread_t t;

	attack_begin();
	works(open("/proc/self/fd/0", O_RDONLY), "open what was given once more");
	pthread_create(&t, NULL, by_own_table, &mine);
	pthread_join(t, NULL);
	by_swapping(mine);
	return attack_end();
}
