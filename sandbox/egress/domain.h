/*
 * sandbox/egress/domain.h - which hosts a run may reach, as rules
 *
 *	example.com		that name alone
 *	*.example.com		names below it at any depth, not itself
 *	bedrock.*.amazonaws.com	exactly one label in the place of the star
 *	192.0.2.7  [2001:db8::1]	that address, when a program names it so
 *	HOST:8443		any of these on one port
 *	*  *:25			everything: to deny only
 *
 * A rule without a port means 443, 80 and 22 when it allows, and every port
 * when it denies. A deny rule beats every allow rule. What could be read in
 * two ways is refused when it is loaded. Pure.
 */
#ifndef SANDBOX_EGRESS_DOMAIN_H
#define SANDBOX_EGRESS_DOMAIN_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/egress/host.h"

struct err;

enum domain_side { DOMAIN_ALLOW, DOMAIN_DENY };

enum domain_kind { DOMAIN_EXACT, DOMAIN_BELOW, DOMAIN_MIDDLE, DOMAIN_ADDRESS, DOMAIN_ANY };

struct domain_rule {
	enum domain_side side;
	enum domain_kind kind;
	struct ip ip;		/* of DOMAIN_ADDRESS */
	uint16_t port;		/* 0: the default ports, or every port when it denies */
	char *name;		/* plain; BELOW: ".example.com"; MIDDLE: "bedrock." */
	char *tail;		/* MIDDLE: ".amazonaws.com" */
	char *text;		/* as it was written */
	char *origin;		/* where: "allow[2]", "domains-github.txt:3" */
	char *reason;		/* why, told to who is refused; may be NULL */
};

/* A zeroed struct is a valid empty set: nothing is allowed. */
struct domain_set {
	struct domain_rule *v;
	size_t n, cap;
};

enum domain_answer {
	DOMAIN_ALLOWED,
	DOMAIN_DENIED,		/* by a deny rule */
	DOMAIN_OTHER_PORT,	/* a rule allows the host, on another port */
	DOMAIN_UNKNOWN		/* no rule knows the host */
};

struct domain_verdict {
	enum domain_answer answer;
	const struct domain_rule *rule;	/* the set's; NULL for DOMAIN_UNKNOWN */
};

/**
 * domain_add() - Read one rule
 * @text:	the rule; blanks around it are dropped; letters beyond ASCII become xn--
 * @origin:	named in errors and verdicts; copied
 * @reason:	may be NULL; copied
 * @err:	ERR_POLICY: "allow[2]: rule '*.com': ..."; ERR_NOMEM
 *
 * Return: 0, or -1 with the set unchanged
 */
int domain_add(struct domain_set *set, enum domain_side side, const char *text,
	       const char *origin, const char *reason, struct err *err);

/**
 * domain_add_lines() - Read a list: one rule a line, '#' starts a comment
 * @text:	@len bytes
 * @origin:	the file's name; the line's number is added to it
 *
 * The comment behind a rule is its reason.
 * Return: 0, or -1 with @err; rules before the bad line stay in the set
 */
int domain_add_lines(struct domain_set *set, enum domain_side side, const char *text, size_t len,
		     const char *origin, struct err *err);

/* domain_judge() - May a program that asks for @h on @port have it? Resolved addresses are another matter. */
void domain_judge(const struct domain_set *set, const struct host *h, uint16_t port,
		  struct domain_verdict *ret);

/*
 * domain_judge_name() - the same for a host whose port is not known yet, as a
 * look-up has it: DOMAIN_ALLOWED if a program may have @h on some port, else
 * DOMAIN_DENIED or DOMAIN_UNKNOWN
 */
void domain_judge_name(const struct domain_set *set, const struct host *h, struct domain_verdict *ret);

/* domain_denies() - the deny rule that names @ip (or an IPv4 address it carries) on @port, or NULL */
const struct domain_rule *domain_denies(const struct domain_set *set, const struct ip *ip, uint16_t port);

void domain_done(struct domain_set *set);

static inline void own_domain(struct domain_set *set)
{
	domain_done(set);
}

#endif
