/*
 * sandbox/init/seal.c - read-only mounts over what is denied and exists
 *
 * A walk of each writable zone that carries the rules' states along, so that
 * an entry costs a few comparisons. Nothing is sealed twice: below a sealed
 * directory all is.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/init/broker.h"
#include "sandbox/init/sys.h"

#define MAX_ENTRIES 500000
#define MAX_SEALS 1000
#define MAX_DEPTH 128

struct sealing {
	struct broker *b;
	unsigned int entries, seals;
	uint64_t mount;	/* the zone's: other mounts have zones of their own */
};

/* A copy of the mount at @dir/@name, read-only, over itself. */
static int seal_one(struct sealing *s, int dir, const char *name)
{
	struct mount_attr_ro attr = { .attr_set = MOUNT_ATTR_RDONLY };
	int tree, r;

	if (s->seals++ >= MAX_SEALS)
		return -1;
	tree = sys_open_tree(dir, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
	if (tree < 0)
		return -1;
	r = sys_mount_setattr(tree, "", AT_EMPTY_PATH, &attr);
	if (!r)
		r = sys_move_mount(tree, "", dir, name, MOVE_MOUNT_F_EMPTY_PATH);
	close(tree);
	return r;
}

static uint64_t mount_of(int fd)
{
	struct statx st;

	return statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0 ? 0 : st.stx_mnt_id;
}

static int walk_dir(struct sealing *s, int fd, const uint64_t *states, unsigned int depth);

/* 0, or -1 when it cannot be finished. */
static int walk_entry(struct sealing *s, int dir, const struct dirent *e, const uint64_t *states, unsigned int depth)
{
	const struct names *names = &s->b->names;
	uint64_t *below;
	int fd, r = 0;

	if (s->entries++ >= MAX_ENTRIES || depth >= MAX_DEPTH)
		return -1;
	below = malloc((names->n + 1) * sizeof(*below));
	if (!below)
		return -1;
	if (names_enter(names, states, e->d_name, strlen(e->d_name), below)) {
		/* A link itself has no attributes that matter, and cannot be mounted over. */
		if (e->d_type != DT_LNK)
			r = seal_one(s, dir, e->d_name);
	} else if (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN) {
		fd = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && mount_of(fd) == s->mount)
			r = walk_dir(s, fd, below, depth + 1);
		else if (fd < 0 && errno != ENOTDIR && errno != ELOOP)
			r = -1;
		if (fd >= 0)
			close(fd);
	}
	free(below);
	return r;
}

static int walk_dir(struct sealing *s, int fd, const uint64_t *states, unsigned int depth)
{
	struct dirent *e;
	int own = dup(fd), r = 0;
	DIR *d = own < 0 ? NULL : fdopendir(own);

	if (!d) {
		if (own >= 0)
			close(own);
		return -1;
	}
	while (!r && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			r = walk_entry(s, fd, e, states, depth);
	closedir(d);
	return r;
}

static int seal_zone(struct broker *b, const struct zone *z)
{
	struct sealing s = { .b = b };
	uint64_t *states = malloc((b->names.n + 1) * sizeof(*states));
	int fd, r = -1;

	if (!states)
		return -1;
	names_start(&b->names, states);
	for (const char *p = z->path; *(p += strspn(p, "/")); p += strcspn(p, "/"))
		if (names_enter(&b->names, states, p, strcspn(p, "/"), states)) {
			/* The zone lies in a denied directory: every write is refused, by descriptor too. */
			free(states);
			return -1;
		}
	fd = open(z->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		s.mount = mount_of(fd);
		r = walk_dir(&s, fd, states, 0);
	}
	if (fd >= 0)
		close(fd);
	free(states);
	return r;
}

int seal_denied(struct broker *b)
{
	for (size_t i = 0; i < b->n_zones; i++)
		if (b->zones[i].kind == ZONE_WRITE && seal_zone(b, &b->zones[i]) < 0)
			return -1;
	return 0;
}

/* Each node is a mount of its own; what is none, as a terminal's link, is not the host's. */
static int seal_nodes(int dir)
{
	struct mount_attr_ro attr = { .attr_set = MOUNT_ATTR_RDONLY };
	int own = dup(dir), r = 0;
	DIR *d = own < 0 ? NULL : fdopendir(own);
	const struct dirent *e;

	if (!d) {
		if (own >= 0)
			close(own);
		return -1;
	}
	while ((e = readdir(d)))
		if (e->d_type != DT_DIR && e->d_type != DT_LNK && sys_mount_setattr(dir, e->d_name, AT_SYMLINK_NOFOLLOW, &attr) < 0)
			r = -1;
	closedir(d);
	return r;
}

/* What --device shows: a node, or a directory of them. */
static int seal_device(const char *path)
{
	struct mount_attr_ro attr = { .attr_set = MOUNT_ATTR_RDONLY };

	return sys_mount_setattr(AT_FDCWD, path, AT_RECURSIVE, &attr);
}

int seal_devices(struct broker *b)
{
	int dir = open("/dev", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r;

	if (dir < 0)
		return -1;
	r = seal_nodes(dir);
	close(dir);
	for (size_t i = 0; i < b->n_zones; i++)
		if (b->zones[i].kind == ZONE_DEV && strcmp(b->zones[i].path, "/dev") != 0 && seal_device(b->zones[i].path) < 0)
			r = -1;
	return r;
}
