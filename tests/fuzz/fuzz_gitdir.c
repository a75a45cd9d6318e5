/*
 * tests/fuzz/fuzz_gitdir.c - what worktree/ parses by itself: an index, an address, a manifest
 *
 * The first byte says which.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "worktree/dotgit.h"
#include "worktree/gitconfig.h"
#include "worktree/gitindex.h"
#include "worktree/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void touch(void *cookie, const struct gitindex_entry *e)
{
	struct stamp file = { .mtime_ns = 1, .mode = 0100644 };

	*(size_t *)cookie += strlen(e->path) == e->path_len;
	if (e->is_plain && gitindex_is_clean(e->stat, &file, 5))
		gitindex_set(e->stat, &file);
}

/* What was written must be read again, with as many entries. */
static void try_index(const uint8_t *data, size_t len)
{
	OWN(mem) uint8_t *copy = malloc(len + 1);
	OWN(buf) struct buf out = { 0 }, again = { 0 };
	size_t n = 0, m = 0;

	memcpy(copy, data, len);
	if (gitindex_rewrite(copy, len, touch, &n, &out) != GITINDEX_OK)
		return;
	if (gitindex_rewrite((uint8_t *)out.data, out.len, touch, &m, &again) != GITINDEX_OK || n != m ||
	    again.len != out.len)
		abort();
}

/* No credential survives: behind "://" there is no '@' left in an http host. */
static void try_url(const uint8_t *data, size_t len)
{
	OWN(mem) char *url = strndup((const char *)data, len);
	OWN(mem) char *clean = gitconfig_clean_url(url);
	OWN(mem) char *twice = clean ? gitconfig_clean_url(clean) : NULL;

	dotgit_path(url);
	if (clean && (!twice || strcmp(clean, twice)))
		abort();
	if (clean && !strncmp(clean, "https://", 8) && memchr(clean + 8, '@', strcspn(clean + 8, "/?#")))
		abort();
}

static void try_manifest(const uint8_t *data, size_t len)
{
	OWN(fd) int fd = io_memfd("manifest", data, len);
	OWN(tree) struct node *root = NULL;
	OWN(buf) struct buf path = { 0 };
	struct err err;
	char name[32];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (manifest_load(AT_FDCWD, name, &root, &err) < 0)
		return;
	for (const struct node *n = root; n; n = node_next(root, n))
		if (node_path(n, &path) < 0)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static void (*const tries[])(const uint8_t *data, size_t len) = { try_index, try_url, try_manifest };

	if (len)
		tries[data[0] % ARRAY_LEN(tries)](data + 1, len - 1);
	return 0;
}
