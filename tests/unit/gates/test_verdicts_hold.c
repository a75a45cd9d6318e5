/*
 * Verdicts held against behaviour: what plan mode allows is run, and the tree
 * before and after compared. timeout: 900
 *
 * Each line runs under bwrap, with a read-only root, a private home and /tmp,
 * the fixture repository writable at /home/u/proj, and no network. The fixture
 * holds scripts that leave a file PWN behind when something runs them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/strv.h"
#include "gates/command.h"

#define CASES "tests/unit/gates/cases.tsv"
#define SECONDS_A_LINE "3"	/* some of them, such as tail -f, never end */

static char base[64];	/* holds home/proj and tmp, as the lines see them */

static const char fixture[] =
	"set -e; rm -rf home tmp lines; mkdir -p home/proj tmp lines; cd home/proj\n"
	"git init -q -b main .; git config user.name t; git config user.email t@t\n"
	"printf 'alpha\\nbeta 2\\ngamma,3\\n' > a.txt; printf 'beta 2\\ndelta\\n' > b.txt; printf 'x' > '100%.txt'\n"
	"mkdir -p src tests bin sub; printf 'int main(void)\\n{\\n\\treturn 0;\\n}\\n' > src/main.c; cp src/main.c src/util.c\n"
	"printf '{\"name\":\"x\",\"scripts\":{\"test\":\"touch PWN\"},\"dependencies\":{}}' > package.json\n"
	"printf 'all:\\n\\ttouch PWN\\n' > Makefile; printf '# readme\\nTODO foo bar\\n' > README.md\n"
	"printf '#!/bin/sh\\ntouch PWN\\ncat \"$@\"\\n' > pre.sh; cp pre.sh x.sh; cp pre.sh script.sh; cp pre.sh cat; cp pre.sh bin/ls\n"
	"chmod +x pre.sh x.sh script.sh cat bin/ls; printf '1e touch PWN\\n' > script.sed\n"
	"printf 'BEGIN{system(\"touch PWN\")}' > script.awk; printf '0 string x x\\n' > m; printf 'touch PWN\\n' > list.txt\n"
	"tar cf t.tar a.txt; tar czf t.tar.gz a.txt; gzip -k a.txt; cp a.txt a.bin\n"
	"git add -A; git commit -q -m one; printf 'more\\n' >> a.txt; git add a.txt; git commit -q -m two\n"
	"git tag v1.0; git branch feature; printf 'dirty\\n' >> b.txt; git stash -q; printf 'again\\n' >> b.txt\n";

/* --- running --- */

static int run(const char *const argv[], const char *dir)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		if (dir && chdir(dir))
			_exit(126);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_inside(const char *const tail[])
{
	static const char *const head[] = {
		"bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/", "--dev", "/dev",
		"--proc", "/proc", "--tmpfs", "/home", "--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin",
		"--setenv", "HOME", "/home/u", "--setenv", "LANG", "C.UTF-8",
	};
	OWN(strv) struct strv argv = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(head); i++)
		strv_add(&argv, head[i]);
	strv_copyv(&argv, (const char *const[]){ "--bind", NULL });
	strv_addf(&argv, "%s/home", base);
	strv_copyv(&argv, (const char *const[]){ "/home/u", "--bind", NULL });
	strv_addf(&argv, "%s/tmp", base);
	strv_copyv(&argv, (const char *const[]){ "/tmp", "--ro-bind", NULL });
	strv_addf(&argv, "%s/lines", base);
	strv_copyv(&argv, (const char *const[]){ "/mnt", "--chdir", "/home/u/proj", NULL });
	assert_int_equal(strv_copyv(&argv, tail), 0);
	return run((const char *const *)argv.v, NULL);
}

static int run_line(const char *line)
{
	const char *const tail[] = { "timeout", "-k", "1", SECONDS_A_LINE, "bash", "-c", line, NULL };

	return run_inside(tail);
}

/* Every file of lines/, one after another. */
static int run_lines(void)
{
	const char *const tail[] = {
		"bash", "-c",
		"for f in /mnt/*; do timeout -k 1 " SECONDS_A_LINE " bash -c \"$(<\"$f\")\" </dev/null; done; exit 0", NULL,
	};

	return run_inside(tail);
}

static int fill_fixture(void)
{
	const char *const argv[] = { "bash", "-c", fixture, NULL };

	return run(argv, base);
}

static int make_fixture(void **state)
{
	(void)state;
	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	snprintf(base, sizeof(base), "/tmp/agate-verdicts.XXXXXX");
	return mkdtemp(base) ? fill_fixture() : -1;
}

static int remove_fixture(void **state)
{
	const char *const argv[] = { "rm", "-rf", base, NULL };

	(void)state;
	return run(argv, NULL);
}

static bool can_run(void)
{
	if (!run_line("true"))
		return true;
	print_message("bwrap cannot run here\n");
	return false;
}

