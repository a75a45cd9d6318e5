/*
 * Rules and a path, one a line, the path last: the matcher ends, says the same
 * of a path as of its parts walked one by one, and agrees with a plain
 * recursive matcher that was written to be read, not to be fast.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/names.h"

#define MAX_RULES 12
#define MAX_LINE 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Does the part list from @p match the path text @s, whole? */
static int plain(const struct names *n, const struct name_rule *r, size_t p, const char *s)
{
	size_t len;

	s += strspn(s, "/");
	if (p == r->n_parts)
		return !*s;
	if (r->parts[p].kind == NAME_ANY_DEPTH) {
		for (;;) {
			if (plain(n, r, p + 1, s))
				return 1;
			if (!*s)
				return 0;
			s += strcspn(s, "/");
			s += strspn(s, "/");
		}
	}
	len = strcspn(s, "/");
	return len && names_glob(r->parts[p].text, r->parts[p].len, s, len, n->fold_case) &&
	       plain(n, r, p + 1, s + len);
}

/* The last rule that matches a prefix decides on it; the first denied prefix decides on the path. */
static const char *plain_denied(const struct names *n, const char *path)
{
	char prefix[MAX_LINE + 1];

	for (size_t end = 0; path[end];) {
		const struct name_rule *last = NULL;

		end += strspn(path + end, "/");
		if (!path[end])
			break;
		end += strcspn(path + end, "/");
		memcpy(prefix, path, end);
		prefix[end] = '\0';
		for (size_t i = 0; i < n->n; i++)
			if (plain(n, &n->rules[i], 0, prefix))
				last = &n->rules[i];
		if (last && !last->is_exception)
			return last->text;
	}
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct names n = { 0 };
	char path[MAX_LINE + 1] = "";
	int stars = 0;

	for (int i = 0; i <= MAX_RULES && size; i++) {
		const uint8_t *nl = memchr(data, '\n', size);
		size_t len = nl ? (size_t)(nl - data) : size, used = nl ? len + 1 : len;

		if (len > MAX_LINE)
			len = MAX_LINE;
		memcpy(path, data, len);
		path[len] = '\0';
		data += used;
		size -= used;
		/* The plain matcher takes exponential time on many "**": keep to what rules look like. */
		for (const char *s = path; (s = strstr(s, "**")); s += 2)
			stars++;
		if (size && stars < 6)
			names_add(&n, path);
	}
	if (path[0] == '/') {
		const char *fast = names_denied(&n, path), *slow = plain_denied(&n, path);

		assert((fast == NULL) == (slow == NULL));
		assert(!fast || !strcmp(fast, slow));
		names_heads(&n, path);
	}
	names_done(&n);
	return 0;
}
