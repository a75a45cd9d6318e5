#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "runner/native.h"

static char top[] = "/tmp/agate-around-XXXXXX";

static void at(const char *rel, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s", top, rel);
}

static void make_dir(const char *rel)
{
	char path[PATH_MAX];

	at(rel, path);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void make_file(const char *rel)
{
	char path[PATH_MAX];
	int fd;

	at(rel, path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "text", 4), 4);
	close(fd);
}

static int setup(void **state)
{
	char path[PATH_MAX];

	(void)state;
	assert_non_null(mkdtemp(top));
	make_dir("tool");
	make_dir("tool/bin");
	make_file("tool/bin/x");
	make_file("tool/plain");
	make_dir("tool/lib");
	make_file("tool/large");
	at("tool/large", path);
	assert_int_equal(truncate(path, 1 << 20), 0);
	make_file("tool/secret");
	make_dir("tool/etc");
	make_file("tool/etc/npmrc");
	make_file("tool/etc/other");
	make_dir("tool/shut");
	make_file("tool/shut/key");
	at("tool/link", path);
	return symlink("bin/x", path);
}

static int teardown(void **state)
{
	char cmd[PATH_MAX];

	(void)state;
	snprintf(cmd, sizeof(cmd), "chmod -R u+rwx %s && rm -rf %s", top, top);
	return system(cmd);
}

/* Is "--ro-bind-try @host @guest" among the words? */
static int is_bound(const struct strv *words, const char *rel, const char *guest)
{
	char host[PATH_MAX];

	at(rel, host);
	for (size_t i = 0; i + 2 < words->n; i++)
		if (!strcmp(words->v[i], "--ro-bind-try") && !strcmp(words->v[i + 1], host) && !strcmp(words->v[i + 2], guest))
			return 1;
	return 0;
}

/* Size of what stands in the likeness, or -1. */
static long size_in(const char *likeness, const char *rel)
{
	char path[2 * PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", likeness, rel);
	return lstat(path, &st) < 0 ? -1 : st.st_size;
}

static void what_may_be_seen_is_copied_or_bound_entry_by_entry(void **state)
{
	OWN(strv) struct strv hidden = { 0 };
	OWN(strv) struct strv to = { 0 };
	char host[PATH_MAX], text[PATH_MAX] = "";
	const char *likeness;
	struct err err = { 0 };

	(void)state;
	strv_add(&hidden, "/home/u/tool/secret");
	strv_add(&hidden, "/home/u/tool/etc/npmrc");
	strv_add(&hidden, "/home/u/tool/bin/not/there");
	strv_add(&hidden, "/home/u/tool/shut");
	strv_add(&hidden, "/home/u/elsewhere");
	at("tool", host);
	assert_int_equal(around_add(&(struct around_place){ top, host, "/home/u/tool" }, &hidden, &to, &err), 0);
	assert_string_equal(to.v[0], "--ro-bind");
	likeness = to.v[1];
	assert_string_equal(to.v[2], "/home/u/tool");
	assert_int_equal(size_in(likeness, "plain"), 4);
	assert_int_equal(size_in(likeness, "etc/other"), 4);
	assert_true(is_bound(&to, "tool/lib", "/home/u/tool/lib"));
	assert_true(is_bound(&to, "tool/large", "/home/u/tool/large"));
	snprintf(host, sizeof(host), "%s/link", likeness);
	assert_int_equal(readlink(host, text, sizeof(text) - 1), 5);
	assert_string_equal(text, "bin/x");
	/* The way to what is hidden is the run's own, whether that is there or not. */
	assert_int_equal(size_in(likeness, "bin/x"), 4);
	assert_int_equal(to.n, 9);
	/* What is hidden shows its name and no more. */
	assert_int_equal(size_in(likeness, "secret"), 0);
	assert_int_equal(size_in(likeness, "etc/npmrc"), 0);
	assert_int_equal(size_in(likeness, "shut/key"), -1);
}

static void a_directory_with_too_much_in_it_gives_no_words(void **state)
{
	OWN(strv) struct strv hidden = { 0 };
	OWN(strv) struct strv to = { 0 };
	struct around_place place = { .run_dir = top, .guest = "/g" };
	char host[PATH_MAX], rel[64];
	struct err err = { 0 };

	(void)state;
	make_dir("full");
	for (int i = 0; i < 101; i++) {
		snprintf(rel, sizeof(rel), "full/%d", i);
		make_dir(rel);
	}
	strv_add(&hidden, "/g/secret");
	at("full", host);
	place.host = host;
	assert_int_equal(around_add(&place, &hidden, &to, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_int_equal(to.n, 0);
	at("gone", host);
	assert_int_equal(around_add(&place, &hidden, &to, &err), -1);
	assert_int_equal(err.code, ERR_SYS);
	assert_int_equal(to.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_be_seen_is_copied_or_bound_entry_by_entry),
		cmocka_unit_test(a_directory_with_too_much_in_it_gives_no_words),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
