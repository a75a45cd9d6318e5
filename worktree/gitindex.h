/*
 * worktree/gitindex.h - git's index file: look at its entries, give them other stat data
 *
 * An index remembers what stat(2) said of each file, so git need not read those
 * that look the same. A copied file looks different; putting the copy's data in
 * keeps the first `git status` from reading everything. Pure: bytes in, bytes
 * out. Versions 2 to 4 of SHA-1 repositories: gitformat-index(5).
 */
#ifndef WORKTREE_GITINDEX_H
#define WORKTREE_GITINDEX_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct stamp;

#define GITINDEX_STAT_SIZE 40

struct gitindex_entry {
	const char *path;	/* NUL-terminated, valid during the call */
	size_t path_len;
	uint8_t *stat;		/* GITINDEX_STAT_SIZE bytes, may be rewritten */
	const uint8_t *oid;	/* 20 bytes */
	uint32_t mode;		/* 0100644, 0100755, 0120000, 0160000 */
	int is_plain;		/* stage 0, and not marked assume-valid, skip-worktree or intent-to-add */
};

enum gitindex_result {
	GITINDEX_OK,
	GITINDEX_DAMAGED,
	GITINDEX_UNKNOWN,	/* a version or a mandatory extension we do not know, a split index: copy it as it is */
	GITINDEX_NOMEM,
};

/**
 * gitindex_rewrite() - Show every entry to @fn and write the index anew
 * @data:	the file; entries' stat data is rewritten in place
 * @out:	gets the new file: entries as they are now, the cached trees and
 *		resolve-undo; caches that hold the original's stat data are
 *		left out, and the checksum is fresh
 */
enum gitindex_result gitindex_rewrite(uint8_t *data, size_t len,
				      void (*fn)(void *cookie, const struct gitindex_entry *e),
				      void *cookie, struct buf *out);

/**
 * gitindex_is_clean() - Would git take the file for unchanged without reading it?
 * @stat:	an entry's
 * @file:	the file now
 * @written_ns:	when the index was written: a file as young as it may have
 *		changed unnoticed, so that is a no
 */
int gitindex_is_clean(const uint8_t *stat, const struct stamp *file, int64_t written_ns);

/* gitindex_set() - the entry now describes @file */
void gitindex_set(uint8_t *stat, const struct stamp *file);

#endif