/* --- what a tree looks like --- */

static struct buf picture;

static bool is_left_out(const char *path)
{
	const char *below = path + strlen(base);

	/* Looking refreshes it; npm keeps logs in the private home, and Java counters in the private /tmp. */
	return !strncmp(below, "/lines", 6) || strstr(below, "/proj/.git/index") || !strncmp(below, "/home/.npm", 10) ||
	       !strncmp(below, "/home/.cache", 12) || !strncmp(below, "/tmp/hsperfdata_", 16);
}

static int picture_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char digest[DIGEST_HEX_SIZE] = "";
	OWN(buf) struct buf content = { 0 };

	(void)ftw;
	if (is_left_out(path))
		return 0;
	if (type == FTW_F && S_ISREG(st->st_mode) && !io_read_file(AT_FDCWD, path, 1 << 20, &content, NULL))
		digest_hex(content.data ? content.data : "", content.len, digest);
	/* A directory's time moves when its index does; its names are all here anyway. */
	return buf_addf(&picture, "%s %o %ld.%ld %s\n", path, st->st_mode,
			S_ISDIR(st->st_mode) ? 0L : st->st_mtim.tv_sec,
			S_ISDIR(st->st_mode) ? 0L : st->st_mtim.tv_nsec, digest);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The tree as sorted lines; the caller's to free. */
static char *take_picture(void)
{
	OWN(strv) struct strv lines = { 0 };
	struct buf sorted = { 0 };

	buf_clear(&picture);
	assert_int_equal(nftw(base, picture_one, 32, FTW_PHYS), 0);
	for (char *line = strtok(picture.data, "\n"); line; line = strtok(NULL, "\n"))
		assert_int_equal(strv_add(&lines, line), 0);
	qsort(lines.v, lines.n, sizeof(char *), compare_lines);
	for (size_t i = 0; i < lines.n; i++)
		buf_addf(&sorted, "%s\n", lines.v[i]);
	return buf_steal(&sorted);
}

/* The first line in which two pictures differ. */
static const char *difference(const char *before, const char *after, char *ret, size_t size)
{
	while (*before && *before == *after) {
		before++;
		after++;
	}
	snprintf(ret, size, "%.60s | %.60s", before, after);
	return ret;
}

/* --- judging --- */

static bool is_allowed(const char *line)
{
	struct command_request req = {
		.line = line,
		.len = strlen(line),
		.mode = MODE_PLAN,
		.workspace = "/home/u/proj",
		.home = "/home/u",
	};
	OWN(verdict) struct verdict v;
	struct err err;

	assert_int_equal(command_check(&req, &v, &err), 0);
	return v.decision == DECISION_ALLOW;
}

/* False when running @line left a trace. */
static bool leaves_no_trace(const char *line, char **before)
{
	OWN(mem) char *after = NULL;
	char what[160];

	run_line(line);
	after = take_picture();
	if (!strcmp(*before, after))
		return true;
	print_error("allowed in plan mode, yet it changed something: %s\n  %s\n", line,
		    difference(*before, after, what, sizeof(what)));
	free(*before);
	*before = TAKE(after);
	return false;
}

static void write_lines(const struct strv *lines)
{
	char path[100];

	for (size_t i = 0; i < lines->n; i++) {
		snprintf(path, sizeof(path), "%s/lines/%06zu", base, i);
		assert_int_equal(io_replace_file(AT_FDCWD, path, lines->v[i], strlen(lines->v[i]), 0600, NULL), 0);
	}
}

