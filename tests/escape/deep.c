/*
 * timeout: 60
 * A place deeper than a path can say, reached by relative calls: in the workspace, where
 * names decide, nothing can be made there; in private places all goes on as ever.
 */
#include <fcntl.h>

#include "tests/escape/attack.h"

#define NAME "ddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd" \
	     "ddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"

/* mkdir and chdir until one fails, 40 at most; how many went well */
static int descend(void)
{
	for (int i = 0; i < 40; i++)
		if (mkdir(NAME, 0755) < 0 || chdir(NAME) < 0)
			return i;
	return 40;
}

static void climb(int n)
{
	for (int i = 0; i < n; i++) {
		works(chdir(".."), "climb");
		works(unlinkat(AT_FDCWD, NAME, AT_REMOVEDIR), "remove a deep directory");
	}
}

static void be_deep(const char *top)
{
	int n, fd;

	works(chdir(top), "go to %s", top);
	n = descend();
	works(n == 40 ? 0 : -1, "go 40 down in %s, not %d", top, n);
	fd = open("f", O_CREAT | O_EXCL | O_WRONLY, 0600);
	works(fd, "make a file there");
	works(fchmod(fd, 0640), "change its mode");
	works(chmod("f", 0600), "change its mode by name");
	works(rename("f", "g"), "rename it");
	works(link("g", "h"), "link it");
	works(symlink("g", "s"), "make a link to it");
	works(unlink("g"), "remove it");
	works(unlink("h"), "remove the link");
	works(unlink("s"), "remove the other link");
	refused(put("/etc/x"), "/etc/x from there");
	climb(n);
}

int main(void)
{
	static const char *const private[] = { "/tmp", "/var/tmp" };	/* the workspace may be below the first */
	const char *tmp = getenv("TMPDIR");
	int top = open("plain", O_RDONLY | O_DIRECTORY), n;

	attack_begin();
	works(fchdir(top), "go to plain");
	n = descend();
	refused(n == 40 ? 0 : -1, "make directories without end where names decide");
	works(n > 15 && errno == ENAMETOOLONG ? 0 : -1, "go %d down, and be told why no deeper", n);
	refused(put(".env"), ".env at the bottom");
	refused(pwn(openat(AT_FDCWD, "./.env", O_CREAT | O_WRONLY, 0600)), "./.env at the bottom");
	climb(n);
	if (tmp && strcmp(tmp, "/tmp"))
		return attack_end();	/* without namespaces it is a part of the host's tree */
	for (int i = 0; i < 2; i++)
		be_deep(private[i]);
	return attack_end();
}
