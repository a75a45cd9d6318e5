/*
 * sandbox/egress/resolver.h - names become addresses in a process of its own
 *
 * getaddrinfo(3) opens files, loads libraries and parses what name servers
 * send. The process that parses the program's bytes and holds secrets should
 * be able to do none of that, so the look-ups happen in another one, forked
 * before either has heard an outside byte or a secret. The alternative was to
 * leave the helper itself the right to read /etc and the libraries: then a bug
 * in a parser reaches files and a bug in the C library's resolver reaches
 * secrets. Two processes cost one fork and a message each look-up.
 *
 * What it may is told in confine.h. Its end ends the helper, and the run.
 */
#ifndef SANDBOX_EGRESS_RESOLVER_H
#define SANDBOX_EGRESS_RESOLVER_H

#include <stddef.h>

#include "sandbox/egress/address.h"

#define RESOLVER_MAX_ADDRESSES 16

struct err;
struct loop;
struct look_up;
struct resolver;

/* @list: @n addresses, borrowed for the call; none: the name cannot be looked up */
typedef void resolved_fn(void *cookie, const struct ip *list, size_t n);

/**
 * resolver_start() - Fork the process; call it before there are threads, secrets or connections
 * @err:	ERR_SYS, ERR_NOMEM
 *
 * Return: the caller's to resolver_free(), or NULL
 */
struct resolver *resolver_start(struct err *err);

/**
 * resolver_attach() - From now on look-ups may be asked for
 * @died:	called when the process is gone; no look-up is answered any more
 *
 * Return: 0, or -1 with errno
 */
int resolver_attach(struct resolver *r, struct loop *loop, void (*died)(void *cookie), void *cookie);

/**
 * resolver_ask() - Look @name up
 * @name:	plain, as struct host has it
 * @fn:		called once, from the loop and not from within this call
 *
 * Return: the look-up, gone when @fn is called; NULL when out of memory
 */
struct look_up *resolver_ask(struct resolver *r, const char *name, resolved_fn *fn, void *cookie);

/* look_up_cancel() - @fn is not called any more; NULL is fine */
void look_up_cancel(struct look_up *l);

/* resolver_free() - ends the process; look-ups are forgotten; NULL is fine */
void resolver_free(struct resolver *r);

#endif
