/*
 * verdicts FILE - how long the command gate takes over each line of a file
 *
 * The file has the form of tests/unit/gates/cases.tsv. Every line is judged
 * several times in process, in its own mode; its time is the median. Prints
 * lines, verdicts a second, and p50, p99 and the most in microseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "gates/command.h"

#define ROUNDS 5
#define MAX_LINES 20000

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] && strchr("nt\\", s[1])) {
			s++;
			*to++ = *s == 'n' ? '\n' : *s == 't' ? '\t' : '\\';
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

static double judge(const char *line, enum mode mode)
{
	const struct command_request req = {
		.line = line, .len = strlen(line), .mode = mode, .workspace = "/home/u/proj", .cwd = "/home/u/proj", .home = "/home/u",
	};
	double took[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		struct verdict v;
		struct err err;
		double start = now_us();

		if (command_check(&req, &v, &err) < 0)
			exit(1);
		took[i] = now_us() - start;
		verdict_done(&v);
	}
	qsort(took, ROUNDS, sizeof(took[0]), compare);
	return took[ROUNDS / 2];
}

int main(int argc, char **argv)
{
	static double took[MAX_LINES];
	static char text[1 << 18], slowest[200];
	double sum = 0, most = 0;
	FILE *f = argc > 1 ? fopen(argv[1], "re") : NULL;
	size_t n = 0;

	if (!f)
		return 1;
	while (n < MAX_LINES && fgets(text, sizeof(text), f)) {
		char *mode = strchr(text, '\t'), *line = mode ? strchr(mode + 1, '\t') : NULL;
		enum mode m;

		if (text[0] == '#' || !line)
			continue;
		*line++ = '\0';
		line[strcspn(line, "\n\t")] = '\0';
		unescape(line);
		if (mode_parse(mode + 1, &m) < 0)
			return 1;
		took[n] = judge(line, m);
		sum += took[n];
		if (took[n] > most) {
			most = took[n];
			snprintf(slowest, sizeof(slowest), "%.150s", line);
		}
		n++;
	}
	if (!n)
		return 1;
	qsort(took, n, sizeof(took[0]), compare);
	printf("%-34s %10s %10s %10s %10s %12s\n", "verdicts in process", "lines", "p50 us", "p99 us", "most us", "a second");
	printf("%-34s %10zu %10.1f %10.1f %10.1f %12.0f\n\n", "the cases", n, took[n / 2], took[n * 99 / 100], took[n - 1],
	       1e6 * (double)n / sum);
	if (getenv("SLOWEST"))
		printf("slowest: %s\n", slowest);
	return 0;
}
