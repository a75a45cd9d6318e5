/*
 * sandbox/egress/sni.h - the server name in the first bytes of a TLS client
 *
 * Behind one address there are many hosts: who opened a tunnel to one of them
 * could ask the server for another (domain fronting). Where TLS does not end
 * here, the name in the ClientHello is all that can be seen of it. Pure.
 */
#ifndef SANDBOX_EGRESS_SNI_H
#define SANDBOX_EGRESS_SNI_H

#include <stddef.h>

#define SNI_HELLO_MAX (16u << 10)	/* bytes that are looked at; no client needs a quarter of it */
#define SNI_NAME_SIZE 256

enum sni {
	SNI_MORE,	/* nothing can be told from these bytes alone */
	SNI_NOT_TLS,
	SNI_NONE,	/* a ClientHello without a name */
	SNI_NAME,
	SNI_BAD		/* one that two readers might read differently, or without end */
};

/**
 * sni_read() - Look for the name
 * @data:	all @len bytes that came so far
 * @ret:	of SNI_NAME: as the client wrote it, printable ASCII
 */
enum sni sni_read(const void *data, size_t len, char ret[SNI_NAME_SIZE]);

#endif
