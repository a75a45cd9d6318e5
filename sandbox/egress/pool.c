#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "sandbox/egress/pool.h"
#include "sandbox/init/proto.h"

enum { IN_BLOCK = 254, BLOCKS = 512, FIRST_SLOTS = 64 };
static_assert(POOL_MAX_NAMES <= IN_BLOCK * BLOCKS, "an IPv4 address for each name");

/* What the broker makes local, cut into whole bytes. */
static const uint8_t v4_base[] = { POOL4_NET >> 24, POOL4_NET >> 16 & 0xff };
static const uint8_t v6_base[] = POOL6_PREFIX;
static_assert(POOL4_BITS == 15 && POOL6_BITS == 8 * sizeof(v6_base), "the prefixes as they are used here");

int pool_has(const struct ip *ip)
{
	if (ip->family == AF_INET)
		return ip->b[0] == v4_base[0] && (ip->b[1] & ~1) == v4_base[1];
	return ip->family == AF_INET6 && !memcmp(ip->b, v6_base, sizeof(v6_base));
}

/* --- numbers and addresses --- */

void pool_address(uint32_t number, int family, struct ip *ret)
{
	uint32_t n = number + 1, block = number / IN_BLOCK;

	assert(number < POOL_MAX_NAMES);
	*ret = (struct ip){ .family = family };
	if (family == AF_INET) {
		ret->b[0] = v4_base[0];
		ret->b[1] = (uint8_t)(v4_base[1] + block / 256);
		ret->b[2] = (uint8_t)(block % 256);
		ret->b[3] = (uint8_t)(number % IN_BLOCK + 1);
		return;
	}
	memcpy(ret->b, v6_base, sizeof(v6_base));
	for (int i = 15; n; i--, n >>= 8)
		ret->b[i] = (uint8_t)n;
}

const char *pool_name(const struct pool *p, const struct ip *ip)
{
	struct ip again;
	uint32_t n = 0;

	if (!pool_has(ip))
		return NULL;
	if (ip->family == AF_INET) {
		/* Of .0 this makes the last of the block before; looking back refuses it. */
		n = (uint32_t)((ip->b[1] - v4_base[1]) * 256 + ip->b[2]) * IN_BLOCK + ip->b[3] - 1;
	} else {
		for (int i = 12; i < 16; i++)
			n = n << 8 | ip->b[i];
		n--;
	}
	if (n >= p->n)
		return NULL;
	pool_address(n, ip->family, &again);
	return ip_equal(&again, ip) ? p->name[n] : NULL;
}

/* --- names and numbers --- */

/* FNV-1a. Names that collide on purpose cost their own run time, and no more than the pool's size. */
static uint32_t hash(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 16777619u;
	return h;
}

/* The slot that holds @name, or the free one where it belongs. */
static uint32_t *slot_of(const struct pool *p, const char *name)
{
	size_t mask = p->n_slots - 1, i = hash(name) & mask;

	while (p->slot[i] && strcmp(p->name[p->slot[i] - 1], name))
		i = (i + 1) & mask;
	return &p->slot[i];
}

int pool_find(const struct pool *p, const char *name, uint32_t *ret)
{
	uint32_t found = p->n_slots ? *slot_of(p, name) : 0;

	if (!found)
		return -1;
	*ret = found - 1;
	return 0;
}

/* Make room for one more name. */
static int grow(struct pool *p)
{
	size_t cap = p->cap ? p->cap * 2 : FIRST_SLOTS / 2;
	char **name;
	uint32_t *slot;

	if (p->n < p->cap)
		return 0;
	name = realloc(p->name, cap * sizeof(*name));
	if (!name)
		return -1;
	p->name = name;
	slot = calloc(cap * 2, sizeof(*slot));
	if (!slot)
		return -1;
	free(p->slot);
	p->slot = slot;
	p->n_slots = cap * 2;
	p->cap = cap;
	for (size_t i = 0; i < p->n; i++)
		*slot_of(p, p->name[i]) = (uint32_t)i + 1;
	return 0;
}

int pool_add(struct pool *p, const char *name, uint32_t *ret)
{
	OWN(mem) char *copy = NULL;

	if (pool_find(p, name, ret) == 0)
		return 0;
	if (p->n == POOL_MAX_NAMES || grow(p) < 0)
		return -1;
	copy = strdup(name);
	if (!copy)
		return -1;
	*slot_of(p, name) = (uint32_t)p->n + 1;
	*ret = (uint32_t)p->n;
	p->name[p->n++] = TAKE(copy);
	return 0;
}

void pool_done(struct pool *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->name[i]);
	free(p->name);
	free(p->slot);
	*p = (struct pool){ 0 };
}
