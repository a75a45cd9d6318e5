#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/path.h"

int path_is_clean(const char *p)
{
	if (p[0] != '/')
		return 0;
	if (p[1] == '\0')
		return 1;
	while (*p == '/') {
		size_t n = strcspn(++p, "/");

		if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return 0;
		p += n;
	}
	return 1;
}

/* Append the parts of @from to the clean text @out of length @len. */
static size_t append_parts(char *out, size_t len, const char *from)
{
	while (*from) {
		size_t n = strcspn(from, "/");

		if (n == 2 && !strncmp(from, "..", 2)) {
			while (len && out[--len] != '/')
				;
		} else if (n && !(n == 1 && from[0] == '.')) {
			out[len++] = '/';
			memcpy(out + len, from, n);
			len += n;
		}
		from += n;
		from += strspn(from, "/");
	}
	return len;
}

char *path_join(const char *base, const char *rel)
{
	char *out = malloc(strlen(base) + strlen(rel) + 3);
	size_t len = 0;

	if (!out)
		return NULL;
	if (rel[0] != '/')
		len = append_parts(out, len, base + strspn(base, "/"));
	len = append_parts(out, len, rel + strspn(rel, "/"));
	if (!len)
		out[len++] = '/';
	out[len] = '\0';
	return out;
}

int path_under(const char *p, const char *dir)
{
	size_t n = strlen(dir);

	if (n == 1 && dir[0] == '/')
		return p[0] == '/';
	return !strncmp(p, dir, n) && (p[n] == '\0' || p[n] == '/');
}

const char *path_base(const char *p)
{
	const char *slash = strrchr(p, '/');

	return slash ? slash + 1 : p;
}

char *path_parent(const char *p)
{
	const char *slash = strrchr(p, '/');

	if (!slash || slash == p)
		return strdup("/");
	return strndup(p, (size_t)(slash - p));
}

char *path_expand(const char *p, const char *home, const char *cwd)
{
	if (p[0] == '~' && (p[1] == '\0' || p[1] == '/'))
		return path_join(home, p[1] ? p + 2 : ".");
	return path_join(cwd, p);
}

char *path_resolve(const char *p)
{
	OWN(mem) char *head = strdup(p);
	size_t cut;

	if (!head)
		return NULL;
	for (cut = strlen(head);;) {
		OWN(mem) char *real = realpath(cut ? head : "/", NULL);

		if (real)
			return path_join(real, p[cut] == '/' ? p + cut + 1 : p + cut);
		if (errno == ELOOP || errno == ENOMEM || !cut)
			return NULL;
		while (cut && head[--cut] != '/')
			;
		head[cut] = '\0';
	}
}
