/*
 * What kind of place a path is, for each use of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "gates/arena.h"
#include "gates/place.h"

static const struct command_request request = { .workspace = "/home/u/proj", .home = "/home/u" };

static const struct {
	const char *path;
	enum effect_place look, read, write;
} places[] = {
	{ "/home/u/proj/a", PLACE_INSIDE, PLACE_INSIDE, PLACE_INSIDE },
	{ "/home/u/proj", PLACE_INSIDE, PLACE_INSIDE, PLACE_INSIDE },
	{ "/home/u/project2/a", PLACE_HOME, PLACE_HOME, PLACE_HOME },
	{ "/home/u/proj/.env", PLACE_INSIDE, PLACE_SECRET, PLACE_PROTECTED },
	{ "/home/u/proj/.ENV", PLACE_INSIDE, PLACE_SECRET, PLACE_PROTECTED },
	{ "/home/u/proj/.env.example", PLACE_INSIDE, PLACE_INSIDE, PLACE_PROTECTED },
	{ "/home/u/proj/sub/server.key", PLACE_INSIDE, PLACE_SECRET, PLACE_PROTECTED },
	{ "/home/u/proj/.git/config", PLACE_INSIDE, PLACE_INSIDE, PLACE_INSIDE },
	{ "/home/u/proj/.git/hooks/pre-commit", PLACE_INSIDE, PLACE_INSIDE, PLACE_PROTECTED },
	{ "/home/u/proj/.Git/Hooks", PLACE_INSIDE, PLACE_INSIDE, PLACE_PROTECTED },
	{ "/home/u/proj/.vscode/settings.json", PLACE_INSIDE, PLACE_INSIDE, PLACE_PROTECTED },
	{ "/home/u/proj/.claude/agents/x.md", PLACE_INSIDE, PLACE_INSIDE, PLACE_PROTECTED },
	{ "/home/u/.ssh/id_rsa", PLACE_SECRET, PLACE_SECRET, PLACE_SECRET },
	{ "/home/u/.aws", PLACE_SECRET, PLACE_SECRET, PLACE_SECRET },
	{ "/home/u/.bashrc", PLACE_HOME, PLACE_HOME, PLACE_PROTECTED },
	{ "/home/u/.config/systemd/user/x", PLACE_HOME, PLACE_HOME, PLACE_PROTECTED },
	{ "/home/u/.cache/x", PLACE_HOME, PLACE_HOME, PLACE_HOME },
	{ "/home/other/x", PLACE_OUTSIDE, PLACE_OUTSIDE, PLACE_OUTSIDE },
	{ "/tmp/x", PLACE_TEMP, PLACE_TEMP, PLACE_TEMP },
	{ "/usr/bin/x", PLACE_SYSTEM, PLACE_SYSTEM, PLACE_SYSTEM },
	{ "/etc/passwd", PLACE_SYSTEM, PLACE_SYSTEM, PLACE_SYSTEM },
	{ "/etc/shadow", PLACE_SECRET, PLACE_SECRET, PLACE_SECRET },
	{ "/proc/cpuinfo", PLACE_SYSTEM, PLACE_SYSTEM, PLACE_SYSTEM },
	{ "/proc/1/environ", PLACE_SECRET, PLACE_SECRET, PLACE_SECRET },
	{ "/proc/1/task/2/mem", PLACE_SECRET, PLACE_SECRET, PLACE_SECRET },
	{ "/proc/\001/environ", PLACE_SECRET, PLACE_SECRET, PLACE_SECRET },
	{ "/dev/null", PLACE_DEVICE, PLACE_DEVICE, PLACE_DEVICE },
	{ "/dev/sda", PLACE_OUTSIDE, PLACE_OUTSIDE, PLACE_OUTSIDE },
	{ "/", PLACE_SYSTEM, PLACE_OUTSIDE, PLACE_OUTSIDE },
	{ "/home/u/proj/\001", PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN },
	{ "relative", PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN },
	{ "sub/.env", PLACE_UNKNOWN, PLACE_SECRET, PLACE_PROTECTED },
};

static void each_path_lies_where_it_should(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		enum effect_place look = place_of(&request, places[i].path, USE_LOOK);
		enum effect_place read = place_of(&request, places[i].path, USE_READ);
		enum effect_place write = place_of(&request, places[i].path, USE_WRITE);

		if (look != places[i].look || read != places[i].read || write != places[i].write)
			fail_msg("'%s': %s %s %s", places[i].path, effect_place_name(look), effect_place_name(read),
				 effect_place_name(write));
		assert_int_equal(place_of(&request, places[i].path, USE_DELETE), write);
		assert_int_equal(place_of(&request, places[i].path, USE_MOVE), write);
	}
}

static void a_workspace_among_credentials_is_still_a_workspace(void **state)
{
	const struct command_request req = { .workspace = "/home/u/.claude/worktrees/x", .home = "/home/u" };

	(void)state;
	assert_int_equal(place_of(&req, "/home/u/.claude/worktrees/x/a", USE_READ), PLACE_INSIDE);
	assert_int_equal(place_of(&req, "/home/u/.claude/worktrees/x/a", USE_WRITE), PLACE_INSIDE);
	assert_int_equal(place_of(&req, "/home/u/.claude/settings.json", USE_READ), PLACE_SECRET);
}

static void paths_are_taken_as_the_process_means_them(void **state)
{
	static const struct { const char *cwd, *text, *want; } cases[] = {
		{ "/a/b", "c", "/a/b/c" },
		{ "/a/b", "../c/./d//e/", "/a/c/d/e" },
		{ "/a/b", "/x/../y", "/y" },
		{ "/a", "../../..", "/" },
		{ "/a/b", "", "/a/b" },
		{ "/a", "/proc/self/cwd/x", "/a/x" },
		{ "/a", "/proc/self/root/etc/shadow", "/etc/shadow" },
		{ "/a", "/proc/thread-self/root/proc/self/root/b", "/b" },
		{ "/a", "/proc/self/status", "/proc/self/status" },
		{ NULL, "x/../y", "x/../y" },
		{ NULL, "/x/../y", "/y" },
	};
	struct arena *arena = calloc(1, sizeof(*arena));

	(void)state;
	assert_non_null(arena);
	if (setjmp(arena->out))
		fail_msg("out of memory");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(place_resolve(arena, cases[i].cwd, cases[i].text), cases[i].want);
	arena_done(arena);
	free(arena);
}

static void roots_are_what_takes_everything_with_it(void **state)
{
	static const char *const roots[] = { "/", "/etc", "/home", "/home/u", "/home/u/proj" };
	static const char *const others[] = { "/home/u/proj/src", "/home/u/other", "/tmp", "/usr/local", "x" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(roots); i++)
		assert_true(place_is_root(&request, roots[i]));
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_false(place_is_root(&request, others[i]));
}

static void credentials_are_known_by_name(void **state)
{
	(void)state;
	assert_true(place_is_secret_name("GITHUB_TOKEN"));
	assert_true(place_is_secret_name("aws_secret_access_key"));
	assert_true(place_is_secret_name("DATABASE_URL"));
	assert_false(place_is_secret_name("HOME"));
	assert_false(place_is_secret_name("PATH"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_path_lies_where_it_should),
		cmocka_unit_test(a_workspace_among_credentials_is_still_a_workspace),
		cmocka_unit_test(paths_are_taken_as_the_process_means_them),
		cmocka_unit_test(roots_are_what_takes_everything_with_it),
		cmocka_unit_test(credentials_are_known_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
