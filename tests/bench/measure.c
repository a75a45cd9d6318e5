/*
 * tests/bench/measure.c - how long commands take, side by side
 *
 *	measure ROUNDS NAME=COMMAND...
 *
 * Each command is a line for /bin/sh; a line without shell characters is executed
 * as it is. "BEFORE;;COMMAND" runs BEFORE untimed each time. The commands take
 * turns, so that a slow moment of the machine meets all of them, and a first
 * round is thrown away. Prints, for each: name, median, least and most in
 * milliseconds, and the median of its processor time, with tabs between.
 * Libc only: it also runs inside the sandboxes it measures.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_COMMANDS = 32, MAX_ROUNDS = 1000, MAX_WORDS = 256 };

struct command {
	const char *name;
	char *before;
	char *line;
	char *plain[MAX_WORDS];	/* its words, if it needs no shell */
	double wall[MAX_ROUNDS], cpu[MAX_ROUNDS];
	int is_out;		/* failed once: no number would mean anything */
};

extern char **environ;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double cpu_ms(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1e3 +
	       (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e3;
}

static void die(const char *what, const char *subject)
{
	fprintf(stderr, "measure: %s: '%s'\n", what, subject);
	exit(2);
}

/* Output would be measured too, and would fill the terminal: none. */
static int run(char *const argv[], struct rusage *usage)
{
	posix_spawn_file_actions_t quiet;
	int status = 0;
	pid_t pid;

	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, argv[0], &quiet, NULL, argv, environ) != 0)
		die("cannot execute", argv[0]);
	while (wait4(pid, &status, 0, usage) < 0)
		if (errno != EINTR)
			die("cannot wait", argv[0]);
	posix_spawn_file_actions_destroy(&quiet);
	return status;
}

static int run_line(char *line, struct rusage *usage)
{
	return run((char *[]){ (char *)"/bin/sh", (char *)"-c", line, NULL }, usage);
}

static void split(struct command *c)
{
	size_t n = 0;

	if (strpbrk(c->line, "|&;<>()$`\\\"'*?[#~=%{}"))
		return;
	for (char *w = strtok(strdup(c->line), " "); w && n < MAX_WORDS - 1; w = strtok(NULL, " "))
		c->plain[n++] = w;
}

static void read_command(char *word, struct command *c)
{
	char *is = strchr(word, '='), *cut;

	if (!is)
		die("is no NAME=COMMAND", word);
	*is = 0;
	c->name = word;
	c->line = is + 1;
	cut = strstr(c->line, ";;");
	if (cut) {
		*cut = 0;
		c->before = c->line;
		c->line = cut + 2;
	}
	split(c);
}

static void drop(struct command *c, const char *why)
{
	fprintf(stderr, "measure: %s: '%s'\n", why, c->name);
	c->is_out = 1;
}

static void one_round(struct command *c, int round)
{
	struct rusage usage = { 0 };
	double start;
	int status;

	if (c->before && run_line(c->before, &usage) != 0) {
		drop(c, "what goes before it failed");
		return;
	}
	memset(&usage, 0, sizeof(usage));
	start = now_ms();
	status = c->plain[0] ? run(c->plain, &usage) : run_line(c->line, &usage);
	if (round >= 0) {
		c->wall[round] = now_ms() - start;
		c->cpu[round] = cpu_ms(&usage);
	}
	if (status != 0)
		drop(c, "failed");
}

static int by_size(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return (d > 0) - (d < 0);
}

int main(int argc, char **argv)
{
	static struct command commands[MAX_COMMANDS];
	int rounds = argc > 2 ? atoi(argv[1]) : 0, n = argc - 2;

	if (rounds < 1 || rounds > MAX_ROUNDS || n > MAX_COMMANDS) {
		fprintf(stderr, "usage: measure ROUNDS NAME=[BEFORE;;]COMMAND...\n");
		return 2;
	}
	for (int i = 0; i < n; i++)
		read_command(argv[i + 2], &commands[i]);
	for (int round = -1; round < rounds; round++)
		for (int i = 0; i < n; i++)
			if (!commands[i].is_out)
				one_round(&commands[i], round);
	for (int i = 0; i < n; i++) {
		struct command *c = &commands[i];

		if (c->is_out)
			continue;
		qsort(c->wall, (size_t)rounds, sizeof(*c->wall), by_size);
		qsort(c->cpu, (size_t)rounds, sizeof(*c->cpu), by_size);
		printf("%s\t%.3f\t%.3f\t%.3f\t%.3f\n", c->name, c->wall[rounds / 2], c->wall[0],
		       c->wall[rounds - 1], c->cpu[rounds / 2]);
	}
	return 0;
}
