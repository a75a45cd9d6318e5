/*
 * sandbox/egress/trust_java.h - whom this host believes, as Java wants to be told
 *
 * Java looks neither at SSL_CERT_FILE nor at the system's bundle, but at a key
 * store of its own: by a property, or at the one place its package links to.
 * Written in the JKS form, which every release reads without being told.
 */
#ifndef SANDBOX_EGRESS_TRUST_JAVA_H
#define SANDBOX_EGRESS_TRUST_JAVA_H

#include <stddef.h>

struct buf;

#define TRUST_JAVA_PASSWORD "changeit"	/* guards nothing: what every such store has */

/**
 * trust_java_store() - Append a key store
 * @pem:	certificates as trust_certificates() leaves them; one that is no base64 is left out
 *
 * Return: how many it holds, or -1 out of memory
 */
int trust_java_store(const char *pem, size_t len, struct buf *out);

/* trust_java_places() - the files where systems keep Java's roots, ending in NULL; most are not there */
const char *const *trust_java_places(void);

#endif
