#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "sandbox/egress/h2_lib.h"
#include "sandbox/egress/mint.h"
#include "sandbox/egress/tls.h"
#include "sandbox/egress/tls_lib.h"

#define L tls_lib

enum { APP_DATA = 0, DRAIN_BYTES = 16 << 10, SNI_SHOWN = 128 };

static const unsigned char alpn[] = "\x08http/1.1";
static const unsigned char alpn_h2[] = "\x02h2";
#define ALPN_LEN (sizeof(alpn) - 1)

struct tls_world {
	struct mint *mint;
	SSL_CTX *server, *client;
};

struct tls {
	SSL *ssl;
	BIO *in, *out;		/* the ssl's */
	struct host host;
	char other_name[SNI_SHOWN];
	char why[256];
	int failed;
};

/* --- contexts --- */

/* The program may name the host it asked for, or none. */
static int on_server_name(SSL *ssl, int *alert, void *arg)
{
	struct tls *t = L.SSL_get_ex_data(ssl, APP_DATA);
	const char *name = L.SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name), *why;
	struct host h;

	(void)arg;
	if (!name || (host_parse(name, strlen(name), &h, &why) == 0 && !strcmp(h.text, t->host.text)))
		return SSL_TLSEXT_ERR_OK;
	snprintf(t->other_name, sizeof(t->other_name), "%s", name);
	*alert = SSL_AD_UNRECOGNIZED_NAME;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int offers(const unsigned char *offered, unsigned int len, const unsigned char *wanted)
{
	for (unsigned int i = 0; i < len && i + 1 + offered[i] <= len; i += 1u + offered[i])
		if (offered[i] == wanted[0] && !memcmp(offered + i, wanted, 1u + wanted[0]))
			return 1;
	return 0;
}

static int on_alpn(SSL *ssl, const unsigned char **ret, unsigned char *ret_len, const unsigned char *offered,
		   unsigned int len, void *arg)
{
	const unsigned char *wanted = h2_lib.nghttp2_session_server_new2 && offers(offered, len, alpn_h2) ? alpn_h2 : alpn;

	(void)ssl;
	(void)arg;
	if (!offers(offered, len, wanted))
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*ret = wanted + 1;
	*ret_len = wanted[0];
	return SSL_TLSEXT_ERR_OK;
}

