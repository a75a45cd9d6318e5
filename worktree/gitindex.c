#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/own.h"
#include "worktree/gitindex.h"
#include "worktree/tree.h"

#define SHA 20
#define ENTRY_FIXED (GITINDEX_STAT_SIZE + SHA + 2)
#define FLAG_VALID 0x8000u
#define FLAG_EXTENDED 0x4000u
#define FLAG_STAGE 0x3000u
#define FLAG2_SKIP 0x4000u
#define FLAG2_INTENT 0x2000u
#define MAX_PATH_BYTES 65536

enum { CTIME = 0, MTIME = 8, DEV = 16, INO = 20, MODE = 24, UID = 28, GID = 32, SIZE = 36 };

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static void put32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

/* The bytes still to read; @at moves only when what was asked for is there. */
struct cursor {
	uint8_t *at;
	uint8_t *end;
	struct buf path;	/* of the last entry: version 4 builds on it */
};

static void own_cursor(struct cursor *c)
{
	buf_done(&c->path);
}

static size_t left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* Version 4: how many bytes of the last path to drop, 7 bits a byte. */
static int take_strip(struct cursor *c, size_t *ret)
{
	size_t v;

	if (!left(c))
		return -1;
	v = *c->at & 127u;
	while (*c->at++ & 128u) {
		if (!left(c) || v > MAX_PATH_BYTES)
			return -1;
		v = ((v + 1) << 7) + (*c->at & 127u);
	}
	*ret = v;
	return 0;
}

/* The entry's path into c->path. 1 yes, 0 damaged, -1 out of memory. */
static int take_path(struct cursor *c, uint32_t version, const uint8_t *entry)
{
	size_t strip = 0, len, size;
	uint8_t *nul;

	if (version == 4 && take_strip(c, &strip) < 0)
		return 0;
	nul = memchr(c->at, 0, left(c));
	if (!nul)
		return 0;
	len = (size_t)(nul - c->at);
	if (version != 4)
		strip = c->path.len;
	if (strip > c->path.len || len > MAX_PATH_BYTES || c->path.len - strip + len > MAX_PATH_BYTES)
		return 0;
	c->path.len -= strip;
	if (buf_add(&c->path, c->at, len) < 0)
		return -1;
	if (version == 4) {
		c->at = nul + 1;
		return 1;
	}
	/* padded with one to eight NULs to a multiple of eight */
	size = ((size_t)(nul - entry) + 8) & ~(size_t)7;
	if (size > (size_t)(c->end - entry))
		return 0;
	c->at = c->at - (c->at - entry) + size;
	return 1;
}

static int take_entry(struct cursor *c, uint32_t version, struct gitindex_entry *e)
{
	uint8_t *start = c->at;
	uint32_t flags, flags2 = 0;
	int r;

	if (left(c) < ENTRY_FIXED + 2)
		return 0;
	flags = get16(start + GITINDEX_STAT_SIZE + SHA);
	c->at += ENTRY_FIXED;
	if (flags & FLAG_EXTENDED) {
		if (version < 3)
			return 0;
		flags2 = get16(c->at);
		c->at += 2;
	}
	r = take_path(c, version, start);
	if (r <= 0)
		return r;
	*e = (struct gitindex_entry){
		.path = c->path.data,
		.path_len = c->path.len,
		.stat = start,
		.oid = start + GITINDEX_STAT_SIZE,
		.mode = get32(start + MODE),
		.is_plain = !(flags & (FLAG_VALID | FLAG_STAGE)) && !(flags2 & (FLAG2_SKIP | FLAG2_INTENT)),
	};
	return 1;
}

/* Of the optional ones only these two do not depend on where and when files lie. */
static enum gitindex_result take_extension(struct cursor *c, struct buf *out)
{
	uint8_t *start = c->at;
	size_t size;

	if (left(c) < 8)
		return GITINDEX_DAMAGED;
	size = get32(start + 4);
	if (size > left(c) - 8)
		return GITINDEX_DAMAGED;
	c->at += 8 + size;
	if (start[0] < 'A' || start[0] > 'Z') {
		if (memcmp(start, "sdir", 4))
			return GITINDEX_UNKNOWN;
	} else if (memcmp(start, "TREE", 4) && memcmp(start, "REUC", 4)) {
		return GITINDEX_OK;
	}
	return buf_add(out, start, 8 + size) < 0 ? GITINDEX_NOMEM : GITINDEX_OK;
}

enum gitindex_result gitindex_rewrite(uint8_t *data, size_t len,
				      void (*fn)(void *cookie, const struct gitindex_entry *e),
				      void *cookie, struct buf *out)
{
	OWN(cursor) struct cursor c = { .path.max = 2 * MAX_PATH_BYTES };
	uint8_t sum[DIGEST_SHA1_SIZE];
	enum gitindex_result r;
	uint32_t version, n;
	size_t start = out->len;

	if (len < 12 + SHA || memcmp(data, "DIRC", 4))
		return GITINDEX_DAMAGED;
	version = get32(data + 4);
	n = get32(data + 8);
	if (version < 2 || version > 4)
		return GITINDEX_UNKNOWN;
	c.at = data + 12;
	c.end = data + len - SHA;
	while (n--) {
		struct gitindex_entry e;
		int got = take_entry(&c, version, &e);

		if (got <= 0)
			return got < 0 ? GITINDEX_NOMEM : GITINDEX_DAMAGED;
		fn(cookie, &e);
	}
	if (buf_add(out, data, (size_t)(c.at - data)) < 0)
		return GITINDEX_NOMEM;
	while (left(&c)) {
		r = take_extension(&c, out);
		if (r != GITINDEX_OK)
			return r;
	}
	digest_sha1(out->data + start, out->len - start, sum);
	return buf_add(out, sum, sizeof(sum)) < 0 ? GITINDEX_NOMEM : GITINDEX_OK;
}

static int64_t sec(int64_t ns)
{
	return ns / 1000000000;
}

static uint32_t nsec(int64_t ns)
{
	return (uint32_t)(ns % 1000000000);
}

/* Some writers leave the nanoseconds out; then whole seconds have to do. */
static int same_time(const uint8_t *p, int64_t ns)
{
	return get32(p) == (uint32_t)sec(ns) && (!get32(p + 4) || get32(p + 4) == nsec(ns));
}

int gitindex_is_clean(const uint8_t *stat, const struct stamp *file, int64_t written_ns)
{
	uint32_t mode = get32(stat + MODE);

	if ((mode & S_IFMT) != (file->mode & S_IFMT) || !same_time(stat + MTIME, file->mtime_ns) ||
	    !same_time(stat + CTIME, file->ctime_ns) || get32(stat + INO) != (uint32_t)file->ino ||
	    get32(stat + SIZE) != (uint32_t)file->size)
		return 0;
	if (!get32(stat + MTIME + 4))
		return sec(file->mtime_ns) < sec(written_ns);
	return file->mtime_ns < written_ns;
}

void gitindex_set(uint8_t *stat, const struct stamp *file)
{
	put32(stat + CTIME, (uint32_t)sec(file->ctime_ns));
	put32(stat + CTIME + 4, nsec(file->ctime_ns));
	put32(stat + MTIME, (uint32_t)sec(file->mtime_ns));
	put32(stat + MTIME + 4, nsec(file->mtime_ns));
	put32(stat + DEV, file->dev);
	put32(stat + INO, (uint32_t)file->ino);
	put32(stat + UID, file->uid);
	put32(stat + GID, file->gid);
	put32(stat + SIZE, (uint32_t)file->size);
}
