/*
 * worktree/oidset.h - a set of object names
 */
#ifndef WORKTREE_OIDSET_H
#define WORKTREE_OIDSET_H

#include <stddef.h>
#include <stdint.h>

struct oidset {
	uint8_t (*v)[20];
	size_t n, slots;	/* slots: a power of two; all zero bytes: free */
};

int oidset_add(struct oidset *s, const uint8_t oid[20]);	/* 1 new, 0 was there, -1 out of memory */
void oidset_done(struct oidset *s);

static inline void own_oidset(struct oidset *s)
{
	oidset_done(s);
}

#endif
