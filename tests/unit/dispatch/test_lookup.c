#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/lookup.h"
#include "dispatch/place.h"

/* A directory with bin/tool, bin/text (not executable), other/tool, link -> bin/tool. */
struct world {
	char dir[64];
	struct place place;
	struct strv kept;	/* paths handed out by at() */
};

static const char *at(struct world *w, const char *rel)
{
	strv_take(&w->kept, path_join(w->dir, rel));
	return w->kept.v[w->kept.n - 1];
}

static void put(struct world *w, const char *rel, mode_t mode)
{
	OWN(mem) char *parent = path_parent(at(w, rel));

	assert_int_equal(io_mkdirs(parent, 0700, NULL), 0);
	assert_int_equal(io_replace_file(AT_FDCWD, at(w, rel), "x", 1, mode, NULL), 0);
}

static void set_up(struct world *w)
{
	memset(w, 0, sizeof(*w));
	snprintf(w->dir, sizeof(w->dir), "/tmp/agate-lookup.XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	put(w, "bin/tool", 0755);
	put(w, "bin/text", 0644);
	put(w, "other/tool", 0755);
	assert_int_equal(symlink("bin/tool", at(w, "link")), 0);
	w->place.home = w->dir;
	w->place.cwd = (char *)(size_t)at(w, "bin");
	w->place.state = (char *)(size_t)at(w, "state");
}

static void tear_down(struct world *w)
{
	char cmd[96];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", w->dir);
	assert_int_equal(system(cmd), 0);
	strv_done(&w->kept);
}

static void a_program_is_found_as_execvp_would(void **state)
{
	struct world w;
	char path[256];

	(void)state;
	set_up(&w);
	snprintf(path, sizeof(path), "/nonexistent:%s:%s", at(&w, "bin"), at(&w, "other"));
	const struct { const char *name, *path, *cwd, *found; } cases[] = {
		{ "tool", path, "/", "bin/tool" },
		{ "text", path, "/", NULL },		/* not executable */
		{ "bin", w.dir, "/", NULL },		/* a directory */
		{ "none", path, "/", NULL },
		{ "tool", NULL, "/", NULL },
		{ "./tool", NULL, at(&w, "other"), "other/tool" },
		{ "../link", NULL, at(&w, "bin"), "bin/tool" },	/* links followed */
		{ at(&w, "other/tool"), NULL, "/", "other/tool" },
		{ "tool", "relative", at(&w, "."), NULL },	/* an entry nobody can mean inside */
		{ "tool", ":", at(&w, "other"), "other/tool" },	/* an empty entry is the current directory */
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(mem) char *got = lookup_program(cases[i].name, cases[i].path, cases[i].cwd);

		if (cases[i].found)
			assert_string_equal(got, at(&w, cases[i].found));
		else
			assert_null(got);
	}
	tear_down(&w);
}

static void a_bind_shows_what_a_link_means_where_it_was_asked_for(void **state)
{
	OWN(strv) struct strv words = { 0 };
	OWN(bind_list) struct bind_list l = { 0 };
	struct world w;
	struct err err = { 0 };

	(void)state;
	set_up(&w);
	strv_add(&words, "../link");
	strv_add(&words, "~/other");
	assert_int_equal(lookup_binds(&words, &w.place, "--read", &l, &err), 0);
	assert_int_equal(l.n, 2);
	assert_string_equal(l.bind[0].host, at(&w, "bin/tool"));
	assert_string_equal(l.bind[0].guest, at(&w, "link"));
	assert_string_equal(l.bind[1].host, at(&w, "other"));
	assert_string_equal(l.bind[1].guest, at(&w, "other"));
	tear_down(&w);
}

static void a_bind_of_what_is_not_there_is_refused_by_the_word_given(void **state)
{
	OWN(strv) struct strv words = { 0 };
	struct bind_list l = { 0 };
	struct world w;
	struct err err = { 0 };

	(void)state;
	set_up(&w);
	strv_add(&words, "~/nothing");
	assert_int_equal(lookup_binds(&words, &w.place, "--write", &l, &err), -1);
	assert_string_equal(err.msg, "cannot show '~/nothing' by --write: No such file or directory");
	assert_int_equal(l.n, 0);
	tear_down(&w);
}

static void originals_are_remembered_while_they_exist(void **state)
{
	OWN(strv) struct strv list = { 0 };
	struct world w;
	struct err err = { 0 };

	(void)state;
	set_up(&w);
	assert_int_equal(originals_list(&w.place, &list, &err), 0);
	assert_int_equal(list.n, 0);
	assert_int_equal(originals_add(&w.place, at(&w, "other"), &err), 0);
	assert_int_equal(originals_add(&w.place, at(&w, "bin"), &err), 0);
	assert_int_equal(originals_add(&w.place, at(&w, "bin"), &err), 0);
	assert_int_equal(originals_add(&w.place, at(&w, "gone"), &err), 0);
	assert_int_equal(originals_list(&w.place, &list, &err), 0);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.v[0], at(&w, "bin"));
	assert_string_equal(list.v[1], at(&w, "other"));
	tear_down(&w);
}

