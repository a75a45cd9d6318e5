/*
 * tests/bench/creates.c - 10,000 new files in one directory from 8 threads
 *
 *	creates DIR
 *
 * DIR must not be there. Exit status 0 if all were made. Libc only: it also runs
 * inside the sandboxes.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS = 8, FILES = 10000 };

static int dir;
static int failed;

static void *create(void *cookie)
{
	char name[32];

	for (long i = (long)cookie; i < FILES; i += THREADS) {
		int fd;

		snprintf(name, sizeof(name), "f%ld", i);
		fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd < 0)
			failed = 1;
		else
			close(fd);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];

	if (argc != 2 || mkdir(argv[1], 0755) < 0 || (dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return 2;
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, create, (void *)i))
			return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return failed;
}
