/*
 * sandbox/egress/tls_trust.h - whom this host believes, as PEM text
 *
 * Certificates alone: whatever else a file holds, a private key above all, is
 * left out. Read by the helper to judge hosts outside, and by the supervisor
 * for the bundle that the programs inside are pointed to.
 */
#ifndef SANDBOX_EGRESS_TLS_TRUST_H
#define SANDBOX_EGRESS_TLS_TRUST_H

#include <stddef.h>

struct buf;
struct err;

/* trust_certificates() - append the CERTIFICATE blocks of @text; how many, or -1 out of memory */
int trust_certificates(const char *text, size_t len, struct buf *out);

/* trust_host_file() - where this host keeps its roots: $SSL_CERT_FILE or a known place; NULL: nowhere */
const char *trust_host_file(void);

/* trust_places() - the files where systems keep their roots, ending in NULL; most are not there */
const char *const *trust_places(void);

/* trust_add_host() - append the host's roots; 0, or -1 with @err (ERR_MISSING, with a hint) */
int trust_add_host(struct buf *out, struct err *err);

/* trust_add_file() - append the certificates of one more file, which must have some */
int trust_add_file(const char *path, struct buf *out, struct err *err);

#endif
