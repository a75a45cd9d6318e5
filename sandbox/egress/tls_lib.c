#include <stdio.h>

#include "base/err.h"
#include "base/own.h"
#include "sandbox/egress/late.h"
#include "sandbox/egress/tls_lib.h"

struct tls_lib tls_lib;

#define CALL(name) { #name, offsetof(struct tls_lib, name) },
static const struct late_call crypto_calls[] = { TLS_CRYPTO_CALLS(CALL) };
static const struct late_call ssl_calls[] = { TLS_SSL_CALLS(CALL) };

int tls_lib_load(struct err *err)
{
	if (tls_lib.SSL_read)
		return 0;
	if (late_load("libcrypto.so.3", crypto_calls, ARRAY_LEN(crypto_calls), &tls_lib, err) < 0 ||
	    late_load("libssl.so.3", ssl_calls, ARRAY_LEN(ssl_calls), &tls_lib, err) < 0) {
		tls_lib = (struct tls_lib){ 0 };
		err_wrap(err, "terminating TLS");
		return err_hint(err, "install OpenSSL 3 (Debian: libssl3), or drop what needs it from the configuration");
	}
	if (!tls_lib.OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL))
		return err_set(err, ERR_MISSING, 0, "OpenSSL does not start");
	return 0;
}

void tls_lib_why(char *ret, size_t size)
{
	unsigned long e = tls_lib.ERR_peek_last_error();

	if (e)
		tls_lib.ERR_error_string_n(e, ret, size);
	else
		snprintf(ret, size, "no reason given");
	tls_lib.ERR_clear_error();
}