static void a_list_of_originals_that_cannot_be_read_is_an_error(void **state)
{
	OWN(strv) struct strv list = { 0 };
	struct world w;
	struct err err = { 0 };

	(void)state;
	set_up(&w);
	put(&w, "state/originals", 0600);	/* a file where the directory should be */
	assert_int_equal(originals_list(&w.place, &list, &err), -1);
	assert_non_null(strstr(err.msg, "cannot look up the registered checkouts"));
	tear_down(&w);
}

static void devices_that_open_the_machine_are_nobodys(void **state)
{
	static const struct { const char *path; enum err_code code; } table[] = {
		{ "/dev/null", ERR_NONE }, { "/dev/full", ERR_NONE }, { "/dev/zero", ERR_NONE },
		{ "/dev/mem", ERR_POLICY }, { "/dev/kmsg", ERR_POLICY }, { "/dev/tty", ERR_POLICY },
		{ "/dev/tty0", ERR_POLICY }, { "/dev/ttyS0", ERR_POLICY }, { "/dev/pts", ERR_POLICY },
		{ "/dev/pts/0", ERR_POLICY }, { "/dev/ptmx", ERR_POLICY }, { "/dev/shm", ERR_POLICY },
		{ "/dev/input/event0", ERR_POLICY }, { "/dev/loop0", ERR_POLICY }, { "/dev/stdin", ERR_POLICY },
		{ "/dev/fd/0", ERR_POLICY }, { "/dev/bus/usb", ERR_POLICY }, { "/dev/vhost-net", ERR_POLICY },
		{ "/dev/not-there", ERR_NOTFOUND }, { "/dev", ERR_INPUT }, { "/dev/", ERR_INPUT }, { "/dev//null", ERR_INPUT },
		{ "/dev/../etc/passwd", ERR_INPUT }, { "/etc/passwd", ERR_INPUT }, { "null", ERR_INPUT }, { "", ERR_INPUT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct strv one = { 0 };
		struct err err = { 0 };

		strv_add(&one, table[i].path);
		if ((lookup_devices(&one, &err) < 0) != (table[i].code != ERR_NONE) || err.code != table[i].code)
			fail_msg("'%s': %d, %s", table[i].path, err.code, err.msg);
		strv_done(&one);
	}
}

static void only_a_socket_is_opened_as_one(void **state)
{
	struct world w;
	struct bind_list l = { 0 };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct strv one = { 0 };
	struct err err = { 0 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	set_up(&w);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", at(&w, "sock"));
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	strv_add(&one, a.sun_path);
	assert_int_equal(lookup_sockets(&one, &w.place, &l, &err), 0);
	assert_int_equal(l.n, 1);
	bind_list_done(&l);
	strv_add(&one, at(&w, "bin/tool"));
	assert_int_equal(lookup_sockets(&one, &w.place, &l, &err), -1);
	assert_int_equal(err.code, ERR_INPUT);
	close(fd);
	unlink(a.sun_path);
	strv_done(&one);
	tear_down(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_is_found_as_execvp_would),
		cmocka_unit_test(a_bind_shows_what_a_link_means_where_it_was_asked_for),
		cmocka_unit_test(a_bind_of_what_is_not_there_is_refused_by_the_word_given),
		cmocka_unit_test(devices_that_open_the_machine_are_nobodys),
		cmocka_unit_test(only_a_socket_is_opened_as_one),
		cmocka_unit_test(originals_are_remembered_while_they_exist),
		cmocka_unit_test(a_list_of_originals_that_cannot_be_read_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
