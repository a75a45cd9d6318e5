#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "runner/native.h"

/* On every system: a file, a directory and a file in it. */
#define FILE_IN_ETC "/etc/passwd"
#define DIR_IN_ETC "/etc/security"
#define FILE_IN_DIR "/etc/security/limits.conf"

static char top[] = "/tmp/agate-early-XXXXXX";
static char mask[64];

/* Words with blanks between; MASK stands for the run's file. */
static void split(const char *line, struct strv *ret)
{
	OWN(mem) char *copy = strdup(line);
	char *rest = copy, *word;

	while ((word = strsep(&rest, " ")))
		assert_int_equal(strv_add(ret, strcmp(word, "MASK") ? word : mask), 0);
}

/* @line as it is without what is taken, against @left; @files and @dirs count those. */
static void check(const char *line, const char *left, size_t files, size_t dirs)
{
	OWN(strv) struct strv argv = { 0 }, want = { 0 }, got = { 0 };
	struct early early = { 0 };

	split(line, &argv);
	split(left ? left : line, &want);
	assert_int_equal(early_take(&argv, top, &got, &early), 0);
	assert_int_equal(early.files.n, 2 * files);
	assert_int_equal(early.dirs.n, dirs);
	assert_int_equal(got.n, want.n);
	for (size_t i = 0; i < got.n; i++)
		assert_string_equal(got.v[i], want.v[i]);
	early_done(&early);
}

#define SYSTEM "bwrap --unshare-user --ro-bind /usr /usr --ro-bind /etc /etc --dev /dev"
#define REST "--chdir / -- /run/agate/init stage 3 -- true"
#define MASKED "--ro-bind MASK " FILE_IN_ETC

static void a_mask_that_is_alone_is_taken(void **state)
{
	(void)state;
	check(SYSTEM " " MASKED " " REST, SYSTEM " " REST, 1, 0);
	check(SYSTEM " " MASKED " --ro-bind MASK /etc/group --bind /home/u /home/u " REST,
	      SYSTEM " --bind /home/u /home/u " REST, 2, 0);
}

static void a_directory_is_taken_with_its_seal(void **state)
{
	struct stat st;

	(void)state;
	if (stat(DIR_IN_ETC, &st) < 0)
		skip();
	check(SYSTEM " --perms 0000 --tmpfs " DIR_IN_ETC " --tmpfs /tmp --remount-ro " DIR_IN_ETC " " REST,
	      SYSTEM " --tmpfs /tmp " REST, 0, 1);
	/* one that leads to what is shown inside is not */
	check(SYSTEM " --perms 0111 --tmpfs " DIR_IN_ETC " --remount-ro " DIR_IN_ETC " " REST, NULL, 0, 0);
	check(SYSTEM " --perms 0000 --tmpfs " DIR_IN_ETC " --ro-bind " FILE_IN_DIR " " FILE_IN_DIR " --remount-ro "
	      DIR_IN_ETC " " REST, NULL, 0, 0);
}

static void what_another_mount_touches_stays_with_bwrap(void **state)
{
	(void)state;
	check(SYSTEM " --ro-bind /etc /mnt/etc " MASKED " " REST, NULL, 0, 0);	/* shown once more */
	check(SYSTEM " " MASKED " --ro-bind " FILE_IN_ETC " /tmp/passwd " REST, NULL, 0, 0);
	check(SYSTEM " --bind /home/u/etc /etc " MASKED " " REST, NULL, 0, 0);	/* over the system's */
	check(SYSTEM " --ro-bind /home/u/passwd " FILE_IN_ETC " " MASKED " " REST, NULL, 0, 0);
	check(SYSTEM " --tmpfs /etc --ro-bind " FILE_IN_ETC " " FILE_IN_ETC " " MASKED " " REST, NULL, 0, 0);
	check(SYSTEM " " MASKED " " MASKED " " REST, NULL, 0, 0);
	check("bwrap --ro-bind / / " MASKED " " REST, NULL, 0, 0);
	check("bwrap --symlink private/etc /etc " MASKED " " REST, NULL, 0, 0);
}

static void what_is_not_the_runs_or_not_a_file_stays(void **state)
{
	(void)state;
	check(SYSTEM " --ro-bind /usr/bin/env " FILE_IN_ETC " " REST, NULL, 0, 0);
	check(SYSTEM " --ro-bind MASK /etc/not/there " REST, NULL, 0, 0);
	check(SYSTEM " --ro-bind MASK /usr/bin/env " REST, NULL, 0, 0);
	check(SYSTEM " --bind MASK " FILE_IN_ETC " " REST, NULL, 0, 0);
}

static void what_is_not_understood_is_left_whole(void **state)
{
	(void)state;
	check(SYSTEM " --new-option x " MASKED " " REST, NULL, 0, 0);
	check("bwrap --ro-bind /etc /etc " MASKED " --ro-bind", NULL, 0, 0);
}

static void the_mounts_of_sys_are_dropped_unless_one_is_shown(void **state)
{
	static const struct { const char *line; int drops; } cases[] = {
		{ SYSTEM " " REST, 1 }, { SYSTEM " --ro-bind /sys/class /sys/class " REST, 0 },
		{ SYSTEM " --ro-bind / /host " REST, 0 }, { SYSTEM " --new-option x " REST, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(strv) struct strv argv = { 0 }, got = { 0 };
		struct early early = { 0 };

		split(cases[i].line, &argv);
		assert_int_equal(early_take(&argv, top, &got, &early), 0);
		assert_int_equal(early.drops_sys, cases[i].drops);
		early_done(&early);
	}
}

static void words_of_the_command_are_never_taken(void **state)
{
	(void)state;
	check(SYSTEM " -- init stage 3 -- " MASKED, NULL, 0, 0);
	check(SYSTEM " --symlink --ro-bind /x " MASKED " " REST, SYSTEM " --symlink --ro-bind /x " REST, 1, 0);
}

static int setup(void **state)
{
	int fd;

	(void)state;
	if (!mkdtemp(top))
		return -1;
	snprintf(mask, sizeof(mask), "%s/mask", top);
	fd = open(mask, O_WRONLY | O_CREAT | O_CLOEXEC, 0);
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	return unlink(mask) < 0 || rmdir(top) < 0 ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mask_that_is_alone_is_taken),
		cmocka_unit_test(a_directory_is_taken_with_its_seal),
		cmocka_unit_test(what_another_mount_touches_stays_with_bwrap),
		cmocka_unit_test(what_is_not_the_runs_or_not_a_file_stays),
		cmocka_unit_test(what_is_not_understood_is_left_whole),
		cmocka_unit_test(the_mounts_of_sys_are_dropped_unless_one_is_shown),
		cmocka_unit_test(words_of_the_command_are_never_taken),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
