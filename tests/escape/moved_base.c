/*
 * The directory that relative paths start from is moved between two calls: what
 * was found out about it for the first must not decide the second.
 *
 * EXPECT: action=file-write-mkdir target=*box/.claude/commands
 * EXPECT: action=file-write-create target=*box/.claude/commands
 */
#include "tests/escape/attack.h"

#define MANY 40	/* more directories than anybody would remember */

/* @dir is open, or AT_FDCWD for where we stand; from there @plain is its name, and @claude the other. */
static void from_moved_place(int dir, const char *plain, const char *claude)
{
	works(put_at(dir, "first"), "make a file in an ordinary directory");
	works(rename(plain, claude), "call the directory .claude");
	refused(mkdirat(dir, "commands", 0755), "make .claude/commands from within");
	refused(put_at(dir, "commands"), "make it as a file");
	works(put_at(dir, "second"), "make another ordinary file");
	works(rename(claude, plain), "call it back");
	works(mkdirat(dir, "commands", 0755), "make the directory where it is harmless");
}

/* Every file has to come to be where its maker stands. */
static void from_many_places(void)
{
	struct stat st;

	for (int round = 0; round < 2; round++)
		for (int i = 0; i < MANY; i++) {
			if (!round)
				works(mkdir(spell("many%d", i), 0755), "make directory %d", i);
			if (chdir(spell("many%d", i)) < 0)
				_exit(99);
			works(put(spell("f%d", round)), "make a file in directory %d", i);
			if (chdir("..") < 0)
				_exit(99);
			works(stat(spell("many%d/f%d", i, round), &st), "find it there");
		}
}

/* A directory that is gone, and another that has its name. */
static void from_nowhere(void)
{
	works(mkdir("gone", 0755), "make a directory");
	if (chdir("gone") < 0)
		_exit(99);
	works(put("file"), "make a file in it");
	works(unlink("file"), "remove it");
	works(rmdir("../gone"), "remove the directory");
	works(mkdir("../gone", 0755), "make another of its name");
	refused(put("file"), "make a file in the one that is gone");
	if (chdir("..") < 0)
		_exit(99);
}

int main(void)
{
	int dir;

	attack_begin();
	works(mkdir("box", 0755), "make a directory");
	works(mkdir("box/a", 0755), "make one in it");
	works(mkdir("box/b", 0755), "make another");
	dir = open("box/b", O_RDONLY | O_DIRECTORY);
	from_moved_place(dir, "box/b", "box/.claude");
	if (chdir("box/a") < 0)
		_exit(99);
	from_moved_place(AT_FDCWD, "../a", "../.claude");
	if (chdir("../..") < 0)
		_exit(99);
	from_many_places();
	from_nowhere();
	return attack_end();
}
