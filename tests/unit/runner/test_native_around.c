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

/* Is "@option @host @guest" (or "@option @guest", @host NULL) among the words? */
static int has(const struct strv *words, const char *option, const char *host, const char *guest)
{
	size_t n = host ? 2 : 1;

	for (size_t i = 0; i + n < words->n; i++)
		if (!strcmp(words->v[i], option) && (!host || !strcmp(words->v[i + 1], host)) &&
		    !strcmp(words->v[i + n], guest))
			return 1;
	return 0;
}

static int names(const struct strv *words, const char *path)
{
	for (size_t i = 0; i < words->n; i++)
		if (!strcmp(words->v[i], path))
			return 1;
	return 0;
}

static void what_may_be_seen_is_bound_entry_by_entry(void **state)
{
	OWN(strv) struct strv hidden = { 0 };
	OWN(strv) struct strv to = { 0 };
	OWN(strv) struct strv seals = { 0 };
	char host[PATH_MAX], child[PATH_MAX];
	struct err err = { 0 };

	(void)state;
	strv_add(&hidden, "/home/u/tool/secret");
	strv_add(&hidden, "/home/u/tool/etc/npmrc");
	strv_add(&hidden, "/home/u/tool/bin/not/there");
	strv_add(&hidden, "/home/u/elsewhere");
	at("tool", host);
	assert_int_equal(around_add(host, "/home/u/tool", &hidden, &to, &seals, &err), 0);
	assert_true(has(&to, "--tmpfs", NULL, "/home/u/tool"));
	at("tool/plain", child);
	assert_true(has(&to, "--ro-bind-try", child, "/home/u/tool/plain"));
	at("tool/shut", child);
	assert_true(has(&to, "--ro-bind-try", child, "/home/u/tool/shut"));
	assert_true(has(&to, "--symlink", "bin/x", "/home/u/tool/link"));
	/* The way to what is hidden is the run's own, whether that is there or not. */
	assert_true(has(&to, "--dir", NULL, "/home/u/tool/etc"));
	at("tool/etc/other", child);
	assert_true(has(&to, "--ro-bind-try", child, "/home/u/tool/etc/other"));
	assert_true(has(&to, "--dir", NULL, "/home/u/tool/bin"));
	at("tool/bin/x", child);
	assert_true(has(&to, "--ro-bind-try", child, "/home/u/tool/bin/x"));
	assert_false(names(&to, "/home/u/tool/secret"));
	assert_false(names(&to, "/home/u/tool/etc/npmrc"));
	assert_false(names(&to, host));
	assert_int_equal(seals.n, 1);
	assert_string_equal(seals.v[0], "/home/u/tool");
}

static void a_directory_with_too_much_in_it_gives_no_words(void **state)
{
	OWN(strv) struct strv hidden = { 0 };
	OWN(strv) struct strv to = { 0 };
	OWN(strv) struct strv seals = { 0 };
	char host[PATH_MAX], rel[64];
	struct err err = { 0 };

	(void)state;
	make_dir("full");
	for (int i = 0; i < 401; i++) {
		snprintf(rel, sizeof(rel), "full/%d", i);
		make_file(rel);
	}
	strv_add(&hidden, "/g/secret");
	at("full", host);
	assert_int_equal(around_add(host, "/g", &hidden, &to, &seals, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_int_equal(to.n, 0);
	assert_int_equal(seals.n, 0);
	at("gone", host);
	assert_int_equal(around_add(host, "/g", &hidden, &to, &seals, &err), -1);
	assert_int_equal(err.code, ERR_SYS);
	assert_int_equal(to.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_be_seen_is_bound_entry_by_entry),
		cmocka_unit_test(a_directory_with_too_much_in_it_gives_no_words),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
