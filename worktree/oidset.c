#include <stdlib.h>
#include <string.h>

#include "worktree/oidset.h"

static const uint8_t none[20];

/* The first bytes of a hash are as good a hash as any. */
static uint8_t *slot_of(const struct oidset *s, const uint8_t *oid)
{
	uint64_t h;

	memcpy(&h, oid, sizeof(h));
	for (;; h++) {
		uint8_t *at = s->v[h & (s->slots - 1)];

		if (!memcmp(at, none, 20) || !memcmp(at, oid, 20))
			return at;
	}
}

static int grow(struct oidset *s)
{
	struct oidset big = { .slots = s->slots ? s->slots * 2 : 1024 };

	big.v = calloc(big.slots, sizeof(*big.v));
	if (!big.v)
		return -1;
	for (size_t i = 0; i < s->slots; i++)
		if (memcmp(s->v[i], none, 20))
			memcpy(slot_of(&big, s->v[i]), s->v[i], 20);
	free(s->v);
	s->v = big.v;
	s->slots = big.slots;
	return 0;
}

int oidset_add(struct oidset *s, const uint8_t oid[20])
{
	uint8_t *at;

	if (s->n * 2 >= s->slots && grow(s) < 0)
		return -1;
	if (!memcmp(oid, none, 20))
		return 0;	/* git's name for nothing */
	at = slot_of(s, oid);
	if (!memcmp(at, oid, 20))
		return 0;
	memcpy(at, oid, 20);
	s->n++;
	return 1;
}

void oidset_done(struct oidset *s)
{
	free(s->v);
	*s = (struct oidset){ 0 };
}
