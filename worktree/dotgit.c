#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "worktree/dotgit.h"

/* Code points HFS+ leaves out when it compares names, as UTF-8; git's utf8.c knows the same. */
static const char *const ignored[] = {
	"\xe2\x80\x8c", "\xe2\x80\x8d", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa", "\xe2\x80\xab",
	"\xe2\x80\xac", "\xe2\x80\xad", "\xe2\x80\xae", "\xe2\x81\xaa", "\xe2\x81\xab", "\xe2\x81\xac",
	"\xe2\x81\xad", "\xe2\x81\xae", "\xe2\x81\xaf", "\xef\xbb\xbf",
};

static size_t ignored_at(const char *s, size_t len)
{
	for (size_t i = 0; len >= 3 && i < ARRAY_LEN(ignored); i++)
		if (!memcmp(s, ignored[i], 3))
			return 3;
	return 0;
}

/* NTFS ends a name at ':' (a stream) and drops dots and blanks behind it. */
static int ends_there(const char *s, size_t len)
{
	while (len && (*s == '.' || *s == ' ')) {
		s++;
		len--;
	}
	return !len || *s == ':' || *s == '\\';
}

int dotgit_name(const char *name, size_t len)
{
	char plain[5];
	size_t n = 0, skip;

	if (len >= 5 && !strncasecmp(name, "git~1", 5) && ends_there(name + 5, len - 5))
		return 1;
	if (len >= 4 && !strncasecmp(name, ".git", 4) && ends_there(name + 4, len - 4))
		return 1;
	while (len && n < sizeof(plain)) {
		skip = ignored_at(name, len);
		if (!skip)
			plain[n++] = *name;
		name += skip ? skip : 1;
		len -= skip ? skip : 1;
	}
	return n == 4 && !strncasecmp(plain, ".git", 4);
}

int dotgit_path(const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (dotgit_name(path, len))
			return 1;
		path += len;
		path += strspn(path, "/");
	}
	return 0;
}