static SSL_CTX *new_context(const SSL_METHOD *method)
{
	SSL_CTX *ctx = L.SSL_CTX_new(method);

	if (!ctx)
		return NULL;
	L.SSL_CTX_ctrl(ctx, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
	L.SSL_CTX_ctrl(ctx, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, NULL);
	L.SSL_CTX_ctrl(ctx, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
	L.SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	L.SSL_CTX_set_num_tickets(ctx, 0);
	return ctx;
}

static SSL_CTX *new_server(const struct mint *m)
{
	SSL_CTX *ctx = new_context(L.TLS_server_method());

	if (!ctx)
		return NULL;
	L.SSL_CTX_callback_ctrl(ctx, SSL_CTRL_SET_TLSEXT_SERVERNAME_CB, (void (*)(void))on_server_name);
	L.SSL_CTX_set_alpn_select_cb(ctx, on_alpn, NULL);
	if (L.SSL_CTX_use_PrivateKey(ctx, mint_leaf_key(m)) == 1)
		return ctx;
	L.SSL_CTX_free(ctx);
	return NULL;
}

static SSL_CTX *new_client(void)
{
	SSL_CTX *ctx = new_context(L.TLS_client_method());

	if (!ctx)
		return NULL;
	L.SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	if (L.SSL_CTX_set_alpn_protos(ctx, alpn, ALPN_LEN) == 0)	/* the one call where 0 is good */
		return ctx;
	L.SSL_CTX_free(ctx);
	return NULL;
}

struct tls_world *tls_world_new(const char *run, struct err *err)
{
	struct tls_world *w;

	if (tls_lib_load(err) < 0)
		return NULL;
	h2_lib_load(NULL);	/* without it there is HTTP/1.1 */
	w = calloc(1, sizeof(*w));
	if (!w) {
		err_set(err, ERR_NOMEM, 0, "out of memory");
		return NULL;
	}
	w->mint = mint_new(run, err);
	if (!w->mint) {
		tls_world_free(w);
		return NULL;
	}
	w->server = new_server(w->mint);
	w->client = new_client();
	if (w->server && w->client)
		return w;
	tls_world_free(w);
	err_set(err, ERR_SYS, 0, "egress: cannot set up TLS");
	return NULL;
}

int tls_world_ca(const struct tls_world *w, struct buf *out)
{
	return mint_ca_pem(w->mint, out);
}

int tls_world_trust(struct tls_world *w, const char *pem, size_t len, struct err *err)
{
	X509_STORE *store = L.SSL_CTX_get_cert_store(w->client);
	BIO *bio = L.BIO_new_mem_buf(pem, (int)len);
	X509 *c;
	int n = 0;

	while (bio && (c = L.PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
		/* The same one twice is fine. */
		n += L.X509_STORE_add_cert(store, c) == 1;
		L.X509_free(c);
	}
	L.ERR_clear_error();
	if (bio)
		L.BIO_free(bio);
	return n ? 0 : err_set(err, ERR_INPUT, 0, "egress: no trusted certificate can be read");
}

void tls_world_free(struct tls_world *w)
{
	if (!w)
		return;
	if (w->server)
		L.SSL_CTX_free(w->server);
	if (w->client)
		L.SSL_CTX_free(w->client);
	mint_free(w->mint);
	free(w);
}

/* --- one connection --- */

static struct tls *new_connection(SSL_CTX *ctx, const struct host *h)
{
	struct tls *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->host = *h;
	t->ssl = L.SSL_new(ctx);
	t->in = L.BIO_new(L.BIO_s_mem());
	t->out = L.BIO_new(L.BIO_s_mem());
	if (t->ssl && t->in && t->out && L.SSL_set_ex_data(t->ssl, APP_DATA, t)) {
		/* Empty means "more will come", not the end. */
		L.BIO_ctrl(t->in, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, NULL);
		L.SSL_set0_rbio(t->ssl, t->in);
		L.SSL_set0_wbio(t->ssl, t->out);
		return t;
	}
	if (t->in)
		L.BIO_free(t->in);
	if (t->out)
		L.BIO_free(t->out);
	tls_free(t);
	return NULL;
}

struct tls *tls_server(struct tls_world *w, const struct host *h)
{
	struct tls *t = new_connection(w->server, h);
	X509 *leaf = t ? mint_leaf(w->mint, h) : NULL;

	if (leaf && L.SSL_use_certificate(t->ssl, leaf) == 1 &&
	    L.SSL_use_PrivateKey(t->ssl, mint_leaf_key(w->mint)) == 1) {
		L.SSL_set_accept_state(t->ssl);
		return t;
	}
	tls_free(t);
	return NULL;
}

/* Whose certificate it must be. 1 when done. */
static int expect_host(SSL *ssl, const struct host *h)
{
	size_t len = h->ip.family == AF_INET ? 4 : 16;

	if (h->is_address)
		return L.X509_VERIFY_PARAM_set1_ip(L.SSL_get0_param(ssl), h->ip.b, len);
	L.SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return L.SSL_set1_host(ssl, h->text) &&
	       L.SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
			  (void *)(uintptr_t)h->text) == 1;
}

struct tls *tls_client(struct tls_world *w, const struct host *h)
{
	struct tls *t = new_connection(w->client, h);

	if (t && expect_host(t->ssl, h)) {
		L.SSL_set_connect_state(t->ssl);
		return t;
	}
	tls_free(t);
	return NULL;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	if (t->ssl)
		L.SSL_free(t->ssl);
	free(t);
}

/* --- what a failure was --- */

static void explain(struct tls *t)
{
	long verdict = L.SSL_get_verify_result(t->ssl);
	char text[160];

	t->failed = 1;
	tls_lib_why(text, sizeof(text));
	if (t->why[0])
		return;
	if (verdict != X509_V_OK)
		snprintf(t->why, sizeof(t->why), "has a certificate that is not trusted: %s",
			 L.X509_verify_cert_error_string(verdict));
	else
		/* "error:0A000126:SSL routines::unexpected eof": the words at its end */
		snprintf(t->why, sizeof(t->why), "does not agree on TLS: %s",
			 strrchr(text, ':') ? strrchr(text, ':') + 1 : text);
}

const char *tls_why(const struct tls *t)
{
	return t->why[0] ? t->why : "ended the TLS handshake";
}

const char *tls_other_name(const struct tls *t)
{
	return t->other_name[0] ? t->other_name : NULL;
}

/* --- bytes --- */

enum tls_state tls_handshake(struct tls *t)
{
	int r;

	if (t->failed)
		return TLS_FAILED;
	L.ERR_clear_error();
	r = L.SSL_do_handshake(t->ssl);
	if (r == 1)
		return TLS_OPEN;
	if (L.SSL_get_error(t->ssl, r) == SSL_ERROR_WANT_READ)
		return TLS_WANTS;
	explain(t);
	return TLS_FAILED;
}

int tls_feed(struct tls *t, const void *data, size_t len)
{
	return L.BIO_write(t->in, data, (int)len) == (int)len ? 0 : -1;
}

ssize_t tls_read(struct tls *t, void *to, size_t len)
{
	int n;

	if (t->failed)
		return TLS_BROKEN;
	L.ERR_clear_error();
	n = L.SSL_read(t->ssl, to, (int)len);
	if (n > 0)
		return n;
	switch (L.SSL_get_error(t->ssl, n)) {
	case SSL_ERROR_WANT_READ:
		return TLS_MORE;
	case SSL_ERROR_ZERO_RETURN:
		return TLS_ENDED;
	default:
		explain(t);
		return TLS_BROKEN;
	}
}

int tls_is_open(const struct tls *t)
{
	return !t->failed && L.SSL_is_init_finished(t->ssl);
}

int tls_speaks_h2(const struct tls *t)
{
	const unsigned char *name = NULL;
	unsigned int len = 0;

	L.SSL_get0_alpn_selected(t->ssl, &name, &len);
	return len == alpn_h2[0] && !memcmp(name, alpn_h2 + 1, len);
}

int tls_write(struct tls *t, const void *data, size_t len)
{
	if (!tls_is_open(t))
		return -1;
	L.ERR_clear_error();
	if (!len || L.SSL_write(t->ssl, data, (int)len) == (int)len)
		return 0;
	explain(t);
	return -1;
}

int tls_drain(struct tls *t, struct buf *out)
{
	for (;;) {
		char *to = buf_room(out, DRAIN_BYTES);
		int n;

		if (!to)
			return -1;
		n = L.BIO_read(t->out, to, DRAIN_BYTES);
		if (n <= 0)
			return 0;
		buf_grew(out, (size_t)n);
	}
}

void tls_end(struct tls *t)
{
	if (tls_is_open(t))
		L.SSL_shutdown(t->ssl);
	L.ERR_clear_error();
}
