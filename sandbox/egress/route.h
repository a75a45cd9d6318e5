/*
 * sandbox/egress/route.h - which requests a host may be sent: methods and paths
 *
 * A rule is a host, and requests to allow and to deny, such as
 * "GET /repos/<any>/pulls", where <any> stands for the stars told below.
 * A host that a rule names takes only requests that some "allow" matches and
 * no "deny" does. A pattern is a method (or "*"; GET stands for HEAD as well)
 * and a path: "*" is any text within a segment, "**", as a segment of its own,
 * any number of segments. Queries are not looked at.
 *
 * The path that is judged is the one that is sent on: without "." and ".."
 * segments. Patterns are held against it with its escapes decoded. What two
 * servers could read in two ways is refused: an escaped slash, backslash, dot
 * segment, percent sign or control byte, an empty segment, a backslash,
 * parameters behind dots. Pure.
 */
#ifndef SANDBOX_EGRESS_ROUTE_H
#define SANDBOX_EGRESS_ROUTE_H

#include <stddef.h>

#include "sandbox/egress/domain.h"
#include "sandbox/egress/http.h"
#include "sandbox/egress/policy.h"

struct buf;
struct err;
struct strv;

struct route_pattern {
	char *text;	/* as written */
	char *method;	/* "*": any */
	char *path;
};

struct route_rule {
	struct domain_set host;
	struct route_pattern *allow, *deny;
	size_t n_allow, n_deny;
};

/* A zeroed struct is an empty set: no host is looked at. */
struct route_set {
	struct route_rule *v;
	size_t n;
};

/**
 * route_add() - Read one rule
 * @host:	as domain.h has it, but a lone "*"; without a port: every port
 * @origin:	named in errors: "routes[0]"
 * @err:	ERR_POLICY, ERR_NOMEM
 *
 * Return: 0, or -1 with the set unchanged
 */
int route_add(struct route_set *set, const char *host, const struct strv *allow, const struct strv *deny,
	      const char *origin, struct err *err);

/* route_applies() - 1 if some rule names @h on @port */
int route_applies(const struct route_set *set, const struct host *h, uint16_t port);

/**
 * route_path() - The path as it may be sent on
 * @path:	in origin form, with its query
 * @sent:	appended: the same without dot segments
 * @judged:	appended: its path alone, escapes decoded
 * @ret_why:	on failure a static line
 *
 * Return: 0, or -1 if it can be read in two ways or memory is out
 */
int route_path(struct span path, struct buf *sent, struct buf *judged, const char **ret_why);

/**
 * route_judge() - May this request be sent?
 * @path:	as route_path() judged it
 * @ret:	allowed where no rule names the host
 */
void route_judge(const struct route_set *set, const struct host *h, uint16_t port, struct span method,
		 const char *path, struct egress_verdict *ret);

/* route_match() - 1 if @pattern, a path with stars, matches @path */
int route_match(const char *pattern, const char *path);

void route_done(struct route_set *set);

#endif