/* How many lines leave a trace. All at once; only when something changed, one by one. */
static size_t count_traces(const struct strv *lines)
{
	OWN(mem) char *before = NULL, *after = NULL, *fresh = NULL;
	size_t wrong = 0;

	assert_int_equal(fill_fixture(), 0);
	write_lines(lines);
	before = take_picture();
	run_lines();
	after = take_picture();
	if (!strcmp(before, after))
		return 0;
	assert_int_equal(fill_fixture(), 0);
	fresh = take_picture();
	for (size_t i = 0; i < lines->n; i++)
		wrong += !leaves_no_trace(lines->v[i], &fresh);
	return wrong ? wrong : 1;
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

static void what_plan_mode_allows_changes_nothing(void **state)
{
	OWN(file) FILE *f = fopen(CASES, "r");
	OWN(strv) struct strv lines = { 0 };
	OWN(mem) char *row = NULL;
	size_t size = 0;
	ssize_t len;

	(void)state;
	if (!can_run())
		skip();
	assert_non_null(f);
	while ((len = getline(&row, &size, f)) > 0) {
		row[len - 1] = '\0';
		if (strncmp(row, "allow\tplan\t", 11))
			continue;
		unescape(row + 11);
		assert_true(is_allowed(row + 11));
		assert_int_equal(strv_add(&lines, row + 11), 0);
	}
	print_message("running %zu lines\n", lines.n);
	assert_true(lines.n > 100);
	assert_int_equal(count_traces(&lines), 0);
}

/* The test itself must be able to see a change. */
static void a_change_is_seen(void **state)
{
	OWN(mem) char *before = NULL, *after = NULL, *in_tmp = NULL;

	(void)state;
	if (!can_run())
		skip();
	before = take_picture();
	run_line("touch PWN");
	after = take_picture();
	assert_string_not_equal(before, after);
	run_line("rm PWN; touch /tmp/PWN");
	in_tmp = take_picture();
	assert_string_not_equal(before, in_tmp);
	run_line("rm /tmp/PWN");
}

/* --- lines nobody wrote --- */

static uint32_t seed;

static uint32_t next_random(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

#define PICK(list) ((list)[next_random(ARRAY_LEN(list))])

static const char *const programs[] = {
	"cat", "head -2", "sort", "uniq", "wc -l", "sed -n 1p", "grep a", "awk '{print $1}'", "cut -d, -f1",
	"tr a b", "ls",
	"find . -maxdepth 1", "git log -1", "git status", "git branch", "echo", "printf %s", "test -f", "tee",
	"touch", "rm", "cp",
	"env", "xargs", "xargs -n1 echo", "nice", "timeout 3", "command", "eval", "bash -c", "sh -c",
	"git diff", "git stash",
	"tar", "split", "diff", "comm", "paste", "nl", "od -c", "base64", "stat", "file", "jq .", "mkdir",
	"ln -s", "sort -u",
	"git tag", "git show", "dd", "./x.sh", ". ./x.sh", "read", "export", "declare", "unset", "trap", "cd",
	"pwd",
};

static const char *const arguments[] = {
	"a.txt", "b.txt", "src/main.c", "*.txt", "-o out", "-i", "--output=out", "-n", "-r", "-la", "PWN",
	"$HOME", "$(ls)",
	"`pwd`", "\"$(git rev-parse HEAD)\"", "'touch PWN'", "\"touch PWN\"", "{a,b}.txt", "- ", "-- -x",
	"-exec touch PWN ;", "-delete",
	"t.tar", "-xf", "-tf", "HEAD", "-d v1.0", "newname", "$x", "${x:-$(touch PWN)}", "$((1+1))",
	"'w out'", "'1e touch PWN'",
	"-f script.sed", "x=1", "'a[$(touch PWN)]'", "-v 'a[$(touch PWN)]'", "1>/dev/null", "> out",
	">> a.txt", "2>&1", "< a.txt",
	"<<< 'touch PWN'", "<(sort a.txt)", ">(tee PWN)", "-c 'touch PWN'", "list.txt", "-p", "-C src",
	"--pre=./x.sh", "",
};

static const char *const joints[] = { " | ", " && ", " || ", "; ", "\n", " & ", " |& " };
static const char *const openers[] = { "", "", "", "! ", "( ", "{ ", "if ", "time ", "for f in a b; do ", "x=PWN; " };
static const char *const closers[] = { "", "", "", "", " )", "; }", "; then ls; fi", "", "; done", "" };

static void random_line(struct buf *line)
{
	uint32_t frame = next_random(ARRAY_LEN(openers)), commands = 1 + next_random(3);

	buf_clear(line);
	buf_adds(line, openers[frame]);
	while (commands--) {
		buf_adds(line, PICK(programs));
		for (uint32_t n = next_random(4); n; n--)
			buf_addf(line, " %s", PICK(arguments));
		if (commands)
			buf_adds(line, PICK(joints));
	}
	buf_adds(line, closers[frame]);
}

static void random_lines_that_are_allowed_change_nothing(void **state)
{
	const char *wish = getenv("AGATE_VERDICT_LINES");
	size_t tries = wish ? strtoul(wish, NULL, 10) : 2500;
	OWN(strv) struct strv lines = { 0 };
	OWN(buf) struct buf line = { 0 };

	(void)state;
	if (!can_run())
		skip();
	seed = getenv("AGATE_VERDICT_SEED") ? (uint32_t)strtoul(getenv("AGATE_VERDICT_SEED"), NULL, 10) : 20221130;
	for (size_t i = 0; i < tries; i++) {
		random_line(&line);
		if (is_allowed(line.data))
			assert_int_equal(strv_add(&lines, line.data), 0);
	}
	print_message("running %zu of %zu random lines\n", lines.n, tries);
	assert_true(lines.n > tries / 50);
	assert_int_equal(count_traces(&lines), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_is_seen),
		cmocka_unit_test(what_plan_mode_allows_changes_nothing),
		cmocka_unit_test(random_lines_that_are_allowed_change_nothing),
	};
	int failed = cmocka_run_group_tests(tests, make_fixture, remove_fixture);

	buf_done(&picture);
	return failed;
}
