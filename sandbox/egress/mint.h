/*
 * sandbox/egress/mint.h - certificates for the hosts whose TLS ends here
 *
 * One authority a run, made in memory and never written anywhere: what it
 * signs is believed by this run's programs alone, and nobody after it. Leaves
 * are made when a host is first asked for and kept. EC P-256 throughout; the
 * leaves share one key, which is no more secret than the authority's beside it.
 */
#ifndef SANDBOX_EGRESS_MINT_H
#define SANDBOX_EGRESS_MINT_H

#include "sandbox/egress/host.h"

#define MINT_LEAVES_KEPT 256

struct buf;
struct err;
struct mint;

/**
 * mint_new() - Make the authority; tls_lib_load() came before
 * @run:	named in the certificates, for who looks at them
 *
 * Return: the caller's to mint_free(), or NULL with @err
 */
struct mint *mint_new(const char *run, struct err *err);

/* mint_ca_pem() - append the authority's certificate, which is no secret; 0 or -1 */
int mint_ca_pem(const struct mint *m, struct buf *out);

struct x509_st;
struct evp_pkey_st;

/* mint_leaf() - the certificate for @h, the mint's until the next call; NULL when it cannot be made */
struct x509_st *mint_leaf(struct mint *m, const struct host *h);
/* mint_leaf_key() - the key of every leaf, the mint's */
struct evp_pkey_st *mint_leaf_key(const struct mint *m);

void mint_free(struct mint *m);

#endif
