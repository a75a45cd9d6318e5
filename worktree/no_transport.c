/*
 * worktree/no_transport.c - libgit2 without a way to the network
 *
 * agate reads repositories with libgit2 and never fetches or pushes through it.
 * Where it is linked from its archive, these stand in for its HTTP, SSH and TLS
 * members, which then stay out, and with them eleven libraries that would be
 * loaded and bound at each start. Whoever asks for such a transport gets an
 * error. Names and types are libgit2 1.5's internal ones; another version that
 * asks for more of them fails to link, and the Makefile then takes the shared one.
 */
#include <stddef.h>

int git_smart_subtransport_http(void **out, void *owner, void *param);
int git_smart_subtransport_ssh(void **out, void *owner, void *param);
int git_transport_ssh_global_init(void);
int git_mbedtls_stream_global_init(void);
int git_mbedtls__set_cert_location(const char *file, const char *path);
int git_mbedtls_stream_new(void **out, const char *host, const char *port);
int git_mbedtls_stream_wrap(void **out, void *in, const char *host);
extern _Bool git_http__expect_continue;

_Bool git_http__expect_continue;

/* Asked for once when libgit2 starts: there is nothing to set up. */
int git_transport_ssh_global_init(void)
{
	return 0;
}

int git_mbedtls_stream_global_init(void)
{
	return 0;
}

static int none(void **out)
{
	*out = NULL;
	return -1;
}

int git_smart_subtransport_http(void **out, void *owner, void *param)
{
	(void)owner;
	(void)param;
	return none(out);
}

int git_smart_subtransport_ssh(void **out, void *owner, void *param)
{
	(void)owner;
	(void)param;
	return none(out);
}

int git_mbedtls_stream_new(void **out, const char *host, const char *port)
{
	(void)host;
	(void)port;
	return none(out);
}

int git_mbedtls_stream_wrap(void **out, void *in, const char *host)
{
	(void)in;
	(void)host;
	return none(out);
}

int git_mbedtls__set_cert_location(const char *file, const char *path)
{
	(void)file;
	(void)path;
	return -1;
}
