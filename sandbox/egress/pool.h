/*
 * sandbox/egress/pool.h - addresses that stand for names
 *
 * A program that knows no proxy looks a name up and connects to an address.
 * The look-up is answered with an address of a private pool, which leads
 * nowhere but to the helper; the connection's address then tells the name.
 * A name keeps its addresses, one of each family, for as long as the run
 * lives. Pure.
 *
 *	198.18.0.0/15		without those that end in .0 and .255
 *	fd00:a6a7::/32		the same number in the last 32 bits
 */
#ifndef SANDBOX_EGRESS_POOL_H
#define SANDBOX_EGRESS_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/egress/address.h"

/* A rule with a star allows names without end, and each takes memory. */
#define POOL_MAX_NAMES 32768

/* A zeroed struct is an empty pool. */
struct pool {
	char **name;		/* in the order they were first asked for */
	size_t n, cap;
	uint32_t *slot;		/* hash table of indexes + 1; 0: free */
	size_t n_slots;		/* a power of two, at least twice @n; 0: none yet */
};

/* pool_has() - 1 if @ip lies in the pool's ranges, whether or not it stands for a name */
int pool_has(const struct ip *ip);

/**
 * pool_add() - The number of a name, a new one if it has none
 * @name:	plain, as struct host has it; copied
 * @ret:	for pool_address()
 *
 * Return: 0, or -1 when the pool is full or memory is out
 */
int pool_add(struct pool *p, const char *name, uint32_t *ret);

/* pool_find() - the number of a name that has one; 0 or -1 */
int pool_find(const struct pool *p, const char *name, uint32_t *ret);

/* pool_address() - the address of that number; @family: AF_INET or AF_INET6 */
void pool_address(uint32_t number, int family, struct ip *ret);

/* pool_name() - the name that @ip stands for, the pool's; NULL if for none */
const char *pool_name(const struct pool *p, const struct ip *ip);

void pool_done(struct pool *p);

#endif
