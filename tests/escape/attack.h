/*
 * tests/escape/attack.h - what the attacks share
 *
 * One attack a file, run inside the sandbox by tests/lib/escape in a copy of a
 * small repository:
 *
 *	.env  keys/server.key  keys/cert.pem        what no run may change
 *	.git/hooks/pre-commit  .claude/commands/    and these
 *	README  src/main.c  plain/                  what every run may
 *	nested/                                     a repository in it, of its own
 *	linkdir -> keys  linkfile -> .env           hooklink -> .git/hooks
 *
 * The leading comment of an attack says what is attacked, and may hold lines
 *
 *	RUN: options of `agate run`     {host} {state} {home} {repo} are filled in
 *	EXPECT: action=A|B target=GLOB  a row that must be on record afterwards
 *	STDIN: FILE                     given to the command, opened for reading; filled in as well
 *	HOST: a line of shell           done outside meanwhile, see replaced.c; it has the
 *	                                facts of told(), and says a line when the run may start
 *
 * Exit status 0: the attack failed. 1: it succeeded. 77: cannot be tried here,
 * the last line says why. 2: something every run may do did not work, so that a
 * sandbox that refuses everything does not pass.
 *
 * What an attack manages to write is the canary, which the runner looks for. It
 * is put together at run time, or the attack's own file would hold it.
 */
#ifndef TESTS_ESCAPE_ATTACK_H
#define TESTS_ESCAPE_ATTACK_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

static int attack_succeeded, attack_broken;

UNUSED static const char *canary(void)
{
	static char word[8];
	static volatile const char shifted[] = "QXOFE";	/* a letter on, each */

	for (int i = 0; i < 5; i++)
		word[i] = (char)(shifted[i] - 1);
	return word;
}

/* refused() - this act must have failed: rc below 0, errno saying how */
__attribute__((format(printf, 2, 3))) UNUSED static void refused(long rc, const char *fmt, ...)
{
	int error = errno;
	va_list ap;

	printf(rc < 0 ? "refused: " : "SUCCEEDED: ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf(rc < 0 ? ": %s\n" : "\n", strerror(error));
	fflush(stdout);
	if (rc >= 0)
		attack_succeeded = 1;
}

/* works() - this act must have succeeded: every run may do it */
__attribute__((format(printf, 2, 3))) UNUSED static void works(long rc, const char *fmt, ...)
{
	int error = errno;
	va_list ap;

	if (rc >= 0)
		return;
	printf("BROKEN: ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf(": %s\n", strerror(error));
	fflush(stdout);
	attack_broken = 1;
}

/* unavailable() - this attack cannot be tried here */
UNUSED static void unavailable(const char *why)
{
	printf("%s\n", why);
	exit(77);
}

/* pwn() - leave the canary in what an attack got hold of; passes @fd on, closed */
UNUSED static long pwn(long fd)
{
	if (fd >= 0) {
		long n = write((int)fd, canary(), strlen(canary()));

		(void)n;
		close((int)fd);
	}
	return fd;
}

/* put() - make or overwrite a file with the canary, by its path; -1 if refused */
UNUSED static long put(const char *path)
{
	return pwn(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
}

UNUSED static long put_at(int dirfd, const char *path)
{
	return pwn(openat(dirfd, path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
}

/* spell() - a path from pieces; four may be in use at a time */
__attribute__((format(printf, 1, 2))) UNUSED static const char *spell(const char *fmt, ...)
{
	static char ring[4][4096];
	static unsigned int next;
	char *s = ring[next++ % 4];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s, sizeof(ring[0]), fmt, ap);
	va_end(ap);
	return s;
}

/*
 * bare() - 1 in the layout without namespaces: processes of the host are seen, and
 * nothing is shown elsewhere than where it is
 */
UNUSED static int bare(void)
{
	return getenv("ATTACK_BARE") != NULL;
}

/* Where the attack started: the workspace. */
static char attack_start[4096];

__attribute__((constructor)) static void note_start(void)
{
	if (!getcwd(attack_start, sizeof(attack_start)))
		attack_start[0] = '\0';
}

/* told() - a fact the runner gives through the environment */
UNUSED static const char *told(const char *name)
{
	const char *value = getenv(name);

	/* The workspace stands at the original's path, or where it is. */
	if (value && bare() && !strcmp(name, "ATTACK_REPO"))
		return attack_start;

	if (!value) {
		printf("BROKEN: the runner did not set %s\n", name);
		exit(2);
	}
	return value;
}

/* attack_begin() - what every run may do, so that failing means something */
UNUSED static void attack_begin(void)
{
	int fd = open("control.txt", O_WRONLY | O_CREAT, 0644);

	works(fd, "make an ordinary file");
	works(write(fd, "x", 1), "write it");
	close(fd);
	works(rename("control.txt", "plain/control.txt"), "rename it");
	works(unlink("plain/control.txt"), "remove it");
}

UNUSED static int attack_end(void)
{
	return attack_succeeded ? 1 : attack_broken ? 2 : 0;
}

#endif
