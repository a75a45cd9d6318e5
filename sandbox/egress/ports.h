/*
 * sandbox/egress/ports.h - ports that cross the sandbox's edge, as a person writes them
 *
 *	[ADDRESS:]PORT[:INSIDE]		published: a server inside, on the host's loopback
 *	PORT				a port of the host's loopback, for the run
 *
 * There is one spelling of each: "127.0.0.1:8080:3000", "[::1]:8080:3000",
 * "5432". Ports that agate itself uses inside can be neither: a run's proxies
 * would be there for every user of the host. Pure.
 */
#ifndef SANDBOX_EGRESS_PORTS_H
#define SANDBOX_EGRESS_PORTS_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/egress/publish.h"

struct err;
struct strv;

#define PORTS_TEXT_SIZE 64

/**
 * ports_parse_publish() - Read one rule in any of its spellings
 * @text:	ADDRESS is 127.0.0.1 if left out; "localhost" and other addresses of
 *		loopback are understood; PORT 0 is any free one; INSIDE is PORT if left out
 *
 * Return: 0, or -1 with @err (ERR_INPUT; ERR_POLICY for an address that is not loopback)
 */
int ports_parse_publish(const char *text, struct publish_rule *ret, struct err *err);

/* ports_show_publish() - the one spelling */
void ports_show_publish(const struct publish_rule *rule, char ret[PORTS_TEXT_SIZE]);

/* ports_parse_host() - read one port of the host; 0, or -1 with @err (ERR_INPUT) */
int ports_parse_host(const char *text, uint16_t *ret, struct err *err);

/**
 * ports_check() - Can these be had together?
 * @publish, @host:	as written
 *
 * Not more than the helper takes, no place on the host twice, nothing that agate
 * uses itself, and nothing that would lead in a circle.
 * Return: 0, or -1 with @err (ERR_INPUT, ERR_POLICY, ERR_LIMIT)
 */
int ports_check(const struct strv *publish, const struct strv *host, struct err *err);

#endif
