#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "sandbox/egress/mint.h"
#include "sandbox/egress/tls_lib.h"

#define L tls_lib

enum {
	BACKDATE_S = 24 * 60 * 60,		/* clocks differ */
	LIFE_S = 90 * 24 * 60 * 60,		/* longer than any run, shorter than what clients refuse */
	SERIAL_BYTES = 16,
	NAME_MAX_BYTES = 64,			/* of a common name: RFC 5280 */
};

struct leaf {
	char name[HOST_TEXT_SIZE];
	X509 *cert;
	uint64_t used;
};

struct mint {
	X509 *ca;
	EVP_PKEY *ca_key, *leaf_key;
	struct leaf leaf[MINT_LEAVES_KEPT];
	size_t n;
	uint64_t now;
};

static void own_x509(X509 **c)
{
	if (*c)
		L.X509_free(*c);
}

/* --- pieces of a certificate; 1 when done, as OpenSSL has it --- */

static int put_serial(X509 *c)
{
	unsigned char bytes[SERIAL_BYTES];
	BIGNUM *bn;
	ASN1_INTEGER *serial;
	int r;

	if (L.RAND_bytes(bytes, sizeof(bytes)) != 1)
		return 0;
	bytes[0] = (bytes[0] & 0x3f) | 0x40;	/* above zero, and always of one length */
	bn = L.BN_bin2bn(bytes, sizeof(bytes), NULL);
	serial = bn ? L.BN_to_ASN1_INTEGER(bn, NULL) : NULL;
	r = serial && L.X509_set_serialNumber(c, serial);
	L.ASN1_INTEGER_free(serial);
	L.BN_free(bn);
	return r;
}

static int put_name(X509 *c, const char *field, const char *text)
{
	size_t n = strlen(text);

	return L.X509_NAME_add_entry_by_txt(L.X509_get_subject_name(c), field, MBSTRING_UTF8,
					    (const unsigned char *)text, n < NAME_MAX_BYTES ? (int)n : NAME_MAX_BYTES,
					    -1, 0);
}

static int put_extension(X509 *c, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *ext;
	int r;

	L.X509V3_set_ctx(&ctx, issuer, c, NULL, NULL, 0);
	ext = L.X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	r = ext && L.X509_add_ext(c, ext, -1);
	L.X509_EXTENSION_free(ext);
	return r;
}

static int put_life(X509 *c)
{
	return L.X509_gmtime_adj(L.X509_getm_notBefore(c), -BACKDATE_S) &&
	       L.X509_gmtime_adj(L.X509_getm_notAfter(c), LIFE_S);
}

static int put_common(X509 *c, X509 *issuer, EVP_PKEY *key)
{
	return L.X509_set_version(c, 2) && put_serial(c) && put_life(c) &&
	       L.X509_set_issuer_name(c, L.X509_get_subject_name(issuer)) && L.X509_set_pubkey(c, key) &&
	       put_extension(c, issuer, NID_subject_key_identifier, "hash");
}

/* --- the authority --- */

static int make_ca(struct mint *m, const char *run)
{
	m->ca_key = L.EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
	m->leaf_key = L.EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
	m->ca = L.X509_new();
	return m->ca_key && m->leaf_key && m->ca && put_name(m->ca, "O", "agate") && put_name(m->ca, "OU", run) &&
	       put_name(m->ca, "CN", "agate: this run alone") && put_common(m->ca, m->ca, m->ca_key) &&
	       put_extension(m->ca, m->ca, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	       put_extension(m->ca, m->ca, NID_key_usage, "critical,keyCertSign,cRLSign") &&
	       L.X509_sign(m->ca, m->ca_key, L.EVP_sha256()) > 0;
}

struct mint *mint_new(const char *run, struct err *err)
{
	struct mint *m = calloc(1, sizeof(*m));
	char why[160];

	if (!m) {
		err_set(err, ERR_NOMEM, 0, "out of memory");
		return NULL;
	}
	if (make_ca(m, run))
		return m;
	tls_lib_why(why, sizeof(why));
	err_set(err, ERR_SYS, 0, "egress: cannot make the run's certificate authority: %s", why);
	mint_free(m);
	return NULL;
}

int mint_ca_pem(const struct mint *m, struct buf *out)
{
	BIO *bio = L.BIO_new(L.BIO_s_mem());
	char text[4096];
	int n = 0, r = -1;

	if (bio && L.PEM_write_bio_X509(bio, m->ca))
		n = L.BIO_read(bio, text, sizeof(text));
	if (n > 0 && n < (int)sizeof(text))
		r = buf_add(out, text, (size_t)n);
	if (bio)
		L.BIO_free(bio);
	return r;
}

/* --- leaves --- */

static X509 *make_leaf(const struct mint *m, const struct host *h)
{
	OWN(x509) X509 *c = L.X509_new();
	char san[HOST_TEXT_SIZE + 16];

	/* A host holds letters, digits and a few signs, none of which means anything here. */
	snprintf(san, sizeof(san), "%s:%s", h->is_address ? "IP" : "DNS", h->text);
	if (!c || !put_name(c, "CN", strlen(h->text) <= NAME_MAX_BYTES ? h->text : "agate") ||
	    !put_common(c, m->ca, m->leaf_key) ||
	    !put_extension(c, m->ca, NID_authority_key_identifier, "keyid:always") ||
	    !put_extension(c, m->ca, NID_subject_alt_name, san) ||
	    !put_extension(c, m->ca, NID_basic_constraints, "critical,CA:FALSE") ||
	    !put_extension(c, m->ca, NID_key_usage, "critical,digitalSignature") ||
	    !put_extension(c, m->ca, NID_ext_key_usage, "serverAuth") ||
	    L.X509_sign(c, m->ca_key, L.EVP_sha256()) <= 0) {
		L.ERR_clear_error();
		return NULL;
	}
	return TAKE(c);
}

/* The place of a new leaf: a free one, or that of the one that was asked for longest ago. */
static struct leaf *place(struct mint *m)
{
	struct leaf *oldest = &m->leaf[0];

	if (m->n < MINT_LEAVES_KEPT)
		return &m->leaf[m->n++];
	for (size_t i = 1; i < m->n; i++)
		if (m->leaf[i].used < oldest->used)
			oldest = &m->leaf[i];
	L.X509_free(oldest->cert);
	return oldest;
}

struct x509_st *mint_leaf(struct mint *m, const struct host *h)
{
	X509 *made;
	struct leaf *l;

	m->now++;
	for (size_t i = 0; i < m->n; i++) {
		if (!strcmp(m->leaf[i].name, h->text)) {
			m->leaf[i].used = m->now;
			return m->leaf[i].cert;
		}
	}
	made = make_leaf(m, h);
	if (!made)
		return NULL;
	l = place(m);
	*l = (struct leaf){ .cert = made, .used = m->now };
	memcpy(l->name, h->text, sizeof(l->name));
	return made;
}

struct evp_pkey_st *mint_leaf_key(const struct mint *m)
{
	return m->leaf_key;
}

void mint_free(struct mint *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		L.X509_free(m->leaf[i].cert);
	L.X509_free(m->ca);
	L.EVP_PKEY_free(m->ca_key);	/* clears what it frees */
	L.EVP_PKEY_free(m->leaf_key);
	free(m);
}
