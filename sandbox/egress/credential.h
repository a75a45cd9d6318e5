/*
 * sandbox/egress/credential.h - secrets that the program inside never sees
 *
 * Inside, a variable holds a placeholder. In a request to a host the secret is
 * for, over TLS that ends here and begins anew, the placeholder becomes the
 * secret: in the fields that carry credentials, and in the name and password
 * of Basic authentication. In other fields it stays, so that a host which
 * echoes them cannot be used to read the secret. A rule with a header or a
 * user name adds that field to requests that have none.
 *
 * A placeholder on its way to any other host is a refusal: nothing is lost,
 * but something went where it should not.
 *
 * The secrets lie in pages that are locked, left out of dumps, and wiped.
 */
#ifndef SANDBOX_EGRESS_CREDENTIAL_H
#define SANDBOX_EGRESS_CREDENTIAL_H

#include <stddef.h>

#include "sandbox/egress/domain.h"
#include "sandbox/egress/http.h"
#include "sandbox/egress/policy.h"

#define CREDENTIAL_PLACEHOLDER_MIN 16	/* shorter ones might turn up by chance */

struct buf;
struct err;
struct json;

struct credential {
	char *id;
	struct domain_set hosts;	/* deny rules: what matches is who it is for */
	char *placeholder;
	char *field;			/* "Authorization", "X-Api-Key"; NULL: only where the placeholder stands */
	char *before, *behind;		/* the template's text around the secret; NULL with Basic */
	char *user;			/* of Basic authentication; NULL: none */
	const char *secret;		/* in the set's pages */
};

/* A zeroed struct is an empty set. */
struct credential_set {
	struct credential *v;
	size_t n;
	char *pages;
	size_t size;
};

/**
 * credential_parse() - Read "credentials" of the configuration
 * @list:	[{"id", "hosts": [RULE...], "placeholder",
 *		  "header": {"name", "template": "Bearer {}"} or "basic": {"username"}}...]; NULL: none.
 *		A rule without a port means 443; a lone "*" is refused.
 * @secrets:	@len bytes: each secret with a NUL behind it, in the order of @list; borrowed, and
 *		the caller's to wipe
 * @err:	ERR_INPUT, ERR_POLICY, ERR_SYS when memory cannot be locked; never holds a secret
 *
 * Return: 0, or -1 with @ret to be freed by credential_done()
 */
int credential_parse(const struct json *list, const char *secrets, size_t len, struct credential_set *ret,
		     struct err *err);

/* credential_applies() - 1 if some secret is for @h on @port */
int credential_applies(const struct credential_set *set, const struct host *h, uint16_t port);

/**
 * credential_put() - Make the request fit to be sent
 * @secure:	it goes out over TLS
 * @head:	fields with a placeholder get a value in @scratch, one may be added
 * @scratch:	empty; must live as long as @head is used, then credential_wipe() it
 * @ret:	allowed, or why not
 */
void credential_put(const struct credential_set *set, const struct host *h, uint16_t port, int secure,
		    struct http_head *head, struct buf *scratch, struct egress_verdict *ret);

/* credential_equal() - 1 if @bytes are the text @wanted; takes as long whatever they are */
int credential_equal(const void *bytes, size_t len, const char *wanted);

/* credential_is_basic() - 1 if @f, an authorization field, says "NAME:PASSWORD" as @wanted does; NULL is fine */
int credential_is_basic(const struct http_field *f, const char *wanted);

/* credential_wipe() - buf_done() without leaving the bytes behind */
void credential_wipe(struct buf *b);

void credential_done(struct credential_set *set);

#endif
