#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "sandbox/egress/tls_trust.h"

enum { FILE_MAX_BYTES = 8 << 20 };

#define BEGIN "-----BEGIN CERTIFICATE-----"
#define END "-----END CERTIFICATE-----"

/* Debian, Fedora, SUSE, Alpine, Arch, NixOS and their kin. */
static const char *const places[] = {
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem", "/etc/ssl/certs/ca-bundle.crt",
	NULL
};

const char *const *trust_places(void)
{
	return places;
}

int trust_certificates(const char *text, size_t len, struct buf *out)
{
	const char *at = text, *end = text + len;
	int n = 0;

	for (;;) {
		const char *begin = memmem(at, (size_t)(end - at), BEGIN, strlen(BEGIN)), *stop;

		if (!begin)
			return n;
		stop = memmem(begin, (size_t)(end - begin), END, strlen(END));
		if (!stop)
			return n;
		at = stop + strlen(END);
		/* A block that was cut off must not swallow what stands behind it. */
		if (memmem(begin + 1, (size_t)(stop - begin) - 1, "-----BEGIN", strlen("-----BEGIN"))) {
			at = begin + strlen(BEGIN);
			continue;
		}
		if (buf_add(out, begin, (size_t)(at - begin)) < 0 || buf_addc(out, '\n') < 0)
			return -1;
		n++;
	}
}

const char *trust_host_file(void)
{
	const char *named = getenv("SSL_CERT_FILE");

	if (named && *named)
		return named;
	for (size_t i = 0; places[i]; i++)
		if (!access(places[i], R_OK))
			return places[i];
	return NULL;
}

int trust_add_file(const char *path, struct buf *out, struct err *err)
{
	OWN(buf) struct buf text = { 0 };
	int n;

	if (io_read_file(AT_FDCWD, path, FILE_MAX_BYTES, &text, err) < 0)
		return err_wrap(err, "trusted certificates");
	n = trust_certificates(text.data ? text.data : "", text.len, out);
	if (n < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return n ? 0 : err_set(err, ERR_INPUT, 0, "trusted certificates: '%s' has none", path);
}

int trust_add_host(struct buf *out, struct err *err)
{
	const char *path = trust_host_file();

	if (path)
		return trust_add_file(path, out, err);
	err_set(err, ERR_MISSING, 0, "this host has no file of trusted certificates");
	return err_hint(err, "install ca-certificates, or name a file in SSL_CERT_FILE");
}
